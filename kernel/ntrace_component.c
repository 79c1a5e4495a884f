// SPDX-License-Identifier: GPL-2.0-only
/*
 * The platform driver of trace components. It maps, resets and identifies each component, checks
 * its version, and limits the time of every wait for it.
 *
 * The Impl register tells the type of a component; in version 0 the compatible does, because the
 * register has no such field. The device tree tells the address and the connections.
 */
#include <linux/bitfield.h>
#include <linux/cleanup.h>
#include <linux/clk.h>
#include <linux/cpu.h>
#include <linux/device.h>
#include <linux/mod_devicetable.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/of.h>
#include <linux/platform_device.h>
#include <linux/pm_qos.h>
#include <linux/pm_runtime.h>
#include <linux/property.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/stringhash.h>
#include <linux/timekeeping.h>

#include <asm/asm-extable.h>

#include "ntrace_component.h"

static unsigned int timeout_us = 10000;
module_param(timeout_us, uint, 0644);
MODULE_PARM_DESC(timeout_us, "longest wait for a trace component to do as told, in microseconds");

/* Number of polls without reading the clock. A wait that needs more polls is slow anyway. */
#define NTRACE_QUICK_POLLS	16

const struct ntrace_component_type *const ntrace_component_types[] = {
	&ntrace_encoder_type,
	&ntrace_funnel_type,
	&ntrace_ramsink_type,
	&ntrace_atb_type,
	NULL
};

/* Protects the list of components, their sysfs files, paths, and AUX areas mapped for sinks */
DEFINE_MUTEX(ntrace_components_lock);
static LIST_HEAD(ntrace_components);
static const struct ntrace_component_listener *ntrace_listener;

/*
 * Can a register be read? The read must have no side effect, and the component must be active. The
 * specification says that an unimplemented register reads as 0. On some buses the access is an
 * error instead, and the load raises an exception.
 */
bool ntrace_has_register(struct ntrace_component *comp, u32 offset)
{
	unsigned long value, ok = 0;

	mb();	/* as readl() */
	asm volatile("1:	lw	%[value], 0(%[addr])\n"
		     "	li	%[ok], 1\n"
		     "2:\n"
		     _ASM_EXTABLE(1b, 2b)
		     : [value] "=&r" (value), [ok] "+r" (ok)
		     : [addr] "r" (comp->base + offset)
		     : "memory");

	return ok;
}

/*
 * Count one more poll. The specification sets no time limit, so timeout_us does. May be called with
 * interrupts off. Return: whether the time is over
 */
bool ntrace_deadline_passed(struct ntrace_deadline *deadline)
{
	if (++deadline->polls <= NTRACE_QUICK_POLLS)
		return false;

	cpu_relax();
	if (!deadline->end)
		deadline->end = ktime_get_mono_fast_ns() + (u64)timeout_us * NSEC_PER_USEC;

	return ktime_get_mono_fast_ns() > deadline->end;
}

static void ntrace_component_report(struct irq_work *work)
{
	struct ntrace_component *comp = container_of(work, struct ntrace_component, report);

	dev_err_ratelimited(comp->dev,
			    "trace %s at %pa: timed out waiting for %s, its register reads 0x%08x\n",
			    comp->type ? comp->type->name : "component", &comp->start, comp->what,
			    comp->last);
}

/* Report which condition a component did not fulfil, and what its register reads instead */
void ntrace_component_complain(struct ntrace_component *comp, const char *what, u32 last)
{
	comp->what = what;
	comp->last = last;
	irq_work_queue(&comp->report);
}

/*
 * Give up on a component, and report why. Active = 0 is the last resort to stop it from writing to
 * memory. Return: -ETIMEDOUT
 */
int ntrace_component_fail(struct ntrace_component *comp, const char *what, u32 last)
{
	comp->failed = true;
	ntrace_write(comp, TR_CONTROL, 0);
	ntrace_component_complain(comp, what, last);

	return -ETIMEDOUT;
}

