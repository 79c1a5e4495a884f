// SPDX-License-Identifier: GPL-2.0-only
/*
 * One store of code for many address spaces: what is shared, what must not be, what is evicted; and
 * the linear code between events, by runs and by instructions.
 */
#include <inttypes.h>
#include <string.h>

#include "cmocka-tap.h"
#include "ntrace.h"
#include "program.h"
#include "random.h"

#define FILE_SIZE	0x1000u
#define FILE_OFFSET	0x3000u
#define SPACES		10000
#define JVT		0x7000000u

/* A file that space n maps at base(n), and what else is in its memory */
static struct machine {
	uint8_t bytes[FILE_SIZE];
	unsigned int size;
	uint64_t files;		/* numbers of the files that are mapped, one behind the other */
	bool changed;		/* what is mapped is another file now */
	unsigned int maps, reads;
	int read_error, map_error;
} m;

static uint64_t base(uint64_t space)
{
	return 0x10000000 + space * 0x100000;
}

static int read_memory(void *ctx, uint64_t space, uint64_t addr, void *buf, size_t len)
{
	const uint64_t at = (addr - base(space)) % FILE_SIZE;

	(void)ctx;
	m.reads++;
	if (m.read_error)
		return m.read_error;
	/* the jump table of each space leads elsewhere */
	if (addr - JVT < 256 * 8) {
		uint64_t target = 0x40000000 + 0x1000 * space;

		assert_int_equal((addr - JVT) % 8, 0);
		memcpy(buf, &target, 8);
		return 8;
	}
	if (addr - 0x40000000 < 0x1000 * SPACES || addr - 0x20000000 < 0x1000) {
		memcpy(buf, "\1\0", 2);	/* c.nop */
		return 2;
	}
	if (addr < base(space) || addr - base(space) >= m.files * FILE_SIZE || at >= m.size)
		return 0;
	len = len < m.size - at ? len : m.size - at;
	memcpy(buf, m.bytes + at, len);
	if (m.changed)
		memset(buf, 1, len);	/* c.nop.. of another file */
	return (int)len;
}

static int map_memory(void *ctx, uint64_t space, uint64_t addr, struct nt_mapping *map)
{
	uint64_t n;

	(void)ctx;
	m.maps++;
	assert_int_equal(map->size, sizeof(*map));
	if (m.map_error || addr < base(space) || addr - base(space) >= m.files * FILE_SIZE)
		return -1;
	n = (addr - base(space)) / FILE_SIZE;
	map->start = base(space) + n * FILE_SIZE;
	map->end = map->start + FILE_SIZE;
	map->file = 1 + n + (m.changed ? 1000000 : 0);
	map->offset = FILE_OFFSET;
	return 0;
}

static void put(unsigned int at, uint32_t insn, unsigned int len)
{
	memcpy(m.bytes + at, &insn, len);
	m.size = at + len > m.size ? at + len : m.size;
}

#define LOOP	100

/* A loop with a call; what space executes of it goes to the encoder. */
static void make_loop(void)
{
	memset(&m, 0, sizeof(m));
	m.files = 1;
	put(0, 0x00150513, 4);			/* addi a0, a0, 1 */
	put(4, insn_jal(1, 12), 4);		/* jal 16 */
	put(8, insn_b(-8), 4);			/* bne 0 */
	put(12, 0x0067, 4);			/* jalr x0, 0(x0): the end */
	put(12, insn_jalr(0, 10, 0), 4);
	put(16, 0x00150513, 4);
	put(20, insn_jalr(0, 1, 0), 4);		/* ret */
}

static uint8_t trace[65536];
static size_t trace_len;

static bool emit(void *ctx, const uint8_t *msg, unsigned int len)
{
	(void)ctx;
	if (msg) {
		memcpy(trace + trace_len, msg, len);
		trace_len += len;
	}
	return true;
}

static struct nt_params params(void)
{
	struct nt_params p;

	nt_params_init(&p);
	p.isa = NT_ISA_C | NT_ISA_ZCMT;
	p.retstack = 3;
	p.seqjump = true;
	p.jvt = JVT;
	return p;
}

