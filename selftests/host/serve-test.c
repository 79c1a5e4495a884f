// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace gdbserver: tracks made by hand, of several threads with times, with losses, and with calls
 * deeper than any sample has. Packets go to the session itself; its chunks are small.
 */
#include <stdbool.h>
#include <string.h>

#include "cmocka-tap.h"
#include "die.h"
#include "random.h"
#include "../../tools-perf/ntrace/serve.h"

/* ---------------------------------------------------------------- client - */

static struct serve_recording rec;
static struct serve_session session;
static char last[65536];	/* reply */
static char said[1 << 20];	/* on GDB's terminal, before it */

static void take_reply(void *ctx, const char *data, size_t len)
{
	size_t n = strlen(said);
	unsigned int byte;

	(void)ctx;
	if (data[0] != 'O' || !strcmp(data, "OK")) {
		assert_true(len < sizeof(last));
		memcpy(last, data, len + 1);
		return;
	}
	for (size_t i = 1; i + 1 < len && n + 1 < sizeof(said); i += 2) {
		sscanf(data + i, "%2x", &byte);
		said[n++] = (char)byte;
	}
	said[n] = '\0';
}

static const char *ask(const char *fmt, ...)
{
	char packet[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(packet, sizeof(packet), fmt, ap);
	va_end(ap);
	*said = *last = '\0';
	serve_session_packet(&session, packet, strlen(packet));
	return last;
}

static const char *monitor(const char *fmt, ...)
{
	char command[200], hex[402];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	for (size_t i = 0; i <= strlen(command); i++)
		sprintf(hex + 2 * i, "%02x", (unsigned char)command[i]);
	hex[2 * strlen(command)] = '\0';
	assert_string_equal(ask("qRcmd,%s", hex), "OK");
	return said;
}

/* ------------------------------------------------------------ recordings - */

static void begin(size_t threads)
{
	static const char *const names[] = { "a", "b", "c" };

	rec = (struct serve_recording){ .path = "test", .xlen = 64, .timed = true };
	serve_program_init(&rec.program);
	rec.track = calloc(threads, sizeof(*rec.track));
	assert_non_null(rec.track);
	for (size_t i = 0; i < threads; i++)
		rec.track[rec.nr_tracks++] = serve_track_new(&rec.program, names[i], (int)i);
}

/* Instructions of 4 bytes */
static void put(struct serve_track *t, uint64_t pc, unsigned int insns, unsigned int type)
{
	struct serve_run run = { .pc = pc, .insns = (uint8_t)insns, .type = (uint8_t)type };

	for (unsigned int i = 0; i < insns; i++)
		run.halves |= 1ull << 2 * i;
	serve_track_put(t, &run);
}

/* A loop of 8 instructions, each time later */
static void put_loop(struct serve_track *t, uint64_t pc, unsigned int times, uint64_t from,
		     uint64_t apart)
{
	for (unsigned int i = 0; i < times; i++) {
		serve_track_time(t, from + i * apart, false);
		put(t, pc, 8, NT_TYPE_JUMP);
	}
}

static void serve(void)
{
	static const struct serve_options options = { .threads = 1 };

	for (size_t i = 0; i < rec.nr_tracks; i++)
		serve_track_end(rec.track[i]);
	serve_session_init(&session, &rec, &options);
	session.packet = take_reply;
	ask("qSupported:swbreak+");
}

/* Threads that execute at the same times, each a loop at an address of its own */
static void serve_loops(size_t threads)
{
	begin(threads);
	for (size_t i = 0; i < threads; i++)
		put_loop(rec.track[i], 0x1000 * (i + 1), 100, 1000, 100);
	serve();
}

static void end(void)
{
	serve_session_free(&session);
	for (size_t i = 0; i < rec.nr_tracks; i++)
		serve_track_free(rec.track[i]);
	free(rec.track);
	serve_program_free(&rec.program);
	serve_files_free(&rec.files);
}

/* --------------------------------------------------------------- threads - */

/* A thread's own gaps do not keep it from a breakpoint while another one is looked at. */
static void behind_a_gap(void **state)
{
	(void)state;
	begin(2);
	put_loop(rec.track[0], 0x1000, 1000, 1000, 100);
	put_loop(rec.track[1], 0x2000, 50, 1000, 100);
	serve_track_mark(rec.track[1], SERVE_GAP, "a signal");
	put_loop(rec.track[1], 0x2000, 50, 6000, 100);
	put_loop(rec.track[1], 0x3000, 900, 11000, 100);
	serve();
	ask("Z0,3008,4");
	assert_non_null(strstr(ask("vCont;c"), "thread:2;swbreak"));
	assert_int_equal(session.at[1], 802);
	end();
}

#define STOPS	20000

struct order {
	struct { uint64_t time, at; size_t track; } stop[STOPS];
	size_t nr;
};

static void note_stop(struct order *o)
{
	size_t t = session.current;

	assert_true(o->nr < STOPS);
	o->stop[o->nr].track = t;
	o->stop[o->nr].at = session.at[t];
	assert_true(serve_track_time_at(rec.track[t], session.at[t], &o->stop[o->nr].time));
	o->nr++;
}

static bool is_before(const struct order *o, size_t a, size_t b)
{
	if (o->stop[a].time != o->stop[b].time)
		return o->stop[a].time < o->stop[b].time;
	if (o->stop[a].track != o->stop[b].track)
		return o->stop[a].track < o->stop[b].track;
	return o->stop[a].at < o->stop[b].at;
}

static bool is_at(const struct order *o, size_t i)
{
	return o->stop[i].track == session.current && o->stop[i].at == session.at[session.current];
}

/* Runs at random, which begin at 16 addresses; returns how often the breakpoint is executed. */
static size_t put_random(struct serve_track *t, uint64_t point, uint64_t tick)
{
	uint64_t time = 1000000;
	size_t hits = 0;

	for (unsigned int i = 0; i < 1500; i++) {
		unsigned int insns = 1 + (unsigned int)rnd(31);
		uint64_t pc = 0x1000 + 0x100 * rnd(16);

		serve_track_time(t, time / tick * tick, false);
		put(t, pc, insns, NT_TYPE_JUMP);
		hits += point >= pc && point < pc + 4 * insns;
		time += rnd(40);
	}
	return hits;
}

/* Each stop is once, in the order of time, thread and position; going back, the same in reverse. */
static void one_order(void **state)
{
	static const uint64_t ticks[] = { 1, 7, 100, 5000, 1000000 };
	static struct order forth, back;

	(void)state;
	for (unsigned int round = 0; round < 15; round++) {
		uint64_t point = 0x1714;
		size_t hits = 0;

		begin(3);
		for (size_t i = 0; i < 3; i++)
			hits += put_random(rec.track[i], point, ticks[round % 5]);
		serve();
		forth.nr = back.nr = 0;
		ask("Z0,%" PRIx64 ",4", point);
		while (!strstr(ask("vCont;c"), "replaylog:end"))
			note_stop(&forth);
		assert_int_equal(forth.nr, hits);
		for (size_t i = 1; i < forth.nr; i++)
			assert_true(is_before(&forth, i - 1, i));
		/* a stop at the very end is where it is, and not passed again */
		hits -= is_at(&forth, hits - 1);
		while (!strstr(ask("bc"), "replaylog:begin"))
			note_stop(&back);
		assert_int_equal(back.nr, hits);
		for (size_t i = 0; i < hits; i++) {
			assert_int_equal(back.stop[i].track, forth.stop[hits - 1 - i].track);
			assert_int_equal(back.stop[i].at, forth.stop[hits - 1 - i].at);
		}
		end();
	}
}

/* Of one thread 8 instructions, a system call of a second, 8 more; another runs all the time. */
static void begin_call(void)
{
	struct serve_track *a;

	begin(2);
	a = rec.track[0];
	serve_track_time(a, 1000, true);
	put(a, 0x1000, 8, NT_TYPE_NONE);
	serve_track_time(a, 2000, true);
	serve_track_pause(a, 0x1024);
	serve_track_time(a, 1000002000, true);
	put(a, 0x1024, 8, NT_TYPE_NONE);
	put_loop(rec.track[1], 0x2000, 1000, 1500, 1000000);
	serve();
}

/* How often the step of the first thread stops at the other's breakpoint before it is done */
static unsigned int stops_in_step(const char *packet, uint64_t until)
{
	unsigned int n = 0;

	while (strstr(ask("%s", packet), "thread:2;") && n < 2000)
		n++;
	assert_non_null(strstr(last, "thread:1;"));
	assert_int_equal(session.at[0], until);
	return n;
}

static void step_meets_others(void **state)
{
	(void)state;
	begin_call();
	monitor("thread 1 goto 7");
	assert_int_equal(stops_in_step("vCont;s:1;c", 8), 0);
	monitor("thread 1 goto 7");
	ask("Z0,2008,4");
	/* when the other stops, this one has reached its system call */
	assert_int_equal(stops_in_step("vCont;s:1;c", 9), 1000);
	monitor("thread 1 goto 7");
	assert_int_equal(stops_in_step("vCont;r1000,1028:1;c", 9), 1000);
	/* GDB has one thread step from a breakpoint, and takes its breakpoints away before. */
	monitor("thread 1 goto 7");
	assert_int_equal(stops_in_step("vCont;s:1", 8), 0);
	assert_true(session.at[1] < 16);
	end();
}

static void ended_thread(void **state)
{
	uint64_t at;

	(void)state;
	begin(2);
	put_loop(rec.track[0], 0x1000, 100, 1000, 100);
	put_loop(rec.track[1], 0x2000, 1000, 1000, 100);
	serve();
	monitor("thread 2 goto 5000");
	assert_int_equal(session.at[0], serve_track_last(rec.track[0]));
	at = session.at[1];
	assert_non_null(strstr(ask("vCont;s:1;c"), "thread:1;replaylog:end"));
	assert_int_equal(session.at[1], at);
	assert_non_null(strstr(ask("vCont;r1000,1100:1;c"), "thread:1;replaylog:end"));
	assert_int_equal(session.at[1], at);
	end();
}

/* Hg says which thread a packet without one means, unless Hc does. */
static void chosen_thread(void **state)
{
	(void)state;
	serve_loops(2);
	monitor("goto 100");
	assert_string_equal(ask("Hg2"), "OK");
	assert_string_equal(ask("Hc0"), "OK");
	assert_non_null(strstr(ask("bs"), "thread:2;"));
	assert_string_equal(ask("Hg1"), "OK");
	assert_non_null(strstr(ask("bs"), "thread:1;"));
	assert_string_equal(ask("Hc2"), "OK");
	assert_string_equal(ask("Hg1"), "OK");
	assert_non_null(strstr(ask("bs"), "thread:2;"));
	assert_string_equal(ask("Hc-1"), "OK");
	assert_string_equal(ask("Hg1"), "OK");
	assert_non_null(strstr(ask("s"), "thread:1;"));
	end();
}

/*
 * `info threads' of GDB reads the list of threads once more than a stop does, and selects each
 * thread with Hg to read its registers. A packet that names no thread still goes to the user's
 * thread. GDB's `thread N' changes the user's thread; GDB sends T to check that thread N is alive.
 */
static void user_thread(void **state)
{
	(void)state;
	serve_loops(3);
	assert_string_equal(ask("T2"), "OK");
	assert_string_equal(ask("Hg2"), "OK");
	monitor("goto 100");
	assert_non_null(strstr(ask("vCont;s:2;c"), "thread:2;"));
	ask("qXfer:threads:read::0,1000");
	ask("qXfer:threads:read::0,1000");
	assert_string_equal(ask("Hg1"), "OK");
	assert_string_equal(ask("Hg3"), "OK");
	assert_non_null(strstr(monitor("position"), "b: instruction 101 of"));
	assert_string_equal(ask("Hc0"), "OK");
	assert_non_null(strstr(ask("bs"), "thread:2;"));
	assert_int_equal(session.at[1], 100);
	ask("qXfer:threads:read::0,1000");
	ask("qXfer:threads:read::0,1000");
	assert_string_equal(ask("Hg3"), "OK");
	assert_string_equal(ask("T1"), "OK");
	assert_non_null(strstr(ask("bs"), "thread:1;"));
	end();
}

/* With scheduler-locking on GDB names the thread that goes back: others stay. */
static void back_alone(void **state)
{
	(void)state;
	serve_loops(2);
	monitor("thread 1 goto 400");
	assert_non_null(strstr(ask("vCont;c:2"), "thread:2;replaylog:end"));
	assert_string_equal(ask("Hc1"), "OK");
	assert_non_null(strstr(ask("bs"), "thread:1;"));
	assert_int_equal(session.at[0], 399);
	assert_int_equal(session.at[1], 799);
	assert_non_null(strstr(ask("bc"), "thread:1;replaylog:begin"));
	assert_int_equal(session.at[1], 799);
	end();
}

/* Each thread has a history of its own. */
static void branch_traces(void **state)
{
	(void)state;
	serve_loops(2);
	monitor("thread 1 goto 400");
	for (unsigned int i = 1; i <= 2; i++) {
		ask("Hg%u", i);
		assert_string_equal(ask("Qbtrace:bts"), "OK");
	}
	ask("Hg1");
	assert_non_null(strstr(ask("qXfer:btrace:read:all:0,1000"), "0x1000"));
	ask("Hg2");
	assert_string_equal(ask("qXfer:btrace:read:delta:0,1000"), "E00");
	assert_non_null(strstr(ask("qXfer:btrace:read:all:0,1000"), "0x2000"));
	assert_string_equal(ask("qXfer:btrace:read:some:0,1000"), "E00");
	end();
}

/* vCont does what it says, or nothing. */
static void resumption(void **state)
{
	static const char *const refused[] = {
		"vCont;", "vCont;;c", "vCont;x", "vCont;t", "vCont;r1", "vCont;r1,", "vCont;r,8",
		"vCont;C", "vCont;S1", "vCont;S1;c", "vCont;c:", "vCont;c:4", "vCont;c1",
		"vCont;c;",
		"vCont;s:1;x", "vCont;c:2;c:3", "vCont;s:1;s:2;c", "m1000,4,", "m1000", "p1,",
	};
	uint64_t at[3];

	(void)state;
	serve_loops(3);
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		monitor("thread 1 goto 100");
		for (size_t k = 0; k < 3; k++)
			at[k] = session.at[k];
		assert_int_equal(*ask("%s", refused[i]), 'E');
		for (size_t k = 0; k < 3; k++)
			assert_int_equal(session.at[k], at[k]);
	}
	/* one thread alone */
	assert_non_null(strstr(ask("vCont;c:2"), "thread:2;replaylog:end"));
	assert_int_equal(session.at[0], at[0]);
	assert_int_equal(session.at[1], 799);
	assert_int_equal(session.at[2], at[2]);
	/* all of them, however it is said; the one that is looked at stops them */
	ask("Hg1");
	monitor("thread 1 goto 100");
	assert_non_null(strstr(ask("vCont;c:1;c:2;c:3"), "thread:1;replaylog:end"));
	assert_true(session.at[2] > at[2]);
	monitor("thread 1 goto 100");
	assert_non_null(strstr(ask("vCont;s:2;c:-1"), "thread:2;"));
	assert_int_equal(session.at[1], at[1] + 1);
	monitor("thread 1 goto 100");
	assert_non_null(strstr(ask("vCont;S05:3;C05"), "thread:3;"));
	assert_int_equal(session.at[2], at[2] + 1);
	assert_string_equal(ask("m1000,0"), "E01");
	end();
}

