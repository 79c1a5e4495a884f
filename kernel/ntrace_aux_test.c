// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the AUX arithmetic, address filters, claims and sink states. They test every
 * boundary, by brute force where that is affordable.
 */
#include <kunit/test.h>
#include <linux/align.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "ntrace_aux.h"
#include "ntrace_version0.h"

/* An area of equal chunks; `end` has room for size / chunk entries */
static struct ntrace_aux_layout layout_of(u64 *end, u64 size, u64 chunk)
{
	struct ntrace_aux_layout layout = { .size = size, .end = end };

	while (layout.nr < size / chunk) {
		end[layout.nr] = (layout.nr + 1) * chunk;
		layout.nr++;
	}

	return layout;
}

/* The window follows the pad, lies in its chunk and in the free space, and has whole words. */
static void expect_window(struct kunit *test, const struct ntrace_aux_layout *layout, u64 head,
			  u64 space, u64 pad, u32 align, const struct ntrace_aux_window *w)
{
	u64 start, chunk;

	KUNIT_ASSERT_LT(test, w->chunk, layout->nr);
	start = ntrace_aux_chunk_start(layout, w->chunk);
	chunk = layout->end[w->chunk] - start;

	KUNIT_EXPECT_EQ(test, (head + pad) & (layout->size - 1), start + w->offset);
	KUNIT_EXPECT_LE(test, w->offset + w->size, chunk);
	KUNIT_EXPECT_LE(test, pad + w->size, space);
	KUNIT_EXPECT_EQ(test, w->size % align, 0);
}

static void ntrace_aux_test_piece(struct kunit *test)
{
	u64 end[4], head, space;
	struct ntrace_aux_layout layout = layout_of(end, SZ_16K, SZ_4K);
	struct ntrace_aux_window w = {};

	for (head = 0; head < 3 * SZ_16K; head += 64) {
		for (space = 1; space < SZ_16K; space += 509) {
			ntrace_aux_piece(&layout, head, space, 4, &w);
			expect_window(test, &layout, head, space, 0, 4, &w);
			KUNIT_EXPECT_EQ(test, w.chunk, (head / SZ_4K) % 4);
		}
	}

	/* one word at the end of the area; a head that wraps around the end */
	ntrace_aux_piece(&layout, SZ_16K - 4, SZ_8K, 4, &w);
	KUNIT_EXPECT_EQ(test, w.size, 4);
	KUNIT_EXPECT_EQ(test, w.chunk, 3);
	ntrace_aux_piece(&layout, SZ_16K, SZ_8K, 4, &w);
	KUNIT_EXPECT_EQ(test, w.chunk, 0);
	KUNIT_EXPECT_EQ(test, w.offset, 0);

	/* less than a word gives an empty window */
	ntrace_aux_piece(&layout, 0, 7, 8, &w);
	KUNIT_EXPECT_EQ(test, w.size, 0);
}

/* The hint does not change the result, even if there is no such chunk. */
static void ntrace_aux_test_hint(struct kunit *test)
{
	u64 end[] = { SZ_4K, SZ_4K + SZ_8K, SZ_16K, SZ_32K };
	struct ntrace_aux_layout layout = { .size = SZ_32K, .nr = ARRAY_SIZE(end), .end = end };
	struct ntrace_aux_window w = {}, hinted;
	unsigned int hint;
	u64 head;

	for (head = 0; head < SZ_32K; head += 4) {
		w.chunk = 0;
		ntrace_aux_piece(&layout, head, SZ_32K, 4, &w);
		for (hint = 0; hint < layout.nr + 2; hint++) {
			hinted.chunk = hint;
			ntrace_aux_piece(&layout, head, SZ_32K, 4, &hinted);
			KUNIT_EXPECT_EQ(test, hinted.chunk, w.chunk);
			KUNIT_EXPECT_EQ(test, hinted.offset, w.offset);
			KUNIT_EXPECT_EQ(test, hinted.size, w.size);
		}
	}
}

/* Test all offsets near the end of each chunk, and of the area */
static void expect_ends(struct kunit *test, const struct ntrace_aux_layout *layout, u32 align)
{
	struct ntrace_aux_window w = {};
	unsigned int i, step = max(layout->nr / 64, 1U);
	u64 head, rest;

	for (i = 0; i < layout->nr; i += i + step < layout->nr ? step : 1) {
		for (rest = 0; rest <= 2 * (u64)align; rest += 4) {
			head = layout->size + layout->end[i] - rest;
			ntrace_aux_piece(layout, head, layout->size - 1, align, &w);
			expect_window(test, layout, head, layout->size - 1, 0, align, &w);
			if (rest)
				KUNIT_EXPECT_EQ(test, w.size, ALIGN_DOWN(rest, (u64)align));
			else
				KUNIT_EXPECT_EQ(test, w.offset, 0);

			/* the free space ends less than a unit after the chunk, too */
			ntrace_aux_piece(layout, head, rest + align - 1, align, &w);
			KUNIT_EXPECT_LT(test, w.size, rest + align);
		}
	}
}

/* Areas of one page to 256 MB, in chunks of one page and in as few chunks as possible */
static void ntrace_aux_test_sizes(struct kunit *test)
{
	u64 *end = kunit_kcalloc(test, SZ_256M / SZ_4K, sizeof(*end), GFP_KERNEL);
	struct ntrace_aux_layout layout;
	u64 size;

	KUNIT_ASSERT_NOT_NULL(test, end);
	for (size = SZ_4K; size <= SZ_256M; size *= 2) {
		layout = layout_of(end, size, SZ_4K);
		expect_ends(test, &layout, 4);
		expect_ends(test, &layout, 64);
		layout = layout_of(end, size, min_t(u64, size, SZ_4M));
		expect_ends(test, &layout, 4);
		expect_ends(test, &layout, 64);
	}
}

static void ntrace_aux_test_uneven(struct kunit *test)
{
	u64 end[] = { SZ_4K, SZ_4K + SZ_8K, SZ_16K, SZ_32K };
	struct ntrace_aux_layout layout = { .size = SZ_32K, .nr = ARRAY_SIZE(end), .end = end };
	struct ntrace_aux_window w = {};
	u64 head;
	int i;

	for (head = 0, i = 0; head < SZ_32K; head += 4) {
		i += head == end[i];
		ntrace_aux_piece(&layout, head, SZ_32K, 4, &w);
		KUNIT_EXPECT_EQ(test, w.chunk, i);
		KUNIT_EXPECT_EQ(test, w.size, end[i] - head);
	}
}

