/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What knows of perf: events, AUX areas, the CPUs that trace.
 */
#ifndef _NTRACE_PMU_H
#define _NTRACE_PMU_H

#include <linux/bitfield.h>
#include <linux/bits.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/math64.h>
#include <linux/perf_event.h>
#include <linux/smp.h>
#include <linux/time64.h>
#include <linux/timex.h>
#include <linux/types.h>

#include <uapi/linux/ntrace.h>

#include "ntrace_aux.h"
#include "ntrace_path.h"

/* From perf_event_attr to register values, and from these to what a reader needs to know. */

#define ntrace_attr(_attr, _field)	FIELD_GET(NTRACE_CONFIG_##_field, (_attr)->config)
#define ntrace_attr_sinkid(_attr)	FIELD_GET(NTRACE_CONFIG2_SINKID, (_attr)->config2)

/**
 * struct ntrace_field - a term
 * @name:	its file in format/
 * @word:	of perf_event_attr, as it is called there
 * @mask:	its bits
 */
struct ntrace_field {
	const char *name;
	const char *word;
	u64 mask;
};

#define NTRACE_NR_FIELDS	13

extern const struct ntrace_field ntrace_fields[NTRACE_NR_FIELDS];

bool ntrace_attr_has_unknown_bits(const struct perf_event_attr *attr);
u32 ntrace_attr_privs(const struct perf_event_attr *attr);
int ntrace_attr_to_config(const struct perf_event_attr *attr, const struct ntrace_encoder *enc,
			  bool shared, struct ntrace_encoder_config *config);
u64 ntrace_config_to_hw_id(const struct ntrace_encoder_config *config,
			   const struct ntrace_encoder *enc, bool shared);

/* The scontext CSR holds the TID of the running task. */

bool ntrace_context_cpu_online(unsigned int cpu);
bool ntrace_context_possible(int cpu);
int ntrace_context_get(void);
void ntrace_context_put(void);
void ntrace_context_exit(void);
void ntrace_context_write_current(void);

/* An event: what it asks for, which paths it may use. */

/**
 * struct ntrace_event_cpu - an event on a CPU
 * @path:	NULL if the CPU cannot be traced; it may be gone
 * @config:	the encoder's registers
 */
struct ntrace_event_cpu {
	struct ntrace_path *path;
	struct ntrace_encoder_config config;
};

/**
 * struct ntrace_event - an event; those that children inherit share their parent's
 * @lossless:	the hart stalls rather than lose trace
 * @patient:	it also waits for the reader of a full AUX area
 * @context:	scontext is wanted
 * @owner:	who opened it
 * @full:	the area was full when trace was to go on, and nothing was traced since
 * @untold:	no record has said so, as there was no room at all
 * @reported:	CPUs for which the hardware id record is written
 * @nr:		1 or, for an event that may run anywhere, all CPUs
 * @cpu:	these
 */
struct ntrace_event {
	bool lossless;
	bool patient;
	bool context;
	bool full;
	bool untold;
	struct pid *owner;
	struct cpumask reported;
	unsigned int nr;
	struct ntrace_event_cpu cpu[] __counted_by(nr);
};

static inline struct ntrace_event *to_ntrace_event(const struct perf_event *event)
{
	return event->pmu_private;
}

/* The event's part on one CPU, which must be its own if it has one */
static inline struct ntrace_event_cpu *ntrace_event_cpu(struct perf_event *event, int cpu)
{
	return &to_ntrace_event(event)->cpu[event->cpu < 0 ? cpu : 0];
}

int ntrace_event_init(struct perf_event *event);
bool ntrace_event_is_lost(const struct perf_event *event);

/* Address filters of events. */

int ntrace_addr_validate(struct list_head *filters);
void ntrace_addr_sync(struct perf_event *event);
void ntrace_addr_bound(struct pmu *pmu, const struct ntrace_encoder *enc);
const struct ntrace_ranges *ntrace_addr_ranges(struct perf_event *event);

/* The AUX area, as sinks see it. */

/**
 * struct ntrace_map - the area for one sink
 * @sink:	the sink, NULL if there is none
 * @addr:	bus address of each chunk, NULL if the sink's trace is copied
 * @nr:		chunks that are mapped
 */
struct ntrace_map {
	struct ntrace_ramsink *sink;
	dma_addr_t *addr;
	unsigned int nr;
};

/**
 * struct ntrace_buffer - an AUX area
 * @node:	in the list of all, under ntrace_components_lock
 * @layout:	its chunks
 * @ring:	the newest trace overwrites the oldest
 * @pages:	its pages' addresses; perf's array
 * @nr_maps:	number of
 * @map:	the sinks that the event can reach
 */
