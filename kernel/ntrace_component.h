/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trace components (pages of registers, one for each `riscv,trace-component` node) and their types.
 */
#ifndef _NTRACE_COMPONENT_H
#define _NTRACE_COMPONENT_H

#include <linux/bitfield.h>
#include <linux/device.h>
#include <linux/io.h>
#include <linux/irq_work.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mod_devicetable.h>
#include <linux/pm.h>
#include <linux/pm_qos.h>
#include <linux/spinlock.h>
#include <linux/sysfs.h>
#include <linux/types.h>

#include "ntrace_aux.h"
#include "ntrace_regs.h"

struct device_node;
struct mutex;
struct ntrace_clocks;
struct ntrace_component;
struct pid;

/* A type of component */
struct ntrace_component_type {
	const char *name;	/* for messages and sysfs */
	u8 id;			/* trXxCompType */
	bool ends;		/* a path may end here */
	size_t size;		/* of the structure whose first member is the component */
	/* Set all registers that may be undefined after reset; Active is 1, Enable is 0 */
	int (*reset)(struct ntrace_component *comp);
	/* Find out the capabilities of a component, after a reset */
	int (*probe)(struct ntrace_component *comp);
	/*
	 * Add a path that enters by an input: set Enable and check that it stays set. Components
	 * downstream are enabled. NULL for an encoder, see ntrace_encoder_start()
	 */
	int (*enable)(struct ntrace_component *comp, unsigned int input);
	/*
	 * Drop a path: after the last one, clear Enable and wait until the component is empty.
	 * Components upstream are empty. NULL for an encoder, which needs its sink to become empty
	 */
	int (*disable)(struct ntrace_component *comp);
	/* Is a reset forbidden now? NULL: it never is */
	bool (*busy)(const struct ntrace_component *comp);
	const struct attribute_group *group;	/* sysfs attributes of the component's device */
};

/* A component. It may outlive the unbinding of its device, because events refer to it. */
struct ntrace_component {
	struct kref refs;		/* of the bound device, and of ntrace_component_get() */
	struct device *dev;
	struct ntrace_clocks *clocks;
	void __iomem *base;		/* its registers, not mapped after it is unbound */
	resource_size_t start;		/* their physical address, for messages */
	u32 impl;			/* trXxImpl */
	const struct ntrace_component_type *type;	/* from impl */
	bool version0;			/* its registers are of version 0 */
	int cpu;			/* from the `cpus` property, -1: shared */
	u32 id;				/* value of `sinkid` that selects it, if it is a sink */
	struct list_head node;
	bool failed;			/* a wait timed out: it is held in reset */
	struct irq_work report;		/* prints the failure, not under the run queue lock */
	const char *what;		/* the condition that never became true */
	u32 last;			/* last value of the register */
	struct attribute *sysfs;	/* its file in the PMU's directory, may be NULL */
	struct ntrace_claim claim;	/* under ntrace_components_lock */
	bool timed;			/* of a funnel: it is on because it forwards time */
	raw_spinlock_t lock;		/* interrupts off; a sink's comes before a funnel's */
	unsigned int active;		/* if CPUs share it: paths that are enabled or wait */
};

/* Properties of an implementation that no register tells; selected by the compatible */
struct ntrace_variant {
	u8 version0;		/* trXxCompType of a component of version 0; 0: version 1 */

	/* Of an encoder */
	const char *profile;	/* decoder's name for deviations of its messages; NULL: none */
	u8 addr_bits;		/* of an address field, 0: as many as the hart's addresses have */
	u8 src_bits;		/* width of SRC, if its messages always have it */
	bool filter_value;	/* its filter compares with one privilege, in other registers */
	/*
	 * A stalled hart takes traps, and does not stall in code that is not traced. Otherwise the
	 * driver could never make room in the AUX buffer.
	 */
	bool can_stall;

