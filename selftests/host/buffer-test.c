// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which bytes of an AUX buffer are a window (nt-session-buffer.c): records twice, in another file,
 * filled up, lost; circular buffers; what the driver passed over; where decoding begins.
 */
#include "cmocka-tap.h"

#include <stdlib.h>
#include <string.h>

#include <linux/ntrace.h>

#include "nt-session.h"

static void add_piece(struct nt_session_buffer *b, uint64_t offset, uint64_t size, uint64_t time)
{
	const struct nt_session_piece piece = { .offset = offset, .size = size,
						.file_offset = 1000 };

	assert_int_equal(nt_session_buffer_add_piece(b, &piece, time), 0);
}

static void add_window(struct nt_session_buffer *b, uint64_t offset, uint64_t size, uint64_t time)
{
	const struct nt_session_window window = {
		.offset = offset, .size = size, .time = time, .flags = 4, .hw_id = 7, .cpu = 1,
		.tid = 10,
	};

	assert_int_equal(nt_session_buffer_add_window(b, &window), 0);
}

/* Window number i of the buffer in the end */
static void expect(const struct nt_session_buffer *b, size_t i, uint64_t offset, uint64_t size,
		   bool orphan)
{
	assert_true(i < b->nr_windows);
	if (b->window[i].offset != offset || b->window[i].size != size ||
	    b->window[i].orphan != orphan)
		fail_msg("%#lx %#lx %d, not %#lx %#lx %d", b->window[i].offset, b->window[i].size,
			 b->window[i].orphan, offset, size, orphan);
}

static void finish(struct nt_session_buffer *b, size_t windows)
{
	assert_int_equal(nt_session_buffer_finish(b), 0);
	assert_int_equal(b->nr_windows, windows);
}

static void order(void **state)
{
	struct nt_session_buffer b = { .cpu = 1 };

	(void)state;
	add_piece(&b, 0, 300, 0);
	add_window(&b, 200, 100, 30);
	add_window(&b, 100, 100, 20);
	add_window(&b, 0, 100, 10);
	/* one without bytes is about what was before */
	add_window(&b, 100, 0, 21);
	finish(&b, 4);
	expect(&b, 0, 0, 100, false);
	expect(&b, 1, 100, 0, false);
	expect(&b, 2, 100, 100, false);
	expect(&b, 3, 200, 100, false);
	nt_session_buffer_free(&b);
	assert_int_equal(b.nr_windows, 0);
	finish(&b, 0);
}

/* perf record writes what comes between two looks twice; without a time nothing tells. */
static void repeated(void **state)
{
	struct nt_session_buffer b = { .cpu = 1 };

	(void)state;
	add_piece(&b, 0, 200, 0);
	add_window(&b, 0, 100, 10);
	add_window(&b, 100, 100, 20);
	add_window(&b, 0, 100, 10);
	add_window(&b, 200, 0, 0);
	add_window(&b, 200, 0, 0);
	finish(&b, 4);
	expect(&b, 0, 0, 100, false);
	expect(&b, 1, 100, 100, false);
	nt_session_buffer_free(&b);
}

/* Files of --switch-output: AUX records of bytes that are in the file before, or behind */
static void elsewhere(void **state)
{
	struct nt_session_buffer b = { .cpu = 1 };

	(void)state;
	add_piece(&b, 1000, 0, 50);
	assert_true(b.begin.there && !b.end.there);
	add_window(&b, 900, 100, 50);
	add_window(&b, 1000, 100, 60);
	add_piece(&b, 1000, 100, 0);
	add_window(&b, 1100, 100, 71);
	add_piece(&b, 1100, 0, 70);
	assert_true(b.end.there);
	finish(&b, 1);
	expect(&b, 0, 1000, 100, false);
	nt_session_buffer_free(&b);
}

/* perf fills records up to 8 bytes: those are no trace, up to 7 of them. */
static void filled(void **state)
{
	struct nt_session_buffer b = { .cpu = 1 };

	(void)state;
	add_piece(&b, 0, 16, 0);
	add_piece(&b, 13, 16, 0);
	add_window(&b, 0, 10, 10);
	add_window(&b, 10, 12, 20);
	finish(&b, 2);
	assert_int_equal(b.piece[0].size, 13);
	assert_int_equal(b.piece[1].size, 9);
	nt_session_buffer_free(&b);

	add_piece(&b, 0, 16, 0);
	add_window(&b, 0, 8, 10);
	finish(&b, 2);
	expect(&b, 1, 8, 8, true);
	nt_session_buffer_free(&b);
}

/* Trace whose AUX record was lost: before, between, behind others; it is like its neighbours. */
static void orphans(void **state)
{
	struct nt_session_buffer b = { .cpu = 3 };

	(void)state;
	add_piece(&b, 0, 300, 0);
	add_window(&b, 40, 60, 10);
	add_window(&b, 200, 50, 20);
	finish(&b, 5);
	expect(&b, 0, 0, 40, true);
	expect(&b, 1, 40, 60, false);
	expect(&b, 2, 100, 100, true);
	expect(&b, 3, 200, 50, false);
	expect(&b, 4, 250, 50, true);
	assert_int_equal(b.window[2].hw_id, 7);
	assert_int_equal(b.window[2].tid, 10);
	assert_int_equal(b.window[2].flags, 0);
	assert_int_equal(b.window[2].cpu, 3);
	nt_session_buffer_free(&b);

	/* nobody to be like */
	add_piece(&b, 0, 100, 0);
	finish(&b, 1);
	expect(&b, 0, 0, 100, true);
	assert_int_equal(b.window[0].hw_id, 0);
	nt_session_buffer_free(&b);
}