/* Check what ntrace_aux_first() guarantees, for one case. Return: whether there is a window */
static bool expect_first(struct kunit *test, const struct ntrace_aux_layout *layout,
			 const struct ntrace_aux_limits *limits, u64 head, u64 space)
{
	struct ntrace_aux_window w = {}, next = {};
	u64 pad, done;

	if (ntrace_aux_first(layout, limits, head, space, &pad, &w)) {
		/* really no room: the rest of a chunk and a window do not fit into the space */
		KUNIT_EXPECT_LT(test, space,
				limits->reserve + 2 * (limits->want + NTRACE_AUX_MARGIN) +
					2 * limits->align);
		return false;
	}

	expect_window(test, layout, head, space, pad, limits->align, &w);
	KUNIT_EXPECT_LE(test, pad + w.size + limits->reserve, space);
	KUNIT_EXPECT_GT(test, w.size, 0);

	/* further windows follow without a gap, to the last word */
	for (done = w.size; !ntrace_aux_next(layout, limits, head + pad, space - pad, done, &next);
	     done += next.size)
		expect_window(test, layout, head + pad + done, space - pad - done, 0, limits->align,
			      &next);
	KUNIT_EXPECT_LT(test, space - pad - done, limits->align);

	return true;
}

static void ntrace_aux_test_first(struct kunit *test)
{
	static const u32 aligns[] = { 4, 8, 64 };
	struct ntrace_aux_limits limits;
	struct ntrace_aux_pace pace = { .rate = 1000 * 1000 };
	u64 *end = kunit_kcalloc(test, SZ_1M / SZ_4K, sizeof(*end), GFP_KERNEL);
	u64 size, chunk, head, space;
	unsigned int a;

	KUNIT_ASSERT_NOT_NULL(test, end);
	for (size = SZ_8K; size <= SZ_1M; size *= 4) {
		for (chunk = max_t(u64, SZ_4K, size / 16); chunk <= size; chunk *= 2) {
			struct ntrace_aux_layout layout = layout_of(end, size, chunk);

			for (a = 0; a < ARRAY_SIZE(aligns); a++) {
				ntrace_aux_limit(&limits, &pace, size, aligns[a], a & 1);
				for (head = 0; head < 2 * size; head += ALIGN(size / 61, aligns[a]))
					for (space = 1; space < size; space += size / 13)
						expect_first(test, &layout, &limits, head, space);
			}
		}
	}
}

/* There always is a window in an empty area, and never one in a full area. */
static void ntrace_aux_test_extremes(struct kunit *test)
{
	struct ntrace_aux_pace fast = { .rate = NTRACE_AUX_MAX_RATE };
	struct ntrace_aux_limits limits;
	struct ntrace_aux_window w = {};
	u64 end[64], size, pad, head;

	for (size = SZ_8K; size <= SZ_256M; size *= 2) {
		struct ntrace_aux_layout layout =
			layout_of(end, size, max_t(u64, size / 64, SZ_4K));

		ntrace_aux_limit(&limits, &fast, size, 4, false);
		for (head = 0; head < 2 * size; head += size / 64 + 4) {
			KUNIT_EXPECT_EQ(test, 0,
					ntrace_aux_first(&layout, &limits, head, size - 1, &pad,
							 &w));
			KUNIT_EXPECT_EQ(test, -ENOSPC,
					ntrace_aux_first(&layout, &limits, head, 1, &pad, &w));
			KUNIT_EXPECT_EQ(test, -ENOSPC,
					ntrace_aux_first(&layout, &limits, head, limits.reserve,
							 &pad, &w));
		}
	}
}

/* A head that a sink with a narrower unit left behind, and a tail at any byte */
static void ntrace_aux_test_odd(struct kunit *test)
{
	struct ntrace_aux_limits limits;
	struct ntrace_aux_pace pace = {};
	struct ntrace_aux_window w = {};
	u64 end[2], pad, head, space;
	struct ntrace_aux_layout layout = layout_of(end, SZ_64K, SZ_32K);

	ntrace_aux_limit(&limits, &pace, SZ_64K, 64, false);
	for (head = 0; head < SZ_64K; head += 4) {
		for (space = SZ_32K; space < SZ_32K + 64; space += 7) {
			KUNIT_ASSERT_EQ(test, 0,
					ntrace_aux_first(&layout, &limits, head, space, &pad, &w));
			KUNIT_EXPECT_EQ(test, (head + pad) % 64, 0);
			expect_window(test, &layout, head, space, pad, 64, &w);
		}
	}
}

/* For a sink with headroom, a window is much larger than the headroom, and due before it. */
static void ntrace_aux_test_headroom(struct kunit *test)
{
	struct ntrace_aux_pace pace = { .rate = 1000 * 1000 };
	struct ntrace_aux_window w = {};
	struct ntrace_aux_limits limits;
	u64 end[64], pad, head, used;
	/* a large chunk between small ones */
	struct ntrace_aux_layout layout = {
		.size = SZ_64K, .nr = 3, .end = end,
	};

	end[0] = SZ_4K;
	end[1] = SZ_64K - SZ_4K;
	end[2] = SZ_64K;
	ntrace_aux_limit(&limits, &pace, SZ_64K, 64, false);
	limits.headroom = SZ_4K;
	/* only the headroom decides when a window is due */
	limits.want = NTRACE_AUX_MIN_WINDOW;
	limits.quantum = U64_MAX;
	for (head = 0; head < SZ_128K; head += 64) {
		KUNIT_ASSERT_EQ(test, 0,
				ntrace_aux_first(&layout, &limits, head, SZ_64K - 1, &pad, &w));
		KUNIT_ASSERT_EQ(test, w.chunk, 1U);
		KUNIT_EXPECT_GE(test, w.size, (u64)SZ_4K + NTRACE_AUX_MIN_WINDOW);
		for (used = w.size - SZ_4K; used <= w.size; used += 64)
			KUNIT_EXPECT_TRUE(test, ntrace_aux_due(&limits, used, w.size));
		KUNIT_EXPECT_FALSE(test, ntrace_aux_due(&limits, 0, w.size));
	}
}

/* User space may set the tail to any byte. No window extends beyond it. */
static void ntrace_aux_test_tail(struct kunit *test)
{
	static const u32 aligns[] = { 4, 8, 64 };
	struct ntrace_aux_limits limits;
	struct ntrace_aux_pace pace = {};
	u64 end[4], head, space;
	struct ntrace_aux_layout layout = layout_of(end, SZ_16K, SZ_4K);
	unsigned int a;

	for (a = 0; a < ARRAY_SIZE(aligns); a++) {
		ntrace_aux_limit(&limits, &pace, SZ_16K, aligns[a], a & 1);
		for (head = 0; head < SZ_16K; head += 3 * SZ_1K - 4)
			for (space = 0; space < SZ_16K; space++)
				expect_first(test, &layout, &limits, head, space);
	}
}

