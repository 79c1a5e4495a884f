// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compares a profile with the truth. Counts all retired instructions in the truth streams of the
 * harts, by function or by address, and compares them with the shares that perf prints. Prints
 * the total variation between the two (half the sum of all differences) and the sampling error:
 * the mean total variation of as many independent samples of the truth, and its standard deviation.
 *
 *	error	sum over all i of E|X_i / n - p_i| / 2, X_i binomial (n, p_i)
 *	sigma	square root of the sum over all i of Var|X_i / n - p_i|, / 2
 *
 * The deviations of functions are not independent, because each sample is in one of them only. So
 * the printed sigma is an upper bound. The total variation may exceed error plus 3 sigma by --most.
 *
 * Functions come from ELF files, at the addresses where they were mapped, and from lists like
 * kallsyms. Functions at the same address, and functions with the same name in one file, count as
 * one: perf shows any one of them.
 */
#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <getopt.h>
#include <libelf.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "truth.h"

#define HARTS	64

/* --- a table of counts by address ---------------------------------------------- */

struct slot {
	uint64_t addr;		/* + 1, 0: free */
	double count;
};

struct counts {
	struct slot *slot;
	size_t used, size;	/* size: a power of two */
};

static double *count_of(struct counts *c, uint64_t addr);

static void grow(struct counts *c)
{
	struct counts bigger = { .size = c->size ? 2 * c->size : 4096 };

	bigger.slot = calloc(bigger.size, sizeof(*bigger.slot));
	if (!bigger.slot)
		die("out of memory");
	for (size_t i = 0; i < c->size; i++)
		if (c->slot[i].addr)
			*count_of(&bigger, c->slot[i].addr - 1) = c->slot[i].count;
	free(c->slot);
	*c = bigger;
}

static double *count_of(struct counts *c, uint64_t addr)
{
	if (2 * c->used >= c->size)
		grow(c);
	for (size_t i = (addr * 0x9e3779b97f4a7c15ull) >> 20;; i++) {
		struct slot *s = &c->slot[i & (c->size - 1)];

		if (!s->addr) {
			s->addr = addr + 1;
			c->used++;
		}
		if (s->addr == addr + 1)
			return &s->count;
	}
}

/* --- functions ------------------------------------------------------------------- */

struct func {
	uint64_t addr, end;
	char *name;		/* FILE:NAME */
	size_t class;		/* index of the function that represents its class */
};

struct funcs {
	struct func *list;
	size_t count, size;
};

/* Labels of the assembler and of linker relaxation are not functions. */
static bool is_label(const char *name)
{
	return !*name || *name == '$' || !strncmp(name, ".L", 2);
}

static void add(struct funcs *f, const char *file, const char *name, uint64_t addr, uint64_t size)
{
	if (is_label(name))
		return;
	if (f->count == f->size) {
		f->size = f->size ? 2 * f->size : 4096;
		f->list = realloc(f->list, f->size * sizeof(*f->list));
		if (!f->list)
			die("out of memory");
	}
	f->list[f->count] = (struct func) { .addr = addr, .end = addr + size };
	if (asprintf(&f->list[f->count++].name, "%s:%s", file, name) < 0)
		die("out of memory");
}

