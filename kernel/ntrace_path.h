/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Paths of trace from an encoder to a sink.
 */
#ifndef _NTRACE_PATH_H
#define _NTRACE_PATH_H

#include <linux/percpu.h>
#include <linux/smp.h>

#include "ntrace_component.h"

/* Encoder, cascaded funnels, sink */
#define NTRACE_PATH_MAX		8

struct ntrace_path {
	struct list_head node;
	unsigned int users;		/* events that hold it */
	bool gone;			/* a component is unbound: it must not be enabled */
	unsigned int woken;		/* wakes of its CPU when components were checked last */
	struct ntrace_encoder *encoder;
	struct ntrace_ramsink *sink;	/* NULL: it ends in a bridge, perf gets no trace */
	unsigned int nr;		/* of components */
	struct ntrace_component *comp[NTRACE_PATH_MAX];	/* from the encoder to the sink */
	u8 input[NTRACE_PATH_MAX];	/* the input port of each component */
};

static inline bool ntrace_path_is_shared(const struct ntrace_path *path)
{
	return path->sink && path->sink->shared;
}

/* The sink that a CPU left enabled, with its window, when it stopped the encoder, or NULL */
DECLARE_PER_CPU(struct ntrace_ramsink *, ntrace_kept);

/* The encoder is off and empty. Is all of its trace before the sink's write pointer? */
static inline bool ntrace_path_is_settled(const struct ntrace_path *path)
{
	return path->nr == 2 && path->sink->settles && ntrace_ramsink_is_settled(path->sink);
}

static inline bool ntrace_path_keep(struct ntrace_path *path, u64 used)
{
	if (!ntrace_ramsink_advance(path->sink, used))
		return false;
	path->sink->kept_by = smp_processor_id();
	this_cpu_write(ntrace_kept, path->sink);

	return true;
}

static inline void ntrace_path_unkeep(struct ntrace_ramsink *sink)
{
	sink->kept_by = -1;
	this_cpu_write(ntrace_kept, NULL);
}

struct ntrace_encoder *ntrace_path_encoder(int cpu);
bool ntrace_path_exists(const struct ntrace_encoder *enc);
struct ntrace_path *ntrace_path_get(int cpu, u32 sinkid, struct pid *owner);
void ntrace_path_put(struct ntrace_path *path);

void ntrace_path_wake(struct ntrace_path *path);
int ntrace_path_enable(struct ntrace_path *path);
int ntrace_path_enable_encoder(struct ntrace_path *path);
void ntrace_path_let_go(void);
void ntrace_path_recall(struct ntrace_ramsink *sink);
int ntrace_path_join_funnels(struct ntrace_path *path);
int ntrace_path_leave_funnels(struct ntrace_path *path);
int ntrace_path_enable_downstream(struct ntrace_path *path);
int ntrace_path_disable_downstream(struct ntrace_path *path);
int ntrace_path_stop_encoder(struct ntrace_path *path, bool *overflow);
int ntrace_path_empty_funnels(struct ntrace_path *path);
void ntrace_path_reset_funnels(struct ntrace_path *path);

int ntrace_path_bound(struct ntrace_component *comp);
void ntrace_path_give_up(struct ntrace_component *comp);
void ntrace_path_gone(struct ntrace_component *comp);

#endif /* _NTRACE_PATH_H */