static void retire(struct nt_enc *enc, uint64_t space, unsigned int at, unsigned int len)
{
	uint32_t insn;

	memcpy(&insn, m.bytes + at, sizeof(insn));
	nt_enc_retire(enc, base(space) + at, len == 2 ? insn & 0xffff : insn, len);
}

static void execute_loop(uint64_t space)
{
	static const uint8_t round[] = { 0, 4, 16, 20, 8 };
	struct nt_enc_config c = { .size = sizeof(c), .htm = true, .emit = emit };
	struct nt_params p = params();
	struct nt_enc *enc = nt_enc_new(&p, &c);
	unsigned int i, k;

	assert_non_null(enc);
	trace_len = 0;
	nt_enc_start(enc, NT_SYNC_TRACE_ENABLE);
	for (i = 0; i < LOOP; i++)
		for (k = 0; k < sizeof(round); k++)
			retire(enc, space, round[k], 4);
	retire(enc, space, 12, 4);
	nt_enc_stop(enc, NT_EVCODE_DISABLE, base(space) + 0x800);
	nt_enc_free(enc);
}

struct decoded {
	struct nt_event ev[8 * LOOP];
	unsigned int n, insns, losses;
};

static void decode(struct nt_code *code, struct decoded *d)
{
	struct nt_params p = params();
	struct nt_flow *flow = nt_flow_new(&p);
	unsigned int i;
	int n;

	memset(d, 0, sizeof(*d));
	nt_flow_set_code(flow, code, code);
	nt_flow_window(flow, trace, trace_len, 0);
	while ((n = nt_flow_next(flow, d->ev + d->n, 64)) > 0)
		d->n += n;
	assert_int_equal(n, 0);
	for (i = 0; i < d->n; i++) {
		d->insns += d->ev[i].insns;
		d->losses += d->ev[i].kind == NT_EV_LOSS;
	}
	nt_flow_free(flow);
}

/* The loop's branches: a call, a return, back; and out of it */
static void check_loop(const struct decoded *d, uint64_t space)
{
	static const struct { unsigned int from, to, type; } round[] = {
		{ 4, 16, NT_TYPE_CALL }, { 20, 8, NT_TYPE_RET }, { 8, 0, NT_TYPE_COND },
	};
	const uint64_t at = base(space);
	unsigned int i;

	assert_int_equal(d->losses, 0);
	assert_int_equal(d->insns, 5 * LOOP + 1);
	assert_int_equal(d->ev[0].kind, NT_EV_START);
	for (i = 0; i < 3 * LOOP - 1; i++) {
		const struct nt_event *ev = &d->ev[1 + i];

		assert_int_equal(ev->kind, NT_EV_BRANCH);
		assert_int_equal(ev->type, round[i % 3].type);
		assert_int_equal(ev->from - at, round[i % 3].from);
		assert_int_equal(ev->to - at, round[i % 3].to);
	}
}

static struct nt_store *new_store(uint64_t limit)
{
	struct nt_params p = params();
	struct nt_store *store = nt_store_new(&p, limit);

	assert_non_null(store);
	return store;
}

static struct nt_code_stats stats_of(struct nt_store *store)
{
	struct nt_code_stats s = { .size = sizeof(s) };

	nt_store_get_stats(store, &s);
	return s;
}

/* 10,000 processes execute the same file at different addresses: decoded once */
static void shared(void **state)
{
	struct nt_store *store = new_store(0);
	struct nt_code_stats one, all;
	static struct nt_code *code[SPACES];
	static struct decoded d;
	unsigned int i;

	(void)state;
	make_loop();
	for (i = 0; i < SPACES; i++) {
		code[i] = nt_store_code(store, i, read_memory, map_memory, NULL);
		execute_loop(i);
		decode(code[i], &d);
		check_loop(&d, i);
		if (!i)
			one = stats_of(store);
	}
	all = stats_of(store);
	assert_true(one.blocks > 3);
	assert_int_equal(all.blocks, one.blocks);
	assert_int_equal(all.bytes, one.bytes);
	assert_true(m.reads < 50);
	for (i = 0; i < SPACES; i++)
		nt_code_free(code[i]);
	/* and the file's code outlives the processes */
	assert_int_equal(stats_of(store).blocks, one.blocks);
	nt_store_free(store);
}

