// SPDX-License-Identifier: GPL-2.0-only
/*
 * Symbols of addresses, from ELF symbol tables. Nothing else is read of a file, which may be a
 * kernel with all its debug information.
 */
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"

struct symbol {
	uint64_t start;
	uint64_t size;		/* 0: up to the next symbol */
	const char *name;
	unsigned int rank;	/* of several symbols at an address, the highest rank is used */
};

/* A file that contains names */
struct source {
	struct source *next;
	int fd;
	Elf *elf;
};

struct symbols {
	struct symbol *list;
	size_t n;
	struct source *sources;
	char **names;		/* names that are in no file */
	size_t nr_names;
};

/* Is it a symbol of code, and not one made by the assembler? */
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
	/* do not trust the file's sh_entsize */
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

static bool find_value(Elf *elf, const char *name, uint64_t *value)
{
	Elf_Scn *scn = find_table(elf, SHT_SYMTAB);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	const char *own;
	GElf_Shdr sh;
	GElf_Sym sym;
	int i;

	if (!data || !gelf_getshdr(scn, &sh))
		return false;
	for (i = 0; gelf_getsym(data, i, &sym); i++) {
		own = elf_strptr(elf, sh.sh_link, sym.st_name);
		if (!own || strcmp(own, name) || sym.st_shndx == SHN_UNDEF)
			continue;
		*value = sym.st_value;
		return true;
	}
	return false;
}

bool symbols_value(const char *path, const char *name, uint64_t *value)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool found;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
	found = elf && find_value(elf, name, value);
	elf_end(elf);
	if (fd >= 0)
		close(fd);
	return found;
}

/* ---- symbols of PLT entries, which are in no symbol table */

#define PLT_HEADER	32	/* in bytes, from the RISC-V psABI */
#define PLT_ENTRY	16

static Elf_Scn *find_section(Elf *elf, const char *wanted)
{
	Elf_Scn *scn = NULL;
	const char *name;
	GElf_Shdr sh;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		name = gelf_getshdr(scn, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;
		if (name && !strcmp(name, wanted))
			return scn;
	}
	return NULL;
}

/* Add a name that is in no file. */
static void add_named(struct symbols *s, uint64_t start, uint64_t size, const char *name,
		      const char *suffix)
{
	char *text = malloc(strlen(name) + strlen(suffix) + 1);

	s->list = reallocarray(s->list, s->n + 1, sizeof(*s->list));
	s->names = reallocarray(s->names, s->nr_names + 1, sizeof(*s->names));
	if (!s->list || !s->names || !text)
		die("%s", nt_strerror(NT_ENOMEM));
	strcat(strcpy(text, name), suffix);
	s->names[s->nr_names++] = text;
	s->list[s->n++] = (struct symbol){ start, size, text, 0 };
}

static const char *name_of_relocation(Elf *elf, Elf_Data *relocations, size_t i, Elf_Data *symbols,
				      size_t strings)
{
	GElf_Rela rela;
	GElf_Sym sym;

	if (!gelf_getrela(relocations, (int)i, &rela) ||
	    !gelf_getsym(symbols, (int)GELF_R_SYM(rela.r_info), &sym))
		return NULL;
	return elf_strptr(elf, strings, sym.st_name);
}

static void read_plt(struct symbols *s, Elf *elf, uint64_t bias, uint64_t mask)
{
	Elf_Scn *plt = find_section(elf, ".plt"), *rela = find_section(elf, ".rela.plt");
	Elf_Scn *dynsym = find_table(elf, SHT_DYNSYM);
	GElf_Shdr plt_sh, rela_sh, sym_sh;
	Elf_Data *relocations, *symbols;
	const char *name;
	uint64_t at;
	size_t i;

	if (!plt || !rela || !dynsym || !gelf_getshdr(plt, &plt_sh) ||
	    !gelf_getshdr(rela, &rela_sh) || !gelf_getshdr(dynsym, &sym_sh) ||
	    plt_sh.sh_size < PLT_HEADER)
		return;
	relocations = elf_getdata(rela, NULL);
	symbols = elf_getdata(dynsym, NULL);
	if (!relocations || !symbols)
		return;
	add_named(s, (plt_sh.sh_addr + bias) & mask, PLT_HEADER, ".plt", "");
	for (i = 0; i < (plt_sh.sh_size - PLT_HEADER) / PLT_ENTRY; i++) {
		name = name_of_relocation(elf, relocations, i, symbols, sym_sh.sh_link);
		at = plt_sh.sh_addr + PLT_HEADER + i * PLT_ENTRY + bias;
		if (name && *name)
			add_named(s, at & mask, PLT_ENTRY, name, "@plt");
	}
}

