// SPDX-License-Identifier: GPL-2.0-only
/*
 * The lengths of RISC-V instructions, and which instructions never continue with the next one: see
 * ntrace-insn.h.
 */
#include <stdio.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/types.h>

#include "env.h"
#include "machine.h"
#define NTRACE_INSN_ITSELF
#include "ntrace-insn.h"

static bool is_riscv(struct machine *machine)
{
	const char *arch = machine && machine->env ? perf_env__arch(machine->env) : NULL;

	return arch && strstarts(arch, "riscv");
}

/* Length encodings above 32 bits are not ratified, and no compiler uses them. */
static int length(const u8 *buf, size_t len)
{
	size_t n = len && (buf[0] & 3) == 3 ? 4 : 2;

	return n <= len ? (int)n : 0;
}

const char *ntrace_dump_insn(struct perf_insn *x, u64 ip, u8 *buf, int len, int *lenp)
{
	size_t at;
	int i, n;

	if (!is_riscv(x->machine))
		return dump_insn(x, ip, buf, len, lenp);
	n = len > 0 ? length(buf, len) : 0;
	if (lenp)
		*lenp = n;
	if (!n)
		return "<cut>";
	at = scnprintf(x->out, sizeof(x->out), "insn:");
	for (i = 0; i < n; i++)
		at += scnprintf(x->out + at, sizeof(x->out) - at, " %02x", buf[i]);
	return x->out;
}

/* Jumps and trap returns: JAL, JALR, C.J, C.JR, C.JALR (and C.EBREAK), MRET, SRET */
int ntrace_is_uncond_branch(struct machine *machine, const u8 *buf, size_t len, int is64)
{
	u32 insn;

	if (!is_riscv(machine))
		return arch_is_uncond_branch(buf, len, is64);
	if (!length(buf, len))
		return 0;
	insn = buf[0] | buf[1] << 8;
	if (length(buf, len) == 2)
		return (insn & 0xe003) == 0xa001 || ((insn & 0xe07f) == 0x8002 && insn & 0xf80) ||
		       (!is64 && (insn & 0xe003) == 0x2001);
	insn |= (u32)buf[2] << 16 | (u32)buf[3] << 24;
	return (insn & 0x7f) == 0x6f || (insn & 0x707f) == 0x67 || insn == 0x30200073 ||
	       insn == 0x10200073;
}
