// SPDX-License-Identifier: GPL-2.0-only
/*
 * From QEMU's callbacks on translation and execution to retired instructions and traps.
 *
 * QEMU calls back at the beginning of a block. Which instructions of a block retired is known only
 * when the next block begins, or at a discontinuity.  QEMU may leave a block early without a
 * callback: an access to a device must be the last instruction of a block, otherwise QEMU leaves
 * the block before or after it and continues in another one; an atomic operation may be repeated
 * alone. So the last instruction of a block with memory accesses sets score.done. If score.done is
 * not set, the address of the next block tells how many instructions retired.
 *
 * While no instruction can pass the filter, watch is 0 and blocks run at full speed. The next trap,
 * or return from a trap, checks this again (armed).
 */

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

static struct qemu_plugin_scoreboard *board;

#define SCORE(member) ((qemu_plugin_u64){ board, offsetof(struct score, member) })

/*
 * Accounting
 */

/* Account instructions [from, to) of a block, which retired. Execution continues at next_pc. */
static void account(struct hart *h, struct block *b, uint32_t from, uint32_t to, uint64_t next_pc)
{
	uint32_t i;

	h->next_pc = next_pc;
	if (from >= to)
		return;
	h->run = b;
	h->run_truth = from;
	for (i = from; i < to; i++) {
		h->run_at = i;
		h->retired += encode_insn(h, &b->insn[i].op);
	}
	truth_groups(h, b, h->run_truth, to, next_pc);
	h->run = NULL;
	if (b->xret && to == b->n)
		h->priv_stale = true;
}

static uint32_t index_of(const struct block *b, uint64_t pc)
{
	uint32_t i;

	for (i = 0; i < b->n; i++)
		if (b->insn[i].op.pc == pc)
			break;
	return i;
}

/* How many instructions of the block retired, if execution continues at pc without a trap? */
static uint32_t retired_before(const struct hart *h, const struct block *b, uint64_t pc)
{
	const struct insn *last = &b->insn[b->n - 1];

	if (!h->score->done)
		return index_of(b, pc);
	/* only a jump can lead to itself: any other instruction will be repeated */
	if (pc == last->op.pc && !last->op.type)
		return b->n - 1;
	return b->n;
}

/* The same, if the instruction at pc raised an exception */
static uint32_t retired_before_exception(const struct hart *h, const struct block *b, uint64_t pc)
{
	uint32_t i = index_of(b, pc);

	if (i < b->n - 1 && b->partial && h->score->done)
		return b->n;	/* the block had ended, and pc was fetched again */
	return i;
}

static void account_block(struct hart *h, uint64_t pc, bool exception)
{
	struct block *b = h->cur;
	uint32_t to;

	h->cur = NULL;
	if (!b) {
		h->next_pc = pc;
		return;
	}
	to = exception ? retired_before_exception(h, b, pc) : retired_before(h, b, pc);
	account(h, b, h->from, to, pc);
}

/* Account the current block up to and including the instruction that executes now */
void retire_until(struct hart *h, const struct insn *last)
{
	const struct nt_enc_op *op;

	if (!h->cur || h->cur->origin != last->block)
		return;
	op = &h->cur->insn[last->index].op;
	account(h, h->cur, h->from, last->index + 1, op->pc + op->len);
	h->from = last->index + 1;
}

/* Registers or privilege have changed: choose the callbacks that are needed now */
void retire_rewatch(struct hart *h)
{
	bool tracing = te_tracing(&h->te);
	bool pass = h->priv_stale || encode_passes(h, h->priv) || truth_passes(h, h->priv) ||
		    encode_wants_all(h) || truth_wants_all(h);

	h->score->watch = tracing && pass;
	h->score->armed = tracing && !pass;
	if (!h->score->watch)
		h->cur = NULL;
}

static void update_priv(struct hart *h)
{
	enum priv priv = guest_reg(h, REG_PRIV);
	bool changed = priv != h->priv;

	h->priv_stale = false;
	h->priv = priv;
	if (changed)
		encode_priv(h);
}

/*
 * Blocks
 */

