// SPDX-License-Identifier: GPL-2.0-only
/*
 * Full state: every instruction and trap of a hart with all changes of state, in the
 * tandem-verification trace format, from reset on, whether the encoder traces or not.
 *
 * QEMU calls back before each instruction. Then the registers show the effect of the previous
 * instruction, and callbacks have reported its loads and stores.  If an interrupt occurred in
 * between, it has changed CSRs, too: the values before the interrupt are computed.
 *
 * With privilege U only, changes outside of user mode belong to the ECALL that caused them, as in a
 * user-mode emulator.
 *
 * Not recorded: CSRs that are not in the table below, vector registers, and memory that a
 * semihosting call has written.
 */

#include <stdlib.h>
#include <string.h>

#include "../../tools-perf/util/ntrace-tv/nt-tv.h"
#include "model.h"

#define BUFFER		(1u << 16)
#define ACCESSES	32		/* maximum for one instruction: Zcmp has up to 13 */

#define INSN_ECALL	0x73
#define INSN_MRET	0x30200073
#define INSN_SRET	0x10200073

enum {
	FCSR = 0x003, STVEC = 0x105, SSTATUS = 0x100, SIE = 0x104, SEPC = 0x141, SCAUSE = 0x142,
	STVAL = 0x143, MSTATUS = 0x300, MEPC = 0x341, MCAUSE = 0x342, MTVAL = 0x343, MIP = 0x344,
	CYCLE = 0xc00, TIME = 0xc01, INSTRET = 0xc02,
};

/* mstatus: bits that traps and floating-point instructions change */
#define STATUS_SIE	(1ull << 1)
#define STATUS_MIE	(1ull << 3)
#define STATUS_SPIE	(1ull << 5)
#define STATUS_MPIE	(1ull << 7)
#define STATUS_SPP	(1ull << 8)
#define STATUS_MPP	(3ull << 11)
#define STATUS_MPRV	(1ull << 17)
#define STATUS_OF_TRAPS	(STATUS_SIE | STATUS_MIE | STATUS_SPIE | STATUS_MPIE | STATUS_SPP | \
			 STATUS_MPP)
#define STATUS_DIRTY	(3ull << 13 | 1ull << 63)

/* CSRs, without those that are views of others (sstatus, fflags, sip) */
static const struct {
	uint16_t number;
	const char *name;
} csrs[] = {
	{ FCSR, "fcsr" }, { MSTATUS, "mstatus" }, { MEPC, "mepc" }, { MCAUSE, "mcause" },
	{ MTVAL, "mtval" }, { 0x304, "mie" }, { 0x305, "mtvec" }, { 0x340, "mscratch" },
	{ 0x302, "medeleg" }, { 0x303, "mideleg" }, { 0x306, "mcounteren" },
	{ 0x30a, "menvcfg" }, { 0x320, "mcountinhibit" }, { 0x106, "scounteren" },
	{ 0x10a, "senvcfg" }, { STVEC, "stvec" }, { 0x140, "sscratch" }, { SEPC, "sepc" },
	{ SCAUSE, "scause" }, { STVAL, "stval" }, { 0x180, "satp" },
	{ 0x3a0, "pmpcfg0" }, { 0x3a2, "pmpcfg2" },
	{ 0x3b0, "pmpaddr0" }, { 0x3b1, "pmpaddr1" }, { 0x3b2, "pmpaddr2" }, { 0x3b3, "pmpaddr3" },
	{ 0x3b4, "pmpaddr4" }, { 0x3b5, "pmpaddr5" }, { 0x3b6, "pmpaddr6" }, { 0x3b7, "pmpaddr7" },
};

#define CSRS	(sizeof(csrs) / sizeof(csrs[0]))

struct reg {
	struct qemu_plugin_register *handle;
	uint64_t told;
	bool known;
};

struct access {
	uint64_t vaddr, paddr, value;
	uint8_t size;			/* log2 of bytes */
	bool store;
};

struct state {
	FILE *file;
	struct nt_tv_writer w;
	uint8_t buf[BUFFER];
	struct reg x[32], f[32], csr[CSRS], mip, priv;
	bool began;
	/* the current instruction */
	bool pending;
	uint64_t pc, rs2;
	uint32_t bits;
	uint8_t len;
	struct access access[ACCESSES];
	unsigned int n;
	uint64_t moved;			/* address of the block minus its translated address */
	bool elsewhere;			/* not in U mode, and only U mode is recorded */
};

/*
 * Registers
 */

