// SPDX-License-Identifier: GPL-2.0-only
/*
 * Instructions for people: address, bits, symbol and text. Capstone only makes the text. libntrace
 * determines what an instruction does.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_CAPSTONE
#include <capstone/capstone.h>
#endif

#include "cmd.h"

#define CACHE_SIZE	16384	/* lines, by address */
#define TEXT_MAX	512	/* more than the sum of the longest parts */

struct line {
	uint64_t pc;
	uint64_t raw;
	unsigned int len;	/* of the text; 0: empty */
	char text[TEXT_MAX];
};

struct lines {
	const struct symbols *symbols;
#ifdef HAVE_CAPSTONE
	csh capstone;
	cs_insn *insn;
#endif
	struct line cache[CACHE_SIZE];
};

/* An assembler directive, for instructions without a better text */
static int put_data(char *text, size_t size, const struct nt_insn *insn)
{
	if (insn->len == 2 || insn->len == 4)
		return snprintf(text, size, ".%ubyte 0x%" PRIx64, insn->len, insn->raw);
	return snprintf(text, size, ".insn %u, 0x%" PRIx64, insn->len, insn->raw);
}

#ifdef HAVE_CAPSTONE

static void open_disassembler(struct lines *l, const struct nt_params *params)
{
	int mode = params->xlen == 32 ? CS_MODE_RISCV32 : CS_MODE_RISCV64;

	if (cs_open(CS_ARCH_RISCV, (cs_mode)(mode | CS_MODE_RISCVC), &l->capstone))
		die("the Capstone that is installed was built without RISC-V: install one with it");
	l->insn = cs_malloc(l->capstone);
	if (!l->insn)
		die("%s", nt_strerror(NT_ENOMEM));
}

static void close_disassembler(struct lines *l)
{
	cs_free(l->insn, 1);
	cs_close(&l->capstone);
}

static int put_text(struct lines *l, char *text, size_t size, const struct nt_insn *insn)
{
	uint64_t pc = insn->pc;
	uint8_t bytes[8];
	const uint8_t *p = bytes;
	size_t i, left = insn->len;

	if (insn->len != 2 && insn->len != 4)
		return put_data(text, size, insn);
	for (i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(insn->raw >> (8 * i));
	/* Capstone took a part of the encoding for a shorter instruction */
	if (!cs_disasm_iter(l->capstone, &p, &left, &pc, l->insn) || left)
		return put_data(text, size, insn);
	return snprintf(text, size, "%s%s%s", l->insn->mnemonic, *l->insn->op_str ? " " : "",
			l->insn->op_str);
}

const char *lines_disassembler(void)
{
	static char name[32];
	int major, minor;

	cs_version(&major, &minor);
	snprintf(name, sizeof(name), "Capstone %d.%d", major, minor);
	return name;
}

#else

static void open_disassembler(struct lines *l, const struct nt_params *params)
{
	(void)l;
	(void)params;
}

static void close_disassembler(struct lines *l)
{
	(void)l;
}

static int put_text(struct lines *l, char *text, size_t size, const struct nt_insn *insn)
{
	(void)l;
	return put_data(text, size, insn);
}

const char *lines_disassembler(void)
{
	return "none (built without Capstone): instructions are shown as data";
}

#endif

static int put_place(const struct lines *l, char *text, size_t size, uint64_t pc)
{
	uint64_t offset = 0;
	const char *name = symbols_find(l->symbols, pc, &offset);

	/* cut very long mangled names, to leave room for the text */
	if (!name)
		return snprintf(text, size, "-");
	return snprintf(text, size, "%.80s+0x%" PRIx64, name, offset);
}

static unsigned int format(struct lines *l, char *text, const struct nt_insn *insn)
{
	unsigned int digits = insn->len < 8 ? 2 * insn->len : 16;
	int n = snprintf(text, TEXT_MAX, "%" PRIx64 " %0*" PRIx64 " ", insn->pc, digits, insn->raw);

	n += put_place(l, text + n, TEXT_MAX - n, insn->pc);
	text[n++] = ' ';
	n += put_text(l, text + n, TEXT_MAX - n, insn);
	if (insn->flags & NT_INSN_DIRECT) {
		n += snprintf(text + n, TEXT_MAX - n, " # %" PRIx64 " ", insn->target);
		n += put_place(l, text + n, TEXT_MAX - n, insn->target);
	}
	text[n++] = '\n';
	return (unsigned int)n;
}

void lines_put(struct lines *l, const struct nt_insn *insn)
{
	struct line *line = &l->cache[insn->pc / 2 % CACHE_SIZE];

	if (line->pc != insn->pc || line->raw != insn->raw || !line->len) {
		line->pc = insn->pc;
		line->raw = insn->raw;
		line->len = format(l, line->text, insn);
	}
	out_bytes(line->text, line->len);
}

void lines_words(struct lines *l, uint64_t pc, uint64_t raw, unsigned int len, char *text,
		 size_t size)
{
	const struct nt_insn insn = { .pc = pc, .raw = raw, .len = (uint8_t)len };

	put_text(l, text, size, &insn);
}

struct lines *lines_new(const struct nt_params *params, const struct symbols *symbols)
{
	struct lines *l = calloc(1, sizeof(*l));

	if (!l)
		die("%s", nt_strerror(NT_ENOMEM));
	l->symbols = symbols;
	open_disassembler(l, params);
	return l;
}

void lines_free(struct lines *l)
{
	if (!l)
		return;
	close_disassembler(l);
	free(l);
}
