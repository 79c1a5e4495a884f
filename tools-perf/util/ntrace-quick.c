// SPDX-License-Identifier: GPL-2.0-only
/*
 * --itrace=q: messages without the code. Addresses come in full or as the
 * difference to the one told before, so where indirect transfers, traps and syncs
 * go is known without following what lies between, and without a binary at all;
 * with qq, only the syncs. What decodes a queue's messages, one way or the other,
 * is behind the functions at the end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>

#include "ntrace-priv.h"

struct ntrace_quick {
	struct nt_params	params;
	bool			syncs_only;
	const u8		*buf;
	size_t			len, pos;
	u64			offset;		/* of the first byte */
	bool			open_end;	/* there is more behind the last byte */
	bool			inside;		/* ... first the rest of a damaged message */
	bool			synced;		/* addresses and times are known ... */
	bool			running;	/* ... and trace is on */
	bool			lost;		/* a loss was reported; nothing to sync to since */
	u64			addr;		/* as told last */
	u64			time, time_from, limit;
	bool			have_time, at_limit;
};

static struct ntrace_quick *quick_new(const struct nt_params *params, unsigned int quick)
{
	struct ntrace_quick *qk = zalloc(sizeof(*qk));

	if (qk) {
		qk->params = *params;
		qk->syncs_only = quick > 1;
	}
	return qk;
}

/* --- messages ----------------------------------------------------------------- */

static struct nt_event new_event(const struct ntrace_quick *qk, unsigned int kind)
{
	return (struct nt_event) {
		.kind	= kind,
		.time	= qk->time,
		.flags	= qk->have_time ? NT_EVF_TIME | NT_EVF_STAMP : 0,
		.offset	= qk->offset + qk->pos,
	};
}

static int lose(struct ntrace_quick *qk, struct nt_event *ev, unsigned int reason)
{
	if (qk->lost)
		return 0;
	qk->lost = true;
	*ev = new_event(qk, NT_EV_LOSS);
	ev->reason = reason;
	qk->synced = qk->running = qk->have_time = false;
	return 1;
}

/* False when the message is later than is wanted now. */
static bool take_time(struct ntrace_quick *qk, const struct nt_msg *msg)
{
	u64 time;

	if (msg->fields & NT_F_TSTAMP && (qk->have_time || nt_tcode_is_sync(msg->tcode))) {
		time = nt_session_span_stamp(&qk->params, msg, qk->have_time ? qk->time : 0,
					     qk->time_from);
		if (time > qk->limit)
			return false;
		qk->time = time;
		qk->have_time = true;
	}
	return !qk->have_time || qk->time <= qk->limit;
}

static void take_address(struct ntrace_quick *qk, const struct nt_msg *msg)
{
	if (msg->fields & NT_F_ADDR)
		qk->addr = nt_msg_addr(&qk->params, msg, qk->addr);
}

static unsigned int branch_type(const struct nt_msg *msg)
{
	switch (msg->btype) {
	case 1:
		return NT_TYPE_TRAP;
	case 2:
		return NT_TYPE_EXCEPTION;
	case 3:
		return NT_TYPE_INTERRUPT;
	default:
		return msg->tcode == NT_TCODE_DIRECT_BRANCH_SYNC ? NT_TYPE_JUMP : NT_TYPE_IJUMP;
	}
}

static int on_address(struct ntrace_quick *qk, const struct nt_msg *msg, struct nt_event *ev)
{
	bool sync = nt_tcode_is_sync(msg->tcode);

	if (sync && !qk->running) {
		*ev = new_event(qk, NT_EV_START);
		ev->reason = msg->sync;
	} else if (msg->tcode == NT_TCODE_PROG_TRACE_SYNC) {
		/* Where execution is, but nothing went there. */
		*ev = new_event(qk, NT_EV_NOTICE);
		ev->flags |= NT_EVF_PC;
	} else if (sync || !qk->syncs_only) {
		*ev = new_event(qk, NT_EV_BRANCH);
		ev->type = branch_type(msg);
	} else {
		return 0;
	}
	qk->running = true;
	ev->to = qk->addr;
	return 1;
}

static int on_ownership(struct ntrace_quick *qk, const struct nt_msg *msg, struct nt_event *ev)
{
	*ev = new_event(qk, NT_EV_CONTEXT);
	ev->reason = msg->process & 3;
	ev->priv = msg->process >> 2 & 3;
	ev->flags |= msg->process & 0x10 ? NT_EVF_VIRT : 0;
	ev->context = msg->process & 2 ? msg->process >> 5 : 0;
	return 1;
}

/* Returns the number of events that the message makes, at most one. */
static int on_message(struct ntrace_quick *qk, const struct nt_msg *msg, struct nt_event *ev)
{
	if (msg->tcode == NT_TCODE_ERROR)
		return lose(qk, ev, NT_EOVERFLOW);
	if (nt_tcode_is_sync(msg->tcode)) {
		qk->synced = true;
		qk->lost = false;
	}
	if (!qk->synced)
		return 0;
	take_address(qk, msg);
	if (msg->tcode == NT_TCODE_OWNERSHIP)
		return on_ownership(qk, msg, ev);
	if (msg->fields & NT_F_ADDR)
		return on_address(qk, msg, ev);
	if (msg->tcode == NT_TCODE_PROG_TRACE_CORRELATION)
		qk->running = false;
	return 0;
}