/* Slow path of ntrace_wait() */
int ntrace_wait_on(struct ntrace_component *comp, u32 mask, u32 value, const char *what)
{
	struct ntrace_deadline deadline = {};
	u32 control;

	do {
		control = ntrace_read(comp, TR_CONTROL);
		if ((control & mask) == value)
			return 0;
	} while (!ntrace_deadline_passed(&deadline));

	return ntrace_component_fail(comp, what, control);
}

/*
 * Reset a component. Afterwards it is active, but not enabled, and all its registers are defined.
 */
int ntrace_component_reset(struct ntrace_component *comp)
{
	int ret;

	if (comp->type && comp->type->busy && WARN_ON_ONCE(comp->type->busy(comp)))
		return -EBUSY;
	comp->failed = false;

	ntrace_write(comp, TR_CONTROL, 0);
	ret = ntrace_wait(comp, TR_CONTROL_ACTIVE, 0, "Active=0");
	if (ret)
		return ret;

	ntrace_write(comp, TR_CONTROL, TR_CONTROL_ACTIVE);
	ret = ntrace_wait(comp, TR_CONTROL_ACTIVE, TR_CONTROL_ACTIVE, "Active=1");
	if (ret)
		return ret;

	return comp->type ? comp->type->reset(comp) : 0;
}

/*
 * Reset a component that has lost its state and has no active path. A failed component is inactive
 * on purpose: leave it so. Interrupts are off.
 */
void ntrace_component_wake(struct ntrace_component *comp)
{
	guard(raw_spinlock)(&comp->lock);
	if (!comp->active && !comp->failed && !(ntrace_read(comp, TR_CONTROL) & TR_CONTROL_ACTIVE))
		ntrace_component_reset(comp);
}

/*
 * Enable a component for one more path. Its lock is held. @control is without Enable. Return: 0, or
 * an error, and the path is not counted
 */
int ntrace_component_enable(struct ntrace_component *comp, u32 control)
{
	int ret = 0;

	if (comp->failed)
		return -EIO;

	if (!comp->active) {
		ntrace_write(comp, TR_CONTROL, control | TR_CONTROL_ENABLE);
		ret = ntrace_wait(comp, TR_CONTROL_ENABLE, TR_CONTROL_ENABLE, "Enable=1");
	}
	if (!ret)
		comp->active++;

	return ret;
}

/* Drop one path from a component. The last one disables the component. */
int ntrace_component_disable(struct ntrace_component *comp, u32 control)
{
	guard(raw_spinlock)(&comp->lock);
	comp->active--;
	/* A failed component is held in reset: leave it there. */
	if (comp->failed)
		return -EIO;
	if (comp->active)
		return 0;

	ntrace_write(comp, TR_CONTROL, control);

	return ntrace_wait(comp, TR_CONTROL_ENABLE | TR_CONTROL_EMPTY, TR_CONTROL_EMPTY,
			   "Enable=0 and Empty=1");
}

static const struct ntrace_component_type *ntrace_component_type_of(u8 id)
{
	const struct ntrace_component_type *const *type;

	for (type = ntrace_component_types; *type; type++)
		if ((*type)->id == id)
			return *type;

	return NULL;
}

/*
 * Major version 0 has a layout from before ratification. A higher major version may differ in any
 * way. A higher minor version only adds to 1.0.
 */
static int ntrace_component_check_version(struct ntrace_component *comp)
{
	u32 major = FIELD_GET(TR_IMPL_VER_MAJOR, comp->impl);
	u32 minor = FIELD_GET(TR_IMPL_VER_MINOR, comp->impl);

	if (major != 1) {
		ntrace_log(err, comp, ": version %u.%u is not supported (Impl 0x%08x)", major,
			   minor, comp->impl);
		return -ENODEV;
	}

	if (minor == TR_IMPL_VER_MINOR_EXPERIMENTAL)
		ntrace_log(warn, comp, ": version 1.15 is experimental (Impl 0x%08x)", comp->impl);
	else if (minor)
		ntrace_log(warn, comp,
			   ": version 1.%u is newer than 1.0, using what 1.0 has (Impl 0x%08x)",
			   minor, comp->impl);

	return 0;
}

