// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace gdbserver: what is known of memory at any position of a tandem-verification trace, and
 * what its checkpoints take. The truth is a list of what each instruction does to memory.
 */
#include <stdbool.h>
#include <string.h>

#include "cmocka-tap.h"
#include "die.h"
#include "random.h"
#include "../../tools-perf/ntrace/serve-state.h"

/* ------------------------------------------------------------- the trace - */

#define TRACE_MAX	(16u << 20)

static const struct nt_tv_params params = {
	.size = sizeof(params), .xlen = 64, .flen = 64, .mlen = 64,
};
static uint8_t trace[TRACE_MAX];
static struct nt_tv_writer w;
static struct serve_state *state;

static void begin(void)
{
	assert_int_equal(nt_tv_writer_init(&w, &params, trace, sizeof(trace), NULL, NULL), 0);
	nt_tv_begin(&w);
	nt_tv_state_init(&w);
	nt_tv_pc(&w, 0x1000);
}

/* What follows is of one more instruction. */
static void next(uint32_t insn)
{
	nt_tv_begin(&w);
	nt_tv_incpc(&w);
	nt_tv_insn32(&w, insn);
}

#define NOP	0x13u

static void open_trace(void)
{
	const struct nt_tv_group *g;

	nt_tv_end(&w);
	assert_int_equal(w.error, 0);
	state = serve_state_new(&params, trace, nt_tv_written(&w), "test");
	while (serve_state_next(state, &g))
		;
}

/* ---------------------------------------------------------------- memory - */

#define PAGES	512u
#define MEMORY	(PAGES * 4096u)
#define BASE	0x80000000ull
#define INSNS	100000u

enum kind { STORE, LOAD, SWAP, FAILED, UNANSWERED, REFUSED, KINDS, SPACE = KINDS };

#define SATP(n)		(8ull << 60 | (n))

static struct { uint32_t at; uint8_t kind, bytes; uint64_t value; } op[INSNS];
static uint8_t memory[MEMORY];
static bool known[MEMORY];
static uint64_t satp;

static void write_op(unsigned int i)
{
	uint64_t addr = BASE + op[i].at, value = op[i].value;
	unsigned int size = op[i].bytes == 8 ? 3 : 0;

	next(NOP);
	switch (op[i].kind) {
	case STORE:
		if (value & 1)
			nt_tv_paddr(&w, addr);
		else
			nt_tv_eaddr(&w, addr);
		nt_tv_store_data(&w, size, value);
		break;
	case LOAD:
		nt_tv_memreq(&w, NT_TV_LOAD, size, addr, 0);
		nt_tv_memrsp(&w, NT_TV_LOAD, size, NT_TV_SUCCESS, value);
		break;
	case SWAP:
		nt_tv_memreq(&w, NT_TV_SWAP, size, addr, value);
		nt_tv_memrsp(&w, NT_TV_SWAP, size, NT_TV_SUCCESS, 0);
		break;
	case FAILED:
		nt_tv_memreq(&w, NT_TV_STORE, size, addr, value);
		nt_tv_memrsp(&w, NT_TV_STORE, size, NT_TV_FAILURE, 0);
		break;
	case UNANSWERED:
		nt_tv_memreq(&w, NT_TV_SC, size, addr, value);
		break;
	case REFUSED:
		nt_tv_memreq(&w, NT_TV_SC, size, addr, value);
		nt_tv_memrsp(&w, NT_TV_SC, size, NT_TV_FAILURE, 0);
		break;
	case SPACE:
		nt_tv_reg(&w, 0x180, value);
		break;
	}
}

/* A store that failed, or that has no response, may have written anything. */
static void apply_op(unsigned int i)
{
	if (op[i].kind == SPACE) {
		if (op[i].value != satp)
			memset(known, false, sizeof(known));
		satp = op[i].value;
		return;
	}
	for (unsigned int k = 0; k < op[i].bytes && op[i].kind != REFUSED; k++) {
		memory[op[i].at + k] = (uint8_t)(op[i].value >> 8 * k);
		known[op[i].at + k] = op[i].kind < FAILED;
	}
}

