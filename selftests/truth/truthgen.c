// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generates random runs to test truthcmp: truth streams of several harts and, on standard
 * output, the list that a correct decoder would print. The same seed gives the same run in
 * all formats.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nt-tv.h"

#define MAX_HARTS	8
#define PENDING		64
#define CSRW_SCONTEXT	0x5a851073

enum format { PERF_INSN, PERF_BRANCH, NTRACE_PC, NTRACE_BRANCH };

struct pending {
	uint64_t from, to;
	const char *word;
};

struct hart {
	FILE *file;
	struct nt_tv_writer w;
	uint8_t buf[65536];
	unsigned int id;
	uint64_t pc, stop_pc;
	uint32_t tid, decoded_tid;
	bool dropping;
	/* lines that the next message will report */
	struct pending pending[PENDING];
	unsigned int npending;
};

static uint64_t seed = 1;
static enum format format;
static unsigned int loss_every;
static bool mute;	/* not the recording to print */

static uint32_t rnd(uint32_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((seed >> 33) % below);
}

static int to_file(void *ctx, const uint8_t *buf, size_t len)
{
	return fwrite(buf, 1, len, ctx) == len ? 0 : -1;
}

/* ------------------------------------------------------------ decoded side */

static void perf_head(struct hart *h, const char *event)
{
	printf("%7u [%03u] %14s: ", h->decoded_tid, h->id, event);
}

static void print_insn(struct hart *h, uint64_t pc)
{
	if (mute)
		return;
	if (format == PERF_INSN) {
		perf_head(h, "instructions:u");
		printf("%16llx \n", (unsigned long long)pc);
	} else if (format == NTRACE_PC) {
		printf("%llx\n", (unsigned long long)pc);
	}
}

static void print_branch(struct hart *h, uint64_t from, uint64_t to, const char *word)
{
	static const char *const words[][2] = {
		{ "cond", "jcc" }, { "jump", "jmp" }, { "call", "call" }, { "ret", "return" },
		{ "ijump", "jmp" }, { "exception", "syscall" }, { "interrupt", "hw int" },
		{ "eret", "iret" },
	};

	if (mute)
		return;
	if (format == NTRACE_BRANCH && from && to)
		printf("%llx %llx %s\n", (unsigned long long)from, (unsigned long long)to, word);
	if (format != PERF_BRANCH)
		return;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(word, words[i][0]))
			word = words[i][1];
	perf_head(h, "branches:u");
	printf("  %-12s %16llx => %16llx\n", word, (unsigned long long)from,
	       (unsigned long long)to);
}

static void print_report(struct hart *h, int code, const char *words)
{
	if (mute)
		return;
	if (format == PERF_INSN || format == PERF_BRANCH)
		printf(" instruction trace error type 1 time 1.000000001 cpu %u pid %u tid %u ip 0x1 code %d: %s\n",
		       h->id, h->tid, h->tid, code, words);
	else
		printf("# loss at 0x0: %s\n", words);
}

static void print_loss(struct hart *h)
{
	print_report(h, 1, "encoder lost messages");
}

static void flush_message(struct hart *h)
{
	for (unsigned int i = 0; i < h->npending; i++) {
		if (!h->pending[i].to)
			print_insn(h, h->pending[i].from);
		else
			print_branch(h, h->pending[i].from, h->pending[i].to, h->pending[i].word);
	}
	h->npending = 0;
}

static void tell(struct hart *h, uint64_t from, uint64_t to, const char *word)
{
	if (h->dropping)
		return;
	if (h->npending == PENDING)
		flush_message(h);
	h->pending[h->npending++] = (struct pending) { from, to, word };
}

/* --------------------------------------------------------------- truth side */

static void mark(struct hart *h, unsigned int kind)
{
	nt_tv_begin(&h->w);
	nt_tv_state_init(&h->w);
	nt_tv_reg(&h->w, 0xc000, kind);
}

static void begin(struct hart *h)
{
	mark(h, 1);
	nt_tv_pc(&h->w, h->pc);
	nt_tv_priv(&h->w, 0);
	nt_tv_reg(&h->w, 0x180, 0x8000000000012345);
	nt_tv_reg(&h->w, 0xc001, h->tid);
	if (h->dropping) {
		/* the loss continues: the decoder does not see this beginning */
		mark(h, 4);
		return;
	}
	h->decoded_tid = h->tid;
	if (h->stop_pc != h->pc)
		print_branch(h, 0, h->pc, "tr strt");
}

