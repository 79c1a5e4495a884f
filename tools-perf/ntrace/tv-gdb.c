// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace tv verify: a verifier behind GDB's remote protocol, such as a simulator or a debug probe
 *
 * A step costs two round trips: the step itself, and a request for everything that is compared
 * afterwards. Writes are sent with the next request.
 *
 * The protocol has no interrupts, and stubs suppress them during steps. Where the trace takes an
 * interrupt, its effects are computed from the verifier's own state, and written. WFI would wait
 * forever, so it is skipped, which the architecture allows.
 */
#include <stdlib.h>
#include <string.h>

#include "gdb.h"
#include "tv-verify.h"

#define WFI		0x10500073u
#define ASKED		64	/* registers per request, in addition to the integer registers */
#define MEMORIES	32
#define AGAIN		16	/* steps in a row that stop before their instruction */

enum { FCSR = 0x003, STVEC = 0x105, SEPC = 0x141, SCAUSE = 0x142, STVAL = 0x143,
       MSTATUS = 0x300, MIDELEG = 0x303, MIE = 0x304, MTVEC = 0x305, MEPC = 0x341, MCAUSE = 0x342,
       MTVAL = 0x343 };

struct memory {
	uint64_t addr;
	uint8_t bytes[8];
	uint8_t len;
};

struct remote {
	struct gdb *g;
	struct gdb_target *t;
	const char *reset;	/* monitor command for a reset */
	uint64_t *value;	/* of register n of the target */
	bool *valid;
	unsigned int writes;	/* replies to writes that are pending */
	uint16_t asked[ASKED];
	unsigned int n_asked;
	struct memory memory[MEMORIES];
	unsigned int n_memory;
	bool moved;		/* it has stepped since the reset */
};

/* ----------------------------------------------------------- registers --- */

static void end_writes(struct remote *r)
{
	for (; r->writes; r->writes--)
		/* a failed write shows up in the comparison */
		gdb_reply(r->g, NULL);
}

/* Take the reply to `g': the registers in their order */
static void take_all(struct remote *r)
{
	size_t len, at = 0;
	const char *reply = gdb_reply(r->g, &len);

	if (gdb_is_error(reply))
		gdb_nonsense(r->g, "registers", reply);
	for (unsigned int n = 0; n < r->t->count && at < len; n++) {
		size_t bytes = r->t->bits[n] / 8;

		if (!bytes)
			continue;
		if (at + 2 * bytes > len)
			gdb_nonsense(r->g, "whole registers", reply + at);
		r->valid[n] = gdb_unhex(reply + at, bytes, &r->value[n]);
		at += 2 * bytes;
	}
}

static void take_one(struct remote *r, uint16_t n)
{
	size_t len;
	const char *reply = gdb_reply(r->g, &len);

	r->valid[n] = !gdb_is_error(reply) && len == r->t->bits[n] / 4 &&
		      gdb_unhex(reply, len / 2, &r->value[n]);
}

static void forget(struct remote *r)
{
	memset(r->valid, 0, r->t->count * sizeof(*r->valid));
	r->n_memory = 0;
}

static bool read_number(struct remote *r, uint16_t n, uint64_t *value)
{
	if (n == GDB_NONE)
		return false;
	if (!r->valid[n]) {
		gdb_packet(r->g, "p%x", n);
		end_writes(r);
		take_one(r, n);
	}
	if (r->valid[n])
		*value = r->value[n];
	return r->valid[n];
}

static void write_number(struct remote *r, uint16_t n, uint64_t value)
{
	char hex[17] = "";

	if (n == GDB_NONE || r->t->bits[n] > 64)
		return;
	for (unsigned int i = 0; i < r->t->bits[n] / 8u; i++)
		sprintf(hex + 2 * i, "%02x", (unsigned int)(value >> 8 * i & 0xff));
	gdb_packet(r->g, "P%x=%s", n, hex);
	r->writes++;
	/* some bits may be read-only */
	r->valid[n] = false;
	if (r->writes >= 64)
		end_writes(r);
}

