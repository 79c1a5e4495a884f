/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef INCLUDE__PERF_NTRACE_HISTORY_H__
#define INCLUDE__PERF_NTRACE_HISTORY_H__

#include <linux/list.h>
#include <linux/types.h>

union perf_event;

/* A record from a ring buffer, or synthesized for a task that already runs (time is 0) */
struct ntrace_record {
	struct list_head node;
	u64		time;
	u64		until;		/* when another record replaced this one */
	u64		seq;		/* the order of records with the same time */
	u64		round;		/* how many times perf had read the ring buffers */
	unsigned int	ring;
	u16		time_at;	/* offset of its time, in the identifiers ... */
	u16		ids;		/* ... and their size in bytes */
	u64		data[];		/* union perf_event, as long as its header says */
};

static inline union perf_event *ntrace_record_event(struct ntrace_record *rec)
{
	return (union perf_event *)rec->data;
}

/* What replaced a record */
enum ntrace_history_list {
	NTRACE_HISTORY_EXIT,		/* the end of the task */
	NTRACE_HISTORY_MAP,		/* a mapping at the same address, or a new name */
	NTRACE_HISTORY_RINGS,		/* two for each ring buffer: */
};

/* ... an exec on this ring buffer's CPU; a switch on this ring buffer's CPU */
#define NTRACE_HISTORY_EXEC(ring)	(NTRACE_HISTORY_RINGS + 2 * (ring))
#define NTRACE_HISTORY_SWITCH(ring)	(NTRACE_HISTORY_RINGS + 2 * (ring) + 1)

struct ntrace_history;

struct ntrace_history *ntrace_history_new(unsigned int nr_rings);
void ntrace_history_free(struct ntrace_history *h);
int ntrace_history_add(struct ntrace_history *h, struct ntrace_record *rec);
void ntrace_history_forget(struct ntrace_history *h, unsigned int list, u64 before);
bool ntrace_history_limit(struct ntrace_history *h, size_t most);
int ntrace_history_write(struct ntrace_history *h,
			 int (*write)(void *ctx, struct ntrace_record *rec), void *ctx);

#endif