struct ntrace_buffer {
	struct list_head node;
	struct ntrace_aux_layout layout;
	bool ring;
	void **pages;
	unsigned int nr_maps;
	struct ntrace_map map[] __counted_by(nr_maps);
};

void *ntrace_buffer_setup(struct perf_event *event, void **pages, int nr_pages, bool snapshot);
void ntrace_buffer_free(void *aux);
void ntrace_buffer_unbound(struct ntrace_ramsink *sink);
struct ntrace_map *ntrace_buffer_search_map(struct ntrace_buffer *buf,
					    const struct ntrace_ramsink *sink);
void ntrace_buffer_copy(struct ntrace_buffer *buf, u64 head, struct ntrace_ramsink *sink, u64 from,
			u64 size);
void *ntrace_buffer_at(const struct ntrace_buffer *buf, unsigned int chunk, u64 offset);
void ntrace_buffer_fill_idle(struct ntrace_buffer *buf, struct ntrace_map *map, u64 head, u64 size);
void ntrace_buffer_skip(struct ntrace_buffer *buf, struct ntrace_map *map, u64 head, u64 size);

/*
 * Ntrace_buffer_search_map(), at every context switch. Mostly the area is this event's own, with a
 * map for each CPU, or for the only one.
 */
static inline struct ntrace_map *ntrace_buffer_find_map(struct ntrace_buffer *buf,
							const struct ntrace_ramsink *sink)
{
	unsigned int i = buf->nr_maps > 1 ? raw_smp_processor_id() : 0;

	if (i < buf->nr_maps && buf->map[i].sink == sink)
		return &buf->map[i];

	return ntrace_buffer_search_map(buf, sink);
}

/*
 * How much time has passed on this CPU: what a rate takes. local_clock() would tell, in 60
 * instructions, at every context switch.
 */

/* Enough for counters from 1 MHz to 1 GHz: an error below a thousandth, no overflow for days */
#define NTRACE_CLOCK_SHIFT	10

extern u64 ntrace_clock_mult;

static inline void ntrace_clock_init(void)
{
	ntrace_clock_mult = div_u64((u64)NSEC_PER_SEC << NTRACE_CLOCK_SHIFT, riscv_timebase);
}

/* Now, in ticks */
static inline u64 ntrace_clock(void)
{
	return get_cycles64();
}

/* A distance in nanoseconds */
static inline u64 ntrace_clock_ns(u64 ticks)
{
	return ticks * ntrace_clock_mult >> NTRACE_CLOCK_SHIFT;
}

/* A CPU that traces */

struct ntrace_cpu;

/**
 * struct ntrace_window_ops - a way for trace to get into the AUX area
 * @begin:	what the sink is to write into first, now that a transaction is open. Return: 0 or
 *		-ENOSPC, when there is not enough room
 * @wait:	let the hart fill its encoder and stall, off before. Return: 0, or an error and off
 * @enable:	set the sink and enable the path, as far as @wait did not. Return: 0, or an error
 *		and off
 * @look:	one look at the write pointer. Return: whether @move or @finish is due
 * @period:	when to look next, in nanoseconds
 * @move:	publish, and go on in a new transaction, while the encoder is on; NULL: that cannot
 *		be. Return: 0, -EAGAIN when there is no room and the hart waits, or an error
 * @extend:	give a sink that is full more room, while the encoder is on; NULL: it never is full.
 *		Return: 0, or an error when there is none
 * @finish:	all off, publish and close, if a transaction is open
 * @next:	of windows: one more of the same transaction. Return: 0 or -ENOSPC
 * @fits:	of windows: is there room for a next one behind so many bytes? NULL: @next tells
 * @set:	of windows: set the sink to it
 * @take:	of windows: make visible, in the area, what the sink has written
 * @pass:	of windows: pass over what is left of one; NULL: nothing is
 * @keeps:	of windows: the rest of one may be gone on with later
 */
struct ntrace_window_ops {
	int (*begin)(struct ntrace_cpu *c);
	int (*wait)(struct ntrace_cpu *c);
	int (*enable)(struct ntrace_cpu *c);
	bool (*look)(struct ntrace_cpu *c);
	u64 (*period)(const struct ntrace_cpu *c);
	int (*move)(struct ntrace_cpu *c);
	int (*extend)(struct ntrace_cpu *c);
	void (*finish)(struct ntrace_cpu *c);
	int (*next)(struct ntrace_cpu *c);
	bool (*fits)(const struct ntrace_cpu *c, u64 end);
	int (*set)(struct ntrace_cpu *c);
	void (*take)(struct ntrace_cpu *c, u64 used);
	void (*pass)(struct ntrace_cpu *c, u64 end);
	bool keeps;
};

