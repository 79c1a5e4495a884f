// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hardware bring-up: debugfs ntrace/bringup. A read of this file resets each component that no
 * event uses and lists its registers. It then traces a known piece of kernel code through each
 * path. Each deviation from the specification is a line that begins with DIFFERS.
 */
#include <linux/bitfield.h>
#include <linux/cleanup.h>
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/perf_event.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/smp.h>

#include "ntrace_pmu.h"

/* Registers */

struct ntrace_bringup_reg {
	u8 type;		/* trXxCompType */
	u16 offset;
	u32 ones;		/* bits to write as 1, to find out which are kept */
	const char *name;	/* without a prefix like trTe or trRam */
};

/* Version 0: the driver's sink is a funnel with a sink in it */
static const struct ntrace_bringup_reg ntrace_bringup_regs0[] = {
	{ TR_COMP_ENCODER, TR_TE_CONTROL, 0, "Control" },
	{ TR_COMP_ENCODER, TR_TE_IMPL, 0, "Impl" },
	{ TR_COMP_ENCODER, TR_TS_CONTROL, 0, "TsControl" },
	{ TR_COMP_ENCODER, TR0_TS_COUNTER_LOW, 0, "TsCounterLow" },
	{ TR_COMP_ENCODER, TR0_TS_COUNTER_HIGH, 0, "TsCounterHigh" },
	{ TR_COMP_RAMSINK, TR_RAM_CONTROL, 0, "Control" },
	{ TR_COMP_RAMSINK, TR_RAM_IMPL, 0, "Impl" },
	{ TR_COMP_RAMSINK, TR_RAM_START_LOW, U32_MAX, "BaseLow" },
	{ TR_COMP_RAMSINK, TR_RAM_START_HIGH, U32_MAX, "BaseHigh" },
	{ TR_COMP_RAMSINK, TR_RAM_LIMIT_LOW, U32_MAX, "LimitLow" },
	{ TR_COMP_RAMSINK, TR0_WP, U32_MAX, "WPLow" },
	{ TR_COMP_RAMSINK, TR_TS_CONTROL, 0, "TsControl" },
	{ TR_COMP_RAMSINK, TR0_TS_COUNTER_LOW, 0, "TsCounterLow" },
	{ TR_COMP_RAMSINK, TR0_TS_COUNTER_HIGH, 0, "TsCounterHigh" },
};