static uint64_t now(struct hart *h, const struct reg *r)
{
	return r->handle ? guest_read_reg(h, r->handle) : r->told;
}

/* Add a register to the group if it differs from its last recorded value, in the shortest form */
static void put_change(struct state *s, struct reg *r, uint16_t number, uint64_t value)
{
	int64_t by = (int64_t)(value - r->told);

	if (r->known && r->told == value)
		return;
	if (r->known && by >= INT8_MIN && by <= INT8_MAX)
		nt_tv_reg_add(&s->w, number, (int8_t)by);
	else if (r->known && !(r->told & ~value) && (value & ~r->told) <= UINT8_MAX)
		nt_tv_reg_or(&s->w, number, (uint8_t)(value & ~r->told));
	else
		nt_tv_reg(&s->w, number, value);
	r->told = value;
	r->known = true;
}

/* Prefer an OR for flags, although an addition may be as short */
static void put_fcsr(struct state *s, struct reg *r, uint64_t value)
{
	if (r->known && value != r->told && !(r->told & ~value) &&
	    (value & ~r->told) <= UINT8_MAX) {
		nt_tv_reg_or(&s->w, FCSR, (uint8_t)(value & ~r->told));
		r->told = value;
	}
	put_change(s, r, FCSR, value);
}

static struct reg *csr_of(struct state *s, unsigned int number)
{
	unsigned int i;

	for (i = 0; i < CSRS; i++)
		if (csrs[i].number == number)
			return s->csr[i].handle ? &s->csr[i] : NULL;
	return NULL;
}

static bool is_system(uint32_t bits)
{
	return (bits & 0x7f) == 0x73;
}

static bool is_csr(uint32_t bits)
{
	return is_system(bits) && bits >> 12 & 3;
}

/* Does the instruction write floating-point registers? 16-bit instructions: those of RV64 */
static bool is_fp(uint32_t bits, unsigned int len)
{
	if (len == 2)
		return ((bits & 3) == 0 || (bits & 3) == 2) && (bits >> 13 & 7) == 1;
	switch (bits & 0x7f) {
	case 0x07: case 0x43: case 0x47: case 0x4b: case 0x4f: case 0x53:
		return true;
	}
	return false;
}

/*
 * An interrupt came right after a CSR access or a trap return, and has overwritten CSR `number'.
 * Compute the value that the instruction left.  value: the value after the interrupt
 */
static uint64_t status_before(const struct state *s, uint64_t told)
{
	if (s->bits == INSN_MRET) {
		told = (told & ~STATUS_MIE) | (told & STATUS_MPIE ? STATUS_MIE : 0);
		return (told & ~STATUS_MPP) | STATUS_MPIE;
	}
	told = (told & ~STATUS_SIE) | (told & STATUS_SPIE ? STATUS_SIE : 0);
	return (told & ~STATUS_SPP) | STATUS_SPIE;
}

static uint64_t written(const struct state *s, uint64_t told)
{
	unsigned int rs1 = s->bits >> 15 & 31, funct = s->bits >> 12 & 7;
	uint64_t operand = funct & 4 ? rs1 : s->x[rs1].told;

	/* use the old value of rs1, as last recorded: the instruction may have overwritten it */
	switch (funct & 3) {
	case 1:
		return operand;
	case 2:
		return told | operand;
	}
	return told & ~operand;
}

static uint64_t csr_before_trap(const struct state *s, unsigned int number, uint64_t told,
				uint64_t value)
{
	bool status = number == MSTATUS;
	unsigned int to = s->bits >> 20;
	uint64_t before = told;

	if (status && (s->bits == INSN_MRET || s->bits == INSN_SRET))
		before = status_before(s, told);
	else if (is_csr(s->bits) && (to == number || (status && to == SSTATUS)))
		before = written(s, told);
	return status ? (value & ~STATUS_OF_TRAPS) | (before & STATUS_OF_TRAPS) : before;
}

static bool trap_writes(unsigned int number)
{
	return number == MSTATUS || (number >= MEPC && number <= MTVAL) ||
	       (number >= SEPC && number <= STVAL);
}

/*
 * Groups
 */

static void put_csrs(struct hart *h, struct state *s, bool interrupted)
{
	unsigned int i;

	for (i = 0; i < CSRS; i++) {
		uint64_t value;

		if (!s->csr[i].handle || (opt.state_user && csrs[i].number != FCSR))
			continue;
		value = now(h, &s->csr[i]);
		if (interrupted && trap_writes(csrs[i].number))
			value = csr_before_trap(s, csrs[i].number, s->csr[i].told, value);
		if (csrs[i].number == FCSR)
			put_fcsr(s, &s->csr[i], value);
		else
			put_change(s, &s->csr[i], csrs[i].number, value);
	}
}

