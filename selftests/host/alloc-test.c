// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory runs out: every allocation of the library fails once, the first, the second and so on.
 * Each time the caller is told, nothing is leaked, and what was not touched by it still works.
 *
 * The linker puts the functions below between the library and the C library (--wrap).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmocka-tap.h"
#include "nt-ctr.h"
#include "nt-tv.h"
#include "program.h"

/* Allocations until one fails; 0: none does */
static unsigned long until;
static long live;

static bool fails(void)
{
	return until && !--until;
}

static void *allocated(void *p)
{
	live += p != NULL;
	return p;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_reallocarray(void *p, size_t n, size_t size);
char *__real_strdup(const char *s);
void *__real_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off);
int __real_munmap(void *addr, size_t len);
void __real_free(void *p);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_reallocarray(void *p, size_t n, size_t size);
char *__wrap_strdup(const char *s);
void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off);
int __wrap_munmap(void *addr, size_t len);
void __wrap_free(void *p);

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : allocated(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : allocated(__real_calloc(n, size));
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
	return fails() ? NULL : allocated(__real_aligned_alloc(align, size));
}

void *__wrap_realloc(void *p, size_t size)
{
	if (fails())
		return NULL;
	return p ? __real_realloc(p, size) : allocated(__real_realloc(p, size));
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	if (fails())
		return NULL;
	return p ? __real_reallocarray(p, n, size) : allocated(__real_reallocarray(p, n, size));
}

char *__wrap_strdup(const char *s)
{
	return fails() ? NULL : allocated(__real_strdup(s));
}

void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	void *p;

	if (fails()) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	p = __real_mmap(addr, len, prot, flags, fd, off);
	live += p != MAP_FAILED;
	return p;
}

int __wrap_munmap(void *addr, size_t len)
{
	live--;
	return __real_munmap(addr, len);
}

void __wrap_free(void *p)
{
	live -= p != NULL;
	__real_free(p);
}

/* ------------------------------------------------------------- what to do - */

#define JUMPS	6000	/* blocks, and edges: tables grow several times */

/* A long chain of jumps, and the trace of one way through it */
static struct program chain;
static uint8_t trace[64];
static size_t trace_len;
static char elf[4096];

/* A table to be copied; the chain has none of it */
static const struct nt_branch told = { .mask = 0x7f, .match = 0x0b, .type = NT_TYPE_RET };

static struct nt_params params(void)
{
	struct nt_params p;

	nt_params_init(&p);
	p.branches = &told;
	p.nr_branches = 1;
	return p;
}

static void make_chain(void)
{
	struct nt_msg sync = { .tcode = NT_TCODE_PROG_TRACE_SYNC, .sync = NT_SYNC_TRACE_ENABLE,
			       .fields = NT_F_SYNC | NT_F_ICNT | NT_F_FADDR, .addr = 0x1000 >> 1 };
	struct nt_msg stop = { .tcode = NT_TCODE_PROG_TRACE_CORRELATION, .evcode = 4,
			       .fields = NT_F_EVCODE | NT_F_CDF | NT_F_ICNT, .icnt = 4 * JUMPS };
	struct nt_params p = params();
	unsigned int n;

	chain.base = 0x1000;
	org(&chain, 0x1000);
	for (n = 0; n < JUMPS; n++) {
		add(&chain);
		j(&chain, chain.at + 4);
	}
	add(&chain);
	trace_len = nt_enc_msg(&p, &sync, trace);
	trace_len += nt_enc_msg(&p, &stop, trace + trace_len);
}

/* 0, or the error; with all memory there is, everything has to be right */
static int follow(void)
{
	struct nt_params p = params();
	struct nt_code *code = nt_code_new(&p, program_read, &chain);
	struct nt_flow *flow = nt_flow_new(&p);
	struct nt_event ev[64];
	unsigned int branches = 0, insns = 0;
	int n = -NT_ENOMEM, i;

	if (code && flow) {
		nt_flow_set_code(flow, code, code);
		nt_flow_window(flow, trace, trace_len, 0);
		while ((n = nt_flow_next(flow, ev, 64)) > 0) {
			for (i = 0; i < n; i++) {
				branches += ev[i].kind == NT_EV_BRANCH;
				insns += ev[i].insns;
				assert_int_not_equal(ev[i].kind, NT_EV_LOSS);
			}
		}
		assert_true(branches <= JUMPS && insns <= 2 * JUMPS);
		if (!n)
			assert_true(branches == JUMPS && insns == 2 * JUMPS);
	}
	nt_flow_free(flow);
	nt_code_free(code);
	return n;
}