static struct {
	GMutex lock;
	uint8_t *chunk;
	size_t left;
	GPtrArray *chunks;
} arena;

#define CHUNK	(1u << 20)

/* Blocks live until QEMU flushes its translations */
static void *arena_alloc(size_t size)
{
	uint8_t *at;

	size = (size + 15) & ~15ul;
	g_mutex_lock(&arena.lock);
	if (arena.left < size) {
		arena.left = size > CHUNK ? size : CHUNK;
		arena.chunk = g_malloc(arena.left);
		g_ptr_array_add(arena.chunks, arena.chunk);
	}
	at = arena.chunk;
	arena.chunk += size;
	arena.left -= size;
	g_mutex_unlock(&arena.lock);
	return memset(at, 0, size);
}

/* Block and groups are contiguous, so that a block can be copied. */
static size_t block_size(const struct block *b)
{
	return sizeof(*b) + b->n * sizeof(b->insn[0]) + (b->n + 1) * sizeof(uint16_t) +
	       truth_translate_size(b);
}

static void block_link(struct block *b)
{
	uint32_t i;

	b->truth_at = (uint16_t *)&b->insn[b->n];
	b->truth = (uint8_t *)(b->truth_at + b->n + 1);
	for (i = 0; i < b->n; i++)
		b->insn[i].block = b;
}

/*
 * Get the block at the address where it is executed.  QEMU translates the code of a page only once,
 * even if the page is mapped at several addresses, so only the pc tells the address of a block.
 * The kernel's text is at one address.
 */
static struct block *placed(struct hart *h, struct block *b)
{
	static GMutex lock;
	struct block *at;
	uint64_t pc;
	uint32_t i;

	if (b->pc >> 63 || (h->priv == PRIV_M && !h->priv_stale))
		return b;
	pc = guest_reg(h, REG_PC);
	if (pc == b->pc)
		return b;
	g_mutex_lock(&lock);
	for (at = b->alias; at; at = at->alias)
		if (at->pc == pc)
			break;
	if (!at) {
		at = memcpy(arena_alloc(block_size(b)), b, block_size(b));
		block_link(at);
		at->pc = pc;
		for (i = 0; i < at->n; i++) {
			at->insn[i].op.pc += pc - b->pc;
			at->insn[i].op.target += pc - b->pc;
		}
		b->alias = at;
	}
	g_mutex_unlock(&lock);
	return at;
}

/*
 * Execution callbacks
 */

static void on_block(unsigned int vcpu, void *userdata)
{
	struct hart *h = harts[vcpu];
	struct block *b = placed(h, userdata);

	hart_lock(h);
	account_block(h, b->pc, false);
	if (h->priv_stale)
		update_priv(h);
	encode_fault(h);
	if (encode_stalls(h)) {
		hart_unlock(h);
		sched_yield();
		qemu_plugin_set_pc(b->pc);
	}
	h->in_rom &= b->pc < opt.rambase;
	if (!h->in_rom) {
		encode_open(h);
		truth_gate(h);
	}
	retire_rewatch(h);
	if (h->score->watch) {
		h->cur = b;
		h->from = 0;
		h->score->done = !b->partial;
	}
	hart_unlock(h);
}

/* No instruction passes now, but a trap return follows: check the next block */
static void on_xret(unsigned int vcpu, void *userdata)
{
	struct hart *h = harts[vcpu];

	(void)userdata;
	hart_lock(h);
	h->priv_stale = true;
	h->cur = NULL;
	retire_rewatch(h);
	hart_unlock(h);
}

/* If the handler's privilege does not pass, a trap ends the stretch. Otherwise it is traced. */
static void trap(struct hart *h, bool interrupt, uint64_t from, uint64_t to,
		 const struct insn *insn)
{
	enum priv before = h->priv;

	h->priv = guest_reg(h, REG_PRIV);
	h->priv_stale = false;
	encode_trap(h, from, interrupt, h->priv != before);
	truth_trap(h, to, insn);
	h->next_pc = to;
}

/* A semihosting call: the hart enters debug mode, and resumes after EBREAK. */
static void host_call(struct hart *h, uint64_t to)
{
	encode_close(h, NT_EVCODE_DEBUG);
	truth_debug(h);
	h->next_pc = to;
}

