// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace tv verify: N-Traces of others' encoders against what was executed, both
 * ways; and single bits of a trace, flipped, are noticed in the very group where
 * they change anything.
 *
 * TRACE=FILE: pieces of this one, and not of traces by chance; the samples are left out.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka-tap.h"
#include "nt-tv.h"
#include "ntrace.h"
#include "random.h"

#define GROUPS	60

static const struct nt_tv_params rv64 = NT_TV_PARAMS_RV64;
static char folder[200];

struct stream {
	uint8_t buf[1 << 23];
	size_t len;
	size_t setup;	/* so much of it is initialisation */
};

static struct stream good, bad;

static void save(const char *name, const struct stream *s)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, s->buf, s->len), s->len);
	close(fd);
}

/* Exit status of ntrace tv ARGUMENTS, run in the folder; the first lines in text */
static int ntrace_tv(char *text, size_t size, const char *fmt, ...)
{
	char arguments[400], command[700];
	const char *out = getenv("out");
	va_list ap;
	FILE *pipe;
	size_t n;

	va_start(ap, fmt);
	vsnprintf(arguments, sizeof(arguments), fmt, ap);
	va_end(ap);
	assert_non_null(out);
	snprintf(command, sizeof(command), "cd %s && %s/ntrace tv %s 2>&1", folder, out, arguments);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	n = fread(text, 1, size - 1, pipe);
	text[n] = '\0';
	while (fgetc(pipe) != EOF)
		;
	return WEXITSTATUS(pclose(pipe));
}

/* ---------------------------------------------------------------- faults -- */

/* An instruction of each kind that changes state, with anything for its values */
static void one_group(struct nt_tv_writer *w, uint64_t *pc)
{
	uint64_t value = rnd(UINT64_MAX), addr = 0x80000000 + 8 * rnd(64);
	unsigned int r = 0x1001 + (unsigned int)rnd(31);

	nt_tv_begin(w);
	*pc += 4;
	if (rnd(4)) {
		nt_tv_incpc(w);
	} else {
		*pc = 0x80000000 + 4 * rnd(1u << 20);
		nt_tv_pc(w, *pc);
	}
	if (!rnd(12)) {		/* an interrupt */
		w->pos -= w->pos[-1] == NT_TV_INCPC;
		if (w->pos[-1] == NT_TV_BEGIN)
			nt_tv_pc(w, *pc);
		nt_tv_reg(w, 0x341, *pc);
		nt_tv_reg(w, 0x342, value);
		nt_tv_priv(w, 3);
		nt_tv_end(w);
		return;
	}
	nt_tv_insn32(w, (uint32_t)value | 3);
	switch (rnd(6)) {
	case 0:
		nt_tv_reg(w, r, value);
		break;
	case 1:
		nt_tv_reg(w, r + 32, value);
		nt_tv_reg_or(w, 0x003, 1 << rnd(5));
		break;
	case 2:
		nt_tv_reg_add(w, r, (int8_t)value);
		break;
	case 3:
		nt_tv_paddr(w, addr);
		nt_tv_eaddr(w, addr ^ 0x4000000);
		nt_tv_store_data(w, rnd(4), value);
		break;
	case 4:
		nt_tv_memreq(w, NT_TV_ADD, 3, addr, value);
		nt_tv_memrsp(w, NT_TV_ADD, 3, NT_TV_SUCCESS, value * 3);
		nt_tv_reg(w, r, value * 3);
		break;
	default:
		nt_tv_reg(w, rnd(2) ? 0x344 : 0x304, value);
		break;
	}
	nt_tv_end(w);
}