static uint16_t number_of(const struct remote *r, uint16_t reg)
{
	return reg < GDB_OF ? r->t->of[reg] : GDB_NONE;
}

static bool read_reg(struct tv_verifier *v, uint16_t reg, uint64_t *value)
{
	return read_number(v->own, number_of(v->own, reg), value);
}

static void write_reg(struct tv_verifier *v, uint16_t reg, uint64_t value)
{
	write_number(v->own, number_of(v->own, reg), value);
}

static uint16_t state_number(const struct remote *r, enum nt_tv_ident ident)
{
	return ident == NT_TV_PC ? r->t->pc : ident == NT_TV_PRIV ? r->t->priv : GDB_NONE;
}

static bool read_state(struct tv_verifier *v, enum nt_tv_ident ident, uint64_t *value)
{
	return read_number(v->own, state_number(v->own, ident), value);
}

static void write_state(struct tv_verifier *v, enum nt_tv_ident ident, uint64_t value)
{
	write_number(v->own, state_number(v->own, ident), value);
}

/* -------------------------------------------------------------- memory --- */

static void take_memory(struct remote *r, uint64_t addr, size_t len)
{
	struct memory *m = &r->memory[r->n_memory];
	size_t n;
	const char *reply = gdb_reply(r->g, &n);

	if (gdb_is_error(reply) || n > 2 * sizeof(m->bytes) || n > 2 * len)
		return;
	for (size_t i = 0; i < n / 2; i++) {
		uint64_t byte;

		if (!gdb_unhex(reply + 2 * i, 1, &byte))
			gdb_nonsense(r->g, "bytes of memory", reply);
		m->bytes[i] = (uint8_t)byte;
	}
	m->addr = addr;
	m->len = (uint8_t)(n / 2);
	r->n_memory++;
}

static size_t read_memory(struct tv_verifier *v, uint64_t addr, void *buf, size_t len)
{
	struct remote *r = v->own;
	unsigned int i;

	for (i = 0; i < r->n_memory; i++)
		if (addr - r->memory[i].addr < r->memory[i].len &&
		    r->memory[i].len - (addr - r->memory[i].addr) >= len)
			break;
	if (i == r->n_memory) {
		if (len > sizeof(r->memory[0].bytes) || i == MEMORIES)
			return 0;
		gdb_packet(r->g, "m%llx,%zx", (unsigned long long)addr, len);
		end_writes(r);
		take_memory(r, addr, len);
		if (i == r->n_memory || r->memory[i].len < len)
			return 0;
	}
	memcpy(buf, r->memory[i].bytes + (addr - r->memory[i].addr), len);
	return len;
}

static void write_memory(struct tv_verifier *v, uint64_t addr, const void *buf, size_t len)
{
	struct remote *r = v->own;
	const uint8_t *bytes = buf;
	char hex[2 * 256 + 1];

	while (len) {
		size_t n = len < 256 ? len : 256;

		for (size_t i = 0; i < n; i++)
			sprintf(hex + 2 * i, "%02x", bytes[i]);
		gdb_packet(r->g, "M%llx,%zx:%s", (unsigned long long)addr, n, hex);
		r->writes++;
		end_writes(r);
		addr += n;
		bytes += n;
		len -= n;
	}
	r->n_memory = 0;
}

/* ------------------------------------------------------------- stepping -- */

static void ask(struct remote *r, uint16_t number)
{
	if (number == GDB_NONE || r->n_asked == ASKED)
		return;
	for (unsigned int i = 0; i < r->n_asked; i++)
		if (r->asked[i] == number)
			return;
	r->asked[r->n_asked++] = number;
}

static bool is_trap(const struct nt_tv_group *g, uint64_t *cause)
{
	for (size_t i = 0; i < g->n; i++) {
		if (g->items[i].opcode != NT_TV_REG || (g->items[i].reg & ~0x200) != SCAUSE)
			continue;
		*cause = g->items[i].value;
		return true;
	}
	return false;
}