/* ---- files */

static struct source *new_source(struct symbols *s)
{
	struct source *source = calloc(1, sizeof(*source));

	if (!source)
		die("%s", nt_strerror(NT_ENOMEM));
	source->fd = -1;
	source->next = s->sources;
	s->sources = source;
	return source;
}

static void read_tables(struct symbols *s, Elf *elf, uint64_t bias, uint64_t mask)
{
	Elf_Scn *scn = elf ? find_table(elf, SHT_SYMTAB) : NULL;

	if (!scn && elf)
		scn = find_table(elf, SHT_DYNSYM);
	if (scn)
		read_table(s, elf, scn, bias, mask);
	if (elf)
		read_plt(s, elf, bias, mask);
}

/* The file has been read successfully before, so an error only causes missing names. */
static void read_elf(struct symbols *s, const char *path, uint64_t bias, uint64_t mask)
{
	struct source *source = new_source(s);

	source->fd = open(path, O_RDONLY | O_CLOEXEC);
	source->elf = source->fd < 0 ? NULL : elf_begin(source->fd, ELF_C_READ_MMAP, NULL);
	read_tables(s, source->elf, bias, mask);
}

static int compare(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	/* like perf: prefer names with fewer leading underscores, then longer ones */
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

/* Sort by address, and keep one symbol for each. */
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

static uint64_t mask_of(unsigned int xlen)
{
	return xlen == 32 ? UINT32_MAX : UINT64_MAX;
}

struct symbols *symbols_new(const struct input *in)
{
	struct symbols *s = new_symbols();
	const struct elf *elf;

	for (elf = in->elfs; elf; elf = elf->next)
		read_elf(s, elf->path, elf->bias, mask_of(in->params.xlen));
	sort(s);
	return s;
}

struct symbols *symbols_of_file(const char *path, unsigned int xlen)
{
	struct symbols *s = new_symbols();

	read_elf(s, path, 0, mask_of(xlen));
	sort(s);
	return s;
}

struct symbols *symbols_of_memory(void *elf, size_t size, unsigned int xlen)
{
	struct symbols *s = new_symbols();
	struct source *source = new_source(s);

	source->elf = elf_memory(elf, size);
	read_tables(s, source->elf, 0, mask_of(xlen));
	sort(s);
	return s;
}

/* The caller frees the name; NULL: the line is not a function */
static char *kallsyms_function(const char *line, uint64_t *addr)
{
	char *end;

	*addr = strtoull(line, &end, 16);
	if (!*addr || end[0] != ' ' || !end[1] || !strchr("tTwW", end[1]) || end[2] != ' ')
		return NULL;
	end += 3;
	if (*end == '$' || !strncmp(end, ".L", 2))
		return NULL;
	end = strndup(end, strcspn(end, " \t\n"));
	if (!end)
		die("%s", nt_strerror(NT_ENOMEM));
	return end;
}

/*
 * Parse lines "ADDRESS TYPE NAME", followed by a tab and "[MODULE]". Data and local labels are
 * skipped. Of several symbols at an address the last one is used, as in perf, which takes the
 * others for empty.
 */
struct symbols *symbols_of_kallsyms(const char *path)
{
	struct symbols *s = new_symbols();
	FILE *f = fopen(path, "re");
	size_t room = 0, line_room = 0;
	char *line = NULL, *name;
	uint64_t addr;

	while (f && getline(&line, &line_room, f) > 0) {
		name = kallsyms_function(line, &addr);
		if (!name)
			continue;
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
	free(line);
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

size_t symbols_number(const struct symbols *s)
{
	return s->n;
}

const char *symbols_get(const struct symbols *s, size_t i, uint64_t *start)
{
	*start = s->list[i].start;
	return s->list[i].name;
}