static void make_run(struct stream *s)
{
	struct nt_tv_writer w;
	uint64_t pc = 0x80000000;

	nt_tv_writer_init(&w, &rv64, s->buf, sizeof(s->buf), NULL, NULL);
	nt_tv_begin(&w);
	nt_tv_state_init(&w);
	nt_tv_pc(&w, pc);
	nt_tv_priv(&w, 0);
	for (unsigned int r = 0; r < 64; r++)
		nt_tv_reg(&w, 0x1000 + r, r);
	nt_tv_reg(&w, 0x003, 0);
	nt_tv_reg(&w, 0x304, 0);
	nt_tv_reg(&w, 0x344, 0);
	nt_tv_reg(&w, 0x341, 0);
	nt_tv_reg(&w, 0x342, 0);
	nt_tv_end(&w);
	s->setup = nt_tv_written(&w);
	for (unsigned int i = 0; i < GROUPS; i++)
		one_group(&w, &pc);
	assert_int_equal(w.error, 0);
	s->len = nt_tv_written(&w);
}

static const char *recording;

/* All that is known, as a group of initialisation */
static void put_setup(struct nt_tv_writer *w, const struct nt_tv_shadow *sh)
{
	uint64_t value;

	nt_tv_begin(w);
	nt_tv_state_init(w);
	if (nt_tv_shadow_state(sh, NT_TV_PC, &value))
		nt_tv_pc(w, value);
	if (nt_tv_shadow_state(sh, NT_TV_PRIV, &value))
		nt_tv_priv(w, value);
	for (uint32_t reg = 0; nt_tv_shadow_next_reg(sh, &reg); reg++)
		if (nt_tv_shadow_reg(sh, reg, &value))
			nt_tv_reg(w, reg, value);
	nt_tv_end(w);
}

static uint8_t *load_recording(size_t *len)
{
	static uint8_t *bytes;
	static size_t size;

	if (!bytes) {
		FILE *f = fopen(recording, "rb");

		assert_non_null(f);
		bytes = malloc(1 << 22);
		assert_non_null(bytes);
		size = fread(bytes, 1, 1 << 22, f);
		fclose(f);
	}
	*len = size;
	return bytes;
}

/* GROUPS of its groups from anywhere on, and in front what the state is there */
static void cut_run(struct stream *s)
{
	struct nt_tv_shadow *sh = nt_tv_shadow_new(&rv64, 4096);
	struct nt_tv_reader r;
	struct nt_tv_writer w;
	size_t len, at = 0, from = 0;
	const uint8_t *bytes = load_recording(&len);
	unsigned int left = (unsigned int)rnd(20000), done = 0;

	nt_tv_reader_init(&r, &rv64);
	while (done <= GROUPS) {
		struct nt_tv_item it;
		int n = nt_tv_next(&r, bytes + at, len - at, &it);

		assert_true(n > 0);
		at += n;
		if (nt_tv_shadow_item(sh, &it) != 1 || it.opcode != NT_TV_END || (left && --left))
			continue;
		if (!done++) {
			nt_tv_writer_init(&w, &rv64, s->buf, sizeof(s->buf), NULL, NULL);
			put_setup(&w, sh);
			s->setup = nt_tv_written(&w);
			from = at;
		}
	}
	memcpy(s->buf + s->setup, bytes + from, at - from);
	s->len = s->setup + (at - from);
	nt_tv_shadow_free(sh);
}

/* One stream, up to the end of a group */
struct reading {
	const struct stream *s;
	struct nt_tv_reader r;
	struct nt_tv_shadow *sh;
	size_t at;
};

static void begin_reading(struct reading *x, const struct stream *s)
{
	*x = (struct reading){ .s = s, .sh = nt_tv_shadow_new(&rv64, 1000) };
	assert_non_null(x->sh);
	nt_tv_reader_init(&x->r, &rv64);
}

/* 1, 0 the end, negative: refused, at *offset */
static int next_group(struct reading *x, uint64_t *offset)
{
	struct nt_tv_item it;
	int ret = 0;

	while (!ret && x->at < x->s->len) {
		int n = nt_tv_next(&x->r, x->s->buf + x->at, x->s->len - x->at, &it);

		*offset = x->r.offset + x->r.bad;
		if (n <= 0)
			return n ? n : -NT_TV_ETRUNC;
		x->at += n;
		ret = nt_tv_shadow_item(x->sh, &it);
		*offset = nt_tv_shadow_bad(x->sh);
	}
	return ret ? ret : nt_tv_shadow_end(x->sh);
}