	/* Of a sink */
	/*
	 * When its encoder is off and empty and its own Empty is 1, all trace is before the write
	 * pointer. Other sinks may hold a partial unit until they are disabled.
	 */
	bool settles;
	/*
	 * All trace before the write pointer is in memory. Otherwise the write pointer may count
	 * pending writes, and the driver stops the sink before a read.
	 */
	bool wp_exact;
	u32 align;		/* bytes that it writes at a time, 0: the write pointer tells */
	/*
	 * Bytes at the end of a window that are reserved for trace in flight. With StopOnWrap the
	 * sink stops before them, and stops the encoders, too.
	 */
	u32 headroom;
	bool overruns;		/* in system memory it may wrap at Limit despite StopOnWrap */
	bool rewinds;		/* it begins at Start whenever it is enabled */
	bool wrap_sticks;	/* software cannot clear Wrap */
};

/* Callbacks for components that are bound and unbound */
struct ntrace_component_listener {
	/* The component is ready for use; an error fails its probe */
	int (*bound)(struct ntrace_component *comp);
	/* After the return nobody may access its registers, or use its device for DMA */
	void (*unbound)(struct ntrace_component *comp);
};

/* dev_err() and the like, for a component whose type is known */
#define ntrace_log(_level, _comp, _text, ...)							\
	dev_##_level((_comp)->dev, "trace %s at %pa" _text "\n", (_comp)->type->name,		\
		     &(_comp)->start, ##__VA_ARGS__)

static inline u32 ntrace_read(struct ntrace_component *comp, u32 offset)
{
	return readl(comp->base + offset);
}

static inline void ntrace_write(struct ntrace_component *comp, u32 offset, u32 value)
{
	writel(value, comp->base + offset);
}

/* Accesses that are not ordered against memory. Those to one component stay in order. */
static inline u32 ntrace_read_relaxed(struct ntrace_component *comp, u32 offset)
{
	return readl_relaxed(comp->base + offset);
}

static inline void ntrace_write_relaxed(struct ntrace_component *comp, u32 offset, u32 value)
{
	writel_relaxed(value, comp->base + offset);
}

/* Write a WARL register. Return: the value that it kept */
static inline u32 ntrace_write_back(struct ntrace_component *comp, u32 offset, u32 value)
{
	ntrace_write(comp, offset, value);
	return ntrace_read(comp, offset);
}

/* Limit of a wait, in polls and in time */
struct ntrace_deadline {
	unsigned int polls;	/* so far */
	u64 end;		/* set after some polls: short waits do not read the clock */
};

bool ntrace_deadline_passed(struct ntrace_deadline *deadline);
int ntrace_wait_on(struct ntrace_component *comp, u32 mask, u32 value, const char *what);

/* Is a component disabled and empty? */
static inline bool ntrace_component_stopped(u32 control)
{
	return (control & (TR_CONTROL_ENABLE | TR_CONTROL_EMPTY)) == TR_CONTROL_EMPTY;
}

/*
 * Wait until the masked bits of Control have a value. A fast component needs one read only. Return:
 * 0, or -ETIMEDOUT after ntrace_component_fail()
 */
static inline int ntrace_wait(struct ntrace_component *comp, u32 mask, u32 value, const char *what)
{
	if ((ntrace_read(comp, 0) & mask) == value)
		return 0;

	return ntrace_wait_on(comp, mask, value, what);
}

/* A read-only sysfs file of a component's device. _value may use `this`, the component. */
#define NTRACE_ATTR(_type, _name, _fmt, _value)							\
static ssize_t _name##_show(struct device *dev, struct device_attribute *attr, char *buf)	\
{												\
	struct ntrace_##_type *this = to_ntrace_##_type(dev_get_drvdata(dev));			\
												\
	return sysfs_emit(buf, _fmt "\n", _value);						\
}												\
static DEVICE_ATTR_RO(_name)