/* The address space may change all so many instructions; 0: never. */
static void choose_ops(unsigned int apart)
{
	for (unsigned int i = 0; i < INSNS; i++) {
		op[i].bytes = rnd(4) ? 8 : 1;
		op[i].kind = (uint8_t)(rnd(3) ? STORE : rnd(KINDS));
		/* often near to each other, also across pages */
		op[i].at = (uint32_t)(rnd(2) ? rnd(MEMORY - 8) : 4096 * rnd(16) + 4080 + rnd(32));
		op[i].value = rnd(UINT64_MAX);
		if (!apart || rnd(apart))
			continue;
		op[i].kind = SPACE;
		op[i].value = SATP(1 + rnd(3));
	}
}

static void check_window(uint64_t insn, uint32_t at, size_t len)
{
	uint8_t got[8192];
	size_t n;

	for (n = 0; n < len && known[at + n]; n++)
		;
	serve_state_goto(state, insn);
	assert_int_equal(serve_state_read(state, BASE + at, got, len), n);
	assert_memory_equal(got, memory + at, n);
}

/* Positions that the truth comes to in their order; before each one comes from anywhere. */
static void check_positions(unsigned int apart)
{
	unsigned int done = 0;

	memset(known, false, sizeof(known));
	satp = 0;
	choose_ops(apart);
	begin();
	for (unsigned int i = 0; i < INSNS; i++)
		write_op(i);
	open_trace();
	for (unsigned int round = 0; round < 300; round++) {
		unsigned int at = round == 299 ? INSNS : done + (unsigned int)rnd(INSNS / 300);

		if (rnd(2))
			serve_state_goto(state, rnd(INSNS));
		for (; done < at; done++)
			apply_op(done);
		for (unsigned int i = 0; i < 20 && done; i++) {
			unsigned int last = done - 1 - (unsigned int)rnd(done < 900 ? done : 900);

			check_window(at, op[last].at, 1 + rnd(8));
		}
		check_window(at, (uint32_t)rnd(MEMORY - 8192), 8192);
	}
	serve_state_free(state);
}

static void any_position(void **unused)
{
	(void)unused;
	check_positions(0);
	check_positions(3000);
	check_positions(30000);
}

/*
 * So many pages are written to all the time: what checkpoints take is bounded by what the trace
 * told, and by SERVE_KEPT_MAX where the memory itself is smaller.
 */
static size_t kept_of(unsigned int pages)
{
	uint64_t size;
	size_t kept;

	begin();
	for (unsigned int i = 0; i < INSNS; i++) {
		next(NOP);
		nt_tv_eaddr(&w, BASE + 4096 * rnd(pages) + 8 * rnd(512));
		nt_tv_store_data(&w, 3, i);
	}
	size = nt_tv_written(&w);
	open_trace();
	kept = serve_state_kept(state);
	assert_in_range(kept, 1, 2 * size);
	serve_state_free(state);
	return kept;
}

static void checkpoints_are_small(void **unused)
{
	(void)unused;
	assert_in_range(kept_of(PAGES), 1, 8 * 512 * 4096);
	assert_in_range(kept_of(16), 1, SERVE_KEPT_MAX / 2 * 3);
	assert_in_range(kept_of(1), 1, SERVE_KEPT_MAX);
}

/* Requests outside of groups, and their responses */
static void outside_of_groups(void **unused)
{
	uint64_t value = 0;

	(void)unused;
	begin();
	for (unsigned int i = 0; i < 2000; i++) {
		next(NOP);
		nt_tv_end(&w);
		nt_tv_memreq(&w, NT_TV_LOAD, 3, BASE + 8 * i, 0);
		nt_tv_memrsp(&w, NT_TV_LOAD, 3, NT_TV_SUCCESS, i);
	}
	next(NOP);
	open_trace();
	for (unsigned int i = 1; i < 2000; i++) {
		serve_state_goto(state, i + 1);
		assert_int_equal(serve_state_read(state, BASE + 8 * i - 8, &value, 8), 8);
		assert_int_equal(value, i - 1);
	}
	serve_state_free(state);
}

/* -------------------------------------------------------- address spaces - */

#define SFENCE		0x12000073u
#define CSRW_SATP	0x18051073u
#define FAR		1000u	/* more than there is between two checkpoints */

