// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that is known from the program's files alone: the part that the program cannot write.
 * Other memory may have had other values.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve.h"

static void add_part(struct serve_files *f, struct serve_part part)
{
	if (!part.size)
		return;
	part.from = f->space;
	part.to = UINT32_MAX;
	f->part = array_room(f->part, f->nr, sizeof(*f->part));
	f->part[f->nr++] = part;
}

static int keep_file(struct serve_files *f, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	f->fd = array_room(f->fd, f->nr_fds, sizeof(*f->fd));
	f->fd[f->nr_fds++] = fd;
	return fd;
}

/* Sections are more precise than segments: a bare-metal program often has a single segment. */
static bool add_sections(struct serve_files *f, Elf *elf, struct serve_part part, uint64_t bias)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	bool any = false;

	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || !(sh.sh_flags & SHF_ALLOC) ||
		    sh.sh_type == SHT_NOBITS)
			continue;
		any = true;
		part.start = sh.sh_addr + bias;
		part.size = sh.sh_size;
		part.offset = sh.sh_offset;
		if (!(sh.sh_flags & SHF_WRITE))
			add_part(f, part);
	}
	return any;
}

/* Headers are in no section. Without sections, use segments that are read-only or contain code. */
static void add_segments(struct serve_files *f, Elf *elf, struct serve_part part, uint64_t bias,
			 bool code)
{
	size_t nr, i;
	GElf_Phdr ph;

	if (elf_getphdrnum(elf, &nr))
		return;
	for (i = 0; i < nr; i++) {
		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_LOAD)
			continue;
		part.start = ph.p_vaddr + bias;
		part.size = ph.p_filesz;
		part.offset = ph.p_offset;
		if (!(ph.p_flags & PF_W) || (code && ph.p_flags & PF_X))
			add_part(f, part);
	}
}

uint32_t serve_files_add_elf(struct serve_files *f, const char *path, uint64_t bias)
{
	struct serve_part part = { .fd = keep_file(f, path), .file = f->nr_files + 1 };
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(part.fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF) {
		elf_end(elf);
		return 0;
	}
	add_segments(f, elf, part, bias, !add_sections(f, elf, part, bias));
	elf_end(elf);
	return ++f->nr_files;
}

void serve_files_add(struct serve_files *f, int fd, uint64_t addr, uint64_t size, uint64_t offset)
{
	add_part(f, (struct serve_part){ .start = addr, .size = size, .offset = offset, .fd = fd });
}

bool serve_files_add_raw(struct serve_files *f, const char *path, uint64_t addr)
{
	int fd = keep_file(f, path);
	struct stat st;

	if (fstat(fd, &st))
		return false;
	add_part(f, (struct serve_part){ .start = addr, .size = (uint64_t)st.st_size, .fd = fd });
	return true;
}

/* Add what a part, from now on, has outside of these addresses. */
static void keep_rest(struct serve_files *f, struct serve_part part, uint64_t start, uint64_t end)
{
	struct serve_part behind = part;
	uint64_t last = part.start + part.size;

	part.size = start > part.start ? start - part.start : 0;
	add_part(f, part);
	if (end >= last)
		return;
	behind.start = end;
	behind.size = last - end;
	behind.offset += end - part.start;
	add_part(f, behind);
}

void serve_files_cut(struct serve_files *f, uint64_t start, uint64_t end)
{
	for (size_t i = f->nr; i--;) {
		struct serve_part part = f->part[i];

		if (part.to != UINT32_MAX || part.start >= end || part.start + part.size <= start)
			continue;
		f->part[i].to = f->space;
		keep_rest(f, part, start, end);
	}
}

void serve_files_end(struct serve_files *f, uint32_t file)
{
	for (size_t i = 0; i < f->nr; i++)
		if (f->part[i].to == UINT32_MAX && (!file || f->part[i].file == file))
			f->part[i].to = f->space;
}

size_t serve_files_read(const struct serve_files *f, uint32_t space, uint64_t addr, void *buf,
			size_t len)
{
	size_t done = 0, i;
	ssize_t n;

	do {
		for (n = 0, i = 0; i < f->nr && n <= 0; i++) {
			const struct serve_part *p = &f->part[i];
			uint64_t at = addr + done - p->start;
			size_t want = len - done;

			if (at >= p->size || space < p->from || space >= p->to)
				continue;
			if (want > p->size - at)
				want = p->size - at;
			n = pread(p->fd, (char *)buf + done, want, (off_t)(p->offset + at));
		}
		done += n > 0 ? (size_t)n : 0;
	} while (n > 0 && done < len);
	return done;
}

void serve_files_free(struct serve_files *f)
{
	for (size_t i = 0; i < f->nr_fds; i++)
		close(f->fd[i]);
	free(f->fd);
	free(f->part);
}
