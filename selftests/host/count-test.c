// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counting edges: what nt_flow_count() adds up is what nt_flow_next() delivers,
 * for captures in all modes, and damaged ones do no harm.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka-tap.h"
#include "ntrace.h"

static const struct {
	const char *folder, *trace;
	uint8_t retstack;
} captures[] = {
	{ "towers", "L0.bin", 0 }, { "towers", "L1.bin", 0 }, { "towers", "L2.bin", 0 },
	{ "towers", "L3.bin", 3 }, { "towers", "L4.bin", 3 },
	{ "dhrystone", "L0.bin", 0 }, { "dhrystone", "L1.bin", 0 }, { "dhrystone", "L2.bin", 0 },
	{ "dhrystone", "L3.bin", 3 }, { "dhrystone", "L4.bin", 3 },
};

#define NR_CAPTURES (sizeof(captures) / sizeof(captures[0]))

struct setting {
	struct nt_params params;
	struct nt_image *image;
	struct nt_code *code;
	struct nt_flow *flow;
	uint8_t *bytes;
	size_t len;
};

/* Sums that are equal when the edges and their counts are */
struct sums {
	uint64_t insns, branches, mix;
	unsigned int losses;
};

static uint64_t mix(uint64_t from, uint64_t to, unsigned int type)
{
	uint64_t h = (from * 31 + to) * 0x9e3779b97f4a7c15u + type;

	h ^= h >> 29;
	return h * 0xbf58476d1ce4e5b9u ^ from;
}

static void open_capture(struct setting *s, unsigned int n)
{
	const char *top = getenv("top");
	char path[4096];
	FILE *file;

	nt_params_init(&s->params);
	s->params.retstack = captures[n].retstack;
	s->image = nt_image_new();
	snprintf(path, sizeof(path), "%s/selftests/captures/ref_%s/%s.elf", top ? top : ".",
		 captures[n].folder, captures[n].folder);
	assert_int_equal(nt_image_add_elf(s->image, path, 0), 0);
	snprintf(path, sizeof(path), "%s/selftests/captures/ref_%s/%s", top ? top : ".",
		 captures[n].folder, captures[n].trace);
	file = fopen(path, "rb");
	assert_non_null(file);
	s->bytes = malloc(1 << 20);
	assert_non_null(s->bytes);
	s->len = fread(s->bytes, 1, 1 << 20, file);
	fclose(file);
	s->code = nt_code_new(&s->params, nt_image_read, s->image);
	s->flow = nt_flow_new(&s->params);
	nt_flow_set_code(s->flow, s->code, s->code);
}

static void close_capture(struct setting *s)
{
	nt_flow_free(s->flow);
	nt_code_free(s->code);
	nt_image_free(s->image);
	free(s->bytes);
}

static void deliver(struct setting *s, struct sums *sums)
{
	struct nt_event ev[256];
	int i, n;

	nt_flow_window(s->flow, s->bytes, s->len, 0);
	while ((n = nt_flow_next(s->flow, ev, 256)) > 0) {
		for (i = 0; i < n; i++) {
			sums->insns += ev[i].insns;
			sums->losses += ev[i].kind == NT_EV_LOSS;
			if (ev[i].kind != NT_EV_BRANCH)
				continue;
			sums->branches++;
			sums->mix += mix(ev[i].from, ev[i].to, ev[i].type);
		}
	}
	assert_int_equal(n, 0);
}

static void count(struct setting *s, struct nt_counts *counts)
{
	struct nt_event ev[256];
	int n;

	nt_flow_window(s->flow, s->bytes, s->len, 0);
	while ((n = nt_flow_count(s->flow, counts, ev, 256)) > 0)
		while (n--)
			assert_int_not_equal(ev[n].kind, NT_EV_BRANCH);
	assert_int_equal(n, 0);
}

static void total(struct nt_counts *counts, struct sums *sums, struct nt_counts_stats *stats)
{
	size_t i, n;
	const struct nt_edge *edge = nt_counts_edges(counts, &n);

	for (i = 0; i < n; i++) {
		sums->branches += edge[i].count;
		sums->mix += mix(edge[i].from, edge[i].to, edge[i].type) * edge[i].count;
	}
	stats->size = sizeof(*stats);
	nt_counts_get_stats(counts, stats);
	sums->insns = stats->insns;
}

static void counts_are_equal(void **state)
{
	unsigned int n, again;

	(void)state;
	for (n = 0; n < NR_CAPTURES; n++) {
		struct nt_counts *counts = nt_counts_new();
		struct sums slow = { 0 }, fast = { 0 };
		struct nt_counts_stats stats;
		struct setting s;

		open_capture(&s, n);
		for (again = 0; again < 3; again++) {
			deliver(&s, &slow);
			count(&s, counts);
			/* the program's numbers become stale, memos with them */
			if (again == 1)
				nt_code_invalidate(s.code, 0, 0);
		}
		total(counts, &fast, &stats);
		assert_int_equal(slow.losses, 0);
		assert_true(slow.branches > 100);
		assert_int_equal(slow.branches, fast.branches);
		assert_int_equal(slow.insns, fast.insns);
		assert_int_equal(slow.mix, fast.mix);
		assert_true(stats.hits > stats.walks / 4);
		nt_counts_free(counts);
		close_capture(&s);
	}
}

static void damage_does_no_harm(void **state)
{
	uint64_t x = 88172645463325252u;
	unsigned int n, round, i;

	(void)state;
	for (n = 0; n < NR_CAPTURES; n++) {
		struct nt_counts *counts = nt_counts_new();
		struct nt_counts_stats stats;
		struct sums fast = { 0 };
		struct setting s;

		open_capture(&s, n);
		for (round = 0; round < 20; round++) {
			for (i = 0; i < 20; i++) {
				x ^= x << 13;
				x ^= x >> 7;
				x ^= x << 17;
				s.bytes[x % s.len] ^= x >> 40;
			}
			count(&s, counts);
		}
		total(counts, &fast, &stats);
		assert_true(fast.branches > 0);
		nt_counts_free(counts);
		close_capture(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_are_equal),
		cmocka_unit_test(damage_does_no_harm),
	};

	return RUN_TAP(tests);
}
