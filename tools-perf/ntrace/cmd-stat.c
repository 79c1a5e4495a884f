// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace stat: what a trace consists of
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cmd.h"

struct kinds {
	struct input *in;
	size_t at;		/* the bytes before that are counted */
	uint64_t count[64];
	uint64_t bytes[64];
	uint64_t idle;
	uint64_t bad;		/* bytes that are no message */
};

/* Count the bytes at k->at.  False: wait, the end of the message may still come. */
static bool count_one(struct kinds *k)
{
	const struct input *in = k->in;
	size_t left = in->size - k->at, len;
	struct nt_msg msg;
	int ret = nt_msg_decode(&in->params, in->trace + k->at, left, &msg);

	if (ret > 0) {
		len = ret;
		if (in->params.src < 0 || msg.src == in->params.src) {
			k->count[msg.tcode]++;
			k->bytes[msg.tcode] += ret - msg.idle;
		}
	} else if (!ret && msg.idle) {
		len = msg.idle;
	} else if (!in->ended && (!ret || (msg.skip == left && left < BAD_MAX))) {
		return false;
	} else {
		len = ret ? msg.skip : left;
		k->bad += len - msg.idle;
	}
	k->idle += msg.idle;
	k->at += len;
	return true;
}

/* Count the messages before `to`; returns how far that got. */
static size_t count_messages(void *ctx, size_t to)
{
	struct kinds *k = ctx;

	while (k->at < to && count_one(k))
		;
	return k->at;
}

/* Count them all, waiting for what has not come yet. */
static void count_all(struct kinds *k)
{
	struct input *in = k->in;

	while (k->at < in->size || input_more(in)) {
		if (!count_one(k))
			input_more(in);
		input_progress(in, k->at);
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

/* What there is to count, one of it in the context of pieces_decode() */
struct stat {
	struct kinds kinds;
	struct totals totals;
};

static void add_event(struct piece *p, void *state, const struct nt_event *ev, bool seam)
{
	struct totals *t = state;

	(void)p;
	(void)seam;
	t->insns += ev->insns;
	if (ev->kind == NT_EV_BRANCH)
		t->branches++;
	if (is_loss(ev)) {
		t->losses++;
		t->skipped += ev->skipped;
		out_trouble(ev);
	}
}

static void add_totals(void *ctx, void *state)
{
	struct totals *sum = &((struct stat *)ctx)->totals, *t = state;

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
	struct stat stat = { 0 };
	const struct kinds *kinds = &stat.kinds;
	const struct totals *totals = &stat.totals;
	const struct consumer consumer = {
		.size = sizeof(struct totals), .event = add_event, .done = add_totals,
		.passed = count_messages, .ctx = &stat,
	};
	struct input in;

	input_init(&in);
	in.live = true;
	stat.kinds.in = &in;
	parse_arguments(&argp, argc, argv, &in);
	input_open(&in);
	if (in.params.src >= 0)
		input_check_sources(&in);
	/* a file twice; what comes through a pipe is there once */
	if (in.images && in.reserved) {
		pieces_decode(&in, &consumer);
		count_all(&stat.kinds);
	} else {
		count_all(&stat.kinds);
		in.dropped = 0;
		if (in.images)
			pieces_decode(&in, &consumer);
	}
	print_messages(&in, kinds);
	if (in.images)
		print_totals(&in, totals);
	if (totals->losses || kinds->bad)
		diagnose(&in);
	input_free(&in);
	if (fflush(stdout))
		die("cannot write to standard output: %s", strerror(errno));
	return totals->losses || kinds->bad ? EXIT_LOSSES : EXIT_WHOLE;
}
