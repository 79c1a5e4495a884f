// SPDX-License-Identifier: GPL-2.0-only
/*
 * Find the program that was recorded, to make a profile of it if the user did not name one
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "rec.h"

struct started {
	struct nt_perfdata_mmap *mmap;	/* the first mapping after each exec */
	size_t nr;
	struct rec_map waiting;		/* processes with an exec, but no mapping yet */
};

/* Ignore a file that was already started. A different build-id means another build of it. */
static void add(struct started *s, const struct nt_perfdata_mmap *mmap)
{
	struct nt_perfdata_mmap *kept;
	size_t i;

	for (i = 0; i < s->nr; i++)
		if (!strcmp(s->mmap[i].name, mmap->name) &&
		    !memcmp(&s->mmap[i].build_id, &mmap->build_id, sizeof(mmap->build_id)))
			return;
	s->mmap = array_room(s->mmap, s->nr, sizeof(*s->mmap));
	kept = &s->mmap[s->nr++];
	*kept = *mmap;
	kept->name = strdup(mmap->name);
	if (!kept->name)
		die("%s", nt_strerror(NT_ENOMEM));
}

/* The kernel maps the program itself before its loader and its libraries. */
static void find_programs(struct started *s, struct rec *rec)
{
	const struct rec_note *n;

	rec_notes_begin(rec);
	while ((n = rec_note_next(rec))) {
		if (n->type == NT_PERFDATA_COMM && n->misc & NT_PERFDATA_MISC_COMM_EXEC)
			rec_map_set(&s->waiting, n->pid, s);
		else if (n->mmap && *n->mmap->name == '/' && rec_map_remove(&s->waiting, n->pid))
			add(s, n->mmap);
	}
	rec_map_free(&s->waiting);
}

static void started_free(struct started *s)
{
	while (s->nr)
		free((char *)s->mmap[--s->nr].name);
	free(s->mmap);
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
		put_program(&s->mmap[i]);
	exit(EXIT_UNUSABLE);
}

char *rec_program(const char *path, const struct rec_options *options)
{
	struct started s = { .nr = 0 };
	struct rec_file *f;
	struct rec rec;
	char *found;

	rec_open(&rec, path, options);
	find_programs(&s, &rec);
	if (s.nr != 1)
		refuse(&rec, &s);
	f = rec_file_get(&rec, s.mmap[0].name, &s.mmap[0].build_id);
	if (!rec_file_open(&rec, f))
		die("%s: %s is not here; give a copy as --elf=FILE", path, f->name);
	found = strdup(f->path);
	if (!found)
		die("%s", nt_strerror(NT_ENOMEM));
	started_free(&s);
	rec_free(&rec);
	return found;
}