static void monitor_thread(void **state)
{
	(void)state;
	serve_loops(2);
	assert_non_null(strstr(monitor("thread 2 position"), "b: instruction 0 of 800"));
	assert_non_null(strstr(monitor("position"), "a: instruction 0 of 800"));
	assert_non_null(strstr(monitor("thread 2 goto 16"), "b: instruction 16 of 800"));
	assert_int_equal(session.at[1], 16);
	assert_non_null(strstr(monitor("thread 1 thread 2 where"), "#0  0x2000"));
	assert_non_null(strstr(monitor("thread 3 position"), "expected the number of"));
	assert_non_null(strstr(monitor("thread 0 position"), "expected the number of"));
	assert_non_null(strstr(monitor("thread position"), "expected the number of"));
	assert_non_null(strstr(monitor("thread 2"), "expected the number of"));
	assert_non_null(strstr(monitor("thread 2 boast"), "is not known"));
	end();
}

/* ---------------------------------------------------------------- points - */

/* What is lost is said wherever one comes to it: at a breakpoint, and at the end. */
static void words(void **state)
{
	struct serve_track *t;

	(void)state;
	begin(1);
	t = rec.track[0];
	put_loop(t, 0x1000, 10, 1000, 100);
	serve_track_mark(t, SERVE_LOSS, "some bytes");
	put_loop(t, 0x2000, 10, 2000, 100);
	serve_track_mark(t, SERVE_GAP, "no more");
	serve();
	assert_null(strstr(ask("vCont;c"), "swbreak"));
	assert_non_null(strstr(said, "some bytes"));
	assert_non_null(strstr(ask("vCont;c"), "replaylog:end"));
	assert_non_null(strstr(said, "no more"));
	monitor("goto 0");
	ask("Z0,2000,4");
	assert_non_null(strstr(ask("vCont;c"), "swbreak"));
	assert_int_equal(session.at[0], 80);
	assert_non_null(strstr(said, "some bytes"));
	assert_non_null(strstr(ask("vCont;c"), "swbreak"));
	assert_string_equal(said, "");
	end();
}