/*
 * The kernel asks the firmware for a non-retentive suspend of the hart, or to stop it.  QEMU's hart
 * only waits. On hardware, an encoder in the hart's power domain would lose all its registers.
 */
static bool loses_power(struct hart *h)
{
	enum { ECALL_FROM_S = 9, HSM = 0x48534d, HSM_STOP = 1, HSM_SUSPEND = 3 };
	const uint32_t non_retentive = 1u << 31;

	if (guest_reg(h, REG_PRIV) != PRIV_M || guest_reg(h, REG_MCAUSE) != ECALL_FROM_S ||
	    guest_reg(h, REG_GPR + 17) != HSM)
		return false;
	if (guest_reg(h, REG_GPR + 16) == HSM_STOP)
		return opt.lose_stop;
	return guest_reg(h, REG_GPR + 16) == HSM_SUSPEND && opt.lose_suspend &&
	       guest_reg(h, REG_GPR + 10) & non_retentive;
}

static void lose_power(struct hart *h)
{
	encode_power_loss(h);
	if (opt.lose_cluster)
		mmio_lose_shared(h);
}

static void on_resume(unsigned int vcpu, void *userdata)
{
	(void)userdata;
	atomic_store(&harts[vcpu]->asleep, false);
}

static void discontinuity(struct hart *h, enum qemu_plugin_discon_type type, uint64_t from,
			  uint64_t to)
{
	const struct insn *insn = NULL;
	uint32_t i;

	if (h->cur && type == QEMU_PLUGIN_DISCON_EXCEPTION) {
		i = index_of(h->cur, from);
		insn = i < h->cur->n ? &h->cur->insn[i] : NULL;
	}
	account_block(h, from, type != QEMU_PLUGIN_DISCON_INTERRUPT);
	if (type == QEMU_PLUGIN_DISCON_HOSTCALL)
		host_call(h, to);
	else
		trap(h, type == QEMU_PLUGIN_DISCON_INTERRUPT, from, to, insn);
	retire_rewatch(h);
}

static void on_discontinuity(unsigned int vcpu, enum qemu_plugin_discon_type type,
			     uint64_t from, uint64_t to, void *userdata)
{
	struct hart *h = harts[vcpu];
	bool lost;

	(void)userdata;
	guest_sync_time(h);
	state_discontinuity(h, type, from, to);
	lost = (opt.lose_suspend || opt.lose_stop) && type == QEMU_PLUGIN_DISCON_EXCEPTION &&
	       loses_power(h);
	if (!lost && !(h->score->watch | h->score->armed))
		return;
	hart_lock(h);
	if (h->score->watch | h->score->armed)
		discontinuity(h, type, from, to);
	if (lost)
		lose_power(h);
	hart_unlock(h);
}

/* A hart that waits has retired all instructions up to its WFI. */
static void on_idle(unsigned int vcpu, void *userdata)
{
	struct hart *h = harts[vcpu];
	const struct nt_enc_op *op;

	(void)userdata;
	if (!h->score->watch)
		return;
	hart_lock(h);
	if (h->cur && h->cur->wfi) {
		op = &h->cur->insn[h->cur->n - 1].op;
		account(h, h->cur, h->from, h->cur->n, op->pc + op->len);
		h->from = h->cur->n;
	}
	hart_unlock(h);
}

/*
 * Translation
 */

static struct block *keep_block(struct block *old, const struct block *b)
{
	struct block *copy = g_memdup2(b, block_size(b));

	g_free(old);
	block_link(copy);
	copy->origin = NULL;
	copy->alias = NULL;
	return copy;
}

/* QEMU flushes its translations. All harts have stopped, possibly in the middle of a block. */
static void on_flush(void *userdata)
{
	unsigned int i;

	(void)userdata;
	for (i = 0; i < n_harts; i++)
		if (harts[i]->cur)
			harts[i]->cur = harts[i]->keep = keep_block(harts[i]->keep, harts[i]->cur);
	g_ptr_array_set_size(arena.chunks, 0);
	arena.left = 0;
}

