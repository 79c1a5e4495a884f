// SPDX-License-Identifier: GPL-2.0-only
/*
 * Symbols as an ELF file for GDB's symbol-file. All symbols are in one section of code, which has
 * no contents: GDB reads code from the server.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "serve.h"

#define NAMES		"\0.text\0.symtab\0.strtab\0.shstrtab"
#define NAME_TEXT	1
#define NAME_SYMTAB	7
#define NAME_STRTAB	15
#define NAME_SHSTRTAB	23

enum { SECTION_TEXT = 1, SECTION_SYMTAB, SECTION_STRTAB, SECTION_SHSTRTAB };

struct file {
	const char *path;
	int fd;
	Elf *elf;
};

static _Noreturn void die_elf(const struct file *f)
{
	die("%s: %s", f->path, elf_errmsg(-1));
}

/* The contents must stay valid until the file is written; NULL: none */
static Elf_Data *add_section(const struct file *f, GElf_Shdr header, void *contents,
			     Elf_Type type)
{
	Elf_Scn *scn = elf_newscn(f->elf);
	Elf_Data *data = scn ? elf_newdata(scn) : NULL;

	if (!data)
		die_elf(f);
	data->d_buf = contents;
	data->d_size = header.sh_size;
	data->d_type = type;
	data->d_align = header.sh_addralign;
	data->d_version = EV_CURRENT;
	if (!gelf_update_shdr(scn, &header))
		die_elf(f);
	return data;
}

static void add_header(const struct file *f, unsigned int xlen)
{
	GElf_Ehdr eh;

	if (!gelf_newehdr(f->elf, xlen == 32 ? ELFCLASS32 : ELFCLASS64) ||
	    !gelf_getehdr(f->elf, &eh))
		die_elf(f);
	eh.e_ident[EI_DATA] = ELFDATA2LSB;
	eh.e_type = ET_EXEC;
	eh.e_machine = EM_RISCV;
	eh.e_version = EV_CURRENT;
	eh.e_shstrndx = SECTION_SHSTRTAB;
	if (!gelf_update_ehdr(f->elf, &eh))
		die_elf(f);
}

/* Symbol i ends where the next one begins. */
static uint64_t end_of(const struct symbols *symbols, size_t i, uint64_t start)
{
	uint64_t end = start + 2;

	if (i + 1 < symbols_number(symbols))
		symbols_get(symbols, i + 1, &end);
	return end;
}

/* Fill the symbol table, and add the names to *strings. */
static void add_symbols(const struct file *f, const struct symbols *symbols, unsigned int xlen,
			void *table, struct serve_text *strings)
{
	size_t n = symbols_number(symbols),
	       each = xlen == 32 ? sizeof(Elf32_Sym) : sizeof(Elf64_Sym);
	Elf_Data *data;
	uint64_t start;
	size_t i;

	data = add_section(f, (GElf_Shdr){ .sh_name = NAME_SYMTAB, .sh_type = SHT_SYMTAB,
					   .sh_size = (n + 1) * each, .sh_link = SECTION_STRTAB,
					   .sh_info = 1, .sh_addralign = 8, .sh_entsize = each },
			   table, ELF_T_SYM);
	serve_text_bytes(strings, "", 1);
	for (i = 0; i < n; i++) {
		const char *name = symbols_get(symbols, i, &start);
		GElf_Sym sym = {
			.st_name = (GElf_Word)strings->len,
			.st_info = GELF_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_shndx = SECTION_TEXT,
			.st_value = start,
			.st_size = end_of(symbols, i, start) - start,
		};

		serve_text_bytes(strings, name, strlen(name) + 1);
		if (!gelf_update_sym(data, (int)i + 1, &sym))
			die_elf(f);
	}
}

static void put_sections(const struct file *f, const struct symbols *symbols, unsigned int xlen)
{
	const size_t last = symbols_number(symbols) - 1;
	struct serve_text strings = { 0 };
	uint64_t begin, end;
	void *table = calloc(last + 2, sizeof(Elf64_Sym));

	if (!table)
		die("%s", nt_strerror(NT_ENOMEM));
	symbols_get(symbols, 0, &begin);
	symbols_get(symbols, last, &end);
	end = end_of(symbols, last, end);
	add_header(f, xlen);
	add_section(f, (GElf_Shdr){ .sh_name = NAME_TEXT, .sh_type = SHT_NOBITS,
				    .sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_addr = begin,
				    .sh_size = end - begin, .sh_addralign = 2 }, NULL, ELF_T_BYTE);
	add_symbols(f, symbols, xlen, table, &strings);
	add_section(f, (GElf_Shdr){ .sh_name = NAME_STRTAB, .sh_type = SHT_STRTAB,
				    .sh_size = strings.len, .sh_addralign = 1 },
		    strings.s, ELF_T_BYTE);
	add_section(f, (GElf_Shdr){ .sh_name = NAME_SHSTRTAB, .sh_type = SHT_STRTAB,
				    .sh_size = sizeof(NAMES), .sh_addralign = 1 },
		    (char []){ NAMES }, ELF_T_BYTE);
	if (elf_update(f->elf, ELF_C_WRITE) < 0)
		die_elf(f);
	free(table);
	free(strings.s);
}

void serve_symbols_write(const struct symbols *symbols, const char *path, unsigned int xlen)
{
	struct file f = { .path = path };

	f.fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (f.fd < 0)
		die("%s: %s", path, strerror(errno));
	elf_version(EV_CURRENT);
	f.elf = elf_begin(f.fd, ELF_C_WRITE, NULL);
	if (!f.elf)
		die_elf(&f);
	put_sections(&f, symbols, xlen);
	elf_end(f.elf);
	if (close(f.fd))
		die("%s: %s", path, strerror(errno));
}
