/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A CPU that traces, for the files that make it go.
 */
#ifndef _NTRACE_CPU_H
#define _NTRACE_CPU_H

#include <linux/hrtimer.h>
#include <linux/perf_event.h>

#include "ntrace_aux.h"
#include "ntrace_buffer.h"
#include "ntrace_event.h"
#include "ntrace_ring.h"

enum ntrace_state {
	NTRACE_OFF,		/* encoder and sink are off */
	NTRACE_RUNNING,		/* both are on, an AUX transaction is open */
	NTRACE_WAITING,		/* AUX is full: encoder and shared sink on, an own sink off */
	NTRACE_AWAY,		/* the path is on, and none of its trace comes to perf */
};

/**
 * struct ntrace_cpu - a CPU's part, touched by that CPU only, with interrupts off
 * @state:	what it is doing
 * @online:	events may run here
 * @scontext:	the hart has the CSR
 * @asleep:	nothing is switched on now: NTRACE_ASLEEP_
 * @resume:	the event would be running if it were not for that
 * @awoke:	components of this CPU may have lost their state, or gone, since they were used
 * @event:	that has the encoder, NULL if none
 * @path:	of this event
 * @handle:	AUX transaction
 * @buf:	its area
 * @map:	of the path's sink
 * @copied:	the sink writes into its store, not into the area
 * @limits:	for windows
 * @window:	that the sink writes into
 * @done:	bytes in windows before, of the same transaction
 * @lost:	trace was lost in this transaction
 * @ring:	instead of windows, if the area is circular
 * @timer:	for the next look at the window
 * @armed:	for which period the timer was started last
 * @pace:	how fast it fills
 * @seen:	bytes written at the last look
 * @seen_at:	time of the last look, in ticks
 */
struct ntrace_cpu {
	enum ntrace_state state;
	bool online;
	bool scontext;
	unsigned int asleep;
	bool resume;
	bool awoke;
	struct perf_event *event;
	struct ntrace_path *path;
	struct perf_output_handle handle;
	struct ntrace_buffer *buf;
	struct ntrace_map *map;
	bool copied;
	struct ntrace_aux_limits limits;
	struct ntrace_aux_window window;
	u64 done;
	bool lost;
	struct ntrace_ring ring;
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

int ntrace_aux_open(struct ntrace_cpu *c);
void ntrace_aux_close(struct ntrace_cpu *c);

#endif /* _NTRACE_CPU_H */
