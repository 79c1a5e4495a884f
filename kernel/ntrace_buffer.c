// SPDX-License-Identifier: GPL-2.0-only
/*
 * The AUX area as sinks see it: contiguous chunks, mapped for each sink that the event can reach.
 */
#define pr_fmt(fmt) "ntrace: " fmt

#include <linux/cleanup.h>
#include <linux/dma-mapping.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/unaligned.h>
#include <uapi/linux/ntrace.h>

#include "ntrace_pmu.h"

#define NTRACE_IDLE_BYTE	0xff

/* With chunks smaller than this, switching windows costs too much. */
#define NTRACE_SMALL_CHUNK	SZ_64K

static LIST_HEAD(ntrace_buffers);	/* under ntrace_components_lock */

static u64 ntrace_buffer_chunk_size(const struct ntrace_buffer *buf, unsigned int chunk)
{
	return buf->layout.end[chunk] - ntrace_aux_chunk_start(&buf->layout, chunk);
}

static void ntrace_buffer_unmap(struct ntrace_buffer *buf, struct ntrace_map *map)
{
	for (; map->nr; map->nr--)
		dma_unmap_page_attrs(map->sink->comp.dev, map->addr[map->nr - 1],
				     ntrace_buffer_chunk_size(buf, map->nr - 1), DMA_FROM_DEVICE,
				     DMA_ATTR_SKIP_CPU_SYNC);
}

/* Unmap all areas from a sink that is about to be unbound. ntrace_components_lock is held. */
void ntrace_buffer_unbound(struct ntrace_ramsink *sink)
{
	struct ntrace_buffer *buf;
	unsigned int i;

	list_for_each_entry(buf, &ntrace_buffers, node)
		for (i = 0; i < buf->nr_maps; i++)
			if (buf->map[i].sink == sink)
				ntrace_buffer_unmap(buf, &buf->map[i]);
}

/* The area must have room for several fillings of a fixed bounce buffer. */
static int ntrace_buffer_check_store(struct ntrace_buffer *buf, struct ntrace_ramsink *sink)
{
	u64 least = sink->store.size * NTRACE_AUX_STORES;

	if (!sink->store.fixed || buf->layout.size >= least)
		return 0;

	dev_info_ratelimited(sink->comp.dev,
			     "AUX area: %llu KiB are too few for trace RAM sink at %pa, whose %llu bytes fill as a whole: %llu KiB are needed\n",
			     buf->layout.size / SZ_1K, &sink->comp.start, sink->store.size,
			     least / SZ_1K);
	return -EINVAL;
}

/* If a sink keeps headroom at the end of a window, windows must be larger than the headroom. */
static int ntrace_buffer_check_chunks(struct ntrace_buffer *buf, struct ntrace_ramsink *sink)
{
	u64 largest = 0;
	unsigned int i;

	for (i = 0; i < buf->layout.nr; i++)
		largest = max(largest, ntrace_buffer_chunk_size(buf, i));
	if (largest >= 4 * sink->headroom)
		return 0;

	dev_info_ratelimited(sink->comp.dev,
			     "AUX area: trace RAM sink at %pa needs %u KiB in one piece, this one has %llu\n",
			     &sink->comp.start, 4 * sink->headroom / SZ_1K, largest / SZ_1K);
	return -EINVAL;
}

/*
 * An area is mapped for each sink that the event can reach, so no mapping owns the memory. It is
 * synced for each device here, and for the CPU and the device whenever the window is switched.
 */
static int ntrace_buffer_map(struct ntrace_buffer *buf, struct ntrace_map *map,
			     struct ntrace_ramsink *sink)
{
	struct device *dev = sink->comp.dev;
	struct page *page;
	unsigned int i;
	u64 start, size;

	map->sink = sink;
	ntrace_component_get(&sink->comp);
	if (sink->copied || sink->shared)
		return ntrace_buffer_check_store(buf, sink);
	if (ntrace_buffer_check_chunks(buf, sink))
		return -EINVAL;

	map->addr = kvcalloc(buf->layout.nr, sizeof(*map->addr), GFP_KERNEL);
	if (!map->addr)
		return -ENOMEM;