/* A window of one word: the last one before the area is full */
static void ntrace_aux_test_word(struct kunit *test)
{
	struct ntrace_aux_limits limits;
	struct ntrace_aux_pace pace = {};
	struct ntrace_aux_window w = {};
	u64 end[4], head, done = SZ_4K;
	struct ntrace_aux_layout layout = layout_of(end, SZ_16K, SZ_4K);

	ntrace_aux_limit(&limits, &pace, SZ_16K, 4, false);
	for (head = 0; head <= SZ_16K; head += 4) {
		KUNIT_EXPECT_EQ(test, 0,
				ntrace_aux_next(&layout, &limits, head, done + 4, done, &w));
		KUNIT_EXPECT_EQ(test, w.size, 4);
		expect_window(test, &layout, head + done, 4, 0, 4, &w);
		KUNIT_EXPECT_EQ(test, -ENOSPC,
				ntrace_aux_next(&layout, &limits, head, done + 3, done, &w));
		KUNIT_EXPECT_EQ(test, -ENOSPC,
				ntrace_aux_next(&layout, &limits, head, done, done, &w));
	}
}

/* After a window that ends at the reserve, the chunk has enough room for a flush, or none. */
static void ntrace_aux_test_sliver(struct kunit *test)
{
	struct ntrace_aux_limits limits;
	struct ntrace_aux_pace pace = {};
	struct ntrace_aux_window w = {};
	u64 end[4], pad, head, space, rest;
	struct ntrace_aux_layout layout = layout_of(end, SZ_256K, SZ_64K);

	ntrace_aux_limit(&limits, &pace, SZ_256K, 4, true);
	for (head = 0; head < SZ_256K; head += 1020) {
		for (space = SZ_32K; space < SZ_256K; space += 1011) {
			KUNIT_ASSERT_EQ(test, 0,
					ntrace_aux_first(&layout, &limits, head, space, &pad, &w));
			rest = SZ_64K - w.offset - w.size;
			KUNIT_EXPECT_TRUE(test, !rest || rest >= NTRACE_AUX_MARGIN);
		}
	}
}

static void ntrace_aux_test_pace(struct kunit *test)
{
	struct ntrace_aux_limits limits;
	struct ntrace_aux_pace pace = {};
	u64 period, before;
	int i;

	ntrace_aux_limit(&limits, &pace, SZ_1M, 4, false);
	KUNIT_EXPECT_EQ(test, ntrace_aux_period(&limits, &pace, 0, SZ_512K),
			NTRACE_AUX_MIN_PERIOD_NS);

	/* 100 MB/s: a window of 512 KiB is due after 128 KiB, in 1.3 ms */
	ntrace_aux_learn(&pace, 100000, NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, pace.rate, 100 * 1000 * 1000);
	ntrace_aux_limit(&limits, &pace, SZ_1M, 4, false);
	period = ntrace_aux_period(&limits, &pace, 0, SZ_512K);
	KUNIT_EXPECT_GT(test, period, 1250 * NSEC_PER_USEC);
	KUNIT_EXPECT_LT(test, period, 1350 * NSEC_PER_USEC);
	KUNIT_EXPECT_LT(test, ntrace_aux_period(&limits, &pace, SZ_64K, SZ_512K), period);
	KUNIT_EXPECT_EQ(test, ntrace_aux_period(&limits, &pace, SZ_512K, SZ_512K),
			NTRACE_AUX_MIN_PERIOD_NS);

	/* without trace the rate fades slowly, and polls become rare */
	for (i = 0; i < 1000; i++) {
		before = pace.rate;
		ntrace_aux_learn(&pace, 0, 10 * NSEC_PER_MSEC);
		KUNIT_EXPECT_LE(test, pace.rate, before);
	}
	KUNIT_EXPECT_LT(test, pace.rate, 1000);
	KUNIT_EXPECT_EQ(test, ntrace_aux_period(&limits, &pace, 0, SZ_512K),
			NTRACE_AUX_MAX_PERIOD_NS);

	/* absurd input does not overflow */
	ntrace_aux_learn(&pace, SZ_4M, 0);
	KUNIT_EXPECT_EQ(test, pace.rate, NTRACE_AUX_MAX_RATE);
	ntrace_aux_limit(&limits, &pace, SZ_1M, 4, false);
	KUNIT_EXPECT_EQ(test, limits.want, SZ_64K);
}

/* The limits of want and reserve. The reserve is larger where harts wait for room. */
static void ntrace_aux_test_limit(struct kunit *test)
{
	struct ntrace_aux_pace fast = { .rate = NTRACE_AUX_MAX_RATE }, still = {};
	struct ntrace_aux_limits limits;
	u64 size;

	for (size = SZ_8K; size <= SZ_256M; size *= 2) {
		ntrace_aux_limit(&limits, &still, size, 4, false);
		KUNIT_EXPECT_EQ(test, limits.want, NTRACE_AUX_MIN_WINDOW);
		KUNIT_EXPECT_EQ(test, limits.reserve, min_t(u64, size / 16, SZ_4K));
		KUNIT_EXPECT_EQ(test, limits.quantum, size / 8);
		ntrace_aux_limit(&limits, &fast, size, 4, true);
		KUNIT_EXPECT_LE(test, limits.want, size / 16);
		KUNIT_EXPECT_EQ(test, limits.reserve, min_t(u64, size / 4, SZ_16K));
	}
}

static void ntrace_aux_test_due(struct kunit *test)
{
	struct ntrace_aux_limits limits;
	struct ntrace_aux_pace pace = { .rate = 1000 * 1000 };
	u64 size;

	ntrace_aux_limit(&limits, &pace, SZ_1M, 4, false);
	KUNIT_EXPECT_FALSE(test, ntrace_aux_due(&limits, 0, SZ_512K));
	KUNIT_EXPECT_FALSE(test, ntrace_aux_due(&limits, SZ_128K - 4, SZ_512K));
	KUNIT_EXPECT_TRUE(test, ntrace_aux_due(&limits, SZ_128K, SZ_512K));

	/* smaller than the quantum: due while the rest still lasts for 10 ms */
	KUNIT_EXPECT_EQ(test, limits.want, 10000);
	KUNIT_EXPECT_FALSE(test, ntrace_aux_due(&limits, SZ_64K - 10004, SZ_64K));
	KUNIT_EXPECT_TRUE(test, ntrace_aux_due(&limits, SZ_64K - 10000, SZ_64K));

	for (size = 4; size <= SZ_512K; size *= 2) {
		KUNIT_EXPECT_TRUE(test, ntrace_aux_due(&limits, size, size));
		KUNIT_EXPECT_FALSE(test, ntrace_aux_due(&limits, 0, size));
	}
}

