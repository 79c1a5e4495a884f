// SPDX-License-Identifier: GPL-2.0-only
/*
 * Code that changes: what nt_code_invalidate() forgets, and what a call costs
 */
#include <stdlib.h>

#include "cmocka-tap.h"
#include "nt-code.h"
#include "nt-flow.h"
#include "pack.h"
#include "program.h"

static struct program prog;
static struct nt_params params;
static struct nt_code *code;

/* The number of the block there, made if need be */
static uint32_t block_at(uint64_t pc)
{
	int error;
	const struct nt_map *map = nt_code_map(code, pc, &error);

	return nt_code_block(code, &map, pc, &error);
}
static struct nt_flow *flow;

static void begin(void)
{
	memset(&prog, 0, sizeof(prog));
	prog.base = prog.at = 0x1000;
	nt_params_init(&params);
}

static void start(void)
{
	code = nt_code_new(&params, program_read, &prog);
	flow = nt_flow_new(&params);
	assert_non_null(code);
	assert_non_null(flow);
	nt_flow_set_code(flow, code, code);
}

static void end(void)
{
	nt_flow_free(flow);
	nt_code_free(code);
}

/* `halfwords` from 0x1000 on: where they lead, 0 when they lead nowhere */
static uint64_t go(unsigned int halfwords)
{
	struct nt_event ev[16];
	struct pack pk;
	uint64_t pc = 0;
	int i, n;

	pack_init(&pk);
	pack_ptsync(&pk, NT_SYNC_TRACE_ENABLE, 0, 0x1000);
	pack_ptc(&pk, 4, halfwords, 0);
	nt_flow_window(flow, pk.buf, pk.len, 0);
	while ((n = nt_flow_next(flow, ev, 16)) > 0)
		for (i = 0; i < n; i++)
			pc = ev[i].kind == NT_EV_STOP ? ev[i].from :
			     ev[i].kind == NT_EV_LOSS ? 0 : pc;
	return pc;
}

/* 1000 cm.jt 3, whose entry is at 2018 */
static void a_jump_table_that_changes(void **state)
{
	(void)state;
	begin();
	params.isa = NT_ISA_C | NT_ISA_ZCMT;
	params.jvt = 0x2000;
	put_bytes(&prog, 0xa00e, 2);
	org(&prog, 0x1100);
	c_add(&prog);
	org(&prog, 0x1200);
	c_add(&prog);
	org(&prog, 0x2018);
	put_bytes(&prog, 0x1100, 8);
	start();
	assert_true(go(2) == 0x1102);
	org(&prog, 0x2018);
	put_bytes(&prog, 0x1200, 8);
	nt_code_invalidate(code, 0x2018, 0x2020);
	assert_true(go(2) == 0x1202);
	/* the last byte of the table, and the first behind it */
	org(&prog, 0x2018);
	put_bytes(&prog, 0x1100, 8);
	nt_code_invalidate(code, 0x2800, 0x2900);
	assert_true(go(2) == 0x1202);
	nt_code_invalidate(code, 0x27ff, 0x2800);
	assert_true(go(2) == 0x1102);
	end();
}

/* Entries that could not be read when the jump was first met */
static void a_jump_table_that_comes_later(void **state)
{
	(void)state;
	begin();
	params.isa = NT_ISA_C | NT_ISA_ZCMT;
	params.jvt = 0x2000;
	put_bytes(&prog, 0xa00e, 2);
	org(&prog, 0x1100);
	c_add(&prog);
	start();
	assert_true(go(2) == 0);
	org(&prog, 0x2018);
	put_bytes(&prog, 0x1100, 8);
	nt_code_invalidate(code, 0x2000, 0x2800);
	assert_true(go(2) == 0x1102);
	end();
}

/* 1000 c.add; 1002 ecall, of which each byte may change */
static void each_byte_of_an_instruction_that_traps(void **state)
{
	unsigned int byte;

	(void)state;
	for (byte = 0; byte < 4; byte++) {
		begin();
		c_add(&prog);
		ecall(&prog);
		c_add(&prog);
		start();
		assert_true(go(1) == 0x1002);
		assert_true(go(4) == 0);
		org(&prog, 0x1002);
		add(&prog);
		nt_code_invalidate(code, 0x1002 + byte, 0x1003 + byte);
		assert_true(go(4) == 0x1008);
		end();
	}
}

