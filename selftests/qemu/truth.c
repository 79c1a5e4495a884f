// SPDX-License-Identifier: GPL-2.0-only
/*
 * The truth: every retired instruction that should be traced according to the registers, in the
 * tandem-verification trace format.  truth-gate.c selects the instructions, truth-loss.c marks
 * losses.
 *
 * A group's program counter is the one after its instruction.  Marks are groups with opcode 11
 * (state initialisation) and a register of the custom address space:
 *	0xc000	kind of mark, see below
 *	0xc001	thread ID of the running task, 0 unknown; CUT: a0
 *	0xc002	DROP: number of instructions before it that no arrived message reports; absent
 *		where a loss continues at the beginning of another stretch
 */

#include <stdlib.h>
#include <string.h>

#include "model.h"

#define BUFFER	(1u << 20)
#define HELD_MAX (64u << 20)
#define ROOM	256			/* the longest group */

enum op {
	OP_BEGIN = 1, OP_INCPC = 3, OP_REG = 4, OP_STATE = 7, OP_INIT = 11,
	OP_INSN16 = 16, OP_INSN32 = 17,
};

enum { STATE_PRIV = 1, STATE_PC = 10 };

enum mark {
	MARK_BEGIN = 1, MARK_END = 2, MARK_OWNER = 3, MARK_DROP = 4, MARK_RESTART = 5,
	MARK_CUT = 7,
};

#define REG_MARK	0xc000
#define REG_TID		0xc001
#define REG_UNREPORTED	0xc002
#define CSR_SATP	0x180

struct truth {
	FILE *file;
	bool pipe;
	uint8_t *buf;
	unsigned int len, size;
	bool held;			/* buf must not be written to the file yet */
	GArray *begins;			/* while held: offsets in buf after BEGIN marks */
	bool open;
	uint64_t insns;			/* instructions written, without the current run */
	uint64_t satp;
	uint32_t tid;
};

/*
 * Bytes
 */

static void write_out(struct truth *t)
{
	if (fwrite(t->buf, 1, t->len, t->file) != t->len)
		die("truth: cannot write");
	t->len = 0;
}

static uint8_t *room(struct truth *t, unsigned int len)
{
	if (t->len + len <= t->size)
		return t->buf + t->len;
	if (t->held) {
		t->size *= 2;
		t->buf = g_realloc(t->buf, t->size);
	} else {
		write_out(t);
	}
	return t->buf + t->len;
}

static uint8_t *put_u64(uint8_t *p, uint64_t value)
{
	memcpy(p, &value, 8);
	return p + 8;
}

static uint8_t *put_reg(uint8_t *p, uint16_t reg, uint64_t value)
{
	*p++ = OP_REG;
	*p++ = reg;
	*p++ = reg >> 8;
	return put_u64(p, value);
}

static uint8_t *put_pc(uint8_t *p, uint64_t pc)
{
	*p++ = OP_STATE;
	*p++ = STATE_PC;
	return put_u64(p, pc);
}

static uint8_t *put_priv(uint8_t *p, uint8_t priv)
{
	*p++ = OP_STATE;
	*p++ = STATE_PRIV;
	*p++ = priv;
	return p;
}

static uint8_t *put_insn(uint8_t *p, const struct insn *insn)
{
	*p++ = insn->op.len == 2 ? OP_INSN16 : OP_INSN32;
	memcpy(p, &insn->bits, insn->op.len);
	return p + insn->op.len;
}

static uint8_t *put_mark(uint8_t *p, enum mark mark)
{
	*p++ = OP_BEGIN;
	*p++ = OP_INIT;
	return put_reg(p, REG_MARK, mark);
}

/*
 * Owner: satp and the kernel's current task.  In the kernel tp points to the task, except for a few
 * instructions after a trap, where it still is the program's.  In U mode sscratch does.
 */

static uint32_t read_tid(struct hart *h)
{
	uint64_t task = guest_reg(h, h->priv == PRIV_U ? REG_SSCRATCH : REG_TP);
	uint32_t tid;

	if (opt.pid_offset < 0)
		return 0;
	if (h->priv == PRIV_M || !(task >> 63) ||
	    !guest_read(h->truth->satp, task + opt.pid_offset, &tid, sizeof(tid)))
		return h->truth->tid;
	return tid;
}