	for (i = 0; i < buf->layout.nr; i++) {
		start = ntrace_aux_chunk_start(&buf->layout, i);
		page = virt_to_page(buf->pages[start >> PAGE_SHIFT]);
		size = ntrace_buffer_chunk_size(buf, i);
		map->addr[i] = dma_map_page_attrs(dev, page, 0, size, DMA_FROM_DEVICE,
						  DMA_ATTR_SKIP_CPU_SYNC);
		if (dma_mapping_error(dev, map->addr[i])) {
			ntrace_log(err_ratelimited, &sink->comp,
				   " cannot reach the AUX area with its %u address bits",
				   sink->addr_bits);
			return -ENOMEM;
		}
		dma_sync_single_for_device(dev, map->addr[i], size, DMA_FROM_DEVICE);
		map->nr++;
	}

	return 0;
}

/* perf allocates contiguous pages if it can. Find the chunks that are contiguous. */
static int ntrace_buffer_find_chunks(struct ntrace_buffer *buf, int nr_pages, u64 max_chunk)
{
	u64 start = 0, largest = 0, offset;
	int i;

	buf->layout.size = (u64)nr_pages << PAGE_SHIFT;
	buf->layout.end = kvcalloc(nr_pages, sizeof(*buf->layout.end), GFP_KERNEL);
	if (!buf->layout.end)
		return -ENOMEM;

	for (i = 1; i <= nr_pages; i++) {
		offset = (u64)i << PAGE_SHIFT;
		if (i < nr_pages && offset - start < max_chunk &&
		    page_to_pfn(virt_to_page(buf->pages[i])) ==
			    page_to_pfn(virt_to_page(buf->pages[i - 1])) + 1)
			continue;
		buf->layout.end[buf->layout.nr++] = offset;
		largest = max(largest, offset - start);
		start = offset;
	}

	if (largest < NTRACE_SMALL_CHUNK && buf->layout.size > NTRACE_SMALL_CHUNK)
		pr_warn_once("memory is fragmented: no more than %llu KiB of an AUX area are contiguous\n",
			     largest / SZ_1K);

	return 0;
}

/* Free an AUX area */
void ntrace_buffer_free(void *aux)
{
	struct ntrace_buffer *buf = aux;
	struct ntrace_map *map;

	scoped_guard(mutex, &ntrace_components_lock) {
		list_del(&buf->node);
		for (map = buf->map; map < buf->map + buf->nr_maps; map++) {
			if (map->sink)
				ntrace_path_recall(map->sink);
			ntrace_buffer_unmap(buf, map);
		}
	}

	for (map = buf->map; map < buf->map + buf->nr_maps; map++) {
		kvfree(map->addr);
		if (map->sink)
			ntrace_component_put(&map->sink->comp);
	}
	kvfree(buf->layout.end);
	kvfree(buf);
	module_put(THIS_MODULE);
}

static struct ntrace_ramsink *ntrace_event_sink(const struct ntrace_event *ev, unsigned int i)
{
	const struct ntrace_path *path = ev->cpu[i].path;

	return path && !path->gone ? path->sink : NULL;
}

static u64 ntrace_event_max_chunk(const struct ntrace_event *ev)
{
	u64 max_chunk = SZ_4M;
	unsigned int i;

	for (i = 0; i < ev->nr; i++)
		if (ntrace_event_sink(ev, i))
			max_chunk = min_t(u64, max_chunk,
					  dma_max_mapping_size(ntrace_event_sink(ev, i)->comp.dev));

	return ALIGN_DOWN(max_chunk, PAGE_SIZE);
}

/*
 * A sink can only wrap in a contiguous area. perf allocates one, but SWIOTLB may limit a mapping to
 * less. Bytes that no sink has written yet must not look like trace.
 */
static int ntrace_buffer_setup_ring(struct ntrace_buffer *buf)
{
	unsigned int i;

	if (buf->layout.nr != 1) {
		pr_info_ratelimited("AUX area: for a snapshot it must be in one piece, this one would have %u\n",
				    buf->layout.nr);
		return -EINVAL;
	}

	for (i = 0; i < buf->nr_maps; i++) {
		if (!buf->map[i].sink)
			continue;
		if (!buf->map[i].addr) {
			ntrace_log(info_ratelimited, &buf->map[i].sink->comp,
				   " cannot write into the AUX area: no snapshots, no AUX area samples");
			return -EOPNOTSUPP;
		}
		if (!buf->map[i].sink->can_ring) {
			ntrace_log(info_ratelimited, &buf->map[i].sink->comp,
				   " cannot go round: no snapshots, no AUX area samples");
			return -EOPNOTSUPP;
		}
		ntrace_buffer_fill_idle(buf, &buf->map[i], 0, buf->layout.size);
	}

	return 0;
}

