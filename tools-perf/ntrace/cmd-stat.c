// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace stat: what a trace consists of
 */
#include <inttypes.h>

#include "cmd.h"

struct kinds {
	uint64_t count[64];
	uint64_t bytes[64];
	uint64_t idle;
	uint64_t bad;		/* bytes that are no message */
};

static void count_messages(struct input *in, struct kinds *k)
{
	size_t at = 0;

	while (at < in->size) {
		struct nt_msg msg;
		size_t left = in->size - at;
		int ret = nt_msg_decode(&in->params, in->trace + at, left, &msg);

		k->idle += msg.idle;
		if (ret > 0) {
			at += ret;
			if (in->params.src >= 0 && msg.src != in->params.src)
				continue;
			k->count[msg.tcode]++;
			k->bytes[msg.tcode] += ret - msg.idle;
		} else if (ret < 0) {
			at += msg.skip;
			k->bad += msg.skip - msg.idle;
		} else if (msg.idle) {
			at += msg.idle;
		} else {
			at += left;
			k->bad += left;
		}
		input_progress(in, at);
	}
}

static void print_messages(const struct input *in, const struct kinds *k)
{
	uint64_t count = 0, bytes = 0;
	unsigned int i;

	for (i = 0; i < 64; i++) {
		if (!k->count[i])
			continue;
		printf("%-24s %12" PRIu64 " messages %12" PRIu64 " bytes\n",
		       nt_tcode_name(i), k->count[i], k->bytes[i]);
		count += k->count[i];
		bytes += k->bytes[i];
	}
	printf("%-24s %12" PRIu64 " messages %12" PRIu64 " bytes\n", "total", count, bytes);
	if (k->idle)
		printf("%-24s %34" PRIu64 " bytes\n", "idle", k->idle);
	if (k->bad)
		printf("%-24s %34" PRIu64 " bytes\n", "no message", k->bad);
	printf("%-24s %34zu bytes\n", "file", in->size);
}

struct totals {
	uint64_t insns;
	uint64_t branches;
	uint64_t losses;
	uint64_t skipped;
};

static void add_event(struct piece *p, void *state, const struct nt_event *ev, bool seam)
{
	struct totals *t = state;

	(void)p;
	(void)seam;
	t->insns += ev->insns;
	if (ev->kind == NT_EV_BRANCH)
		t->branches++;
	if (ev->kind == NT_EV_LOSS) {
		t->losses++;
		t->skipped += ev->skipped;
		out_trouble(ev);
	}
}

static void add_totals(void *ctx, void *state)
{
	struct totals *sum = ctx, *t = state;

	sum->insns += t->insns;
	sum->branches += t->branches;
	sum->losses += t->losses;
	sum->skipped += t->skipped;
}

static void print_totals(const struct input *in, const struct totals *t)
{
	printf("%-24s %12" PRIu64 "\n", "instructions", t->insns);
	printf("%-24s %12" PRIu64 "\n", "taken transfers", t->branches);
	if (t->insns)
		printf("%-24s %12.3f\n", "bits per instruction", 8.0 * in->size / t->insns);
	printf("%-24s %12" PRIu64 "\n", "losses", t->losses);
	if (t->losses)
		printf("%-24s %12" PRIu64 " bytes\n", "skipped", t->skipped);
}

int cmd_stat(int argc, char **argv)
{
	static const struct argp_child children[] = { { &input_argp, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = {
		.args_doc = "FILE",
		.doc = "Count what is in an N-Trace file; instructions too when its program is given.",
		.children = children,
	};
	struct totals totals = { 0 };
	struct kinds kinds = { 0 };
	struct input in;

	input_init(&in);
	parse_arguments(&argp, argc, argv, &in);
	input_open(&in);
	count_messages(&in, &kinds);
	in.dropped = 0;		/* once more */
	if (in.images)
		pieces_decode(&in, &(struct consumer){ .size = sizeof(totals), .event = add_event,
						       .done = add_totals, .ctx = &totals });
	print_messages(&in, &kinds);
	if (in.images)
		print_totals(&in, &totals);
	input_free(&in);
	if (fflush(stdout))
		die("cannot write");
	return totals.losses || kinds.bad ? EXIT_LOSSES : EXIT_WHOLE;
}
