// SPDX-License-Identifier: GPL-2.0-only
/*
 * A client of libntrace and libntrace-ctr that uses whatever has a size: client ELF TRACE. It is
 * built with one version of the headers and run with another version of the libraries; what it
 * prints must not depend on either. With LATER the structures have a member `later`, which a
 * library that does not know it has to leave 0.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ntrace.h"
#include "nt-ctr.h"

#ifdef LATER
#define CHECK_LATER(s)	check((s).later[0] | (s).later[1] | (s).later[2], __LINE__)
#define SET_LATER(s)	((s).later[2] = 1)
#else
#define CHECK_LATER(s)	((void)(s))
#endif

static uint8_t trace[1 << 24];
static size_t size;
static struct nt_params params;
static struct nt_image *image;

static inline void check(uint64_t later, int line)
{
	if (!later)
		return;
	printf("line %d: a member that the library does not know is %" PRIu64 "\n", line, later);
	exit(EXIT_FAILURE);
}

static void messages(void)
{
	uint64_t sum = 0, fields = 0;
	size_t at = 0, n = 0;
	struct nt_msg msg;
	int ret;

	while (at < size && (ret = nt_msg_decode(&params, trace + at, size - at, &msg)) > 0) {
		CHECK_LATER(msg);
		fields += msg.fields;
		sum = sum * 31 + msg.icnt + msg.hist + nt_msg_addr(&params, &msg, sum);
		at += ret;
		n++;
	}
	printf("messages %zu fields %" PRIx64 " sum %" PRIx64 "\n", n, fields, sum);
}

static void events(void)
{
	struct nt_ctr_params cp;
	struct nt_code *code = nt_code_new(&params, nt_image_read, image);
	struct nt_flow *flow = nt_flow_new(&params);
	struct nt_path *path = nt_path_new();
	uint64_t sum = 0, insns = 0, runs = 0, retired = 0;
	struct nt_ctr_entry entry;
	struct nt_event ev[300];
	struct nt_insn insn;
	struct nt_ctr *ctr;
	struct nt_run run;
	int n, i;

	nt_ctr_params_init(&cp);
	CHECK_LATER(cp);
	ctr = nt_ctr_new(&cp);
	if (ctr)
		nt_ctr_write(ctr, NT_CTR_M, NT_CSR_MCTRCTL,
			     NT_CTRCTL_U | NT_CTRCTL_S | NT_CTRCTL_M);
	if (!code || !flow || !path || !ctr)
		exit(EXIT_FAILURE);
	nt_flow_set_code(flow, code, code);
	nt_flow_window(flow, trace, size, 100);
	while ((n = nt_flow_next(flow, ev, rand() % 2 ? 300 : 7)) > 0) {
		for (i = 0; i < n; i++) {
			CHECK_LATER(ev[i]);
			sum = sum * 31 + ev[i].from + ev[i].to * 3 + ev[i].kind + ev[i].type +
			      ev[i].flags + ev[i].offset;
			insns += ev[i].insns;
			if (nt_path_event(path, code, &ev[i]))
				continue;
			if (nt_path_insn(path, &insn) > 0) {
				CHECK_LATER(insn);
				retired++;
			}
			while (nt_path_run(path, &run) > 0) {
				CHECK_LATER(run);
				runs++;
				retired += run.insns;
			}
		}
		nt_ctr_events(ctr, code, ev, n);
	}
	printf("events sum %" PRIx64 " insns %" PRIu64 " %" PRIu64 " runs %" PRIu64 " error %d\n",
	       sum, insns, retired, runs, n);
	for (i = 0; i < 6; i++)
		if (nt_ctr_entry(ctr, i, &entry))
			printf("record %" PRIx64 " %" PRIx64 "\n", (uint64_t)entry.source,
			       (uint64_t)entry.target);
	if (nt_code_insn(code, ev[0].from, &insn) > 0)
		CHECK_LATER(insn);
	nt_ctr_free(ctr);
	nt_path_free(path);
	nt_flow_free(flow);
	nt_code_free(code);
}

static int by_from(const void *a, const void *b)
{
	const struct nt_edge *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

static void edges(void)
{
	struct nt_counts_stats cs = { .size = sizeof(cs) };
	struct nt_code_stats ss = { .size = sizeof(ss) };
	struct nt_code *code = nt_code_new(&params, nt_image_read, image);
	struct nt_flow *flow = nt_flow_new(&params);
	struct nt_counts *counts = nt_counts_new();
	const struct nt_edge *edge;
	struct nt_event ev[256];
	struct nt_edge *copy;
	uint64_t sum = 0;
	size_t n, i;

	nt_flow_set_code(flow, code, code);
	nt_flow_window(flow, trace, size, 0);
	while (nt_flow_count(flow, counts, ev, 256) > 0)
		CHECK_LATER(ev[0]);
	edge = nt_counts_edges(counts, &n);
	copy = malloc(n * sizeof(*copy) + 1);
	if (!edge || !copy)
		exit(EXIT_FAILURE);
	memcpy(copy, edge, n * sizeof(*copy));
	qsort(copy, n, sizeof(*copy), by_from);
	for (i = 0; i < n; i++) {
		CHECK_LATER(copy[i]);
		sum += (copy[i].from ^ copy[i].to << 9) * copy[i].count;
	}
	nt_counts_get_stats(counts, &cs);
	nt_code_get_stats(code, &ss);
	printf("edges %zu sum %" PRIx64 " insns %" PRIu64 " blocks %d\n", n, sum, cs.insns,
	       ss.blocks > 0);
	free(copy);
	nt_counts_free(counts);
	nt_flow_free(flow);
	nt_code_free(code);
}

static bool emit(void *ctx, const uint8_t *msg, unsigned int len)
{
	uint64_t *sum = ctx;

	while (msg && len--)
		*sum = *sum * 31 + *msg++;
	return true;
}

static void encode(void)
{
	uint64_t sum = 0;
	struct nt_enc_config c = { .size = sizeof(c), .htm = true, .emit = emit, .ctx = &sum };
	struct nt_enc_op op;
	struct nt_enc *enc;
	unsigned int i;

	enc = nt_enc_new(&params, &c);
	if (!enc)
		exit(EXIT_FAILURE);
	nt_enc_start(enc, NT_SYNC_TRACE_ENABLE);
	for (i = 0; i < 1000; i++) {
		nt_enc_classify(&params, 0x1000, 0x00000463, 4, &op);
		nt_enc_retire_op(enc, &op);
		nt_enc_retire(enc, i % 3 ? 0x1008 : 0x1004, 0xffdff06f, 4);
	}
	nt_enc_stop(enc, NT_EVCODE_DISABLE, 0x2000);
	printf("encoded %" PRIx64 "\n", sum);
	nt_enc_free(enc);
}

/* A library that does not know of what is asked for refuses. */
static void ask(void)
{
#ifdef LATER
	struct nt_enc_config c = { .size = sizeof(c), .emit = emit };
	struct nt_params p = params;
	struct nt_ctr_params cp;

	SET_LATER(p);
	check(nt_params_check(&p) != -NT_EINVAL || nt_flow_new(&p) ||
	      nt_code_new(&p, nt_image_read, image), __LINE__);
	SET_LATER(c);
	check(nt_enc_new(&params, &c) != NULL, __LINE__);
	nt_ctr_params_init(&cp);
	SET_LATER(cp);
	check(nt_ctr_new(&cp) != NULL, __LINE__);
#endif
}

int main(int argc, char **argv)
{
	FILE *f = argc == 3 ? fopen(argv[2], "rb") : NULL;

	if (!f)
		return EXIT_FAILURE;
	size = fread(trace, 1, sizeof(trace), f);
	fclose(f);
	nt_params_init(&params);
	CHECK_LATER(params);
	image = nt_image_new();
	if (!image || nt_image_add_elf(image, argv[1], 0))
		return EXIT_FAILURE;
	if (nt_image_isa(image))
		nt_isa_parse(nt_image_isa(image), &params);
	messages();
	events();
	edges();
	encode();
	ask();
	nt_image_free(image);
	return EXIT_SUCCESS;
}