/* A message that has no end here */
static int on_rest(struct ntrace_quick *qk, const struct nt_msg *msg, struct nt_event *ev)
{
	size_t left = qk->len - qk->pos;

	if (qk->open_end && msg->idle < left)
		return 0;
	qk->pos = qk->len;
	return msg->idle < left ? lose(qk, ev, NT_ECUT) : 0;
}

/* Pass over a damaged message. Its end may not be in this window. */
static void skip_damaged(struct ntrace_quick *qk, const struct nt_msg *msg)
{
	qk->pos += msg->skip ?: 1;
	qk->inside = qk->open_end && qk->pos == qk->len && (qk->buf[qk->pos - 1] & 3) != 3;
}

/* ... and over its rest */
static void skip_inside(struct ntrace_quick *qk)
{
	while (qk->inside && qk->pos < qk->len)
		qk->inside = (qk->buf[qk->pos++] & 3) != 3;
	qk->inside = qk->inside && qk->open_end;
}

/* As nt_flow_next(): a batch ends behind a CONTEXT. */
static int quick_next(struct ntrace_quick *qk, struct nt_event *ev, unsigned int max)
{
	struct nt_msg msg;
	int used, n = 0;

	qk->at_limit = false;
	skip_inside(qk);
	while (qk->pos < qk->len && n < (int)max && (!n || ev[n - 1].kind != NT_EV_CONTEXT)) {
		used = nt_msg_decode(&qk->params, qk->buf + qk->pos, qk->len - qk->pos, &msg);
		if (!used)
			return n + on_rest(qk, &msg, ev + n);
		if (used < 0) {
			n += lose(qk, ev + n, -used);
			skip_damaged(qk, &msg);
			continue;
		}
		if (!(msg.fields & NT_F_SRC) || qk->params.src < 0 || msg.src == qk->params.src) {
			if (!take_time(qk, &msg)) {
				qk->at_limit = true;
				return n;
			}
			n += on_message(qk, &msg, ev + n);
		}
		qk->pos += used;
	}
	return n;
}

/* --- one way or the other ------------------------------------------------------- */

int ntrace_decoder_new(struct ntrace_queue *q, const struct nt_params *params)
{
	ntrace_decoder_free(q);
	if (q->nt->opts.quick)
		q->quick = quick_new(params, q->nt->opts.quick);
	else
		q->flow = nt_flow_new(params);
	q->path = nt_path_new();
	return (q->quick || q->flow) && q->path ? 0 : -ENOMEM;
}

void ntrace_decoder_free(struct ntrace_queue *q)
{
	nt_flow_free(q->flow);
	q->flow = NULL;
	nt_path_free(q->path);
	q->path = NULL;
	zfree(&q->quick);
}

/* Before code is freed */
void ntrace_decoder_forget_code(struct ntrace_queue *q)
{
	if (!q || !q->path)
		return;
	if (q->flow)
		nt_flow_set_code(q->flow, NULL, NULL);
	nt_path_release(q->path);
}

/* @open: there is going to be more; @more: it goes on where the window before ended. */
void ntrace_decoder_window(struct ntrace_queue *q, const u8 *buf, size_t len, u64 offset,
			   bool open, bool more)
{
	struct ntrace_quick *qk = q->quick;

	if (qk) {
		qk->buf = buf;
		qk->len = len;
		qk->pos = 0;
		qk->offset = offset;
		qk->open_end = open;
		if (!more)
			qk->synced = qk->running = qk->have_time = qk->lost = qk->inside = false;
		return;
	}
	nt_flow_open_end(q->flow, open);
	if (more)
		nt_flow_more(q->flow, buf, len, offset);
	else
		nt_flow_window(q->flow, buf, len, offset);
}

void ntrace_decoder_time_from(struct ntrace_queue *q, u64 ticks)
{
	if (q->quick)
		q->quick->time_from = ticks;
	else
		nt_flow_time_from(q->flow, ticks);
}

int ntrace_decoder_next(struct ntrace_queue *q, u64 limit)
{
	if (q->quick) {
		q->quick->limit = limit;
		return quick_next(q->quick, q->ev + q->nr, NTRACE_BATCH);
	}
	nt_flow_limit(q->flow, limit);
	return nt_flow_next(q->flow, q->ev + q->nr, NTRACE_BATCH);
}

bool ntrace_decoder_at_limit(const struct ntrace_queue *q)
{
	return q->quick ? q->quick->at_limit : nt_flow_at_limit(q->flow);
}

size_t ntrace_decoder_consumed(const struct ntrace_queue *q)
{
	return q->quick ? q->quick->pos : nt_flow_consumed(q->flow);
}