/* The fragments of a copy are contiguous, stay in their chunks, and cover all of it. */
static void expect_pieces(struct kunit *test, const struct ntrace_aux_layout *layout, u64 head,
			  u64 size)
{
	struct ntrace_aux_window w = {};
	u64 left;

	for (left = size; left; head += w.size, left -= w.size) {
		ntrace_aux_piece(layout, head, left, 1, &w);
		expect_window(test, layout, head, left, 0, 1, &w);
		KUNIT_ASSERT_GT(test, w.size, 0);
	}
}

/* Wrap around the end of the area, from each offset; areas of one to four chunks of a page */
static void ntrace_aux_test_copy_pieces(struct kunit *test)
{
	u64 end[4], size, head;

	for (size = SZ_4K; size <= SZ_16K; size *= 2) {
		struct ntrace_aux_layout layout = layout_of(end, size, SZ_4K);

		for (head = 0; head <= 2 * size; head++) {
			expect_pieces(test, &layout, head, 4);
			expect_pieces(test, &layout, head, size - 1);
		}
	}
}

/* The driver copies no more than there is room for, wherever user space has set the tail. */
static void ntrace_aux_test_copyable(struct kunit *test)
{
	static const u32 aligns[] = { 4, 8, 64 };
	struct ntrace_aux_limits limits;
	struct ntrace_aux_pace pace = {};
	u64 size, space, done, pending, n;
	unsigned int a;

	for (size = SZ_4K; size <= SZ_256M; size *= 16) {
		for (a = 0; a < ARRAY_SIZE(aligns); a++) {
			ntrace_aux_limit(&limits, &pace, size, aligns[a], a & 1);
			for (space = 0; space < size; space += size / 251 + 1) {
				for (pending = 0; pending <= size; pending += size / 16) {
					done = ALIGN_DOWN(space / 3, (u64)aligns[a]);
					n = ntrace_aux_copyable(&limits, space, done, pending,
								true);
					KUNIT_EXPECT_LE(test, n, pending);
					KUNIT_EXPECT_LE(test, done + n, space);
					KUNIT_EXPECT_EQ(test, n % sizeof(u32), 0);
					/* all of it, or as much as there is room for */
					if (n < pending)
						KUNIT_EXPECT_LT(test, space - done - n, aligns[a]);

					n = ntrace_aux_copyable(&limits, space, done, pending,
								false);
					KUNIT_EXPECT_LE(test, n, pending);
					if (n)
						KUNIT_EXPECT_LE(test, done + n + limits.reserve,
								space);
				}
			}
		}
	}

	/* one word */
	ntrace_aux_limit(&limits, &pace, SZ_4K, 4, false);
	KUNIT_EXPECT_EQ(test, ntrace_aux_copyable(&limits, 3, 0, 4, true), 0);
	KUNIT_EXPECT_EQ(test, ntrace_aux_copyable(&limits, 4, 0, 4, true), 4);
	KUNIT_EXPECT_EQ(test, ntrace_aux_copyable(&limits, 7, 4, 4, true), 0);
	KUNIT_EXPECT_EQ(test, ntrace_aux_copyable(&limits, 8, 4, 8, true), 4);
	KUNIT_EXPECT_EQ(test, ntrace_aux_copyable(&limits, limits.reserve + 3, 0, 8, false), 0);
	KUNIT_EXPECT_EQ(test, ntrace_aux_copyable(&limits, limits.reserve + 4, 0, 8, false), 4);
}

/* The content of a window in a bounce buffer always fits into the area. */
static void ntrace_aux_test_bounce(struct kunit *test)
{
	struct ntrace_aux_limits limits;
	struct ntrace_aux_pace pace = { .rate = NTRACE_AUX_MAX_RATE };
	u64 size, store, space, taken, n;

	for (size = SZ_8K; size <= SZ_256M; size *= 8) {
		for (store = SZ_2K; store <= size / NTRACE_AUX_STORES; store *= 4) {
			ntrace_aux_limit(&limits, &pace, size, 4, false);
			ntrace_aux_limit_store(&limits, store, true);
			KUNIT_EXPECT_GE(test, limits.reserve, store);
			KUNIT_EXPECT_LE(test, limits.want, store / 2);
			KUNIT_EXPECT_LE(test, limits.quantum, store / 2);

			/* an empty area always has room for a window, and a flush after it */
			KUNIT_EXPECT_EQ(test, store,
					ntrace_aux_bounce(&limits, size - 1, limits.reserve, store,
							  true));
			KUNIT_EXPECT_EQ(test, store,
					ntrace_aux_bounce(&limits, size - 1, store, store, true));

			for (space = 1; space < size; space += size / 127 + 1) {
				for (taken = 0; taken < size; taken += size / 8) {
					n = ntrace_aux_bounce(&limits, space, taken, store, true);
					KUNIT_EXPECT_TRUE(test, !n || n == store);
					KUNIT_EXPECT_TRUE(test, !n || taken + n <= space);
					n = ntrace_aux_bounce(&limits, space, taken, store, false);
					KUNIT_EXPECT_LE(test, n, store);
					KUNIT_EXPECT_TRUE(test, !n || taken + n <= space);
				}
			}
		}
	}
}

/* Minimum sizes of the rest of a chunk, and of the free space, for a first window */
static void ntrace_aux_test_enough(struct kunit *test)
{
	struct ntrace_aux_limits limits = { .align = 4, .reserve = 100, .want = 512 };
	struct ntrace_aux_window w = {};
	u64 end[4], pad, rest;
	struct ntrace_aux_layout layout = layout_of(end, SZ_16K, SZ_4K);

	for (rest = 4; rest < SZ_4K; rest += 4) {
		KUNIT_ASSERT_EQ(test, 0,
				ntrace_aux_first(&layout, &limits, SZ_4K - rest, SZ_16K - 1, &pad,
						 &w));
		KUNIT_EXPECT_EQ(test, pad, rest < 512 ? rest : 0);
	}

	/* no chunk is that large: a quarter of a chunk is enough */
	limits.want = SZ_8K;
	for (rest = 4; rest < SZ_4K; rest += 4) {
		KUNIT_ASSERT_EQ(test, 0,
				ntrace_aux_first(&layout, &limits, SZ_4K - rest, SZ_16K - 1, &pad,
						 &w));
		KUNIT_EXPECT_EQ(test, pad, rest < SZ_1K ? rest : 0);
	}

	/* the free space must have room for want and the reserve, and for a pad */
	limits.want = 512;
	KUNIT_EXPECT_EQ(test, 0, ntrace_aux_first(&layout, &limits, 0, 612, &pad, &w));
	KUNIT_EXPECT_EQ(test, w.size, 512);
	KUNIT_EXPECT_EQ(test, -ENOSPC, ntrace_aux_first(&layout, &limits, 0, 611, &pad, &w));
	KUNIT_EXPECT_EQ(test, 0, ntrace_aux_first(&layout, &limits, 1, 615, &pad, &w));
	KUNIT_EXPECT_EQ(test, pad, 3);
	KUNIT_EXPECT_EQ(test, -ENOSPC, ntrace_aux_first(&layout, &limits, 1, 614, &pad, &w));
}