bool ntrace_has_register(struct ntrace_component *comp, u32 offset);
int ntrace_component_fail(struct ntrace_component *comp, const char *what, u32 last);
void ntrace_component_complain(struct ntrace_component *comp, const char *what, u32 last);
int ntrace_component_reset(struct ntrace_component *comp);
struct ntrace_component *ntrace_component_get(struct ntrace_component *comp);
void ntrace_component_put(struct ntrace_component *comp);
void ntrace_component_wake(struct ntrace_component *comp);
int ntrace_component_enable(struct ntrace_component *comp, u32 control);
int ntrace_component_disable(struct ntrace_component *comp, u32 control);

extern const struct of_device_id ntrace_component_of_match[];
extern const struct ntrace_component_type *const ntrace_component_types[];

extern struct mutex ntrace_components_lock;
struct ntrace_component *ntrace_component_find(const struct device_node *np);
struct ntrace_component *ntrace_component_next(struct ntrace_component *comp, u8 type);

/* Walk all components of a type; ntrace_components_lock is held. */
#define ntrace_for_each_component(comp, id)					\
	for ((comp) = ntrace_component_next(NULL, id); (comp);			\
	     (comp) = ntrace_component_next(comp, id))

int ntrace_component_driver_register(const struct ntrace_component_listener *listener);
void ntrace_component_driver_unregister(void);

/* Requests to keep harts out of idle states; at most one of them is active */
struct ntrace_awake {
	struct dev_pm_qos_request one;
	struct pm_qos_request all;
};

int ntrace_power_keep_awake(struct ntrace_awake *awake, int cpu);
void ntrace_power_let_sleep(struct ntrace_awake *awake);
int ntrace_power_get(struct ntrace_component *comp);
void ntrace_power_put(struct ntrace_component *comp);

/* The timestamp unit of an encoder or a funnel */
struct ntrace_timestamp {
	u8 mode;		/* trTsMode, 0: no timestamps */
	u8 width;		/* bits of the counter */
	u8 prescale;		/* a tick is 4^prescale ticks of the source, or of `time` */
	bool tracks_time;	/* the counter shows the `time` CSR, prescaled */
	u32 control;		/* trTsControl while it runs, without Enable */
	u16 counter;		/* register of the low half; the high half follows */
};

void ntrace_timestamp_probe(struct ntrace_component *comp, struct ntrace_timestamp *ts);
void ntrace_timestamp_check(struct ntrace_component *comp, struct ntrace_timestamp *ts);
void ntrace_timestamp_run(struct ntrace_component *comp, const struct ntrace_timestamp *ts);

/* The profile of encoders whose messages conform to the specification */
#define NTRACE_PROFILE_1_0	"1.0"

/* What the WARL fields of an encoder accept */
struct ntrace_encoder_caps {
	u32 control;	/* bits of trTeControl: CONTEXT, STALL_ENA, INHIBIT_SRC */
	u32 wired;	/* bits of trTeControl that always read 1: CONTEXT */
	u32 features;	/* bits of trTeInstFeatures */
	u32 always;	/* bits of trTeInstFeatures that are always on */
	u8 inst_modes;	/* bit n: trTeInstMode n */
	u8 retstack;	/* bit n: trTeInstImplicitReturnMode n */
	u8 sync_modes;	/* bit n: trTeInstSyncMode n */
	u8 sync_max;	/* the largest trTeInstSyncMax */
	u8 filters;	/* number of filters that match privilege */
	bool filter_value; /* see struct ntrace_variant */
	u8 privs;	/* the privileges that the filters can match */
	u8 ranges;	/* number of address ranges that the filters can match, too */
	bool latch;	/* comparators can latch: trace from a start to a stop address */
};

/* Register values of an event */
struct ntrace_encoder_config {
	u32 control;	/* trTeControl, without Enable and InstTracing */
	u32 features;	/* trTeInstFeatures */
	u32 ts_control;	/* trTsControl */
	u32 privs;	/* the privileges that filter 0 passes, 0: no filter */
};