static const struct ntrace_bringup_reg ntrace_bringup_regs[] = {
	{ TR_COMP_ENCODER, TR_TE_CONTROL, 0, "Control" },
	{ TR_COMP_ENCODER, TR_TE_IMPL, 0, "Impl" },
	{ TR_COMP_ENCODER, TR_TE_INST_FEATURES, U32_MAX, "InstFeatures" },
	{ TR_COMP_ENCODER, TR_TE_INST_FILTERS, TR_TE_INST_FILTERS_MASK, "InstFilters" },
	{ TR_COMP_ENCODER, TR_TS_CONTROL, 0, "TsControl" },
	{ TR_COMP_ENCODER, TR_TS_COUNTER_LOW, 0, "TsCounterLow" },
	{ TR_COMP_ENCODER, TR_TS_COUNTER_HIGH, 0, "TsCounterHigh" },
	{ TR_COMP_ENCODER, TR_TE_FILTER_CONTROL(0), U32_MAX, "Filter0Control" },
	{ TR_COMP_ENCODER, TR_TE_FILTER_MATCH_INST(0), U32_MAX, "Filter0MatchInst" },
	{ TR_COMP_ENCODER, TR_TE_COMP_CONTROL(0), U32_MAX, "Comp0Control" },
	{ TR_COMP_FUNNEL, TR_FUNNEL_CONTROL, 0, "Control" },
	{ TR_COMP_FUNNEL, TR_IMPL, 0, "Impl" },
	{ TR_COMP_FUNNEL, TR_FUNNEL_DIS_INPUT, TR_FUNNEL_DIS_INPUT_MASK, "DisInput" },
	{ TR_COMP_FUNNEL, TR_TS_CONTROL, 0, "TsControl" },
	{ TR_COMP_RAMSINK, TR_RAM_CONTROL, 0, "Control" },
	{ TR_COMP_RAMSINK, TR_RAM_IMPL, 0, "Impl" },
	{ TR_COMP_RAMSINK, TR_RAM_START_LOW, U32_MAX, "StartLow" },
	{ TR_COMP_RAMSINK, TR_RAM_START_HIGH, U32_MAX, "StartHigh" },
	{ TR_COMP_RAMSINK, TR_RAM_LIMIT_LOW, U32_MAX, "LimitLow" },
	{ TR_COMP_RAMSINK, TR_RAM_LIMIT_HIGH, U32_MAX, "LimitHigh" },
	{ TR_COMP_RAMSINK, TR_RAM_WP_LOW, U32_MAX, "WPLow" },
	{ TR_COMP_RAMSINK, TR_RAM_WP_HIGH, U32_MAX, "WPHigh" },
	{ TR_COMP_RAMSINK, TR_RAM_RP_LOW, U32_MAX, "RPLow" },
	{ TR_COMP_RAMSINK, TR_RAM_RP_HIGH, U32_MAX, "RPHigh" },
	{ TR_COMP_ATBBRIDGE, TR_ATB_CONTROL, 0, "Control" },
	{ TR_COMP_ATBBRIDGE, TR_IMPL, 0, "Impl" },
};

static void ntrace_bringup_reg(struct seq_file *m, struct ntrace_component *comp,
			       const struct ntrace_bringup_reg *reg)
{
	u32 before, kept;

	seq_printf(m, "  %-16s 0x%03x ", reg->name, reg->offset);
	if (!ntrace_has_register(comp, reg->offset)) {
		seq_puts(m, "a bus error\n");
		return;
	}
	before = ntrace_read(comp, reg->offset);
	seq_printf(m, "0x%08x", before);
	if (reg->ones) {
		kept = ntrace_write_back(comp, reg->offset, reg->ones);
		ntrace_write(comp, reg->offset, 0);
		seq_printf(m, ", keeps 0x%08x of ones, 0x%08x of zeros", kept,
			   ntrace_read(comp, reg->offset));
	}
	seq_putc(m, '\n');
}

static void ntrace_bringup_failed(struct seq_file *m, struct ntrace_component *comp)
{
	seq_printf(m, "DIFFERS: %s: timed out waiting for %s, its register reads 0x%08x\n",
		   dev_name(comp->dev), comp->what, comp->last);
}

static void ntrace_bringup_component(struct seq_file *m, struct ntrace_component *comp)
{
	const struct ntrace_bringup_reg *reg =
		comp->version0 ? ntrace_bringup_regs0 : ntrace_bringup_regs;
	unsigned int nr = comp->version0 ? ARRAY_SIZE(ntrace_bringup_regs0) :
					   ARRAY_SIZE(ntrace_bringup_regs);
	unsigned int i;

	seq_printf(m, "%s: %s, version %lu", dev_name(comp->dev), comp->type->name,
		   FIELD_GET(TR_IMPL_VER_MAJOR, comp->impl));
	if (!comp->version0)
		seq_printf(m, ".%lu", FIELD_GET(TR_IMPL_VER_MINOR, comp->impl));
	if (comp->cpu >= 0)
		seq_printf(m, ", CPU %d", comp->cpu);
	if (comp->claim.users || comp->timed) {
		seq_puts(m, ", in use, not touched\n");
		return;
	}
	seq_putc(m, '\n');
	if (ntrace_power_get(comp)) {
		seq_puts(m, "  cannot be switched on\n");
		return;
	}
	if (ntrace_component_reset(comp)) {
		ntrace_bringup_failed(m, comp);
	} else {
		for (i = 0; i < nr; i++, reg++)
			if (reg->type == comp->type->id)
				ntrace_bringup_reg(m, comp, reg);
		ntrace_component_reset(comp);
	}
	ntrace_power_put(comp);
}