/* A bounce buffer lowers want and quantum to a part of its size, and raises the reserve. */
static void ntrace_aux_test_store(struct kunit *test)
{
	const struct ntrace_aux_limits area = {
		.align = 4, .reserve = SZ_4K, .want = SZ_2K, .quantum = SZ_8K,
	};
	struct ntrace_aux_limits limits;
	u64 store;

	for (store = SZ_1K; store <= SZ_64K; store *= 2) {
		limits = area;
		ntrace_aux_limit_store(&limits, store, false);
		KUNIT_EXPECT_EQ(test, limits.reserve, SZ_4K);
		KUNIT_EXPECT_EQ(test, limits.want, min_t(u64, SZ_2K, store / 4));
		KUNIT_EXPECT_EQ(test, limits.quantum, min_t(u64, SZ_8K, store / 4));
		limits = area;
		ntrace_aux_limit_store(&limits, store, true);
		KUNIT_EXPECT_EQ(test, limits.reserve, max_t(u64, SZ_4K, store));
		KUNIT_EXPECT_EQ(test, limits.align, 4);

		/* exactly enough room for all of it, and one byte less */
		KUNIT_EXPECT_EQ(test, ntrace_aux_bounce(&limits, store + 100, 100, store, true),
				store);
		KUNIT_EXPECT_EQ(test, ntrace_aux_bounce(&limits, store + 99, 100, store, true), 0);
		KUNIT_EXPECT_EQ(test, ntrace_aux_bounce(&limits, store + 99, 100, store, false),
				store - 4);
		KUNIT_EXPECT_EQ(test, ntrace_aux_bounce(&limits, 100, 100, store, false), 0);
		KUNIT_EXPECT_EQ(test, ntrace_aux_bounce(&limits, 99, 100, store, false), 0);
	}
}

/* A lap counts if the sink may have completed one in this time, at four times the rate. */
static void ntrace_aux_test_advance(struct kunit *test)
{
	static const u64 rates[] = { 0, 1, 1000, 1000 * 1000, NTRACE_AUX_MAX_RATE };
	unsigned int r;
	u64 size, lap;

	for (size = SZ_4K; size <= SZ_4M; size *= 4) {
		for (r = 0; r < ARRAY_SIZE(rates); r++) {
			const struct ntrace_aux_pace pace = { .rate = rates[r] };

			lap = size * NSEC_PER_SEC / ((rates[r] ? rates[r] : 1) * 4);
			KUNIT_EXPECT_EQ(test, 100,
					ntrace_aux_advance(&pace, size, 0, 100, true, lap));
			KUNIT_EXPECT_EQ(test, 100 + size,
					ntrace_aux_advance(&pace, size, 0, 100, true, lap + 1));
			KUNIT_EXPECT_EQ(test, 100,
					ntrace_aux_advance(&pace, size, 0, 100, false, lap + 1));
			/* around the end; no progress */
			KUNIT_EXPECT_EQ(test, 8,
					ntrace_aux_advance(&pace, size, size - 4, 4, true, lap));
			KUNIT_EXPECT_EQ(test, 0,
					ntrace_aux_advance(&pace, size, 64, 64, true, lap));
			KUNIT_EXPECT_EQ(test, size,
					ntrace_aux_advance(&pace, size, 64, 64, true, lap + 1));
		}
	}
}

/* Polls at this period, or up to twice as late, never have to assume a lap. */
static void ntrace_aux_test_lap_period(struct kunit *test)
{
	struct ntrace_aux_pace pace = {};
	u64 period;

	KUNIT_EXPECT_EQ(test, ntrace_aux_lap_period(&pace, SZ_4K), NTRACE_AUX_MAX_PERIOD_NS);
	pace.rate = 1;
	KUNIT_EXPECT_EQ(test, ntrace_aux_lap_period(&pace, SZ_4K), NTRACE_AUX_MAX_PERIOD_NS);
	pace.rate = 8192000;
	KUNIT_EXPECT_EQ(test, ntrace_aux_lap_period(&pace, SZ_64K), NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, ntrace_aux_lap_period(&pace, SZ_128K), 2 * NSEC_PER_MSEC);
	pace.rate = NTRACE_AUX_MAX_RATE;
	KUNIT_EXPECT_EQ(test, ntrace_aux_lap_period(&pace, SZ_4M), NTRACE_AUX_MIN_PERIOD_NS);

	for (pace.rate = 1000 * 1000; pace.rate <= 80 * 1000 * 1000; pace.rate += 1234567) {
		period = ntrace_aux_lap_period(&pace, SZ_64K);
		KUNIT_EXPECT_EQ(test, 4, ntrace_aux_advance(&pace, SZ_64K, 0, 4, true, 2 * period));
	}
}

/* Poll a row of windows at four times the highest rate so far. Return: no window became full */
static bool ntrace_aux_test_row_survives(u64 size, u64 rate, u64 lateness)
{
	struct ntrace_aux_pace pace = { .rate = rate / 4 };
	struct ntrace_aux_limits limits = {};
	u64 used = 0, ns, bytes;

	ntrace_aux_limit_row(&limits, &pace, size);
	while (used < size && !ntrace_aux_due(&limits, used, size)) {
		ns = ntrace_aux_row_period(&limits, &pace, used, size) + lateness;
		bytes = div64_u64(rate * ns, NSEC_PER_SEC);
		used += bytes;
		ntrace_aux_learn(&pace, bytes, ns);
	}

	return used < size;
}