/* A snapshot has the end of one window and all of the next. */
static void ring(void **state)
{
	struct nt_session_buffer b = { .cpu = 1 };
	size_t i;

	(void)state;
	add_window(&b, 0, 100, 10);
	add_window(&b, 100, 100, 20);
	add_window(&b, 200, 100, 30);
	for (i = 0; i < 3; i++)
		b.window[i].ring = true;
	add_piece(&b, 160, 140, 0);
	finish(&b, 2);
	expect(&b, 0, 160, 40, false);
	expect(&b, 1, 200, 100, false);
	assert_int_equal(b.window[0].begin, NT_SESSION_BEGIN_ANYWHERE);
	assert_int_equal(b.window[1].begin, NT_SESSION_BEGIN_SYNC);
	nt_session_buffer_free(&b);
}

static void mark(uint8_t *data, uint64_t skipped)
{
	memset(data, 0xff, NTRACE_AUX_SKIP_IDLE);
	memcpy(data + NTRACE_AUX_SKIP_IDLE, &skipped, 8);
}

static bool all_idle(const uint8_t *data, size_t len)
{
	while (len && *data == 0xff)
		data++, len--;
	return !len;
}

/* Idle bytes in place of what the driver passed over: before what is left, or up to the end */
static void blank(void **state)
{
	uint8_t data[100];

	(void)state;
	memset(data, 0x11, sizeof(data));
	mark(data, 60);
	nt_session_buffer_blank(data, sizeof(data));
	assert_true(all_idle(data, 60));
	assert_int_equal(data[60], 0x11);

	memset(data, 0x11, sizeof(data));
	mark(data + 40, 60);
	nt_session_buffer_blank(data, sizeof(data));
	assert_int_equal(data[39], 0x11);
	assert_true(all_idle(data + 40, 60));

	/* ... or up to what perf fills its last record of trace up with */
	memset(data, 0x11, sizeof(data));
	mark(data + 40, 53);
	memset(data + 93, 0, 7);
	nt_session_buffer_blank(data, sizeof(data));
	assert_int_equal(data[39], 0x11);
	assert_true(all_idle(data + 40, 60));
	memset(data, 0xff, 12);
	memset(data + 12, 0, 4);
	nt_session_buffer_blank(data, 16);
	assert_true(all_idle(data, 16));
	memset(data, 0x11, sizeof(data));
	mark(data, 92);
	memset(data + 92, 0, 8);
	nt_session_buffer_blank(data, sizeof(data));
	assert_true(all_idle(data, 92));
	assert_int_equal(data[92], 0);

	/* no mark: shorter than one, or of more than there is */
	memset(data, 0x11, sizeof(data));
	mark(data, 15);
	nt_session_buffer_blank(data, sizeof(data));
	assert_int_equal(data[8], 15);
	mark(data, 101);
	nt_session_buffer_blank(data, sizeof(data));
	assert_int_equal(data[8], 101);
	nt_session_buffer_blank(data, 12);
	assert_int_equal(data[8], 101);
}

/* The end of a message, a message without address, a sync message */
static void begin(void **state)
{
	static const uint8_t data[] = {
		9 << 2, 5 << 2 | 1, 0x40 | 3,		/* the end of one, as it happens */
		33 << 2, 4 << 2, 0x03,			/* ProgTraceCorrelation: no address */
		9 << 2, 5 << 2 | 1, 0x40 | 3,		/* ProgTraceSync */
		9 << 2, 5 << 2 | 1, 0x40 | 3,
	};
	struct nt_session_window w = { .begin = NT_SESSION_BEGIN_SYNC };
	struct nt_params p;
	struct nt_msg msg;
	size_t at;

	(void)state;
	nt_params_init(&p);
	assert_int_equal(nt_session_window_skip(&w, &p, data, sizeof(data), false), 0);
	w.begin = NT_SESSION_BEGIN_ANYWHERE;
	at = nt_session_window_skip(&w, &p, data, sizeof(data), false);
	assert_int_equal(at, 6);
	assert_true(nt_msg_decode(&p, data + at, sizeof(data) - at, &msg) > 0);
	assert_int_equal(msg.tcode, NT_TCODE_PROG_TRACE_SYNC);
	w.begin = NT_SESSION_BEGIN_MESSAGE;
	assert_int_equal(nt_session_window_skip(&w, &p, data + at, sizeof(data) - at, false), 0);
	/* there is none */
	assert_int_equal(nt_session_window_skip(&w, &p, data + 3, 3, false), 3);
	assert_int_equal(nt_session_window_skip(&w, &p, data + 3, 3, true), 3);
	/* the sync message is cut; it is kept if the next window continues the stream */
	assert_int_equal(nt_session_window_skip(&w, &p, data + 3, 5, true), 3);
	assert_int_equal(nt_session_window_skip(&w, &p, data + 3, 5, false), 5);
	assert_false(nt_session_window_is_middle(data + 3, 5, 3));
	/* the window is inside a message whose beginning is unknown */
	w.begin = NT_SESSION_BEGIN_ANYWHERE;
	assert_int_equal(nt_session_window_skip(&w, &p, data, 2, true), 2);
	assert_true(nt_session_window_is_middle(data, 2, 2));
	assert_false(nt_session_window_is_middle(data, 3, 3));
	assert_false(nt_session_window_is_middle(data, 0, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order),
		cmocka_unit_test(repeated),
		cmocka_unit_test(elsewhere),
		cmocka_unit_test(filled),
		cmocka_unit_test(orphans),
		cmocka_unit_test(ring),
		cmocka_unit_test(blank),
		cmocka_unit_test(begin),
	};

	return RUN_TAP(tests);
}