struct ntrace_encoder {
	struct ntrace_component comp;
	u64 hartid;
	const char *profile;		/* see struct ntrace_variant */
	u8 addr_bits;			/* likewise */
	struct ntrace_encoder_caps caps;
	struct ntrace_timestamp ts;
	u8 src_bits;			/* trTeSrcBits */
	u16 src_id;			/* trTeSrcID */
	u32 lost;			/* bits of Control: trace was lost, or a hart stalled */
	u32 enable;			/* bits of Control to set when it is enabled */
	u32 control;			/* Control of config, without Enable and InstTracing */
	struct ntrace_encoder_config config;	/* content of its registers, if config_valid */
	bool config_valid;
	unsigned int ranges;		/* number of address ranges in its filters */
	bool paused;			/* InstTracing stays 0 */
	bool started;			/* it is enabled, and InstTracing may change */
	u32 tracing;			/* InstTracing as last written */
};

static inline struct ntrace_encoder *to_ntrace_encoder(struct ntrace_component *comp)
{
	return container_of(comp, struct ntrace_encoder, comp);
}

extern const struct ntrace_component_type ntrace_encoder_type;

int ntrace_encoder_write_config(struct ntrace_encoder *enc,
				const struct ntrace_encoder_config *config,
				const struct ntrace_ranges *ranges);
void ntrace_encoder_pause(struct ntrace_encoder *enc, bool paused);

/*
 * Does the encoder omit each return as long as its call counter is not 0, without comparing the
 * target? Then it must not trace across a context switch: returns of the next task do not match
 * calls of the previous one.
 */
static inline bool ntrace_encoder_counts_calls(const struct ntrace_encoder *enc)
{
	return enc->caps.always & TR_TE_FEATURES_IMPLICIT_RETURN;
}

/* The same for an event, which may request the counter (retstack=1) */
static inline bool ntrace_config_counts_calls(const struct ntrace_encoder_config *config)
{
	return (config->features & (TR_TE_FEATURES_IMPLICIT_RETURN |
				    TR_TE_FEATURES_IMPLICIT_RETURN_MODE)) ==
	       (TR_TE_FEATURES_IMPLICIT_RETURN |
		FIELD_PREP(TR_TE_FEATURES_IMPLICIT_RETURN_MODE, TR_TE_RETURN_COUNTER));
}

/* The functions below run at every context switch. They are inline because a call costs more. */

static inline bool ntrace_encoder_is_set(const struct ntrace_encoder *enc,
					 const struct ntrace_encoder_config *config,
					 const struct ntrace_ranges *ranges)
{
	const struct ntrace_encoder_config *now = &enc->config;

	/* With address filters, write them again: that resets the latch. */
	return enc->config_valid && !ranges->nr && !enc->ranges &&
	       now->control == config->control && now->features == config->features &&
	       now->ts_control == config->ts_control && now->privs == config->privs;
}

/* Fast path of ntrace_encoder_write_config(): skip it if the encoder has this configuration */
static inline int ntrace_encoder_configure(struct ntrace_encoder *enc,
					   const struct ntrace_encoder_config *config,
					   const struct ntrace_ranges *ranges)
{
	if (!enc->comp.failed && ntrace_encoder_is_set(enc, config, ranges))
		return 0;

	return ntrace_encoder_write_config(enc, config, ranges);
}

/* Write InstTracing. ntrace_encoder_pause() may interrupt this, so repeat until both agree. */
static inline void ntrace_encoder_trace(struct ntrace_encoder *enc)
{
	bool paused;

	do {
		paused = READ_ONCE(enc->paused);
		enc->tracing = paused ? 0 : TR_TE_CONTROL_INST_TRACING;
		ntrace_write(&enc->comp, TR_TE_CONTROL,
			     enc->control | TR_CONTROL_ENABLE | enc->tracing);
	} while (paused != READ_ONCE(enc->paused));
}

/*
 * Enable the encoder and start tracing. InstTracing must not be written before Enable reads 1. In
 * version 0 both are written together.
 */