/* The code that is traced */

static noinline unsigned long ntrace_bringup_up(unsigned long x)
{
	return x + (x >> 3) + 1;
}

static noinline unsigned long ntrace_bringup_down(unsigned long x)
{
	return x - (x >> 4) - 1;
}

static unsigned long (*ntrace_bringup_code[])(unsigned long x) = {
	ntrace_bringup_up,
	ntrace_bringup_down,
};

static unsigned long ntrace_bringup_work(unsigned int rounds)
{
	unsigned long x = 1000;

	while (rounds--) {
		unsigned long (*fn)(unsigned long x) =
			READ_ONCE(ntrace_bringup_code[(x ^ rounds) & 1]);

		x = fn(x);
	}

	return x;
}

/* Paths */

/* Rounds of work between two polls of the sink, and polls until a window should be full */
#define NTRACE_BRINGUP_ROUNDS	200
#define NTRACE_BRINGUP_LOOKS	20000
#define NTRACE_BRINGUP_WINDOW	SZ_4K

/* One use of a path */
struct ntrace_bringup_run {
	struct ntrace_path *path;	/* its sink has a bounce buffer */
	struct ntrace_encoder_config config;
	u64 size;			/* of the window */
	bool fill;			/* trace until the window is full */
	unsigned long work;		/* result of the code, so that the compiler keeps it */
	struct ntrace_component *failed;
	bool refused;			/* the sink did not take the window */
	u64 used;			/* bytes written, according to WP */
	bool inside;			/* WP was in the window */
	bool full;			/* WP has reached the end of the window */
	bool stopped;			/* the sink has disabled itself */
	bool overflow;			/* the encoder lost trace, or requested a stall */
	u64 empty_ns;			/* how long the encoder took to become empty */
	unsigned int ahead;		/* polls at which WP was ahead of memory */
	unsigned int looks;		/* polls in total */
};

/* While the sink runs, check whether all bytes before WP are in memory */
static void ntrace_bringup_look(struct ntrace_bringup_run *run)
{
	struct ntrace_ramsink *sink = run->path->sink;
	u64 used;

	run->inside = ntrace_ramsink_written(sink, &used);
	run->full = run->inside && used == run->size;
	run->looks++;
	if (!run->inside || run->full || !used || ntrace_ramsink_is_sram(sink))
		return;
	ntrace_ramsink_fetch(sink, 0, used);
	run->ahead += ((u8 *)sink->store.cpu)[used - 1] == NTRACE_UNWRITTEN_BYTE;
}

static void ntrace_bringup_trace(struct ntrace_bringup_run *run)
{
	unsigned int i, looks = run->fill ? NTRACE_BRINGUP_LOOKS : 1;

	for (i = 0; i < looks && !run->full; i++) {
		run->work += ntrace_bringup_work(NTRACE_BRINGUP_ROUNDS);
		ntrace_bringup_look(run);
		if (!run->inside)
			break;
	}
	run->stopped = ntrace_ramsink_stopped(run->path->sink);
}

static void ntrace_bringup_find_failed(struct ntrace_bringup_run *run)
{
	unsigned int i;

	for (i = 0; i < run->path->nr; i++)
		if (run->path->comp[i]->failed)
			run->failed = run->path->comp[i];
}

/* The sink is full. Trace that did not fit is still in flight: a reset discards it. */
static void ntrace_bringup_stop_full(struct ntrace_bringup_run *run)
{
	struct ntrace_path *path = run->path;
	unsigned int i;

	ntrace_ramsink_stop(path->sink);
	for (i = 0; i + 1 < path->nr; i++)
		ntrace_component_reset(path->comp[i]);
	ntrace_path_leave_funnels(path);
}