/* Returns whether the owner changed */
static bool read_owner(struct hart *h)
{
	struct truth *t = h->truth;
	uint64_t satp = t->satp;
	uint32_t tid = t->tid;

	t->satp = guest_reg(h, REG_SATP);
	t->tid = read_tid(h);
	return t->satp != satp || t->tid != tid;
}

static uint8_t *put_owner(uint8_t *p, const struct truth *t)
{
	p = put_reg(p, CSR_SATP, t->satp);
	return put_reg(p, REG_TID, t->tid);
}

/*
 * Marks
 */

/* The loss continues, so the trace does not show this beginning of a stretch */
static void put_drop_again(struct truth *t)
{
	uint8_t *p = room(t, ROOM);

	t->len += put_mark(p, MARK_DROP) - p;
}

static void begin(struct hart *h, uint64_t pc)
{
	struct truth *t = h->truth;
	uint8_t *p = room(t, ROOM), *start = p;

	read_owner(h);
	p = put_mark(p, MARK_BEGIN);
	p = put_pc(p, pc);
	p = put_priv(p, h->priv);
	p = put_owner(p, t);
	t->len += p - start;
	t->open = true;
	if (t->held)
		g_array_append_val(t->begins, t->len);
	if (loss_goes_on(h))
		put_drop_again(t);
}

static void end(struct hart *h)
{
	struct truth *t = h->truth;
	uint8_t *p = room(t, ROOM);

	t->len += put_mark(p, MARK_END) - p;
	t->open = false;
}

static void owner(struct hart *h)
{
	struct truth *t = h->truth;
	uint8_t *p = room(t, ROOM);

	if (read_owner(h))
		t->len += put_owner(put_mark(p, MARK_OWNER), t) - p;
}

/* Write the instructions of the current run before the one that the encoder is at */
static void catch_up(struct hart *h)
{
	const struct block *b = h->run;

	if (!b || h->run_at == h->run_truth)
		return;
	truth_groups(h, b, h->run_truth, h->run_at, b->insn[h->run_at].op.pc);
	h->run_truth = h->run_at;
}

/* Count instructions, including those of the current run before the one that the encoder is at */
uint64_t truth_insns(struct hart *h)
{
	const struct truth *t = h->truth;

	if (truth_by_address(h))
		catch_up(h);
	return t->insns + (h->run && t->open ? h->run_at - h->run_truth : 0);
}

uint64_t truth_pc(const struct hart *h)
{
	return h->run ? h->run->insn[h->run_at].op.pc : h->next_pc;
}

bool truth_is_open(const struct hart *h)
{
	return h->truth->open;
}

/*
 * Holding back: trace that the sink does not take at once may arrive later, or never
 */

/* Hold the truth back from now on. Returns the offset in the truth. */
unsigned int truth_hold(struct hart *h)
{
	struct truth *t = h->truth;

	if (!t)
		return 0;
	catch_up(h);
	if (!t->held)
		g_array_set_size(t->begins, 0);
	t->held = true;
	return t->len;
}

/* Insert a mark into the part of the truth that is held back, or append it. Returns its length. */
static unsigned int insert(struct hart *h, unsigned int at, const uint8_t *mark, unsigned int len)
{
	struct truth *t = h->truth;
	guint i;

	catch_up(h);
	room(t, ROOM);
	if (at > t->len)
		at = t->len;
	memmove(t->buf + at + len, t->buf + at, t->len - at);
	memcpy(t->buf + at, mark, len);
	t->len += len;
	for (i = 0; t->held && i < t->begins->len; i++)
		if (g_array_index(t->begins, unsigned int, i) >= at)
			g_array_index(t->begins, unsigned int, i) += len;
	return len;
}

unsigned int truth_drop(struct hart *h, unsigned int at, uint64_t unreported)
{
	uint8_t mark[ROOM];
	uint8_t *end = put_reg(put_mark(mark, MARK_DROP), REG_UNREPORTED, unreported);

	return insert(h, at, mark, end - mark);
}