/* The trace of a full window is lost, so the driver switches windows before they are full. */
static void ntrace_aux_test_row(struct kunit *test)
{
	struct ntrace_aux_limits limits = {};
	struct ntrace_aux_pace pace = {};
	u64 rate;

	/* The quantum does not matter, only the rate does. */
	limits.quantum = SZ_4K;
	ntrace_aux_limit_row(&limits, &pace, SZ_1M);
	KUNIT_EXPECT_FALSE(test, ntrace_aux_due(&limits, SZ_512K, SZ_1M));
	KUNIT_EXPECT_EQ(test, ntrace_aux_row_period(&limits, &pace, 0, SZ_1M),
			NTRACE_AUX_MIN_PERIOD_NS);
	pace.rate = 1;
	KUNIT_EXPECT_EQ(test, ntrace_aux_row_period(&limits, &pace, 0, SZ_1M),
			NTRACE_AUX_ROW_PERIOD_NS);
	KUNIT_EXPECT_EQ(test, limits.want, SZ_64K);
	pace.rate = NTRACE_AUX_MAX_RATE;
	ntrace_aux_limit_row(&limits, &pace, SZ_1M);
	KUNIT_EXPECT_EQ(test, limits.want, SZ_128K);

	for (rate = 1000 * 1000; rate <= 1200 * 1000 * 1000; rate += 1234567)
		KUNIT_EXPECT_TRUE(test, ntrace_aux_test_row_survives(SZ_1M, rate, 0));
	for (rate = 1000 * 1000; rate <= 120 * 1000 * 1000; rate += 1234567)
		KUNIT_EXPECT_TRUE(test, ntrace_aux_test_row_survives(SZ_1M, rate, 500 * 1000));
}

/* The steps that a sink may take; all others are refused */
static const struct {
	enum ntrace_sink_state from;
	enum ntrace_sink_op op;
	enum ntrace_sink_state to;
} ntrace_sink_test_steps[] = {
	{ NTRACE_SINK_OFF, NTRACE_SINK_SET, NTRACE_SINK_ARMED },
	{ NTRACE_SINK_OFF, NTRACE_SINK_RESET, NTRACE_SINK_OFF },
	{ NTRACE_SINK_ARMED, NTRACE_SINK_SET, NTRACE_SINK_ARMED },
	{ NTRACE_SINK_ARMED, NTRACE_SINK_START, NTRACE_SINK_RUNNING },
	{ NTRACE_SINK_ARMED, NTRACE_SINK_RESET, NTRACE_SINK_OFF },
	{ NTRACE_SINK_RUNNING, NTRACE_SINK_STOP, NTRACE_SINK_ARMED },
	{ NTRACE_SINK_FAILED, NTRACE_SINK_RESET, NTRACE_SINK_OFF },
};

static int ntrace_sink_test_step(enum ntrace_sink_state from, enum ntrace_sink_op op)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ntrace_sink_test_steps); i++)
		if (ntrace_sink_test_steps[i].from == from && ntrace_sink_test_steps[i].op == op)
			return ntrace_sink_test_steps[i].to;

	return -1;
}

static void ntrace_sink_test_legal(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ntrace_sink_test_steps); i++)
		KUNIT_EXPECT_EQ(test, (int)ntrace_sink_test_steps[i].to,
				ntrace_sink_next(ntrace_sink_test_steps[i].from,
						 ntrace_sink_test_steps[i].op));
}

/*
 * To enable a sink without a window, or to set or reset a running sink, is a bug (-EPERM). All
 * other refusals mean that the sink has failed or is disabled already (-EIO).
 */
static void ntrace_sink_test_refused(struct kunit *test)
{
	enum ntrace_sink_state state;
	enum ntrace_sink_op op;
	bool mistake;

	for (state = NTRACE_SINK_OFF; state <= NTRACE_SINK_FAILED; state++) {
		for (op = NTRACE_SINK_SET; op <= NTRACE_SINK_RESET; op++) {
			if (ntrace_sink_test_step(state, op) >= 0)
				continue;
			mistake = state == NTRACE_SINK_RUNNING ||
				  (state == NTRACE_SINK_OFF && op == NTRACE_SINK_START);
			KUNIT_EXPECT_EQ(test, ntrace_sink_next(state, op),
					mistake ? -EPERM : -EIO);
		}
	}
}

/* In any order of steps, an enabled sink has a window, and a failed sink leaves by a reset only. */
static void ntrace_sink_test_walk(struct kunit *test)
{
	enum ntrace_sink_state state = NTRACE_SINK_OFF;
	u32 chance = 12345, steps;
	bool window = false;
	int next;

	for (steps = 0; steps < 100000; steps++) {
		enum ntrace_sink_op op;

		chance = chance * 1664525 + 1013904223;
		op = chance >> 16 & 3;
		next = ntrace_sink_next(state, op);
		if (next >= 0) {
			window = op == NTRACE_SINK_SET || (window && op != NTRACE_SINK_RESET);
			if (state == NTRACE_SINK_FAILED)
				KUNIT_EXPECT_EQ(test, op, NTRACE_SINK_RESET);
			state = next;
		}
		if (state == NTRACE_SINK_RUNNING || state == NTRACE_SINK_ARMED)
			KUNIT_EXPECT_TRUE(test, window);
		if (chance >> 28 == 0)
			state = NTRACE_SINK_FAILED;
	}
}

/* Version 0: each field is at its place in version 0, and no other bits are set. */
static void ntrace_version0_test_control(struct kunit *test)
{
	/* Active, HTM, no SRC, N-Trace */
	u32 htm = 0x01008061, funnel = 0x80000000;
	u32 max, messages, icnt;

	/* HTM+sync, both periods off */
	KUNIT_EXPECT_EQ(test, ntrace_version0_te_control(htm), 0x81ff8071);
	/* BTM+sync */
	KUNIT_EXPECT_EQ(test, ntrace_version0_te_control(0x01000031), 0x81ff0031);
	/* Enable, InstTracing and read-only bits are dropped, as is Context: version 0 has none */
	KUNIT_EXPECT_EQ(test, ntrace_version0_te_control(htm | 0x120e), 0x81ff8071);

	for (max = 0; max <= 15; max++) {
		messages = ntrace_version0_te_control(htm | 1 << 16 | max << 20);
		icnt = ntrace_version0_te_control(htm | 3 << 16 | max << 20);
		/* 2^(n + 5), while 1.0 has 2^(n + 4); 15 means never */
		KUNIT_EXPECT_EQ(test, messages >> 16 & 15, max ? max - 1 : 0);
		KUNIT_EXPECT_EQ(test, messages >> 20 & 15, 15);
		KUNIT_EXPECT_EQ(test, icnt >> 20 & 15, max ? max - 1 : 0);
		KUNIT_EXPECT_EQ(test, icnt >> 16 & 15, 15);
		KUNIT_EXPECT_EQ(test, messages & ~0xff0000, (htm | 0x10) | funnel);
		KUNIT_EXPECT_EQ(test, icnt & ~0xff0000, (htm | 0x10) | funnel);
	}
}

