// SPDX-License-Identifier: GPL-2.0-only
/*
 * Places in files -> addresses, instructions and lines
 */
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stacks.h"

static void read_segments(struct stacks_file *f)
{
	size_t nr = 0, i;
	GElf_Phdr ph;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(f->fd, ELF_C_READ, NULL);
	if (!elf || elf_getphdrnum(elf, &nr))
		nr = 0;
	f->segment = calloc(nr + 1, sizeof(*f->segment));
	if (!f->segment)
		die("%s", nt_strerror(NT_ENOMEM));
	for (i = 0; i < nr; i++)
		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_LOAD && ph.p_flags & PF_X)
			f->segment[f->nr_segments++] = (struct rec_segment){
				ph.p_offset, ph.p_filesz, ph.p_vaddr, true,
			};
	elf_end(elf);
}

static void find_file(struct stacks_file *f, struct calls_feed *feed)
{
	const struct elf *elf = feed->in.elfs;
	const struct rec_file *r = f->build;

	if (feed->symbols) {
		f->raw = true;
		f->path = elf ? realpath(elf->path, NULL) ?: strdup(elf->path) : NULL;
		f->bias = elf ? elf->bias : 0;
		return;
	}
	f->raw = *f->name != '/';
	if (!r || !r->path)
		return;
	f->path = strdup(r->path);
	f->id = r->id.size ? r->id : r->own_id;
}

struct stacks_file *stacks_file_get(struct stacks_files *files, const struct calls_function *fn)
{
	struct stacks_file *f;

	for (f = files->list; f; f = f->next)
		if (f->build == fn->build && !strcmp(f->name, fn->file))
			return f;
	f = calloc(1, sizeof(*f));
	if (!f)
		die("%s", nt_strerror(NT_ENOMEM));
	f->name = fn->file;
	f->build = fn->build;
	f->number = ++files->nr;
	find_file(f, files->feed);
	f->fd = f->path ? open(f->path, O_RDONLY | O_CLOEXEC) : -1;
	if (f->fd >= 0) {
		read_segments(f);
		if (!f->build)
			f->id = rec_file_id(f->fd);
		source_read(&f->lines, f->path, NULL, NULL);
	}
	f->next = files->list;
	files->list = f;
	return f;
}

static const struct rec_segment *segment_of(const struct stacks_file *f, uint64_t place)
{
	size_t i;

	for (i = 0; i < f->nr_segments; i++) {
		const struct rec_segment *s = &f->segment[i];
		uint64_t begin = f->raw ? s->addr + f->bias : s->offset;

		if (place - begin < s->size)
			return s;
	}
	return NULL;
}

uint64_t stacks_file_address(const struct stacks_file *f, uint64_t place)
{
	const struct rec_segment *s = segment_of(f, place);

	if (f->raw || !s)
		return place - (f->raw ? f->bias : 0);
	return place - s->offset + s->addr;
}

bool stacks_file_has(const struct stacks_file *f, uint64_t place)
{
	return segment_of(f, place);
}

unsigned int stacks_file_insn(const struct stacks_file *f, uint64_t place)
{
	const struct rec_segment *s = segment_of(f, place);
	uint16_t half;

	if (!s)
		return 0;
	if (f->raw)
		place = place - f->bias - s->addr + s->offset;
	if (pread(f->fd, &half, sizeof(half), (off_t)place) != sizeof(half))
		return 0;
	return (half & 3) != 3 ? 2 : (half & 0x1f) != 0x1f ? 4 : (half & 0x3f) == 0x1f ? 6 : 8;
}

unsigned int stacks_file_line(const struct stacks_file *f, uint64_t addr, const char **source)
{
	const struct source_row *row = source_find(&f->lines, addr);

	if (!row)
		return 0;
	*source = f->lines.file[row->file];
	return row->line;
}

