// SPDX-License-Identifier: GPL-2.0-only
/*
 * What perf's glue and the command have in common (nt_session_): records become buffers and
 * windows, those of shared sinks and AUX area samples too; terms; transfers and losses in perf's
 * words.
 */
#include "cmocka-tap.h"

#include <stdlib.h>
#include <string.h>

#include <linux/ntrace.h>
#include <linux/perf_event.h>

#include "nt-session.h"
#include "pack.h"

/* Two CPUs, whose encoders' sources are 1 and 2 */
#define SRC_OF(cpu)	((uint64_t)((cpu) + 1))
#define HW_ID(cpu)	(4 * (NTRACE_HW_ID_SRCBITS & -NTRACE_HW_ID_SRCBITS) | \
			 SRC_OF(cpu) * (NTRACE_HW_ID_SRCID & -NTRACE_HW_ID_SRCID))

static uint64_t cpus[2][NTRACE_INFO_CPU_MAX] = {
	{ [NTRACE_INFO_CPU_NR] = 0, [NTRACE_INFO_CPU_SRCID] = 1, [NTRACE_INFO_CPU_SRCBITS] = 4,
	  [NTRACE_INFO_CPU_SINK] = 7 },
	{ [NTRACE_INFO_CPU_NR] = 1, [NTRACE_INFO_CPU_SRCID] = 2, [NTRACE_INFO_CPU_SRCBITS] = 4,
	  [NTRACE_INFO_CPU_SINK] = 7 },
};
static const struct ntrace_info info = { .xlen = 64, .nr_cpus = 2, .cpu = cpus };

/* The file: each byte is its offset */
static ssize_t read_file(void *ctx, unsigned int file, uint64_t offset, void *buf, size_t len)
{
	const size_t size = *(size_t *)ctx;
	size_t i;

	if (file || offset >= size)
		return 0;
	if (len > size - offset)
		len = size - offset;
	for (i = 0; i < len; i++)
		((uint8_t *)buf)[i] = (uint8_t)(offset + i);
	return len;
}

static size_t file_size = 200;

static struct nt_session new_session(void)
{
	return (struct nt_session){ .info = &info, .read = read_file, .ctx = &file_size };
}

static void add_piece(struct nt_session *s, unsigned int idx, uint64_t offset, uint64_t size,
		      uint64_t at)
{
	const struct nt_session_piece piece = { offset, size, at, 0 };

	assert_int_equal(nt_session_add_piece(s, idx, (int)idx, -1, &piece, 0), 0);
}

static void add_window(struct nt_session *s, unsigned int idx, uint64_t offset, uint64_t size,
		       uint64_t time, uint64_t flags)
{
	const struct nt_session_window window = {
		.offset = offset, .size = size, .time = time, .flags = flags, .cpu = (int)idx,
		.tid = 10, .ring = flags & PERF_AUX_FLAG_OVERWRITE,
	};

	assert_int_equal(nt_session_add_window(s, idx, &window), 0);
}

/* ----------------------------------------------------------------- terms - */

static void terms(void **state)
{
	const struct ntrace_asked asked = { .config2 = 7 };
	struct nt_session s = new_session();

	(void)state;
	/* what was told counts for what comes then, the last one of the CPU */
	assert_int_equal(nt_session_add_terms(&s, 1, 1, 5), 0);
	assert_int_equal(nt_session_add_terms(&s, 1, 0, 6), 0);
	assert_int_equal(nt_session_add_terms(&s, 1, 1, 8), 0);
	add_window(&s, 1, 0, 8, 10, 0);
	assert_int_equal(s.buffer[1]->window[0].hw_id, 8);
	assert_int_equal(s.buffer[1]->window[0].idx, 1);
	assert_null(s.buffer[0]);
	/* nobody told, but it was asked for: of that CPU alone */
	add_window(&s, 0, 0, 8, 10, 0);
	assert_int_equal(nt_session_ask(&s, 0, 0, &asked), 0);
	assert_int_equal(nt_session_ask(&s, 1, -1, &asked), 0);
	assert_int_equal(nt_session_finish(&s), 0);
	assert_int_equal(s.buffer[0]->window[0].hw_id, ntrace_info_hw_id(&info, &asked, 0));
	assert_int_equal(s.buffer[0]->nr_terms, 1);
	assert_int_equal(s.buffer[1]->window[0].hw_id, 8);
	assert_int_equal(s.sink, 7);
	/* a number that is damage */
	assert_true(nt_session_add_terms(&s, NT_SESSION_BUFFERS_MAX, 0, 1) < 0);
	nt_session_free(&s);
}

/* ----------------------------------------------------------------- bytes - */

static void expect_bytes(const struct nt_session *s, uint64_t offset, uint64_t size, size_t there,
			 const char *want)
{
	const struct nt_session_window w = { .offset = offset, .size = size };
	uint8_t data[64];

	assert_int_equal(nt_session_there(s, &w), there);
	assert_int_equal(nt_session_read(s, &w, data, there), strlen(want));
	assert_memory_equal(data, want, strlen(want));
}

static void bytes(void **state)
{
	struct nt_session s = new_session();

	(void)state;
	add_piece(&s, 0, 0, 8, 'a');
	add_piece(&s, 0, 8, 4, 'p');
	add_piece(&s, 0, 16, 4, 'w');
	expect_bytes(&s, 0, 12, 12, "abcdefghpqrs");
	expect_bytes(&s, 6, 4, 4, "ghpq");
	expect_bytes(&s, 10, 8, 2, "rs");
	expect_bytes(&s, 13, 8, 0, "");
	expect_bytes(&s, 17, 9, 3, "xyz");
	/* the file has become shorter */
	file_size = 'r';
	expect_bytes(&s, 6, 6, 6, "ghpq");
	file_size = 200;
	nt_session_free(&s);
	/* in no order */
	s = new_session();
	add_piece(&s, 0, 16, 4, 'w');
	add_piece(&s, 0, 0, 8, 'a');
	add_piece(&s, 0, 8, 4, 'p');
	expect_bytes(&s, 17, 3, 3, "xyz");
	expect_bytes(&s, 6, 4, 4, "ghpq");
	nt_session_free(&s);
}

/* The end of a ring's record is told, and not its begin. */
static void ring(void **state)
{
	struct nt_session s = new_session();

	(void)state;
	add_piece(&s, 0, 16, 32, 0);
	add_window(&s, 0, 48, 32, 10, PERF_AUX_FLAG_OVERWRITE);
	assert_int_equal(nt_session_finish(&s), 0);
	assert_int_equal(s.buffer[0]->nr_windows, 1);
	assert_int_equal(s.buffer[0]->window[0].offset, 16);
	nt_session_free(&s);
}

