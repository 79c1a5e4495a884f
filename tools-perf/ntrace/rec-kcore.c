// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's text as it ran. perf record --kcore copies it when recording starts and again when
 * it ends. Where the copies differ, the kernel was patched meanwhile, and neither copy alone is
 * right: see nt-session-replay.c.
 */
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rec.h"

#define CHUNK		((size_t)64 << 10)

/* The file is an ELF32 or an ELF64: perf record's copy is an ELF32 on RV32. */
static bool read_segments(struct rec_kcore *k)
{
	size_t nr = 0, i;
	GElf_Phdr phdr;
	bool whole;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(k->fd, ELF_C_READ, NULL);
	whole = elf && elf_kind(elf) == ELF_K_ELF && !elf_getphdrnum(elf, &nr);
	k->segment = calloc(nr + 1, sizeof(*k->segment));
	if (!k->segment)
		die("%s", nt_strerror(NT_ENOMEM));
	for (i = 0; i < nr && whole; i++) {
		whole = gelf_getphdr(elf, (int)i, &phdr);
		if (whole && phdr.p_type == PT_LOAD)
			k->segment[k->nr_segments++] = (struct rec_segment){
				phdr.p_offset, phdr.p_filesz, phdr.p_vaddr, true,
			};
	}
	elf_end(elf);
	return whole;
}

static void open_image(struct rec_kcore *k, const char *path)
{
	k->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (k->fd >= 0 && !read_segments(k))
		die("%s: is no copy of a kernel's text", path);
}

static void open_copy(struct rec *rec, bool at_end)
{
	const char *name = at_end ? NTRACE_KCORE_END "/kcore" : NTRACE_KCORE_START "/kcore";
	char path[PATH_MAX];
	int n = nt_perfdata_beside(rec->pd, name, path, sizeof(path));

	if (n && n < (int)sizeof(path))
		open_image(&rec->kcore[at_end], path);
}

static size_t read_image(const struct rec_kcore *k, uint64_t addr, void *buf, size_t len)
{
	size_t i;

	for (i = 0; i < k->nr_segments; i++) {
		const struct rec_segment *s = &k->segment[i];
		uint64_t at = addr - s->addr;
		ssize_t n;

		if (addr < s->addr || at >= s->size)
			continue;
		if (len > s->size - at)
			len = s->size - at;
		n = pread(k->fd, buf, len, s->offset + at);
		return n > 0 ? n : 0;
	}
	return 0;
}

static void compare_segment(struct rec *rec, const struct rec_segment *s, uint8_t *buf)
{
	uint64_t at = 0;

	while (at < s->size) {
		size_t n = read_image(&rec->kcore[0], s->addr + at, buf, CHUNK);
		size_t other = read_image(&rec->kcore[1], s->addr + at, buf + CHUNK, n);

		if (!other)
			return;
		if (nt_session_patches_compare(&rec->patches, s->addr + at, buf, buf + CHUNK,
					       other))
			die("%s", nt_strerror(NT_ENOMEM));
		at += other;
	}
}

static void compare_copies(struct rec *rec)
{
	uint8_t *buf = malloc(2 * CHUNK);
	size_t i;

	if (!buf)
		die("%s", nt_strerror(NT_ENOMEM));
	for (i = 0; i < rec->kcore[0].nr_segments; i++)
		compare_segment(rec, &rec->kcore[0].segment[i], buf);
	free(buf);
}

/*
 * Without a copy, use the kernel's own file if it was given as the program. The file does not have
 * the code that the kernel patches.
 */
void rec_kcore_open(struct rec *rec)
{
	const char *program = rec->options->program;

	rec->kcore[0].fd = rec->kcore[1].fd = -1;
	open_copy(rec, false);
	if (rec->kcore[0].fd < 0) {
		if (program && !strncmp(last_part(program), "vmlinux", 7))
			open_image(&rec->kcore[0], program);
		return;
	}
	open_copy(rec, true);
	if (rec->kcore[1].fd >= 0)
		compare_copies(rec);
}

void rec_kcore_ran(struct rec *rec, uint64_t pc, size_t len)
{
	const struct nt_session_patch *p;
	const char *name;
	uint64_t offset;

	while ((p = nt_session_patches_ran(&rec->patches, pc, len))) {
		name = rec_symbol(rec, NULL, p->start, &offset);
		rec_warn(rec, "the kernel was patched while recording: %#" PRIx64 "..%#" PRIx64
			 " in %s differs between start and end",
			 p->start, p->end, name ? name : "unknown code");
	}
}

size_t rec_kcore_read(struct rec *rec, bool at_end, uint64_t addr, void *buf, size_t len)
{
	size_t n = read_image(&rec->kcore[0], addr, buf, len);

	if (n && at_end && rec->patches.nr)
		read_image(&rec->kcore[1], addr, buf, n);
	return n;
}

void rec_kcore_close(struct rec *rec)
{
	struct rec_kcore *k;

	for (k = rec->kcore; k < rec->kcore + 2; k++) {
		free(k->segment);
		if (k->fd >= 0)
			close(k->fd);
	}
	nt_session_patches_free(&rec->patches);
}
