// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where in the AUX area a sink may write, and when the driver has to switch its window.
 *
 * head counts bytes since the buffer was allocated; head modulo size is an offset. The free space
 * begins at head and is `space` bytes long. It may wrap around the end of the area:
 *
 *	tail        head                     chunk end                  head + space
 *	  v           v                          v                           v
 *	+-------------+--------------------------+------------------+--------+-------+
 *	| $$$$$$$$$$$ | ######################## | ................ | %%%%%% | $$$$$ |
 *	+-------------+--------------------------+------------------+--------+-------+
 *	$ not read by user space yet   # the window   . free, a later window   % reserve
 *
 * A window ends with its chunk at the latest, because a sink needs contiguous addresses. The
 * reserve is never used for a first window. It takes the trace that is still in flight when a
 * window was too small. That trace belongs to the same AUX record.
 */
#include <linux/align.h>
#include <linux/bitfield.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/time64.h>

#include <kunit/visibility.h>

#include "ntrace_aux.h"

/* Windows */

/* Offset of a chunk in the area */
u64 ntrace_aux_chunk_start(const struct ntrace_aux_layout *layout, unsigned int chunk)
{
	return chunk ? layout->end[chunk - 1] : 0;
}
EXPORT_SYMBOL_IF_KUNIT(ntrace_aux_chunk_start);

/* Find the chunk that holds an offset. Try the last chunk first: it is the right one mostly. */
static unsigned int ntrace_aux_chunk(const struct ntrace_aux_layout *layout, u64 offset,
				     unsigned int last)
{
	unsigned int low = 0, high = layout->nr - 1, mid;

	if (last <= high && offset < layout->end[last] &&
	    offset >= ntrace_aux_chunk_start(layout, last))
		return last;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (offset < layout->end[mid])
			high = mid;
		else
			low = mid + 1;
	}

	return low;
}

/*
 * Find the longest contiguous window, a multiple of @align, at the beginning of the @space bytes at
 * @head. Its size may be 0. On entry @window->chunk is a hint: the search begins there.
 */
void ntrace_aux_piece(const struct ntrace_aux_layout *layout, u64 head, u64 space, u32 align,
		      struct ntrace_aux_window *window)
{
	u64 offset = head & (layout->size - 1);

	window->chunk = ntrace_aux_chunk(layout, offset, window->chunk);
	window->offset = offset - ntrace_aux_chunk_start(layout, window->chunk);
	window->size = ALIGN_DOWN(min(layout->end[window->chunk] - offset, space), (u64)align);
}
EXPORT_SYMBOL_IF_KUNIT(ntrace_aux_piece);

/* Is the window large enough for a first one? In a small chunk a quarter of the chunk is enough. */
static bool ntrace_aux_enough(const struct ntrace_aux_layout *layout,
			      const struct ntrace_aux_limits *limits,
			      const struct ntrace_aux_window *window)
{
	u64 chunk;

	if (window->size >= limits->headroom + limits->want)
		return true;
	chunk = layout->end[window->chunk] - ntrace_aux_chunk_start(layout, window->chunk);

	return window->size >= limits->headroom + min(limits->want, chunk / 4);
}

/*
 * The reserve should not begin with only a sliver of a chunk: a flush would not fit into it, and
 * would need a window in the next chunk.
 */
static void ntrace_aux_avoid_sliver(const struct ntrace_aux_layout *layout, u32 align,
				    struct ntrace_aux_window *window)
{
	u64 chunk = layout->end[window->chunk] - ntrace_aux_chunk_start(layout, window->chunk);
	u64 margin = ALIGN(min(chunk / 4, (u64)NTRACE_AUX_MARGIN), (u64)align);
	u64 rest = chunk - window->offset - window->size;

	if (rest && rest < margin)
		window->size -= min(window->size, ALIGN(margin - rest, (u64)align));
}

/*
 * Find the first window of an AUX transaction. If the rest of a chunk is too small, the caller
 * skips it, see ntrace_buffer_skip(): @pad is set to its size. Return: 0, or -ENOSPC when the area
 * has no room for a window
 */
int ntrace_aux_first(const struct ntrace_aux_layout *layout, const struct ntrace_aux_limits *limits,
		     u64 head, u64 space, u64 *pad, struct ntrace_aux_window *window)
{
	u64 usable = space > limits->reserve ? space - limits->reserve : 0;
	/* With headroom, any number of chunks may be too small. */
	unsigned int most = limits->headroom ? layout->nr + 1 : 2, chunks;

	*pad = ALIGN(head, (u64)limits->align) - head;
	for (chunks = 0; chunks < most; chunks++) {
		if (*pad + limits->want > usable)
			break;
		ntrace_aux_piece(layout, head + *pad, usable - *pad, limits->align, window);
		ntrace_aux_avoid_sliver(layout, limits->align, window);
		if (ntrace_aux_enough(layout, limits, window))
			return 0;
		*pad = layout->end[window->chunk] - ntrace_aux_chunk_start(layout, window->chunk) -
		       window->offset + *pad;
	}

	return -ENOSPC;
}
EXPORT_SYMBOL_IF_KUNIT(ntrace_aux_first);

