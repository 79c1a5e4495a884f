// SPDX-License-Identifier: GPL-2.0-only
/*
 * Output of millions of short lines, formatted by hand for speed
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"

#define ROOM_FIRST	((size_t)1 << 16)
/* Buffer of a thread while earlier pieces are being written */
#define ROOM_MAX	((size_t)8 << 20)

/* Room for a number, the longest text that is written without checking */
#define ROOM		32

/* Number of calls of out_later() before a thread waits for its turn */
#define OUT_HOLES	4

/*
 * Threads make parts of the output of a command at the same time. Each thread has a buffer of its
 * own.
 */
static _Thread_local struct {
	char *text;
	size_t used, room;
	bool (*turn)(void *ctx, bool wait);
	void *turn_ctx;
	struct hole {
		size_t at;
		void (*put)(void *ctx);
		void *ctx;
	} holes[OUT_HOLES];
	unsigned int n_holes;
} out;

/* The file that stdout was redirected to */
static struct outfile file;
static bool failed;

void out_to(const char *path)
{
	outfile_open(&file, path);
	if (dup2(file.fd, STDOUT_FILENO) < 0)
		die_machine("%s: %s", path, strerror(errno));
}

bool out_whole(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return true;
	if (!failed)
		fprintf(stderr, "ntrace: cannot write to %s: %s\n",
			file.path ? file.path : "standard output", strerror(errno));
	failed = true;
	return false;
}

void out_done(void)
{
	if (!out_whole())
		exit(EXIT_UNUSABLE);
	if (file.path)
		outfile_close(&file);
	file.path = NULL;
}

static void write_text(size_t from, size_t to)
{
	if (from < to && fwrite(out.text + from, 1, to - from, stdout) != to - from &&
	    !out_whole())
		exit(EXIT_UNUSABLE);
}

void out_flush(void)
{
	size_t done = 0;
	unsigned int i;

	if (out.turn)
		out.turn(out.turn_ctx, true);
	for (i = 0; i < out.n_holes; i++) {
		write_text(done, out.holes[i].at);
		out.holes[i].put(out.holes[i].ctx);
		done = out.holes[i].at;
	}
	out.n_holes = 0;
	write_text(done, out.used);
	if (!out_whole())
		exit(EXIT_UNUSABLE);
	out.used = 0;
}

static void make_room(void)
{
	bool mine = !out.turn || out.turn(out.turn_ctx, false);

	if (out.room && (mine || out.room >= ROOM_MAX)) {
		out_flush();
		return;
	}
	out.room = out.room ? 2 * out.room : ROOM_FIRST;
	out.text = realloc(out.text, out.room);
	if (!out.text)
		die("%s", nt_strerror(NT_ENOMEM));
}

void out_turns(bool (*turn)(void *ctx, bool wait), void *ctx)
{
	out.turn = turn;
	out.turn_ctx = ctx;
}

void out_later(void (*hole)(void *ctx), void *ctx)
{
	if (out.n_holes == OUT_HOLES)
		out_flush();
	out.holes[out.n_holes++] = (struct hole){ out.used, hole, ctx };
}

void out_free(void)
{
	free(out.text);
	memset(&out, 0, sizeof(out));
}

static inline void need(size_t room)
{
	if (__builtin_expect(out.room - out.used < room, 0))
		make_room();
}

/*
 * Make room for so many bytes, so that out_since() returns them in one piece. Returns where they
 * begin.
 */
size_t out_room(size_t room)
{
	need(room);
	return out.used;
}

const char *out_since(size_t begin, size_t *len)
{
	*len = out.used - begin;
	return out.text + begin;
}

void out_bytes(const char *text, size_t len)
{
	need(len);
	memcpy(out.text + out.used, text, len);
	out.used += len;
}

void out_plain(const char *s)
{
	for (; *s; s++)
		out_char(utf8_is_control(*s) ? '.' : *s);
}

void out_char(char c)
{
	need(1);
	out.text[out.used++] = c;
}

void out_str(const char *s)
{
	out_bytes(s, strlen(s));
}

/*
 * Update out.used only once: a store to out.text may alias any member of `out', so that the
 * compiler would reload it after each digit.
 */
void out_hex(uint64_t value)
{
	unsigned int digits = value ? (67 - __builtin_clzll(value)) / 4 : 1;
	char *p;

	need(ROOM);
	out.used += digits;
	for (p = out.text + out.used; digits--; value >>= 4)
		*--p = "0123456789abcdef"[value & 15];
}

/* The nine digits of a fraction of a second: one, and four pairs that do not wait for each other */
void out_nanoseconds(uint32_t ns)
{
	static const char pairs[] =
		"0001020304050607080910111213141516171819"
		"2021222324252627282930313233343536373839"
		"4041424344454647484950515253545556575859"
		"6061626364656667686970717273747576777879"
		"8081828384858687888990919293949596979899";
	const uint32_t high = ns / 10000, low = ns % 10000;
	char digits[9];

	digits[0] = (char)('0' + high / 10000);
	memcpy(digits + 1, pairs + 2 * (high / 100 % 100), 2);
	memcpy(digits + 3, pairs + 2 * (high % 100), 2);
	memcpy(digits + 5, pairs + 2 * (low / 100), 2);
	memcpy(digits + 7, pairs + 2 * (low % 100), 2);
	out_bytes(digits, sizeof(digits));
}

void out_dec(uint64_t value)
{
	char text[ROOM], *p = text + ROOM;

	*--p = '\0';
	do
		*--p = (char)('0' + value % 10);
	while (value /= 10);
	out_str(p);
}

void out_trouble(const struct nt_event *ev)
{
	out_str(ev->kind == NT_EV_LOSS ? "# loss at 0x" : "# note at 0x");
	out_hex(ev->offset);
	out_str(": ");
	out_str(nt_strerror(ev->reason));
	if (ev->kind == NT_EV_LOSS && ev->reason == NT_EUNMAPPED) {
		out_str(" at ");
		out_hex(ev->to);
	}
	if (ev->flags & NT_EVF_PC) {
		out_str(", pc ");
		out_hex(ev->from);
	}
	if (ev->kind == NT_EV_LOSS) {
		out_str(", skipped ");
		out_dec(ev->skipped);
	}
	out_char('\n');
}