/* GDB has breakpoints of two kinds, and may put both at one address. */
static void two_kinds(void **state)
{
	(void)state;
	begin(1);
	put_loop(rec.track[0], 0x1000, 100, 1000, 100);
	serve();
	for (unsigned int kind = 0; kind < 2; kind++) {
		monitor("goto 0");
		ask("Z0,1008,4");
		ask("Z0,1008,4");
		ask("Z1,1008,4");
		ask("z%u,1008,4", kind);
		assert_non_null(strstr(ask("vCont;c"), "swbreak"));
		ask("z%u,1008,4", kind);
		assert_non_null(strstr(ask("vCont;c"), "swbreak"));
		ask("z%u,1008,4", 1 - kind);
		assert_non_null(strstr(ask("vCont;c"), "replaylog:end"));
	}
	end();
}

static uint64_t farthest;

static bool touched(void *ctx, const struct serve_track *t, uint64_t low, uint64_t high, bool back,
		    const struct serve_watch *watch, size_t nr, uint64_t *found, size_t *which)
{
	(void)ctx;
	(void)t;
	(void)low;
	(void)back;
	(void)watch;
	(void)nr;
	(void)found;
	(void)which;
	if (high > farthest)
		farthest = high;
	return false;
}

/* What a line does is looked at, and not all that is behind it. */
static void range_is_bounded(void **state)
{
	(void)state;
	begin(1);
	put(rec.track[0], 0x1000, 8, NT_TYPE_JUMP);
	put_loop(rec.track[0], 0x2000, 1000, 1000, 100);
	rec.touched = touched;
	serve();
	ask("Z2,4000,8");
	farthest = 0;
	ask("vCont;r1000,1010:1;c");
	assert_int_equal(session.at[0], 4);
	assert_in_range(farthest, 1, 4);
	ask("Z0,1018,4");
	assert_non_null(strstr(ask("vCont;r1000,1020:1;c"), "swbreak"));
	assert_int_equal(session.at[0], 6);
	assert_in_range(farthest, 4, 8);
	end();
}