/* Without an answer about maps, or with a wrong one, memory is the process's own */
static void unknown_mappings(void **state)
{
	struct nt_store *store = new_store(0);
	static struct decoded d;
	struct nt_code *code;
	unsigned int i;

	(void)state;
	make_loop();
	m.map_error = true;
	for (i = 0; i < 2; i++) {
		code = nt_store_code(store, i, read_memory, i ? map_memory : NULL, NULL);
		execute_loop(i);
		decode(code, &d);
		check_loop(&d, i);
		nt_code_free(code);
		assert_int_equal(stats_of(store).blocks, 0);
	}
	nt_store_free(store);
}

/* The trace: started at pc, stopped after `icnt` halfwords with these outcomes of branches */
static void trace_straight(uint64_t pc, uint32_t hist, uint32_t icnt)
{
	const struct nt_msg sync = { .fields = NT_F_SYNC | NT_F_ICNT | NT_F_FADDR,
				     .tcode = NT_TCODE_PROG_TRACE_SYNC,
				     .sync = NT_SYNC_TRACE_ENABLE, .addr = pc >> 1 };
	const struct nt_msg stop = { .fields = NT_F_EVCODE | NT_F_CDF | NT_F_ICNT | NT_F_HIST,
				     .tcode = NT_TCODE_PROG_TRACE_CORRELATION,
				     .evcode = NT_EVCODE_DISABLE, .cdf = 1, .hist = hist,
				     .icnt = icnt };
	const struct nt_params p = params();

	trace_len = nt_enc_msg(&p, &sync, trace);
	trace_len += nt_enc_msg(&p, &stop, trace + trace_len);
}

/* What a jump does that depends on where the file is, or on other memory, is not shared */
static void not_shared(void **state)
{
	struct nt_store *store = new_store(0);
	struct nt_code *code[4];
	static struct decoded d;
	unsigned int i, round;

	(void)state;
	for (round = 0; round < 2; round++) {
		memset(&m, 0, sizeof(m));
		m.files = 1;
		put(0, 0x00150513, 4);
		if (round) {
			put(4, 0xa002 | 32 << 2, 2);		/* cm.jalt 32 */
		} else {
			put(4, 0x20000337, 4);			/* lui t1, 0x20000 */
			put(8, insn_jalr(0, 6, 0), 4);		/* jalr x0, 0(t1) */
		}
		for (i = 0; i < 4; i++) {
			const uint64_t to = round ? 0x40000000 + 0x1000 * i : 0x20000000;

			code[i] = nt_store_code(store, i, read_memory, map_memory, NULL);
			trace_straight(base(i), 1, round ? 3 + 2 : 6 + 2);
			decode(code[i], &d);
			assert_int_equal(d.losses, 0);
			assert_int_equal(d.ev[1].kind, NT_EV_BRANCH);
			assert_int_equal(d.ev[1].from, base(i) + (round ? 4 : 8));
			assert_int_equal(d.ev[1].to, to);
			assert_int_equal(d.insns, round ? 2 + 2 : 3 + 2);
			decode(code[i], &d);
			assert_int_equal(d.losses, 0);
			assert_int_equal(d.ev[1].to, to);
		}
		for (i = 0; i < 4; i++)
			nt_code_free(code[i]);
		nt_store_free(store);
		store = new_store(0);
	}
	nt_store_free(store);
}

/* Another file is mapped there now. */
static void remapped(void **state)
{
	struct nt_store *store = new_store(0);
	struct nt_code *code = nt_store_code(store, 0, read_memory, map_memory, NULL);
	static struct decoded d;
	unsigned int reads;

	(void)state;
	make_loop();
	execute_loop(0);
	decode(code, &d);
	check_loop(&d, 0);
	/* the old one still: what was decoded of it is there */
	reads = m.reads;
	nt_code_invalidate(code, base(0), base(0) + 1);
	decode(code, &d);
	check_loop(&d, 0);
	assert_int_equal(m.reads, reads);
	m.changed = true;
	nt_code_invalidate(code, base(0) + FILE_SIZE - 1, base(0) + FILE_SIZE);
	decode(code, &d);
	assert_true(d.losses > 0);
	m.changed = false;
	nt_code_invalidate(code, 0, 0);
	decode(code, &d);
	check_loop(&d, 0);
	nt_code_free(code);
	nt_store_free(store);
}