/* Twice, so that the second time is known from the first */
static int count_with(struct nt_code *code, struct nt_flow *flow, struct nt_counts *counts)
{
	struct nt_counts_stats stats = { .size = sizeof(stats) };
	struct nt_event ev[256];
	const struct nt_edge *edge;
	unsigned int again;
	size_t nr, i;
	int n;

	nt_flow_set_code(flow, code, code);
	for (again = 0; again < 2; again++) {
		nt_flow_window(flow, trace, trace_len, 0);
		while ((n = nt_flow_count(flow, counts, ev, 256)) > 0)
			while (n--)
				assert_int_not_equal(ev[n].kind, NT_EV_LOSS);
		if (n)
			return n;
	}
	edge = nt_counts_edges(counts, &nr);
	assert_int_equal(nr, JUMPS);
	for (i = 0; i < nr; i++)
		assert_int_equal(edge[i].count, 2);
	nt_counts_get_stats(counts, &stats);
	assert_int_equal(stats.insns, 4 * JUMPS);
	return 0;
}

static int count(void)
{
	struct nt_params p = params();
	struct nt_code *code = nt_code_new(&p, program_read, &chain);
	struct nt_flow *flow = nt_flow_new(&p);
	struct nt_counts *counts = nt_counts_new();
	int ret = -NT_ENOMEM;

	if (code && flow && counts)
		ret = count_with(code, flow, counts);
	nt_counts_free(counts);
	nt_flow_free(flow);
	nt_code_free(code);
	return ret;
}

static bool emit(void *ctx, const uint8_t *msg, unsigned int len)
{
	*(unsigned int *)ctx += msg ? len : 0;
	return true;
}

static int encode(void)
{
	unsigned int bytes = 0;
	struct nt_enc_config c = { .size = sizeof(c), .emit = emit, .ctx = &bytes };
	struct nt_params p = params();
	struct nt_enc *enc;

	enc = nt_enc_new(&p, &c);
	if (!enc)
		return -NT_ENOMEM;
	nt_enc_start(enc, NT_SYNC_TRACE_ENABLE);
	nt_enc_retire(enc, 0x1000, 0x00b50533, 4);
	nt_enc_stop(enc, NT_EVCODE_DISABLE, 0x1004);
	assert_true(bytes > 4);
	nt_enc_free(enc);
	return 0;
}

/* Records of branches that were not taken, too: those are looked for in the code. */
static int record(void)
{
	struct nt_ctr_params p;
	struct nt_params with = params();
	const struct nt_event ev[] = {
		{ .kind = NT_EV_START, .to = 0x1000 },
		{ .kind = NT_EV_BRANCH, .type = NT_TYPE_JUMP, .from = 0x1004, .to = 0x1008,
		  .insns = 2 },
	};
	struct nt_code *code = nt_code_new(&with, program_read, &chain);
	struct nt_ctr *ctr;
	int ret = -NT_ENOMEM;

	nt_ctr_params_init(&p);
	ctr = nt_ctr_new(&p);
	if (ctr && code) {
		nt_ctr_write(ctr, NT_CTR_M, NT_CSR_MCTRCTL, 3 | NT_CTRCTL_NTBREN);
		ret = nt_ctr_events(ctr, code, ev, 2);
	}
	nt_ctr_free(ctr);
	nt_code_free(code);
	return ret;
}

/* Two sources, whose pieces get the bytes in turn */
static int demultiplex(void)
{
	struct nt_msg m = { .fields = NT_F_SRC | NT_F_ICNT, .tcode = NT_TCODE_DIRECT_BRANCH };
	struct nt_params p = params();
	static uint8_t buf[30000];
	struct nt_demux *d;
	size_t n, used;
	int ret;

	p.srcbits = 1;
	p.src = -1;
	for (n = 0; n < sizeof(buf) - 8; m.src ^= 1)
		n += nt_enc_msg(&p, &m, buf + n);
	d = nt_demux_new(&p);
	if (!d)
		return -NT_ENOMEM;
	ret = nt_demux_split(d, buf, n, 0, false, &used);
	if (!ret)
		assert_int_equal(used, n);
	nt_demux_free(d);
	return ret;
}

static int shadow(void)
{
	const struct nt_tv_params p = NT_TV_PARAMS_RV64;
	struct nt_tv_shadow *sh = nt_tv_shadow_new(&p, 100);
	unsigned int i;
	int ret = sh ? 0 : -NT_ENOMEM;

	for (i = 0; i < 100 && !ret; i++)
		if (nt_tv_shadow_write(sh, i * 0x1000, &i, sizeof(i)))
			ret = -NT_ENOMEM;
	nt_tv_shadow_free(sh);
	return ret;
}

