// SPDX-License-Identifier: GPL-2.0-only
/*
 * Does the library see in instructions what objdump sees?
 *
 *	isacmp make SEED FILE		encodings to look at
 *	isacmp compare ISA FILE		against `objdump -dz -M no-aliases,numeric`
 *					of it at BASE, from stdin
 *
 * Every 16-bit encoding, every beginning of a longer one than 32 bits, and 32-bit
 * ones: all offsets of branches and jumps, all registers of JALR, all of SYSTEM
 * that could be a trap return, and random ones of every major opcode.
 * Both of the library's ways to read instructions are compared: nt_code_'s and
 * the encoder's own.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ntrace.h"

#define BASE	0x40000000ull
#define JVT	0x10000000ull
#define NOP_16	0x0001
#define RANDOM	1600000

static uint8_t *bytes;
static size_t size;

/* ------------------------------------------------------------ encodings - */

static uint64_t state;

static uint32_t rnd(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 16);
}

static void put(FILE *f, uint32_t value, unsigned int len)
{
	for (; len; len--, value >>= 8)
		fputc(value & 0xff, f);
}

/* Behind each a NOP, so that what is not known to be short does not swallow the next */
static void put_short_and_long(FILE *f)
{
	unsigned int half, i;

	for (half = 0; half < 0x10000; half++) {
		if ((half & 3) == 3 && (half & 0x1f) != 0x1f)
			continue;
		put(f, half, 2);
		for (i = 0; i < ((half & 3) == 3 ? 13 : 1); i++)
			put(f, NOP_16, 2);
	}
}

static void put_branches(FILE *f)
{
	uint32_t imm, x;

	/* JAL: all offsets; branches: all offsets and kinds; JALR: all registers and kinds */
	for (imm = 0; imm < 1 << 20; imm++)
		put(f, imm << 12 | (rnd() & 7 ? rnd() % 6 : rnd() & 31) << 7 | 0x6f, 4);
	for (imm = 0; imm < 1 << 15; imm++)
		for (x = 0; x < 6; x++)
			put(f, (imm & 0xfe0) << 20 | (rnd() & 0x3ff) << 15 | imm >> 12 << 12 |
			    (imm & 31) << 7 | 0x63, 4);
	for (imm = 0; imm < 1 << 13; imm++)
		for (x = 0; x < 16; x++)
			put(f, (x ? rnd() : 0) << 20 | imm >> 5 << 12 | (imm & 31) << 7 | 0x67, 4);
}

static void put_system(FILE *f)
{
	uint32_t imm, x;

	for (imm = 0; imm < 1 << 12; imm++)
		for (x = 0; x < 16; x++)
			put(f, imm << 20 | (x & 1 ? rnd() & 31 : 0) << 15 |
			    (x & 4 ? rnd() & 7 : 0) << 12 | (x & 2 ? rnd() & 31 : 0) << 7 | 0x73,
			    4);
}

static int make(const char *seed, const char *path)
{
	FILE *f = fopen(path, "wb");
	unsigned int n, opcode;

	state = strtoull(seed, NULL, 0) | 1;
	if (!f)
		return perror(path), 2;
	put_short_and_long(f);
	put_branches(f);
	put_system(f);
	for (n = 0; n < RANDOM; n++) {
		opcode = rnd() & 31;
		if ((opcode & 7) == 7)
			opcode = 0x0b >> 2 | (opcode & 0x18);	/* custom, once more */
		put(f, (rnd() & ~0x7fu) | opcode << 2 | 3, 4);
	}
	return fclose(f) ? 2 : 0;
}

/* ----------------------------------------------------- what objdump says - */

struct said {
	const char *name, *operands;
	uint64_t pc, target;
	unsigned int len, type;
	unsigned int upper;	/* register that LUI or AUIPC write */
	bool direct, known, traps;
};

static unsigned int number(const char *s)
{
	return (unsigned int)strtoul(s + strcspn(s, "0123456789"), NULL, 10);
}

static unsigned int link_type(unsigned int rd, unsigned int link, unsigned int none,
			      unsigned int other)
{
	if (rd == 1 || rd == 5)
		return link;
	return rd ? other : none;
}

/* The specification's table of JALR */
static unsigned int indirect_type(unsigned int rd, unsigned int rs)
{
	bool to_link = rs == 1 || rs == 5;

	if (rd == 1 || rd == 5)
		return to_link && rd != rs ? NT_TYPE_SWAP : NT_TYPE_ICALL;
	if (to_link)
		return NT_TYPE_RET;
	return rd ? NT_TYPE_IJUMP_LINK : NT_TYPE_IJUMP;
}

