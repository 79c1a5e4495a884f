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

uint32_t nt_session_trap_flags(const struct nt_event *ev, struct nt_code *code,
			       uint64_t *syscall_ip)
{
	uint32_t flags = nt_session_flags(ev->type);
	uint64_t none = 0;

	if (!syscall_ip)
		syscall_ip = &none;
	switch (ev->type) {
	case NT_TYPE_EXCEPTION:
	case NT_TYPE_TRAP:
		if (!nt_session_is_ecall(code, ev->from))
			return flags;
		*syscall_ip = ev->from;
		break;
	case NT_TYPE_ERET:
		if (!*syscall_ip || ev->to != *syscall_ip + 4)
			return flags;
		*syscall_ip = 0;
		break;
	default:
		return flags;
	}
	return (flags & ~(uint32_t)NT_SESSION_INTERRUPT) | NT_SESSION_SYSCALL;
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