static unsigned int asked, patience, gone_over;

/* Somebody who waits for so many answers */
static bool loses_patience(void *ctx)
{
	(void)ctx;
	return ++asked >= patience;
}

static bool goes_over(void *ctx, const struct serve_track *t, uint64_t low, uint64_t high,
		      bool back, const struct serve_watch *watch, size_t nr, uint64_t *found,
		      size_t *which)
{
	assert_in_range(high - low, 1, 65536);
	gone_over++;
	return touched(ctx, t, low, high, back, watch, nr, found, which);
}

/* Nothing has moved, and no more was done than is done between two answers. */
static void check_interrupt(const char *packet, uint64_t at, unsigned int times)
{
	unsigned int all;

	monitor("goto %" PRIu64, at);
	asked = gone_over = 0;
	patience = UINT32_MAX;
	assert_non_null(strstr(ask("%s", packet), "T05"));
	all = asked;
	assert_true(all >= times);
	for (patience = 1; patience <= all; patience += 1 + all / 20) {
		monitor("goto %" PRIu64, at);
		asked = gone_over = 0;
		assert_non_null(strstr(ask("%s", packet), "T02thread:1;"));
		assert_non_null(strstr(said, "interrupted"));
		assert_int_equal(session.at[0], at);
		assert_int_equal(asked, patience);
		assert_true(gone_over < patience);
	}
}

