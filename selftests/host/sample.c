// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs that tests decode traces of, made without a compiler for RISC-V:
 *
 *	sample towers|mix|rv32 DIRECTORY
 *
 * writes DIRECTORY/NAME.elf and DIRECTORY/pc.txt, the addresses of the instructions that retire,
 * found by executing the program here; DIRECTORY/state.tv, all that they change, as a
 * tandem-verification trace; and DIRECTORY/states.txt, of some positions the number, what x1 to x31
 * have, `-' what was not written yet, and the last store: address and value. `towers` is recursion
 * with indirect calls; `mix` has branches by chance, a jump table and loops, too; `rv32` is
 * `towers` and `mix`, smaller, for 32 bits. The Makefile has them encoded.
 */
#include <elf.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INSNS_MAX	512
#define LABELS_MAX	64
#define TEXT_SIZE	0x2000u		/* two pages: see page() */
#define TEXT_OFFSET	0x1000u
#define STACK_SIZE	0x10000u
#define RETIRED_MAX	1000000u

enum op {
	ADDI, ADD, SUB, XOR, AND, SLLI, SRLI, LUI, AUIPC, LOAD, STORE, BEQ, BNE, BLT, BGE, JAL,
	JALR, CSRS, C_LI, C_NOP, C_RET, C_BNEZ,
};

enum reg { X0, RA, SP, T0 = 5, T1, T2, S0, S1, A0, A1, A2, A3, A4, A5, S2 = 18, S3 };

struct insn {
	uint64_t at;
	enum op op;
	unsigned int rd, rs1, rs2, len;
	int64_t imm;
	int label;		/* imm is the way there; AUIPC and the ADDI behind: of AUIPC */
};

struct symbol {
	const char *name;
	uint64_t at, size;
};

static struct insn insns[INSNS_MAX];
static unsigned int nr_insns, nr_symbols;
static struct symbol symbols[16];
static uint64_t labels[LABELS_MAX], base, here;
static unsigned int xlen;
static uint8_t text[TEXT_SIZE];

static void fail(const char *what)
{
	fprintf(stderr, "sample: %s\n", what);
	exit(2);
}

/* ------------------------------------------------------------ assembler -- */

static struct insn *put(enum op op, unsigned int rd, unsigned int rs1, unsigned int rs2,
			int64_t imm)
{
	struct insn *i = &insns[nr_insns++];

	if (nr_insns == INSNS_MAX)
		fail("too many instructions");
	*i = (struct insn){ .at = here, .op = op, .rd = rd, .rs1 = rs1, .rs2 = rs2, .imm = imm,
			    .len = op >= C_LI ? 2 : 4, .label = -1 };
	here += i->len;
	return i;
}

static void to(struct insn *i, int label)
{
	i->label = label;
}

static void label(int n)
{
	labels[n] = here;
}

/* Where a function ends */
static void end(void)
{
	symbols[nr_symbols - 1].size = here - symbols[nr_symbols - 1].at;
}

static void function(const char *name, int n)
{
	symbols[nr_symbols++] = (struct symbol){ .name = name, .at = here };
	label(n);
}

static void li(unsigned int rd, int64_t imm)	{ put(ADDI, rd, X0, 0, imm); }
static void mv(unsigned int rd, unsigned int rs) { put(ADDI, rd, rs, 0, 0); }
static void call(int label)			{ to(put(JAL, RA, 0, 0, 0), label); }
static void jump(int label)			{ to(put(JAL, X0, 0, 0, 0), label); }

static void branch(enum op op, unsigned int rs1, unsigned int rs2, int label)
{
	to(put(op, 0, rs1, rs2, 0), label);
}

static void la(unsigned int rd, int label)
{
	to(put(AUIPC, rd, 0, 0, 0), label);
	to(put(ADDI, rd, rd, 0, 0), label);
}

static void push(unsigned int reg, unsigned int slot)	{ put(STORE, 0, SP, reg, slot * xlen / 8); }
static void pop(unsigned int reg, unsigned int slot)	{ put(LOAD, reg, SP, 0, slot * xlen / 8); }

/* --------------------------------------------------------------- programs -- */

enum { START, AGAIN, END, TOWERS, BODY, MOVE, MIX, TURN, ODD, LEAF, LOOP, CASE, JOIN = CASE + 4 };

/* towers(a0 discs, a1 from, a2 to, a3 by): a move is called by its address, in s2 */
static void towers(void)
{
	function("towers", TOWERS);
	branch(BNE, A0, X0, BODY);
	put(C_RET, 0, 0, 0, 0);
	label(BODY);
	put(ADDI, SP, SP, 0, -48);
	push(RA, 0);
	push(A0, 1);
	push(A1, 2);
	push(A2, 3);
	push(A3, 4);
	put(ADDI, A0, A0, 0, -1);
	mv(T1, A2);
	mv(A2, A3);
	mv(A3, T1);
	call(TOWERS);
	pop(A1, 2);
	pop(A2, 3);
	put(JALR, RA, S2, 0, 0);
	pop(A0, 1);
	pop(A3, 2);
	pop(A1, 4);
	put(ADDI, A0, A0, 0, -1);
	call(TOWERS);
	pop(RA, 0);
	put(ADDI, SP, SP, 0, 48);
	put(C_RET, 0, 0, 0, 0);
	end();
}

static void move(void)
{
	function("move", MOVE);
	put(ADDI, S3, S3, 0, 1);
	put(XOR, A4, A1, A2, 0);
	put(C_RET, 0, 0, 0, 0);
	end();
}

/* A loop that turns as often as a2 says */
static void leaf(void)
{
	function("fill", LEAF);
	put(ADDI, T1, A0, 0, 0);
	label(LOOP);
	put(STORE, 0, T1, A1, 0);
	put(ADDI, T1, T1, 0, 4);
	put(ADDI, A2, A2, 0, -1);
	to(put(C_BNEZ, 0, A2, 0, 0), LOOP);
	put(C_RET, 0, 0, 0, 0);
	end();
}

/* Forty turns: a branch by chance, one of four cases, and now and then a call */
static void mix(void)
{
	int i;

	function("mix", MIX);
	put(ADDI, SP, SP, 0, -16);
	push(RA, 0);
	li(A5, 40);
	label(TURN);
	/* xorshift */
	put(SLLI, T1, S0, 0, 13);
	put(XOR, S0, S0, T1, 0);
	put(SRLI, T1, S0, 0, 7);
	put(XOR, S0, S0, T1, 0);
	put(SLLI, T1, S0, 0, 17);
	put(XOR, S0, S0, T1, 0);
	li(T2, 1);
	put(AND, T1, S0, T2, 0);
	branch(BEQ, T1, X0, ODD);
	put(ADDI, S3, S3, 0, 3);
	label(ODD);
	put(SRLI, T1, S0, 0, 4);
	li(T2, 3);
	put(AND, T1, T1, T2, 0);
	put(SLLI, T1, T1, 0, 4);
	la(T2, CASE);
	put(ADD, T1, T1, T2, 0);
	put(JALR, X0, T1, 0, 0);
	for (i = 0; i < 4; i++) {
		label(CASE + i);
		put(ADDI, S3, S3, 0, i);
		put(SUB, A4, S3, T1, 0);
		put(XOR, A4, A4, S0, 0);
		jump(JOIN);
	}
	label(JOIN);
	li(T2, 12);
	branch(BGE, T2, A5, JOIN + 1);
	put(C_NOP, 0, 0, 0, 0);
	label(JOIN + 1);
	put(ADDI, A5, A5, 0, -1);
	branch(BLT, X0, A5, TURN);
	put(ADDI, A0, SP, 0, -2000);
	li(A1, 7);
	li(A2, 300);
	call(LEAF);
	pop(RA, 0);
	put(ADDI, SP, SP, 0, 16);
	put(C_RET, 0, 0, 0, 0);
	end();
}

static void assemble(unsigned int discs, unsigned int rounds, unsigned int mixes)
{
	unsigned int i;

	here = base;
	function("_start", START);
	put(C_LI, RA, 0, 0, 0);
	put(C_LI, S3, 0, 0, 0);
	put(CSRS, X0, T0, 0, 0x300);
	put(LUI, SP, 0, 0, 0x20000);
	put(LUI, S0, 0, 0, 0x12345);
	put(ADDI, S0, S0, 0, 0x678);
	la(S2, MOVE);
	li(S1, rounds);
	label(AGAIN);
	li(A0, discs);
	li(A1, 0);
	li(A2, 1);
	li(A3, 2);
	call(TOWERS);
	for (i = 0; i < mixes; i++)
		call(MIX);
	put(ADDI, S1, S1, 0, -1);
	branch(BNE, S1, X0, AGAIN);
	label(END);
	jump(END);
	end();
	towers();
	mix();
	/* two pages, so that the program can be given as two files */
	here = base + 0x1000;
	move();
	leaf();
}

/* --------------------------------------------------------------- encoding -- */

/* Resolve the labels: imm is what the instruction adds */
static void resolve(void)
{
	unsigned int n;

	for (n = 0; n < nr_insns; n++) {
		struct insn *i = &insns[n];
		int64_t way;

		if (i->label < 0)
			continue;
		way = (int64_t)(labels[i->label] - (i->op == ADDI ? i[-1].at : i->at));
		if (i->op == AUIPC)
			way = (way + 0x800) & ~0xfffll;
		else if (i->op == ADDI)
			way -= (way + 0x800) & ~0xfffll;
		i->imm = way;
	}
}

static uint32_t bits(int64_t value, unsigned int from, unsigned int count, unsigned int at)
{
	return ((uint64_t)value >> from & ((1u << count) - 1)) << at;
}

static uint32_t type_i(uint32_t op, const struct insn *i, int64_t imm)
{
	return op | i->rd << 7 | i->rs1 << 15 | bits(imm, 0, 12, 20);
}

static uint32_t type_r(uint32_t op, const struct insn *i)
{
	return op | i->rd << 7 | i->rs1 << 15 | i->rs2 << 20;
}

static uint32_t type_b(uint32_t funct, const struct insn *i)
{
	return 0x63 | funct << 12 | i->rs1 << 15 | i->rs2 << 20 | bits(i->imm, 12, 1, 31) |
	       bits(i->imm, 5, 6, 25) | bits(i->imm, 1, 4, 8) | bits(i->imm, 11, 1, 7);
}

static uint32_t encode(const struct insn *i)
{
	uint32_t width = xlen == 64 ? 3 : 2;

	switch (i->op) {
	case ADDI: return type_i(0x13, i, i->imm);
	case ADD: return type_r(0x33, i);
	case SUB: return type_r(0x40000033, i);
	case XOR: return type_r(0x4033, i);
	case AND: return type_r(0x7033, i);
	case SLLI: return type_i(0x1013, i, i->imm);
	case SRLI: return type_i(0x5013, i, i->imm);
	case LUI: return 0x37 | i->rd << 7 | bits(i->imm, 0, 20, 12);
	case AUIPC: return 0x17 | i->rd << 7 | bits(i->imm, 12, 20, 12);
	case LOAD: return type_i(0x03 | width << 12, i, i->imm);
	case STORE: return 0x23 | width << 12 | i->rs1 << 15 | i->rs2 << 20 |
			   bits(i->imm, 0, 5, 7) | bits(i->imm, 5, 7, 25);
	case BEQ: return type_b(0, i);
	case BNE: return type_b(1, i);
	case BLT: return type_b(4, i);
	case BGE: return type_b(5, i);
	case JAL: return 0x6f | i->rd << 7 | bits(i->imm, 20, 1, 31) | bits(i->imm, 1, 10, 21) |
			 bits(i->imm, 11, 1, 20) | bits(i->imm, 12, 8, 12);
	case JALR: return type_i(0x67, i, i->imm);
	case CSRS: return type_i(0x2073, i, i->imm);
	case C_LI: return 0x4001 | i->rd << 7 | bits(i->imm, 0, 5, 2);
	case C_NOP: return 0x0001;
	case C_RET: return 0x8082;
	case C_BNEZ: return 0xe001 | (i->rs1 - 8) << 7 | bits(i->imm, 8, 1, 12) |
			    bits(i->imm, 3, 2, 10) | bits(i->imm, 6, 2, 5) | bits(i->imm, 1, 2, 3) |
			    bits(i->imm, 5, 1, 2);
	}
	return 0;
}

/* -------------------------------------------------------------- execution -- */

/* A word for each four bytes: no two accesses overlap in part */
static uint64_t stack[STACK_SIZE / 4];
static uint64_t x[32];

static uint64_t *memory(uint64_t addr)
{
	return &stack[addr % STACK_SIZE / 4];
}

static int64_t narrow(uint64_t value)
{
	return xlen == 64 ? (int64_t)value : (int32_t)value;
}

static uint64_t address(uint64_t value)
{
	return xlen == 64 ? value : (uint32_t)value;
}

/* Execute one; returns where the next one is */
static uint64_t step(const struct insn *i)
{
	uint64_t a = x[i->rs1], b = x[i->rs2], next = i->at + i->len, value = x[i->rd];
	int64_t sa = narrow(a), sb = narrow(b);

	switch (i->op) {
	case ADDI: value = a + i->imm; break;
	case ADD: value = a + b; break;
	case SUB: value = a - b; break;
	case XOR: value = a ^ b; break;
	case AND: value = a & b; break;
	case SLLI: value = a << i->imm; break;
	case SRLI: value = address(a) >> i->imm; break;
	case LUI: value = (uint64_t)i->imm << 12; break;
	case AUIPC: value = i->at + i->imm; break;
	case LOAD: value = *memory(a + i->imm); break;
	case STORE: *memory(a + i->imm) = b; break;
	case BEQ: next = sa == sb ? i->at + i->imm : next; break;
	case BNE: next = sa != sb ? i->at + i->imm : next; break;
	case BLT: next = sa < sb ? i->at + i->imm : next; break;
	case BGE: next = sa >= sb ? i->at + i->imm : next; break;
	case C_BNEZ: next = sa ? i->at + i->imm : next; break;
	case JAL: value = next; next = i->at + i->imm; break;
	case JALR: value = next; next = address(a + i->imm) & ~1ull; break;
	case C_RET: next = address(x[RA]); break;
	case C_LI: value = i->imm; break;
	case CSRS: case C_NOP: break;
	}
	x[i->rd] = i->rd ? (uint64_t)narrow(value) : 0;
	return next;
}

static const struct insn *find(uint64_t pc)
{
	unsigned int n;

	for (n = 0; n < nr_insns; n++)
		if (insns[n].at == pc)
			return &insns[n];
	fail("the program left its code");
	return NULL;
}

/* ---- what it changes, for tests of the state */

static FILE *trace, *states;
static uint32_t written = 1;	/* registers */
static uint64_t stored_at, stored;
static bool has_stored;

static void put_bytes(uint64_t value, unsigned int bytes)
{
	while (bytes--) {
		putc((int)(value & 0xff), trace);
		value >>= 8;
	}
}

static void put_pc(uint64_t pc)
{
	put_bytes(0x0a07, 2);
	put_bytes(pc, xlen / 8);
}

/* A group for an instruction that is about to be executed, but for what it writes */
static void put_insn(const struct insn *i)
{
	unsigned int size = xlen == 64 ? 3 : 2;
	uint64_t bits = 0;

	memcpy(&bits, text + (i->at - base), i->len);
	put_bytes(1, 1);
	put_bytes(i->len == 2 ? 16 : 17, 1);
	put_bytes(bits, i->len);
	if (i->op != LOAD && i->op != STORE)
		return;
	put_bytes(8, 1);
	put_bytes(address(x[i->rs1] + i->imm), xlen / 8);
	put_bytes((i->op == STORE ? 1 : 0) | size << 4, 1);
	if (i->op == STORE) {
		put_bytes(x[i->rs2], xlen / 8);
		stored_at = address(x[i->rs1] + i->imm);
		stored = x[i->rs2];
		has_stored = true;
	} else {
		put_bytes(9 | size << 8, 2);
		put_bytes(*memory(x[i->rs1] + i->imm), xlen / 8);
	}
}

static bool writes(const struct insn *i)
{
	return i->rd && i->op != STORE && (i->op < BEQ || i->op > BGE) && i->op != CSRS &&
	       i->op != C_NOP && i->op != C_RET && i->op != C_BNEZ;
}

static void put_changes(const struct insn *i, uint64_t next)
{
	if (writes(i)) {
		put_bytes(4, 1);
		put_bytes(0x1000 + i->rd, 2);
		put_bytes(x[i->rd], xlen / 8);
		written |= 1u << i->rd;
	}
	put_pc(next);
}

static void put_state(unsigned int n)
{
	fprintf(states, "%u", n);
	for (unsigned int i = 1; i < 32; i++) {
		if (written >> i & 1)
			fprintf(states, " %" PRIx64, address(x[i]));
		else
			fprintf(states, " -");
	}
	if (has_stored)
		fprintf(states, " %" PRIx64 " %" PRIx64, stored_at, address(stored));
	fprintf(states, "\n");
}

static void execute(FILE *list)
{
	uint64_t pc = base, next;
	unsigned int n;

	put_bytes(0x0b01, 2);
	put_pc(pc);
	for (n = 0; n < RETIRED_MAX; n++, pc = next) {
		const struct insn *i = find(pc);

		fprintf(list, "%" PRIx64 "\n", pc);
		if (!(n % 97))
			put_state(n);
		put_insn(i);
		next = step(i);
		put_changes(i, next);
		if (next == pc)
			return;
	}
	fail("the program does not end");
}

/* -------------------------------------------------------------------- ELF -- */

static char strings[256];
static FILE *out;

static void write_all(const void *data, size_t size)
{
	if (fwrite(data, 1, size, out) != size)
		fail("cannot write");
}

/* "A", the vendor, of the whole file: the ISA */
static size_t attributes(uint8_t *to)
{
	const char *arch = xlen == 64 ? "rv64i2p1_c2p0" : "rv32i2p1_c2p0";
	size_t len = strlen(arch) + 1;

	*to++ = 'A';
	memcpy(to, &(uint32_t){ 4 + 6 + 5 + 1 + len }, 4);
	memcpy(to + 4, "riscv", 6);
	to[10] = 1;
	memcpy(to + 11, &(uint32_t){ 5 + 1 + len }, 4);
	to[15] = 5;
	memcpy(to + 16, arch, len);
	return 1 + 16 + len;
}

/* The two classes differ in the order and width of fields alone. */
#define WRITE_ELF(bits)									\
static void write_elf##bits(void)							\
{											\
	Elf##bits##_Ehdr eh = { .e_type = ET_EXEC, .e_machine = EM_RISCV, .e_version = 1,	\
		.e_entry = base, .e_phoff = sizeof(eh), .e_flags = 1 /* RVC */,		\
		.e_ehsize = sizeof(eh), .e_phentsize = sizeof(Elf##bits##_Phdr), .e_phnum = 1,	\
		.e_shentsize = sizeof(Elf##bits##_Shdr), .e_shnum = 6, .e_shstrndx = 4 };	\
	Elf##bits##_Phdr ph = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X,			\
		.p_offset = TEXT_OFFSET, .p_vaddr = base, .p_paddr = base,		\
		.p_filesz = TEXT_SIZE, .p_memsz = TEXT_SIZE, .p_align = 0x1000 };	\
	static const char names[] = "\0.text\0.riscv.attributes\0.symtab\0.strtab\0.shstrtab";	\
	Elf##bits##_Shdr sh[6] = { { 0 } };						\
	Elf##bits##_Sym sym[17] = { { 0 } };						\
	uint8_t attrs[64];								\
	uint64_t at = TEXT_OFFSET + TEXT_SIZE;						\
	size_t len = attributes(attrs), name = 1;					\
	unsigned int n;									\
											\
	memcpy(eh.e_ident, ELFMAG, SELFMAG);						\
	eh.e_ident[EI_CLASS] = ELFCLASS##bits;						\
	eh.e_ident[EI_DATA] = ELFDATA2LSB;						\
	eh.e_ident[EI_VERSION] = EV_CURRENT;						\
	for (n = 0; n < nr_symbols; n++) {						\
		sym[n + 1].st_name = name;						\
		sym[n + 1].st_info = ELF##bits##_ST_INFO(STB_GLOBAL, STT_FUNC);		\
		sym[n + 1].st_shndx = 1;						\
		sym[n + 1].st_value = symbols[n].at;					\
		sym[n + 1].st_size = symbols[n].size;					\
		strcpy(strings + name, symbols[n].name);				\
		name += strlen(symbols[n].name) + 1;					\
	}										\
	sh[1].sh_name = 1;								\
	sh[1].sh_type = SHT_PROGBITS;							\
	sh[1].sh_flags = SHF_ALLOC | SHF_EXECINSTR;					\
	sh[1].sh_addr = base;								\
	sh[1].sh_offset = TEXT_OFFSET;							\
	sh[1].sh_size = TEXT_SIZE;							\
	sh[1].sh_addralign = 4;								\
	sh[2].sh_name = 7;								\
	sh[2].sh_type = 0x70000003; /* SHT_RISCV_ATTRIBUTES */				\
	sh[2].sh_offset = at;								\
	sh[2].sh_size = len;								\
	sh[3].sh_name = 33;								\
	sh[3].sh_type = SHT_STRTAB;							\
	sh[3].sh_offset = at += (len + 7) & ~7ull;					\
	sh[3].sh_size = sizeof(strings);						\
	sh[4].sh_name = 41;								\
	sh[4].sh_type = SHT_STRTAB;							\
	sh[4].sh_offset = at += sizeof(strings);					\
	sh[4].sh_size = sizeof(names);							\
	sh[5].sh_name = 25;								\
	sh[5].sh_type = SHT_SYMTAB;							\
	sh[5].sh_offset = at += (sizeof(names) + 7) & ~7ull;				\
	sh[5].sh_size = (nr_symbols + 1) * sizeof(sym[0]);				\
	sh[5].sh_link = 3;								\
	sh[5].sh_info = 1;								\
	sh[5].sh_entsize = sizeof(sym[0]);						\
	sh[5].sh_addralign = 8;								\
	eh.e_shoff = at + sh[5].sh_size;						\
	write_all(&eh, sizeof(eh));							\
	write_all(&ph, sizeof(ph));							\
	fseek(out, TEXT_OFFSET, SEEK_SET);						\
	write_all(text, TEXT_SIZE);							\
	write_all(attrs, len);								\
	fseek(out, sh[3].sh_offset, SEEK_SET);						\
	write_all(strings, sizeof(strings));						\
	write_all(names, sizeof(names));						\
	fseek(out, sh[5].sh_offset, SEEK_SET);						\
	write_all(sym, sh[5].sh_size);							\
	write_all(sh, sizeof(sh));							\
}

WRITE_ELF(64)
WRITE_ELF(32)

static FILE *create(const char *dir, const char *name, const char *suffix)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s%s", dir, name, suffix);
	f = fopen(path, "wb");
	if (!f)
		fail(path);
	return f;
}

int main(int argc, char **argv)
{
	unsigned int n;
	FILE *list;

	if (argc != 3) {
		fputs("usage: sample towers|mix|rv32 DIRECTORY\n", stderr);
		return 2;
	}
	xlen = strcmp(argv[1], "rv32") ? 64 : 32;
	base = xlen == 64 ? 0x80000000 : 0x40400000;
	if (!strcmp(argv[1], "mix"))
		assemble(6, 27, 3);
	else
		assemble(xlen == 64 ? 10 : 8, 1, xlen == 64 ? 0 : 8);
	resolve();
	for (n = 0; n < nr_insns; n++) {
		uint32_t raw = encode(&insns[n]);

		memcpy(text + (insns[n].at - base), &raw, insns[n].len);
	}
	list = create(argv[2], "pc", ".txt");
	trace = create(argv[2], "state", ".tv");
	states = create(argv[2], "states", ".txt");
	execute(list);
	out = create(argv[2], argv[1], ".elf");
	if (xlen == 64)
		write_elf64();
	else
		write_elf32();
	if (fclose(list) || fclose(out) || fclose(trace) || fclose(states))
		fail("cannot write");
	return 0;
}