unsigned int truth_restart(struct hart *h, unsigned int at, uint64_t pc)
{
	uint8_t mark[ROOM];

	return insert(h, at, mark, put_pc(put_mark(mark, MARK_RESTART), pc) - mark);
}

/* Mark all stretches that began at or after an offset as lost. From the last to the first. */
void truth_drop_begins(struct hart *h, unsigned int at)
{
	struct truth *t = h->truth;
	uint8_t mark[ROOM];
	unsigned int len = put_mark(mark, MARK_DROP) - mark;
	guint i;

	for (i = t->begins->len; t->held && i--; )
		if (g_array_index(t->begins, unsigned int, i) >= at)
			insert(h, g_array_index(t->begins, unsigned int, i), mark, len);
}

void truth_release(struct hart *h)
{
	struct truth *t = h->truth;

	if (!t || !t->held)
		return;
	t->held = false;
	if (t->size > BUFFER) {
		write_out(t);
		t->size = BUFFER;
		t->buf = g_realloc(t->buf, t->size);
	}
}

bool truth_holds_too_much(const struct hart *h)
{
	return h->truth && h->truth->len > HELD_MAX;
}

/*
 * Cuts: the hint `slti x0, a0, 0x54e` in a program marks the truth of all harts with the number in
 * a0. This separates the recordings of one boot.
 */

#define CUT_HINT	(0x54eu << 20 | 10 << 15 | 2 << 12 | 0x13)

static void cut(struct hart *h, uint64_t number)
{
	struct truth *t = h->truth;
	uint8_t *p;

	catch_up(h);
	p = room(t, ROOM);
	t->len += put_reg(put_mark(p, MARK_CUT), REG_TID, number) - p;
}

static void on_cut(unsigned int vcpu, void *userdata)
{
	const struct insn *insn = userdata;
	uint64_t number = guest_reg(harts[vcpu], REG_GPR + 10);
	unsigned int i;

	hart_lock(harts[vcpu]);
	retire_until(harts[vcpu], insn);
	hart_unlock(harts[vcpu]);
	for (i = 0; i < n_harts; i++) {
		hart_lock(harts[i]);
		cut(harts[i], number);
		hart_unlock(harts[i]);
	}
}

void truth_translate_cut(struct qemu_plugin_insn *qi, const struct insn *insn)
{
	if (opt.truth && insn->op.len == 4 && insn->bits == CUT_HINT)
		qemu_plugin_register_vcpu_insn_exec_cb(qi, on_cut, QEMU_PLUGIN_CB_R_REGS,
						       (void *)insn);
}

/*
 * Stretches
 */

static bool enabled(const struct hart *h)
{
	uint32_t control = te_read(&h->te, TE_CONTROL);

	return h->te.enable.is && control & TE_INST_TRACING && control & TE_INST_MODE;
}

static bool traced(const struct hart *h)
{
	return enabled(h) && truth_passes(h, h->priv);
}

void truth_gate(struct hart *h)
{
	if (!h->truth)
		return;
	if (h->truth->open && !traced(h))
		end(h);
	else if (!h->truth->open && !h->priv_stale && !truth_by_address(h) && traced(h))
		begin(h, h->next_pc);
}

/*
 * Instructions and traps
 */

static void put_groups(struct hart *h, const struct block *b, uint32_t from, uint32_t to,
		       uint64_t next_pc)
{
	const struct insn *last = &b->insn[to - 1];
	struct truth *t = h->truth;
	unsigned int len;
	uint32_t i;
	uint8_t *p;

	for (i = from; b->context && i < to - 1; i++) {
		if (!b->insn[i].context)
			continue;
		put_groups(h, b, from, i + 1, b->insn[i + 1].op.pc);
		from = i + 1;
	}

	len = b->truth_at[to - 1] - b->truth_at[from];
	p = room(t, len + ROOM);
	memcpy(p, b->truth + b->truth_at[from], len);
	p += len;
	*p++ = OP_BEGIN;
	if (next_pc == last->op.pc + last->op.len)
		*p++ = OP_INCPC;
	else
		p = put_pc(p, next_pc);
	p = put_insn(p, last);
	t->len = p - t->buf;
	t->insns += to - from;
	if (last->context)
		owner(h);
}

