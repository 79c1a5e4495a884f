/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts that depend on perf: events, AUX areas, and tracing on each CPU.
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

/* From perf_event_attr to register values, and from these to what the decoder needs to know */

#define ntrace_attr(_attr, _field)	FIELD_GET(NTRACE_CONFIG_##_field, (_attr)->config)
#define ntrace_attr_sinkid(_attr)	FIELD_GET(NTRACE_CONFIG2_SINKID, (_attr)->config2)

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

/* Events: their configuration and their paths */

/* An event on a CPU */
struct ntrace_event_cpu {
	struct ntrace_path *path;	/* NULL if the CPU cannot be traced; see path->gone */
	struct ntrace_encoder_config config;
};

/* An event. Inherited events share the structure of their parent. */
struct ntrace_event {
	bool lossless;			/* the hart stalls rather than lose trace */
	bool patient;			/* it also waits for the reader of a full AUX area */
	bool context;			/* scontext is wanted */
	bool full;			/* the area was full, and nothing was traced since */
	bool untold;			/* not reported yet, because there was no room at all */
	struct pid *owner;		/* the task that opened it */
	struct cpumask reported;	/* CPUs whose hardware ID record is written */
	unsigned int nr;		/* 1, or all CPUs for an event that may run anywhere */
	struct ntrace_event_cpu cpu[] __counted_by(nr);
};

static inline struct ntrace_event *to_ntrace_event(const struct perf_event *event)
{
	return event->pmu_private;
}

/* The event on a CPU. For an event of one CPU, @cpu must be that CPU. */
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

/* The current ranges of an event. Inline, as this runs at every context switch. */
static inline const struct ntrace_ranges *ntrace_addr_ranges(struct perf_event *event)
{
	perf_event_addr_filters_sync(event);

	return event->hw.addr_filters;
}

/* The AUX area as sinks see it */

/* Mapping of the area for one sink */
struct ntrace_map {
	struct ntrace_ramsink *sink;	/* NULL if there is none */
	dma_addr_t *addr;		/* bus address of each chunk, NULL: trace is copied */
	unsigned int nr;		/* chunks that are mapped */
};

/* An AUX area */
struct ntrace_buffer {
	struct list_head node;		/* under ntrace_components_lock */
	struct ntrace_aux_layout layout;
	bool ring;			/* the newest trace overwrites the oldest */
	void **pages;			/* perf's array of page addresses */
	unsigned int nr_maps;		/* one for each CPU of the event */
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
 * Fast path of ntrace_buffer_search_map() for context switches. The area is mostly the event's own,
 * with a map for each CPU, or for its only CPU.
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
 * Elapsed time on a CPU, to compute rates. local_clock() would take 60 instructions at every
 * context switch.
 */

/* For counters from 1 MHz to 1 GHz: error below 0.1 percent, no overflow within days */
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

/* Convert ticks to nanoseconds */
static inline u64 ntrace_clock_ns(u64 ticks)
{
	return ticks * ntrace_clock_mult >> NTRACE_CLOCK_SHIFT;
}

/* Tracing on a CPU */

struct ntrace_cpu;

/* Operations that move trace into the AUX area, for one kind of window */
struct ntrace_window_ops {
	/* Choose the first window of a transaction. Return: 0, -ENOSPC: not enough room */
	int (*begin)(struct ntrace_cpu *c);
	/*
	 * Enable the encoder, so that the hart stalls when it is full. Return: 0, or an error and
	 * off
	 */
	int (*wait)(struct ntrace_cpu *c);
	/* Set the sink and enable the path, except for what wait() has enabled. Return: likewise */
	int (*enable)(struct ntrace_cpu *c);
	/* Poll the write pointer. Return: whether move or finish is due */
	bool (*look)(struct ntrace_cpu *c);
	u64 (*period)(const struct ntrace_cpu *c);	/* when to poll next, in nanoseconds */
	/*
	 * Publish, and continue in a new transaction, while the encoder is on. NULL: not possible.
	 * Return: 0, -EAGAIN when there is no room and the hart waits, or an error
	 */
	int (*move)(struct ntrace_cpu *c);
	/*
	 * Give a full sink more room, while the encoder is on. NULL: the sink never is full.
	 * Return: 0, or an error when there is no room
	 */
	int (*extend)(struct ntrace_cpu *c);
	/* Switch all off. If a transaction is open, publish and close it */
	void (*finish)(struct ntrace_cpu *c);