/* Stop in order, so that all trace arrives in the sink */
static void ntrace_bringup_stop(struct ntrace_bringup_run *run)
{
	u64 from = ktime_get_mono_fast_ns();

	if (ntrace_path_stop_encoder(run->path, &run->overflow) == -ENOSPC)
		ntrace_component_reset(&run->path->encoder->comp);
	run->empty_ns = ktime_get_mono_fast_ns() - from;
	ntrace_path_disable_downstream(run->path);
}

/* Runs on the encoder's CPU, in an interrupt */
static void ntrace_bringup_run_here(void *data)
{
	static const struct ntrace_ranges none;
	struct ntrace_bringup_run *run = data;
	struct ntrace_path *path = run->path;
	struct ntrace_ramsink *sink = path->sink;

	path->encoder->paused = false;
	run->refused = ntrace_encoder_configure(path->encoder, &run->config, &none) ||
		       ntrace_ramsink_set_window(sink, sink->store.bus, run->size);
	if (run->refused || ntrace_path_enable(path))
		goto out;

	ntrace_bringup_trace(run);
	if (run->fill)
		ntrace_bringup_stop_full(run);
	else
		ntrace_bringup_stop(run);
	if (!sink->comp.failed) {
		run->inside = ntrace_ramsink_written(sink, &run->used);
		run->full = run->inside && run->used == run->size;
	}
out:
	ntrace_bringup_find_failed(run);
}

/*
 * Fill the bounce buffer with a pattern that is no trace. Afterwards no window is set, so that the
 * next one is written as a whole.
 */
static void ntrace_bringup_clean(struct ntrace_ramsink *sink)
{
	if (!ntrace_ramsink_is_sram(sink)) {
		memset(sink->store.cpu, NTRACE_UNWRITTEN_BYTE, sink->store.size);
		sink->size = sink->store.size;
		ntrace_ramsink_hand_back(sink);
	}
	sink->size = 0;
}

static u64 ntrace_bringup_untouched(const struct ntrace_ramsink *sink, u64 from, u64 to)
{
	const u8 *byte = sink->store.cpu;
	u64 n = 0;

	for (; from < to; from++)
		n += byte[from] == NTRACE_UNWRITTEN_BYTE;

	return n;
}

/* Does the content of memory agree with WP? */
static void ntrace_bringup_memory(struct seq_file *m, const struct ntrace_bringup_run *run)
{
	struct ntrace_ramsink *sink = run->path->sink;
	u64 size = sink->store.size, n;

	if (ntrace_ramsink_is_sram(sink) || !run->inside)
		return;
	ntrace_ramsink_fetch(sink, 0, size);
	n = ntrace_bringup_untouched(sink, 0, run->used);
	if (n)
		seq_printf(m, "DIFFERS: %llu bytes before WP are not written\n", n);
	n = run->size - run->used - ntrace_bringup_untouched(sink, run->used, run->size);
	if (n)
		seq_printf(m, "DIFFERS: %llu bytes behind WP are written\n", n);
	n = size - run->size - ntrace_bringup_untouched(sink, run->size, size);
	if (n)
		seq_printf(m, "DIFFERS: %llu bytes behind the window are written\n", n);
	seq_printf(m, "  memory was behind a running WP at %u of %u looks\n", run->ahead,
		   run->looks);
}

/* The first byte of a message has TCODE in its upper bits, the last one has MSEO 3. */
static void ntrace_bringup_messages(struct seq_file *m, const struct ntrace_bringup_run *run)
{
	struct ntrace_ramsink *sink = run->path->sink;
	const u8 *byte = sink->store.cpu;
	u64 i, messages = 0;

	if (ntrace_ramsink_is_sram(sink) || !run->inside || !run->used)
		return;
	for (i = 0; i < run->used; i++)
		messages += (byte[i] & 3) == 3 && byte[i] != 0xff;
	seq_printf(m, "  %llu messages, the first has TCODE %u\n", messages, byte[0] >> 2);
	if (byte[0] & 3)
		seq_puts(m, "DIFFERS: the first byte begins no message\n");
	if (!run->fill && (byte[run->used - 1] & 3) != 3)
		seq_puts(m, "DIFFERS: the last byte ends no message\n");
}

