// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is lost: DROP and RESTART of the truth. They follow from what becomes of each message, and
 * that is decided by who takes its bytes or does not: the FIFO, or what is behind it. Of the
 * encoder this wants to know only when a message was made; how many instructions there were by
 * then is the truth's own count.
 *
 * Messages wait here until their fate is known, and as long as any does, the truth is held back:
 * what is put into it belongs where the message was made. They are decided in their order.
 */

#include <string.h>

#include "model.h"

#define NOW	UINT_MAX		/* as a place in the truth: its end */

struct message {
	uint64_t end;			/* where it ends in the hart's trace */
	uint64_t insns;			/* of the truth when it was made */
	uint64_t pc;			/* what came next */
	unsigned int at;		/* where the truth was */
	bool open;			/* ... and in a stretch */
	bool refused;			/* it did not get on its way */
	bool tells, sync;
};

struct losses {
	struct message *queue;		/* a ring, its size a power of two */
	unsigned int size, first, n;
	uint64_t made, taken;		/* bytes */
	uint64_t told;			/* how many instructions what arrived tells of */
	bool lost;			/* something was, no sync message has arrived since */
	bool dropping;			/* nothing at all has */
	bool silent;			/* provided that what waits arrives: lost at the end */
};

static struct message *nth(struct losses *l, unsigned int n)
{
	return &l->queue[(l->first + n) & (l->size - 1)];
}

static struct message *push(struct hart *h)
{
	struct losses *l = h->losses;
	struct message *m, *ring;
	unsigned int i;

	if (l->n == l->size) {
		ring = g_new(struct message, 2 * l->size);
		for (i = 0; i < l->n; i++)
			ring[i] = *nth(l, i);
		g_free(l->queue);
		l->queue = ring;
		l->size *= 2;
		l->first = 0;
	}
	m = nth(l, l->n++);
	/* in this order: to count is to come to know what is open */
	*m = (struct message){ .end = l->made, .at = NOW, .insns = truth_insns(h) };
	m->open = truth_is_open(h);
	m->pc = truth_pc(h);
	return m;
}

/* A mark was put into the truth that is held back: what is behind it has moved */
static void moved(struct losses *l, unsigned int at, unsigned int len)
{
	unsigned int i;

	for (i = 0; i < l->n; i++)
		if (nth(l, i)->at != NOW && nth(l, i)->at >= at)
			nth(l, i)->at += len;
}

static void arrived(struct hart *h, const struct message *m)
{
	struct losses *l = h->losses;

	l->dropping = false;
	if (l->lost && m->sync) {
		l->lost = false;
		if (m->open)
			moved(l, m->at, truth_restart(h, m->at, m->pc));
	}
	if (m->tells)
		l->told = m->insns;
}

static void vanished(struct hart *h, const struct message *m)
{
	struct losses *l = h->losses;

	if (!l->dropping)
		moved(l, m->at, truth_drop(h, m->at, m->insns - l->told));
	l->dropping = l->lost = true;
}

/* What is known now, in the order in which it was made */
static void decide(struct hart *h, bool gone)
{
	struct losses *l = h->losses;

	while (l->n) {
		struct message m = *nth(l, 0);

		if (!m.refused && m.end > l->taken && !gone)
			return;
		l->first = (l->first + 1) & (l->size - 1);
		l->n--;
		if (m.refused || m.end > l->taken)
			vanished(h, &m);
		else
			arrived(h, &m);
	}
	truth_release(h);
}

/* ResourceFull, Ownership and Error alone do not tell how far execution has come */
static bool tells(unsigned int tcode)
{
	return tcode != NT_TCODE_RESOURCE_FULL && tcode != NT_TCODE_OWNERSHIP &&
	       tcode != NT_TCODE_ERROR;
}

/* A message was made and is on its way. Error comes first after a loss, then a sync message. */
void loss_message(struct hart *h, const uint8_t *msg, unsigned int len)
{
	struct losses *l = h->losses;
	struct message *m;

	if (!l)
		return;
	l->made += len;
	m = push(h);
	m->tells = tells(msg[0] >> 2);
	m->sync = msg[0] >> 2 == NT_TCODE_PROG_TRACE_SYNC;
	l->silent &= !m->sync;
}

/* There was no room for one */
void loss_refused(struct hart *h)
{
	struct losses *l = h->losses;

	if (!l)
		return;
	l->silent = true;
	if (l->n ? nth(l, l->n - 1)->refused : l->dropping)
		return;
	push(h)->refused = true;
	loss_wait(h);
	decide(h, false);
}

/* Bytes arrived, in the order in which they were made */
void loss_taken(struct hart *h, unsigned int bytes)
{
	if (!h->losses)
		return;
	h->losses->taken += bytes;
	decide(h, false);
}

/* The last message has not arrived yet */
void loss_wait(struct hart *h)
{
	struct losses *l = h->losses;

	if (l && l->n && nth(l, l->n - 1)->at == NOW)
		nth(l, l->n - 1)->at = truth_hold(h);
}

/* Nothing will arrive of what is on its way, nor of the stretches that began meanwhile */
void loss_gone(struct hart *h)
{
	struct losses *l = h->losses;
	unsigned int i = 0;

	if (!l)
		return;
	while (i < l->n && nth(l, i)->refused)
		i++;
	if (i < l->n)
		truth_drop_begins(h, nth(l, i)->at);
	l->silent |= l->n;
	decide(h, true);
	l->taken = l->made;
}

/* The encoder begins, and knows nothing of what was before */
void loss_begin(struct hart *h)
{
	struct losses *l = h->losses;

	if (!l || l->n)
		return;
	l->lost = l->dropping = l->silent = false;
	l->told = truth_insns(h);
}

/* A stretch that begins now is not to be seen in the trace */
bool loss_goes_on(const struct hart *h)
{
	return h->losses && h->losses->silent;
}

void loss_init_hart(struct hart *h)
{
	if (!h->truth)
		return;
	h->losses = g_new0(struct losses, 1);
	h->losses->size = 64;
	h->losses->queue = g_new(struct message, h->losses->size);
}
