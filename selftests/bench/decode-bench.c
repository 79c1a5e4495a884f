// SPDX-License-Identifier: GPL-2.0-only
/*
 * How fast the library decodes, without files, printing or processes in the figures
 *	decode-bench [-r RETSTACK] [-n RUNS] [-b EVENTS] [-m MODE] ELF TRACE
 * MODE: flow, ctr, ctr-nt, count, parse, pair; harts: four sources in one stream, split;
 * harts-count: the same, counted; each: the same stream decoded four times.
 * Prints one line: instructions, branches, bytes, then the best run's rates in millions a second
 * and the spread of the runs. The time is the thread's own CPU time.
 */

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nt-ctr.h"
#include "bench.h"

struct job {
	struct nt_params params;
	struct nt_image *image;
	uint8_t *trace;
	size_t len;
	unsigned int batch;
	uint64_t ctr;		/* mctrctl: records too, into a buffer of 256 */
	bool count;		/* harts: edges, no events */
	/* results of one run */
	uint64_t insns, branches, lost, sum;
	double seconds;
	struct nt_code_stats code;
	struct nt_counts_stats counts;
};

static uint8_t *load(const char *path, size_t *len)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes;
	long size;

	if (!file || fseek(file, 0, SEEK_END) || (size = ftell(file)) < 0)
		die(path);
	rewind(file);
	bytes = malloc(size + 1);
	if (!bytes || fread(bytes, 1, size, file) != (size_t)size)
		die(path);
	fclose(file);
	*len = size;
	return bytes;
}

/* ------------------------------------------------------------- what is run */

static void consume(struct job *job, const struct nt_event *ev, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		job->insns += ev[i].insns;
		if (ev[i].kind == NT_EV_BRANCH) {
			job->branches++;
			/* one that does not depend on the order, and edges can tell */
			job->sum += ev[i].from ^ ev[i].to * 3;
		} else if (ev[i].kind == NT_EV_LOSS) {
			job->lost++;
		}
	}
}

static struct nt_ctr *new_ctr(uint64_t ctl)
{
	struct nt_ctr_params params;
	struct nt_ctr *ctr;

	nt_ctr_params_init(&params);
	ctr = nt_ctr_new(&params);
	if (!ctr || nt_ctr_write(ctr, NT_CTR_M, NT_CSR_MCTRCTL, ctl))
		die("no buffer of records");
	return ctr;
}

static void run_flow(struct job *job)
{
	struct nt_code *code = nt_code_new(&job->params, nt_image_read, job->image);
	struct nt_flow *flow = nt_flow_new(&job->params);
	struct nt_ctr *ctr = job->ctr ? new_ctr(job->ctr) : NULL;
	struct nt_event ev[256];
	int n;

	if (!code || !flow)
		die("no memory");
	nt_flow_set_code(flow, code, code);
	nt_flow_window(flow, job->trace, job->len, 0);
	while ((n = nt_flow_next(flow, ev, job->batch)) > 0) {
		consume(job, ev, n);
		if (ctr)
			nt_ctr_events(ctr, code, ev, n);
	}
	if (n < 0)
		die(nt_strerror(n));
	job->code.size = sizeof(job->code);
	nt_code_get_stats(code, &job->code);
	nt_ctr_free(ctr);
	nt_flow_free(flow);
	nt_code_free(code);
}

/* All of the window */
static void count(struct job *job, struct nt_flow *flow, struct nt_counts *counts)
{
	struct nt_event ev[256];
	int n;

	while ((n = nt_flow_count(flow, counts, ev, 256)) > 0)
		while (n--)
			job->lost += ev[n].kind == NT_EV_LOSS;
	if (n < 0)
		die(nt_strerror(n));
}

static void add_up(struct job *job, struct nt_counts *counts)
{
	const struct nt_edge *edges;
	size_t i, nr;

	edges = nt_counts_edges(counts, &nr);
	for (i = 0; i < nr; i++) {
		job->branches += edges[i].count;
		job->sum += (edges[i].from ^ edges[i].to * 3) * edges[i].count;
	}
	job->counts.size = sizeof(job->counts);
	nt_counts_get_stats(counts, &job->counts);
	job->insns = job->counts.insns;
	nt_counts_free(counts);
}