static int by_addr(const void *a, const void *b)
{
	const struct func *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int by_name(const void *a, const void *b)
{
	const struct func *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static size_t class_of(const struct funcs *f, size_t i)
{
	while (f->list[i].class != i)
		i = f->list[i].class;
	return i;
}

static void unite(struct funcs *f, size_t i, size_t k)
{
	f->list[class_of(f, i)].class = class_of(f, k);
}

/* If the end of a function is unknown, as in kallsyms, it ends at the next function. */
static void sort(struct funcs *f)
{
	struct func **name = calloc(f->count + 1, sizeof(*name));
	uint64_t next = UINT64_MAX;

	if (!name)
		die("out of memory");
	qsort(f->list, f->count, sizeof(*f->list), by_addr);
	for (size_t i = f->count; i--;) {
		if (i + 1 < f->count && f->list[i + 1].addr != f->list[i].addr)
			next = f->list[i + 1].addr;
		if (f->list[i].end == f->list[i].addr)
			f->list[i].end = next;
		f->list[i].class = i;
		name[i] = &f->list[i];
	}
	qsort(name, f->count, sizeof(*name), by_name);
	for (size_t i = 1; i < f->count; i++) {
		if (f->list[i].addr == f->list[i - 1].addr)
			unite(f, i, i - 1);
		if (!strcmp(name[i]->name, name[i - 1]->name))
			unite(f, (size_t)(name[i] - f->list), (size_t)(name[i - 1] - f->list));
	}
	free(name);
}

/* The class of the innermost function at @addr, or SIZE_MAX */
static size_t find_addr(const struct funcs *f, uint64_t addr)
{
	size_t lo = 0, hi = f->count;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (f->list[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (size_t back = 0; lo-- && back < 16; back++)
		if (addr < f->list[lo].end)
			return class_of(f, lo);
	return SIZE_MAX;
}

static size_t find_name(const struct funcs *f, const char *name)
{
	for (size_t i = 0; i < f->count; i++)
		if (!strcmp(f->list[i].name, name))
			return class_of(f, i);
	return SIZE_MAX;
}

/* --- files -------------------------------------------------------------------------- */

/* A mapped part of a file */
struct map {
	uint64_t start, len, pgoff;
	const char *label, *path;
};

/* Offset from addresses in the file to addresses in the mapping */
static bool load_bias(Elf *elf, const struct map *m, uint64_t *bias)
{
	size_t n;
	GElf_Phdr ph;

	if (elf_getphdrnum(elf, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_LOAD || !(ph.p_flags & PF_X))
			continue;
		if (m->pgoff + m->len <= ph.p_offset || m->pgoff >= ph.p_offset + ph.p_filesz)
			continue;
		*bias = m->start - m->pgoff - (ph.p_vaddr - ph.p_offset);
		return true;
	}
	return false;
}

static void add_section(struct funcs *f, const struct map *m, Elf_Scn *scn, const GElf_Shdr *sh,
			Elf *elf, uint64_t bias)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	GElf_Sym sym;

	for (int i = 0; data && gelf_getsym(data, i, &sym); i++) {
		int type = GELF_ST_TYPE(sym.st_info);
		const char *name = elf_strptr(elf, sh->sh_link, sym.st_name);
		uint64_t addr = sym.st_value + bias;

		if (name && sym.st_shndx != SHN_UNDEF && addr - m->start < m->len &&
		    (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE))
			add(f, m->label, name, addr, sym.st_size);
	}
}

static void add_map(struct funcs *f, const struct map *m)
{
	int fd = open(m->path, O_RDONLY | O_CLOEXEC);
	Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	uint64_t bias;

	if (!elf || elf_kind(elf) != ELF_K_ELF || !load_bias(elf, m, &bias))
		die("%s: no ELF file with code at offset %#llx", m->path,
		    (unsigned long long)m->pgoff);
	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) &&
		    (sh.sh_type == SHT_SYMTAB || sh.sh_type == SHT_DYNSYM))
			add_section(f, m, scn, &sh, elf, bias);
	elf_end(elf);
	close(fd);
}

/* START,LENGTH,OFFSET,LABEL,PATH */
static void parse_map(struct funcs *f, char *arg)
{
	unsigned long long start, len, pgoff;
	char label[256];
	int path;
	struct map m;

	if (sscanf(arg, "%llx,%llx,%llx,%255[^,],%n", &start, &len, &pgoff, label, &path) != 4)
		die("--map %s: not START,LENGTH,OFFSET,LABEL,FILE", arg);
	m = (struct map) { start, len, pgoff, label, arg + path };
	add_map(f, &m);
}

static void add_kallsyms(struct funcs *f, const char *path)
{
	unsigned long long addr;
	char type, name[512], line[1024];
	FILE *file = fopen(path, "r");

	if (!file)
		die("%s: cannot be opened", path);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "%llx %c %511s", &addr, &type, name) == 3 && strchr("tTwW", type))
			add(f, "kernel", name, addr, 0);
	fclose(file);
}

/* --- the truth ------------------------------------------------------------------------- */