/* 400 chunks look as if they had the breakpoint: a run has its bit, as there are 4096 bits. */
static void interrupts(void **state)
{
	const unsigned int chunks = 400, runs = chunks * SERVE_CHUNK;

	(void)state;
	begin(2);
	for (unsigned int i = 0; i <= SERVE_FILTER; i++)
		put(rec.track[0], 0x1000 + 0x100 * i, 8, NT_TYPE_JUMP);
	for (unsigned int i = 0; i < runs; i++)
		put(rec.track[0], 0x1000, 8, NT_TYPE_JUMP);
	put_loop(rec.track[1], 0x200000, 10, 1000, 100);
	rec.touched = goes_over;
	serve();
	session.interrupt.wanted = loses_patience;
	ask("Z0,%x,4", 0x1000 + 0x100 * SERVE_FILTER);
	check_interrupt("bc", rec.track[0]->insns - 1, chunks);
	check_interrupt("vCont;c", 8 * (SERVE_FILTER + 1), chunks);
	check_interrupt("vCont;r1000,1020:1;c", 8 * (SERVE_FILTER + 1), chunks);
	ask("z0,%x,4", 0x1000 + 0x100 * SERVE_FILTER);
	ask("Z2,4000,8");
	check_interrupt("bc", rec.track[0]->insns - 1, runs * 8 / 65536);
	check_interrupt("vCont;c", 8 * (SERVE_FILTER + 1), runs * 8 / 65536);
	end();
}