static inline int ntrace_encoder_start(struct ntrace_encoder *enc)
{
	u32 enable = enc->enable & ~(READ_ONCE(enc->paused) ? TR_TE_CONTROL_INST_TRACING : 0);
	int ret;

	ntrace_write(&enc->comp, TR_TE_CONTROL, enc->control | enable);
	ret = ntrace_wait(&enc->comp, TR_CONTROL_ENABLE, TR_CONTROL_ENABLE, "Enable=1");
	if (ret)
		return ret;

	WRITE_ONCE(enc->started, true);
	ntrace_encoder_trace(enc);

	return 0;
}

/*
 * Clear Enable, do not wait. The sticky overflow bit is written 0, which does not change it.
 * InstTracing does not change either: from here on a pause does not write it.
 */
static inline void ntrace_encoder_stop(struct ntrace_encoder *enc)
{
	WRITE_ONCE(enc->started, false);
	ntrace_write(&enc->comp, TR_TE_CONTROL, enc->control | enc->tracing);
}

/*
 * Has an enabled encoder stopped by itself? A sink that is nearly full may clear InstTracing. The
 * trace since then is lost. @overflow is set as by ntrace_path_stop_encoder(), because the next
 * write of Control may clear the sticky bit.
 */
static inline bool ntrace_encoder_fell(struct ntrace_encoder *enc, bool *overflow)
{
	u32 control, tracing;

	do {
		tracing = READ_ONCE(enc->tracing);
		control = ntrace_read(&enc->comp, TR_TE_CONTROL);
	} while (tracing != READ_ONCE(enc->tracing));

	*overflow |= !!(control & enc->lost);
	if (control & TR_CONTROL_ENABLE)
		return tracing & ~control;

	ntrace_component_complain(&enc->comp, "Enable to stay 1", control);
	return true;
}

/* A funnel merges several streams into one, message by message. */
struct ntrace_funnel {
	struct ntrace_component comp;
	struct ntrace_timestamp ts;	/* its timestamp unit, which others may share */
	u32 can_disable;		/* inputs that can be disabled */
	u32 dis_input;			/* current value of trFunnelDisInput */
};

static inline struct ntrace_funnel *to_ntrace_funnel(struct ntrace_component *comp)
{
	return container_of(comp, struct ntrace_funnel, comp);
}

extern const struct ntrace_component_type ntrace_funnel_type;

/* A bounce buffer: memory other than the AUX area, from which trace is copied */
struct ntrace_ramsink_store {
	void *cpu;		/* CPU address, NULL for SRAM */
	dma_addr_t bus;		/* bus address for the sink */
	u64 size;		/* in bytes, 0: there is none */
	bool dma;		/* allocated by the DMA API */
	bool pool;		/* likewise, from a pool that the device tree names */
	bool fixed;		/* the sink can only use all of it */
	unsigned int users;	/* references, if it is allocated by the DMA API */
};

/* Marks memory that no sink has written yet. No message has a byte with MSEO 2. */
#define NTRACE_UNWRITTEN_BYTE	0x02

/* Differences between the register layouts of versions 0 and 1 */
struct ntrace_ramsink_layout {
	u32 mode;		/* bits of Control: write to system memory */
	u32 stop_on_wrap;	/* likewise: stop at Limit */
	u32 error;		/* likewise: a write failed, write 1 to clear; 0: no such bit */
	bool falls;		/* Enable becomes 0 when the sink stops at Limit */
	bool highs;		/* Limit and WP have their own high halves, like Start */
	u16 wp;			/* register of the low half of WP */
};