	/* Helpers for windows */
	int (*next)(struct ntrace_cpu *c);		/* choose the next window, or -ENOSPC */
	bool (*fits)(const struct ntrace_cpu *c, u64 end); /* will next() succeed? NULL: try it */
	int (*set)(struct ntrace_cpu *c);		/* set the sink to the window */
	void (*take)(struct ntrace_cpu *c, u64 used);	/* make written trace visible */
	void (*pass)(struct ntrace_cpu *c, u64 end);	/* skip the rest; NULL: no need */
	bool keeps;					/* a later transaction may use the rest */
};

/* Position of a sink in a circular area */
struct ntrace_ring {
	/* Bytes written since the beginning; modulo the area's size, offset of the next one */
	u64 head;
	u64 begin;	/* head when the AUX transaction was opened */
	u64 synced;	/* head up to which memory is synced for the CPU */
	u64 turn;	/* head when the sink was enabled, if the sink rewinds to Start */
};

enum ntrace_cpu_state {
	NTRACE_OFF,		/* the encoder is off */
	NTRACE_RUNNING,		/* the path is on; if it has a sink, a transaction is open */
	NTRACE_WAITING,		/* AUX is full: encoder and shared sink on, private sink off */
};

/* State of a CPU. Only that CPU accesses it, with interrupts off. */
struct ntrace_cpu {
	enum ntrace_cpu_state state;
	bool full;				/* off until the area has room */
	bool online;				/* events may run here */
	bool scontext;				/* the hart has the CSR */
	unsigned int asleep;			/* tracing is suspended: NTRACE_ASLEEP_ */
	bool resume;				/* start the event when tracing is resumed */
	unsigned int wakes;			/* how often components may have lost their state */
	struct perf_event *event;		/* event that uses the encoder, NULL if none */
	struct ntrace_path *path;		/* path of the event */
	bool pinned;				/* the driver has pinned the event's context */
	const struct ntrace_window_ops *ops;	/* operations for the event's windows */
	struct perf_output_handle handle;	/* AUX transaction */
	struct ntrace_buffer *buf;		/* AUX area of the transaction */
	struct ntrace_map *map;			/* mapping for the path's sink */
	struct ntrace_aux_limits limits;	/* limits for windows */
	struct ntrace_aux_window window;	/* current window */
	u64 done;				/* bytes of the transaction before window */
	bool lost;				/* trace was lost in this transaction */
	struct ntrace_ring ring;		/* used if the area is circular */
	const struct ntrace_buffer *kept;	/* area of window, if the sink keeps window */
	u64 kept_head;				/* head of a transaction that can continue there */
	bool resumed;				/* window is the rest of an earlier one */
	struct hrtimer timer;			/* for the next poll */
	u64 armed;				/* last period of the timer */
	struct ntrace_aux_pace pace;		/* rate of trace */
	u64 seen;				/* bytes written at the last poll */
	u64 seen_at;				/* time of the last poll, in ticks */
};

static inline bool ntrace_cpu_lossless(const struct ntrace_cpu *c)
{
	return to_ntrace_event(c->event)->lossless;
}

static inline bool ntrace_cpu_patient(const struct ntrace_cpu *c)
{
	return to_ntrace_event(c->event)->patient;
}

/* Record the result of a poll, and update the rate */
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

/* A report on the hardware, for bring-up */

void ntrace_bringup_init(void);
void ntrace_bringup_exit(void);

#endif /* _NTRACE_PMU_H */
