/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An event: what it asks for, which paths it may use.
 */
#ifndef _NTRACE_EVENT_H
#define _NTRACE_EVENT_H

#include <linux/cpumask.h>
#include <linux/perf_event.h>

#include "ntrace_path.h"

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
 * @reported:	CPUs for which the hardware id record is written
 * @nr:		1 or, for an event that may run anywhere, all CPUs
 * @cpu:	these
 */
struct ntrace_event {
	bool lossless;
	bool patient;
	bool context;
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

#endif /* _NTRACE_EVENT_H */
