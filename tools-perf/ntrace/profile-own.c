// SPDX-License-Identifier: GPL-2.0-only
/* The program's own addresses of what was executed, in all places where the program was mapped */
#include <stdlib.h>
#include <string.h>

#include "profile-flow.h"

static bool is_kernel(const char *dso)
{
	static const char kernel[] = "[kernel.kallsyms]";

	return !strncmp(dso, kernel, sizeof(kernel) - 1);
}

/* Compare names only. perf uses another name for the kernel than that of its file. */
static bool same_name(const struct profile_reader *rd, const char *dso)
{
	return is_kernel(dso) ? !strncmp(rd->name, "vmlinux", 7) :
				!strcmp(last_part(dso), rd->name);
}

const char *profile_own_hex(const struct nt_perfdata_build_id *id, char *hex)
{
	unsigned int i;

	*hex = '\0';
	for (i = 0; i < id->size; i++)
		sprintf(hex + 2 * i, "%02x", id->data[i]);
	return hex;
}

/*
 * Compare build-ids if both are known: a copy may have any name, and another file may have the same
 * name.
 */
static enum profile_kinship kinship(const struct profile_reader *rd, const char *dso)
{
	const char *id = rd->build_id ? perf_build_id(&rd->ids, dso) : NULL;
	char hex[2 * NT_PERFDATA_BUILD_ID_MAX + 1];

	if (rd->build_id && rd->file && rd->file->id.size)
		id = profile_own_hex(&rd->file->id, hex);
	if (id ? !perf_same_build_id(id, rd->build_id) : !same_name(rd, dso))
		return PROFILE_OTHER;
	return is_kernel(dso) ? PROFILE_KERNEL : PROFILE_OWN;
}

static bool is_named(const struct profile_reader *rd, const struct profile_file *n, const char *dso)
{
	return n->file == rd->file && !strcmp(n->dso, dso);
}

enum profile_kinship profile_own_file(struct profile_reader *rd, const char *dso)
{
	size_t i;

	if (rd->nr_files && is_named(rd, &rd->files[rd->last], dso))
		return rd->files[rd->last].kinship;
	for (i = 0; i < rd->nr_files && !is_named(rd, &rd->files[i], dso); i++)
		;
	rd->last = i;
	if (i < rd->nr_files)
		return rd->files[i].kinship;
	rd->files = array_room(rd->files, i, sizeof(*rd->files));
	rd->files[i] = (struct profile_file){ strdup(dso), rd->file, kinship(rd, dso) };
	if (!rd->files[i].dso)
		die("%s", nt_strerror(NT_ENOMEM));
	rd->nr_files++;
	return rd->files[i].kinship;
}

void profile_own_check(const struct profile_reader *rd)
{
	const struct perf_build_id *wrong = NULL;
	size_t i;

	for (i = 0; rd->build_id && i < rd->ids.n; i++) {
		if (perf_same_build_id(rd->ids.list[i].hex, rd->build_id))
			return;
		if (same_name(rd, rd->ids.list[i].path))
			wrong = &rd->ids.list[i];
	}
	if (wrong)
		die("%s: has trace of %s with the build-id %s, and %s has %s: give the file that "
		    "was executed", rd->data, wrong->path, wrong->hex, rd->program, rd->build_id);
}

/* Choose a name that does not depend on the order of events. The name of the kernel sorts last. */
static void found_other(struct profile_reader *rd, const char *dso)
{
	if (!rd->other || strcmp(dso, rd->other) < 0)
		rd->other = dso;
}

uint64_t profile_own_place(struct profile_reader *rd, const struct perf_place *place,
			   uint64_t *bias)
{
	const struct profile *p = rd->result->profile;
	enum profile_kinship file;
	uint64_t addr;

	if (!place->dso)
		return PROFILE_ELSEWHERE;
	file = profile_own_file(rd, place->dso);
	if (file == PROFILE_OTHER) {
		found_other(rd, rd->files[rd->last].dso);
		rd->no_kernel |= is_kernel(place->dso);
		return PROFILE_ELSEWHERE;
	}
	/* the kernel runs at the addresses of vmlinux, and file offsets are not known */
	rd->kernel |= file == PROFILE_KERNEL;
	addr = file == PROFILE_KERNEL ? profile_inside(p, place->addr) :
				     profile_address(p, place->offset);
	if (addr == PROFILE_ELSEWHERE)
		return addr;
	*bias = place->addr - addr;
	rd->found = true;
	return addr;
}

void profile_own_found(const struct profile_reader *rd)
{
	if (rd->found)
		return;
	if (rd->kernel)
		die("%s: the kernel was not at the addresses that %s has: it moves itself, unless "
		    "booted with nokaslr", rd->data, rd->program);
	die("%s: has no trace of a file named %s%s%s%s", rd->data, rd->name,
	    rd->other ? ", but of " : "", rd->other ? rd->other : "",
	    rd->other ? ": give the file that was executed as --elf" : "");
}

/* Names of files are only for messages from here on. */
void profile_own_append(struct profile_reader *rd, struct profile_reader *other)
{
	size_t i;

	for (i = 0; i < other->nr_files; i++) {
		rd->files = array_room(rd->files, rd->nr_files, sizeof(*rd->files));
		rd->files[rd->nr_files++] = other->files[i];
	}
	other->nr_files = 0;
	if (other->other)
		found_other(rd, other->other);
	rd->found |= other->found;
	rd->kernel |= other->kernel;
	rd->no_kernel |= other->no_kernel;
}

void profile_own_free(struct profile_reader *rd)
{
	while (rd->nr_files)
		free(rd->files[--rd->nr_files].dso);
	free(rd->files);
}