/* Under a limit, whatever is executed; and everything is decoded again when need be */
static void limited(void **state)
{
	struct nt_store *store = new_store(1 << 20);
	struct nt_code *code = nt_store_code(store, 0, read_memory, map_memory, NULL);
	const struct nt_event *ev;
	static struct decoded d;
	uint64_t most = 0;
	unsigned int i, k;

	(void)state;
	for (k = 0; k < 2; k++) {
		for (i = 0; i < 2500; i++) {
			unsigned int j;

			memset(&m, 0, sizeof(m));
			m.files = 2500;
			put(0, 0x00150513, 4);
			for (j = 1; j < 10; j++)
				put(4 * j, insn_b(8), 4);
			trace_straight(base(0) + i * (uint64_t)FILE_SIZE, 0x100, 2 + 8 * 2);
			decode(code, &d);
			assert_int_equal(d.losses, 0);
			ev = &d.ev[d.n - 1];
			assert_int_equal(ev->kind, NT_EV_STOP);
			most = stats_of(store).bytes > most ? stats_of(store).bytes : most;
		}
	}
	print_message("# 2500 files, %" PRIu64 " bytes at most, %" PRIu64 " now\n", most,
		      stats_of(store).bytes);
	assert_true(most < (1 << 20) + 4096);
	assert_true(stats_of(store).bytes > 1 << 19);
	nt_code_free(code);
	nt_store_free(store);
}

/* What supplies code can't: the loss says why, and where. */
static void unreadable(void **state)
{
	static const struct { int said; enum nt_error reason; } cases[] = {
		{ 0, NT_EUNMAPPED }, { -NT_EFILE, NT_EFILE }, { -NT_EFORMAT, NT_EFORMAT },
		{ -NT_ENOTSUP, NT_ENOTSUP }, { -NT_EHIST, NT_EFILE }, { 1 << 20, NT_EFILE },
	};
	struct nt_store *store = new_store(0);
	static struct decoded d;
	struct nt_code *code;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make_loop();
		execute_loop(i);
		m.read_error = cases[i].said;
		m.size = cases[i].said ? m.size : 0;
		code = nt_store_code(store, i, read_memory, map_memory, NULL);
		decode(code, &d);
		assert_int_equal(d.losses, 1);
		assert_int_equal(d.ev[1].kind, NT_EV_LOSS);
		assert_int_equal(d.ev[1].reason, cases[i].reason);
		assert_int_equal(d.ev[1].to, base(i));
		nt_code_free(code);
	}
	nt_store_free(store);
}

/* ---------------------------------------------------------------- paths -- */

/* Runs, instructions and what is skipped lead over the same instructions as one by one. */
static void paths(void **state)
{
	struct nt_store *store = new_store(0);
	struct nt_code *code = nt_store_code(store, 7, read_memory, map_memory, NULL);
	struct nt_path *path = nt_path_new();
	unsigned int i, rounds, conds = 0;
	static struct decoded d;

	(void)state;
	assert_non_null(path);
	make_loop();
	execute_loop(7);
	decode(code, &d);
	for (rounds = 0; rounds < 20; rounds++) {
		uint64_t pc = 0;

		for (i = 0; i < d.n; i++) {
			const struct nt_event *ev = &d.ev[i];
			uint32_t left = ev->insns;

			assert_int_equal(nt_path_event(path, code, ev), 0);
			while (left) {
				uint64_t last = pc, end = pc, first = pc;
				struct nt_insn insn;
				struct nt_run run;
				uint32_t n, k;

				switch (rnd(3)) {
				case 0:
					assert_int_equal(nt_path_run(path, &run), 1);
					n = run.insns;
					break;
				case 1:
					assert_int_equal(nt_path_insn(path, &insn), 1);
					assert_true(insn.pc == pc);
					n = 1;
					break;
				default:
					n = 1 + rnd(left);
					assert_int_equal(nt_path_skip(path, n), 0);
				}
				assert_in_range(n, 1, left);
				for (k = 0; k < n; k++, end = last + insn.len) {
					last = end;
					assert_true(nt_code_insn(code, last, &insn) > 0);
				}
				pc = end;
				left -= n;
				assert_true(nt_path_pc(path) == pc);
				run.pc == first && run.insns == n ? conds++ : 0;
			}
			assert_int_equal(nt_path_insn(path, &(struct nt_insn){ 0 }), 0);
			assert_int_equal(nt_path_run(path, &(struct nt_run){ 0 }), 0);
			if (ev->kind == NT_EV_BRANCH || ev->kind == NT_EV_START)
				pc = ev->to;
		}
	}
	nt_path_free(path);
	nt_code_free(code);
	nt_store_free(store);
}

