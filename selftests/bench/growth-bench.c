// SPDX-License-Identifier: GPL-2.0-only
/*
 * What decoding costs when things grow: the executed text from 1 KB to 50 MB, the trace from 1 to
 * 1000 million instructions. Program and trace are generated:
 *	growth-bench [-n RUNS] [-m htm|btm]
 *
 * The program is functions of 128 bytes that an indirect call reaches: two branches over some
 * instructions, each way as likely, a loop of four rounds, a return. They are called in the order
 * in which they lie in memory, or at random: as bad as it gets, for nothing that is fetched with
 * one function is of use for the next.
 *
 * Traces are longer than the window that is fed to the decoder: it is fed again and again, as the
 * windows of an AUX buffer would be. The time is the thread's own CPU time, best of the runs.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ntrace.h"
#include "bench.h"

#define BASE		0x10000000u
#define FUNCTION	128		/* bytes; the first is the caller */
#define NOP		0x0001u

struct program {
	uint8_t *text;
	size_t size;		/* a multiple of FUNCTION */
	uint8_t *trace;
	size_t len, room;
	uint64_t insns, rnd;
	uint64_t reads;		/* of text, by the decoder */
};

/* What one run found */
struct result {
	uint64_t insns, branches, sum;
	double seconds;
};

static long resident(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

static uint64_t rnd(struct program *p)
{
	p->rnd ^= p->rnd << 13;
	p->rnd ^= p->rnd >> 7;
	p->rnd ^= p->rnd << 17;
	return p->rnd >> 8;
}

/* -------------------------------------------------------------- program --- */

static int read_text(void *ctx, uint64_t space, uint64_t addr, void *buf, size_t len)
{
	struct program *p = ctx;
	uint64_t at = addr - BASE;

	(void)space;
	p->reads++;
	if (at >= p->size)
		return 0;
	if (len > p->size - at)
		len = p->size - at;
	memcpy(buf, p->text + at, len);
	return len;
}

static void put(struct program *p, size_t at, uint32_t insn)
{
	p->text[at] = insn;
	p->text[at + 1] = insn >> 8;
	if ((insn & 3) == 3) {
		p->text[at + 2] = insn >> 16;
		p->text[at + 3] = insn >> 24;
	}
}

/* BEQ zero, zero: its bits decide nothing here */
static uint32_t branch(int off)
{
	uint32_t o = (uint32_t)off;

	return 0x63 | (o >> 12 & 1) << 31 | (o >> 5 & 0x3f) << 25 | (o >> 1 & 0xf) << 8 |
	       (o >> 11 & 1) << 7;
}

/* Where the control transfers of a function are, and where they lead */
enum {
	SKIP_1 = 12, OVER_1 = 26,
	SKIP_2 = 36, OVER_2 = 50,
	LOOP = 60, AGAIN = 76,
	RET = 100,
};

static void make_text(struct program *p, size_t size)
{
	size_t at;

	p->size = size;
	p->text = malloc(size);
	if (!p->text)
		die("no memory");
	for (at = 0; at < size; at += 2)
		put(p, at, NOP);
	put(p, 8, 0x9502);			/* the caller: C.JALR a0, and again */
	put(p, 10, 0xbfdd);			/* C.J -10 */
	for (at = FUNCTION; at < size; at += FUNCTION) {
		put(p, at + SKIP_1, branch(OVER_1 - SKIP_1));
		put(p, at + SKIP_2, branch(OVER_2 - SKIP_2));
		put(p, at + AGAIN, branch(LOOP - AGAIN));
		put(p, at + RET, 0x8082);
	}
}

/* -------------------------------------------------------------- running --- */

static bool emit(void *ctx, const uint8_t *msg, unsigned int len)
{
	struct program *p = ctx;

	if (!msg)
		return true;
	if (p->len + len > p->room) {
		p->room = p->room * 2 + 4096;
		p->trace = realloc(p->trace, p->room);
		if (!p->trace)
			die("no memory");
	}
	memcpy(p->trace + p->len, msg, len);
	p->len += len;
	return true;
}

/* Retire from *at up to `end`, exclusive. */
static void retire(struct program *p, struct nt_enc *enc, size_t *at, size_t end)
{
	while (*at < end) {
		uint32_t insn = p->text[*at] | p->text[*at + 1] << 8;
		unsigned int len = (insn & 3) == 3 ? 4 : 2;

		if (len == 4)
			insn |= (uint32_t)p->text[*at + 2] << 16 | (uint32_t)p->text[*at + 3] << 24;
		nt_enc_retire(enc, BASE + *at, insn, len);
		*at += len;
		p->insns++;
	}
}

static void call(struct program *p, struct nt_enc *enc, size_t function)
{
	size_t at = 0;
	int rounds;

	retire(p, enc, &at, 10);
	at = function;
	retire(p, enc, &at, function + SKIP_1 + 4);
	if (rnd(p) & 1)
		at = function + OVER_1;
	retire(p, enc, &at, function + SKIP_2 + 4);
	if (rnd(p) & 1)
		at = function + OVER_2;
	retire(p, enc, &at, function + LOOP);
	for (rounds = 0; rounds < 4; rounds++) {
		at = function + LOOP;
		retire(p, enc, &at, function + AGAIN + 4);
	}
	retire(p, enc, &at, function + RET + 2);
	at = 10;
	retire(p, enc, &at, 12);
}

/* A window of at least `insns` instructions, and every function at least once */
static void make_trace(struct program *p, const struct nt_params *params, bool htm, uint64_t insns,
		       bool random)
{
	struct nt_enc_config c = { .size = sizeof(c), .htm = htm,
				   .emit = emit, .ctx = p };
	size_t functions = p->size / FUNCTION - 1, n;
	struct nt_enc *enc = nt_enc_new(params, &c);

	if (!enc)
		die("no encoder");
	p->len = p->insns = 0;
	p->rnd = 88172645463325252u;
	nt_enc_start(enc, NT_SYNC_TRACE_ENABLE);
	for (n = 0; n < functions || p->insns < insns; n++)
		call(p, enc, (1 + (random ? rnd(p) : n) % functions) * FUNCTION);
	nt_enc_stop(enc, NT_EVCODE_DISABLE, BASE);
	nt_enc_flush(enc);
	nt_enc_free(enc);
}

/* ------------------------------------------------------------- decoding --- */

static void run(struct program *p, struct nt_flow *flow, struct result *r)
{
	struct nt_event ev[256];
	double start = now(CLOCK_THREAD_CPUTIME_ID);
	int n, i;

	*r = (struct result){ .seconds = 0 };
	nt_flow_window(flow, p->trace, p->len, 0);
	while ((n = nt_flow_next(flow, ev, 256)) > 0)
		for (i = 0; i < n; i++) {
			r->insns += ev[i].insns;
			r->branches += ev[i].kind == NT_EV_BRANCH;
			r->sum += ev[i].from ^ ev[i].to;
			if (ev[i].kind == NT_EV_LOSS)
				die("the trace was not decoded");
		}
	r->seconds = now(CLOCK_THREAD_CPUTIME_ID) - start;
	if (r->insns != p->insns)
		die("instructions differ");
}

struct decoder {
	struct nt_code *code;
	struct nt_flow *flow;
};

static void open_decoder(struct decoder *d, const struct nt_params *params, struct program *p)
{
	d->code = nt_code_new(params, read_text, p);
	d->flow = nt_flow_new(params);
	if (!d->code || !d->flow)
		die("no memory");
	nt_flow_set_code(d->flow, d->code, d->code);
}

static void close_decoder(struct decoder *d)
{
	nt_flow_free(d->flow);
	nt_code_free(d->code);
}

/* -------------------------------------------------------------- figures --- */

static void text_line(const struct nt_params *params, bool htm, size_t size, bool random, int runs)
{
	struct nt_code_stats stats = { .size = sizeof(stats) };
	struct program p = { .text = NULL };
	struct result r;
	struct decoder d;
	double first, best = 1e9;
	long before;

	make_text(&p, size);
	make_trace(&p, params, htm, 4000000, random);
	before = resident();
	open_decoder(&d, params, &p);
	run(&p, d.flow, &r);
	first = r.seconds;
	while (runs--) {
		run(&p, d.flow, &r);
		best = r.seconds < best ? r.seconds : best;
	}
	nt_code_get_stats(d.code, &stats);
	printf("text %6zu KB %-8s %4s: %6.2f ns/insn at first, %5.2f again, %4.0f Minsn/s  "
	       "%8" PRIu64 " blocks, %4.1f bytes each, resident +%ld KB\n",
	       size >> 10, random ? "random" : "in order", htm ? "htm" : "btm",
	       first / r.insns * 1e9, best / r.insns * 1e9, r.insns / best * 1e-6, stats.blocks,
	       (double)stats.bytes / stats.blocks, resident() - before);
	close_decoder(&d);
	free(p.text);
	free(p.trace);
}

static void trace_line(const struct nt_params *params, bool htm, size_t insns, bool random,
		       int runs)
{
	struct program p = { .text = NULL };
	double best = 1e9;

	make_text(&p, 8192);
	make_trace(&p, params, htm, 1000000, random);
	while (runs--) {
		double seconds = 0;
		uint64_t n = 0;
		struct result r;
		struct decoder d;

		open_decoder(&d, params, &p);
		while (n < insns) {
			run(&p, d.flow, &r);
			n += r.insns;
			seconds += r.seconds;
		}
		best = seconds / n < best ? seconds / n : best;
		close_decoder(&d);
	}
	printf("trace %4zu Minsn %4s: %5.2f ns/insn, resident %ld KB\n", insns / 1000000,
	       htm ? "htm" : "btm", best * 1e9, resident());
	free(p.text);
	free(p.trace);
}

/*
 * Seconds for a call: at most `calls` functions change, one after the other, or memory without
 * code
 */
static double invalidate(struct program *p, struct decoder *d, size_t calls, bool code)
{
	size_t functions = p->size / FUNCTION - 1, n;
	double start;

	calls = calls < functions ? calls : functions;
	start = now(CLOCK_THREAD_CPUTIME_ID);
	for (n = 0; n < calls; n++) {
		uint64_t at = BASE + (code ? (1 + n * (functions / calls)) * FUNCTION :
					     p->size + n * 64);

		nt_code_invalidate(d->code, at, at + 64);
	}
	return (now(CLOCK_THREAD_CPUTIME_ID) - start) / calls;
}

/* What nt_code_invalidate() costs, with so many blocks that stay */
static void invalidate_line(const struct nt_params *params, bool htm, size_t size, bool random,
			    int runs)
{
	struct nt_code_stats stats = { .size = sizeof(stats) };
	double code = 1e9, nothing = 1e9, s;
	struct program p = { .text = NULL };
	struct result r;
	struct decoder d;
	uint64_t reads;

	make_text(&p, size);
	make_trace(&p, params, htm, 8000000, random);
	while (runs--) {
		open_decoder(&d, params, &p);
		run(&p, d.flow, &r);
		nt_code_get_stats(d.code, &stats);
		s = invalidate(&p, &d, 1000, false);
		nothing = s < nothing ? s : nothing;
		reads = p.reads;
		s = invalidate(&p, &d, 1000, true);
		code = s < code ? s : code;
		/* what was forgotten is made again, and comes to the same */
		run(&p, d.flow, &r);
		if (p.reads == reads)
			die("nothing was forgotten");
		close_decoder(&d);
	}
	printf("invalidate %4s: %7" PRIu64 " blocks: %8.3f us a call on 64 bytes of code, %8.3f us where there is none\n",
	       htm ? "htm" : "btm", stats.blocks, code * 1e6, nothing * 1e6);
	free(p.text);
	free(p.trace);
}

/* Each line in a process of its own: the most memory that was ever resident is the line's own. */
static void in_child(void (*line)(const struct nt_params *, bool, size_t, bool, int),
		     const struct nt_params *params, bool htm, size_t size, bool random, int runs)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		die("no process");
	if (!pid) {
		line(params, htm, size, random, runs);
		fflush(stdout);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		die("a line failed");
}

int main(int argc, char **argv)
{
	static const size_t kilobytes[] = { 1, 32, 1024, 8192, 51200 };
	/* of text, which has a thousand blocks, and 200,000 */
	static const size_t blocks[] = { 18432, 3659776 };
	struct nt_params params;
	bool htm = true;
	int opt, runs = 3;
	size_t insns;
	unsigned int i;

	while ((opt = getopt(argc, argv, "n:m:")) != -1) {
		switch (opt) {
		case 'n': runs = atoi(optarg); break;
		case 'm': htm = strcmp(optarg, "btm"); break;
		default: return 2;
		}
	}
	nt_params_init(&params);
	params.retstack = htm ? 3 : 0;
	for (insns = 1000000; insns <= 1000000000; insns *= 10)
		in_child(trace_line, &params, htm, insns, true, insns < 100000000 ? 5 * runs : 1);
	for (i = 0; i < 2 * sizeof(kilobytes) / sizeof(kilobytes[0]); i++)
		in_child(text_line, &params, htm, kilobytes[i / 2] << 10, i % 2, runs);
	for (i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
		in_child(invalidate_line, &params, htm, blocks[i], false, runs);
	return 0;
}
