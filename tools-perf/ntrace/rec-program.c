// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which program was recorded: for a profile of it, unless the user says of which
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "rec.h"

struct started {
	const struct nt_perfdata_mmap **mmap;	/* what each exec mapped first */
	size_t nr;
};

/* The same file may be started again and again; a build-id tells another build of it. */
static void add(struct started *s, const struct nt_perfdata_mmap *mmap)
{
	size_t i;

	for (i = 0; i < s->nr; i++)
		if (!strcmp(s->mmap[i]->name, mmap->name) &&
		    !memcmp(&s->mmap[i]->build_id, &mmap->build_id, sizeof(mmap->build_id)))
			return;
	s->mmap = array_room(s->mmap, s->nr, sizeof(*s->mmap));
	s->mmap[s->nr++] = mmap;
}

/* The kernel maps the program itself before its loader and its libraries. */
static void find_first_mmap(struct started *s, const struct rec *rec, size_t exec)
{
	const struct rec_note *n = &rec->note[exec];
	size_t i;

	for (i = exec + 1; i < rec->nr_notes; i++) {
		const struct rec_note *m = &rec->note[i];

		if (!m->mmap || m->pid != n->pid || *m->mmap->name != '/')
			continue;
		add(s, m->mmap);
		return;
	}
}

static void put_program(const struct nt_perfdata_mmap *m)
{
	unsigned int k;

	fprintf(stderr, "\t%s%s", m->name, m->build_id.size ? " build-id " : "");
	for (k = 0; k < m->build_id.size; k++)
		fprintf(stderr, "%02x", m->build_id.data[k]);
	fputc('\n', stderr);
}

static void __attribute__((noreturn)) refuse(const struct rec *rec, const struct started *s)
{
	size_t i;

	if (!s->nr)
		die("%s: no program was started while it was recorded: give the one that is meant as --elf=FILE",
		    rec->path);
	fprintf(stderr, "ntrace: %s: has trace of several programs; give the one that is meant as --elf=FILE:\n",
		rec->path);
	for (i = 0; i < s->nr; i++)
		put_program(s->mmap[i]);
	exit(EXIT_UNUSABLE);
}

char *rec_program(const char *path, const struct rec_options *options)
{
	struct started s = { .nr = 0 };
	struct rec_file *f;
	struct rec rec;
	char *found;
	size_t i;

	rec_open(&rec, path, options);
	for (i = 0; i < rec.nr_notes; i++)
		if (rec.note[i].type == NT_PERFDATA_COMM &&
		    rec.note[i].misc & NT_PERFDATA_MISC_COMM_EXEC)
			find_first_mmap(&s, &rec, i);
	if (s.nr != 1)
		refuse(&rec, &s);
	f = rec_file_get(&rec, s.mmap[0]->name, &s.mmap[0]->build_id);
	if (!rec_file_open(&rec, f))
		die("%s: %s is not here; give a copy as --elf=FILE", path, f->name);
	found = strdup(f->path);
	if (!found)
		die("%s", nt_strerror(NT_ENOMEM));
	free(s.mmap);
	rec_free(&rec);
	return found;
}