/* ---------------------------------------------------------- shared sinks - */

static void expect(const struct nt_session_buffer *b, size_t i, unsigned int idx, uint64_t time,
		   bool resume, bool echo)
{
	const struct nt_session_window *w = &b->window[i];

	assert_true(i < b->nr_windows);
	assert_int_equal(w->idx, idx);
	assert_int_equal(w->time, time);
	assert_int_equal(w->resume, resume);
	assert_int_equal(w->echo, echo);
	assert_int_equal(w->tid, echo ? -1 : 10);
	assert_int_equal(w->cpu, b->cpu);
	assert_int_equal(w->hw_id, HW_ID(b->cpu));
	assert_true(w->shared);
	assert_int_equal(w->begin,
			 resume || !i ? NT_SESSION_BEGIN_SYNC : NT_SESSION_BEGIN_ANYWHERE);
}

/* Two CPUs with one sink, and one window of another sink */
static struct nt_session shared_session(void)
{
	struct nt_session s = new_session();
	unsigned int cpu;

	for (cpu = 0; cpu < 2; cpu++)
		assert_int_equal(nt_session_add_terms(&s, cpu, (int)cpu, HW_ID(cpu)), 0);
	add_piece(&s, 0, 0, 24, 0);
	add_piece(&s, 1, 0, 24, 50);
	add_window(&s, 0, 0, 8, 10, 0);
	add_window(&s, 0, 8, 8, 30, PERF_AUX_FLAG_PARTIAL);
	add_window(&s, 1, 0, 8, 20, 0);
	add_window(&s, 1, 8, 8, 40, 0);
	add_window(&s, 1, 16, 8, 50, 0);
	/* one that is not shared stays where it is */
	assert_int_equal(nt_session_add_terms(&s, 0, 0, NTRACE_HW_ID_PRIVATE | HW_ID(0)), 0);
	add_window(&s, 0, 16, 8, 60, 0);
	assert_int_equal(nt_session_add_terms(&s, 0, 0, HW_ID(0)), 0);
	assert_int_equal(nt_session_finish(&s), 0);
	return s;
}

static void streams(void **state)
{
	struct nt_session s = shared_session();
	struct nt_params params;
	unsigned int cpu;

	(void)state;
	assert_int_equal(nt_session_streams(&s), 0);

	assert_int_equal(s.nr_buffers, 4);
	assert_int_equal(s.buffer[0]->nr_windows, 1);
	assert_int_equal(s.buffer[0]->window[0].time, 60);
	assert_int_equal(s.buffer[1]->nr_windows, 0);
	for (cpu = 0; cpu < 2; cpu++) {
		struct nt_session_buffer *b = s.buffer[2 + cpu];

		assert_int_equal(b->cpu, cpu);
		assert_int_equal(b->nr_windows, 5);
		expect(b, 0, 0, 10, false, cpu == 1);
		expect(b, 1, 1, 20, true, cpu == 0);
		expect(b, 2, 0, 30, true, cpu == 1);
		/* what was lost before it, no one knows */
		expect(b, 3, 1, 40, false, cpu == 0);
		expect(b, 4, 1, 50, true, cpu == 0);
		assert_true(nt_session_goes_on(b, 1, true));
		assert_false(nt_session_goes_on(b, 3, true));
		assert_false(nt_session_goes_on(b, 5, true));
		/* its bytes are those of the buffer that it was found in */
		assert_int_equal(nt_session_there(&s, &b->window[3]), 8);
	}
	/* not all of number 3 is there */
	assert_false(nt_session_goes_on(s.buffer[2], 4, false));
	assert_false(nt_session_goes_on(s.buffer[2], 4, true));
	assert_int_equal(s.buffer[2]->window[4].begin, NT_SESSION_BEGIN_ANYWHERE);
	assert_true(nt_session_goes_on(s.buffer[3], 4, true));

	nt_params_init(&params);
	nt_session_choose_src(&params, HW_ID(1));
	assert_int_equal(params.src, -1);
	params.srcbits = 4;
	nt_session_choose_src(&params, HW_ID(1));
	assert_int_equal(params.src, 2);
	nt_session_free(&s);
}

/* A dump leaves the windows where they are. The bytes tell which of them end inside a message. */
static void streams_mark(void **state)
{
	struct nt_session s = shared_session();
	const struct nt_session_window *own, *other;
	static const uint8_t code[] = { 0x44, 0x05, 0x13, 0x24, 0x44, 0x05, 0x13 };
	struct nt_params params;

	(void)state;
	assert_int_equal(nt_session_streams_mark(&s), 0);
	assert_int_equal(s.nr_buffers, 2);
	assert_int_equal(s.buffer[0]->nr_windows, 3);
	assert_int_equal(s.buffer[1]->nr_windows, 3);
	own = s.buffer[0]->window;
	other = s.buffer[1]->window;
	assert_int_equal(own[0].begin, NT_SESSION_BEGIN_SYNC);
	/* the byte before this one is 7, of the other CPU's buffer, and ends a message */
	assert_int_equal(other[0].begin, NT_SESSION_BEGIN_SYNC);
	/* 57 */
	assert_int_equal(own[1].begin, NT_SESSION_BEGIN_REST);
	/* trace was lost */
	assert_int_equal(other[1].begin, NT_SESSION_BEGIN_LOSS);
	/* 65 */
	assert_int_equal(other[2].begin, NT_SESSION_BEGIN_REST);
	assert_int_equal(own[2].begin, NT_SESSION_BEGIN_SYNC);
	assert_false(own[0].unfinished);
	assert_true(other[0].unfinished);
	assert_false(own[1].unfinished);
	assert_true(other[1].unfinished);
	assert_false(other[2].unfinished);

	/* no sync begins, but a message does */
	nt_params_init(&params);
	assert_int_equal(nt_session_window_skip(&own[1], &params, code, sizeof(code), false), 3);
	assert_int_equal(nt_session_window_skip(&own[1], &params, code, 2, false), 2);
	nt_session_free(&s);
}

