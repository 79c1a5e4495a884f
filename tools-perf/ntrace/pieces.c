// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decoding in threads: sync messages, which decoding could begin with, split the
 * trace. Threads take piece after piece, and write what they made of them in turn.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"

/*
 * Bytes of a piece at least: many instructions for what beginning one costs, but
 * their text, some megabytes, still fits a thread's buffer.
 */
#define PIECE	((size_t)16 << 10)

struct crew {
	struct input *in;
	const struct consumer *consumer;
	pthread_mutex_t lock;
	pthread_cond_t moved;
	size_t begin;		/* of the next piece to be taken */
	bool taken;		/* all */
	unsigned long pieces;	/* taken so far */
	atomic_ulong turn;	/* number of the piece whose output is being written */
};

struct worker {
	struct crew *crew;
	pthread_t thread;
	struct piece piece;
	unsigned long number;	/* of the piece */
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
		if (size - p->begin > PIECE)
			next = input_find_sync(c->in, p->begin + PIECE, &p->end);
		p->last = next >= size;
		c->taken = p->last;
		c->begin = next;
		w->number = c->pieces++;
	}
	pthread_mutex_unlock(&c->lock);
	return took;
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

static void decode_piece(struct worker *w)
{
	const struct consumer *consumer = w->crew->consumer;
	const struct piece *p = &w->piece;
	/* a new one, so that it can't know what this thread did before */
	struct nt_flow *flow = input_flow(p->in, p->code, p->begin, p->end);
	struct nt_event ev[256];
	int i, n;

	while ((n = nt_flow_next(flow, ev, 256)) > 0) {
		size_t consumed = nt_flow_consumed(flow);

		for (i = 0; i < n; i++) {
			bool end = !p->last && i + 1 == n && consumed == p->end - p->begin;

			consumer->event(&w->piece, w->state, &ev[i], end &&
					ev[i].kind == NT_EV_STOP && ev[i].reason == NT_EVCODE_NONE);
		}
		if (my_turn(w, false))
			input_progress(w->crew->in, p->begin + consumed);
	}
	if (n < 0)
		die("%s", nt_strerror(n));
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
	while (take_piece(w)) {
		memset(w->state, 0, consumer->size);
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
		.in = in, .consumer = consumer,
		.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER,
	};
	size_t i, n = in->size / PIECE + 1;
	struct worker *workers;

	input_check_sources(in);
	if (n > in->threads)
		n = in->threads;
	workers = calloc(n, sizeof(*workers));
	if (!workers)
		die("%s", nt_strerror(NT_ENOMEM));
	for (i = 0; i < n; i++)
		workers[i].crew = &crew;
	for (i = 1; i < n; i++)
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			die("cannot start %zu threads", n);
	work(&workers[0]);
	for (i = 1; i < n; i++)
		pthread_join(workers[i].thread, NULL);
	progress_end();
	free(workers);
}