static void end(struct hart *h, bool joined)
{
	if (!h->dropping)
		flush_message(h);
	if (!joined && !h->dropping)
		print_branch(h, h->pc, 0, "tr end");
	h->stop_pc = joined && !h->dropping ? h->pc : 0;
	mark(h, 2);
}

static void retire(struct hart *h, uint32_t insn, unsigned int len)
{
	tell(h, h->pc, 0, "");
	nt_tv_step(&h->w, insn, len);
	h->pc += len;
}

static void jump(struct hart *h, uint64_t to, uint32_t insn, unsigned int len, const char *word)
{
	/* a message that reports a jump also reports its target: keep room for both */
	if (h->npending > PENDING - 2 && !h->dropping)
		flush_message(h);
	tell(h, h->pc, 0, "");
	tell(h, h->pc, to, word);
	nt_tv_jump(&h->w, to, insn, len);
	h->pc = to;
	if (!h->dropping && !rnd(3))
		flush_message(h);
}

static void trap(struct hart *h, uint64_t to, uint64_t cause)
{
	tell(h, h->pc, to, cause >> 63 ? "interrupt" : "exception");
	nt_tv_begin(&h->w);
	nt_tv_pc(&h->w, to);
	if (!(cause >> 63))
		nt_tv_insn32(&h->w, 0x73);
	nt_tv_reg(&h->w, 0x141, h->pc);
	nt_tv_reg(&h->w, 0x142, cause);
	nt_tv_reg(&h->w, 0x100, 0x8000000200006020);
	nt_tv_reg(&h->w, 0x143, 0);
	nt_tv_priv(&h->w, 1);
	h->pc = to;
}

static uint64_t kernel_pc(void)
{
	return 0xffffffff80000000ull + rnd(1 << 16) * 2;
}

static uint64_t user_pc(void)
{
	return 0x10000 + rnd(1 << 14) * 2;
}

static uint64_t same_side(const struct hart *h)
{
	return h->pc >> 63 ? kernel_pc() : user_pc();
}

/* ------------------------------------------------------------------ the run */

static void drop(struct hart *h)
{
	unsigned int insns = 0;

	for (unsigned int i = 0; i < h->npending; i++)
		insns += !h->pending[i].to;
	h->npending = 0;
	h->dropping = true;
	mark(h, 4);
	nt_tv_reg(&h->w, 0xc002, insns);
}

static void restart(struct hart *h)
{
	mark(h, 5);
	nt_tv_pc(&h->w, h->pc);
	print_loss(h);
	h->dropping = false;
	h->decoded_tid = h->tid;
	print_branch(h, 0, h->pc, "tr strt");
}

/* A message arrives, but no sync message, and then messages are dropped again. */
static void drop_again(struct hart *h)
{
	print_loss(h);
	mark(h, 4);
	nt_tv_reg(&h->w, 0xc002, 0);
}

/* Recording stops: an AUX flag of the window reports the loss. */
static void stop_window(struct hart *h)
{
	bool full = !h->dropping && loss_every && rnd(2) && format <= PERF_BRANCH;

	end(h, false);
	if (h->dropping)
		print_report(h, 2, "trace lost: the sink was full at 0x1000");
	else if (full)
		print_report(h, 2, "trace lost: AUX buffer full at 0x1000");
	h->dropping = false;
	begin(h);
}

/* The decoder knows the next task from the write of scontext, before tp changes. */
static void switch_task(struct hart *h)
{
	uint32_t next = 100 + rnd(6);

	flush_message(h);
	h->decoded_tid = next;
	for (int i = 0; i < 20; i++)
		retire(h, i == 3 ? CSRW_SCONTEXT : 0x13, 4);
	flush_message(h);
	h->tid = next;
	mark(h, 3);
	nt_tv_reg(&h->w, 0xc001, next);
}