static bool same_reg(const struct reading *a, const struct reading *b, unsigned int reg)
{
	uint64_t x = 0, y = 0;
	bool p = nt_tv_shadow_reg(a->sh, reg, &x), q = nt_tv_shadow_reg(b->sh, reg, &y);

	/* mip may be anything */
	return reg == 0x344 || reg >= NT_TV_REG_CUSTOM || (p == q && x == y);
}

static bool same_byte(const struct reading *a, const struct reading *b, uint64_t addr)
{
	uint8_t x = 0, y = 0;
	size_t p = nt_tv_shadow_read(a->sh, addr, &x, 1), q = nt_tv_shadow_read(b->sh, addr, &y, 1);

	return p == q && x == y;
}

static bool is_memory(const struct nt_tv_group *g)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->items[i].opcode == NT_TV_MEMREQ || g->items[i].opcode == NT_TV_MEMRSP ||
		    (g->items[i].opcode == NT_TV_STATE && g->items[i].ident >= NT_TV_STORE8 &&
		     g->items[i].ident <= NT_TV_STORE64))
			return true;
	return false;
}

/* By brute force: all registers, and all pages of memory when there is a store */
static bool same_state(const struct reading *a, const struct reading *b, bool memory)
{
	static const enum nt_tv_ident idents[] = { NT_TV_PC, NT_TV_PRIV };
	const struct reading *both[] = { a, b };
	uint32_t reg;
	uint64_t addr;

	for (unsigned int i = 0; i < 2; i++) {
		uint64_t x = 0, y = 0;

		if (nt_tv_shadow_state(a->sh, idents[i], &x) !=
		    nt_tv_shadow_state(b->sh, idents[i], &y) || x != y)
			return false;
	}
	for (unsigned int i = 0; i < 2; i++) {
		size_t page = 0;

		for (reg = 0; nt_tv_shadow_next_reg(both[i]->sh, &reg); reg++)
			if (!same_reg(a, b, reg))
				return false;
		while (memory && nt_tv_shadow_next_page(both[i]->sh, &page, &addr))
			for (unsigned int byte = 0; byte < 4096; byte++)
				if (!same_byte(a, b, addr + byte))
					return false;
	}
	return true;
}

static size_t next_addr(const struct nt_tv_group *g, size_t i)
{
	while (i < g->n && (g->items[i].opcode != NT_TV_STATE ||
			    (g->items[i].ident != NT_TV_PADDR && g->items[i].ident != NT_TV_EADDR &&
			     g->items[i].ident != NT_TV_PC_PADDR)))
		i++;
	return i;
}

/* Outside of groups an address is of no instruction: there is nothing to compare it with. */
static bool same_facts(const struct nt_tv_group *a, const struct nt_tv_group *b)
{
	size_t i = next_addr(a, 0), j = next_addr(b, 0);

	if (a->flags & b->flags & NT_TV_G_ALONE)
		return true;
	if (a->insn_bytes != b->insn_bytes || a->insn != b->insn)
		return false;
	while (i < a->n && j < b->n) {
		if (a->items[i].ident != b->items[j].ident ||
		    a->items[i].value != b->items[j].value)
			return false;
		i = next_addr(a, i + 1);
		j = next_addr(b, j + 1);
	}
	return i == a->n && j == b->n;
}

enum { SAME, DIFFERENT, REFUSED, SHAPE, BUS };

/* What was changed need not be seen, but what comes of it is if it cannot be read. */
static int rest(struct reading *r, uint64_t *where)
{
	uint64_t at;
	int ret;

	do
		ret = next_group(r, &at);
	while (ret > 0);
	if (!ret)
		return BUS;
	*where = at;
	return REFUSED;
}

