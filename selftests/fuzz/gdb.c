// SPDX-License-Identifier: GPL-2.0-only
/*
 * GDB's packets, a line each: whatever they say, one reply comes, which fits what was announced;
 * and each thread is somewhere in its recording. What comes as bytes of a stream is packets, or is
 * not.
 */
#include <stdlib.h>
#include <string.h>

#include "../../tools-perf/ntrace/gdb.h"
#include "../../tools-perf/ntrace/serve.h"

/* fuzz.h has an `input' of its own, as the command has */
#define MUST(cond)	do { if (!(cond)) abort(); } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

void __attribute__((noreturn)) die(const char *fmt, ...)
{
	(void)fmt;
	abort();
}

static struct serve_recording rec;
static struct serve_library library = { "/a&b.so", 0x1000 };
static struct serve_csr csrs[] = { { 0x300, "mstatus" }, { 0x7c0, "csr7c0" } };

/* Loops in loops, calls, a trap, a loss and a gap; more runs than a chunk has */
static struct serve_track *make_track(const char *name, uint64_t base, unsigned int runs)
{
	struct serve_track *t = serve_track_new(&rec.program, name, 1);
	static const uint8_t types[] = { NT_TYPE_COND, NT_TYPE_CALL, NT_TYPE_RET, NT_TYPE_TRAP,
					 NT_TYPE_ERET };
	uint32_t chance = 1;

	serve_track_mark(t, SERVE_BEGIN, "begins");
	for (unsigned int i = 0; i < runs; i++) {
		struct serve_run run = { .pc = base + chance % 64 * 16, .type = types[chance % 5] };

		run.insns = (uint8_t)(run.type == NT_TYPE_TRAP ? 0 : 1 + chance % 7);
		run.halves = chance >> 8 & 0x5555;
		serve_track_put(t, &run);
		serve_track_time(t, i * 10, i & 1);
		if (i == runs / 2)
			serve_track_mark(t, SERVE_LOSS, "lost");
		if (i == runs / 3)
			serve_track_mark(t, SERVE_GAP, "gap");
		chance = i % 8 ? chance : chance * 1664525u + 1013904223u;
	}
	serve_track_stop(t, base, true);
	serve_track_end(t);
	return t;
}

static const char *name_of(void *ctx, uint32_t space, uint64_t addr, uint64_t *offset)
{
	(void)ctx;
	(void)space;
	*offset = addr & 15;
	return addr & 16 ? "function<&>" : NULL;
}

static bool reg_of(void *ctx, const struct serve_track *t, uint64_t insn, unsigned int reg,
		   uint64_t *value)
{
	(void)ctx;
	MUST(insn <= t->insns);
	*value = insn;
	return reg & 1;
}

static bool touched(void *ctx, const struct serve_track *t, uint64_t low, uint64_t high, bool back,
		    const struct serve_watch *watch, size_t nr, uint64_t *found, size_t *which)
{
	(void)ctx;
	(void)watch;
	MUST(low <= high && high <= t->insns && nr);
	*found = back ? high - 1 : low;
	*which = nr - 1;
	return low < high && nr > 1;
}

static void make(void)
{
	serve_program_init(&rec.program);
	rec.track = calloc(2, sizeof(*rec.track));
	rec.track[0] = make_track("a&b", 0x1000, 300);
	rec.track[1] = make_track("second", 0x8000, 50);
	rec.nr_tracks = 2;
	rec.path = "fuzz";
	rec.xlen = 64;
	rec.flen = 64;
	rec.csr = csrs;
	rec.nr_csrs = 2;
	rec.exec_file = strdup("/no/file");
	rec.library = &library;
	rec.nr_libraries = 1;
	rec.symbol = name_of;
	rec.reg = reg_of;
	rec.touched = touched;
}

struct client {
	struct serve_session session;
	unsigned int replies;
};

static void take_reply(void *ctx, const char *data, size_t len)
{
	struct client *c = ctx;

	/* a reply that goes on GDB's terminal is followed by another */
	if (data[0] != 'O' || !strcmp(data, "OK"))
		c->replies++;
	MUST(len <= SERVE_PACKET_MAX && !data[len]);
}

static void check_positions(const struct client *c)
{
	for (size_t i = 0; i < rec.nr_tracks; i++)
		MUST(c->session.at[i] <= serve_track_last(rec.track[i]));
	MUST(c->session.current < rec.nr_tracks && c->session.chosen < rec.nr_tracks);
}

/* As bytes come over a connection, whatever they are */
static void take_stream(const uint8_t *data, size_t size)
{
	char body[65];
	struct gdb_taker t = { .body = body, .room = sizeof(body) - 1 };

	for (size_t i = 0; i < size; i++)
		if (gdb_take(&t, (char)data[i]) == GDB_PACKET)
			MUST(t.len <= t.room && !body[t.len]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct serve_options options = { .threads = 1, .btrace = 200 };
	const uint8_t *p = data, *end = data + size;
	struct client c = { .replies = 0 };
	char line[600];

	if (!rec.nr_tracks)
		make();
	take_stream(data, size);
	serve_session_init(&c.session, &rec, &options);
	c.session.packet = take_reply;
	c.session.ctx = &c;
	while (p < end && !c.session.ended) {
		const uint8_t *newline = memchr(p, '\n', (size_t)(end - p));
		size_t whole = (size_t)((newline ? newline : end) - p), n = whole;

		if (n > sizeof(line) - 1)
			n = sizeof(line) - 1;
		memcpy(line, p, n);
		line[n] = '\0';
		p += newline ? whole + 1 : whole;
		c.replies = 0;
		serve_session_packet(&c.session, line, n);
		MUST(c.replies == (line[0] != 'k'));
		check_positions(&c);
	}
	serve_session_free(&c.session);
	return 0;
}
