// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decode in threads. The trace is split at sync messages, where decoding can begin. Each thread
 * takes one piece after another. The output is written in the order of pieces. A trace from a pipe
 * is decoded by one thread, in the same pieces.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"

/*
 * Minimum size of a piece in bytes: large, compared to the cost of starting to decode. But the text
 * of its instructions, some megabytes, still fits into a thread's buffer.
 */
#define PIECE	((size_t)16 << 10)

struct crew {
	struct input *in;
	const struct consumer *consumer;
	pthread_mutex_t lock;
	pthread_cond_t moved;
	size_t begin;		/* of the next piece */
	bool taken;		/* all pieces are taken */
	unsigned long pieces;	/* number of pieces taken */
	atomic_ulong turn;	/* number of the piece whose output is being written */
};

struct worker {
	struct crew *crew;
	struct piece piece;
	unsigned long number;	/* number of the piece */
	struct nt_event loss;	/* of a pipe: it may continue in later data */
	bool losing;
	void *state;
};

static bool take_piece(struct worker *w)
{
	struct crew *c = w->crew;
	struct piece *p = &w->piece;
	size_t size = c->in->size, next;
	bool took;

	pthread_mutex_lock(&c->lock);
	took = !c->taken;
	if (took) {
		p->begin = c->begin;
		next = p->end = size;
		if (size - p->begin > PIECE && !input_clock_wraps(c->in))
			next = input_find_sync(c->in, p->begin + PIECE, &p->end);
		p->last = next >= size;
		c->taken = p->last;
		c->begin = next;
		w->number = c->pieces++;
	}
	pthread_mutex_unlock(&c->lock);
	return took;
}

/*
 * For a trace from a pipe: has the end of the piece arrived? The result must not depend on how much
 * data arrived at a time, so resume the search a little before the end of the old data.
 */
static bool find_end(struct crew *c, struct piece *p, size_t *searched)
{
	size_t size = c->in->size, next;

	if (*searched < p->begin + PIECE)
		*searched = p->begin + PIECE;
	if (size <= *searched || input_clock_wraps(c->in))
		return false;
	next = input_find_sync(c->in, *searched, &p->end);
	if (next < size) {
		c->begin = next;
		return true;
	}
	if (size - *searched > 2 * NT_MSG_MAX)
		*searched = size - 2 * NT_MSG_MAX;
	return false;
}

static bool my_turn(void *arg, bool wait)
{
	struct worker *w = arg;
	struct crew *c = w->crew;

	if (atomic_load(&c->turn) == w->number)
		return true;
	if (!wait)
		return false;
	pthread_mutex_lock(&c->lock);
	while (atomic_load(&c->turn) != w->number)
		pthread_cond_wait(&c->moved, &c->lock);
	pthread_mutex_unlock(&c->lock);
	return true;
}

static void end_turn(struct crew *c)
{
	pthread_mutex_lock(&c->lock);
	atomic_fetch_add(&c->turn, 1);
	pthread_cond_broadcast(&c->moved);
	pthread_mutex_unlock(&c->lock);
}

static void end_loss(struct worker *w)
{
	if (w->losing)
		w->crew->consumer->event(&w->piece, w->state, &w->loss, false);
	w->losing = false;
}

/*
 * Merge an event into the loss that is kept, or keep it. Returns true if it must not be delivered
 * now.
 */
static bool keep_loss(struct worker *w, const struct nt_event *ev)
{
	struct nt_event *loss = &w->loss;

	if (w->losing && ev->kind == NT_EV_LOSS && ev->reason == NT_ENOSYNC &&
	    ev->offset == loss->offset + loss->skipped) {
		loss->skipped += ev->skipped;
		return true;
	}
	end_loss(w);
	if (!w->crew->in->reserved || ev->kind != NT_EV_LOSS)
		return false;
	*loss = *ev;
	w->losing = true;
	return true;
}