/*
 * What is to be seen of the fault, and where.  SHAPE: it is another sequence of
 * groups; then there is no saying what belongs together.  BUS: transactions and inputs between
 * groups, which are compared as far as the verifier knows the memory, or that state.
 */
static int expected(uint64_t *where)
{
	struct reading a, b;
	int ra, rb, ret = SAME;
	uint64_t unused;

	begin_reading(&a, &good);
	begin_reading(&b, &bad);
	do {
		const struct nt_tv_group *g = nt_tv_shadow_group(b.sh);
		const struct nt_tv_group *h = nt_tv_shadow_group(a.sh);

		ra = next_group(&a, &unused);
		rb = next_group(&b, where);
		if (rb < 0)
			ret = REFUSED;
		else if (ra != rb || (ra && (g->flags != h->flags || !g->n != !h->n)))
			ret = ra && h->flags & NT_TV_G_ALONE ? BUS : SHAPE;
		else if (ra && (!same_state(&a, &b, is_memory(g) || is_memory(h)) ||
				!same_facts(g, h)))
			ret = g->flags & NT_TV_G_ALONE && is_memory(g) ? BUS : DIFFERENT;
		if (rb >= 0 && ret)
			*where = g->offset;
	} while (!ret && ra);
	if (ret == BUS)
		ret = rest(&b, where);
	nt_tv_shadow_free(a.sh);
	nt_tv_shadow_free(b.sh);
	return ret;
}

static void faults(void **state)
{
	unsigned long counts[5] = { 0 }, n = rounds(700);
	char text[4000], want[40];

	(void)state;
	for (unsigned long i = 0; i < n; i++) {
		uint64_t bit, where = 0;
		int status, what;

		if (!(i % 50)) {
			if (recording)
				cut_run(&good);
			else
				make_run(&good);
			save("good", &good);
			assert_int_equal(ntrace_tv(text, sizeof(text),
						   "verify good --against tv:good"), 0);
		}
		/* not what is set up: nobody but the trace knows that */
		bit = 8 * good.setup + rnd(8 * (good.len - good.setup));
		memcpy(bad.buf, good.buf, good.len);
		bad.len = good.len;
		bad.buf[bit / 8] ^= 1 << bit % 8;
		save("bad", &bad);
		what = expected(&where);
		counts[what]++;
		status = ntrace_tv(text, sizeof(text), "verify bad --against tv:good");
		snprintf(want, sizeof(want),
			 what == REFUSED ? "offset 0x%" PRIx64 ":" : "0x%" PRIx64 ":", where);
		if (what == SAME ? status :
		    what == REFUSED ? status != 2 || !strstr(text, want) :
		    what == SHAPE ? !status :
		    what == BUS ? status > 1 :
		    /* it may not stay the only thing that is wrong */
		    !status || strncmp(text, want, strlen(want)))
			fail_msg("bit %" PRIu64 ": expected %d at %s got %d %s", bit, what, want,
				 status, text);
	}
	print_message("# %lu faults: %lu differences, each in its group; %lu refused, at the item; "
		      "%lu other sequences of groups; %lu in transactions; %lu change nothing that "
		      "is compared\n", n,
		      counts[DIFFERENT], counts[REFUSED], counts[SHAPE], counts[BUS], counts[SAME]);
	assert_true(counts[DIFFERENT] > n / 3);
}

/* --------------------------------------------------------------- samples -- */