/* If filters test addresses, check each instruction */
static void put_passed(struct hart *h, const struct block *b, uint32_t from, uint32_t to,
		       uint64_t next_pc)
{
	struct truth *t = h->truth;
	uint32_t i;

	if (!enabled(h) || h->in_rom)
		return;
	for (i = from; i < to; i++) {
		uint64_t pc = b->insn[i].op.pc;
		bool pass = truth_passes_insn(h, pc);

		if (pass && !t->open)
			begin(h, pc);
		else if (!pass && t->open)
			end(h);
		if (pass)
			put_groups(h, b, i, i + 1, i + 1 < to ? b->insn[i + 1].op.pc : next_pc);
	}
}

void truth_groups(struct hart *h, const struct block *b, uint32_t from, uint32_t to,
		  uint64_t next_pc)
{
	if (!h->truth || from >= to)
		return;
	if (truth_by_address(h))
		put_passed(h, b, from, to, next_pc);
	else if (h->truth->open)
		put_groups(h, b, from, to, next_pc);
}

static uint8_t *put_cause(uint8_t *p, struct hart *h)
{
	bool m = h->priv == PRIV_M;
	unsigned int csr = m ? 0x300 : 0x100;

	p = put_reg(p, csr + 0x41, guest_reg(h, m ? REG_MEPC : REG_SEPC));
	p = put_reg(p, csr + 0x42, guest_reg(h, m ? REG_MCAUSE : REG_SCAUSE));
	p = put_reg(p, csr, guest_reg(h, m ? REG_MSTATUS : REG_SSTATUS));
	return put_reg(p, csr + 0x43, guest_reg(h, m ? REG_MTVAL : REG_STVAL));
}

/* A trap to code that is not traced ends the stretch and is not recorded. */
void truth_trap(struct hart *h, uint64_t to, const struct insn *insn)
{
	struct truth *t = h->truth;
	uint8_t *p;

	if (!t || !t->open)
		return;
	truth_gate(h);
	if (!t->open)
		return;
	p = room(t, ROOM);
	*p++ = OP_BEGIN;
	p = put_pc(p, to);
	if (insn)
		p = put_insn(p, insn);
	p = put_priv(put_cause(p, h), h->priv);
	t->len = p - t->buf;
}

/* Debug mode is not traced, and EBREAK did not retire. */
void truth_debug(struct hart *h)
{
	if (h->truth && h->truth->open)
		end(h);
}

/*
 * Translation: the groups of a block, as if execution were sequential
 */

unsigned int truth_translate_size(const struct block *b)
{
	return b->n * 7;
}

void truth_translate(struct block *b)
{
	uint8_t *p = b->truth;
	uint32_t i;

	for (i = 0; i < b->n; i++) {
		b->truth_at[i] = p - b->truth;
		*p++ = OP_BEGIN;
		*p++ = OP_INCPC;
		p = put_insn(p, &b->insn[i]);
	}
	b->truth_at[i] = p - b->truth;
}

/*
 * Files
 */

void truth_init_hart(struct hart *h)
{
	struct truth *t;
	char *name;

	if (!opt.truth)
		return;
	t = g_new0(struct truth, 1);
	name = g_strdup_printf(opt.truth, h->index);
	t->pipe = name[0] == '|';
	t->file = t->pipe ? popen(name + 1, "w") : fopen(name, "w");
	if (!t->file)
		die("truth: cannot write %s", name);
	setvbuf(t->file, NULL, _IONBF, 0);
	g_free(name);
	t->size = BUFFER;
	t->buf = g_malloc(t->size);
	t->begins = g_array_new(FALSE, FALSE, sizeof(unsigned int));
	h->truth = t;
	truth_init_gate(h);
	loss_init_hart(h);
}

void truth_exit(struct hart *h)
{
	struct truth *t = h->truth;

	if (!t)
		return;
	if (t->open)
		end(h);
	write_out(t);
	if (t->pipe ? pclose(t->file) : fclose(t->file))
		die("truth: writing failed");
}
