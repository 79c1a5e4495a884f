// SPDX-License-Identifier: GPL-2.0-only
/*
 * Is this the file that was recorded? Compare the build-ids, because decoding with another program
 * gives wrong results for a while before it gives errors.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>

#include "build-id.h"
#include "debug.h"
#include "dso.h"
#include "machine.h"
#include "ntrace-priv.h"

#define NOTES_MAX	4096

static bool read_at(struct ntrace *nt, struct dso *dso, u64 offset, void *buf, size_t len)
{
	return dso__data_read_offset(dso, nt->machine, offset, buf, len) == (ssize_t)len;
}

/* The build-id in the notes; NULL: none */
static const u8 *find_build_id(const u8 *note, size_t len, size_t *size)
{
	Elf64_Nhdr hdr;
	size_t name, desc;

	while (len >= sizeof(hdr)) {
		memcpy(&hdr, note, sizeof(hdr));
		name = (hdr.n_namesz + 3) & ~3UL;
		desc = (hdr.n_descsz + 3) & ~3UL;
		if (hdr.n_namesz > len || hdr.n_descsz > len || sizeof(hdr) + name + desc > len)
			return NULL;
		if (hdr.n_type == NT_GNU_BUILD_ID && hdr.n_namesz == sizeof(ELF_NOTE_GNU) &&
		    !memcmp(note + sizeof(hdr), ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU))) {
			*size = hdr.n_descsz;
			return note + sizeof(hdr) + name;
		}
		note += sizeof(hdr) + name + desc;
		len -= sizeof(hdr) + name + desc;
	}
	return NULL;
}

static bool notes_differ(struct ntrace *nt, struct dso *dso, u64 offset, u64 len)
{
	const struct build_id *bid = dso__bid(dso);
	u8 note[NOTES_MAX];
	size_t size = 0;
	const u8 *id;

	if (len > sizeof(note) || !read_at(nt, dso, offset, note, len))
		return false;
	/* Notes of both classes have the same layout. */
	id = find_build_id(note, len, &size);
	return id && (size != bid->size || memcmp(id, bid->data, size));
}

static bool differs_64(struct ntrace *nt, struct dso *dso)
{
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;
	unsigned int i;

	if (!read_at(nt, dso, 0, &ehdr, sizeof(ehdr)))
		return false;
	for (i = 0; i < ehdr.e_phnum; i++) {
		if (!read_at(nt, dso, ehdr.e_phoff + i * sizeof(phdr), &phdr, sizeof(phdr)))
			return false;
		if (phdr.p_type == PT_NOTE && notes_differ(nt, dso, phdr.p_offset, phdr.p_filesz))
			return true;
	}
	return false;
}

static bool differs_32(struct ntrace *nt, struct dso *dso)
{
	Elf32_Ehdr ehdr;
	Elf32_Phdr phdr;
	unsigned int i;

	if (!read_at(nt, dso, 0, &ehdr, sizeof(ehdr)))
		return false;
	for (i = 0; i < ehdr.e_phnum; i++) {
		if (!read_at(nt, dso, ehdr.e_phoff + i * sizeof(phdr), &phdr, sizeof(phdr)))
			return false;
		if (phdr.p_type == PT_NOTE && notes_differ(nt, dso, phdr.p_offset, phdr.p_filesz))
			return true;
	}
	return false;
}

static bool file_differs(struct ntrace *nt, struct dso *dso)
{
	u8 ident[EI_NIDENT];

	if (!dso__has_build_id(dso) || !read_at(nt, dso, 0, ident, sizeof(ident)) ||
	    memcmp(ident, ELFMAG, SELFMAG))
		return false;
	if (ident[EI_CLASS] == ELFCLASS64)
		return differs_64(nt, dso);
	return ident[EI_CLASS] == ELFCLASS32 && differs_32(nt, dso);
}

/* False if the file is known to be different */
bool ntrace_file_fits(struct ntrace *nt, struct dso *dso)
{
	long differs = 0;

	if (hashmap__find(nt->files, (long)dso, &differs))
		return !differs;
	differs = file_differs(nt, dso);
	if (differs)
		pr_err("ntrace: %s is not the file that was recorded, its build-id is another: its trace cannot be decoded (see --symfs, perf buildid-cache)\n",
		       dso__long_name(dso));
	/* A failure only costs time. */
	hashmap__add(nt->files, (long)dso, differs);
	return !differs;
}