/* Record floating-point registers, and FS in mstatus, which the first write makes dirty */
static void put_fp(struct hart *h, struct state *s)
{
	struct reg *status = csr_of(s, MSTATUS), *fcsr = csr_of(s, FCSR);
	unsigned int i;

	for (i = 0; i < 32; i++)
		put_change(s, &s->f[i], NT_TV_REG_F + i, now(h, &s->f[i]));
	if (fcsr)
		put_fcsr(s, fcsr, now(h, fcsr));
	if (status && !opt.state_user)
		put_change(s, status, MSTATUS, (status->told & ~STATUS_DIRTY) |
					       (now(h, status) & STATUS_DIRTY));
}

/* Load and store of an AMO have the same address: record it once */
static void put_accesses(struct state *s)
{
	unsigned int i;

	for (i = 0; i < s->n; i++) {
		const struct access *a = &s->access[i];

		if (a->store || i + 1 == s->n || !a[1].store || a[1].vaddr != a->vaddr) {
			nt_tv_paddr(&s->w, a->paddr);
			if (a->vaddr != a->paddr)
				nt_tv_eaddr(&s->w, a->vaddr);
		}
		if (a->store)
			nt_tv_store_data(&s->w, a->size, a->value);
	}
}

static unsigned int memop_of(uint32_t bits)
{
	static const uint8_t ops[32] = {
		[0x00] = NT_TV_ADD, [0x01] = NT_TV_SWAP, [0x02] = NT_TV_LR, [0x03] = NT_TV_SC,
		[0x04] = NT_TV_XOR, [0x08] = NT_TV_OR, [0x0c] = NT_TV_AND, [0x10] = NT_TV_MIN,
		[0x14] = NT_TV_MAX, [0x18] = NT_TV_MINU, [0x1c] = NT_TV_MAXU,
	};

	return ops[bits >> 27];
}

/* Record the bus transaction, in addition to the group, which has the core's view */
static void put_transaction(struct state *s)
{
	const struct access *a = s->access;
	unsigned int op = memop_of(s->bits);
	bool failed = op == NT_TV_SC && !s->n;

	if (s->len != 4 || (s->bits & 0x7f) != 0x2f || failed)
		return;
	nt_tv_memreq(&s->w, op, a->size, a->paddr, s->rs2);
	nt_tv_memrsp(&s->w, op, a->size, NT_TV_SUCCESS, a->value);
}

/* Record inputs that only the hart knows (time, counters, mip), before the group */
static void put_inputs(struct hart *h, struct state *s)
{
	unsigned int rd = s->bits >> 7 & 31, number = s->bits >> 20;
	uint64_t value = now(h, &s->x[rd]);

	if (s->len != 4 || !is_csr(s->bits) || !rd)
		return;
	if (number == TIME)
		nt_tv_mtime(&s->w, value);
	if ((number >= CYCLE && number <= INSTRET) || number == 0xb00 || number == 0xb02)
		nt_tv_reg(&s->w, number, value);
	else if (number == MIP)
		put_change(s, &s->mip, MIP, value);
}

static void put_next_pc(struct state *s, uint64_t pc)
{
	if (pc == s->pc + s->len)
		nt_tv_incpc(&s->w);
	else
		nt_tv_pc(&s->w, pc);
}

static void put_insn(struct state *s)
{
	if (s->len == 2)
		nt_tv_insn16(&s->w, (uint16_t)s->bits);
	else
		nt_tv_insn32(&s->w, s->bits);
}

static void put_priv(struct state *s, uint64_t priv)
{
	nt_tv_priv(&s->w, priv);
	s->priv.told = priv;
}

/* Privilege after the instruction, and before an interrupt: only trap returns change it */
static uint64_t priv_after(struct hart *h, struct state *s, bool interrupted)
{
	const struct reg *status = csr_of(s, MSTATUS);

	if (opt.state_user || (s->bits != INSN_MRET && s->bits != INSN_SRET))
		return s->priv.told;
	if (!interrupted || !status)
		return now(h, &s->priv);
	if (s->bits == INSN_MRET)
		return status->told >> 11 & 3;
	return status->told & STATUS_SPP ? PRIV_S : PRIV_U;
}