/* A message in more than two windows, windows without trace, and one that the file has half of */
static void streams_mark_pieces(void **state)
{
	struct nt_session s = new_session();
	const struct nt_session_window *own, *other;
	unsigned int cpu;

	(void)state;
	for (cpu = 0; cpu < 2; cpu++)
		assert_int_equal(nt_session_add_terms(&s, cpu, (int)cpu, HW_ID(cpu)), 0);
	add_piece(&s, 0, 0, 24, 0);
	add_piece(&s, 1, 0, 24, 50);
	add_window(&s, 0, 0, 5, 10, 0);
	add_window(&s, 1, 0, 0, 20, 0);
	add_window(&s, 1, 0, 3, 30, 0);
	add_window(&s, 0, 5, 3, 40, 0);
	add_window(&s, 0, 8, 24, 50, 0);
	add_window(&s, 1, 3, 2, 60, 0);
	assert_int_equal(nt_session_finish(&s), 0);
	assert_int_equal(nt_session_streams_mark(&s), 0);
	own = s.buffer[0]->window;
	other = s.buffer[1]->window;
	/* 4 and 52 end no message, 7 does */
	assert_true(own[0].unfinished);
	assert_int_equal(other[1].begin, NT_SESSION_BEGIN_REST);
	assert_true(other[1].unfinished);
	assert_int_equal(own[1].begin, NT_SESSION_BEGIN_REST);
	assert_false(own[1].unfinished);
	assert_int_equal(own[2].begin, NT_SESSION_BEGIN_SYNC);
	/* the file lacks what is before it */
	assert_false(own[2].unfinished);
	assert_int_equal(other[2].begin, NT_SESSION_BEGIN_LOSS);
	nt_session_free(&s);
}

/* Behind a break of the stream, is any of what is passed over this CPU's? */
static void passed(void **state)
{
	/* ProgTraceSync of source 1 */
	static const uint8_t one[] = { 0x24, 0x44, 0x05, 0x13 }, idle[] = { 0xff, 0xff };
	struct nt_params params;
	struct nt_msg msg;

	(void)state;
	nt_params_init(&params);
	params.srcbits = 4;
	params.src = 1;
	assert_true(nt_msg_decode(&params, one, sizeof(one), &msg) > 0);
	assert_int_equal(msg.src, 1);
	assert_true(nt_session_window_passed(&params, one, sizeof(one)));
	params.src = 2;
	assert_false(nt_session_window_passed(&params, one, sizeof(one)));
	assert_true(nt_session_window_passed(&params, one, sizeof(one) - 1));
	assert_false(nt_session_window_passed(&params, idle, sizeof(idle)));
	assert_false(nt_session_window_passed(&params, one, 0));
}

/* Each range where the two copies of the kernel's text differ is returned once, if it ran. */
static void patches(void **state)
{
	static const uint8_t first[] = "0123456789abcdefghij", last[] = "0123x5678xabcdefghiX";
	const size_t len = sizeof(first) - 1;
	const struct nt_session_patch *p;
	struct nt_session_patches all = { 0 };

	(void)state;
	assert_int_equal(nt_session_patches_compare(&all, 0x1000, first, first, len), 0);
	assert_int_equal(all.nr, 0);
	assert_null(nt_session_patches_ran(&all, 0x1000, len));
	assert_int_equal(nt_session_patches_compare(&all, 0x2000, last, first, 5), 0);
	assert_int_equal(nt_session_patches_compare(&all, 0x1000, first, last, len), 0);
	/* 0x1004..0x100c are two adjacent ranges, merged */
	assert_int_equal(all.nr, 3);
	assert_null(nt_session_patches_find(&all, 0x0, 0x1004));
	assert_ptr_equal(nt_session_patches_find(&all, 0x1004, 0x1005), &all.patch[0]);
	assert_ptr_equal(nt_session_patches_find(&all, 0x100b, 0x1011), &all.patch[0]);
	assert_ptr_equal(nt_session_patches_find(&all, 0x100c, 0x1011), &all.patch[1]);
	assert_ptr_equal(nt_session_patches_find(&all, 0x1014, 0x3000), &all.patch[2]);
	assert_null(nt_session_patches_find(&all, 0x2008, UINT64_MAX));
	/* by lines of 64 bytes: true of all that is near, and of long ranges */
	assert_true(nt_session_patches_maybe(&all, 0x1004, 0x1005));
	assert_true(nt_session_patches_maybe(&all, 0xff0, 0x1001));
	assert_true(nt_session_patches_maybe(&all, 0x3000, 0x3280));
	assert_false(nt_session_patches_maybe(&all, 0xff0, 0x1000));
	assert_false(nt_session_patches_maybe(&all, 0x1040, 0x1044));
	assert_false(nt_session_patches_maybe(&all, 0x1004, 0x1004));
	assert_null(nt_session_patches_ran(&all, 0x1000, 4));
	assert_null(nt_session_patches_ran(&all, 0x100c, 4));
	p = nt_session_patches_ran(&all, 0x1002, 4);
	assert_non_null(p);
	assert_int_equal(p->start, 0x1004);
	assert_int_equal(p->end, 0x100c);
	assert_null(nt_session_patches_ran(&all, 0x1002, 4));
	p = nt_session_patches_ran(&all, 0x1000, 0x2000);
	assert_int_equal(p->start, 0x1010);
	p = nt_session_patches_ran(&all, 0x1000, 0x2000);
	assert_int_equal(p->start, 0x2004);
	assert_int_equal(p->end, 0x2008);
	assert_null(nt_session_patches_ran(&all, 0x1000, 0x2000));
	nt_session_patches_free(&all);
	assert_int_equal(all.nr, 0);
}

/* There is a limit: beyond it the last range grows, and none is forgotten. */
static void many_patches(void **state)
{
	enum { BYTES = 8192 * 16 };
	static uint8_t first[BYTES], last[BYTES];
	struct nt_session_patches all = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < BYTES; i += 16)
		last[i] = 1;
	assert_int_equal(nt_session_patches_compare(&all, 0x10000, first, last, BYTES), 0);
	assert_int_equal(all.nr, 4096);
	for (i = 0; i < BYTES; i += 16) {
		assert_non_null(nt_session_patches_find(&all, 0x10000 + i, 0x10001 + i));
		assert_true(nt_session_patches_maybe(&all, 0x10000 + i, 0x10001 + i));
	}
	/* before all others, and then far behind them */
	assert_int_equal(nt_session_patches_compare(&all, 0x1000, first, last, 1), 0);
	assert_int_equal(nt_session_patches_compare(&all, 1ull << 40, first, last, BYTES), 0);
	assert_int_equal(all.nr, 4097);
	assert_true(nt_session_patches_maybe(&all, (1ull << 40) + 64, (1ull << 40) + 65));
	nt_session_patches_free(&all);
}

/* Each sink has a stream of its own. */
static void two_sinks(void **state)
{
	struct nt_session s = new_session();
	unsigned int cpu;

	(void)state;
	cpus[1][NTRACE_INFO_CPU_SINK] = 8;
	for (cpu = 0; cpu < 2; cpu++) {
		assert_int_equal(nt_session_add_terms(&s, cpu, (int)cpu, HW_ID(cpu)), 0);
		add_piece(&s, cpu, 0, 8, 0);
		add_window(&s, cpu, 0, 8, 10 + cpu, 0);
	}
	assert_int_equal(nt_session_finish(&s), 0);
	assert_int_equal(nt_session_streams(&s), 0);
	cpus[1][NTRACE_INFO_CPU_SINK] = 7;
	for (cpu = 0; cpu < 2; cpu++) {
		assert_int_equal(s.buffer[2 + cpu]->nr_windows, 1);
		expect(s.buffer[2 + cpu], 0, cpu, 10 + cpu, false, false);
	}
	nt_session_free(&s);
}