/* Version 0: Limit must be in the same 4 GiB as the base. */
static void ntrace_version0_test_reach(struct kunit *test)
{
	const u64 g = 1ULL << 32;

	KUNIT_EXPECT_TRUE(test, ntrace_version0_reaches(0, g - 8));
	KUNIT_EXPECT_FALSE(test, ntrace_version0_reaches(0, g));
	KUNIT_EXPECT_FALSE(test, ntrace_version0_reaches(g - 8, g));
	KUNIT_EXPECT_TRUE(test, ntrace_version0_reaches(g - 8, g - 8));
	KUNIT_EXPECT_TRUE(test, ntrace_version0_reaches(g, 2 * g - 8));
	KUNIT_EXPECT_FALSE(test, ntrace_version0_reaches(511 * g + 0x100, 510 * g + 0x100));
	KUNIT_EXPECT_FALSE(test, ntrace_version0_reaches(g + 0x100, g + 0xf8));
}

/* Check one more filter: @word is part of the expected reason, NULL if the filter is valid */
#define expect_filter(test, check, kind, offset, size, word) do {				\
	const char *_why = ntrace_ranges_refuse(check, kind, offset, size), *_word = word;	\
												\
	KUNIT_EXPECT_EQ(test, !_why, !_word);							\
	if (_why && _word)									\
		KUNIT_EXPECT_NOT_NULL(test, strstr(_why, _word));				\
} while (0)

/* Valid are as many ranges as comparators, or one start and one stop. */
static void ntrace_ranges_test_refuse(struct kunit *test)
{
	struct ntrace_ranges_check check;
	unsigned int comps, i;

	for (comps = 0; comps <= TR_TE_NR_COMPS; comps++) {
		check = (struct ntrace_ranges_check) { .comps = comps };
		for (i = 0; i < comps; i++)
			expect_filter(test, &check, NTRACE_RANGE, i, 1, NULL);
		expect_filter(test, &check, NTRACE_RANGE, i, 1, "more ranges");

		check = (struct ntrace_ranges_check) { .comps = comps, .latch = true };
		expect_filter(test, &check, NTRACE_RANGE_STOP, 8, 0, comps ? NULL : "latch");
		expect_filter(test, &check, NTRACE_RANGE_START, 4, 0, comps ? NULL : "latch");
		expect_filter(test, &check, NTRACE_RANGE_START, 4, 0, comps ? "one" : "latch");
		expect_filter(test, &check, NTRACE_RANGE_STOP, 4, 0, comps ? "one" : "latch");
		expect_filter(test, &check, NTRACE_RANGE, 4, 4, "mix");
	}

	check = (struct ntrace_ranges_check) { .comps = 2 };
	expect_filter(test, &check, NTRACE_RANGE_START, 0, 0, "latch");
	expect_filter(test, &check, NTRACE_RANGE, 0, 4, "mix");
	check = (struct ntrace_ranges_check) { .comps = 2, .latch = true };
	expect_filter(test, &check, NTRACE_RANGE_START, 0, 4, "places");
	check = (struct ntrace_ranges_check) { .comps = 2, .latch = true };
	expect_filter(test, &check, NTRACE_RANGE, U64_MAX - 3, 3, NULL);
	expect_filter(test, &check, NTRACE_RANGE, U64_MAX - 3, 4, "behind the last");
	expect_filter(test, &check, NTRACE_RANGE_START, 0, 0, "mix");
}

/* Each range has its own comparator, in the order of the filters. */
static void ntrace_ranges_test_add(struct kunit *test)
{
	struct ntrace_ranges ranges = {};
	unsigned int i;

	ntrace_ranges_add(&ranges, NTRACE_RANGE, 0x1000, 0x20, true);
	ntrace_ranges_add(&ranges, NTRACE_RANGE, 0x3000, 0, true);	/* not mapped */
	ntrace_ranges_add(&ranges, NTRACE_RANGE, 0x5000, 0, false);
	KUNIT_EXPECT_EQ(test, ranges.nr, 3);
	KUNIT_EXPECT_EQ(test, ranges.low[0], 0x1000);
	KUNIT_EXPECT_EQ(test, ranges.high[0], 0x1020);
	KUNIT_EXPECT_EQ(test, ranges.low[1], 0x3000);
	KUNIT_EXPECT_EQ(test, ranges.high[1], 0);
	KUNIT_EXPECT_EQ(test, ranges.low[2], 0x5000);
	KUNIT_EXPECT_EQ(test, ranges.high[2], 0x5000);
	KUNIT_EXPECT_FALSE(test, ranges.latch);
	/* address >= low and address < high */
	KUNIT_EXPECT_EQ(test, ntrace_ranges_comp_control(&ranges), 0x1250);

	for (i = 0; i < 2 * TR_TE_NR_COMPS; i++)
		ntrace_ranges_add(&ranges, NTRACE_RANGE, 0x10000 * i, 4, true);
	KUNIT_EXPECT_EQ(test, ranges.nr, TR_TE_NR_COMPS);
	KUNIT_EXPECT_EQ(test, ranges.low[TR_TE_NR_COMPS - 1], 0x10000 * (TR_TE_NR_COMPS - 4));
}

/* Start and stop share a comparator. A missing one gets an address that never matches. */
static void ntrace_ranges_test_latch(struct kunit *test)
{
	struct ntrace_ranges ranges = {};

	ntrace_ranges_add(&ranges, NTRACE_RANGE_STOP, 0x2000, 0, true);
	KUNIT_EXPECT_TRUE(test, ranges.latch);
	KUNIT_EXPECT_EQ(test, ranges.nr, 1);
	KUNIT_EXPECT_EQ(test, ranges.low[0], NTRACE_NEVER);
	KUNIT_EXPECT_EQ(test, ranges.high[0], 0x2000);
	/* the latch is set at first, until the stop address is executed */
	KUNIT_EXPECT_EQ(test, ntrace_ranges_comp_control(&ranges), 0x3060);
	ntrace_ranges_add(&ranges, NTRACE_RANGE_START, 0x1000, 0, true);
	KUNIT_EXPECT_EQ(test, ranges.nr, 1);
	KUNIT_EXPECT_EQ(test, ranges.low[0], 0x1000);
	KUNIT_EXPECT_EQ(test, ranges.high[0], 0x2000);
	KUNIT_EXPECT_EQ(test, ntrace_ranges_comp_control(&ranges), 0x3000);

	/* A file that is not mapped: trace starts neither at once nor at address 0. */
	ranges = (struct ntrace_ranges) {};
	ntrace_ranges_add(&ranges, NTRACE_RANGE_START, 0, 0, true);
	KUNIT_EXPECT_EQ(test, ranges.low[0], NTRACE_NEVER - 2);
	KUNIT_EXPECT_EQ(test, ranges.high[0], NTRACE_NEVER);
	KUNIT_EXPECT_EQ(test, ntrace_ranges_comp_control(&ranges), 0x3000);
	ntrace_ranges_add(&ranges, NTRACE_RANGE_STOP, 0, 0, false);
	KUNIT_EXPECT_EQ(test, ranges.high[0], 0);
}