/* A failed store conditional has made no access: QEMU has reported the comparison only */
static void drop_failed(struct hart *h, struct state *s)
{
	unsigned int rd = s->bits >> 7 & 31;

	if (s->len == 4 && (s->bits & 0x7f) == 0x2f && memop_of(s->bits) == NT_TV_SC && rd &&
	    now(h, &s->x[rd]))
		s->n = 0;
}

/* Record the pending instruction, which has retired. Execution continues at pc. */
static void finish(struct hart *h, struct state *s, uint64_t pc, bool interrupted)
{
	unsigned int i;
	uint64_t priv;

	if (!s->pending)
		return;
	s->pending = false;
	priv = priv_after(h, s, interrupted);
	drop_failed(h, s);
	put_inputs(h, s);
	nt_tv_begin(&s->w);
	put_next_pc(s, pc);
	put_insn(s);
	if (s->len == 4 && is_system(s->bits))
		put_csrs(h, s, interrupted);
	for (i = 1; i < 32; i++)
		put_change(s, &s->x[i], NT_TV_REG_X + i, now(h, &s->x[i]));
	if (is_fp(s->bits, s->len))
		put_fp(h, s);
	put_accesses(s);
	if (s->len == 4 && priv != s->priv.told)
		put_priv(s, priv);
	nt_tv_end(&s->w);
	put_transaction(s);
}

/* Record all of these CSRs, changed or not, as in appendix C */
static void put_cause(struct hart *h, struct state *s, uint64_t priv)
{
	static const uint16_t numbers[2][4] = {
		{ MEPC, MCAUSE, MSTATUS, MTVAL }, { SEPC, SCAUSE, MSTATUS, STVAL },
	};
	unsigned int i;

	for (i = 0; i < 4; i++) {
		uint16_t number = numbers[priv != PRIV_M][i];
		struct reg *r = csr_of(s, number);

		if (!r)
			continue;
		r->told = now(h, r);
		r->known = true;
		nt_tv_reg(&s->w, number, r->told);
	}
}

static void put_trap(struct hart *h, struct state *s, uint64_t to, bool insn)
{
	uint64_t priv = now(h, &s->priv);

	nt_tv_begin(&s->w);
	nt_tv_pc(&s->w, to);
	if (insn)
		put_insn(s);
	put_cause(h, s, priv);
	put_priv(s, priv);
	nt_tv_end(&s->w);
}

/*
 * The beginning: reset, and the initial state of the hart
 */

static void put_all(struct hart *h, struct state *s)
{
	unsigned int i;

	for (i = 1; i < 32; i++)
		put_change(s, &s->x[i], NT_TV_REG_X + i, now(h, &s->x[i]));
	for (i = 0; i < 32; i++)
		put_change(s, &s->f[i], NT_TV_REG_F + i, now(h, &s->f[i]));
	for (i = 0; i < CSRS; i++)
		if (s->csr[i].handle && (!opt.state_user || csrs[i].number == FCSR))
			put_change(s, &s->csr[i], csrs[i].number, now(h, &s->csr[i]));
	if (!opt.state_user)
		put_change(s, &s->mip, MIP, now(h, &s->mip));
}

static void begin(struct hart *h, struct state *s, uint64_t pc)
{
	s->began = true;
	if (!opt.state_user) {
		nt_tv_begin(&s->w);
		nt_tv_hart_reset(&s->w);
		nt_tv_end(&s->w);
	}
	nt_tv_begin(&s->w);
	nt_tv_state_init(&s->w);
	nt_tv_pc(&s->w, pc);
	put_priv(s, now(h, &s->priv));
	nt_tv_mtime(&s->w, guest_reg(h, REG_TIME));
	put_all(h, s);
	nt_tv_end(&s->w);
}

/*
 * Callbacks
 */

static void on_insn(unsigned int vcpu, void *userdata)
{
	const struct insn *insn = userdata;
	struct hart *h = harts[vcpu];
	struct state *s = h->state;
	uint64_t pc;

	if (!insn->index) {
		s->moved = guest_reg(h, REG_PC) - insn->op.pc;
		s->elsewhere = opt.state_user && guest_reg(h, REG_PRIV) != PRIV_U;
	}
	if (s->elsewhere)
		return;
	pc = insn->op.pc + s->moved;
	if (!s->began)
		begin(h, s, pc);
	/* only a jump can lead to itself: any other instruction is executed again */
	if (!s->pending || s->pc != pc || insn->op.type)
		finish(h, s, pc, false);
	s->pending = true;
	s->pc = pc;
	s->bits = insn->op.len == 2 ? insn->bits & 0xffff : insn->bits;
	s->len = insn->op.len;
	s->rs2 = now(h, &s->x[s->bits >> 20 & 31]);
	s->n = 0;
}