/* What a run tells, and what is said where it is not known where execution is */
static void runs(void **state)
{
	const struct nt_event branch = { .kind = NT_EV_BRANCH, .type = NT_TYPE_COND, .insns = 2,
					 .from = base(0) + 8, .to = base(0) };
	const struct nt_event start = { .kind = NT_EV_START, .from = base(0), .to = base(0) };
	const struct nt_event stop = { .kind = NT_EV_STOP, .from = base(0) + 16, .insns = 4 };
	struct nt_store *store = new_store(0);
	struct nt_code *code = nt_store_code(store, 0, read_memory, map_memory, NULL);
	struct nt_path *path = nt_path_new();
	struct nt_run run;

	(void)state;
	memset(&m, 0, sizeof(m));
	m.files = 1;
	put(0, 0x00150513, 4);
	put(4, insn_b(8), 4);
	put(8, 0x00150513, 4);
	put(12, insn_b(-12), 4);
	put(16, 0x00150513, 4);
	assert_int_equal(nt_path_event(path, code, &branch), -NT_EUNMAPPED);
	assert_int_equal(nt_path_run(path, &run), -NT_EUNMAPPED);
	assert_int_equal(nt_path_event(path, code, &start), 0);
	/* over a branch that was not taken, to one that was */
	assert_int_equal(nt_path_event(path, code,
				       &(struct nt_event){ .kind = NT_EV_BRANCH, .insns = 4,
							   .type = NT_TYPE_COND,
							   .from = base(0) + 12, .to = base(0) }),
			 0);
	assert_int_equal(nt_path_run(path, &run), 1);
	assert_true(run.pc == base(0) && run.last == base(0) + 4 && run.end == base(0) + 8);
	assert_true(run.insns == 2 && run.type == NT_TYPE_COND && !run.taken);
	assert_int_equal(nt_path_run(path, &run), 1);
	assert_true(run.pc == base(0) + 8 && run.end == base(0) + 16);
	assert_true(run.insns == 2 && run.type == NT_TYPE_COND && run.taken);
	assert_int_equal(nt_path_run(path, &run), 0);
	assert_int_equal(nt_path_event(path, code, &stop), 0);
	assert_int_equal(nt_path_skip(path, 3), 0);
	assert_true(nt_path_pc(path) == base(0) + 12);
	assert_int_equal(nt_path_run(path, &run), 1);
	assert_true(run.insns == 1 && !run.taken && run.end == base(0) + 16);
	/* behind a STOP */
	assert_int_equal(nt_path_event(path, code, &branch), -NT_EUNMAPPED);
	nt_path_linear(path, code, base(0) + 100, 1);
	assert_int_equal(nt_path_run(path, &run), -NT_EUNMAPPED);
	nt_path_free(path);
	nt_code_free(code);
	nt_store_free(store);
}

/* ------------------------------------------------- what a reader found -- */

static struct nt_enc *new_enc(const struct nt_params *p)
{
	struct nt_enc_config c = { .size = sizeof(c), .htm = true, .emit = emit };
	struct nt_enc *enc = nt_enc_new(p, &c);

	assert_non_null(enc);
	trace_len = 0;
	nt_enc_start(enc, NT_SYNC_TRACE_ENABLE);
	return enc;
}

static unsigned int events_of(const struct nt_params *p, struct nt_code *low, struct nt_code *high,
			      struct nt_event *ev)
{
	struct nt_flow *flow = nt_flow_new(p);
	int n;