/*
 * Find the next window of the same transaction, after @done bytes. It may use the reserve. Return:
 * 0, or -ENOSPC when no space is left
 */
int ntrace_aux_next(const struct ntrace_aux_layout *layout, const struct ntrace_aux_limits *limits,
		    u64 head, u64 space, u64 done, struct ntrace_aux_window *window)
{
	if (done >= space)
		return -ENOSPC;

	ntrace_aux_piece(layout, head + done, space - done, limits->align, window);

	return window->size ? 0 : -ENOSPC;
}
EXPORT_SYMBOL_IF_KUNIT(ntrace_aux_next);

/* Copies */

/*
 * The limits for windows in a bounce buffer of @store bytes. The sink may fill a fixed one to the
 * end, also during a flush, so the reserve must have room for all of it.
 */
void ntrace_aux_limit_store(struct ntrace_aux_limits *limits, u64 store, bool fixed)
{
	limits->quantum = min(limits->quantum, store / 4);
	limits->want = min(limits->want, store / 4);
	if (fixed)
		limits->reserve = max_t(u64, limits->reserve, store);
}
EXPORT_SYMBOL_IF_KUNIT(ntrace_aux_limit_store);

/*
 * Size of a window in a bounce buffer, such that its content fits into the transaction. @taken
 * bytes of the transaction are not available. If @fixed, the window is the whole bounce buffer.
 * Return: 0 when there is no room
 */
u64 ntrace_aux_bounce(const struct ntrace_aux_limits *limits, u64 space, u64 taken, u64 store,
		      bool fixed)
{
	u64 usable = space > taken ? space - taken : 0;

	if (fixed && usable < store)
		return 0;

	return ALIGN_DOWN(min(usable, store), (u64)limits->align);
}
EXPORT_SYMBOL_IF_KUNIT(ntrace_aux_bounce);

/*
 * How many of the @pending bytes in a bounce buffer can be copied to a transaction, of which @done
 * bytes are used? @last: no later copy will find more room, so use the reserve, too.
 */
u64 ntrace_aux_copyable(const struct ntrace_aux_limits *limits, u64 space, u64 done, u64 pending,
			bool last)
{
	u64 taken = done + (last ? 0 : limits->reserve);

	/* The copy works in words, however many bytes the sink writes at a time. */
	return space > taken ? ALIGN_DOWN(min(space - taken, pending), (u64)sizeof(u32)) : 0;
}
EXPORT_SYMBOL_IF_KUNIT(ntrace_aux_copyable);

/* Circular areas */

/* Assume that the rate does not exceed the highest one observed by more than this factor. */
#define NTRACE_AUX_SURPRISE	4

/*
 * How many bytes did a sink write to a circular area between two polls, which are @ns apart?
 * @wrapped: the sink has wrapped since it was started. Return: bytes, at least @size if a full lap
 * cannot be ruled out
 */
u64 ntrace_aux_advance(const struct ntrace_aux_pace *pace, u64 size, u64 from, u64 to, bool wrapped,
		       u64 ns)
{
	u64 bytes = (to - from) & (size - 1);

	if (wrapped && ns > div64_u64(size * NSEC_PER_SEC,
				      max(pace->rate, 1ULL) * NTRACE_AUX_SURPRISE))
		bytes += size;

	return bytes;
}
EXPORT_SYMBOL_IF_KUNIT(ntrace_aux_advance);

/* When to poll next, so that no lap is missed. Return: nanoseconds */
u64 ntrace_aux_lap_period(const struct ntrace_aux_pace *pace, u64 size)
{
	return clamp(div64_u64(size * NSEC_PER_SEC,
			       max(pace->rate, 1ULL) * (2 * NTRACE_AUX_SURPRISE)),
		     NTRACE_AUX_MIN_PERIOD_NS, NTRACE_AUX_MAX_PERIOD_NS);
}
EXPORT_SYMBOL_IF_KUNIT(ntrace_aux_lap_period);

/*
 * Sinks that overwrite a window when it is full, so that all trace in it is lost. For such a sink a
 * circular area is a row of windows, too.
 */

/*
 * The limits for a row of windows. Leaving a window early costs nothing, because the next one
 * begins right after its trace. There is no quantum: the reader asks for trace when it needs it.
 */
void ntrace_aux_limit_row(struct ntrace_aux_limits *limits, const struct ntrace_aux_pace *pace,
			  u64 size)
{
	limits->quantum = U64_MAX;
	limits->want = clamp(ntrace_aux_within(pace, NTRACE_AUX_LATENCY_NS), size / 16, size / 8);
}
EXPORT_SYMBOL_IF_KUNIT(ntrace_aux_limit_row);

/* When to poll next, so that the window does not fill even if the rate is higher than expected */
u64 ntrace_aux_row_period(const struct ntrace_aux_limits *limits,
			  const struct ntrace_aux_pace *pace, u64 used, u64 size)
{
	return clamp(ntrace_aux_period(limits, pace, used, size) / NTRACE_AUX_SURPRISE,
		     NTRACE_AUX_MIN_PERIOD_NS, NTRACE_AUX_ROW_PERIOD_NS);
}
EXPORT_SYMBOL_IF_KUNIT(ntrace_aux_row_period);