static int ntrace_component_identify(struct ntrace_component *comp)
{
	const struct ntrace_variant *variant = device_get_match_data(comp->dev);
	u8 id;

	comp->impl = ntrace_read(comp, TR_IMPL);
	comp->version0 = variant && variant->version0;
	/* Only the device tree tells the type of a component of version 0. */
	id = comp->version0 ? variant->version0 : FIELD_GET(TR_IMPL_COMP_TYPE, comp->impl);
	comp->type = ntrace_component_type_of(id);
	if (!comp->type) {
		dev_err(comp->dev, "trace %s at %pa is not supported (Impl 0x%08x)\n",
			id == TR_COMP_PIBSINK ? "PIB sink" : "component of an unknown type",
			&comp->start, comp->impl);
		return -ENODEV;
	}
	if (!comp->version0)
		return ntrace_component_check_version(comp);
	if (!FIELD_GET(TR0_IMPL_VERSION, comp->impl))
		return 0;

	dev_err(comp->dev, "trace component at %pa is not of version 0 (Impl 0x%08x)\n",
		&comp->start, comp->impl);
	return -ENODEV;
}

/*
 * Print registers, to help find out why a component is refused. Print only those that any component
 * may have (0x000 to 0x03f): a read of the others can have a side effect.
 */
static void ntrace_component_dump(struct ntrace_component *comp)
{
	char words[4][sizeof("0x01234567")];
	u32 offset = 0, i;

	while (offset < 0x40) {
		for (i = 0; i < ARRAY_SIZE(words); i++, offset += sizeof(u32))
			if (ntrace_has_register(comp, offset))
				scnprintf(words[i], sizeof(words[i]), "0x%08x",
					  ntrace_read(comp, offset));
			else
				strscpy(words[i], "bus error");
		dev_err(comp->dev, "its registers from 0x%03zx: %s, %s, %s, %s\n",
			offset - i * sizeof(u32), words[0], words[1], words[2], words[3]);
	}
}

/* Lookup. ntrace_components_lock is held. */

/* Find the component of a device tree node. Return: NULL if it is not bound */
struct ntrace_component *ntrace_component_find(const struct device_node *np)
{
	struct ntrace_component *comp;

	lockdep_assert_held(&ntrace_components_lock);
	list_for_each_entry(comp, &ntrace_components, node)
		if (comp->dev->of_node == np)
			return comp;

	return NULL;
}

/* The next component of a type after @comp, or the first one if @comp is NULL. NULL: no more */
struct ntrace_component *ntrace_component_next(struct ntrace_component *comp, u8 type)
{
	lockdep_assert_held(&ntrace_components_lock);

	if (!comp)
		comp = list_entry(&ntrace_components, struct ntrace_component, node);
	list_for_each_entry_continue(comp, &ntrace_components, node)
		if (comp->type->id == type)
			return comp;

	return NULL;
}

/*
 * Clocks and power of components. A component is on while any event exists whose path leads through
 * it: context switches are too frequent to switch power there. Otherwise it is inactive, its clocks
 * are off, and its power domain may be off. A component loses its state while it is off, so the
 * driver resets it when it is switched on.
 */

struct ntrace_clocks {
	struct device *dev;
	int nr;
	struct clk_bulk_data *clk;
};

static void ntrace_power_awake(void *unused)
{
}

/*
 * Keep a hart, or all harts if @cpu is -1, out of the idle states that reset components, until
 * ntrace_power_let_sleep(). If a component were reset between two accesses, it would lose the first
 * and ignore the second, because Active is 0. @awake must be zeroed. May sleep. Return: 0, or an
 * error, and there is nothing to undo
 */
int ntrace_power_keep_awake(struct ntrace_awake *awake, int cpu)
{
	struct device *dev;
	int ret;

	if (cpu < 0) {
		cpu_latency_qos_add_request(&awake->all, 0);
		/* Wake harts that entered an idle state before the request. */
		kick_all_cpus_sync();
		return 0;
	}

	/* With "nosmp" a CPU without a device is never online. */
	dev = get_cpu_device(cpu);
	if (!dev)
		return 0;

	ret = dev_pm_qos_add_request(dev, &awake->one, DEV_PM_QOS_RESUME_LATENCY, 0);
	if (ret < 0)
		return ret;
	/*
	 * As above. The call fails if the CPU is offline, but then it is in no idle state either.
	 */
	smp_call_function_single(cpu, ntrace_power_awake, NULL, 1);

	return 0;
}

