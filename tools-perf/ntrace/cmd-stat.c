// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace stat: what a trace consists of
 */
#include <inttypes.h>
#include <string.h>

#include "rec.h"
#include "stat.h"

struct kinds {
	struct input *in;
	size_t at;		/* everything before that offset has been counted */
	struct stat_messages messages;
};

/* Count the bytes at k->at. False: wait, because the end of the message may still arrive. */
static bool count_one(struct kinds *k)
{
	const struct input *in = k->in;
	size_t left = in->size - k->at, len;
	struct nt_msg msg;
	int ret = nt_msg_decode(&in->params, in->trace + k->at, left, &msg);

	if (ret > 0) {
		len = ret;
		if (in->params.src < 0 || msg.src == in->params.src) {
			stat_add(&k->messages, &msg, ret);
		}
	} else if (!ret && msg.idle) {
		len = msg.idle;
	} else if (!in->ended && (!ret || (msg.skip == left && left < BAD_MAX))) {
		return false;
	} else {
		len = ret ? msg.skip : left;
		k->messages.bad += len - msg.idle;
	}
	k->messages.idle += msg.idle;
	k->at += len;
	return true;
}

/* Count the messages before `to`. Returns the offset that was reached. */
static size_t count_messages(void *ctx, size_t to)
{
	struct kinds *k = ctx;

	while (k->at < to && count_one(k))
		;
	return k->at;
}

/* Count all messages, and wait for those that have not arrived yet. */
static void count_all(struct kinds *k)
{
	struct input *in = k->in;

	while (k->at < in->size || input_more(in)) {
		if (!count_one(k))
			input_more(in);
		input_progress(in, k->at);
	}
}

void stat_add(struct stat_messages *m, const struct nt_msg *msg, size_t len)
{
	m->count[msg->tcode]++;
	m->bytes[msg->tcode] += len - msg->idle;
}

void stat_print_messages(const struct stat_messages *m, const char *what, uint64_t size)
{
	uint64_t count = 0, bytes = 0;
	unsigned int i;

	for (i = 0; i < 64; i++) {
		if (!m->count[i])
			continue;
		printf("%-24s %12" PRIu64 " messages %12" PRIu64 " bytes\n",
		       nt_tcode_name(i), m->count[i], m->bytes[i]);
		count += m->count[i];
		bytes += m->bytes[i];
	}
	printf("%-24s %12" PRIu64 " messages %12" PRIu64 " bytes\n", "total", count, bytes);
	if (m->idle)
		printf("%-24s %34" PRIu64 " bytes\n", "idle", m->idle);
	if (m->bad)
		printf("%-24s %34" PRIu64 " bytes\n", "no message", m->bad);
	printf("%-24s %34" PRIu64 " bytes\n", what, size);
}

/* All that is counted, and the context of pieces_decode() */
struct stat {
	struct kinds kinds;
	struct stat_totals totals;
};

static void add_event(struct piece *p, void *state, const struct nt_event *ev, bool seam)
{
	struct stat_totals *t = state;

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
	struct stat_totals *sum = &((struct stat *)ctx)->totals, *t = state;

	sum->insns += t->insns;
	sum->branches += t->branches;
	sum->losses += t->losses;
	sum->skipped += t->skipped;
}

void stat_print_totals(const struct stat_totals *t, uint64_t size)
{
	printf("%-24s %12" PRIu64 "\n", "instructions", t->insns);
	printf("%-24s %12" PRIu64 "\n", "taken transfers", t->branches);
	if (t->insns && size)
		printf("%-24s %12.3f\n", "bits per instruction", 8.0 * size / t->insns);
	printf("%-24s %12" PRIu64 "\n", "losses", t->losses);
	if (t->skipped)
		printf("%-24s %12" PRIu64 " bytes\n", "skipped", t->skipped);
}

int cmd_stat(int argc, char **argv)
{
	static const char doc[] = "Count what is in an N-Trace file, or in a perf.data; instructions "
				  "too when its program is given.";
	struct stat stat = { 0 };
	const struct kinds *kinds = &stat.kinds;
	const struct stat_totals *totals = &stat.totals;
	const struct consumer consumer = {
		.size = sizeof(struct stat_totals), .event = add_event, .done = add_totals,
		.passed = count_messages, .ctx = &stat,
	};
	struct rec_options options;
	struct input in;
	int status;

	input_init(&in);
	in.live = true;
	stat.kinds.in = &in;
	if (rec_parse_either(doc, argc, argv, &in, &options)) {
		options.threads = in.threads;
		status = rec_stat(in.file, &options);
		rec_options_free(&options);
		input_free(&in);
		return status;
	}
	input_open(&in);
	if (in.params.src >= 0)
		input_check_sources(&in);
	/* read a file twice; data from a pipe can be read only once */
	if (in.images && in.reserved) {
		pieces_decode(&in, &consumer);
		count_all(&stat.kinds);
	} else {
		count_all(&stat.kinds);
		in.dropped = 0;
		if (in.images)
			pieces_decode(&in, &consumer);
	}
	stat_print_messages(&kinds->messages, "file", in.size);
	if (in.images)
		stat_print_totals(totals, in.size);
	if (totals->losses || kinds->messages.bad)
		diagnose(&in);
	input_free(&in);
	out_done();
	return totals->losses || kinds->messages.bad ? EXIT_LOSSES : EXIT_WHOLE;
}