	nt_flow_set_code(flow, low, high);
	nt_flow_window(flow, trace, trace_len, 0);
	n = nt_flow_next(flow, ev, 64);
	assert_true(n > 0);
	nt_flow_free(flow);
	return n;
}

#define HIGH	0x20000u

static uint32_t two_insn(uint64_t pc)
{
	if (pc == 0x10004)
		return insn_jal(0, HIGH - 0x10004);
	return pc == HIGH + 12 ? insn_jalr(0, 10, 0) : 0x13;
}

static int read_two(void *ctx, uint64_t space, uint64_t addr, void *buf, size_t len)
{
	const uint64_t start = *(uint64_t *)ctx;
	uint32_t insn = two_insn(addr & ~3ull) >> (addr & 2) * 8;

	(void)space;
	(void)len;
	if (addr < start || addr >= start + 0x1000)
		return 0;
	memcpy(buf, &insn, 2);
	return 2;
}

/* A walk goes on in another store: numbers of blocks are that one's. */
/* c.j . */
static int read_jump(void *ctx, uint64_t space, uint64_t addr, void *buf, size_t len)
{
	uint8_t *p = buf;
	size_t i;

	(void)ctx;
	(void)space;
	for (i = 0; i < len; i++)
		p[i] = (addr + i) & 1 ? 0xa0 : 0x01;
	return len;
}

/* Space 0 has memory of its own alone, every other one a file for each page. */
static int map_pages(void *ctx, uint64_t space, uint64_t addr, struct nt_mapping *map)
{
	(void)ctx;
	if (!space)
		return -1;
	map->start = addr & ~0xfffULL;
	map->end = map->start + 0x1000;
	map->file = 1 + (addr >> 12);
	map->offset = 0;
	return 0;
}

/* An address space's own memory of which nothing is mapped any more outlives what others evict. */
static void own_memory(void **state)
{
	struct nt_code_stats stats = { .size = sizeof(stats) };
	struct nt_params params;
	struct nt_path *path = nt_path_new();
	struct nt_code *own, *other;
	struct nt_store *store;
	struct nt_run run;
	uint64_t page = 0;
	int i, space;

	(void)state;
	nt_params_init(&params);
	params.isa = NT_ISA_C;
	store = nt_store_new(&params, 1 << 20);
	own = nt_store_code(store, 0, read_jump, map_pages, NULL);
	assert_true(store && own && path);
	nt_path_linear(path, own, 0x10000, 1);
	assert_int_equal(nt_path_run(path, &run), 1);
	nt_path_release(path);
	nt_code_invalidate(own, 0, 0);
	for (space = 1; space <= 40; space++) {
		other = nt_store_code(store, space, read_jump, map_pages, NULL);
		for (i = 0; i < 200; i++, page++) {
			nt_path_linear(path, other, 0x100000000 + page * 0x1000, 1);
			assert_int_equal(nt_path_run(path, &run), 1);
		}
		nt_path_release(path);
		nt_code_free(other);
	}
	nt_store_get_stats(store, &stats);
	assert_true(stats.blocks < page);
	nt_code_invalidate(own, 0x10000, 0x11000);
	nt_path_linear(path, own, 0x10000, 1);
	assert_int_equal(nt_path_run(path, &run), 1);
	nt_path_release(path);
	nt_code_free(own);
	nt_path_free(path);
	nt_store_free(store);
}

static void two_stores(void **state)
{
	struct nt_params p = params();
	uint64_t low_at = 0x10000, high_at = HIGH, pc;
	struct nt_code *low, *high;
	struct nt_event ev[64];
	struct nt_enc *enc;

	(void)state;
	p.high_from = HIGH;
	low = nt_code_new(&p, read_two, &low_at);
	high = nt_code_new(&p, read_two, &high_at);
	enc = new_enc(&p);
	for (pc = low_at; pc <= low_at + 4; pc += 4)
		nt_enc_retire(enc, pc, two_insn(pc), 4);
	for (pc = high_at; pc <= high_at + 12; pc += 4)
		nt_enc_retire(enc, pc, two_insn(pc), 4);
	nt_enc_retire(enc, 0x10100, 0x13, 4);
	nt_enc_stop(enc, NT_EVCODE_DISABLE, 0x10104);
	nt_enc_free(enc);
	assert_int_equal(events_of(&p, low, high, ev), 4);
	assert_true(ev[1].from == 0x10004 && ev[1].to == HIGH && ev[1].insns == 2);
	assert_true(ev[2].from == HIGH + 12 && ev[2].to == 0x10100 && ev[2].insns == 4);
	assert_int_equal(ev[3].kind, NT_EV_STOP);
	nt_code_free(low);
	nt_code_free(high);
}