static int ntrace_buffer_map_all(struct ntrace_buffer *buf, const struct ntrace_event *ev,
				 int nr_pages)
{
	struct ntrace_ramsink *sink;
	unsigned int i;
	int ret;

	ret = ntrace_buffer_find_chunks(buf, nr_pages, ntrace_event_max_chunk(ev));
	for (i = 0; !ret && i < ev->nr; i++) {
		sink = ntrace_event_sink(ev, i);
		if (sink)
			ret = ntrace_buffer_map(buf, &buf->map[i], sink);
	}
	if (!ret && buf->ring)
		ret = ntrace_buffer_setup_ring(buf);

	return ret;
}

/* Set up an AUX area for all sinks of an event. Return: NULL when that is not possible */
void *ntrace_buffer_setup(struct perf_event *event, void **pages, int nr_pages, bool snapshot)
{
	struct ntrace_event *ev = to_ntrace_event(event);
	struct ntrace_buffer *buf;
	int ret;

	if (nr_pages < 2 || !is_power_of_2(nr_pages)) {
		pr_info_ratelimited("AUX area: %d pages are too few, at least 2 are needed\n",
				    nr_pages);
		return NULL;
	}

	buf = kvzalloc(struct_size(buf, map, ev->nr), GFP_KERNEL);
	if (!buf)
		return NULL;
	buf->ring = snapshot;
	buf->pages = pages;
	buf->nr_maps = ev->nr;
	/* The area may outlive the event: it exists as long as another event's file maps it. */
	__module_get(THIS_MODULE);

	scoped_guard(mutex, &ntrace_components_lock) {
		list_add(&buf->node, &ntrace_buffers);
		ret = ntrace_buffer_map_all(buf, ev, nr_pages);
	}
	if (!ret)
		return buf;

	ntrace_buffer_free(buf);
	return NULL;
}

/*
 * Find the mapping of the area for the path's sink. Return: NULL if another event, which has other
 * sinks, has set up the area
 */
struct ntrace_map *ntrace_buffer_search_map(struct ntrace_buffer *buf,
					    const struct ntrace_ramsink *sink)
{
	unsigned int i;

	for (i = 0; i < buf->nr_maps; i++)
		if (buf->map[i].sink == sink)
			return &buf->map[i];

	return NULL;
}

/* CPU address of an offset in the area, valid to the end of its page */
void *ntrace_buffer_at(const struct ntrace_buffer *buf, unsigned int chunk, u64 offset)
{
	offset += ntrace_aux_chunk_start(&buf->layout, chunk);

	return buf->pages[offset >> PAGE_SHIFT] + offset_in_page(offset);
}

/*
 * Copy whole words of trace from an offset in a bounce buffer to @head in the area, which has room
 */
void ntrace_buffer_copy(struct ntrace_buffer *buf, u64 head, struct ntrace_ramsink *sink, u64 from,
			u64 size)
{
	struct ntrace_aux_window piece = {};
	u64 start;

	if (!size)
		return;
	ntrace_ramsink_fetch(sink, from, size);
	while (size) {
		ntrace_aux_piece(&buf->layout, head, size, 1, &piece);
		start = ntrace_aux_chunk_start(&buf->layout, piece.chunk);
		ntrace_ramsink_copy(sink, from, buf->pages[start >> PAGE_SHIFT] + piece.offset,
				    piece.size);
		head += piece.size;
		from += piece.size;
		size -= piece.size;
	}
}

/*
 * Write bytes to the area: those of @from, or idle bytes if @from is NULL. Sync the memory before
 * and after, because a sink may write to it next.
 */