static void count_truth(struct counts *c, const char *arg, const char *segment, bool user,
			bool kernel)
{
	const char *eq = strchr(arg, '=');
	const struct truth_event *ev;
	struct truth *t;

	if (!eq)
		die("--truth %s: not CPU=STREAM", arg);
	t = truth_open(eq + 1);
	if (segment && !truth_seek_segment(t, strtoull(segment, NULL, 0)))
		die("%s: no recording %s", truth_name(t), segment);
	for (; (ev = truth_peek(t, 0)); truth_pop(t)) {
		if (ev->kind == TRUTH_SEGMENT && segment)
			break;
		if (ev->kind == TRUTH_INSN && (ev->pc >> 63 ? kernel : user))
			*count_of(c, ev->pc) += 1;
	}
	truth_close(t);
}

/* --- comparison ---------------------------------------------------------------------------- */

struct share {
	double truth, profile;
	char name[128];
};

static double total(const struct share *s, size_t n, bool truth)
{
	double sum = 0;

	while (n--)
		sum += truth ? s[n].truth : s[n].profile;
	return sum;
}

/* E|X - np| of a binomial X (De Moivre) */
static double mean_deviation(double n, double p)
{
	double k = floor(n * p) + 1;

	if (p <= 0 || p >= 1)
		return 0;
	return 2 * exp(log(k) + lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(p) +
		       (n - k + 1) * log1p(-p));
}

static int by_difference(const void *a, const void *b)
{
	const struct share *x = a, *y = b;
	double dx = fabs(x->truth - x->profile), dy = fabs(y->truth - y->profile);

	return dx > dy ? -1 : dx < dy;
}

static int verdict(struct share *s, size_t n, double samples, double most)
{
	double all = total(s, n, true), sum = total(s, n, false), tv = 0, error = 0, sigma = 0;

	if (all <= 0 || sum <= 0)
		die("nothing to compare: %.0f instructions, %g in the profile", all, sum);
	for (size_t i = 0; i < n; i++) {
		s[i].truth /= all;
		s[i].profile /= sum;
		const double deviation = mean_deviation(samples, s[i].truth) / samples;

		tv += fabs(s[i].truth - s[i].profile) / 2;
		error += deviation / 2;
		sigma += s[i].truth * (1 - s[i].truth) / samples - deviation * deviation;
	}
	sigma = sqrt(sigma) / 2;
	most += (error + 3 * sigma) * 100;
	printf("%s tv=%.2f error=%.2f sigma=%.2f most=%.2f samples=%.0f insns=%.0f places=%zu\n",
	       tv * 100 <= most ? "true" : "FALSE", tv * 100, error * 100, sigma * 100, most,
	       samples, all, n);
	qsort(s, n, sizeof(*s), by_difference);
	for (size_t i = 0; i < n && i < 12; i++)
		printf("#  truth %6.2f %%  profile %6.2f %%  %s\n", s[i].truth * 100,
		       s[i].profile * 100, s[i].name);
	return tv * 100 > most;
}

/* Read lines "SHARE FILE:NAME". All addresses without a function count as one function. */
static size_t compare_names(const struct funcs *f, const struct counts *truth, FILE *in,
			    struct share *s)
{
	char line[1024], name[900];
	size_t n = f->count, at;
	double share;

	for (size_t i = 0; i < truth->size; i++) {
		if (!truth->slot[i].addr)
			continue;
		at = find_addr(f, truth->slot[i].addr - 1);
		s[at == SIZE_MAX ? n : at].truth += truth->slot[i].count;
	}
	while (fgets(line, sizeof(line), in)) {
		if (sscanf(line, "%lf %899[^\n]", &share, name) != 2)
			die("not SHARE NAME: %s", line);
		at = find_name(f, name);
		s[at == SIZE_MAX ? n : at].profile += share;
	}
	for (size_t i = 0; i < n; i++)
		snprintf(s[i].name, sizeof(s[i].name), "%s", f->list[i].name);
	strcpy(s[n].name, "no function");
	return n + 1;
}