static void ask_for_group(struct remote *r, const struct nt_tv_group *g)
{
	uint16_t regs[TV_OWN];
	unsigned int n = tv_own_registers(g, regs);
	uint64_t cause;

	r->n_asked = 0;
	for (size_t i = 0; i < g->n; i++)
		if (g->items[i].opcode >= NT_TV_REG && g->items[i].opcode <= NT_TV_REG_OR &&
		    (g->items[i].reg < NT_TV_REG_X || g->items[i].reg >= NT_TV_REG_F))
			ask(r, number_of(r, g->items[i].reg));
	while (n--)
		ask(r, number_of(r, regs[n]));
	if (is_trap(g, &cause) || (g->insn & 0x7f) == 0x73)
		ask(r, r->t->priv);
	for (unsigned int i = 0; i < r->n_asked; i++)
		gdb_packet(r->g, "p%x", r->asked[i]);
}

/* Request everything that will be compared, in one round trip. */
static void look(struct remote *r, const struct nt_tv_group *g, uint64_t next_pc)
{
	struct tv_store stores[TV_STORES];
	unsigned int n = tv_stores(g, stores);

	gdb_packet(r->g, "g");
	ask_for_group(r, g);
	for (unsigned int i = 0; i < n; i++)
		gdb_packet(r->g, "m%llx,%x", (unsigned long long)stores[i].eaddr, stores[i].bytes);
	/* the next instruction, before it can modify itself */
	gdb_packet(r->g, "m%llx,4", (unsigned long long)next_pc);
	end_writes(r);
	take_all(r);
	for (unsigned int i = 0; i < r->n_asked; i++)
		take_one(r, r->asked[i]);
	for (unsigned int i = 0; i < n; i++)
		take_memory(r, stores[i].eaddr, stores[i].bytes);
	take_memory(r, next_pc, 4);
}

/* Returns 1 if it stopped as expected, 0 if the program has ended */
static int step_once(struct remote *r)
{
	const char *reply;

	gdb_packet(r->g, "s");
	end_writes(r);
	/* the program's output may come first */
	do {
		reply = gdb_reply(r->g, NULL);
	} while (*reply == 'O' && reply[1] != 'K');
	switch (*reply) {
	case 'S':
	case 'T':
		return 1;
	case 'W':
	case 'X':
		return 0;
	}
	gdb_nonsense(r->g, "to hear why it stopped", reply);
}

struct csrs {
	uint64_t status, deleg, enabled, priv, pc, vector;
};

static bool read_csrs(struct tv_verifier *v, struct csrs *c)
{
	struct remote *r = v->own;

	return read_reg(v, MSTATUS, &c->status) && read_reg(v, MIE, &c->enabled) &&
	       read_number(r, r->t->priv, &c->priv) && read_number(r, r->t->pc, &c->pc);
}

/* Privileged architecture, 3.1.6.1: is the interrupt taken in this state? */
static bool enabled(const struct csrs *c, unsigned int code, bool to_s)
{
	unsigned int level = to_s ? 1 : 3;
	bool on = c->status >> (to_s ? 1 : 3) & 1;

	return (c->enabled >> code & 1) && (c->priv < level || (c->priv == level && on));
}

static void enter(struct tv_verifier *v, struct csrs *c, uint64_t cause, bool to_s)
{
	struct remote *r = v->own;
	unsigned int ie = to_s ? 1 : 3, pie = ie + 4;
	uint64_t was = c->status >> ie & 1;

	c->status &= ~(1ull << ie | 1ull << pie | (to_s ? 1ull << 8 : 3ull << 11));
	c->status |= was << pie | (to_s ? (c->priv & 1) << 8 : c->priv << 11);
	write_reg(v, MSTATUS, c->status);
	write_reg(v, to_s ? SEPC : MEPC, c->pc);
	write_reg(v, to_s ? SCAUSE : MCAUSE, cause);
	write_reg(v, to_s ? STVAL : MTVAL, 0);
	write_number(r, r->t->priv, to_s ? 1 : 3);
	write_number(r, r->t->pc, (c->vector & ~3ull) + (c->vector & 1 ? 4 * (cause & 63) : 0));
}

/*
 * If the verifier would not take the interrupt, do nothing: the comparison will report the
 * difference.
 */
