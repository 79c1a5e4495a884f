// SPDX-License-Identifier: GPL-2.0-only
/*
 * Convert a raw trace and its program to a track
 */
#include <stdlib.h>
#include <string.h>

#include "serve.h"

struct raw {
	struct serve_track *track;
	struct symbols *symbols;
	uint64_t pc;
	bool has_pc;
	bool stopped;		/* a message ended the trace */
	struct nt_event stop;
	bool begun;		/* there was an earlier event */
	bool seam;		/* only the piece has ended */
};

/* The events of a piece, one batch for each thread, until it is the piece's turn */
struct batch {
	struct event {
		struct nt_event ev;
		bool seam;
	} *event;
	size_t nr, room;
};

struct state {
	struct piece *piece;
};

static void *new_batch(void *ctx)
{
	struct batch *b = calloc(1, sizeof(*b));

	(void)ctx;
	if (!b)
		die("%s", nt_strerror(NT_ENOMEM));
	return b;
}

static void free_batch(void *own)
{
	struct batch *b = own;

	free(b->event);
	free(b);
}

static void take_event(struct piece *p, void *state, const struct nt_event *ev, bool seam)
{
	struct batch *b = p->own;

	((struct state *)state)->piece = p;
	/* reuse the memory for the next piece */
	if (b->nr == b->room) {
		b->room = b->room ? 2 * b->room : 1024;
		b->event = reallocarray(b->event, b->room, sizeof(*b->event));
		if (!b->event)
			die("%s", nt_strerror(NT_ENOMEM));
	}
	b->event[b->nr++] = (struct event){ *ev, seam };
}

/* ---------------------------------------------------------------- events - */

static void add_insns(struct raw *r, struct nt_code *code, const struct nt_event *ev)
{
	unsigned int type = ev->kind == NT_EV_BRANCH ? ev->type : NT_TYPE_NONE;

	if (!r->has_pc)
		return;
	if (!serve_track_add(r->track, code, r->pc, ev->insns, type, 0))
		die("no code at 0x%llx, where the decoder found an instruction before: a mistake of "
		    "ntrace", (unsigned long long)r->pc);
}

static const char *why_stopped(const struct nt_event *ev)
{
	switch (ev->reason) {
	case NT_EVCODE_DEBUG:
		return "the hart entered debug mode";
	case NT_EVCODE_LOW_POWER:
		return "the hart entered low power";
	case NT_EVCODE_DISABLE:
		return "trace was disabled";
	case NT_EVCODE_NONE:
		return "the trace does not say why";
	}
	return "a reserved reason";
}

static void on_start(struct raw *r, const struct nt_event *ev)
{
	if (!r->begun)
		serve_track_mark(r->track, SERVE_BEGIN, "trace begins");
	else if (r->stopped && !(ev->flags & NT_EVF_JOIN))
		serve_track_mark(r->track, SERVE_GAP,
				 "trace stopped at %#llx (%s), and goes on here",
				 (unsigned long long)r->stop.from, why_stopped(&r->stop));
	else if (r->stopped)
		serve_track_pause(r->track, ev->to);
	r->stopped = false;
	r->pc = ev->to;
	r->has_pc = true;
}

static void on_stop(struct raw *r, const struct nt_event *ev, bool seam)
{
	r->seam = seam;
	if (seam)
		return;
	r->stop = *ev;
	r->stopped = true;
	serve_track_stop(r->track, ev->from, r->has_pc && !(ev->flags & NT_EVF_LEFT));
	r->has_pc = false;
}

static void on_loss(struct raw *r, const struct nt_event *ev)
{
	serve_track_mark(r->track, SERVE_LOSS, "trace is lost here: %s, at byte %#llx of it",
			 nt_strerror(ev->reason), (unsigned long long)ev->offset);
	r->has_pc = r->stopped = false;
}

static void on_event(struct raw *r, struct nt_code *code, const struct nt_event *ev, bool seam)
{
	if (ev->flags & NT_EVF_TIME)
		serve_track_time(r->track, ev->time, ev->kind == NT_EV_START);
	/* the piece before ended where this one begins */
	if (r->seam && ev->kind == NT_EV_START) {
		r->seam = false;
		r->pc = ev->to;
		return;
	}
	if (ev->kind != NT_EV_CONTEXT && ev->kind != NT_EV_NOTICE)
		add_insns(r, code, ev);
	if (ev->kind == NT_EV_STOP && ev->flags & NT_EVF_TIME)
		serve_track_time(r->track, ev->time, true);
	switch (ev->kind) {
	case NT_EV_START:
		on_start(r, ev);
		break;
	case NT_EV_BRANCH:
		r->pc = ev->to;
		serve_track_stop(r->track, ev->to, !(ev->flags & NT_EVF_LEFT));
		r->has_pc = !(ev->flags & NT_EVF_LEFT);
		break;
	case NT_EV_SYNC:
		r->pc = ev->to;
		break;
	case NT_EV_STOP:
		on_stop(r, ev, seam);
		break;
	case NT_EV_LOSS:
		on_loss(r, ev);
		break;
	}
	r->begun = true;
}

static void piece_done(void *ctx, void *state)
{
	const struct piece *p = ((struct state *)state)->piece;
	struct batch *b = p ? p->own : NULL;

	for (size_t i = 0; b && i < b->nr; i++)
		on_event(ctx, p->code, &b->event[i].ev, b->event[i].seam);
	if (b)
		b->nr = 0;
}

/* -------------------------------------------------------------- the whole  */

static const char *name_of(void *ctx, uint32_t space, uint64_t addr, uint64_t *offset)
{
	const struct raw *r = ctx;

	(void)space;
	return symbols_find(r->symbols, addr, offset);
}

static void free_raw(void *ctx)
{
	struct raw *r = ctx;

	symbols_free(r->symbols);
	free(r);
}

void serve_raw_open(struct serve_recording *r, struct input *in)
{
	struct raw *raw = calloc(1, sizeof(*raw));
	struct consumer consumer = {
		.size = sizeof(struct state), .event = take_event, .done = piece_done,
		.thread_new = new_batch, .thread_free = free_batch, .ctx = raw,
	};

	*r = (struct serve_recording){
		.path = in->file, .xlen = in->params.xlen, .symbol = name_of, .free = free_raw,
		.ctx = raw,
	};
	if (!raw)
		die("%s", nt_strerror(NT_ENOMEM));
	serve_program_init(&r->program);
	serve_recording_add_input(r, in);
	raw->symbols = symbols_new(in);
	raw->track = serve_track_new(&r->program, "hart", 0);
	pieces_decode(in, &consumer);
	serve_track_end(raw->track);
	raw->track->id = (int)in->source;
	r->track = array_room(r->track, 0, sizeof(*r->track));
	r->track[r->nr_tracks++] = raw->track;
	if (!raw->track->insns)
		die("%s: no instruction could be decoded; `ntrace decode' says why", in->file);
}