/* --------------------------------------------------------------- samples - */

static void add_sample(struct nt_session *s, uint64_t size, uint64_t time, uint64_t at)
{
	const struct nt_session_window window = { .size = size, .time = time, .cpu = 0, .tid = 10 };

	assert_int_equal(nt_session_add_sample(s, 0, 0, -1, &window, 0, at), 0);
}

/* Bytes that two have in common are decoded once. */
static void samples(void **state)
{
	struct nt_session s = new_session();
	const struct nt_session_buffer *b;

	(void)state;
	add_sample(&s, 40, 10, 20);
	add_sample(&s, 40, 30, 100);
	add_sample(&s, 40, 20, 40);		/* the first 20 are the last of the one before */
	assert_int_equal(nt_session_finish(&s), 0);
	b = s.buffer[0];
	assert_int_equal(b->nr_windows, 3);
	assert_int_equal(b->window[0].time, 10);
	assert_int_equal(b->window[0].size, 40);
	assert_int_equal(b->window[0].begin, NT_SESSION_BEGIN_ANYWHERE);
	assert_int_equal(b->window[1].time, 20);
	assert_int_equal(b->window[1].offset, 80 + 20);
	assert_int_equal(b->window[1].size, 20);
	assert_int_equal(b->window[1].begin, NT_SESSION_BEGIN_MESSAGE);
	assert_int_equal(b->window[2].time, 30);
	assert_int_equal(b->window[2].size, 40);
	nt_session_free(&s);
}

/* ----------------------------------------------------------------- words - */

static int read_code(void *ctx, uint64_t space, uint64_t addr, void *buf, size_t len)
{
	static const uint8_t code[] = { 0x73, 0, 0, 0, 0x13, 0, 0, 0 };	/* ecall; nop */

	(void)ctx;
	(void)space;
	if (addr < 0x1000 || addr >= 0x1000 + sizeof(code))
		return 0;
	if (len > 0x1000 + sizeof(code) - addr)
		len = 0x1000 + sizeof(code) - addr;
	memcpy(buf, code + (addr - 0x1000), len);
	return (int)len;
}

#define FLAGS(code, syscall)	nt_session_branch_flags(&s, &ev, code, syscall)

static void flags(void **state)
{
	const uint32_t call = NT_SESSION_BRANCH | NT_SESSION_CALL;
	const uint32_t ret = NT_SESSION_BRANCH | NT_SESSION_RETURN;
	struct nt_event ev = { .from = 0x1000, .to = 0xffffffff80000000 };
	struct nt_params params;
	struct nt_code *code;
	struct nt_session_syscall syscall = { 0 };
	struct nt_session s = { 0 };

	(void)state;
	assert_int_equal(nt_session_flags(NT_TYPE_NONE), 0);
	assert_int_equal(nt_session_flags(NT_TYPE_COND),
			 NT_SESSION_BRANCH | NT_SESSION_CONDITIONAL);
	assert_int_equal(nt_session_flags(NT_TYPE_IJUMP_LINK), NT_SESSION_BRANCH);
	assert_int_equal(nt_session_flags(NT_TYPE_SWAP), call);
	assert_int_equal(nt_session_flags(NT_TYPE_RET), ret);
	assert_int_equal(nt_session_flags(NT_TYPE_INTERRUPT),
			 call | NT_SESSION_ASYNC | NT_SESSION_INTERRUPT);

	nt_params_init(&params);
	code = nt_code_new(&params, read_code, NULL);
	assert_non_null(code);
	/* an ECALL, and its return, which is behind it; then it is over */
	ev.type = NT_TYPE_EXCEPTION;
	assert_int_equal(FLAGS(code, &syscall), call | NT_SESSION_SYSCALL);
	assert_int_equal(syscall.ip, 0x1000);
	ev = (struct nt_event){ .type = NT_TYPE_ERET, .from = ev.to, .to = 0x1000 };
	assert_int_equal(FLAGS(NULL, &syscall), ret | NT_SESSION_INTERRUPT);
	ev.to = 0x1004;
	assert_int_equal(FLAGS(NULL, &syscall), ret | NT_SESSION_SYSCALL);
	assert_int_equal(FLAGS(NULL, &syscall), ret | NT_SESSION_INTERRUPT);
	/* no ECALL; code that is not known; a task that is not */
	ev = (struct nt_event){ .type = NT_TYPE_TRAP, .from = 0x1004 };
	assert_int_equal(FLAGS(code, &syscall), call | NT_SESSION_INTERRUPT);
	ev.from = 0x1000;
	assert_int_equal(FLAGS(NULL, &syscall), call | NT_SESSION_INTERRUPT);
	assert_int_equal(syscall.ip, 0);
	assert_int_equal(FLAGS(code, NULL), call | NT_SESSION_SYSCALL);

	/* no trap seen yet: behind an ECALL and elsewhere; then none, until trace is skipped */
	syscall = (struct nt_session_syscall){ 0 };
	ev = (struct nt_event){ .type = NT_TYPE_ERET, .to = 0x1008 };
	assert_int_equal(FLAGS(code, &syscall), ret | NT_SESSION_INTERRUPT);
	syscall.known = 0;
	ev.to = 0x1004;
	assert_int_equal(FLAGS(NULL, &syscall), ret | NT_SESSION_INTERRUPT);
	assert_int_equal(FLAGS(code, &syscall), ret | NT_SESSION_SYSCALL);
	assert_int_equal(FLAGS(code, &syscall), ret | NT_SESSION_INTERRUPT);
	s.skips++;
	assert_int_equal(FLAGS(code, &syscall), ret | NT_SESSION_SYSCALL);
	/* an interrupt from user space: none is executed */
	syscall.known = 0;
	ev = (struct nt_event){ .type = NT_TYPE_INTERRUPT, .from = 0x1004 };
	FLAGS(code, &syscall);
	ev = (struct nt_event){ .type = NT_TYPE_ERET, .to = 0x1004 };
	assert_int_equal(FLAGS(code, &syscall), ret | NT_SESSION_INTERRUPT);
	nt_code_free(code);
}