static void interrupt(struct tv_verifier *v, uint64_t cause)
{
	struct csrs c = { .status = 0 };
	bool to_s;

	if (!read_csrs(v, &c))
		return;
	if (!read_reg(v, MIDELEG, &c.deleg))
		c.deleg = 0;
	to_s = c.priv <= 1 && (c.deleg >> (cause & 63) & 1);
	if (!enabled(&c, cause & 63, to_s) || !read_reg(v, to_s ? STVEC : MTVEC, &c.vector))
		return;
	enter(v, &c, cause, to_s);
}

/*
 * Step, and request what has changed. An event of the machine may end QEMU's step before the
 * instruction; QEMU reports a stop nevertheless. If the verifier should have moved, but has not,
 * step again. A jump to itself that the trace does not have is still reported as a difference.
 */
static int step_insn(struct remote *r, const struct nt_tv_group *g, uint64_t next_pc)
{
	bool known = r->t->pc != GDB_NONE && r->valid[r->t->pc];
	uint64_t pc = known ? r->value[r->t->pc] : 0;

	for (unsigned int i = 0; i < AGAIN; i++) {
		int ret = step_once(r);

		if (ret <= 0)
			return ret;
		forget(r);
		look(r, g, next_pc);
		if (!known || pc == next_pc || !r->valid[r->t->pc] || r->value[r->t->pc] != pc)
			break;
	}
	return 1;
}

static int step(struct tv_verifier *v, const struct nt_tv_group *g, uint64_t next_pc)
{
	struct remote *r = v->own;
	uint64_t cause, pc;

	r->moved = true;
	if (!g->insn_bytes && is_trap(g, &cause))
		interrupt(v, cause);
	else if (g->insn_bytes == 4 && g->insn == WFI && read_number(r, r->t->pc, &pc))
		write_number(r, r->t->pc, pc + 4);
	else
		return step_insn(r, g, next_pc);
	forget(r);
	look(r, g, next_pc);
	return 1;
}

/* --------------------------------------------------------------- reset --- */

/* A target that was just started needs no reset. Use the monitor command for any other. */
static void reset(struct tv_verifier *v)
{
	struct remote *r = v->own;
	const char *reply;
	char hex[200] = "";

	if (!r->moved)
		return;
	for (size_t i = 0; r->reset[i] && 2 * i + 3 < sizeof(hex); i++)
		sprintf(hex + 2 * i, "%02x", (unsigned char)r->reset[i]);
	end_writes(r);
	gdb_packet(r->g, "qRcmd,%s", hex);
	do {
		reply = gdb_reply(r->g, NULL);
	} while (*reply == 'O' && reply[1] != 'K');
	if (strcmp(reply, "OK"))
		die("the trace resets the hart; the verifier does not take `%s' for that "
		    "(--reset-command)", r->reset);
	r->moved = false;
	forget(r);
}

/* -------------------------------------------------------------- begin ---- */

void tv_gdb_init(struct tv_verifier *v, const struct gdb_place *place, const char *reset_command)
{
	static const struct tv_verifier_ops ops = {
		.read_reg = read_reg, .read_state = read_state, .read_memory = read_memory,
		.write_reg = write_reg, .write_state = write_state,
		.write_memory = write_memory, .step = step, .reset = reset,
	};
	struct remote *r = calloc(1, sizeof(*r));

	if (!r)
		die("%s", nt_strerror(NT_ENOMEM));
	r->g = gdb_open(place);
	r->t = gdb_target_new(r->g);
	r->reset = reset_command;
	r->value = calloc(r->t->count, sizeof(*r->value));
	r->valid = calloc(r->t->count, sizeof(*r->valid));
	if (!r->value || !r->valid)
		die("%s", nt_strerror(NT_ENOMEM));
	*v = (struct tv_verifier){ .ops = &ops, .live = true, .own = r };
}

void tv_gdb_end(struct tv_verifier *v)
{
	struct remote *r = v->own;

	end_writes(r);
	gdb_close(r->g);
	gdb_target_free(r->t);
	free(r->value);
	free(r->valid);
	free(r);
}