/* Undo ntrace_power_keep_awake() */
void ntrace_power_let_sleep(struct ntrace_awake *awake)
{
	if (cpu_latency_qos_request_active(&awake->all))
		cpu_latency_qos_remove_request(&awake->all);
	if (dev_pm_qos_request_active(&awake->one))
		dev_pm_qos_remove_request(&awake->one);
}

/* Nobody accesses the registers any more, and runtime PM is disabled. */
static void ntrace_power_exit(void *data)
{
	struct ntrace_clocks *clocks = data;

	if (!pm_runtime_status_suspended(clocks->dev))
		clk_bulk_disable_unprepare(clocks->nr, clocks->clk);
	pm_runtime_set_suspended(clocks->dev);
	pm_runtime_put_noidle(clocks->dev);
}

/*
 * Switch the clocks on, until ntrace_power_put(). The power domain is on already during a probe.
 */
static int ntrace_power_init(struct device *dev, struct ntrace_clocks *clocks)
{
	int ret;

	clocks->dev = dev;

	ret = devm_clk_bulk_get_all(dev, &clocks->clk);
	if (ret < 0)
		return dev_err_probe(dev, ret, "no clocks\n");
	clocks->nr = ret;

	ret = clk_bulk_prepare_enable(clocks->nr, clocks->clk);
	if (ret)
		return dev_err_probe(dev, ret, "clocks cannot be enabled\n");
	pm_runtime_set_active(dev);
	/* Without this reference the device could be suspended before it is identified. */
	pm_runtime_get_noresume(dev);
	ret = devm_add_action_or_reset(dev, ntrace_power_exit, clocks);
	if (ret)
		return ret;

	return devm_pm_runtime_enable(dev);
}

/* Switch a component on, unless it is on. Switching it on resets it. */
int ntrace_power_get(struct ntrace_component *comp)
{
	return pm_runtime_resume_and_get(comp->dev);
}

/* Drop a reference of ntrace_power_get() */
void ntrace_power_put(struct ntrace_component *comp)
{
	pm_runtime_put(comp->dev);
}

/* No event uses the component: it is disabled and empty, or has failed. */
static int ntrace_power_suspend(struct device *dev)
{
	struct ntrace_component *comp = dev_get_drvdata(dev);

	ntrace_write(comp, TR_CONTROL, 0);
	clk_bulk_disable_unprepare(comp->clocks->nr, comp->clocks->clk);

	return 0;
}

/* If the reset fails, it is reported, and the next path that uses the component tries again. */
static int ntrace_power_resume(struct device *dev)
{
	struct ntrace_component *comp = dev_get_drvdata(dev);
	struct ntrace_clocks *clocks = comp->clocks;
	struct ntrace_awake awake = {};
	int ret;

	ret = clk_bulk_prepare_enable(clocks->nr, clocks->clk);
	if (ret)
		return ret;

	ret = ntrace_power_keep_awake(&awake, comp->cpu);
	if (ret) {
		clk_bulk_disable_unprepare(clocks->nr, clocks->clk);
		return ret;
	}
	ntrace_component_reset(comp);
	ntrace_power_let_sleep(&awake);

	return 0;
}

/* Tracing has stopped before the system sleeps. Components in use are resumed afterwards. */
static const struct dev_pm_ops ntrace_power_ops = {
	SYSTEM_SLEEP_PM_OPS(pm_runtime_force_suspend, pm_runtime_force_resume)
	RUNTIME_PM_OPS(ntrace_power_suspend, ntrace_power_resume, NULL)
};

/* The driver */

static int ntrace_component_cpu(struct device *dev)
{
	struct device_node *np __free(device_node) = of_parse_phandle(dev->of_node, "cpus", 0);
	int cpu;

	if (!np)
		return -1;

	cpu = of_cpu_node_to_id(np);
	return cpu < 0 ? -ENODEV : cpu;
}

static void ntrace_component_free(struct kref *refs)
{
	struct ntrace_component *comp = container_of(refs, struct ntrace_component, refs);

	put_device(comp->dev);
	kfree(comp);
}