/* Address filters */

/* Check one more filter of an event. Return: NULL, or why the filter is not possible */
const char *ntrace_ranges_refuse(struct ntrace_ranges_check *check, enum ntrace_ranges_kind kind,
				 u64 offset, u64 size)
{
	const unsigned int *nr = check->nr;

	check->nr[kind]++;
	if (nr[NTRACE_RANGE] && nr[NTRACE_RANGE_START] + nr[NTRACE_RANGE_STOP])
		return "ranges, and places to start or stop, do not mix";
	if (kind == NTRACE_RANGE) {
		if (offset + size < offset)
			return "a range ends behind the last address";
		return nr[kind] > check->comps ? "more ranges than comparators" : NULL;
	}
	if (!check->latch || !check->comps)
		return "start and stop filters need latching comparators";
	if (size)
		return "start and stop are places, not ranges";

	return nr[kind] > 1 ? "there may be one place to start and one to stop" : NULL;
}
EXPORT_SYMBOL_IF_KUNIT(ntrace_ranges_refuse);

/*
 * Add a filter. For a file that is not mapped, @start and @size are 0: a range is empty then, and
 * a start or stop gets an address that never matches (other than NTRACE_NEVER, which as a start
 * means that trace runs from the beginning).
 */
void ntrace_ranges_add(struct ntrace_ranges *ranges, enum ntrace_ranges_kind kind, u64 start,
		       u64 size, bool file)
{
	if (kind == NTRACE_RANGE) {
		if (ranges->nr == TR_TE_NR_COMPS)
			return;
		ranges->low[ranges->nr] = start;
		ranges->high[ranges->nr] = size || !file ? start + size : 0;
		ranges->nr++;
		return;
	}

	if (!ranges->latch) {
		ranges->low[0] = NTRACE_NEVER;
		ranges->high[0] = NTRACE_NEVER;
	}
	ranges->latch = true;
	ranges->nr = 1;
	if (!start && file)
		start = NTRACE_NEVER - 2;
	*(kind == NTRACE_RANGE_START ? ranges->low : ranges->high) = start;
}
EXPORT_SYMBOL_IF_KUNIT(ntrace_ranges_add);

/* Control of the comparator of each range, or of the latching comparator */
u32 ntrace_ranges_comp_control(const struct ntrace_ranges *ranges)
{
	/* Without a start address, trace runs until the stop address is executed. */
	u32 begin = ranges->low[0] == NTRACE_NEVER ? TR_TE_COMP_P_PRIME : TR_TE_COMP_EQ;

	if (!ranges->latch)
		return FIELD_PREP(TR_TE_COMP_P_FUNCTION, TR_TE_COMP_GE) |
		       FIELD_PREP(TR_TE_COMP_S_FUNCTION, TR_TE_COMP_LT) |
		       FIELD_PREP(TR_TE_COMP_MATCH_MODE, TR_TE_COMP_P_AND_S);

	return FIELD_PREP(TR_TE_COMP_P_FUNCTION, begin) |
	       FIELD_PREP(TR_TE_COMP_S_FUNCTION, TR_TE_COMP_EQ) |
	       FIELD_PREP(TR_TE_COMP_MATCH_MODE, TR_TE_COMP_LATCH);
}
EXPORT_SYMBOL_IF_KUNIT(ntrace_ranges_comp_control);

/* Who uses a component */

/*
 * May one more event use a path? An encoder sends trace to all outputs that accept it. The
 * encoder's own sink accepts none while the encoder is off. A funnel input that was used accepts
 * trace as long as any path uses the funnel. A funnel sends its trace to all its outputs, so it can
 * serve only one sink at a time. Return: index of the component that is in the way, or -1
 */
int ntrace_claim_busy(struct ntrace_claim *const *claim, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i + 1 < nr; i++)
		if (claim[i]->users && claim[i]->next != claim[i + 1] &&
		    !(claim[i]->direct && claim[i + 1]->ends))
			return i;

	return -1;
}
EXPORT_SYMBOL_IF_KUNIT(ntrace_claim_busy);

void ntrace_claim_take(struct ntrace_claim *const *claim, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		claim[i]->users++;
		claim[i]->next = i + 1 < nr ? claim[i + 1] : NULL;
	}
	claim[0]->direct = claim[1]->ends;
}
EXPORT_SYMBOL_IF_KUNIT(ntrace_claim_take);

/*
 * Is a sink in use by others? Any user of a shared sink may publish all of the trace in it, so all
 * events that use it must have the same owner. A sink that is not shared serves one encoder only.
 */
bool ntrace_claim_sink_is_busy(const struct ntrace_claim *sink, bool shared, bool other_encoder,
			       bool other_owner)
{
	return sink->users && (shared ? other_owner : other_encoder);
}
EXPORT_SYMBOL_IF_KUNIT(ntrace_claim_sink_is_busy);