struct ntrace_ramsink {
	struct ntrace_component comp;
	const struct ntrace_ramsink_layout *layout;
	struct ntrace_timestamp ts;	/* of version 0: the timestamp unit that encoders share */
	u8 addr_bits;			/* width of the addresses it can reach */
	u32 align;			/* bytes it writes at a time */
	bool unit_unknown;		/* it may write fewer bytes at a time than align */
	bool can_ring;			/* it can wrap from Limit to Start */
	bool settles;			/* see struct ntrace_variant */
	bool wp_exact;			/* likewise */
	bool rewinds;			/* likewise */
	bool wrap_sticks;		/* likewise */
	u32 headroom;			/* likewise */
	bool overruns;			/* likewise, in its current mode */
	bool has_high;			/* addresses have a high half */
	u64 window_max;			/* maximum size of a window in the AUX area, in bytes */
	u32 stuck;			/* Wrap, if it was 1 before the sink was enabled */
	enum ntrace_sink_state state;	/* valid while comp.failed is not set */
	int kept_by;			/* CPU that left it on after stopping the encoder, or -1 */
	u32 control;			/* trRamControl, without Enable */
	u64 start;			/* address of the current window */
	u64 limit;			/* address of the last unit of the window */
	u64 size;			/* size of the window */
	void *guard;			/* the window's last unit, if the sink may overrun it */
	dma_addr_t guard_bus;		/* bus address of guard */
	struct ntrace_ramsink_store store;	/* its own memory, or the driver's */
	bool copied;			/* trace is copied from store, not written to AUX memory */
	bool shared;			/* several encoders lead here */
	struct pid *owner;		/* whose events share it */
	/* If shared, under comp.lock */
	u64 drained;			/* bytes of the window that have been copied */
	bool lost;			/* trace was lost, and no AUX transaction could report it */
};

static inline struct ntrace_ramsink *to_ntrace_ramsink(struct ntrace_component *comp)
{
	return container_of(comp, struct ntrace_ramsink, comp);
}

/* Does the driver have to read trace word by word? */
static inline bool ntrace_ramsink_is_sram(const struct ntrace_ramsink *sink)
{
	return sink->store.size && !sink->store.cpu;
}

extern const struct ntrace_component_type ntrace_ramsink_type;

int ntrace_ramsink_store_get(struct ntrace_ramsink *sink);
void ntrace_ramsink_store_put(struct ntrace_ramsink *sink);

int ntrace_ramsink_wait_started(struct ntrace_ramsink *sink);
int ntrace_ramsink_lost_way(struct ntrace_ramsink *sink);
int ntrace_ramsink_set_window(struct ntrace_ramsink *sink, u64 start, u64 size);
int ntrace_ramsink_set_ring(struct ntrace_ramsink *sink, u64 start, u64 size, u64 at);
bool ntrace_ramsink_ring_at(struct ntrace_ramsink *sink, u64 *at, bool *wrapped);
bool ntrace_ramsink_stopped(struct ntrace_ramsink *sink);
void ntrace_ramsink_set_guard(struct ntrace_ramsink *sink, void *unit);
bool ntrace_ramsink_overran(struct ntrace_ramsink *sink);
void ntrace_ramsink_fetch(struct ntrace_ramsink *sink, u64 from, u64 size);
void ntrace_ramsink_copy(struct ntrace_ramsink *sink, u64 from, void *to, u64 size);
void ntrace_ramsink_hand_back(struct ntrace_ramsink *sink);

/* The functions below run at every context switch. They are inline because a call costs more. */

/* Take a step if the state of the sink allows it. Return: 0 or -EIO */
static inline int ntrace_ramsink_go(struct ntrace_ramsink *sink, enum ntrace_sink_op op)
{
	int next = ntrace_sink_next(sink->comp.failed ? NTRACE_SINK_FAILED : sink->state, op);

	if (next < 0) {
		WARN_ON_ONCE(next == -EPERM);
		return -EIO;
	}
	sink->state = next;

	return 0;
}

static inline int ntrace_ramsink_start(struct ntrace_ramsink *sink)
{
	int ret = ntrace_ramsink_go(sink, NTRACE_SINK_START);

	if (ret)
		return ret;
	ntrace_write(&sink->comp, TR_RAM_CONTROL,
		     sink->control | TR_CONTROL_ENABLE | sink->layout->error);

	if (ntrace_read(&sink->comp, TR_RAM_CONTROL) & TR_CONTROL_ENABLE)
		return 0;

	return ntrace_ramsink_wait_started(sink);
}