/* The target is the last operand, before the symbol. */
static void direct(struct said *s, unsigned int type, const char *operands)
{
	const char *last = strrchr(operands, ',');

	s->type = type;
	s->direct = true;
	s->target = strtoull(last ? last + 1 : operands, NULL, 16);
}

static uint64_t table_entry(unsigned int index)
{
	return 0x20000000 + index * 6;
}

static void table_jump(struct said *s, unsigned int type, const char *operands)
{
	s->type = type;
	s->direct = true;
	s->target = table_entry(number(operands));
}

static void jalr(struct said *s, const char *operands)
{
	const char *base = strchr(operands, '(');

	s->type = indirect_type(number(operands), number(base ? base : operands + 4));
}

static bool one_of(const char *name, const char *names)
{
	const char *at = strstr(names, name);
	size_t len = strlen(name);

	return at && (at == names || at[-1] == ' ') && (at[len] == ' ' || !at[len]);
}

static void classify(struct said *s, const char *name, const char *operands)
{
	s->known = name[0] != '.';
	if (one_of(name, "beq bne blt bge bltu bgeu c.beqz c.bnez"))
		direct(s, NT_TYPE_COND, operands);
	else if (one_of(name, "c.j"))
		direct(s, NT_TYPE_JUMP, operands);
	else if (one_of(name, "c.jal"))
		direct(s, NT_TYPE_CALL, operands);
	else if (one_of(name, "jal"))
		direct(s, link_type(number(operands), NT_TYPE_CALL, NT_TYPE_JUMP,
				    NT_TYPE_JUMP_LINK), operands);
	else if (one_of(name, "jalr"))
		jalr(s, operands);
	else if (one_of(name, "c.jr"))
		s->type = indirect_type(0, number(operands));
	else if (one_of(name, "c.jalr"))
		s->type = indirect_type(1, number(operands));
	else if (one_of(name, "cm.popret cm.popretz"))
		s->type = NT_TYPE_RET;
	else if (one_of(name, "cm.jt"))
		table_jump(s, NT_TYPE_JUMP, operands);
	else if (one_of(name, "cm.jalt"))
		table_jump(s, NT_TYPE_CALL, operands);
	else if (one_of(name, "sret mret mnret dret"))
		s->type = NT_TYPE_ERET;
	else if (one_of(name, "ecall ebreak c.ebreak c.unimp"))
		s->traps = true;
	else if (one_of(name, "lui auipc c.lui"))
		s->upper = number(operands);
}

/*
 * ADDRESS: HEX MNEMONIC OPERANDS; false for any other line, among them those with
 * the rest of HEX of an instruction longer than 8 bytes
 */
static bool parse(char *line, struct said *s)
{
	char *hex, *name, *operands, *end;

	memset(s, 0, sizeof(*s));
	s->pc = strtoull(line, &end, 16);
	if (end == line || *end != ':')
		return false;
	for (hex = end + 1; *hex == '\t' || *hex == ' '; hex++)
		;
	name = strchr(hex, '\t');
	if (!name)
		return false;
	for (end = hex; end < name; end++)
		s->len += *end != ' ';
	s->len /= 2;
	line[strcspn(line, "\n")] = '\0';
	name++;
	operands = name + strcspn(name, "\t");
	if (*operands)
		*operands++ = '\0';
	if (!strcmp(name, ".insn"))
		s->len = number(operands);
	s->name = name;
	s->operands = operands;
	classify(s, name, operands);
	return *name;
}

/* ------------------------------------------------------------ comparison - */

/*
 * Where objdump and the library depart from each other, and why the library
 * does. All other departures are errors.
 */
static bool excepted(const struct said *s, const struct nt_insn *i, const struct nt_params *p)
{
	/* Reserved for good: whatever is there, it is not a C.JR, and no hart retires it. */
	if (i->raw == 0x8002 && i->len == 2)
		return !s->known && (i->flags & NT_INSN_TRAPS);
	/*
	 * A first half-word of all ones is no length at all; objdump shows it as 2 or more bytes.
	 */
	if ((i->raw & 0x707f) == 0x707f && i->len == 2)
		return !s->known && (i->flags & NT_INSN_TRAPS);
	/* Smrnmi's, which is none of these ISA strings; the bits mean nothing else. */
	if (i->raw == 0x70200073)
		return !s->known && i->type == NT_TYPE_ERET;
	/*
	 * Register lists 0 to 3 of CM.POPRET and CM.POPRETZ are reserved; objdump shows them as
	 * {ra}.
	 */
	if ((i->raw & 0xfd03) == 0xbc02 && i->len == 2 && (i->raw >> 4 & 15) < 4)
		return s->type == NT_TYPE_RET && i->type == NT_TYPE_NONE;
	/* Without C a half-word is nothing; the library reads it all the same, see NT_ISA_C */
	return s->len == 2 && !(p->isa & NT_ISA_C);
}