/*
 * Keep the structure of a component. Only ntrace_components_lock protects the use of its registers
 * and its device.
 */
struct ntrace_component *ntrace_component_get(struct ntrace_component *comp)
{
	kref_get(&comp->refs);

	return comp;
}

/* Drop a reference of ntrace_component_get() */
void ntrace_component_put(struct ntrace_component *comp)
{
	kref_put(&comp->refs, ntrace_component_free);
}

static void ntrace_component_put_action(void *comp)
{
	ntrace_component_put(comp);
}

/*
 * The size of the structure around the component depends on its type, which is known only after the
 * registers have been read. So begin with a component on the stack, and copy it.
 */
static struct ntrace_component *ntrace_component_create(struct platform_device *pdev, int cpu,
							struct ntrace_clocks *clocks)
{
	struct ntrace_component first = { .dev = &pdev->dev, .cpu = cpu, .clocks = clocks }, *comp;
	struct resource *res;
	int ret;

	first.base = devm_platform_get_and_ioremap_resource(pdev, 0, &res);
	if (IS_ERR(first.base))
		return ERR_CAST(first.base);
	first.start = res->start;
	init_irq_work(&first.report, ntrace_component_report);
	/* Value of `sinkid`, where 0 stands for the default sink. */
	first.id = hashlen_hash(hashlen_string(NULL, dev_name(&pdev->dev))) ?: 1;

	ret = ntrace_component_reset(&first) ?: ntrace_component_identify(&first);
	irq_work_sync(&first.report);
	if (ret) {
		ntrace_component_dump(&first);
		return ERR_PTR(ret);
	}

	comp = kzalloc(first.type->size, GFP_KERNEL);
	if (!comp)
		return ERR_PTR(-ENOMEM);
	*comp = first;
	comp->claim.ends = comp->type->ends;
	kref_init(&comp->refs);
	raw_spin_lock_init(&comp->lock);
	get_device(comp->dev);
	init_irq_work(&comp->report, ntrace_component_report);

	/* The sysfs files of the device are created later, so they are removed before this. */
	ret = devm_add_action_or_reset(&pdev->dev, ntrace_component_put_action, comp);

	return ret ? ERR_PTR(ret) : comp;
}

/* The last access to a component */
static void ntrace_component_off(struct ntrace_component *comp)
{
	ntrace_write(comp, TR_CONTROL, 0);
	irq_work_sync(&comp->report);
}

static ssize_t impl_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct ntrace_component *comp = dev_get_drvdata(dev);

	return sysfs_emit(buf, "0x%08x\n", comp->impl);
}
static DEVICE_ATTR_RO(impl);

static const struct attribute_group ntrace_component_group = {
	.attrs = (struct attribute *[]) { &dev_attr_impl.attr, NULL },
};

static int ntrace_component_init(struct ntrace_component *comp)
{
	int ret;

	ret = comp->type->reset(comp) ?: comp->type->probe(comp);
	irq_work_sync(&comp->report);
	if (ret) {
		ntrace_component_dump(comp);
		goto err_off;
	}

	ret = devm_device_add_group(comp->dev, &ntrace_component_group) ?:
	      devm_device_add_group(comp->dev, comp->type->group);
	if (ret)
		goto err_off;

	scoped_guard(mutex, &ntrace_components_lock) {
		list_add_tail(&comp->node, &ntrace_components);
		ret = ntrace_listener->bound(comp);
		if (ret)
			list_del(&comp->node);
	}
	if (!ret)
		return 0;

err_off:
	ntrace_component_off(comp);
	return ret;
}

static int ntrace_component_probe(struct platform_device *pdev)
{
	struct ntrace_awake awake = {};
	struct ntrace_component *comp;
	struct ntrace_clocks *clocks;
	int cpu, ret;

	clocks = devm_kzalloc(&pdev->dev, sizeof(*clocks), GFP_KERNEL);
	if (!clocks)
		return -ENOMEM;
	cpu = ntrace_component_cpu(&pdev->dev);
	if (cpu < -1)
		return dev_err_probe(&pdev->dev, cpu, "`cpus` names no CPU of this machine\n");

	ret = ntrace_power_init(&pdev->dev, clocks) ?: ntrace_power_keep_awake(&awake, cpu);
	if (ret)
		return ret;

	comp = ntrace_component_create(pdev, cpu, clocks);
	ret = PTR_ERR_OR_ZERO(comp);
	if (!ret) {
		platform_set_drvdata(pdev, comp);
		ret = ntrace_component_init(comp);
	}
	ntrace_power_let_sleep(&awake);
	if (!ret)
		ntrace_power_put(comp);

	return ret;
}

