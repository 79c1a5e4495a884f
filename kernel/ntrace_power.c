// SPDX-License-Identifier: GPL-2.0-only
/*
 * Clocks and power of components. A component is on from the first event whose trace goes through
 * it to the end of the last one: tasks come and go much too often for anything less. In between it
 * is inactive, its clocks are off, and its power domain may be. A component that is switched on is
 * one that knows nothing: it is reset.
 */
#include <linux/clk.h>
#include <linux/cpu.h>
#include <linux/device.h>
#include <linux/pm_qos.h>
#include <linux/pm_runtime.h>
#include <linux/smp.h>

#include "ntrace_component.h"
#include "ntrace_power.h"
#include "ntrace_regs.h"

/**
 * struct ntrace_clocks - a device's clocks
 * @dev:	the device
 * @nr:		how many; mostly none
 * @clk:	these
 */
struct ntrace_clocks {
	struct device *dev;
	int nr;
	struct clk_bulk_data *clk;
};

static void ntrace_power_awake(void *unused)
{
}

/**
 * ntrace_power_keep_awake - keep harts out of the idle states that reset components
 * @awake:	to give back to ntrace_power_let_sleep(), zeroed
 * @cpu:	whose encoder is about to be accessed, -1 for a component that several harts share
 *
 * A component that is reset between two accesses forgets the first, and has no effect of the second
 * because Active is 0. May sleep. Return: 0 or an error, with nothing to give back
 */
int ntrace_power_keep_awake(struct ntrace_awake *awake, int cpu)
{
	struct device *dev;
	int ret;

	if (cpu < 0) {
		cpu_latency_qos_add_request(&awake->all, 0);
		/* A hart that chose its idle state before the request leaves it. */
		kick_all_cpus_sync();
		return 0;
	}

	/* With "nosmp" a CPU has no device, and is never online. */
	dev = get_cpu_device(cpu);
	if (!dev)
		return 0;

	ret = dev_pm_qos_add_request(dev, &awake->one, DEV_PM_QOS_RESUME_LATENCY, 0);
	if (ret < 0)
		return ret;
	/* As above. The call fails if the CPU is offline, when it is in no idle state either. */
	smp_call_function_single(cpu, ntrace_power_awake, NULL, 1);

	return 0;
}

/**
 * ntrace_power_let_sleep - end what ntrace_power_keep_awake() began
 * @awake: what it was given
 */
void ntrace_power_let_sleep(struct ntrace_awake *awake)
{
	if (cpu_latency_qos_request_active(&awake->all))
		cpu_latency_qos_remove_request(&awake->all);
	if (dev_pm_qos_request_active(&awake->one))
		dev_pm_qos_remove_request(&awake->one);
}

/* The registers are nobody's any more; runtime PM is disabled. */
static void ntrace_power_exit(void *data)
{
	struct ntrace_clocks *clocks = data;

	if (!pm_runtime_status_suspended(clocks->dev))
		clk_bulk_disable_unprepare(clocks->nr, clocks->clk);
	pm_runtime_set_suspended(clocks->dev);
	pm_runtime_put_noidle(clocks->dev);
}

static void ntrace_power_release(struct device *dev, void *res)
{
}

static struct ntrace_clocks *ntrace_power_clocks(struct device *dev)
{
	return devres_find(dev, ntrace_power_release, NULL, NULL);
}

/**
 * ntrace_power_init - clocks on, and they stay so until ntrace_power_put()
 * @dev: a component's device, whose power domain is on while it is probed
 */
int ntrace_power_init(struct device *dev)
{
	struct ntrace_clocks *clocks;
	int ret;

	clocks = devres_alloc(ntrace_power_release, sizeof(*clocks), GFP_KERNEL);
	if (!clocks)
		return -ENOMEM;
	clocks->dev = dev;
	devres_add(dev, clocks);

	ret = devm_clk_bulk_get_all(dev, &clocks->clk);
	if (ret < 0)
		return dev_err_probe(dev, ret, "no clocks\n");
	clocks->nr = ret;

	ret = clk_bulk_prepare_enable(clocks->nr, clocks->clk);
	if (ret)
		return dev_err_probe(dev, ret, "clocks cannot be enabled\n");
	pm_runtime_set_active(dev);
	/* Without this reference it could be suspended before anybody knows what it is. */
	pm_runtime_get_noresume(dev);
	ret = devm_add_action_or_reset(dev, ntrace_power_exit, clocks);
	if (ret)
		return ret;

	return devm_pm_runtime_enable(dev);
}

/**
 * ntrace_power_last - have a component on before it goes
 * @comp: the component
 *
 * To disable runtime PM can be to suspend: so it stays on, beyond the end of its structure. Return:
 * whether it is on
 */
bool ntrace_power_last(struct ntrace_component *comp)
{
	return pm_runtime_get_sync(comp->dev) >= 0;
}

/**
 * ntrace_power_get - have a component on, reset if it was not
 * @comp: the component
 */
int ntrace_power_get(struct ntrace_component *comp)
{
	return pm_runtime_resume_and_get(comp->dev);
}

/**
 * ntrace_power_put - one user less
 * @comp: the component
 */
void ntrace_power_put(struct ntrace_component *comp)
{
	pm_runtime_put(comp->dev);
}

/* Nobody's trace goes through it: it is disabled and empty, or has failed. */
static int ntrace_power_suspend(struct device *dev)
{
	struct ntrace_clocks *clocks = ntrace_power_clocks(dev);
	struct ntrace_component *comp = dev_get_drvdata(dev);

	ntrace_write(comp, TR_CONTROL, 0);
	clk_bulk_disable_unprepare(clocks->nr, clocks->clk);

	return 0;
}

/* A component that does not come back has said so, and whoever wants it tries again. */
static int ntrace_power_resume(struct device *dev)
{
	struct ntrace_clocks *clocks = ntrace_power_clocks(dev);
	struct ntrace_component *comp = dev_get_drvdata(dev);
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

/* The system sleeps: tracing has stopped before. What is in use is in use again afterwards. */
const struct dev_pm_ops ntrace_power_ops = {
	SYSTEM_SLEEP_PM_OPS(pm_runtime_force_suspend, pm_runtime_force_resume)
	RUNTIME_PM_OPS(ntrace_power_suspend, ntrace_power_resume, NULL)
};