/* Read lines "WEIGHT ADDRESS". @within: only compare addresses that the profile has */
static size_t compare_addrs(struct counts *truth, FILE *in, bool within, struct share **list)
{
	struct counts profile = { 0 };
	unsigned long long addr;
	size_t n = 0;
	double share;
	char line[256];

	while (fgets(line, sizeof(line), in)) {
		if (sscanf(line, "%lf %llx", &share, &addr) != 2)
			die("not WEIGHT ADDRESS: %s", line);
		*count_of(&profile, addr) += share;
		if (!within)
			*count_of(truth, addr) += 0;
	}
	*list = calloc(truth->used + profile.used + 1, sizeof(**list));
	if (!*list)
		die("out of memory");
	for (size_t i = 0; i < truth->size; i++)
		if (truth->slot[i].addr && !within) {
			addr = truth->slot[i].addr - 1;
			(*list)[n].truth = truth->slot[i].count;
			(*list)[n].profile = *count_of(&profile, addr);
			sprintf((*list)[n++].name, "%llx", addr);
		}
	for (size_t i = 0; i < profile.size && within; i++)
		if (profile.slot[i].addr) {
			addr = profile.slot[i].addr - 1;
			(*list)[n].truth = *count_of(truth, addr);
			(*list)[n].profile = profile.slot[i].count;
			sprintf((*list)[n++].name, "%llx", addr);
		}
	free(profile.slot);
	return n;
}

/* --- arguments -------------------------------------------------------------------------------- */

static const struct option options[] = {
	{ "truth", 1, NULL, 't' }, { "segment", 1, NULL, 's' }, { "map", 1, NULL, 'm' },
	{ "kallsyms", 1, NULL, 'k' }, { "addresses", 0, NULL, 'a' }, { "within", 0, NULL, 'w' },
	{ "samples", 1, NULL, 'n' }, { "most", 1, NULL, 'x' }, { "only", 1, NULL, 'o' },
	{ "help", 0, NULL, 'h' }, { 0 },
};

static void __attribute__((noreturn)) usage(int status)
{
	fputs("usage: truthtv --truth CPU=STREAM... --samples N [OPTION...]\n"
	      "Compares a profile (standard input) with every instruction that retired.\n"
	      "  --truth CPU=STREAM  a file, a .zst file or `|COMMAND'; once per hart\n"
	      "  --segment N         only the truth behind the mark of recording N\n"
	      "  --samples N         the profile was made of so many\n"
	      "  --most PERCENT      total variation beyond the sampling error (2)\n"
	      "  --only user|kernel  of the truth\n"
	      "  --map START,LENGTH,OFFSET,LABEL,FILE  where the code of an ELF file was (hex)\n"
	      "  --kallsyms FILE     the kernel's functions, LABEL is `kernel'\n"
	      "  --addresses         lines are WEIGHT ADDRESS, not SHARE LABEL:FUNCTION\n"
	      "  --within            ... and the profile lists each address it is about\n"
	      "Exit status: 0 true, 1 not, 2 unusable.\n", status ? stderr : stdout);
	exit(status);
}

int main(int argc, char **argv)
{
	const char *truths[HARTS], *segment = NULL, *only = "";
	bool addresses = false, within = false;
	double samples = 0, most = 2;
	struct counts truth = { 0 };
	struct funcs funcs = { 0 };
	struct share *shares;
	size_t n, ntruths = 0;
	int opt;

	elf_version(EV_CURRENT);
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 't':
			if (ntruths == HARTS)
				die("more than %d harts", HARTS);
			truths[ntruths++] = optarg;
			break;
		case 's': segment = optarg; break;
		case 'm': parse_map(&funcs, optarg); break;
		case 'k': add_kallsyms(&funcs, optarg); break;
		case 'a': addresses = true; break;
		case 'w': addresses = within = true; break;
		case 'n': samples = atof(optarg); break;
		case 'x': most = atof(optarg); break;
		case 'o': only = optarg; break;
		case 'h': usage(0);
		default: usage(2);
		}
	}
	if (!ntruths || samples < 1 || optind < argc)
		usage(2);
	for (size_t i = 0; i < ntruths; i++)
		count_truth(&truth, truths[i], segment, strcmp(only, "kernel"),
			    strcmp(only, "user"));
	if (addresses) {
		n = compare_addrs(&truth, stdin, within, &shares);
	} else {
		sort(&funcs);
		shares = calloc(funcs.count + 1, sizeof(*shares));
		if (!shares)
			die("out of memory");
		n = compare_names(&funcs, &truth, stdin, shares);
	}
	return verdict(shares, n, samples, most);
}