/* ----------------------------------------------------------------- calls - */

#define DEPTH	3000

/* `where' and `calls' say so many, of which the first are lines */
static void check_depth(uint64_t at, unsigned int depth)
{
	unsigned int lines = 0, more = 0;
	const char *p;

	monitor("goto %" PRIu64, at);
	for (p = monitor("where"); (p = strchr(p, '\n')); p++)
		lines++;
	p = strstr(said, "... and ");
	if (p)
		more = (unsigned int)strtoul(p + 8, NULL, 10);
	assert_int_equal(lines - 1 - !!p + more, depth);
	assert_int_equal(more, depth > 64 ? depth - 64 : 0);
}

/* A function calls itself, and returns, partly and as a whole; the chunks are much shorter. */
static void deep_calls(void **state)
{
	static unsigned int depth_at[16 * DEPTH];
	unsigned int depth = 0, n = 0, lines = 0;
	struct serve_track *t;

	(void)state;
	begin(1);
	t = rec.track[0];
	for (unsigned int turn = 0; turn < 2; turn++) {
		for (; depth < DEPTH; depth++) {
			depth_at[n++] = depth;
			put(t, 0x1000, 1, NT_TYPE_CALL);
		}
		for (; depth > 600 * (1 - turn); depth--) {
			depth_at[n++] = depth;
			put(t, depth == DEPTH ? 0x1000 : 0x1004, 1, NT_TYPE_RET);
		}
		put(t, 0x1004, 1, NT_TYPE_JUMP);
		depth_at[n++] = depth;
	}
	serve();
	for (unsigned int i = 0; i < 300; i++) {
		unsigned int at = (unsigned int)rnd(n);

		check_depth(at, depth_at[at]);
	}
	monitor("goto %u", DEPTH);
	for (const char *p = monitor("calls 1000000"); (p = strstr(p, " called 0x1000")); p++)
		lines++;
	assert_int_equal(lines, DEPTH);
	assert_null(strstr(said, "more"));
	for (const char *p = monitor("where 100"); (p = strchr(p, '\n')); p++)
		lines--;
	assert_int_equal(lines, DEPTH - 102);
	end();
}

/* ------------------------------------------------------------- registers - */

/* Code from 0x1000 on, in a file */
static void add_code(const uint32_t *code, size_t n)
{
	FILE *f = tmpfile();

	assert_non_null(f);
	assert_int_equal(fwrite(code, 4, n, f), n);
	fflush(f);
	/* the session reads it by number */
	serve_files_add(&rec.files, dup(fileno(f)), 0x1000, 4 * n, 0);
	fclose(f);
}

/* One run in each of these spaces, at the same address */
static void put_spaces(struct serve_track *t, uint32_t spaces)
{
	for (uint32_t i = 0; i < spaces; i++)
		serve_track_put(t, &(struct serve_run){
			.pc = 0x1000, .insns = 2, .halves = 5, .space = i, .type = NT_TYPE_JUMP,
		});
}