static bool ntrace_bringup_one(struct seq_file *m, struct ntrace_bringup_run *run)
{
	int cpu = run->path->encoder->comp.cpu;

	ntrace_bringup_clean(run->path->sink);
	if (smp_call_function_single(cpu, ntrace_bringup_run_here, run, 1)) {
		seq_puts(m, "  the CPU is offline\n");
		return false;
	}
	if (run->failed)
		ntrace_bringup_failed(m, run->failed);
	else if (run->refused)
		seq_printf(m, "DIFFERS: its configuration, or 0x%llx bytes at 0x%llx, is not kept\n",
			   run->size, (u64)run->path->sink->store.bus);
	else if (!run->inside)
		seq_puts(m, "DIFFERS: WP is outside of the window\n");

	return !run->failed && !run->refused;
}

/* A little trace in a large window */
static bool ntrace_bringup_little(struct seq_file *m, struct ntrace_bringup_run *run)
{
	run->size = ALIGN_DOWN(run->path->sink->store.size / 2, (u64)run->path->sink->align);
	if (run->path->sink->store.fixed)
		run->size = run->path->sink->store.size;
	if (!ntrace_bringup_one(m, run))
		return false;
	seq_printf(m, "  a little trace: %llu bytes, encoder empty after %llu ns\n", run->used,
		   run->empty_ns);
	if (!run->used)
		seq_puts(m, "DIFFERS: nothing is written\n");
	if (run->stopped)
		seq_puts(m, "DIFFERS: the sink has disabled itself, its window is not full\n");
	if (run->overflow)
		seq_puts(m, "DIFFERS: the encoder says that it overflowed or stalled\n");
	ntrace_bringup_memory(m, run);
	ntrace_bringup_messages(m, run);

	return true;
}

/* More trace than a small window holds, and whether the sink can be used again */
static void ntrace_bringup_much(struct seq_file *m, struct ntrace_bringup_run *run)
{
	struct ntrace_ramsink *sink = run->path->sink;
	u32 wp;

	run->fill = true;
	if (!sink->store.fixed)
		run->size = min(NTRACE_BRINGUP_WINDOW + (u64)sink->headroom, sink->store.size);
	if (!ntrace_bringup_one(m, run))
		return;
	seq_printf(m, "  a window of %llu bytes: %s, the sink has%s disabled itself\n", run->size,
		   run->full ? "Wrap is 1 at its end" : "never full", run->stopped ? "" : " not");
	if (!run->full)
		seq_printf(m, "DIFFERS: the window is not full, WP is at 0x%llx in it\n",
			   run->used);
	if (!run->stopped)
		seq_puts(m, "DIFFERS: the sink does not stop at Limit\n");
	ntrace_bringup_memory(m, run);

	wp = ntrace_read(&sink->comp, sink->layout->wp);
	if (run->full && (wp & TR_RAM_WP_LOW_ADDR) != lower_32_bits(sink->start))
		seq_printf(m, "DIFFERS: WP is 0x%08x behind a full window, not Start\n", wp);
	wp = ntrace_write_back(&sink->comp, sink->layout->wp, lower_32_bits(sink->start));
	if (wp & TR_RAM_WP_LOW_WRAP)
		seq_puts(m, "DIFFERS: a write to WP does not clear Wrap\n");
}

