// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Flags of transfers and kinds of losses, in perf's terms
 */
#include "nt-session.h"

#define ECALL	0x73

uint32_t nt_session_flags(unsigned int type)
{
	switch (type) {
	case NT_TYPE_NONE:
		return 0;
	case NT_TYPE_COND:
		return NT_SESSION_BRANCH | NT_SESSION_CONDITIONAL;
	case NT_TYPE_CALL:
	case NT_TYPE_ICALL:
	case NT_TYPE_SWAP:
		return NT_SESSION_BRANCH | NT_SESSION_CALL;
	case NT_TYPE_RET:
		return NT_SESSION_BRANCH | NT_SESSION_RETURN;
	case NT_TYPE_INTERRUPT:
		return NT_SESSION_BRANCH | NT_SESSION_CALL | NT_SESSION_ASYNC |
		       NT_SESSION_INTERRUPT;
	case NT_TYPE_EXCEPTION:
	case NT_TYPE_TRAP:
		return NT_SESSION_BRANCH | NT_SESSION_CALL | NT_SESSION_INTERRUPT;
	case NT_TYPE_ERET:
		return NT_SESSION_BRANCH | NT_SESSION_RETURN | NT_SESSION_INTERRUPT;
	default:
		return NT_SESSION_BRANCH;
	}
}

bool nt_session_is_ecall(struct nt_code *code, uint64_t addr)
{
	struct nt_insn insn;

	return code && nt_code_insn(code, addr, &insn) > 0 && insn.raw == ECALL;
}

/* Does the return lead behind the ECALL that the task executes, or may execute? */
static bool ends_syscall(const struct nt_event *ev, struct nt_code *code,
			 const struct nt_session_syscall *call, bool known)
{
	if (known && !call->ip)
		return false;
	return (known && ev->to == call->ip + 4) ||
	       (ev->to >= 4 && nt_session_is_ecall(code, ev->to - 4));
}

uint32_t nt_session_trap_flags(const struct nt_session *s, const struct nt_event *ev,
			       struct nt_code *code, struct nt_session_syscall *call)
{
	const uint32_t flags = nt_session_flags(ev->type);
	struct nt_session_syscall none = { 0 };
	bool is_syscall;

	if (!call)
		call = &none;
	if (ev->type == NT_TYPE_ERET)
		is_syscall = ends_syscall(ev, code, call, call->known == s->skips + 1);
	else
		is_syscall = ev->type != NT_TYPE_INTERRUPT && nt_session_is_ecall(code, ev->from);
	if (is_syscall || code) {
		call->ip = is_syscall && ev->type != NT_TYPE_ERET ? ev->from : 0;
		call->known = s->skips + 1;
	}
	return is_syscall ? (flags & ~(uint32_t)NT_SESSION_INTERRUPT) | NT_SESSION_SYSCALL : flags;
}

enum nt_session_loss nt_session_loss(unsigned int reason)
{
	switch (reason) {
	case NT_EOVERFLOW:
		return NT_SESSION_LOSS_OVERFLOW;
	case NT_EUNMAPPED:
		return NT_SESSION_LOSS_CODE;
	case NT_EMSEO:
	case NT_EHEAD:
	case NT_ELONG:
	case NT_EFIELD:
	case NT_ESHORT:
	case NT_EEXTRA:
	case NT_ECUT:
	case NT_ETCODE:
		return NT_SESSION_LOSS_DATA;
	default:
		return NT_SESSION_LOSS_FLOW;
	}
}