static void losses(void **state)
{
	(void)state;
	assert_int_equal(nt_session_loss(NT_EOVERFLOW), NT_SESSION_LOSS_OVERFLOW);
	assert_int_equal(nt_session_loss(NT_EUNMAPPED), NT_SESSION_LOSS_CODE);
	assert_int_equal(nt_session_loss(NT_ECUT), NT_SESSION_LOSS_DATA);
	assert_int_equal(nt_session_loss(NT_ETCODE), NT_SESSION_LOSS_DATA);
	assert_int_equal(nt_session_loss(NT_ENOMODE), NT_SESSION_LOSS_FLOW);
}

/* ------------------------------------------------------------- intervals - */

#define MS	1000000ULL

/* Windows that end every 100 ms: those from `first` on are decoded, up to `end` */
static void expect_wanted(struct nt_session *s, uint64_t from, uint64_t to, size_t first,
			  size_t end)
{
	const struct nt_session_interval wanted = { from, to };
	size_t i;

	s->wanted = &wanted;
	s->nr_wanted = 1;
	assert_int_equal(nt_session_wanted(s, s->buffer[0], 0), first);
	for (i = first + 1; i < end; i++)
		assert_int_equal(nt_session_wanted(s, s->buffer[0], i), i);
	assert_int_equal(nt_session_wanted(s, s->buffer[0], end), s->buffer[0]->nr_windows);
}

/* Up to shortly before the next interval, branches need not be known one by one. */
static void nothing_is_wanted_before_an_interval(void **state)
{
	static const struct nt_session_interval wanted[] = {
		{ 700 * MS, 800 * MS }, { 300 * MS, 400 * MS }, { 0, 10 },
	};
	struct nt_session s = { .wanted = wanted, .nr_wanted = 3 };

	(void)state;
	assert_int_equal(nt_session_unwanted_until(&s, 0), 0);
	assert_int_equal(nt_session_unwanted_until(&s, 10), 0);
	assert_int_equal(nt_session_unwanted_until(&s, 11), 300 * MS - MS / 10);
	assert_true(nt_session_unwanted_until(&s, 400 * MS) < 300 * MS);
	assert_int_equal(nt_session_unwanted_until(&s, 400 * MS + 1), 700 * MS - MS / 10);
	assert_true(nt_session_unwanted_until(&s, 800 * MS) < 700 * MS);
	assert_int_equal(nt_session_unwanted_until(&s, 800 * MS + 1), UINT64_MAX);
}

/*
 * What a message's outcomes tell does not show which copy of the kernel ran: where patched code
 * ran, more events have to be decoded.
 */
static void doubt_needs_the_end_of_a_message(void **state)
{
	static const uint8_t first[4], last[4] = { 1 };
	struct nt_session_patches all = { 0 };
	struct nt_event ev[] = {
		{ .kind = NT_EV_COUNTED, .to = 0xff0 },
		{ .kind = NT_EV_BRANCH, .type = NT_TYPE_COND, .from = 0x1008, .to = 0x2000 },
		{ .kind = NT_EV_BRANCH, .type = NT_TYPE_RET, .from = 0x2008, .to = 0x3000,
		  .flags = NT_EVF_INFERRED },
		{ .kind = NT_EV_BRANCH, .type = NT_TYPE_RET, .from = 0x3008, .to = 0x1000 },
		{ .kind = NT_EV_CONTEXT },
		{ .kind = NT_EV_BRANCH, .type = NT_TYPE_JUMP, .from = 0x1004, .to = 0x2000 },
	};
	struct nt_session_queue q = { .ev = ev, .nr = 3, .patches = &all };

	(void)state;
	assert_int_equal(nt_session_patches_compare(&all, 0x1000, first, last, 4), 0);
	assert_true(nt_session_doubt_goes_on(&q));
	q.nr = 4;
	assert_false(nt_session_doubt_goes_on(&q));
	/* a later message; a CONTEXT is no transfer */
	q.nr = 6;
	assert_true(nt_session_doubt_goes_on(&q));
	/* without the branch that led there, and with it, and elsewhere */
	q.pos = 4;
	assert_false(nt_session_doubt_goes_on(&q));
	q.have_pc = true;
	q.pc = 0x1000;
	assert_true(nt_session_doubt_goes_on(&q));
	q.pc = 0x1004;
	assert_false(nt_session_doubt_goes_on(&q));
	q.pos = q.nr;
	assert_false(nt_session_doubt_goes_on(&q));
	nt_session_patches_free(&all);
}

static void intervals(void **state)
{
	static const struct nt_session_interval first = { 0, 0 };
	struct nt_session s = new_session();
	unsigned int i;

	(void)state;
	for (i = 0; i < 10; i++)
		add_window(&s, 0, 16 * i, 16, 100 * MS * (i + 1), 0);
	/* nothing is said: all of them */
	assert_int_equal(nt_session_wanted(&s, s.buffer[0], 3), 3);
	assert_int_equal(nt_session_wanted(&s, s.buffer[0], 10), 10);
	expect_wanted(&s, 0, UINT64_MAX, 0, 10);
	expect_wanted(&s, 450 * MS, 460 * MS, 4, 5);
	/* a stop so long before may be a pause, and clocks differ by so much */
	expect_wanted(&s, 410 * MS, 420 * MS, 3, 5);
	expect_wanted(&s, 411 * MS, 420 * MS, 4, 5);
	expect_wanted(&s, 450 * MS, 490 * MS, 4, 6);
	expect_wanted(&s, 450 * MS, 489 * MS, 4, 5);
	expect_wanted(&s, 0, 0, 0, 1);
	expect_wanted(&s, 950 * MS, UINT64_MAX, 9, 10);
	expect_wanted(&s, 2000 * MS, UINT64_MAX, 10, 10);
	/*
	 * A window without a time may have trace of any time. A sample may begin before the end of
	 * the previous sample.
	 */
	s.buffer[0]->window[1].time = 0;
	s.buffer[0]->window[8].sampled = true;
	s.wanted = &first;
	assert_int_equal(nt_session_wanted(&s, s.buffer[0], 1), 1);
	assert_int_equal(nt_session_wanted(&s, s.buffer[0], 2), 2);
	assert_int_equal(nt_session_wanted(&s, s.buffer[0], 3), 8);
	nt_session_free(&s);
}

/* Between two intervals there is something to leave out, too. */
static void two_intervals(void **state)
{
	static const struct nt_session_interval wanted[] = {
		{ 150 * MS, 160 * MS }, { 750 * MS, 760 * MS },
	};
	struct nt_session s = new_session();
	unsigned int i;

	(void)state;
	for (i = 0; i < 10; i++)
		add_window(&s, 0, 16 * i, 16, 100 * MS * (i + 1), 0);
	s.wanted = wanted;
	s.nr_wanted = 2;
	assert_int_equal(nt_session_wanted(&s, s.buffer[0], 0), 1);
	assert_int_equal(nt_session_wanted(&s, s.buffer[0], 2), 7);
	assert_int_equal(nt_session_wanted(&s, s.buffer[0], 8), 10);
	nt_session_free(&s);
}

