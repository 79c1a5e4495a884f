/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The AUX area, as sinks see it.
 */
#ifndef _NTRACE_BUFFER_H
#define _NTRACE_BUFFER_H

#include <linux/perf_event.h>
#include <linux/smp.h>

#include "ntrace_aux.h"
#include "ntrace_ramsink.h"

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

/**
 * ntrace_buffer_find_map - ntrace_buffer_search_map(), at every context switch
 * @buf:	the area
 * @sink:	the sink
 *
 * Mostly the area is this event's own, with a map for each CPU, or for the only one.
 */
static inline struct ntrace_map *ntrace_buffer_find_map(struct ntrace_buffer *buf,
							const struct ntrace_ramsink *sink)
{
	unsigned int i = buf->nr_maps > 1 ? raw_smp_processor_id() : 0;

	if (i < buf->nr_maps && buf->map[i].sink == sink)
		return &buf->map[i];

	return ntrace_buffer_search_map(buf, sink);
}

#endif /* _NTRACE_BUFFER_H */