static const char *memory_at(uint64_t at, uint64_t addr, unsigned int len)
{
	monitor("goto %" PRIu64, at);
	return ask("m%" PRIx64 ",%x", addr, len);
}

/* What is mapped changes: memory, and registers that follow from the code, are of that time. */
static void mapped_later(void **state)
{
	static const uint32_t first[] = { 0x11111513, 0x22222222, 0x33333333, 0x44444444 };
	static const uint32_t second[] = { 0x00700513, 0x66666666 };

	(void)state;
	begin(1);
	put_spaces(rec.track[0], 5);
	add_code(first, 4);
	rec.files.space = 1;
	serve_files_cut(&rec.files, 0x1004, 0x1008);
	rec.files.space = 2;
	serve_files_end(&rec.files, 0);
	rec.files.space = 3;
	add_code(second, 2);
	rec.files.space = 4;
	serve_files_cut(&rec.files, 0xf00, 0x1001);
	serve();
	assert_string_equal(memory_at(0, 0x1000, 16), "13151111222222223333333344444444");
	assert_string_equal(memory_at(2, 0x1000, 16), "13151111");
	assert_string_equal(memory_at(2, 0x1004, 1), "E01");
	assert_string_equal(memory_at(3, 0x1008, 16), "3333333344444444");
	assert_string_equal(memory_at(4, 0x1000, 16), "E01");
	assert_string_equal(memory_at(6, 0x1000, 16), "1305700066666666");
	assert_string_equal(memory_at(7, 0x1000, 1), "13");
	assert_string_equal(ask("pa"), "0700000000000000");
	assert_string_equal(memory_at(8, 0x1000, 1), "E01");
	assert_string_equal(memory_at(10, 0x1001, 16), "05700066666666");
	end();
}

static bool is_known(uint64_t at, unsigned int reg)
{
	monitor("goto %" PRIu64, at);
	return *ask("p%x", reg) != 'x';
}

#define LI(rd, value)		((value) << 20 | (rd) << 7 | 0x13)
#define NOP			0x13
/* amocas.q a2, a4, (t0); amocas.d; ld a2, 0(t0), on RV32 of Zilsd; lbu a2, 0(t0) */
#define AMOCAS(width)		(5u << 27 | 14 << 20 | 5 << 15 | (width) << 12 | 12 << 7 | 0x2f)
#define LOAD(width)		(5u << 15 | (width) << 12 | 12 << 7 | 3)
/* Of Zfinx, Zdinx: fmadd a2, a4, a5, t0, and fnmadd; fadd a2, a4, a5 */
#define FMADD(width)		(5u << 27 | (width) << 25 | 15 << 20 | 14 << 15 | 12 << 7 | 0x43)
#define FNMADD(width)		(FMADD(width) | 0xc)
#define FADD(width)		((width) << 25 | 15 << 20 | 14 << 15 | 12 << 7 | 0x53)
/* c.ld a2, 0(a5) and c.ldsp a2, 0(sp) of Zclsd, each behind c.nop */
#define C_LD			0x63900001u
#define C_LDSP			0x66020001u

/* Is a3 known behind an instruction that writes a2? */
static bool is_kept(unsigned int xlen, uint32_t insn)
{
	uint32_t code[] = { LI(12, 1), LI(13, 7), insn, NOP, NOP };
	struct serve_run run = { .pc = 0x1000, .insns = 5, .halves = 0x155, .type = NT_TYPE_JUMP };
	bool a2, a3;

	begin(1);
	rec.xlen = xlen;
	add_code(code, 5);
	if ((insn & 3) != 3) {
		run.insns = 6;
		run.halves = 0x505;	/* two of 2 bytes in the middle */
	}
	serve_track_put(rec.track[0], &run);
	serve();
	assert_true(is_known(2, 12) && is_known(2, 13));
	a2 = is_known(run.insns - 1, 12);
	a3 = is_known(run.insns - 1, 13);
	assert_false(a2);
	end();
	return a3;
}

