// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where in the AUX area a sink may write, and when its window has to move on.
 *
 * head counts bytes since the buffer came to be; head modulo size is an offset. What is free begins
 * at head and is `space` bytes long, possibly around the end of the area:
 *
 *	tail        head                     chunk end                  head + space
 *	  v           v                          v                           v
 *	+-------------+--------------------------+------------------+--------+-------+
 *	| $$$$$$$$$$$ | ######################## | ................ | %%%%%% | $$$$$ |
 *	+-------------+--------------------------+------------------+--------+-------+
 *	$ not read by user space yet   # the window   . free, a later window   % reserve
 *
 * A window ends with its chunk: a sink knows only addresses without gaps. The reserve is never
 * handed out as a first window. It takes what is still on its way when a window turned out too
 * small, and belongs to the same AUX record then.
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

/* Offset in the area at which a chunk begins */
u64 ntrace_aux_chunk_start(const struct ntrace_aux_layout *layout, unsigned int chunk)
{
	return chunk ? layout->end[chunk - 1] : 0;
}
EXPORT_SYMBOL_IF_KUNIT(ntrace_aux_chunk_start);

/* The chunk that holds an offset: mostly the one that the last offset was in */
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
 * The longest piece of the @space bytes from @head on, a multiple of @align, that a sink can be
 * given; its size may be 0. The window's chunk, before, is where to look first.
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

/* Enough to begin with? A chunk that is small as a whole has to do. */
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
 * The reserve should not begin with a sliver of a chunk: there would be no room to flush into
 * before the next one.
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
 * The first window of an AUX transaction. What is left of a chunk may be too little to begin with:
 * it is skipped, see ntrace_buffer_skip(), and @pad is its size. Return: 0, or -ENOSPC when the
 * area is as good as full
 */
int ntrace_aux_first(const struct ntrace_aux_layout *layout, const struct ntrace_aux_limits *limits,
		     u64 head, u64 space, u64 *pad, struct ntrace_aux_window *window)
{
	u64 usable = space > limits->reserve ? space - limits->reserve : 0;
	/* Any number of chunks may be too small for a sink that keeps headroom. */
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
 * One more window for the same transaction, behind @done bytes, reserve and all. Return: 0, or
 * -ENOSPC when nothing is left
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
 * The limits for windows in a store, whose content is copied. A fixed one fills as a whole, also
 * when it has to be flushed into.
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
 * Size of a window in a store, which is used as a whole or not at all if @fixed. What is in the
 * window will fit into the transaction, of which @taken bytes are not to be used. Return: 0 when
 * there is no room
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
 * How many of the bytes that wait in a store can be copied to a transaction, of which @done are
 * used. @last: nobody will have more room, so the reserve is taken, too.
 */
u64 ntrace_aux_copyable(const struct ntrace_aux_limits *limits, u64 space, u64 done, u64 pending,
			bool last)
{
	u64 taken = done + (last ? 0 : limits->reserve);

	/* Words are what is copied, whatever the sink writes at a time. */
	return space > taken ? ALIGN_DOWN(min(space - taken, pending), (u64)sizeof(u32)) : 0;
}
EXPORT_SYMBOL_IF_KUNIT(ntrace_aux_copyable);

/* Circular areas */

/* A rate that was never seen before may be so many times the highest that was. */
#define NTRACE_AUX_SURPRISE	4

/*
 * How far a sink came in a circular area between two looks. @wrapped: it has been around since it
 * was started. Return: bytes; at least @size if that cannot be ruled out
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

/* When to look next, so that no lap is missed. Return: nanoseconds */
u64 ntrace_aux_lap_period(const struct ntrace_aux_pace *pace, u64 size)
{
	return clamp(div64_u64(size * NSEC_PER_SEC,
			       max(pace->rate, 1ULL) * (2 * NTRACE_AUX_SURPRISE)),
		     NTRACE_AUX_MIN_PERIOD_NS, NTRACE_AUX_MAX_PERIOD_NS);
}
EXPORT_SYMBOL_IF_KUNIT(ntrace_aux_lap_period);

/*
 * Sinks that overwrite a window that they fill, so that all of it is lost; and circular areas as a
 * row of such windows.
 */

/*
 * The limits for a row of windows. A window that is left early costs nothing, because the next one
 * begins behind its trace. The reader asks for trace when it wants some.
 */
void ntrace_aux_limit_row(struct ntrace_aux_limits *limits, const struct ntrace_aux_pace *pace,
			  u64 size)
{
	limits->quantum = U64_MAX;
	limits->want = clamp(ntrace_aux_within(pace, NTRACE_AUX_LATENCY_NS), size / 16, size / 8);
}
EXPORT_SYMBOL_IF_KUNIT(ntrace_aux_limit_row);

/* When to poll next, so that the window does not fill even if trace comes faster than expected */
u64 ntrace_aux_row_period(const struct ntrace_aux_limits *limits,
			  const struct ntrace_aux_pace *pace, u64 used, u64 size)
{
	return clamp(ntrace_aux_period(limits, pace, used, size) / NTRACE_AUX_SURPRISE,
		     NTRACE_AUX_MIN_PERIOD_NS, NTRACE_AUX_ROW_PERIOD_NS);
}
EXPORT_SYMBOL_IF_KUNIT(ntrace_aux_row_period);

/* Filters of addresses */

/* One more filter, behind those that were checked. Return: why it cannot be, or NULL */
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
		return "start and stop need comparators that latch, which there are not";
	if (size)
		return "start and stop are places, not ranges";

	return nr[kind] > 1 ? "there may be one place to start and one to stop" : NULL;
}
EXPORT_SYMBOL_IF_KUNIT(ntrace_ranges_refuse);

/*
 * One more filter, at an address. A file that is not mapped has none, and no size: then a range is
 * empty, and a place is an address that is none, but does not mean "from now".
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

/* Control of the comparator of each range, or of the one that latches */
u32 ntrace_ranges_comp_control(const struct ntrace_ranges *ranges)
{
	/* Without a place to begin, trace runs until the place to end is reached. */
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
 * May one more event use a path? An encoder sends to all outputs that take something. A sink of its
 * own takes nothing while the encoder is off; a funnel, once its input was used, as long as
 * anybody's trace goes through. A funnel sends whatever it gets to all its outputs: it can serve
 * one sink at a time. Return: the component that is in the way, or -1
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
 * Is a sink in use by others? What lies in a shared one is published by whoever comes by, so all
 * its users must be the same person's. One that is not shared had but one encoder when somebody
 * began to use it.
 */
bool ntrace_claim_sink_is_busy(const struct ntrace_claim *sink, bool shared, bool other_encoder,
			       bool other_owner)
{
	return sink->users && (shared ? other_owner : other_encoder);
}
EXPORT_SYMBOL_IF_KUNIT(ntrace_claim_sink_is_busy);