static void on_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *userdata)
{
	struct qemu_plugin_hwaddr *at = qemu_plugin_get_hwaddr(info, vaddr);
	qemu_plugin_mem_value value = qemu_plugin_mem_get_value(info);
	struct state *s = harts[vcpu]->state;

	(void)userdata;
	if (!s->pending || s->elsewhere)
		return;
	if (s->n == ACCESSES || value.type > 3)
		die("state: an instruction with more than %u accesses, or of 128 bits", ACCESSES);
	s->access[s->n++] = (struct access) {
		.vaddr = vaddr, .paddr = at ? qemu_plugin_hwaddr_phys_addr(at) : vaddr,
		.value = value.data.u64, .size = value.type,
		.store = qemu_plugin_mem_is_store(info),
	};
}

void state_translate(struct qemu_plugin_insn *qi, const struct insn *insn)
{
	if (!opt.state)
		return;
	qemu_plugin_register_vcpu_insn_exec_cb(qi, on_insn, QEMU_PLUGIN_CB_R_REGS, (void *)insn);
	qemu_plugin_register_vcpu_mem_cb(qi, on_access, QEMU_PLUGIN_CB_R_REGS,
					 QEMU_PLUGIN_MEM_RW, NULL);
}

static void interrupted(struct hart *h, struct state *s, uint64_t from, uint64_t to)
{
	finish(h, s, from, true);
	if (opt.state_user)
		return;
	put_change(s, &s->mip, MIP, now(h, &s->mip));
	nt_tv_mtime(&s->w, guest_reg(h, REG_TIME));
	put_trap(h, s, to, false);
}

/* A semihosting call, which changes a0, counts as an instruction of the hart. */
void state_discontinuity(struct hart *h, enum qemu_plugin_discon_type type, uint64_t from,
			 uint64_t to)
{
	struct state *s = h->state;
	bool insn;

	if (!s || !s->began || s->elsewhere || type == QEMU_PLUGIN_DISCON_HOSTCALL)
		return;
	if (type == QEMU_PLUGIN_DISCON_INTERRUPT) {
		interrupted(h, s, from, to);
		return;
	}
	/* U mode only: the handler completes the instruction, or lets it be repeated */
	if (opt.state_user)
		return;
	insn = s->pending && s->pc == from;
	if (insn)
		s->pending = false;
	else
		finish(h, s, from, true);
	put_trap(h, s, to, insn);
}

/*
 * Files
 */

static int write_out(void *ctx, const uint8_t *buf, size_t len)
{
	struct state *s = ctx;

	if (fwrite(buf, 1, len, s->file) != len)
		die("state: cannot write");
	return 0;
}

static void find_registers(struct hart *h, struct state *s)
{
	unsigned int i;

	for (i = 0; i < 32; i++) {
		char name[8];

		snprintf(name, sizeof(name), i < 8 ? "ft%u" : i < 10 ? "fs%u" : i < 18 ? "fa%u" :
			 i < 28 ? "fs%u" : "ft%u", i < 8 ? i : i < 10 ? i - 8 : i < 18 ? i - 10 :
			 i < 28 ? i - 16 : i - 20);
		s->f[i].handle = guest_find_reg(name);
		s->x[i].handle = h->reg[REG_GPR + i];
	}
	for (i = 0; i < CSRS; i++)
		s->csr[i].handle = guest_find_reg(csrs[i].name);
	s->mip.handle = guest_find_reg("mip");
	s->priv.handle = h->reg[REG_PRIV];
	if (!csr_of(s, MSTATUS) || !s->mip.handle)
		die("state: this CPU model shows no mstatus or no mip");
}

void state_init_hart(struct hart *h)
{
	static const struct nt_tv_params params = NT_TV_PARAMS_RV64;
	struct state *s;
	char *name;

	if (!opt.state)
		return;
	s = g_new0(struct state, 1);
	name = g_strdup_printf(opt.state, h->index);
	s->file = fopen(name, "wb");
	if (!s->file)
		die("state: cannot write %s", name);
	g_free(name);
	nt_tv_writer_init(&s->w, &params, s->buf, sizeof(s->buf), write_out, s);
	find_registers(h, s);
	h->state = s;
}

void state_exit(struct hart *h)
{
	struct state *s = h->state;

	if (!s)
		return;
	nt_tv_flush(&s->w);
	if (fclose(s->file))
		die("state: writing failed");
}
