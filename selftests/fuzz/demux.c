// SPDX-License-Identifier: GPL-2.0-only
/*
 * A stream of several sources, split into one for each: a source's piece has the same events as the
 * whole stream, and they come from the same offsets, whatever the bytes are and wherever they are
 * split. Only what is said of losses depends on where damaged messages end.
 */
#include "program.h"

#define EVENTS_MAX	2000
#define BATCH		64
#define AT		1000	/* the stream's offset */

static struct {
	struct fuzz_program prog;
	struct nt_params params;
	const uint8_t *bytes;
	size_t len;
	struct nt_event whole[EVENTS_MAX + BATCH], split[EVENTS_MAX + BATCH];
	unsigned int nr_whole, nr_split;
} d;

static struct nt_flow *begin(struct nt_code **code)
{
	struct nt_flow *flow = nt_flow_new(&d.params);

	*code = nt_code_new(&d.params, fuzz_read, &d.prog);
	MUST(flow && *code);
	nt_flow_set_code(flow, *code, *code);
	return flow;
}

static void decode_whole(void)
{
	struct nt_code *code;
	struct nt_flow *flow = begin(&code);
	int n = 1;

	d.nr_whole = 0;
	nt_flow_window(flow, d.bytes, d.len, AT);
	while (d.nr_whole < EVENTS_MAX &&
	       (n = nt_flow_next(flow, d.whole + d.nr_whole, BATCH)) > 0)
		d.nr_whole += n;
	MUST(n >= 0);
	nt_flow_free(flow);
	nt_code_free(code);
}

/* The events of one piece, with the stream's offsets */
static void decode_piece(struct nt_demux *demux, struct nt_flow *flow, bool first, bool open)
{
	size_t len;
	const uint8_t *piece = nt_demux_piece(demux, d.params.src, &len);
	int n = 1, i;

	nt_flow_open_end(flow, open);
	if (first)
		nt_flow_window(flow, piece, len, 0);
	else
		nt_flow_more(flow, piece, len, 0);
	while (d.nr_split < EVENTS_MAX &&
	       (n = nt_flow_next(flow, d.split + d.nr_split, BATCH)) > 0)
		for (i = 0; i < n; i++, d.nr_split++)
			d.split[d.nr_split].offset =
				nt_demux_offset(demux, d.params.src, d.split[d.nr_split].offset);
	MUST(n >= 0);
	nt_demux_keep(demux, d.params.src, nt_flow_consumed(flow));
}

static void decode_split(size_t chunk)
{
	struct nt_demux *demux = nt_demux_new(&d.params);
	size_t from = 0, to = 0, used;
	struct nt_code *code;
	struct nt_flow *flow = begin(&code);
	bool first = true;

	MUST(demux);
	d.nr_split = 0;
	do {
		to = d.len - to > chunk ? to + chunk : d.len;
		MUST(!nt_demux_split(demux, d.bytes + from, to - from, AT + from, to < d.len,
				     &used));
		MUST(used <= to - from);
		from += used;
		decode_piece(demux, flow, first, to < d.len);
		first = false;
	} while (to < d.len);
	MUST(from == d.len);
	nt_demux_free(demux);
	nt_flow_free(flow);
	nt_code_free(code);
}

static unsigned int without_losses(struct nt_event *ev, unsigned int n)
{
	unsigned int i, kept = 0;

	for (i = 0; i < n; i++)
		if (ev[i].kind != NT_EV_LOSS)
			ev[kept++] = ev[i];
	return kept;
}

static void compare(void)
{
	const unsigned int n = d.nr_whole < d.nr_split ? d.nr_whole : d.nr_split;
	unsigned int i;

	for (i = 0; i < n; i++) {
		if (d.whole[i].kind == NT_EV_LOSS)
			d.split[i].skipped = d.whole[i].skipped;
		MUST(!memcmp(&d.whole[i], &d.split[i], sizeof(d.whole[i])));
	}
	MUST(d.nr_whole == d.nr_split || n >= EVENTS_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, data + size };
	bool lost = false, all;
	unsigned int i;
	size_t chunk;

	take_params(&in, &d.params);
	if (!d.params.srcbits)
		d.params.srcbits = 1;
	if (d.params.src < 0)
		d.params.src = 0;
	chunk = 1 + take(&in);
	fuzz_program_make(&d.prog, &in, &d.params, false);
	d.params.jvt = d.prog.base;
	d.bytes = in.p;
	d.len = left(&in);
	decode_whole();
	for (i = 0; i < d.nr_whole; i++)
		lost |= d.whole[i].kind == NT_EV_LOSS;
	all = d.nr_whole < EVENTS_MAX;
	decode_split(lost ? d.len : chunk);
	compare();
	if (!lost || !all)
		return 0;
	decode_split(chunk);
	if (d.nr_split >= EVENTS_MAX)
		return 0;
	d.nr_whole = without_losses(d.whole, d.nr_whole);
	d.nr_split = without_losses(d.split, d.nr_split);
	compare();
	return 0;
}