static void run_count(struct job *job)
{
	struct nt_code *code = nt_code_new(&job->params, nt_image_read, job->image);
	struct nt_flow *flow = nt_flow_new(&job->params);
	struct nt_counts *counts = nt_counts_new();

	if (!code || !flow || !counts)
		die("no memory");
	nt_flow_set_code(flow, code, code);
	nt_flow_window(flow, job->trace, job->len, 0);
	count(job, flow, counts);
	add_up(job, counts);
	nt_flow_free(flow);
	nt_code_free(code);
}

static void run_parse(struct job *job)
{
	size_t at = 0;

	while (at < job->len) {
		struct nt_msg msg;
		int n = nt_msg_decode(&job->params, job->trace + at, job->len - at, &msg);

		if (n <= 0)
			break;
		at += n;
		job->branches++;	/* messages, here */
		job->sum += msg.icnt ^ msg.addr ^ msg.hist;
	}
}

#define HARTS	4
#define CHUNK	(1 << 20)

/* The trace of four harts, of which each sends the same messages in turn */
static void multiply(struct job *job)
{
	uint8_t *bytes = malloc(HARTS * job->len);
	size_t at = 0, len = 0;
	struct nt_msg msg;
	int n, i;

	if (!bytes || nt_params_check(&job->params) || job->params.srcbits != 2)
		die("four sources want -s 2");
	while (at < job->len) {
		n = nt_msg_decode(&job->params, job->trace + at, job->len - at, &msg);
		if (n <= 0)
			break;
		for (i = 0; i < HARTS; i++) {
			memcpy(bytes + len, job->trace + at + msg.idle, n - msg.idle);
			/* the two bits behind TCODE, which has the first byte */
			bytes[len + 1] = (bytes[len + 1] & ~0xc) | i << 2;
			len += n - msg.idle;
		}
		at += n;
	}
	free(job->trace);
	job->trace = bytes;
	job->len = len;
}

static void run_each(struct job *job)
{
	for (job->params.src = 0; job->params.src < HARTS; job->params.src++)
		run_flow(job);
}

static void run_harts(struct job *job)
{
	struct nt_code *code = nt_code_new(&job->params, nt_image_read, job->image);
	struct nt_demux *demux = nt_demux_new(&job->params);
	struct nt_counts *counts = nt_counts_new();
	struct nt_flow *flow[HARTS];
	struct nt_event ev[256];
	size_t from = 0, end, used, len;
	int i, n;

	for (i = 0; i < HARTS; i++) {
		job->params.src = i;
		flow[i] = nt_flow_new(&job->params);
		if (!code || !demux || !counts || !flow[i])
			die("no memory");
		nt_flow_set_code(flow[i], code, code);
		nt_flow_window(flow[i], NULL, 0, 0);
	}
	for (end = 0; end < job->len; from += used) {
		end = job->len - end > CHUNK ? end + CHUNK : job->len;
		if (nt_demux_split(demux, job->trace + from, end - from, from, end < job->len,
				   &used))
			die("no memory");
		for (i = 0; i < HARTS; i++) {
			const uint8_t *piece = nt_demux_piece(demux, i, &len);

			nt_flow_open_end(flow[i], end < job->len);
			nt_flow_more(flow[i], piece, len, 0);
			while (!job->count &&
			       (n = nt_flow_next(flow[i], ev, job->batch)) > 0)
				consume(job, ev, n);
			if (job->count)
				count(job, flow[i], counts);
			nt_demux_keep(demux, i, nt_flow_consumed(flow[i]));
		}
	}
	if (job->count)
		add_up(job, counts);
	else
		nt_counts_free(counts);
	for (i = 0; i < HARTS; i++)
		nt_flow_free(flow[i]);
	nt_demux_free(demux);
	nt_code_free(code);
}

static void timed(struct job *job, void (*run)(struct job *))
{
	double start = now(CLOCK_THREAD_CPUTIME_ID);

	job->insns = job->branches = job->lost = job->sum = 0;
	run(job);
	job->seconds = now(CLOCK_THREAD_CPUTIME_ID) - start;
}

/* -------------------------------------------------------------- two threads */

static void *many_runs(void *arg)
{
	struct job *job = arg;
	int i;

	for (i = 0; i < 3; i++)
		run_flow(job);
	return NULL;
}