/* Which bases the two address spaces of the next test have */
static const uint64_t bases[] = { 0x10000, 0x90000000 };

static int read_wrap(void *ctx, uint64_t space, uint64_t addr, void *buf, size_t len)
{
	const uint64_t at = (addr - bases[space]) & ~3ull;
	uint32_t insn = at == 0 ? 0x80000317 : at == 4 ? 0x00030067 : insn_jalr(0, 10, 0);

	(void)ctx;
	(void)len;
	insn >>= (addr & 2) * 8;
	memcpy(buf, &insn, 2);
	return 2;
}

static int map_wrap(void *ctx, uint64_t space, uint64_t addr, struct nt_mapping *map)
{
	(void)ctx;
	map->start = bases[space];
	map->end = map->start + 0x1000;
	map->file = 7;
	return addr - map->start < 0x1000 ? 0 : -1;
}

/* RV32: auipc and a jump lead around the end of the address space from one base, not the other. */
static void rv32_wraps(void **state)
{
	struct nt_params p = params();
	struct nt_store *store;
	struct nt_event ev[64];
	unsigned int i;

	(void)state;
	p.xlen = 32;
	store = nt_store_new(&p, 0);
	for (i = 0; i < 2; i++) {
		struct nt_code *code = nt_store_code(store, i, read_wrap, map_wrap, NULL);
		const uint32_t to = (uint32_t)bases[i] + 0x80000000u;
		struct nt_enc *enc = new_enc(&p);

		nt_enc_retire(enc, bases[i], 0x80000317, 4);
		nt_enc_retire(enc, bases[i] + 4, 0x00030067, 4);
		nt_enc_retire(enc, to, insn_jalr(0, 10, 0), 4);
		nt_enc_retire(enc, 0x5000, 0x13, 4);
		nt_enc_stop(enc, NT_EVCODE_DISABLE, 0x5004);
		nt_enc_free(enc);
		assert_true(events_of(&p, code, code, ev) >= 3);
		assert_true(ev[1].from == bases[i] + 4 && ev[1].to == to);
		assert_true(ev[2].from == to && ev[2].to == 0x5000);
		nt_code_free(code);
	}
	nt_store_free(store);
}

static int read_nothing(void *ctx, uint64_t space, uint64_t addr, void *buf, size_t len)
{
	(void)ctx;
	(void)space;
	(void)addr;
	(void)buf;
	(void)len;
	m.reads++;
	return 0;
}

/* Of a place where nothing is nothing is kept, however many there are. */
static void nowhere(void **state)
{
	struct nt_store *store = new_store(1 << 20);
	struct nt_code *code = nt_store_code(store, 0, read_nothing, map_memory, NULL);
	struct nt_path *path = nt_path_new();
	struct nt_run run;
	unsigned int i;

	(void)state;
	memset(&m, 0, sizeof(m));
	for (i = 0; i < 300; i++) {
		nt_path_linear(path, code, (uint64_t)(i % 3) << 30, 1);
		assert_int_equal(nt_path_run(path, &run), -NT_EUNMAPPED);
	}
	/* asked again each time: no map is kept of it */
	assert_int_equal(m.maps, 300);
	nt_path_free(path);
	nt_code_free(code);
	nt_store_free(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shared),
		cmocka_unit_test(unknown_mappings),
		cmocka_unit_test(not_shared),
		cmocka_unit_test(remapped),
		cmocka_unit_test(limited),
		cmocka_unit_test(unreadable),
		cmocka_unit_test(paths),
		cmocka_unit_test(runs),
		cmocka_unit_test(own_memory),
		cmocka_unit_test(two_stores),
		cmocka_unit_test(rv32_wraps),
		cmocka_unit_test(nowhere),
	};

	return RUN_TAP(tests);
}
