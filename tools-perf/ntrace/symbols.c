// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of addresses, from ELF symbol tables. Only these are read of a file,
 * which may be a kernel with all its debug information.
 */
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"

struct symbol {
	uint64_t start;
	uint64_t size;		/* 0: up to the next */
	const char *name;
	unsigned int rank;	/* of several at one address the highest counts */
};

/* A file that the names are in */
struct source {
	struct source *next;
	int fd;
	Elf *elf;
};

struct symbols {
	struct symbol *list;
	size_t n;
	struct source *sources;
	char **names;		/* that are in none of these */
	size_t nr_names;
};

/* Is it code, and no mark of the assembler's? */
static bool is_code(Elf *elf, const GElf_Sym *sym, const char *name)
{
	unsigned int type = GELF_ST_TYPE(sym->st_info);
	GElf_Shdr sh;
	Elf_Scn *scn;

	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return sym->st_shndx != SHN_UNDEF;
	if (type != STT_NOTYPE || !*name || *name == '$' || !strncmp(name, ".L", 2))
		return false;
	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx >= SHN_LORESERVE)
		return false;
	scn = elf_getscn(elf, sym->st_shndx);
	return scn && gelf_getshdr(scn, &sh) && (sh.sh_flags & SHF_EXECINSTR);
}

static unsigned int rank(const GElf_Sym *sym)
{
	unsigned int type = GELF_ST_TYPE(sym->st_info), bind = GELF_ST_BIND(sym->st_info);

	return 8 * (type != STT_NOTYPE) + 4 * !!sym->st_size + 2 * (bind != STB_WEAK) +
	       (bind == STB_GLOBAL);
}

static void read_table(struct symbols *s, Elf *elf, Elf_Scn *scn, uint64_t bias, uint64_t mask)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	/* the file's own sh_entsize is not to be trusted */
	size_t i, count, size = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
	GElf_Shdr sh;

	if (!data || !gelf_getshdr(scn, &sh) || !size)
		return;
	count = data->d_size / size;
	s->list = reallocarray(s->list, s->n + count, sizeof(*s->list));
	if (!s->list && s->n + count)
		die("%s", nt_strerror(NT_ENOMEM));
	for (i = 0; i < count; i++) {
		const char *name;
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym))
			break;
		name = elf_strptr(elf, sh.sh_link, sym.st_name);
		if (!name || !is_code(elf, &sym, name))
			continue;
		s->list[s->n++] = (struct symbol){
			(sym.st_value + bias) & mask, sym.st_size, name, rank(&sym),
		};
	}
}

static Elf_Scn *find_table(Elf *elf, unsigned int type)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == type)
			return scn;
	return NULL;
}

/* The image has read it before, so what goes wrong now costs names only. */
static void read_elf(struct symbols *s, const struct elf *file, uint64_t mask)
{
	struct source *source = calloc(1, sizeof(*source));
	Elf_Scn *scn;

	if (!source)
		die("%s", nt_strerror(NT_ENOMEM));
	source->next = s->sources;
	s->sources = source;
	source->fd = open(file->path, O_RDONLY | O_CLOEXEC);
	source->elf = source->fd < 0 ? NULL : elf_begin(source->fd, ELF_C_READ_MMAP, NULL);
	if (!source->elf)
		return;
	scn = find_table(source->elf, SHT_SYMTAB);
	if (!scn)
		scn = find_table(source->elf, SHT_DYNSYM);
	if (scn)
		read_table(s, source->elf, scn, file->bias, mask);
}

static int compare(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	/* as perf chooses: what people call it, and what tells more */
	if (strspn(x->name, "_") != strspn(y->name, "_"))
		return strspn(x->name, "_") < strspn(y->name, "_") ? -1 : 1;
	if (strlen(x->name) != strlen(y->name))
		return strlen(x->name) > strlen(y->name) ? -1 : 1;
	return strcmp(x->name, y->name);
}

static struct symbols *new_symbols(void)
{
	struct symbols *s = calloc(1, sizeof(*s));

	if (!s)
		die("%s", nt_strerror(NT_ENOMEM));
	elf_version(EV_CURRENT);
	return s;
}

/* In the order of addresses, one for each */
static void sort(struct symbols *s)
{
	size_t i, n = 0;

	if (!s->n)
		return;
	qsort(s->list, s->n, sizeof(*s->list), compare);
	for (i = 0; i < s->n; i++)
		if (!n || s->list[n - 1].start != s->list[i].start)
			s->list[n++] = s->list[i];
	s->n = n;
}

struct symbols *symbols_new(const struct input *in)
{
	uint64_t mask = in->params.xlen == 32 ? UINT32_MAX : UINT64_MAX;
	struct symbols *s = new_symbols();
	const struct elf *elf;

	for (elf = in->elfs; elf; elf = elf->next)
		read_elf(s, elf, mask);
	sort(s);
	return s;
}

struct symbols *symbols_of_file(const char *path, unsigned int xlen)
{
	struct symbols *s = new_symbols();
	struct elf file = { .path = (char *)path };

	read_elf(s, &file, xlen == 32 ? UINT32_MAX : UINT64_MAX);
	sort(s);
	return s;
}

/*
 * Lines "ADDRESS TYPE NAME", and "[MODULE]" behind a tab; data and local labels are left out. Of
 * several at an address the last counts, as with perf, which takes the others for empty.
 */
struct symbols *symbols_of_kallsyms(const char *path)
{
	struct symbols *s = new_symbols();
	FILE *f = fopen(path, "re");
	unsigned long long addr;
	size_t room = 0;
	char *name, type;

	while (f && fscanf(f, "%llx %c %ms%*[^\n]", &addr, &type, &name) == 3) {
		if (!strchr("tTwW", type) || *name == '$' || !strncmp(name, ".L", 2)) {
			free(name);
			continue;
		}
		if (s->n == room) {
			room = room ? 2 * room : 4096;
			s->list = reallocarray(s->list, room, sizeof(*s->list));
			s->names = reallocarray(s->names, room, sizeof(*s->names));
			if (!s->list || !s->names)
				die("%s", nt_strerror(NT_ENOMEM));
		}
		s->names[s->nr_names++] = name;
		s->list[s->n] = (struct symbol){ addr, 0, name, (unsigned int)s->n };
		s->n++;
	}
	if (f)
		fclose(f);
	sort(s);
	return s;
}

const char *symbols_find(const struct symbols *s, uint64_t pc, uint64_t *offset)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->list[mid].start <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return NULL;
	*offset = pc - s->list[low - 1].start;
	if (s->list[low - 1].size && *offset >= s->list[low - 1].size)
		return NULL;
	return s->list[low - 1].name;
}

void symbols_free(struct symbols *s)
{
	if (!s)
		return;
	while (s->sources) {
		struct source *source = s->sources;

		s->sources = source->next;
		elf_end(source->elf);
		if (source->fd >= 0)
			close(source->fd);
		free(source);
	}
	while (s->nr_names)
		free(s->names[--s->nr_names]);
	free(s->names);
	free(s->list);
	free(s);
}