static void ntrace_buffer_write(struct ntrace_buffer *buf, struct ntrace_map *map, u64 head,
				const u8 *from, u64 size)
{
	struct device *dev = map->sink->comp.dev;
	struct ntrace_aux_window piece = {};
	u64 offset, done, n;
	u8 *to;

	for (; size; head += piece.size, size -= piece.size) {
		ntrace_aux_piece(&buf->layout, head, size, 1, &piece);
		dma_sync_single_range_for_cpu(dev, map->addr[piece.chunk], piece.offset, piece.size,
					      DMA_FROM_DEVICE);
		offset = ntrace_aux_chunk_start(&buf->layout, piece.chunk) + piece.offset;
		for (done = 0; done < piece.size; done += n) {
			n = min(piece.size - done, PAGE_SIZE - offset_in_page(offset + done));
			to = buf->pages[(offset + done) >> PAGE_SHIFT] +
			     offset_in_page(offset + done);
			if (from) {
				memcpy(to, from, n);
				from += n;
			} else {
				memset(to, NTRACE_IDLE_BYTE, n);
			}
		}
		dma_sync_single_range_for_device(dev, map->addr[piece.chunk], piece.offset,
						 piece.size, DMA_FROM_DEVICE);
	}
}

/* Fill with idle bytes, which may appear between messages */
void ntrace_buffer_fill_idle(struct ntrace_buffer *buf, struct ntrace_map *map, u64 head, u64 size)
{
	ntrace_buffer_write(buf, map, head, NULL, size);
}

/*
 * Mark @size bytes as no trace. They may be many, and interrupts are off: so write only a mark at
 * their beginning, see NTRACE_AUX_SKIP_MARK.
 */
void ntrace_buffer_skip(struct ntrace_buffer *buf, struct ntrace_map *map, u64 head, u64 size)
{
	u8 mark[NTRACE_AUX_SKIP_MARK];

	if (size < sizeof(mark)) {
		ntrace_buffer_fill_idle(buf, map, head, size);
	} else {
		memset(mark, NTRACE_IDLE_BYTE, NTRACE_AUX_SKIP_IDLE);
		put_unaligned_le64(size, mark + NTRACE_AUX_SKIP_IDLE);
		ntrace_buffer_write(buf, map, head, mark, sizeof(mark));
	}
	/*
	 * perf_aux_output_skip() publishes the new head without a record, hence without a barrier.
	 */
	smp_wmb();
}

/* AUX transactions */

/*
 * perf's core requests that an event be disabled when its area is full. The driver polls for room
 * instead, see ntrace_cpu_full(). Interrupts are off, so the request is still pending: cancel it.
 */
static void ntrace_buffer_stay_enabled(struct perf_event *event)
{
	event->pending_disable = 0;
}

/*
 * Open a transaction. Return: 0, -ENOSPC when the area is full to the last byte, -EINVAL when there
 * is no area for this sink. After an error there is neither a transaction nor a buffer.
 */
int ntrace_buffer_open(struct ntrace_cpu *c)
{
	struct perf_output_handle *handle = &c->handle;

	/*
	 * perf's core sets handle->rb before it looks for space. Nothing else tells a full area
	 * from no area.
	 */
	handle->rb = NULL;
	handle->size = 0;
	c->done = 0;
	c->lost = false;
	c->buf = perf_aux_output_begin(handle, c->event);
	if (!c->buf && handle->rb) {
		ntrace_buffer_stay_enabled(c->event);
		return -ENOSPC;
	}
	if (!c->buf)
		return -EINVAL;

	c->map = ntrace_buffer_find_map(c->buf, c->path->sink);
	if (c->map)
		return 0;

	perf_aux_output_end(handle, 0);
	handle->size = 0;
	c->buf = NULL;

	return -EINVAL;
}

/* End a transaction. All of its trace is accounted in done. */
void ntrace_buffer_close(struct ntrace_cpu *c)
{
	struct perf_event *event = c->handle.event;
	bool full;

	if (!perf_get_aux(&c->handle))
		return;
	if (c->lost)
		perf_aux_output_flag(&c->handle, PERF_AUX_FLAG_PARTIAL);
	full = c->handle.aux_flags & PERF_AUX_FLAG_TRUNCATED;
	perf_aux_output_end(&c->handle, c->done);
	if (full)
		ntrace_buffer_stay_enabled(event);
}
