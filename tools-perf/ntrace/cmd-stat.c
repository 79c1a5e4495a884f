// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace stat: what a trace consists of
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include "cmd.h"

struct kinds {
	uint64_t count[64];
	uint64_t bytes[64];
	uint64_t idle;
	uint64_t bad;		/* bytes that are no message */
};

static void count_messages(const struct input *in, struct kinds *k)
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

/* A piece of the trace, decoded by a thread of its own */
struct job {
	pthread_t thread;
	const struct input *in;
	struct piece piece;
	bool first;		/* the one that knows how far we are */
	struct totals totals;
	struct nt_event *troubles;	/* to be told in the trace's order */
	size_t nr_troubles;
	int error;
};

static void add_trouble(struct job *job, const struct nt_event *ev)
{
	size_t n = job->nr_troubles;

	/* a doubling at each power of two */
	if (!(n & (n - 1)))
		job->troubles = reallocarray(job->troubles, n ? 2 * n : 1, sizeof(*ev));
	if (!job->troubles)
		die("%s", nt_strerror(NT_ENOMEM));
	job->troubles[job->nr_troubles++] = *ev;
}

static void add_event(struct job *job, const struct nt_event *ev)
{
	struct totals *t = &job->totals;

	t->insns += ev->insns;
	if (ev->kind == NT_EV_BRANCH)
		t->branches++;
	if (ev->kind == NT_EV_LOSS) {
		t->losses++;
		t->skipped += ev->skipped;
		add_trouble(job, ev);
	}
}

static void *decode_piece(void *arg)
{
	struct job *job = arg;
	const struct input *in = job->in;
	size_t size = job->piece.end - job->piece.begin;
	struct nt_code *code = input_code(in);
	struct nt_flow *flow = nt_flow_new(&in->params);
	struct nt_event ev[256];
	int i, n;

	if (!flow)
		die("%s", nt_strerror(NT_ENOMEM));
	nt_flow_set_code(flow, code, code);
	nt_flow_window(flow, in->trace + job->piece.begin, size, job->piece.begin);
	while ((n = nt_flow_next(flow, ev, 256)) > 0) {
		for (i = 0; i < n; i++)
			add_event(job, &ev[i]);
		if (job->first)
			progress(nt_flow_consumed(flow), size);
	}
	job->error = n;
	nt_flow_free(flow);
	nt_code_free(code);
	return NULL;
}

static void join(struct job *job, struct totals *t)
{
	size_t i;

	if (!job->first)
		pthread_join(job->thread, NULL);
	if (job->error)
		die("%s", nt_strerror(job->error));
	for (i = 0; i < job->nr_troubles; i++)
		out_trouble(&job->troubles[i]);
	free(job->troubles);
	t->insns += job->totals.insns;
	t->branches += job->totals.branches;
	t->losses += job->totals.losses;
	t->skipped += job->totals.skipped;
}

static void decode(struct input *in, struct totals *t)
{
	struct piece *pieces = calloc(in->threads, sizeof(*pieces));
	struct job *jobs = calloc(in->threads, sizeof(*jobs));
	unsigned int i, n;

	if (!pieces || !jobs)
		die("%s", nt_strerror(NT_ENOMEM));
	n = input_split(in, pieces, in->threads);
	for (i = 0; i < n; i++) {
		jobs[i] = (struct job){ .in = in, .piece = pieces[i], .first = !i };
		if (i && pthread_create(&jobs[i].thread, NULL, decode_piece, &jobs[i]))
			die("cannot start %u threads", n);
	}
	decode_piece(&jobs[0]);
	progress_end();
	for (i = 0; i < n; i++)
		join(&jobs[i], t);
	out_flush();
	free(pieces);
	free(jobs);
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
	if (argp_parse(&argp, argc, argv, 0, NULL, &in))
		return EXIT_UNUSABLE;
	input_open(&in);
	count_messages(&in, &kinds);
	if (in.images)
		decode(&in, &totals);
	print_messages(&in, &kinds);
	if (in.images)
		print_totals(&in, &totals);
	input_free(&in);
	if (fflush(stdout))
		die("cannot write");
	return totals.losses || kinds.bad ? EXIT_LOSSES : EXIT_WHOLE;
}