/* Wall time of two decoders: in two threads on one buffer, or in two processes */
static double pair(const struct job *from, bool threads)
{
	struct job job[2] = { *from, *from };
	double start = now(CLOCK_MONOTONIC);
	pthread_t thread;
	pid_t pid = -1;

	if (threads) {
		if (pthread_create(&thread, NULL, many_runs, &job[1]))
			die("no thread");
	} else {
		pid = fork();
		if (pid < 0)
			die("no process");
		if (!pid) {
			many_runs(&job[1]);
			_exit(0);
		}
	}
	many_runs(&job[0]);
	if (threads)
		pthread_join(thread, NULL);
	else
		waitpid(pid, NULL, 0);
	return now(CLOCK_MONOTONIC) - start;
}

static void run_pair(const struct job *job, int runs)
{
	double threads = 1e9, processes = 1e9, t;

	while (runs--) {
		if ((t = pair(job, true)) < threads)
			threads = t;
		if ((t = pair(job, false)) < processes)
			processes = t;
	}
	printf("two threads reach %.2f of two processes\n", processes / threads);
}

/* ------------------------------------------------------------------ figures */

static void report(const struct job *job, const char *mode, double best, double worst)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	printf("%-6s insns %" PRIu64 " branches %" PRIu64 " bytes %zu  Minsn/s %.0f Mbranch/s %.1f "
	       "MB/s %.1f  spread %.0f%%  sum %016" PRIx64 "  blocks %" PRIu64 " code %" PRIu64
	       " rss %ld KB%s\n",
	       mode, job->insns, job->branches, job->len, job->insns / best * 1e-6,
	       job->branches / best * 1e-6, job->len / best * 1e-6, (worst / best - 1) * 100,
	       job->sum,
	       job->code.blocks, job->code.bytes, usage.ru_maxrss,
	       job->lost ? " LOSSES" : "");
	if (job->counts.walks)
		printf("       memo: hits %.2f%% of %" PRIu64 " walks, %" PRIu64 " kept, %" PRIu64
		       " bytes\n",
		       100.0 * job->counts.hits / job->counts.walks, job->counts.walks,
		       job->counts.memos, job->counts.bytes);
}

int main(int argc, char **argv)
{
	struct job job = { .batch = 256 };
	void (*run)(struct job *) = run_flow;
	double best = 1e9, worst = 0;
	const char *mode = "flow";
	int opt, i, runs = 5;

	nt_params_init(&job.params);
	while ((opt = getopt(argc, argv, "r:n:b:m:ts:xa")) != -1) {
		switch (opt) {
		case 'r': job.params.retstack = atoi(optarg); break;
		case 'n': runs = atoi(optarg); break;
		case 'b': job.batch = atoi(optarg); break;
		case 'm': mode = optarg; break;
		case 't': job.params.timestamps = 1; break;
		case 's': job.params.srcbits = atoi(optarg); job.params.src = 1; break;
		case 'x': job.params.extaddr = 1; break;
		case 'a': job.params.alljumps = 1; break;
		default: return 2;
		}
	}
	if (argc - optind != 2 || job.batch > 256 || runs < 1)
		die("usage: [-r RETSTACK] [-n RUNS] [-b EVENTS] [-m MODE] [-t] [-s SRCBITS] "
		    "[-x] [-a] ELF TRACE");
	job.image = nt_image_new();
	if (!job.image || nt_image_add_elf(job.image, argv[optind], 0))
		die(argv[optind]);
	job.trace = load(argv[optind + 1], &job.len);
	if (!strcmp(mode, "pair")) {
		run_pair(&job, runs);
		return 0;
	}
	if (!strncmp(mode, "harts", 5) || !strcmp(mode, "each")) {
		multiply(&job);
		job.count = !strcmp(mode, "harts-count");
		run = *mode == 'h' ? run_harts : run_each;
	} else if (!strcmp(mode, "parse")) {
		run = run_parse;
	} else if (!strcmp(mode, "count")) {
		run = run_count;
	} else if (!strcmp(mode, "ctr")) {	/* every transfer of every mode */
		job.ctr = NT_CTRCTL_U | NT_CTRCTL_S | NT_CTRCTL_M;
	} else if (!strcmp(mode, "ctr-nt")) {	/* branches not taken, too */
		job.ctr = NT_CTRCTL_U | NT_CTRCTL_S | NT_CTRCTL_M | NT_CTRCTL_NTBREN;
	} else if (strcmp(mode, "flow")) {
		die("no such mode");
	}
	for (i = 0; i < runs; i++) {
		timed(&job, run);
		best = job.seconds < best ? job.seconds : best;
		worst = job.seconds > worst ? job.seconds : worst;
	}
	report(&job, mode, best, worst);
	free(job.trace);
	nt_image_free(job.image);
	return job.lost != 0;
}