/* Blocks that lead to what has changed are kept, and lead to what is there now. */
static void what_leads_there_is_kept(void **state)
{
	struct nt_code_stats before = { .size = sizeof(before) }, after = before;

	(void)state;
	begin();
	j(&prog, 0x1100);
	org(&prog, 0x1100);
	j(&prog, 0x1200);
	org(&prog, 0x1200);
	c_add(&prog);
	org(&prog, 0x1300);
	c_add(&prog);
	start();
	assert_true(go(5) == 0x1202);
	nt_code_get_stats(code, &before);
	org(&prog, 0x1100);
	j(&prog, 0x1300);
	nt_code_invalidate(code, 0x1103, 0x1104);
	nt_code_get_stats(code, &after);
	assert_true(after.blocks == before.blocks - 1);
	assert_true(go(5) == 0x1302);
	/* it goes away, and comes back */
	prog.there[0x100] = 0;
	nt_code_invalidate(code, 0x1100, 0x1104);
	assert_true(go(5) == 0);
	prog.there[0x100] = 1;
	nt_code_invalidate(code, 0x1100, 0x1104);
	assert_true(go(5) == 0x1302);
	/* nothing is in an empty range, nor beside */
	nt_code_get_stats(code, &before);
	nt_code_invalidate(code, 0x1102, 0x1102);
	nt_code_invalidate(code, 0x10ff, 0x1100);
	nt_code_invalidate(code, 0x1104, 0x1200);
	nt_code_get_stats(code, &after);
	assert_true(after.blocks == before.blocks);
	end();
}

/* Where addresses end: 0xff...fffe c.add */
static void the_end_of_the_address_space(void **state)
{
	struct nt_code_stats stats = { .size = sizeof(stats) };
	unsigned int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		begin();
		prog.base = -(uint64_t)PROGRAM_SIZE;
		org(&prog, -4);
		put_bytes(&prog, 0x00000073, 4);
		start();
		assert_int_not_equal(block_at(-4), NT_BLOCK_NONE);
		nt_code_invalidate(code, -1, 0);
		nt_code_get_stats(code, &stats);
		assert_true(stats.blocks == 0);
		end();
	}
}

/* Calls of `read` tell how many blocks are made again: those in the range, no others. */
static unsigned int reads;

static int read_nops(void *ctx, uint64_t space, uint64_t addr, void *buf, size_t len)
{
	size_t i;

	(void)space;
	(void)ctx;
	reads++;
	/* c.nop; c.j to behind itself, at every second place */
	for (i = 0; i < len; i++)
		((uint8_t *)buf)[i] = "\x01\x00\x09\xa0"[(addr + i) & 3];
	return len;
}

/* In a large program: a small range, a large one, all of it; most of it stale */
static void many_blocks(void **state)
{
	const unsigned int nr = 50000;
	struct nt_code_stats stats = { .size = sizeof(stats) };
	uint64_t left = nr;
	unsigned int i;

	(void)state;
	nt_params_init(&params);
	code = nt_code_new(&params, read_nops, NULL);
	assert_non_null(code);
	for (i = 0; i < nr; i++)
		assert_int_not_equal(block_at(0x10000 + 4 * i), NT_BLOCK_NONE);
	nt_code_invalidate(code, 0x10000 + 4 * 777, 0x10000 + 4 * 778);
	left--;
	nt_code_get_stats(code, &stats);
	assert_true(stats.blocks == left);
	nt_code_invalidate(code, 0x10000 + 4 * 1000, 0x10000 + 4 * 10000);
	left -= 9000;
	nt_code_get_stats(code, &stats);
	assert_true(stats.blocks == left);
	/* so many that the stale ones go; numbers are used again */
	nt_code_invalidate(code, 0x10000 + 4 * 10000, 0x10000 + 4 * 40000);
	left -= 30000;
	nt_code_get_stats(code, &stats);
	assert_true(stats.blocks == left);
	for (i = 0; i < nr; i++) {
		uint32_t n = block_at(0x10000 + 4 * i);

		assert_int_not_equal(n, NT_BLOCK_NONE);
		assert_true(code->store->blocks[n].pc == 0x10000 + 4 * i);
		assert_int_equal(code->store->blocks[n].is.halfwords, 2);
	}
	assert_true(code->store->nr_blocks <= nr);
	nt_code_invalidate(code, 0, 0);
	nt_code_get_stats(code, &stats);
	assert_true(stats.blocks == 0);
	nt_code_free(code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_jump_table_that_changes),
		cmocka_unit_test(a_jump_table_that_comes_later),
		cmocka_unit_test(each_byte_of_an_instruction_that_traps),
		cmocka_unit_test(what_leads_there_is_kept),
		cmocka_unit_test(the_end_of_the_address_space),
		cmocka_unit_test(many_blocks),
	};

	return RUN_TAP(tests);
}