static int read_code(void *ctx, uint64_t space, uint64_t addr, void *buf, size_t len)
{
	const struct nt_params *p = ctx;
	size_t width = p->xlen / 8, i;

	(void)space;
	if (addr - BASE < size) {
		len = len < size - (addr - BASE) ? len : size - (addr - BASE);
		memcpy(buf, bytes + (addr - BASE), len);
		return len;
	}
	if (addr - JVT >= 256 * width)
		return 0;
	for (i = 0; i < len; i++)
		((uint8_t *)buf)[i] =
			(uint8_t)(table_entry((unsigned int)((addr - JVT + i) / width)) >>
				  8 * ((addr + i) % width));
	return len;
}

static bool agrees(const struct said *s, const struct nt_insn *i)
{
	unsigned int type = i->flags & NT_INSN_TRAPS ? NT_TYPE_NONE : i->type;

	return i->len == s->len && type == s->type && !(i->flags & NT_INSN_TRAPS) == !s->traps &&
	       !(i->flags & NT_INSN_DIRECT) == !s->direct &&
	       (!s->direct || i->target == s->target) &&
	       /* what has a name is not custom */
	       (!s->known || !(i->flags & NT_INSN_CUSTOM));
}

/* The encoder is not told of what does not retire, and needs no jump table. */
static bool encoder_agrees(const struct said *s, const struct nt_insn *i, const struct nt_params *p)
{
	bool table = (i->raw & 0xfc03) == 0xa002 && i->len == 2;
	struct nt_enc_op op;

	if (s->len > 4)
		return true;
	nt_enc_classify(p, s->pc, (uint32_t)i->raw, s->len, &op);
	return op.type == s->type && op.upper == s->upper &&
	       (!s->direct || table || op.target == s->target);
}

static void show(const struct said *s, const struct nt_insn *i, bool dec)
{
	printf("# %" PRIx64 ": %" PRIx64 ": objdump says %s %s: type %s, %u bytes, target %" PRIx64
	       "; ", s->pc, i->raw, s->name, s->operands, nt_type_name(s->type), s->len, s->target);
	if (dec)
		printf("the encoder disagrees\n");
	else
		printf("the decoder: type %s, %u bytes, flags %x, target %" PRIx64 "\n",
		       nt_type_name(i->type), i->len, i->flags, i->target);
}

static bool load(const char *path)
{
	FILE *f = fopen(path, "rb");
	long len;

	if (!f || fseek(f, 0, SEEK_END) || (len = ftell(f)) < 0)
		return false;
	rewind(f);
	size = len;
	bytes = malloc(size + 1);
	len = bytes && fread(bytes, 1, size, f) == size;
	fclose(f);
	return len;
}

static int compare(const char *isa, const char *path)
{
	unsigned long count[2] = { 0 }, transfers = 0, exceptions = 0, wrong = 0;
	struct nt_params p;
	struct nt_code *code;
	uint64_t next = BASE;
	char line[512];

	nt_params_init(&p);
	if (nt_isa_parse(isa, &p) || !load(path))
		return fprintf(stderr, "isacmp: cannot use %s, %s\n", isa, path), 2;
	p.jvt = JVT;
	code = nt_code_new(&p, read_code, &p);
	while (fgets(line, sizeof(line), stdin)) {
		struct nt_insn i = { 0 };
		struct said s;
		bool dec, enc;

		if (!parse(line, &s))
			continue;
		wrong += s.pc != next;
		next = s.pc + s.len;
		nt_code_insn(code, s.pc, &i);
		count[s.len > 2]++;
		transfers += s.type != NT_TYPE_NONE;
		dec = agrees(&s, &i);
		enc = encoder_agrees(&s, &i, &p);
		if (dec && enc)
			continue;
		if (excepted(&s, &i, &p)) {
			exceptions++;
			continue;
		}
		if (wrong++ < 5)
			show(&s, &i, dec);
	}
	printf("%s: %lu 16-bit, %lu longer, %lu transfers, %lu exceptions, %lu wrong\n", isa,
	       count[0], count[1], transfers, exceptions, wrong);
	/* all of it was looked at */
	return wrong || next != BASE + size || !transfers;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "make"))
		return make(argv[2], argv[3]);
	if (argc == 4 && !strcmp(argv[1], "compare"))
		return compare(argv[2], argv[3]);
	fprintf(stderr, "usage: isacmp make SEED FILE | isacmp compare ISA FILE\n");
	return 2;
}