/* What was executed, from a list of addresses */
static uint64_t make_truth(const char *elf, const char *list)
{
	struct nt_image *image = nt_image_new();
	struct nt_params p;
	struct nt_code *code;
	struct nt_tv_writer w;
	struct nt_insn insn;
	unsigned long long pc;
	uint64_t n = 0, last = 0;
	FILE *pipe;
	int len = 0;

	nt_params_init(&p);
	assert_int_equal(nt_image_add_elf(image, elf, 0), 0);
	code = nt_code_new(&p, nt_image_read, image);
	nt_tv_writer_init(&w, &rv64, good.buf, sizeof(good.buf), NULL, NULL);
	pipe = fopen(list, "r");
	assert_non_null(pipe);
	while (fscanf(pipe, "%llx", &pc) == 1) {
		if (!n++) {
			nt_tv_begin(&w);
			nt_tv_state_init(&w);
			nt_tv_pc(&w, pc);
		} else if (pc == last + len) {
			nt_tv_step(&w, (uint32_t)insn.raw, len);
		} else {
			nt_tv_jump(&w, pc, (uint32_t)insn.raw, len);
		}
		len = nt_code_insn(code, pc, &insn);
		assert_true(len > 0);
		last = pc;
	}
	fclose(pipe);
	/* the last one is the loop that both programs end in */
	assert_true(insn.flags & NT_INSN_DIRECT);
	nt_tv_jump(&w, insn.target, (uint32_t)insn.raw, len);
	nt_code_free(code);
	nt_image_free(image);
	good.len = nt_tv_written(&w);
	assert_int_equal(w.error, 0);
	return n;
}

static void one_sample(const char *program, const char *trace)
{
	char elf[300], list[300], text[2000], want[100], path[300];
	const char *out = getenv("out");
	uint64_t n;

	assert_non_null(out);
	snprintf(elf, sizeof(elf), "%s/samples/%s/%s.elf", out, program, program);
	snprintf(list, sizeof(list), "%s/samples/%s/pc.txt", out, program);
	snprintf(path, sizeof(path), "%s/samples/%s/%s", out, program, trace);
	n = make_truth(elf, list);
	save("truth", &good);
	snprintf(want, sizeof(want), "# groups %" PRIu64 " instructions %" PRIu64 " mismatches 0",
		 n + 1, n);
	assert_int_equal(ntrace_tv(text, sizeof(text), "verify --elf %s truth --against ntrace:%s",
				   elf, path), 0);
	assert_memory_equal(text, want, strlen(want));
	assert_int_equal(ntrace_tv(text, sizeof(text),
				   "verify --elf %s ntrace:%s --against tv:truth",
				   elf, path), 0);
	assert_memory_equal(text, want, strlen(want));
	/* another branch is taken half-way; a target that is not told by increments */
	for (size_t at = good.len / 2;; at++) {
		if (good.buf[at] != NT_TV_STATE || good.buf[at - 1] != NT_TV_BEGIN ||
		    good.buf[at + 1] != NT_TV_PC)
			continue;
		good.buf[at + 3] ^= 1;
		snprintf(want, sizeof(want), "0x%zx: pc: ", at - 1);
		break;
	}
	save("truth", &good);
	assert_int_equal(ntrace_tv(text, sizeof(text), "verify --elf %s truth --against ntrace:%s",
				   elf, path), 1);
	assert_memory_equal(text, want, strlen(want));
	assert_non_null(strchr(text, '+'));	/* the symbol */
}

static void samples(void **state)
{
	(void)state;
	one_sample("towers", "L1.bin");
	one_sample("mix", "L0.bin");
}

static void clean_up(void)
{
	static const char *const names[] = { "truth", "good", "bad" };
	char path[300];

	for (unsigned int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples),
		cmocka_unit_test(faults),
	};

	const struct CMUnitTest of_recording[] = { cmocka_unit_test(faults) };

	const char *dir = getenv("TMPDIR");

	rnd_begin();
	recording = getenv("TRACE");
	snprintf(folder, sizeof(folder), "%s/tv-verify-XXXXXX", dir ? dir : "/tmp");
	if (!mkdtemp(folder))
		return 1;
	atexit(clean_up);
	return recording ? RUN_TAP(of_recording) : RUN_TAP(tests);
}
