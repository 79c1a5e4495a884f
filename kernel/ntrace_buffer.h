/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The AUX area, as sinks see it.
 */
#ifndef _NTRACE_BUFFER_H
#define _NTRACE_BUFFER_H

#include <linux/perf_event.h>

#include "ntrace_aux.h"
#include "ntrace_ramsink.h"

/**
 * struct ntrace_map - the area for one sink
 * @sink:	the sink
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
 * @layout:	its chunks
 * @ring:	the newest trace overwrites the oldest
 * @pages:	its pages' addresses; perf's array
 * @nr_maps:	number of
 * @map:	the sinks that the event can reach
 */
struct ntrace_buffer {
	struct ntrace_aux_layout layout;
	bool ring;
	void **pages;
	unsigned int nr_maps;
	struct ntrace_map map[] __counted_by(nr_maps);
};

void *ntrace_buffer_setup(struct perf_event *event, void **pages, int nr_pages, bool snapshot);
void ntrace_buffer_free(void *aux);
struct ntrace_map *ntrace_buffer_find_map(struct ntrace_buffer *buf,
					  const struct ntrace_ramsink *sink);
void ntrace_buffer_copy(struct ntrace_buffer *buf, u64 head, struct ntrace_ramsink *sink, u64 from,
			u64 size);
void ntrace_buffer_fill_idle(struct ntrace_buffer *buf, struct ntrace_map *map, u64 head, u64 size);

#endif /* _NTRACE_BUFFER_H */