static int add_images(struct nt_image *image)
{
	char raw[4096];
	unsigned int i;
	uint8_t byte;
	int ret;

	ret = nt_image_add_elf(image, elf, 0);
	if (ret)
		return ret;
	assert_non_null(nt_image_isa(image));
	snprintf(raw, sizeof(raw), "%s/selftests/README",
		 getenv("top") ? getenv("top") : ".");
	for (i = 0; i < 9; i++) {
		ret = nt_image_add_raw(image, raw, 0x1000 + 0x100000 * i);
		if (ret)
			return ret;
		assert_int_equal(nt_image_read(image, 0, 0x1000 + 0x100000 * i, &byte, 1), 1);
	}
	return 0;
}

static int open_images(void)
{
	struct nt_image *image = nt_image_new();
	int ret = image ? add_images(image) : -NT_ENOMEM;

	nt_image_free(image);
	/* mmap() is a system call that fails: errno tells */
	if (ret == -NT_EFILE) {
		assert_int_equal(errno, ENOMEM);
		ret = -NT_ENOMEM;
	}
	return ret;
}

/* ----------------------------------------------------------------- tests - */

/* Fail each allocation in turn, until there are no more */
static void exhaust(int (*run)(void), unsigned long least)
{
	unsigned long n, failed = 0;
	int ret;

	assert_int_equal(run(), 0);
	assert_int_equal(live, 0);
	for (n = 1; ; n++) {
		until = n;
		ret = run();
		if (live)
			fail_msg("allocation %lu fails: %ld pieces are leaked", n, live);
		if (until)
			break;
		/* without it something may only be slower: then all was right, see run() */
		if (ret)
			assert_int_equal(ret, -NT_ENOMEM);
		failed += ret != 0;
	}
	until = 0;
	assert_int_equal(ret, 0);
	print_message("# %lu allocations, %lu of them necessary\n", n - 1, failed);
	assert_true(n > least && failed >= least);
}

static void following(void **state)
{
	(void)state;
	exhaust(follow, 8);
}

static void counting(void **state)
{
	(void)state;
	exhaust(count, 12);
}

static void encoding(void **state)
{
	(void)state;
	exhaust(encode, 1);
}

static void recording(void **state)
{
	(void)state;
	exhaust(record, 4);
}

static void demultiplexing(void **state)
{
	(void)state;
	exhaust(demultiplex, 8);
}

static void shadowing(void **state)
{
	(void)state;
	exhaust(shadow, 100);
}

static void images(void **state)
{
	(void)state;
	exhaust(open_images, 12);
}

/* Memory is short once: the next window is decoded as if nothing had been */
static void goes_on(void **state)
{
	struct nt_params p = params();
	struct nt_code *code = nt_code_new(&p, program_read, &chain);
	struct nt_flow *flow = nt_flow_new(&p);
	struct nt_counts *counts = nt_counts_new();
	struct nt_event ev[256];
	unsigned int n, failed = 0, round;
	int ret;

	(void)state;
	nt_flow_set_code(flow, code, code);
	for (round = 0; round < 20; round++) {
		nt_flow_window(flow, trace, trace_len, 0);
		until = 1;
		while ((ret = nt_flow_next(flow, ev, 64)) > 0)
			;
		failed += ret == -NT_ENOMEM;
		until = 0;
		if (!ret)
			break;
		/* one more table, or array, than the round before */
		nt_flow_window(flow, trace, trace_len, 0);
		for (n = 0; n <= round && (ret = nt_flow_next(flow, ev, 64)) > 0; n++)
			;
	}
	assert_true(failed > 0);
	assert_int_equal(count_with(code, flow, counts), 0);
	nt_counts_free(counts);
	nt_flow_free(flow);
	nt_code_free(code);
	assert_int_equal(live, 0);
}

static int prepare(void **state)
{
	const char *out = getenv("out");

	(void)state;
	make_chain();
	snprintf(elf, sizeof(elf), "%s/samples/rv32/rv32.elf", out ? out : "build/host");
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(following),
		cmocka_unit_test(counting),
		cmocka_unit_test(encoding),
		cmocka_unit_test(recording),
		cmocka_unit_test(demultiplexing),
		cmocka_unit_test(shadowing),
		cmocka_unit_test(images),
		cmocka_unit_test(goes_on),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, prepare, NULL);
}