/*
 * May QEMU leave a block at this instruction? Loads, stores, atomics, cache and system operations
 */
static bool may_leave(uint32_t bits, unsigned int len)
{
	if (len == 2)
		return ((bits & 3) == 0 || (bits & 3) == 2) && (bits & 0xe000) &&
		       (bits & 0xe000) != 0x8000;
	switch (bits & 0x7f) {
	case 0x03: case 0x07: case 0x0f: case 0x23: case 0x27: case 0x2f: case 0x73:
		return true;
	}
	return len > 4;
}

static bool writes_context(uint32_t bits, unsigned int len)
{
	unsigned int opcode = bits & 0x7f, rd = bits >> 7 & 31;

	if (len == 2)
		return rd == 4 && (bits & 3) != 0;
	if (opcode == 0x73 && bits >> 20 == 0x180)
		return true;
	return rd == 4 && opcode != 0x23 && opcode != 0x27 && opcode != 0x63;
}

static struct block *new_block(struct qemu_plugin_tb *tb)
{
	static const struct nt_params params = { .size = sizeof(params), .xlen = 64 };
	struct block head = { .n = qemu_plugin_tb_n_insns(tb) }, *b;
	struct insn *last;
	uint32_t i;

	b = arena_alloc(block_size(&head));
	b->n = head.n;
	b->pc = qemu_plugin_tb_vaddr(tb);
	b->origin = b;
	block_link(b);
	for (i = 0; i < b->n; i++) {
		struct qemu_plugin_insn *qi = qemu_plugin_tb_get_insn(tb, i);
		struct insn *insn = &b->insn[i];
		unsigned int len = qemu_plugin_insn_size(qi);

		qemu_plugin_insn_data(qi, &insn->bits, sizeof(insn->bits));
		insn->index = i;
		nt_enc_classify(&params, qemu_plugin_insn_vaddr(qi), insn->bits, len, &insn->op);
		insn->context = writes_context(insn->bits, len);
		b->context |= insn->context;
		b->partial |= i + 1 < b->n && may_leave(insn->bits, len);
	}
	last = &b->insn[b->n - 1];
	b->xret = last->op.type == NT_TYPE_ERET;
	b->wfi = last->bits == 0x10500073;
	truth_translate(b);
	return b;
}

static void on_translate(struct qemu_plugin_tb *tb, void *userdata)
{
	struct block *b = new_block(tb);
	uint32_t i;

	(void)userdata;
	qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, on_block, QEMU_PLUGIN_CB_RW_REGS_PC,
						  QEMU_PLUGIN_COND_NE, SCORE(watch), 0, b);
	if (b->xret)
		qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, on_xret, QEMU_PLUGIN_CB_RW_REGS_PC,
							  QEMU_PLUGIN_COND_NE, SCORE(armed), 0, b);
	for (i = 0; i < b->n; i++) {
		struct qemu_plugin_insn *qi = qemu_plugin_tb_get_insn(tb, i);

		if (i + 1 == b->n && b->partial)
			qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
				qi, QEMU_PLUGIN_INLINE_STORE_U64, SCORE(done), 1);
		state_translate(qi, &b->insn[i]);
		if (!scontext_translate(qi, &b->insn[i]))
			mmio_translate(qi, &b->insn[i]);
		truth_translate_cut(qi, &b->insn[i]);
	}
}

void retire_init_hart(struct hart *h)
{
	h->score = qemu_plugin_scoreboard_find(board, h->index);
}

void retire_install(qemu_plugin_id_t id)
{
	board = qemu_plugin_scoreboard_new(sizeof(struct score));
	arena.chunks = g_ptr_array_new_with_free_func(g_free);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate, NULL);
	qemu_plugin_register_vcpu_discon_cb(id, QEMU_PLUGIN_DISCON_ALL, on_discontinuity, NULL);
	qemu_plugin_register_vcpu_idle_cb(id, on_idle, NULL);
	qemu_plugin_register_vcpu_resume_cb(id, on_resume, NULL);
	qemu_plugin_register_flush_cb(id, on_flush, NULL);
}
