// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program by hand, for tests of who calls whom: callprog <TEXT >ELF. Lines of TEXT:
 *	ADDR NAME	a function begins there; it ends where the next does
 *	nop, ret, mret, ecall
 *	call ADDR, jump ADDR	direct ones
 *	ijump		an indirect jump, not by a link register
 *	skip		a conditional branch over the next instruction
 * Each instruction has four bytes. Addresses are hexadecimal.
 */
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS	64
#define SIZE		0x10000		/* of code */

static uint64_t base, here;
static uint32_t code[SIZE / 4];
static Elf64_Sym symbols[FUNCTIONS + 1];
static char strings[4096] = "\0.text\0.symtab\0.strtab";
static size_t nr_symbols = 1, strings_len = sizeof("\0.text\0.symtab\0.strtab");

static void fail(const char *what)
{
	fprintf(stderr, "callprog: %s\n", what);
	exit(2);
}

static void end_function(void)
{
	if (nr_symbols > 1)
		symbols[nr_symbols - 1].st_size = here - symbols[nr_symbols - 1].st_value;
}

static void function(uint64_t addr, const char *name)
{
	end_function();
	if (nr_symbols == 1)
		base = addr & ~0xfffull;
	if (nr_symbols > FUNCTIONS || addr - base >= SIZE || addr < here ||
	    strings_len + strlen(name) >= sizeof(strings))
		fail(name);
	here = addr;
	symbols[nr_symbols++] = (Elf64_Sym){
		.st_name = strings_len, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		.st_shndx = 1, .st_value = addr,
	};
	strcpy(strings + strings_len, name);
	strings_len += strlen(name) + 1;
}

static uint32_t jal(unsigned int rd, uint64_t to)
{
	uint32_t o = to - here;

	return (o >> 20 & 1) << 31 | (o >> 1 & 0x3ff) << 21 | (o >> 11 & 1) << 20 |
	       (o >> 12 & 0xff) << 12 | rd << 7 | 0x6f;
}

static uint32_t encode(const char *op, uint64_t to)
{
	static const struct {
		const char *name;
		uint32_t bits;
	} plain[] = {
		{ "nop", 0x00000013 }, { "ret", 0x00008067 }, { "mret", 0x30200073 },
		{ "ecall", 0x00000073 }, { "ijump", 0x00078067 }, { "skip", 0x00000463 },
	};
	size_t i;

	for (i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (!strcmp(plain[i].name, op))
			return plain[i].bits;
	if (strcmp(op, "call") && strcmp(op, "jump"))
		fail(op);
	return jal(!strcmp(op, "call"), to);
}

static void read_text(void)
{
	char line[128], first[64], second[64];
	int n;

	while (fgets(line, sizeof(line), stdin)) {
		n = sscanf(line, "%63s %63s", first, second);
		if (n < 1 || *first == '#')
			continue;
		if (strspn(first, "0123456789abcdef") == strlen(first)) {
			function(strtoull(first, NULL, 16), n > 1 ? second : "");
			continue;
		}
		code[(here - base) / 4] = encode(first, n > 1 ? strtoull(second, NULL, 16) : 0);
		here += 4;
	}
	end_function();
}

int main(void)
{
	Elf64_Ehdr eh = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_EXEC, .e_machine = EM_RISCV, .e_version = EV_CURRENT,
		.e_phoff = sizeof(eh), .e_ehsize = sizeof(eh), .e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1, .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 4, .e_shstrndx = 3,
	};
	Elf64_Phdr ph = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = 0x1000 };
	Elf64_Shdr sh[4] = {
		{ 0 },
		{ .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR },
		{ .sh_name = 7, .sh_type = SHT_SYMTAB, .sh_link = 3, .sh_info = 1,
		  .sh_entsize = sizeof(Elf64_Sym) },
		{ .sh_name = 15, .sh_type = SHT_STRTAB },
	};

	read_text();
	ph.p_vaddr = ph.p_paddr = sh[1].sh_addr = eh.e_entry = base;
	ph.p_filesz = ph.p_memsz = sh[1].sh_size = here - base;
	sh[1].sh_offset = ph.p_offset;
	sh[2].sh_offset = sh[1].sh_offset + sizeof(code);
	sh[2].sh_size = nr_symbols * sizeof(symbols[0]);
	sh[3].sh_offset = sh[2].sh_offset + sizeof(symbols);
	sh[3].sh_size = sizeof(strings);
	eh.e_shoff = sh[3].sh_offset + sizeof(strings);
	fwrite(&eh, sizeof(eh), 1, stdout);
	fwrite(&ph, sizeof(ph), 1, stdout);
	for (size_t i = sizeof(eh) + sizeof(ph); i < 0x1000; i++)
		putchar(0);
	fwrite(code, sizeof(code), 1, stdout);
	fwrite(symbols, sizeof(symbols), 1, stdout);
	fwrite(strings, sizeof(strings), 1, stdout);
	fwrite(sh, sizeof(sh), 1, stdout);
	return ferror(stdout) ? 2 : 0;
}