static void ntrace_component_remove(struct platform_device *pdev)
{
	struct ntrace_component *comp = platform_get_drvdata(pdev);
	/*
	 * Disabling runtime PM can suspend the device when the structure is gone. So keep it on,
	 * and do not drop this reference.
	 */
	bool on = pm_runtime_get_sync(comp->dev) >= 0;

	scoped_guard(mutex, &ntrace_components_lock) {
		/* The device may have been shut down before. */
		if (list_empty(&comp->node))
			return;
		list_del_init(&comp->node);
		ntrace_listener->unbound(comp);
	}

	if (on)
		ntrace_component_off(comp);
	irq_work_sync(&comp->report);
}

/* The hardware model in selftests/qemu */
static const struct ntrace_variant ntrace_variant_model = {
	.can_stall = true,
};

static const struct ntrace_variant ntrace_variant_model_sink = {
	.settles = true,
	.wp_exact = true,
};

/* The model with addr_bits=48 */
static const struct ntrace_variant ntrace_variant_addr48 = {
	.addr_bits = 48,
	.can_stall = true,
};

/* Tenstorrent's open encoder, funnel and sink: github.com/tenstorrent/tt-dfd */
static const struct ntrace_variant ntrace_variant_tt_dfd_encoder = {
	.profile = "tt-dfd",
	.src_bits = 4,
	.filter_value = true,
};

static const struct ntrace_variant ntrace_variant_tt_dfd_sink = {
	.align = 64,
	.headroom = SZ_4K,
	.overruns = true,
	.rewinds = true,
	.wrap_sticks = true,
};

/* SiFive's P550: registers of version 0, and a funnel with a built-in sink */
static const struct ntrace_variant ntrace_variant_p550_encoder = {
	.version0 = TR_COMP_ENCODER,
	.profile = "p550",
	.addr_bits = 48,
};

static const struct ntrace_variant ntrace_variant_p550_funnel = {
	.version0 = TR_COMP_RAMSINK,
};

const struct of_device_id ntrace_component_of_match[] = {
	{ .compatible = "riscv,trace-component" },
	{ .compatible = "qemu,ntrace-encoder", .data = &ntrace_variant_model },
	{ .compatible = "qemu,ntrace-sink", .data = &ntrace_variant_model_sink },
	{ .compatible = "qemu,ntrace-encoder-addr48", .data = &ntrace_variant_addr48 },
	{ .compatible = "sifive,p550-trace-encoder", .data = &ntrace_variant_p550_encoder },
	{ .compatible = "sifive,p550-trace-funnel", .data = &ntrace_variant_p550_funnel },
	{ .compatible = "tenstorrent,tt-dfd-encoder", .data = &ntrace_variant_tt_dfd_encoder },
	{ .compatible = "tenstorrent,tt-dfd-sink", .data = &ntrace_variant_tt_dfd_sink },
	{ }
};
MODULE_DEVICE_TABLE(of, ntrace_component_of_match);

static struct platform_driver ntrace_component_driver = {
	.driver = {
		.name		= "ntrace",
		.of_match_table	= ntrace_component_of_match,
		.pm		= pm_ptr(&ntrace_power_ops),
	},
	.probe		= ntrace_component_probe,
	.remove		= ntrace_component_remove,
	/* No sink may write to memory any more when the next kernel starts (kexec). */
	.shutdown	= ntrace_component_remove,
};

int ntrace_component_driver_register(const struct ntrace_component_listener *listener)
{
	ntrace_listener = listener;

	return platform_driver_register(&ntrace_component_driver);
}

void ntrace_component_driver_unregister(void)
{
	platform_driver_unregister(&ntrace_component_driver);
}
