// SPDX-License-Identifier: GPL-2.0-only
/* Names of registers in the 16-bit space of the debug specification */
#include <stdio.h>
#include <stdlib.h>

#include "tv.h"

struct csr {
	uint16_t number;
	const char *name;
};

/* sorted by number; ranges of numbered registers are in csr_runs */
static const struct csr csrs[] = {
	{ 0x001, "fflags" }, { 0x002, "frm" }, { 0x003, "fcsr" }, { 0x008, "vstart" },
	{ 0x009, "vxsat" }, { 0x00a, "vxrm" }, { 0x00f, "vcsr" }, { 0x011, "ssp" },
	{ 0x015, "seed" }, { 0x017, "jvt" }, { 0x100, "sstatus" }, { 0x104, "sie" },
	{ 0x105, "stvec" }, { 0x106, "scounteren" }, { 0x10a, "senvcfg" },
	{ 0x120, "scountinhibit" }, { 0x140, "sscratch" }, { 0x141, "sepc" },
	{ 0x142, "scause" }, { 0x143, "stval" }, { 0x144, "sip" }, { 0x14d, "stimecmp" },
	{ 0x14e, "sctrctl" }, { 0x14f, "sctrstatus" }, { 0x150, "siselect" },
	{ 0x151, "sireg" }, { 0x152, "sireg2" }, { 0x153, "sireg3" }, { 0x15c, "stopei" },
	{ 0x15d, "stimecmph" }, { 0x15f, "sctrdepth" }, { 0x180, "satp" },
	{ 0x200, "vsstatus" }, { 0x204, "vsie" }, { 0x205, "vstvec" }, { 0x240, "vsscratch" },
	{ 0x241, "vsepc" }, { 0x242, "vscause" }, { 0x243, "vstval" }, { 0x244, "vsip" },
	{ 0x24d, "vstimecmp" }, { 0x24e, "vsctrctl" }, { 0x280, "vsatp" },
	{ 0x300, "mstatus" }, { 0x301, "misa" }, { 0x302, "medeleg" }, { 0x303, "mideleg" },
	{ 0x304, "mie" }, { 0x305, "mtvec" }, { 0x306, "mcounteren" }, { 0x30a, "menvcfg" },
	{ 0x310, "mstatush" }, { 0x31a, "menvcfgh" }, { 0x320, "mcountinhibit" },
	{ 0x340, "mscratch" }, { 0x341, "mepc" }, { 0x342, "mcause" }, { 0x343, "mtval" },
	{ 0x344, "mip" }, { 0x34a, "mtinst" }, { 0x34b, "mtval2" }, { 0x34e, "mctrctl" },
	{ 0x350, "miselect" }, { 0x351, "mireg" }, { 0x352, "mireg2" }, { 0x353, "mireg3" },
	{ 0x35c, "mtopei" }, { 0x5a8, "scontext" }, { 0x600, "hstatus" }, { 0x602, "hedeleg" },
	{ 0x603, "hideleg" }, { 0x604, "hie" }, { 0x605, "htimedelta" },
	{ 0x606, "hcounteren" }, { 0x607, "hgeie" }, { 0x60a, "henvcfg" },
	{ 0x643, "htval" }, { 0x644, "hip" }, { 0x645, "hvip" }, { 0x64a, "htinst" },
	{ 0x680, "hgatp" }, { 0x6a8, "hcontext" }, { 0x744, "mnstatus" }, { 0x740, "mnscratch" },
	{ 0x741, "mnepc" }, { 0x742, "mncause" }, { 0x747, "mseccfg" }, { 0x7a0, "tselect" },
	{ 0x7a1, "tdata1" }, { 0x7a2, "tdata2" }, { 0x7a3, "tdata3" }, { 0x7a4, "tinfo" },
	{ 0x7a5, "tcontrol" }, { 0x7a8, "mcontext" }, { 0x7b0, "dcsr" }, { 0x7b1, "dpc" },
	{ 0x7b2, "dscratch0" }, { 0x7b3, "dscratch1" }, { 0xb00, "mcycle" },
	{ 0xb02, "minstret" }, { 0xb80, "mcycleh" }, { 0xb82, "minstreth" },
	{ 0xc00, "cycle" }, { 0xc01, "time" }, { 0xc02, "instret" }, { 0xc20, "vl" },
	{ 0xc21, "vtype" }, { 0xc22, "vlenb" }, { 0xc80, "cycleh" }, { 0xc81, "timeh" },
	{ 0xc82, "instreth" }, { 0xda0, "scountovf" }, { 0xdb0, "stopi" },
	{ 0xe12, "hgeip" }, { 0xf11, "mvendorid" }, { 0xf12, "marchid" },
	{ 0xf13, "mimpid" }, { 0xf14, "mhartid" }, { 0xf15, "mconfigptr" }, { 0xfb0, "mtopi" },
};

static const struct run {
	uint16_t first, last;
	const char *name;
	uint8_t from;
} runs[] = {
	{ 0x10c, 0x10f, "sstateen", 0 }, { 0x30c, 0x30f, "mstateen", 0 },
	{ 0x31c, 0x31f, "mstateenh", 0 }, { 0x323, 0x33f, "mhpmevent", 3 },
	{ 0x3a0, 0x3af, "pmpcfg", 0 }, { 0x3b0, 0x3ef, "pmpaddr", 0 },
	{ 0x60c, 0x60f, "hstateen", 0 }, { 0xb03, 0xb1f, "mhpmcounter", 3 },
	{ 0xb83, 0xb9f, "mhpmcounterh", 3 }, { 0xc03, 0xc1f, "hpmcounter", 3 },
	{ 0xc83, 0xc9f, "hpmcounterh", 3 },
};

static const char *const xregs[32] = {
	"zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3",
	"a4", "a5", "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11",
	"t3", "t4", "t5", "t6",
};

static const char *const fregs[32] = {
	"ft0", "ft1", "ft2", "ft3", "ft4", "ft5", "ft6", "ft7", "fs0", "fs1", "fa0", "fa1",
	"fa2", "fa3", "fa4", "fa5", "fa6", "fa7", "fs2", "fs3", "fs4", "fs5", "fs6", "fs7",
	"fs8", "fs9", "fs10", "fs11", "ft8", "ft9", "ft10", "ft11",
};

static const char *csr_name(uint16_t reg, char *buf, size_t size)
{
	for (size_t i = 0; i < sizeof(csrs) / sizeof(csrs[0]); i++)
		if (csrs[i].number == reg)
			return csrs[i].name;
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		if (reg < runs[i].first || reg > runs[i].last)
			continue;
		snprintf(buf, size, "%s%u", runs[i].name, reg - runs[i].first + runs[i].from);
		return buf;
	}
	snprintf(buf, size, "csr%03x", reg);
	return buf;
}

const char *tv_reg_name(uint16_t reg, char *buf, size_t size)
{
	if (reg < NT_TV_REG_X)
		return csr_name(reg, buf, size);
	if (reg < NT_TV_REG_F)
		return xregs[reg - NT_TV_REG_X];
	if (nt_tv_is_fpr(reg))
		return fregs[reg - NT_TV_REG_F];
	snprintf(buf, size, "%s%04x", reg >= NT_TV_REG_CUSTOM ? "custom" : "reg", reg);
	return buf;
}
