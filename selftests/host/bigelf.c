// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program like a kernel with debug information: bigelf ELF OUT takes a small
 * 64-bit ELF file, and adds a million symbols, thousands of sections and 300 MB
 * of debug information, most of it holes. The small one's code and attributes
 * stay.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SYMBOLS		1000000u
#define SECTIONS	20000u
#define DEBUG		(300ull << 20)
#define TEXT		0x90000000ull	/* where the symbols are: beyond the code */
#define NAME_LEN	32u

static FILE *out;

static void put(const void *data, size_t size)
{
	if (fwrite(data, 1, size, out) != size) {
		perror("bigelf");
		exit(2);
	}
}

static char *read_file(const char *path, size_t *size)
{
	static char buf[1 << 20];
	FILE *f = fopen(path, "rb");

	*size = f ? fread(buf, 1, sizeof(buf), f) : 0;
	if (*size < sizeof(Elf64_Ehdr) || *size == sizeof(buf)) {
		fprintf(stderr, "bigelf: %s: not a small ELF file\n", path);
		exit(2);
	}
	fclose(f);
	return buf;
}

static void put_names(void)
{
	char name[NAME_LEN] = "";
	unsigned int i;

	put(name, 1);
	for (i = 0; i < SYMBOLS; i++) {
		snprintf(name, sizeof(name), "a_function_of_the_kernel_%06u", i);
		put(name, NAME_LEN);
	}
}

static void put_symbols(void)
{
	Elf64_Sym sym = { 0 };
	unsigned int i;

	put(&sym, sizeof(sym));
	for (i = 0; i < SYMBOLS; i++) {
		sym.st_name = 1 + i * NAME_LEN;
		sym.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
		sym.st_shndx = 1;
		/* in no order, as linkers leave them */
		sym.st_value = TEXT + (i * 7919ull % SYMBOLS) * 64;
		sym.st_size = 64;
		put(&sym, sizeof(sym));
	}
}

int main(int argc, char **argv)
{
	Elf64_Shdr sh = { 0 };
	size_t size, old;
	unsigned int i, n;
	Elf64_Ehdr *eh;
	long names, symbols, debug;
	char *elf;

	if (argc != 3) {
		fputs("usage: bigelf ELF OUT\n", stderr);
		return 2;
	}
	elf = read_file(argv[1], &size);
	eh = (Elf64_Ehdr *)elf;
	out = fopen(argv[2], "wb");
	if (!out || eh->e_ident[EI_CLASS] != ELFCLASS64 || eh->e_shoff > size ||
	    eh->e_shnum * sizeof(sh) > size - eh->e_shoff) {
		fputs("bigelf: not a 64-bit ELF file, or no place to write to\n", stderr);
		return 2;
	}
	put(elf, size);
	names = ftell(out);
	put_names();
	fseek(out, 8 - ftell(out) % 8, SEEK_CUR);
	symbols = ftell(out);
	put_symbols();
	debug = ftell(out);
	fseek(out, DEBUG, SEEK_CUR);

	/* the section headers: the old ones, then ours */
	old = eh->e_shoff;
	n = eh->e_shnum;
	eh->e_shoff = ftell(out);
	for (i = 0; i < n; i++) {
		memcpy(&sh, elf + old + i * sizeof(sh), sizeof(sh));
		/* there is one symbol table */
		if (sh.sh_type == SHT_SYMTAB)
			sh.sh_type = SHT_PROGBITS;
		put(&sh, sizeof(sh));
	}
	sh = (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = names,
			   .sh_size = 1 + SYMBOLS * (uint64_t)NAME_LEN };
	put(&sh, sizeof(sh));
	sh = (Elf64_Shdr){ .sh_type = SHT_PROGBITS, .sh_offset = debug };
	for (i = 0; i < SECTIONS; i++) {
		sh.sh_size = DEBUG / SECTIONS;
		put(&sh, sizeof(sh));
		sh.sh_offset += sh.sh_size;
	}
	sh = (Elf64_Shdr){ .sh_type = SHT_SYMTAB, .sh_offset = symbols, .sh_link = n,
			   .sh_size = (SYMBOLS + 1ull) * sizeof(Elf64_Sym),
			   .sh_entsize = sizeof(Elf64_Sym) };
	put(&sh, sizeof(sh));
	eh->e_shnum = n + SECTIONS + 2;
	rewind(out);
	put(eh, sizeof(*eh));
	return fclose(out) ? 2 : 0;
}