static void put_csr(uint16_t reg, uint64_t value)
{
	next(CSRW_SATP);
	nt_tv_reg(&w, reg, value);
}

static void put_priv(unsigned int mode)
{
	next(NOP);
	nt_tv_priv(&w, mode);
}

static void put_store(uint64_t value)
{
	next(NOP);
	nt_tv_eaddr(&w, BASE);
	nt_tv_store_data(&w, 3, value);
}

static void pass(unsigned int insns)
{
	while (insns--)
		next(NOP);
}

/* Of the store before it; 0: it is not known. */
static uint64_t value_at(uint64_t insn)
{
	uint64_t value = 0;

	serve_state_goto(state, insn);
	return serve_state_read(state, BASE, &value, 8) == 8 ? value : 0;
}

/* A store of 1, something, so many instructions, a store of 2: what is known behind each */
static void check_switch(void (*change)(void), bool forgets, unsigned int apart)
{
	uint64_t low;

	begin();
	put_csr(0x300, 0);
	put_priv(1);
	put_csr(0x180, SATP(1));
	pass(3);
	put_store(1);
	change();
	low = 8;
	pass(apart);
	put_store(2);
	pass(apart);
	open_trace();
	for (unsigned int round = 0; round < 3; round++) {
		uint64_t after = low + apart, end = after + 1 + apart;

		assert_int_equal(value_at(7), 1);
		assert_int_equal(value_at(low), forgets ? 0 : 1);
		assert_int_equal(value_at(after), forgets ? 0 : 1);
		assert_int_equal(value_at(after + 1), 2);
		assert_int_equal(value_at(end), 2);
		assert_int_equal(value_at(low + rnd(apart)), forgets ? 0 : 1);
		assert_int_equal(value_at(6), 0);
	}
	serve_state_free(state);
}

static void other_satp(void) { put_csr(0x180, SATP(2)); }
static void same_satp(void) { put_csr(0x180, SATP(1)); }
static void no_satp(void) { put_csr(0x180, 0); }
static void other_vsatp(void) { put_csr(0x280, SATP(1)); }
static void other_hgatp(void) { put_csr(0x680, SATP(1)); }
static void other_csr(void) { put_csr(0x105, SATP(2)); }
static void to_machine(void) { put_priv(3); }
static void to_user(void) { put_priv(0); }
static void fence(void) { next(SFENCE); }

static void spaces(void **unused)
{
	static const unsigned int apart[] = { 2, 100, FAR };

	(void)unused;
	for (unsigned int i = 0; i < 3; i++) {
		check_switch(other_satp, true, apart[i]);
		check_switch(no_satp, true, apart[i]);
		check_switch(other_vsatp, true, apart[i]);
		check_switch(other_hgatp, true, apart[i]);
		check_switch(to_machine, true, apart[i]);
		check_switch(fence, true, apart[i]);
		check_switch(same_satp, false, apart[i]);
		check_switch(other_csr, false, apart[i]);
		check_switch(to_user, false, apart[i]);
	}
}

/* Addresses that are not translated stay what they are, whatever is written into satp. */
static void untranslated(void **unused)
{
	(void)unused;
	begin();
	put_priv(3);
	put_store(1);
	put_csr(0x180, SATP(1));
	put_csr(0x180, SATP(2));
	next(SFENCE);
	pass(FAR);
	put_csr(0x300, 1 << 17 | 3 << 11);	/* MPRV, for machine mode itself */
	pass(2);
	put_csr(0x300, 1 << 17 | 1 << 11);	/* ... for supervisor mode */
	pass(2);
	open_trace();
	assert_int_equal(value_at(5), 1);
	assert_int_equal(value_at(FAR + 6), 1);
	assert_int_equal(value_at(FAR + 8), 1);
	assert_int_equal(value_at(FAR + 9), 0);
	assert_int_equal(value_at(5), 1);
	assert_true(serve_state_is_flat(state));
	serve_state_free(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_position),
		cmocka_unit_test(checkpoints_are_small),
		cmocka_unit_test(outside_of_groups),
		cmocka_unit_test(spaces),
		cmocka_unit_test(untranslated),
	};

	rnd_begin();
	return RUN_TAP(tests);
}
