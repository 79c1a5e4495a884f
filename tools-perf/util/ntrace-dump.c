// SPDX-License-Identifier: GPL-2.0-only
/*
 * `perf report -D`, `perf script -D`: dump the trace message by message.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>

#include "color.h"
#include "debug.h"
#include "sample.h"
#include "ntrace-priv.h"

#define LINE_BYTES	16

static void dump_bytes(const u8 *buf, size_t len, u64 offset)
{
	size_t i;

	color_fprintf(stdout, PERF_COLOR_BLUE, "  %08" PRIx64 ": ", offset);
	for (i = 0; i < len && i < LINE_BYTES; i++)
		color_fprintf(stdout, PERF_COLOR_BLUE, " %02x", buf[i]);
	for (; i < LINE_BYTES; i++)
		color_fprintf(stdout, PERF_COLOR_BLUE, "   ");
	color_fprintf(stdout, PERF_COLOR_BLUE, "%c ", len > LINE_BYTES ? '+' : ' ');
}

static void dump_message(const struct nt_params *params, const struct nt_msg *msg)
{
	char text[256];

	nt_msg_format(msg, text, sizeof(text));
	if (params->srcbits)
		color_fprintf(stdout, PERF_COLOR_BLUE, "SRC=%u ", msg->src);
	color_fprintf(stdout, PERF_COLOR_BLUE, "%s\n", text);
}

static void dump_cut(const struct nt_session_window *w)
{
	if (w->unfinished)
		color_fprintf(stdout, PERF_COLOR_BLUE, "begin of a message\n");
	else
		color_fprintf(stdout, PERF_COLOR_RED, "cut message\n");
}

/* Dump one message, or the bytes that should be one. Returns the number of bytes to skip. */
static size_t dump_one(const struct nt_params *params, const struct nt_session_window *w,
		       const u8 *buf, size_t len, u64 offset)
{
	struct nt_msg msg;
	int n = nt_msg_decode(params, buf, len, &msg);
	size_t skip;

	if (n > 0) {
		dump_bytes(buf + msg.idle, n - msg.idle, offset + msg.idle);
		dump_message(params, &msg);
		return n;
	}
	if (!n) {
		if (msg.idle < len) {
			dump_bytes(buf + msg.idle, len - msg.idle, offset + msg.idle);
			dump_cut(w);
		}
		return len;
	}
	skip = msg.skip ?: 1;
	dump_bytes(buf, skip, offset);
	color_fprintf(stdout, PERF_COLOR_RED, "bad: %s\n", nt_strerror(n));
	return skip;
}

static void dump_window(struct ntrace *nt, const struct nt_session_window *w)
{
	const char *passed = nt_session_window_passed_text(w);
	struct nt_params params;
	ssize_t len, at;
	size_t size;
	u8 *buf;

	printf("\n. ... ntrace: AUX %#" PRIx64 ", %#" PRIx64 " bytes, CPU %d, TID %d, terms %#"
	       PRIx64 "%s%s%s\n", w->offset, w->size, w->cpu, w->tid, w->hw_id,
	       w->flags & PERF_AUX_FLAG_TRUNCATED ? ", truncated" : "",
	       w->flags & PERF_AUX_FLAG_PARTIAL ? ", partial" : "",
	       w->orphan ? ", without AUX record" : w->sampled ? ", sampled" : "");
	if (!w->size || !w->hw_id || ntrace_params(nt, w->hw_id, w->cpu, &params))
		return;

	size = nt_session_there(&nt->trace, w);
	buf = malloc(size + 1);
	len = buf ? nt_session_read(&nt->trace, w, buf, size) : 0;
	/* Skip the rest of a message, which looks like another message. */
	at = len > 0 ? nt_session_window_skip(w, &params, buf, len, false) : 0;
	if (at && passed) {
		dump_bytes(buf, at, w->offset);
		color_fprintf(stdout, PERF_COLOR_BLUE, "%s\n", passed);
	}
	while (at < len)
		at += dump_one(&params, w, buf + at, len - at, w->offset + at);
	if ((u64)max_t(ssize_t, len, 0) < w->size)
		printf("  the rest is not in the file\n");
	free(buf);
}

/* A record is padded to 8 bytes, and the next one begins before the padding. */
static u64 piece_size(const struct nt_session_buffer *b, u64 offset, u64 size)
{
	size_t i;

	for (i = 0; i < b->nr_pieces; i++) {
		if (b->piece[i].offset == offset)
			return min(size, b->piece[i].size);
	}
	return size;
}

/* Dump the windows that begin in a record's trace, which perf is about to skip. */
void ntrace_dump_piece(struct ntrace *nt, const struct nt_session_buffer *b, u64 offset,
		       u64 size)
{
	u64 at;
	size_t i;

	size = piece_size(b, offset, size);
	for (i = 0; i < b->nr_windows; i++) {
		at = b->window[i].offset;
		/* An empty window refers to what was before. */
		if (at && !b->window[i].size)
			at--;
		if (at >= offset && at - offset < size)
			dump_window(nt, &b->window[i]);
	}
}

/* Dump the window of an AUX area sample. */
void ntrace_dump_sample(struct ntrace *nt, const struct perf_sample *sample)
{
	unsigned int i;
	size_t n;

	for (i = 0; i < nt->trace.nr_buffers; i++) {
		const struct nt_session_buffer *b = nt->trace.buffer[i];

		for (n = 0; b && n < b->nr_windows; n++) {
			const struct nt_session_window *w = &b->window[n];

			if (w->sampled && w->time == sample->time && w->cpu == (int)sample->cpu)
				dump_window(nt, w);
		}
	}
}