static void step(struct hart *h)
{
	bool kernel = h->pc >> 63;

	switch (rnd(64)) {
	case 0:
		jump(h, same_side(h), 0xef, 4, "call");
		break;
	case 1:
		jump(h, same_side(h), 0x8082, 2, "ret");
		break;
	case 2:
		jump(h, same_side(h), 0xa001, 2, "jump");
		break;
	case 3:
		jump(h, same_side(h), 0x78067, 4, "ijump");
		break;
	case 4: case 5: case 6: case 7:
		jump(h, h->pc - 64, 0xfc000063, 4, "cond");
		break;
	case 8:
		jump(h, h->pc + 4, 0x6f, 4, "jump");
		break;
	case 9:
		if (!kernel)
			trap(h, 0xffffffff80000100, 8);
		else
			jump(h, user_pc(), 0x10200073, 4, "eret");
		break;
	case 10:
		trap(h, 0xffffffff80000100, 0x8000000000000005);
		break;
	case 11:
		if (kernel && !h->dropping && !rnd(8))
			switch_task(h);
		break;
	case 12:
		if (!rnd(8)) {
			end(h, true);
			begin(h);
		}
		break;
	case 13:
		if (!rnd(8)) {
			stop_window(h);
		} else if (!rnd(8)) {
			end(h, false);
			h->pc = user_pc();
			h->tid = 100 + rnd(6);
			begin(h);
		}
		break;
	default:
		if (rnd(2))
			retire(h, 0x13, 4);
		else
			retire(h, 1, 2);
	}
}

static void run(struct hart *harts, unsigned int n, unsigned long long steps)
{
	struct hart *h = harts;

	while (steps--) {
		if (!rnd(100))
			h = &harts[rnd(n)];
		step(h);
		if (loss_every && !h->dropping && !rnd(loss_every))
			drop(h);
		else if (h->dropping && !rnd(200))
			drop_again(h);
		else if (h->dropping && !rnd(50))
			restart(h);
	}
}

/* A loop, and code after it that is at another address each time */
static void run_loop(struct hart *h, unsigned int passes)
{
	const uint64_t start = 0x20000;

	jump(h, start, 0x6f, 4, "jump");
	while (passes--) {
		for (int i = 0; i < 5; i++)
			retire(h, 0x13, 4);
		jump(h, start, 0xfc000063, 4, "cond");
	}
	jump(h, user_pc(), 0x6f, 4, "jump");
	for (int i = 0; i < 100; i++)
		retire(h, 0x13, 4);
}

static void open_hart(struct hart *h, unsigned int id, const char *dir)
{
	static const struct nt_tv_params params = NT_TV_PARAMS_RV64;
	char path[4096];

	snprintf(path, sizeof(path), "%s/truth.%u", dir, id);
	h->file = fopen(path, "wb");
	if (!h->file)
		exit(2);
	nt_tv_writer_init(&h->w, &params, h->buf, sizeof(h->buf), to_file, h->file);
	h->id = id;
}

int main(int argc, char **argv)
{
	static const char *const formats[] = { "perf-insn", "perf-branch", "pc", "branch" };
	static struct hart harts[MAX_HARTS];
	unsigned int nharts = 2, segments = 1, print = 0, passes = 0;
	unsigned long long steps = 100000;
	int opt;

	while ((opt = getopt(argc, argv, "f:n:s:h:l:S:p:c:")) != -1) {
		switch (opt) {
		case 'f':
			for (int i = 0; i < 4; i++)
				if (!strcmp(optarg, formats[i]))
					format = (enum format)i;
			break;
		case 'n': steps = strtoull(optarg, NULL, 0); break;
		case 's': seed = strtoull(optarg, NULL, 0); break;
		case 'h': nharts = (unsigned int)atoi(optarg); break;
		case 'l': loss_every = (unsigned int)atoi(optarg); break;
		case 'S': segments = (unsigned int)atoi(optarg); break;
		case 'p': print = (unsigned int)atoi(optarg); break;
		case 'c': passes = (unsigned int)atoi(optarg); break;
		default: return 2;
		}
	}
	if (optind + 1 != argc || !nharts || nharts > MAX_HARTS)
		return 2;
	for (unsigned int i = 0; i < nharts; i++)
		open_hart(&harts[i], i, argv[optind]);
	for (unsigned int s = 1; s <= segments; s++) {
		mute = print && print != s;
		for (unsigned int i = 0; i < nharts; i++) {
			mark(&harts[i], 7);
			nt_tv_reg(&harts[i].w, 0xc001, s);
			harts[i].pc = user_pc();
			harts[i].tid = 100 + i;
			begin(&harts[i]);
		}
		run(harts, nharts, steps);
		for (unsigned int i = 0; i < nharts; i++) {
			if (harts[i].dropping)
				restart(&harts[i]);
			for (int twice = 0; passes && twice < 2; twice++)
				run_loop(&harts[i], passes);
			end(&harts[i], false);
		}
	}
	for (unsigned int i = 0; i < nharts; i++)
		if (nt_tv_flush(&harts[i].w) || fclose(harts[i].file))
			return 2;
	return 0;
}