/* Deliver all events of the flow, whose input begins at `at`. */
static void deliver(struct worker *w, struct nt_flow *flow, size_t at)
{
	const struct crew *c = w->crew;
	const struct consumer *consumer = c->consumer;
	const struct piece *p = &w->piece;
	struct nt_event ev[256];
	int i, n;

	while ((n = nt_flow_next(flow, ev, 256)) > 0) {
		size_t done = at + nt_flow_consumed(flow), passed;

		for (i = 0; i < n; i++) {
			bool end = !p->last && i + 1 == n && done == p->end;

			if (keep_loss(w, &ev[i]))
				continue;
			consumer->event(&w->piece, w->state, &ev[i], end &&
					ev[i].kind == NT_EV_STOP && ev[i].reason == NT_EVCODE_NONE);
		}
		/* the message at the end of this piece is also the start of the next one */
		if (c->in->reserved && c->begin > p->begin && done > c->begin)
			done = c->begin;
		passed = c->in->reserved && consumer->passed ?
			 consumer->passed(consumer->ctx, done) : done;
		if (passed < done)
			done = passed;
		if (my_turn(w, false))
			input_progress(c->in, done);
	}
	if (n < 0)
		die("%s", nt_strerror(n));
}

static void decode_piece(struct worker *w)
{
	const struct piece *p = &w->piece;
	/* a new decoder, whose state cannot depend on earlier pieces of this thread */
	struct nt_flow *flow = input_flow(p->in, p->code, p->begin, p->end);

	nt_flow_report_syncs(flow, w->crew->consumer->syncs);
	deliver(w, flow, p->begin);
	nt_flow_free(flow);
}

/*
 * Decode a piece whose end may not have arrived. It begins at c->begin, which moves to the next
 * piece.
 */
static void decode_coming(struct worker *w)
{
	struct crew *c = w->crew;
	struct piece *p = &w->piece;
	size_t at = c->begin, searched = 0, end;
	struct nt_flow *flow;
	bool found;

	p->begin = at;
	w->number = c->pieces++;
	flow = input_flow(p->in, p->code, at, at);
	nt_flow_report_syncs(flow, c->consumer->syncs);
	do {
		found = find_end(c, p, &searched);
		p->last = !found && c->in->ended;
		if (!found)
			p->end = c->in->size;
		end = found && p->end < at ? at : p->end;
		nt_flow_open_end(flow, !found && !p->last);
		nt_flow_more(flow, c->in->trace + at, end - at, at);
		deliver(w, flow, at);
		at += nt_flow_consumed(flow);
		/* at the end of the trace: once more, without an open end */
		if (!found && !p->last)
			input_more(c->in);
	} while (!found && !p->last);
	end_loss(w);
	c->taken = p->last;
	nt_flow_free(flow);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct crew *c = w->crew;
	const struct consumer *consumer = c->consumer;

	w->piece.in = c->in;
	w->piece.code = input_code(c->in);
	w->piece.own = consumer->thread_new ? consumer->thread_new(consumer->ctx) : NULL;
	w->state = malloc(consumer->size);
	if (!w->state)
		die("%s", nt_strerror(NT_ENOMEM));
	out_turns(my_turn, w);
	while (c->in->reserved ? !c->taken : take_piece(w)) {
		memset(w->state, 0, consumer->size);
		if (c->in->reserved)
			decode_coming(w);
		else
			decode_piece(w);
		out_flush();
		consumer->done(consumer->ctx, w->state);
		end_turn(c);
	}
	out_free();
	if (consumer->thread_free)
		consumer->thread_free(w->piece.own);
	free(w->state);
	nt_code_free(w->piece.code);
	return NULL;
}

void pieces_decode(struct input *in, const struct consumer *consumer)
{
	struct crew crew = {
		.in = in, .consumer = consumer, .begin = in->begin,
		.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER,
	};
	size_t i, n = in->size / PIECE + 1;
	struct worker *workers;

	input_check_sources(in);
	input_say_begin(in);
	if (n > in->threads)
		n = in->threads;
	/* a trace from a pipe is decoded by one thread */
	if (in->reserved)
		n = 1;
	workers = calloc(n, sizeof(*workers));
	if (!workers)
		die("%s", nt_strerror(NT_ENOMEM));
	for (i = 0; i < n; i++)
		workers[i].crew = &crew;
	threads_run(n, work, workers, sizeof(*workers));
	progress_end();
	free(workers);
}
