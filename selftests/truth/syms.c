// SPDX-License-Identifier: GPL-2.0-only
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "syms.h"
#include "truth.h"

struct sym {
	uint64_t addr;
	char *name;
};

struct syms {
	struct sym *list;
	size_t count, size;
	bool sorted;
};

struct syms *syms_new(void)
{
	return calloc(1, sizeof(struct syms));
}

static void add(struct syms *s, uint64_t addr, const char *name)
{
	if (s->count == s->size) {
		s->size = s->size ? s->size * 2 : 1024;
		s->list = realloc(s->list, s->size * sizeof(*s->list));
	}
	if (!s->list)
		die("out of memory");
	s->list[s->count++] = (struct sym) { addr, strdup(name) };
	s->sorted = false;
}

static int by_addr(const void *a, const void *b)
{
	const struct sym *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Is [offset, offset + count * each) inside the file? */
static bool inside(size_t size, uint64_t offset, uint64_t count, size_t each)
{
	return offset <= size && count <= (size - offset) / each;
}

static void add_table(struct syms *s, const uint8_t *file, size_t size, const Elf64_Shdr *sh,
		      const Elf64_Shdr *str, uint64_t bias)
{
	const Elf64_Sym *sym = (const void *)(file + sh->sh_offset);
	size_t n = sh->sh_size / sizeof(*sym);

	if (!inside(size, sh->sh_offset, n, sizeof(*sym)) || !str->sh_size ||
	    !inside(size, str->sh_offset, str->sh_size, 1) ||
	    file[str->sh_offset + str->sh_size - 1])
		return;
	for (; n--; sym++)
		if (ELF64_ST_TYPE(sym->st_info) == STT_FUNC && sym->st_name < str->sh_size)
			add(s, sym->st_value + bias,
			    (const char *)file + str->sh_offset + sym->st_name);
}

static bool add_tables(struct syms *s, const uint8_t *file, size_t size, uint64_t bias)
{
	const Elf64_Ehdr *eh = (const void *)file;
	const Elf64_Shdr *sh;

	if (size < sizeof(*eh) || memcmp(eh->e_ident, ELFMAG, SELFMAG) ||
	    eh->e_ident[EI_CLASS] != ELFCLASS64)
		return false;
	sh = (const void *)(file + eh->e_shoff);
	if (!inside(size, eh->e_shoff, eh->e_shnum, sizeof(*sh)))
		return false;
	for (unsigned int i = 0; i < eh->e_shnum; i++)
		if ((sh[i].sh_type == SHT_SYMTAB || sh[i].sh_type == SHT_DYNSYM) &&
		    sh[i].sh_link < eh->e_shnum)
			add_table(s, file, size, &sh[i], &sh[sh[i].sh_link], bias);
	return true;
}

void syms_add_elf(struct syms *s, const char *spec)
{
	char *path = strdup(spec), *at = strrchr(path, '@');
	uint64_t bias = 0;
	struct stat st;
	uint8_t *file;
	int fd;

	if (at) {
		*at = 0;
		bias = strtoull(at + 1, NULL, 0);
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || !st.st_size)
		die("%s: cannot be opened", path);
	file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (file == MAP_FAILED || !add_tables(s, file, (size_t)st.st_size, bias))
		die("%s: not a 64-bit ELF file", path);
	munmap(file, (size_t)st.st_size);
	free(path);
}

void syms_add_list(struct syms *s, const char *path)
{
	FILE *f = fopen(path, "r");
	unsigned long long addr;
	char type, name[256], line[512];

	if (!f)
		die("%s: cannot be opened", path);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%llx %c %255s", &addr, &type, name) == 3)
			add(s, addr, name);
	fclose(f);
}

const char *syms_name(struct syms *s, uint64_t addr, char *buf, size_t size)
{
	size_t lo = 0, hi = s->count;

	buf[0] = 0;
	if (!s->sorted && s->count)
		qsort(s->list, s->count, sizeof(*s->list), by_addr);
	s->sorted = true;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (s->list[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* an address far beyond the last function does not belong to it */
	if (lo && addr - s->list[lo - 1].addr < 0x100000)
		snprintf(buf, size, "%s+0x%llx", s->list[lo - 1].name,
			 (unsigned long long)(addr - s->list[lo - 1].addr));
	return buf;
}