/*
 * Bytes that the driver passed over have the time of the record behind them: the record's trace
 * began before them. Behind the last record they may be of any later time.
 */
static void intervals_behind_orphans(void **state)
{
	struct nt_session s = new_session();
	const struct nt_session_window *w;

	(void)state;
	add_piece(&s, 0, 0, 80, 0);
	add_window(&s, 0, 0, 16, 100 * MS, 0);
	add_window(&s, 0, 32, 16, 300 * MS, 0);
	add_window(&s, 0, 48, 16, 400 * MS, 0);
	assert_int_equal(nt_session_finish(&s), 0);
	w = s.buffer[0]->window;
	assert_int_equal(s.buffer[0]->nr_windows, 5);
	assert_true(w[1].orphan && w[4].orphan);
	assert_ptr_equal(nt_session_window_before(s.buffer[0], &w[0]), NULL);
	assert_ptr_equal(nt_session_window_before(s.buffer[0], &w[2]), &w[0]);
	expect_wanted(&s, 220 * MS, 230 * MS, 1, 3);
	expect_wanted(&s, 350 * MS, 360 * MS, 3, 4);
	expect_wanted(&s, 900 * MS, 910 * MS, 4, 5);
	nt_session_free(&s);
}

/* ------------------------------------------------------- whose a window is - */

/*
 * An Ownership message with scontext, six bits a byte. The open RTL has another FORMAT, SRC of 4
 * bits and one byte more. Return: its length
 */
static size_t put_owner(uint8_t *data, bool rtl, uint64_t tid)
{
	uint64_t process = tid << 5 | (rtl ? 0 : 2);
	uint64_t bits = process << (rtl ? 10 : 6) | NT_TCODE_OWNERSHIP;
	size_t len = 0;

	for (; bits >> 6; bits >>= 6)
		data[len++] = (bits & 0x3f) << 2;
	data[len++] = (bits & 0x3f) << 2 | 3;
	if (rtl)
		data[len++] = 3;
	return len;
}

/* ProgTraceSync: SRC if any, SYNC, an I-CNT of 0, F-ADDR */
static size_t put_begin(uint8_t *data, bool rtl)
{
	uint64_t bits = (uint64_t)NT_SYNC_TRACE_ENABLE << (rtl ? 10 : 6) | NT_TCODE_PROG_TRACE_SYNC;
	size_t len = 0;

	for (; bits >> 6; bits >>= 6)
		data[len++] = (bits & 0x3f) << 2;
	data[len++] = bits << 2 | 1;
	data[len++] = 0x20 << 2 | 3;
	if (rtl)
		data[len++] = 3;
	return len;
}

/* ProgTraceCorrelation: SRC if any, EVCODE, CDF, an I-CNT of one instruction */
static size_t put_end(uint8_t *data, bool rtl)
{
	uint64_t bits = (uint64_t)NT_EVCODE_DISABLE << (rtl ? 10 : 6) |
			NT_TCODE_PROG_TRACE_CORRELATION;
	size_t len = 0;

	bits |= 2ull << (rtl ? 16 : 12);
	for (; bits >> 6; bits >>= 6)
		data[len++] = (bits & 0x3f) << 2;
	data[len++] = bits << 2 | 3;
	if (rtl)
		data[len++] = 3;
	return len;
}

/* ------------------------------------------------- an interval of a stream - */

#define STREAM_ID(cpu)	(HW_ID(cpu) | NTRACE_HW_ID_CONTEXT | \
			 NTRACE_HW_ID_VERSION_1)

static uint8_t stream_bytes[256];

static size_t stream_reads;

static ssize_t read_stream(void *ctx, unsigned int file, uint64_t offset, void *buf, size_t len)
{
	stream_reads++;
	(void)ctx;
	(void)file;
	if (offset >= sizeof(stream_bytes))
		return 0;
	if (len > sizeof(stream_bytes) - offset)
		len = sizeof(stream_bytes) - offset;
	memcpy(buf, stream_bytes + offset, len);
	return len;
}

/*
 * Messages with SRC of 4 bits: ProgTraceSync of SYNC 5, 1 half-word, one byte of address; Ownership
 */
static size_t put_sync(uint8_t *data, unsigned int src)
{
	uint64_t bits = NT_TCODE_PROG_TRACE_SYNC | src << 6 | 5 << 10 | 1 << 14;

	data[0] = (bits & 0x3f) << 2;
	data[1] = (bits >> 6 & 0x3f) << 2;
	data[2] = (bits >> 12 & 0x3f) << 2 | 1;
	data[3] = 1 << 2 | 3;
	return 4;
}

static size_t put_src_owner(uint8_t *data, unsigned int src)
{
	uint64_t bits = NT_TCODE_OWNERSHIP | src << 6 | (5 << 5 | 2) << 10;
	size_t len = 0;

	for (; bits >> 6; bits >>= 6)
		data[len++] = (bits & 0x3f) << 2;
	data[len++] = (bits & 0x3f) << 2 | 3;
	return len;
}

/*
 * A stream of eight windows of 16 bytes, which go on from one to the next. SRC 1 has a sync message
 * in number 1 and its owner in number 2; SRC 2 has both in number 4. In number 6 is a sync message
 * of the one and the owner of the other.
 */
