// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The owner of the trace of an event that follows tasks, according to Ownership messages
 */
#include <string.h>

#include "nt-session.h"

#define CSR_SCONTEXT	0x5a8

static bool is_scontext(const struct nt_msg *msg, const struct nt_params *params)
{
	return msg->tcode == NT_TCODE_OWNERSHIP &&
	       ntrace_is_scontext(params->profile, msg->process & 3);
}

/* A CSR instruction that writes scontext */
static bool writes_scontext(const struct nt_insn *insn)
{
	return insn->len == 4 && (insn->raw & 0x7f) == 0x73 && insn->raw & 0x3000 &&
	       insn->raw >> 20 == CSR_SCONTEXT;
}

static bool path_writes(struct nt_path *path, struct nt_code *code, const struct nt_event *ev,
			bool look)
{
	struct nt_insn insn;

	if (nt_path_event(path, code, ev))
		return false;
	while (look && nt_path_insn(path, &insn) > 0) {
		if (writes_scontext(&insn))
			return true;
	}
	return false;
}

static bool flow_writes(struct nt_flow *flow, struct nt_path *path, struct nt_code *code,
			size_t told)
{
	struct nt_event ev;

	while (nt_flow_next(flow, &ev, 1) > 0) {
		if (path_writes(path, code, &ev, ev.offset > told))
			return true;
	}
	return false;
}

/*
 * Does the kernel write scontext after the message at `told`? Follow the flow from the sync message
 * before `told` on. Each switch contains one such write. If the kernel's code is missing, decoding
 * the window reports a loss.
 */
static bool is_switched_behind(struct nt_session_queue *q, const struct nt_params *params,
			       size_t told)
{
	size_t sync = nt_msg_find_sync_before(params, q->data, q->data_len, told);
	struct nt_code *kernel = q->host->kernel(q);
	struct nt_flow *flow;
	struct nt_path *path;
	bool writes = false;

	if (sync == q->data_len)
		return true;
	flow = nt_flow_new(params);
	path = nt_path_new();
	if (flow && path) {
		nt_flow_set_code(flow, NULL, kernel);
		nt_flow_window(flow, q->data + sync, q->data_len - sync, sync);
		writes = flow_writes(flow, path, kernel, told);
	}
	nt_path_free(path);
	nt_flow_free(flow);
	return writes;
}

/* Find the last Ownership message that begins before *at. False: there is none. */
static bool find_before(const struct nt_session_queue *q, const struct nt_params *params,
			size_t *at, struct nt_msg *msg)
{
	const uint8_t *p;

	while ((p = memrchr(q->data, NT_TCODE_OWNERSHIP << 2, *at))) {
		*at = (size_t)(p - q->data);
		/* no message begins but where another one, or idle, ends */
		if (p > q->data && (p[-1] & 3) != 3)
			continue;
		if (nt_msg_decode(params, p, q->data_len - *at, msg) > 0 &&
		    is_scontext(msg, params))
			return true;
	}
	return false;
}

/*
 * The kernel writes the next task's ID before the event of the previous one stops. For an event
 * that follows tasks, this is not a switch: trace ends before the next task begins, and the AUX
 * record has the task that was current until the end. So the messages are valid up to the last one
 * that names this task. Areas that the driver skipped have no AUX record and no owner.
 *
 * If no message names that task, there are two possible reasons. The record may have the IDs of a
 * PID namespace: then the recording does not know the task that the messages name. Or perf
 * exchanged the events of two tasks without a stop, and the encoder, which sends Ownership messages
 * only at traps, was disabled before the next trap: then the messages are right.
 *
 * An encoder that sends Ownership messages only at traps may not name the last task of a window:
 * then all of its messages are valid. Interrupts are disabled during a switch, but a call of the
 * firmware is a trap, after which the encoder names the next task (perf wakes its reader this way
 * when a record of the switch fills the ring buffer). Only the flow after the last message shows
 * whether the task that it names continued, or another task was switched to before the stop.
 */
uint64_t nt_session_owned_until(struct nt_session_queue *q, const struct nt_session_window *w,
				const struct nt_params *params)
{
	const size_t none = SIZE_MAX;
	size_t at = q->data_len, last = none;
	struct nt_msg msg;
	pid_t tid = 0;

	if (w->shared || w->orphan || !w->of_task || w->tid <= 0 ||
	    !(w->hw_id & NTRACE_HW_ID_PRIV_S))
		return UINT64_MAX;
	while (tid != w->tid && find_before(q, params, &at, &msg)) {
		last = last == none ? at : last;
		tid = (pid_t)(msg.process >> 5);
	}
	/* no message names the task: this is the first message */
	if (tid != w->tid)
		return tid > 0 && q->host->knows(q, tid) ? UINT64_MAX : 0;
	if (params->profile == NT_PROFILE_TT_DFD &&
	    (at == last || is_switched_behind(q, params, last)))
		return UINT64_MAX;
	return w->offset + at - q->rest;
}