/* Disable the sink, and wait until it is empty */
static inline int ntrace_ramsink_stop(struct ntrace_ramsink *sink)
{
	int ret = ntrace_ramsink_go(sink, NTRACE_SINK_STOP);

	if (ret)
		return ret;
	ntrace_write(&sink->comp, TR_RAM_CONTROL, sink->control);

	return ntrace_wait(&sink->comp, TR_CONTROL_ENABLE | TR_CONTROL_EMPTY, TR_CONTROL_EMPTY,
			   "Enable=0 and Empty=1");
}

/* Is the sink enabled, with no trace in flight? */
static inline bool ntrace_ramsink_is_settled(struct ntrace_ramsink *sink)
{
	const u32 mask = TR_CONTROL_ENABLE | TR_CONTROL_EMPTY;

	return (ntrace_read(&sink->comp, TR_RAM_CONTROL) & mask) == mask;
}

/*
 * Continue with the rest of the window, after @used bytes, as a window of its own. Return: false
 * when the rest begins beyond a 4 GiB boundary: the driver only reads the low half of WP
 */
static inline bool ntrace_ramsink_advance(struct ntrace_ramsink *sink, u64 used)
{
	u64 start = sink->start + used;

	if (upper_32_bits(start ^ sink->start))
		return false;
	sink->start = start;
	sink->size -= used;

	return true;
}

/* How many bytes has the sink written? Return: false when WP is outside of the window */
static inline bool ntrace_ramsink_written(struct ntrace_ramsink *sink, u64 *used)
{
	u32 wp = ntrace_read(&sink->comp, sink->layout->wp);

	/* A window is smaller than 4 GiB, so the low half of WP is enough. */
	*used = (wp ^ sink->stuck) & TR_RAM_WP_LOW_WRAP ?
			sink->size :
			(u32)((wp & TR_RAM_WP_LOW_ADDR) - lower_32_bits(sink->start));

	return *used <= sink->size;
}

/*
 * The same for a poll. A write pointer outside of the window counts as a full window, so that the
 * driver stops the sink and ntrace_ramsink_account() reports the error.
 */
static inline u64 ntrace_ramsink_used(struct ntrace_ramsink *sink)
{
	u64 used;

	return ntrace_ramsink_written(sink, &used) ? used : sink->size;
}

/*
 * How many bytes has the sink, which is off, written? Return: 0; -ENOSPC when the sink wrapped and
 * overwrote unread trace; or an error after ntrace_component_fail(): a sink whose write pointer is
 * outside of its window may have written anywhere. @used is 0 after an error.
 */
static inline int ntrace_ramsink_account(struct ntrace_ramsink *sink, u64 *used)
{
	bool inside = ntrace_ramsink_written(sink, used);

	if (inside && !(sink->headroom && *used == sink->size) &&
	    !(sink->guard && ntrace_ramsink_overran(sink)))
		return 0;

	*used = 0;

	return inside ? -ENOSPC : ntrace_ramsink_lost_way(sink);
}

/* Did a write of the sink, which is off, fail to reach memory? */
static inline bool ntrace_ramsink_erred(struct ntrace_ramsink *sink)
{
	u32 error = sink->layout->error;

	return error && ntrace_read(&sink->comp, TR_RAM_CONTROL) & error;
}

/*
 * Bytes at the end of a full window that may not be trace. Limit is the address of the last unit of
 * a window. If the length of a unit is unknown, the driver assumes the longest. A sink with shorter
 * units does not write the rest of the last one.
 */
static inline u64 ntrace_ramsink_unsure(const struct ntrace_ramsink *sink)
{
	return sink->unit_unknown ? sink->align : 0;
}

/* The bridge to an AMBA trace bus, where CoreSight components take over */
struct ntrace_atb {
	struct ntrace_component comp;
	u8 id;				/* ATB trace ID */
};

static inline struct ntrace_atb *to_ntrace_atb(struct ntrace_component *comp)
{
	return container_of(comp, struct ntrace_atb, comp);
}

extern const struct ntrace_component_type ntrace_atb_type;

#endif /* _NTRACE_COMPONENT_H */