/* What writes two registers leaves neither of them known. */
static void pairs(void **state)
{
	(void)state;
	assert_false(is_kept(64, AMOCAS(4)));
	assert_true(is_kept(64, AMOCAS(3)));
	assert_false(is_kept(32, AMOCAS(3)));
	assert_true(is_kept(32, AMOCAS(2)));
	assert_false(is_kept(32, LOAD(3)));
	assert_true(is_kept(64, LOAD(3)));
	assert_true(is_kept(64, LOAD(4)));
	assert_true(is_kept(32, LOAD(4)));
	assert_false(is_kept(32, C_LD));
	assert_true(is_kept(64, C_LD));
	assert_false(is_kept(32, C_LDSP));
	assert_true(is_kept(64, C_LDSP));
}

/* With Zfinx, floating-point registers are x0 to x31; a double of Zdinx takes two of RV32. */
static void floats_in_integers(void **state)
{
	(void)state;
	for (unsigned int xlen = 32; xlen <= 64; xlen += 32) {
		assert_true(is_kept(xlen, FMADD(0u)));
		assert_true(is_kept(xlen, FNMADD(0u)));
		assert_true(is_kept(xlen, FMADD(2u)));
		assert_true(is_kept(xlen, FADD(0u)));
		assert_int_equal(is_kept(xlen, FMADD(1u)), xlen == 64);
		assert_int_equal(is_kept(xlen, FNMADD(1u)), xlen == 64);
		assert_int_equal(is_kept(xlen, FADD(1u)), xlen == 64);
	}
}

/* A system call may change registers, wherever chunks end. */
static void pause_at_chunk(void **state)
{
	static const uint32_t code[] = { LI(10, 42), 0x73, NOP, NOP };

	(void)state;
	for (unsigned int before = SERVE_CHUNK - 4; before < SERVE_CHUNK + 2; before++) {
		begin(1);
		add_code(code, 4);
		for (unsigned int i = 0; i < before; i++)
			put(rec.track[0], 0x100c, 1, NT_TYPE_JUMP);
		put(rec.track[0], 0x1000, 2, NT_TYPE_NONE);
		serve_track_pause(rec.track[0], 0x1008);
		put(rec.track[0], 0x1008, 2, NT_TYPE_JUMP);
		serve();
		assert_true(is_known(before + 1, 10));
		assert_false(is_known(before + 2, 10));
		assert_false(is_known(before + 3, 10));
		end();
	}
}

/* A host that answers: what a trap leads to is right behind it, and registers are others. */
static void answered(void **state)
{
	static const uint32_t code[] = { LI(10, 42), 0x100073, NOP, NOP };

	(void)state;
	for (unsigned int before = SERVE_CHUNK - 4; before < SERVE_CHUNK + 2; before++)
		for (unsigned int alone = 0; alone < 2; alone++) {
			begin(1);
			add_code(code, 4);
			for (unsigned int i = 0; i < before; i++)
				put(rec.track[0], 0x100c, 1, NT_TYPE_JUMP);
			put(rec.track[0], 0x1000, 1, alone ? NT_TYPE_JUMP : NT_TYPE_EXCEPTION);
			if (alone)
				put(rec.track[0], 0x1004, 0, NT_TYPE_EXCEPTION);
			put(rec.track[0], 0x1008, 2, NT_TYPE_JUMP);
			serve();
			assert_false(is_known(before + 1, 10));
			assert_false(is_known(before + 2, 10));
			end();
		}
}

/* ------------------------------------------------------------------ main - */

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(behind_a_gap),
		cmocka_unit_test(one_order),
		cmocka_unit_test(step_meets_others),
		cmocka_unit_test(ended_thread),
		cmocka_unit_test(chosen_thread),
		cmocka_unit_test(user_thread),
		cmocka_unit_test(back_alone),
		cmocka_unit_test(branch_traces),
		cmocka_unit_test(answered),
		cmocka_unit_test(resumption),
		cmocka_unit_test(monitor_thread),
		cmocka_unit_test(words),
		cmocka_unit_test(two_kinds),
		cmocka_unit_test(range_is_bounded),
		cmocka_unit_test(interrupts),
		cmocka_unit_test(deep_calls),
		cmocka_unit_test(mapped_later),
		cmocka_unit_test(pairs),
		cmocka_unit_test(floats_in_integers),
		cmocka_unit_test(pause_at_chunk),
	};

	rnd_begin();
	return RUN_TAP(tests);
}