/* Two encoders, a funnel that leads to two sinks, and a sink of the first encoder only */
struct ntrace_claim_test {
	struct ntrace_claim enc[2], funnel, sink[2], own;
};

#define CLAIM_TEST()	{ .sink = { { .ends = true }, { .ends = true } }, .own = { .ends = true } }

static void release(struct ntrace_claim *const *claim, unsigned int nr)
{
	while (nr--)
		claim[nr]->users--;
}

/* A funnel serves one sink at a time, until its last user is gone. */
static void ntrace_claim_test_funnel(struct kunit *test)
{
	struct ntrace_claim_test t = CLAIM_TEST();
	struct ntrace_claim *first[] = { &t.enc[0], &t.funnel, &t.sink[0] };
	struct ntrace_claim *second[] = { &t.enc[1], &t.funnel, &t.sink[0] };
	struct ntrace_claim *other[] = { &t.enc[1], &t.funnel, &t.sink[1] };

	KUNIT_EXPECT_EQ(test, ntrace_claim_busy(first, 3), -1);
	ntrace_claim_take(first, 3);
	KUNIT_EXPECT_EQ(test, ntrace_claim_busy(first, 3), -1);
	KUNIT_EXPECT_EQ(test, ntrace_claim_busy(second, 3), -1);
	KUNIT_EXPECT_EQ(test, ntrace_claim_busy(other, 3), 1);
	ntrace_claim_take(second, 3);
	KUNIT_EXPECT_EQ(test, t.funnel.users, 2);
	KUNIT_EXPECT_EQ(test, t.sink[0].users, 2);
	release(first, 3);
	KUNIT_EXPECT_EQ(test, ntrace_claim_busy(other, 3), 1);
	release(second, 3);
	KUNIT_EXPECT_EQ(test, ntrace_claim_busy(other, 3), -1);
	ntrace_claim_take(other, 3);
	KUNIT_EXPECT_EQ(test, ntrace_claim_busy(first, 3), 1);
}

/* An encoder may use several sinks of its own, but not a sink and a funnel. */
static void ntrace_claim_test_encoder(struct kunit *test)
{
	struct ntrace_claim_test t = CLAIM_TEST();
	struct ntrace_claim *own[] = { &t.enc[0], &t.own };
	struct ntrace_claim *direct[] = { &t.enc[0], &t.sink[1] };
	struct ntrace_claim *funnel[] = { &t.enc[0], &t.funnel, &t.sink[0] };

	ntrace_claim_take(own, 2);
	KUNIT_EXPECT_EQ(test, ntrace_claim_busy(direct, 2), -1);
	KUNIT_EXPECT_EQ(test, ntrace_claim_busy(funnel, 3), 0);
	ntrace_claim_take(direct, 2);
	release(direct, 2);
	/* the other user is still there */
	KUNIT_EXPECT_EQ(test, ntrace_claim_busy(own, 2), -1);
	KUNIT_EXPECT_EQ(test, ntrace_claim_busy(funnel, 3), 0);
	release(own, 2);
	KUNIT_EXPECT_EQ(test, ntrace_claim_busy(funnel, 3), -1);
	ntrace_claim_take(funnel, 3);
	KUNIT_EXPECT_EQ(test, ntrace_claim_busy(own, 2), 0);
	KUNIT_EXPECT_EQ(test, ntrace_claim_busy(funnel, 3), -1);
}

/* A shared sink has one owner, any other sink one encoder. A sink without users is free. */
static void ntrace_claim_test_sink(struct kunit *test)
{
	struct ntrace_claim sink = { .ends = true };
	unsigned int i;

	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_FALSE(test, ntrace_claim_sink_is_busy(&sink, i & 1, i & 2, i & 4));
	sink.users = 1;
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_EQ(test, ntrace_claim_sink_is_busy(&sink, i & 1, i & 2, i & 4),
				!!(i & 1 ? i & 4 : i & 2));
}

static struct kunit_case ntrace_aux_test_cases[] = {
	KUNIT_CASE(ntrace_aux_test_piece),
	KUNIT_CASE(ntrace_aux_test_hint),
	KUNIT_CASE(ntrace_aux_test_sizes),
	KUNIT_CASE(ntrace_aux_test_uneven),
	KUNIT_CASE(ntrace_aux_test_first),
	KUNIT_CASE(ntrace_aux_test_extremes),
	KUNIT_CASE(ntrace_aux_test_odd),
	KUNIT_CASE(ntrace_aux_test_headroom),
	KUNIT_CASE(ntrace_aux_test_tail),
	KUNIT_CASE(ntrace_aux_test_word),
	KUNIT_CASE(ntrace_aux_test_sliver),
	KUNIT_CASE(ntrace_aux_test_pace),
	KUNIT_CASE(ntrace_aux_test_limit),
	KUNIT_CASE(ntrace_aux_test_due),
	KUNIT_CASE(ntrace_aux_test_copy_pieces),
	KUNIT_CASE(ntrace_aux_test_copyable),
	KUNIT_CASE(ntrace_aux_test_bounce),
	KUNIT_CASE(ntrace_aux_test_enough),
	KUNIT_CASE(ntrace_aux_test_store),
	KUNIT_CASE(ntrace_aux_test_advance),
	KUNIT_CASE(ntrace_aux_test_lap_period),
	KUNIT_CASE(ntrace_aux_test_row),
	KUNIT_CASE(ntrace_sink_test_legal),
	KUNIT_CASE(ntrace_sink_test_refused),
	KUNIT_CASE(ntrace_sink_test_walk),
	KUNIT_CASE(ntrace_ranges_test_refuse),
	KUNIT_CASE(ntrace_ranges_test_add),
	KUNIT_CASE(ntrace_ranges_test_latch),
	KUNIT_CASE(ntrace_claim_test_funnel),
	KUNIT_CASE(ntrace_claim_test_encoder),
	KUNIT_CASE(ntrace_claim_test_sink),
	KUNIT_CASE(ntrace_version0_test_control),
	KUNIT_CASE(ntrace_version0_test_reach),
	{}
};

static struct kunit_suite ntrace_aux_test_suite = {
	.name		= "ntrace_aux",
	.test_cases	= ntrace_aux_test_cases,
};

kunit_test_suite(ntrace_aux_test_suite);

MODULE_DESCRIPTION("KUnit tests of the ntrace driver's AUX arithmetic and sink states");
MODULE_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING);
MODULE_LICENSE("GPL");