/**
 * struct ntrace_ring - a sink's way round an area
 * @head:	bytes that were ever written; modulo the area's size, where the next one goes
 * @begin:	@head when the AUX transaction was opened
 * @synced:	@head up to which the CPU sees what was written
 * @turn:	@head when the sink was enabled, if it begins at Start then
 */
struct ntrace_ring {
	u64 head;
	u64 begin;
	u64 synced;
	u64 turn;
};

enum ntrace_cpu_state {
	NTRACE_OFF,		/* the encoder is off */
	NTRACE_RUNNING,		/* the path is on, and an AUX transaction open if it has a sink */
	NTRACE_WAITING,		/* AUX is full: encoder and shared sink on, an own sink off */
};

/**
 * struct ntrace_cpu - a CPU's part, touched by that CPU only, with interrupts off
 * @state:	what it is doing
 * @full:	off until the area has room
 * @online:	events may run here
 * @scontext:	the hart has the CSR
 * @asleep:	nothing is switched on now: NTRACE_ASLEEP_
 * @resume:	the event would be running if it were not for that
 * @wakes:	how often components of this CPU may have lost their state, or gone
 * @event:	that has the encoder, NULL if none
 * @path:	of this event
 * @pinned:	the event's context is pinned because of it
 * @ops:	how its trace gets into the area
 * @handle:	AUX transaction
 * @buf:	its area
 * @map:	of the path's sink
 * @limits:	for windows
 * @window:	that the sink writes into
 * @done:	bytes in windows before, of the same transaction
 * @lost:	trace was lost in this transaction
 * @ring:	instead of windows, if the area is circular
 * @kept:	the area that @window is in, if the sink keeps it
 * @kept_head:	head of a transaction that goes on there
 * @resumed:	@window is the rest of an earlier transaction's
 * @timer:	for the next look at the window
 * @armed:	for which period the timer was started last
 * @pace:	how fast it fills
 * @seen:	bytes written at the last look
 * @seen_at:	time of the last look, in ticks
 */
struct ntrace_cpu {
	enum ntrace_cpu_state state;
	bool full;
	bool online;
	bool scontext;
	unsigned int asleep;
	bool resume;
	unsigned int wakes;
	struct perf_event *event;
	struct ntrace_path *path;
	bool pinned;
	const struct ntrace_window_ops *ops;
	struct perf_output_handle handle;
	struct ntrace_buffer *buf;
	struct ntrace_map *map;
	struct ntrace_aux_limits limits;
	struct ntrace_aux_window window;
	u64 done;
	bool lost;
	struct ntrace_ring ring;
	const struct ntrace_buffer *kept;
	u64 kept_head;
	bool resumed;
	struct hrtimer timer;
	u64 armed;
	struct ntrace_aux_pace pace;
	u64 seen;
	u64 seen_at;
};

static inline bool ntrace_cpu_lossless(const struct ntrace_cpu *c)
{
	return to_ntrace_event(c->event)->lossless;
}

static inline bool ntrace_cpu_patient(const struct ntrace_cpu *c)
{
	return to_ntrace_event(c->event)->patient;
}

/* What is written until now, and how fast it came */
static __always_inline void ntrace_cpu_see(struct ntrace_cpu *c, u64 used)
{
	u64 now = ntrace_clock();

	ntrace_aux_learn(&c->pace, used > c->seen ? used - c->seen : 0,
			 ntrace_clock_ns(now - c->seen_at));
	c->seen = used;
	c->seen_at = now;
}

int ntrace_buffer_open(struct ntrace_cpu *c);
void ntrace_buffer_close(struct ntrace_cpu *c);

extern const struct ntrace_window_ops ntrace_window_direct;
extern const struct ntrace_window_ops ntrace_window_copied;
extern const struct ntrace_window_ops ntrace_window_circular;
extern const struct ntrace_window_ops ntrace_shared_ops;

void ntrace_window_limit(struct ntrace_cpu *c);
void ntrace_window_stop_encoder(struct ntrace_cpu *c);
bool ntrace_window_resume(struct ntrace_cpu *c);
void ntrace_window_drain_ring(struct ntrace_cpu *c);
void ntrace_window_close_ring(struct ntrace_cpu *c);

int ntrace_cpu_add(struct perf_event *event, int flags);
void ntrace_cpu_del(struct perf_event *event, int flags);
void ntrace_cpu_start(struct perf_event *event, int flags);
void ntrace_cpu_stop(struct perf_event *event, int flags);
long ntrace_cpu_sample(struct perf_event *event, struct perf_output_handle *handle,
		       unsigned long size);
void ntrace_cpu_evict(void);
int ntrace_cpu_init(void);
void ntrace_cpu_exit(void);

/* A report on the hardware, for those who bring it up. */

void ntrace_bringup_init(void);
void ntrace_bringup_exit(void);

#endif /* _NTRACE_PMU_H */