/* Trace only the kernel, or everything if the encoder has no filters */
static int ntrace_bringup_config(struct ntrace_bringup_run *run)
{
	struct perf_event_attr attr = { .exclude_user = 1, .exclude_guest = 1 };
	struct ntrace_encoder *enc = run->path->encoder;

	if (!enc->caps.filters)
		attr = (struct perf_event_attr) { .config = NTRACE_CONFIG_MMODE };

	return ntrace_attr_to_config(&attr, enc, ntrace_path_is_shared(run->path), &run->config);
}

static void ntrace_bringup_path(struct seq_file *m, struct ntrace_path *path)
{
	struct ntrace_bringup_run run = { .path = path };
	unsigned int i;

	seq_printf(m, "%s", dev_name(path->comp[0]->dev));
	for (i = 1; i < path->nr; i++)
		seq_printf(m, " -> %s", dev_name(path->comp[i]->dev));
	seq_putc(m, '\n');

	if (ntrace_ramsink_store_get(path->sink)) {
		seq_puts(m, "  no memory\n");
		return;
	}
	if (ntrace_bringup_config(&run))
		seq_puts(m, "DIFFERS: the encoder cannot trace the kernel\n");
	else if (ntrace_bringup_little(m, &run))
		ntrace_bringup_much(m, &run);
	for (i = 0; i < path->nr; i++)
		ntrace_component_reset(path->comp[i]);
	ntrace_ramsink_store_put(path->sink);
}

/* ntrace_components_lock is held, so that no event begins to use the same components. */
static void ntrace_bringup_paths(struct seq_file *m, struct ntrace_component *enc)
{
	struct ntrace_component *sink;
	struct ntrace_path *path;
	unsigned int i, users;

	ntrace_for_each_component(sink, TR_COMP_RAMSINK) {
		path = ntrace_path_get(enc->cpu, sink->id, task_pid(current));
		if (IS_ERR(path))
			continue;
		for (i = 0, users = 0; i < path->nr; i++)
			users = max(users, path->comp[i]->claim.users);
		if (users == 1)
			ntrace_bringup_path(m, path);
		ntrace_path_put(path);
	}
}

static int ntrace_bringup_show(struct seq_file *m, void *unused)
{
	struct ntrace_awake awake = {};
	struct ntrace_component *comp;
	struct device_node *np;
	unsigned int i;
	int ret;

	guard(mutex)(&ntrace_components_lock);
	/* This CPU accesses the registers of components whose harts could sleep. */
	ret = ntrace_power_keep_awake(&awake, -1);
	if (ret)
		return ret;
	seq_puts(m, "# ntrace bring-up report 1\n");
	for_each_matching_node(np, ntrace_component_of_match)
		if (of_device_is_available(np) && !ntrace_component_find(np))
			seq_printf(m,
				   "DIFFERS: %pOF is not used: the kernel's log has its registers and says why\n",
				   np);
	for (i = 0; ntrace_component_types[i]; i++)
		ntrace_for_each_component(comp, ntrace_component_types[i]->id)
			ntrace_bringup_component(m, comp);
	ntrace_for_each_component(comp, TR_COMP_ENCODER)
		ntrace_bringup_paths(m, comp);
	ntrace_power_let_sleep(&awake);

	return 0;
}

/* If the buffer were too small, seq_file would run the whole report again with a larger one. */
static int ntrace_bringup_open(struct inode *inode, struct file *file)
{
	return single_open_size(file, ntrace_bringup_show, NULL, SZ_256K);
}

static const struct file_operations ntrace_bringup_fops = {
	.owner		= THIS_MODULE,
	.open		= ntrace_bringup_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= single_release,
};

static struct dentry *ntrace_bringup_dir;

void ntrace_bringup_init(void)
{
	ntrace_bringup_dir = debugfs_create_dir("ntrace", NULL);
	debugfs_create_file("bringup", 0400, ntrace_bringup_dir, NULL, &ntrace_bringup_fops);
}

void ntrace_bringup_exit(void)
{
	debugfs_remove_recursive(ntrace_bringup_dir);
}
