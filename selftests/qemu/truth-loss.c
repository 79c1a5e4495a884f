// SPDX-License-Identifier: GPL-2.0-only
/*
 * Losses: DROP and RESTART marks of the truth. They depend on which messages are lost. This is
 * known when the FIFO, or a component downstream, takes the bytes of a message or does not. The
 * encoder only tells when it makes a message; the truth counts the instructions up to then by
 * itself.
 *
 * Messages are queued here until it is known whether they arrive. Meanwhile the truth is held back,
 * because marks are inserted where the message was made. Messages are decided in their order.
 */

#include <string.h>

#include "model.h"

#define NOW	UINT_MAX		/* stands for the end of the truth */

struct message {
	uint64_t end;			/* offset of its end in the hart's trace */
	uint64_t insns;			/* instructions in the truth when it was made */
	uint64_t pc;			/* pc of the next instruction */
	unsigned int at;		/* offset in the truth when it was made */
	bool open;			/* it was made within a stretch */
	bool refused;			/* there was no room for it */
	bool tells, sync;
};

struct losses {
	struct message *queue;		/* a ring, its size a power of two */
	unsigned int size, first, n;
	uint64_t made, taken;		/* bytes */
	uint64_t told;			/* instructions that arrived messages report */
	bool lost;			/* a message was lost, and no sync message arrived since */
	bool dropping;			/* a message was lost, and no message arrived since */
	bool silent;			/* lost will be true even if all queued messages arrive */
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
	/* keep this order: truth_insns() may open or close a stretch */
	*m = (struct message){ .end = l->made, .at = NOW, .insns = truth_insns(h) };
	m->open = truth_is_open(h);
	m->pc = truth_pc(h);
	return m;
}

/* A mark was inserted into the truth: correct the offsets after it */
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

/* Decide messages in order, as far as it is known whether they arrive */
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

/* ResourceFull, Ownership and Error do not tell how far execution has come. */
static bool tells(unsigned int tcode)
{
	return tcode != NT_TCODE_RESOURCE_FULL && tcode != NT_TCODE_OWNERSHIP &&
	       tcode != NT_TCODE_ERROR;
}

/* A message was made and sent. After a loss Error comes first, then a sync message. */
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

/* There was no room for a message */
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

/* Bytes arrived, in order */
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

/* All queued messages are lost, and with them the stretches that began meanwhile */
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

/* The encoder starts without knowledge of earlier losses */
void loss_begin(struct hart *h)
{
	struct losses *l = h->losses;

	if (!l || l->n)
		return;
	l->lost = l->dropping = l->silent = false;
	l->told = truth_insns(h);
}

/* Will a stretch that begins now be missing in the trace? */
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