static void stream_intervals(void **state)
{
	static const struct nt_session_interval late = { 750 * MS, 760 * MS };
	static const struct nt_session_interval early = { 0, 450 * MS };
	struct nt_session s = new_session();
	unsigned int i;

	(void)state;
	s.read = read_stream;
	memset(stream_bytes, 0xff, sizeof(stream_bytes));
	put_sync(stream_bytes + 20, 1);
	put_src_owner(stream_bytes + 36, 1);
	put_sync(stream_bytes + 68, 2);
	put_src_owner(stream_bytes + 72, 2);
	put_sync(stream_bytes + 100, 1);
	put_src_owner(stream_bytes + 104, 2);
	assert_int_equal(nt_session_add_terms(&s, 0, 0, STREAM_ID(0)), 0);
	assert_int_equal(nt_session_add_terms(&s, 0, 1, STREAM_ID(1)), 0);
	add_piece(&s, 0, 0, 128, 0);
	for (i = 0; i < 8; i++)
		add_window(&s, 0, 16 * i, 16, 100 * MS * (i + 1), 0);
	assert_int_equal(nt_session_finish(&s), 0);
	assert_int_equal(nt_session_streams(&s), 0);
	assert_int_equal(s.nr_buffers, 3);
	s.wanted = &late;
	s.nr_wanted = 1;
	/* no window has both for the first CPU: from the beginning, and on without a gap */
	assert_int_equal(nt_session_wanted(&s, s.buffer[1], 0), 0);
	assert_true(s.buffer[1]->window[2].resume);
	/* the second begins where both are, wherever in the window */
	assert_int_equal(nt_session_wanted(&s, s.buffer[2], 0), 4);
	assert_false(s.buffer[2]->window[4].resume);
	assert_int_equal(s.buffer[2]->window[4].begin, NT_SESSION_BEGIN_ANYWHERE);
	assert_true(s.buffer[2]->window[5].resume);
	/* a flow that is already behind that one needs what lies between */
	assert_int_equal(nt_session_wanted(&s, s.buffer[2], 5), 5);
	assert_true(s.buffer[2]->window[5].resume);
	/* where the stream is broken it begins anyway */
	s.buffer[1]->window[3].resume = false;
	s.buffer[1]->wanted = 0;
	assert_int_equal(nt_session_wanted(&s, s.buffer[1], 0), 3);
	/* what a funnel held when the sink was emptied comes a window later */
	s.wanted = &early;
	s.buffer[1]->wanted = 0;
	assert_int_equal(nt_session_wanted(&s, s.buffer[1], 5), 5);
	assert_int_equal(nt_session_wanted(&s, s.buffer[1], 6), 8);
	nt_session_free(&s);
}

/* ------------------------------------------------- inside of a window - */

#define GROUPS	100
#define BEFORE	NT_SESSION_BEFORE_NS

/* A sync message each 1000 ns, an Ownership message behind it unless 30 <= group < 60, branches */
static void pack_groups(struct pack *p, size_t *group)
{
	unsigned int i, k;

	pack_init(p);
	for (i = 0; i < GROUPS; i++) {
		group[i] = p->len;
		p->timestamp = 1000 * i;
		pack_ptsync(p, NT_SYNC_PERIODIC, 0, 0x1000);
		p->timestamp = 1;
		if (i < 30 || i >= 60)
			pack_ownership(p, 5 << 5 | 2);
		p->timestamp = 10;
		for (k = 0; k < 50; k++)
			pack_db(p, 4);
	}
}

/* The time of the group that decoding begins with, for an interval from this time on */
static int begin_of(struct nt_session_queue *q, const struct nt_params *params,
		    const size_t *group, uint64_t from)
{
	const struct nt_session_interval wanted = { from + BEFORE, from + BEFORE + 10 };
	struct nt_session *s = q->session;
	unsigned int i;
	size_t at;

	s->wanted = &wanted;
	s->nr_wanted = 1;
	at = nt_session_interval_begin(q, &s->buffer[0]->window[1], params);
	s->nr_wanted = 0;
	for (i = 0; i < GROUPS; i++)
		if (group[i] == at)
			return (int)i * 1000;
	return at == q->data_skip ? -1 : -2;
}

/* What precedes the last sync message before an interval is not decoded. */
static void begin_inside(void **state)
{
	struct ntrace_info timed = info;
	struct nt_session s = new_session();
	struct nt_session_queue q = { .session = &s, .timed = true, .owned = true };
	struct nt_params params;
	static size_t group[GROUPS];
	static struct pack p;

	(void)state;
	timed.conversion.mult = 1;
	s.info = &timed;
	nt_params_init(&params);
	params.timestamps = true;
	params.tstamp_bits = 64;
	pack_groups(&p, group);
	assert_true(p.len < sizeof(p.buf) && group[1] < 256 && group[31] - group[30] < 256);
	add_window(&s, 0, 0, 16, 10, 0);
	add_window(&s, 0, 16, p.len, 1000 * GROUPS, 0);
	q.buffer = s.buffer[0];
	q.data = p.buf;
	q.data_len = p.len;
	q.data_skip = 7;	/* where no message begins: decode all of it */

	/* no more than NEAR bytes, three groups, before the last one that is early enough */
	assert_in_range(begin_of(&q, &params, group, 20500), 17000, 20000);
	assert_in_range(begin_of(&q, &params, group, 99999), 96000, 99000);
	/* a time that a sync message has: what follows may be wanted */
	assert_in_range(begin_of(&q, &params, group, 21000), 18000, 21000);
	/* whose the others are is not known */
	assert_in_range(begin_of(&q, &params, group, 59500), 27000, 29000);
	q.owned = false;
	assert_in_range(begin_of(&q, &params, group, 59500), 56000, 59000);
	/* nothing is early enough, or everything may be wanted */
	assert_int_equal(begin_of(&q, &params, group, 500), -1);
	s.buffer[0]->window[0].time = BEFORE + 30000;
	assert_int_equal(begin_of(&q, &params, group, 20500), -1);
	s.buffer[0]->window[0].time = 10;

	/* the clock wraps every 65,536 ns: only in a shorter window is it known how often it did */
	params.tstamp_bits = 16;
	assert_int_equal(begin_of(&q, &params, group, 20500), -1);
	s.buffer[0]->window[0].time = 50000;
	q.ticks_from = 100000 - 65536 + 1;
	assert_in_range(begin_of(&q, &params, group, 60500), 57000, 60000);
	params.tstamp_bits = 64;
	q.ticks_from = 0;

	/* a sample's beginning is anywhere, and an orphan has no time */
	s.buffer[0]->window[1].sampled = true;
	assert_int_equal(begin_of(&q, &params, group, 60500), -1);
	s.buffer[0]->window[1].sampled = false;
	s.buffer[0]->window[1].orphan = true;
	assert_int_equal(begin_of(&q, &params, group, 60500), -1);
	s.buffer[0]->window[1].orphan = false;
	params.timestamps = false;
	assert_int_equal(begin_of(&q, &params, group, 60500), -1);
	params.timestamps = true;
	nt_session_free(&s);
}

/* A CPU that has no sync message in a long stream: each window is looked at once. */
static void stream_without_sync(void **state)
{
	static const struct nt_session_interval late = { 100 * 500 * MS, UINT64_MAX };
	struct nt_session s = new_session();
	size_t i, opened = 0;

	(void)state;
	s.read = read_stream;
	memset(stream_bytes, 0xff, sizeof(stream_bytes));
	assert_int_equal(nt_session_add_terms(&s, 0, 0, STREAM_ID(0)), 0);
	assert_int_equal(nt_session_add_terms(&s, 0, 1, STREAM_ID(1)), 0);
	add_piece(&s, 0, 0, 16 * 500, 0);
	for (i = 0; i < 500; i++)
		add_window(&s, 0, 16 * i, 16, 100 * MS * (i + 1), 0);
	assert_int_equal(nt_session_finish(&s), 0);
	assert_int_equal(nt_session_streams(&s), 0);
	s.wanted = &late;
	s.nr_wanted = 1;
	stream_reads = 0;
	for (i = 0; (i = nt_session_wanted(&s, s.buffer[1], i)) < 500; i++)
		opened++;
	assert_int_equal(opened, 500);
	assert_in_range(stream_reads, 1, 500);
	nt_session_free(&s);
}