void stacks_files_free(struct stacks_files *files)
{
	struct stacks_file *f;

	while ((f = files->list)) {
		files->list = f->next;
		source_free(&f->lines);
		if (f->fd >= 0)
			close(f->fd);
		free(f->segment);
		free(f->path);
		free(f);
	}
}

/* -------------------------------------------------------- instructions --- */

static int compare_leaves(const void *a, const void *b)
{
	const struct stacks_leaf *x = *(struct stacks_leaf *const *)a;
	const struct stacks_leaf *y = *(struct stacks_leaf *const *)b;

	if (x->node != y->node)
		return x->node->number < y->node->number ? -1 : 1;
	if (x->label != y->label)
		return x->label < y->label ? -1 : 1;
	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return x->insns < y->insns ? -1 : x->insns > y->insns;
}

/* The cost of a place, in leaves with the same node and label */
struct spot {
	uint64_t place;
	uint64_t value[3];
};

struct spots {
	struct spot *list;
	size_t n;
};

static void add_spot(struct spots *spots, uint64_t place, const uint64_t value[3])
{
	spots->list = array_room(spots->list, spots->n, sizeof(*spots->list));
	spots->list[spots->n++] = (struct spot){ place, { value[0], value[1], value[2] } };
}

/*
 * Distribute the cost of a run to its instructions. The first one gets the time, the last one gets
 * the branch. Without code, the first one gets everything.
 */
static void spread(struct spots *spots, const struct stacks_leaf *l, const struct stacks_file *f)
{
	uint64_t place = l->place, value[3] = { 0, 0, l->time };
	uint32_t i = 0;

	do {
		unsigned int len = i + 1 < l->insns ? stacks_file_insn(f, place) : 0;

		/* the last instruction, or the next one cannot be found */
		value[STACKS_INSNS] = !l->insns ? 0 : len ? l->runs : l->runs * (l->insns - i);
		value[STACKS_BRANCHES] = len ? 0 : l->branches;
		add_spot(spots, place, value);
		value[STACKS_TIME] = 0;
		if (!len)
			break;
		place += len;
	} while (++i < l->insns);
}

static int compare_spots(const void *a, const void *b)
{
	const struct spot *x = a, *y = b;

	return x->place < y->place ? -1 : x->place > y->place;
}

static void merge_spots(struct spots *spots)
{
	size_t i, k, n = 0;

	if (spots->n)
		qsort(spots->list, spots->n, sizeof(*spots->list), compare_spots);
	for (i = 0; i < spots->n; i++) {
		if (!n || spots->list[n - 1].place != spots->list[i].place) {
			spots->list[n++] = spots->list[i];
			continue;
		}
		for (k = 0; k < 3; k++)
			spots->list[n - 1].value[k] += spots->list[i].value[k];
	}
	spots->n = n;
}

void stacks_each(const struct stacks *s, struct stacks_files *files,
		 void (*put)(void *ctx, const struct stacks_leaf *leaf, const struct stacks_file *f,
			     uint64_t addr, const uint64_t value[3]), void *ctx)
{
	struct spots spots = { .list = NULL };
	const struct stacks_file *f;
	size_t i, k, next;

	if (s->nr_leaves)
		qsort(s->leaf, s->nr_leaves, sizeof(*s->leaf), compare_leaves);
	for (i = 0; i < s->nr_leaves; i = next) {
		f = stacks_file_get(files, s->leaf[i]->node->function);
		spots.n = 0;
		free(spots.list);
		spots.list = NULL;
		for (next = i; next < s->nr_leaves && s->leaf[next]->node == s->leaf[i]->node &&
		     s->leaf[next]->label == s->leaf[i]->label; next++)
			spread(&spots, s->leaf[next], f);
		merge_spots(&spots);
		for (k = 0; k < spots.n; k++)
			put(ctx, s->leaf[i], f, stacks_file_address(f, spots.list[k].place),
			    spots.list[k].value);
	}
	free(spots.list);
}
