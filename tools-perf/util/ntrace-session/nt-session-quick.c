// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * --itrace=q: decode messages without code. Addresses are complete, or relative to the previous
 * one. So the targets of indirect transfers, traps and syncs are known without a binary, and
 * without following the code between them. With qq, only syncs are decoded.
 */
#include <stdlib.h>

#include "nt-session.h"

struct nt_session_quick {
	struct nt_params	params;
	bool			syncs_only;
	const uint8_t		*buf;
	size_t			len, pos;
	uint64_t			offset;		/* of the first byte */
	bool			open_end;	/* more bytes follow the last one */
	bool			inside;		/* ... first the rest of a damaged message */
	bool			synced;		/* addresses and times are known ... */
	bool			running;	/* ... and trace is on */
	bool			lost;		/* a loss was reported, and no sync since */
	uint64_t			addr;		/* of the last message */
	uint64_t			time, time_from, limit;
	bool			have_time, at_limit;
};

struct nt_session_quick *nt_session_quick_new(const struct nt_params *params, bool syncs_only)
{
	struct nt_session_quick *qk = calloc(1, sizeof(*qk));

	if (qk) {
		qk->params = *params;
		qk->syncs_only = syncs_only;
	}
	return qk;
}

void nt_session_quick_free(struct nt_session_quick *qk)
{
	free(qk);
}

void nt_session_quick_window(struct nt_session_quick *qk, const uint8_t *buf, size_t len,
			     uint64_t offset, bool open, bool more)
{
	qk->buf = buf;
	qk->len = len;
	qk->pos = 0;
	qk->offset = offset;
	qk->open_end = open;
	if (!more)
		qk->synced = qk->running = qk->have_time = qk->lost = qk->inside = false;
}

void nt_session_quick_time_from(struct nt_session_quick *qk, uint64_t ticks)
{
	qk->time_from = ticks;
}

bool nt_session_quick_at_limit(const struct nt_session_quick *qk)
{
	return qk->at_limit;
}

size_t nt_session_quick_consumed(const struct nt_session_quick *qk)
{
	return qk->pos;
}

/* --- messages ----------------------------------------------------------------- */

static struct nt_event new_event(const struct nt_session_quick *qk, unsigned int kind)
{
	return (struct nt_event) {
		.kind	= kind,
		.time	= qk->time,
		.flags	= qk->have_time ? NT_EVF_TIME | NT_EVF_STAMP : 0,
		.offset	= qk->offset + qk->pos,
	};
}

static int lose(struct nt_session_quick *qk, struct nt_event *ev, unsigned int reason)
{
	if (qk->lost)
		return 0;
	qk->lost = true;
	*ev = new_event(qk, NT_EV_LOSS);
	ev->reason = reason;
	qk->synced = qk->running = qk->have_time = false;
	return 1;
}

/* False if the message is later than the limit. */
static bool take_time(struct nt_session_quick *qk, const struct nt_msg *msg)
{
	uint64_t time;

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

static void take_address(struct nt_session_quick *qk, const struct nt_msg *msg)
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

static int on_address(struct nt_session_quick *qk, const struct nt_msg *msg, struct nt_event *ev)
{
	bool sync = nt_tcode_is_sync(msg->tcode);

	if (sync && !qk->running) {
		*ev = new_event(qk, NT_EV_START);
		ev->reason = msg->sync;
	} else if (msg->tcode == NT_TCODE_PROG_TRACE_SYNC) {
		/* A position, but no transfer to it */
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

static int on_ownership(struct nt_session_quick *qk, const struct nt_msg *msg, struct nt_event *ev)
{
	*ev = new_event(qk, NT_EV_CONTEXT);
	ev->reason = msg->process & 3;
	ev->priv = msg->process >> 2 & 3;
	ev->flags |= msg->process & 0x10 ? NT_EVF_VIRT : 0;
	if (msg->process & 2 || qk->params.profile == NT_PROFILE_TT_DFD)
		ev->context = msg->process >> 5;
	return 1;
}

/* Returns the number of events that the message makes, at most one. */
static int on_message(struct nt_session_quick *qk, const struct nt_msg *msg, struct nt_event *ev)
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

/* A message that does not end in this window */
static int on_rest(struct nt_session_quick *qk, const struct nt_msg *msg, struct nt_event *ev)
{
	size_t left = qk->len - qk->pos;

	if (qk->open_end && msg->idle < left)
		return 0;
	qk->pos = qk->len;
	return msg->idle < left ? lose(qk, ev, NT_ECUT) : 0;
}

/* Skip a damaged message. It may not end in this window. */
static void skip_damaged(struct nt_session_quick *qk, const struct nt_msg *msg)
{
	qk->pos += msg->skip;
	qk->inside = qk->open_end && qk->pos == qk->len && (qk->buf[qk->pos - 1] & 3) != 3;
}

/* ... and over its rest */
static void skip_inside(struct nt_session_quick *qk)
{
	while (qk->inside && qk->pos < qk->len)
		qk->inside = (qk->buf[qk->pos++] & 3) != 3;
	qk->inside = qk->inside && qk->open_end;
}

/* Like nt_flow_next(): a batch ends after a CONTEXT. */
int nt_session_quick_next(struct nt_session_quick *qk, struct nt_event *ev, unsigned int max,
			  uint64_t limit)
{
	struct nt_msg msg;
	int used, n = 0;

	qk->limit = limit;
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
		if (nt_session_is_own(&qk->params, &msg)) {
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