#define TASK	160	/* the recording knows these two */
#define OTHER	162
#define STRANGE	7160	/* but not this one: a number of another PID namespace */

static bool knows_task(struct nt_session_queue *q, pid_t tid)
{
	(void)q;
	return tid == TASK || tid == OTHER;
}

/* The kernel's code at F-ADDR: csrw scontext, a0, or an addition */
static int read_kernel(void *ctx, uint64_t space, uint64_t addr, void *buf, size_t len)
{
	const uint32_t insn = *(const bool *)ctx ? 0x5a851073 : 0x00150513;

	(void)space;
	if (addr != 0x40 || len < sizeof(insn))
		return 0;
	memcpy(buf, &insn, sizeof(insn));
	return sizeof(insn);
}

static struct nt_code *owners_code;

static struct nt_code *kernel_code(struct nt_session_queue *q)
{
	(void)q;
	return owners_code;
}

static uint64_t owned_until(unsigned int profile, pid_t tid, const int *told, bool switched)
{
	struct nt_session_window w = {
		.offset = 0x1000, .hw_id = NTRACE_HW_ID_PRIV_S, .of_task = true, .tid = tid,
	};
	const struct nt_session_host host = { .knows = knows_task, .kernel = kernel_code };
	struct nt_session_queue q = { .host = &host };
	const bool rtl = profile == NT_PROFILE_TT_DFD;
	struct nt_params params;
	uint8_t data[64];
	uint64_t until;
	size_t len;

	nt_params_init(&params);
	params.profile = profile;
	params.srcbits = rtl ? 4 : 0;
	params.high_from = 0x10;
	owners_code = nt_code_new(&params, read_kernel, &switched);
	assert_non_null(owners_code);
	len = put_begin(data, rtl);
	for (; *told >= 0; told++)
		len += put_owner(data + len, rtl, *told);
	len += put_end(data + len, rtl);
	q.data = data;
	q.data_len = len;
	until = nt_session_owned_until(&q, &w, &params);
	nt_code_free(owners_code);
	return until;
}

#define SYNC_1_0	3	/* bytes of put_begin() */

static void owners(void **state)
{
	static const unsigned int profiles[] = { NT_PROFILE_1_0, NT_PROFILE_TT_DFD };
	unsigned int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		const unsigned int profile = profiles[i];
		const bool traps = profile == NT_PROFILE_TT_DFD;

		/*
		 * The tail of a switch tells the next task: it is not that one's. Messages at traps
		 * alone tell of events that were exchanged there and back, too: the flow shows it.
		 */
		assert_int_equal(owned_until(profile, TASK, (const int[]){ TASK, OTHER, -1 }, true),
				 traps ? UINT64_MAX : 0x1000 + SYNC_1_0);
		assert_int_equal(owned_until(profile, TASK,
					     (const int[]){ TASK, OTHER, -1 }, false),
				 0x1000 + SYNC_1_0 + 2 * traps);
		/* events exchanged without a stop, which a message tells */
		assert_int_equal(owned_until(profile, OTHER,
					     (const int[]){ TASK, OTHER, -1 }, false),
				 traps ? UINT64_MAX : 0x1004 + SYNC_1_0);
		/* and which none tells before the encoder is off */
		assert_int_equal(owned_until(profile, OTHER, (const int[]){ TASK, TASK, -1 }, true),
				 UINT64_MAX);
		/* the record has numbers of a PID namespace, the messages have not */
		assert_int_equal(owned_until(profile, TASK, (const int[]){ STRANGE, STRANGE, -1 },
					     false), 0);
		assert_int_equal(owned_until(profile, TASK, (const int[]){ STRANGE, OTHER, -1 },
					     false), 0);
		/* nobody tells anything, or that the CPU was idle */
		assert_int_equal(owned_until(profile, TASK, (const int[]){ -1 }, false), 0);
		assert_int_equal(owned_until(profile, TASK, (const int[]){ 0, -1 }, false), 0);
	}
}

/*
 * Without code, too, an Ownership message tells the task, whose number has no format with TT_DFD.
 */
static void quick_owner(void **state)
{
	static const unsigned int profiles[] = { NT_PROFILE_1_0, NT_PROFILE_TT_DFD };
	unsigned int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		const bool rtl = profiles[i] == NT_PROFILE_TT_DFD;
		struct nt_session_quick *qk;
		struct nt_params params;
		struct nt_event ev[4];
		uint8_t data[32];
		size_t len;

		nt_params_init(&params);
		params.profile = profiles[i];
		params.srcbits = rtl ? 4 : 0;
		qk = nt_session_quick_new(&params, false);
		assert_non_null(qk);
		len = put_begin(data, rtl);
		len += put_owner(data + len, rtl, TASK);
		nt_session_quick_window(qk, data, len, 0, false, false);
		assert_int_equal(nt_session_quick_next(qk, ev, 4, UINT64_MAX), 2);
		assert_int_equal(ev[0].kind, NT_EV_START);
		assert_int_equal(ev[0].to, 0x40);
		assert_int_equal(ev[1].kind, NT_EV_CONTEXT);
		assert_int_equal(ev[1].context, TASK);
		nt_session_quick_free(qk);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(terms),
		cmocka_unit_test(bytes),
		cmocka_unit_test(ring),
		cmocka_unit_test(streams),
		cmocka_unit_test(streams_mark),
		cmocka_unit_test(streams_mark_pieces),
		cmocka_unit_test(passed),
		cmocka_unit_test(patches),
		cmocka_unit_test(many_patches),
		cmocka_unit_test(two_sinks),
		cmocka_unit_test(samples),
		cmocka_unit_test(flags),
		cmocka_unit_test(losses),
		cmocka_unit_test(owners),
		cmocka_unit_test(quick_owner),
		cmocka_unit_test(intervals),
		cmocka_unit_test(nothing_is_wanted_before_an_interval),
		cmocka_unit_test(doubt_needs_the_end_of_a_message),
		cmocka_unit_test(two_intervals),
		cmocka_unit_test(stream_intervals),
		cmocka_unit_test(begin_inside),
		cmocka_unit_test(stream_without_sync),
		cmocka_unit_test(intervals_behind_orphans),
	};

	return RUN_TAP(tests);
}
