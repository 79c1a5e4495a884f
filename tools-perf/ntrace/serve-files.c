// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that is known from programs' files alone: what a program cannot write to. Anything else
 * may have had another value.
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

/* Sections tell more than segments: a program without an OS often has one that is all of it. */
static bool add_sections(struct serve_files *f, Elf *elf, int fd, uint64_t bias)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	bool any = false;

	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || !(sh.sh_flags & SHF_ALLOC) ||
		    sh.sh_type == SHT_NOBITS)
			continue;
		any = true;
		if (!(sh.sh_flags & SHF_WRITE))
			add_part(f, (struct serve_part){ sh.sh_addr + bias, sh.sh_size,
							sh.sh_offset,
							 fd });
	}
	return any;
}

/* Headers are in no section. A segment without sections is read-only, or of code. */
static void add_segments(struct serve_files *f, Elf *elf, int fd, uint64_t bias, bool code)
{
	size_t nr, i;
	GElf_Phdr ph;

	if (elf_getphdrnum(elf, &nr))
		return;
	for (i = 0; i < nr; i++) {
		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_LOAD)
			continue;
		if (!(ph.p_flags & PF_W) || (code && ph.p_flags & PF_X))
			add_part(f, (struct serve_part){ ph.p_vaddr + bias, ph.p_filesz,
							ph.p_offset,
							 fd });
	}
}

bool serve_files_add_elf(struct serve_files *f, const char *path, uint64_t bias)
{
	int fd = keep_file(f, path);
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF) {
		elf_end(elf);
		return false;
	}
	add_segments(f, elf, fd, bias, !add_sections(f, elf, fd, bias));
	elf_end(elf);
	return true;
}

void serve_files_add(struct serve_files *f, int fd, uint64_t addr, uint64_t size, uint64_t offset)
{
	add_part(f, (struct serve_part){ addr, size, offset, fd });
}

bool serve_files_add_raw(struct serve_files *f, const char *path, uint64_t addr)
{
	int fd = keep_file(f, path);
	struct stat st;

	if (fstat(fd, &st))
		return false;
	add_part(f, (struct serve_part){ addr, (uint64_t)st.st_size, 0, fd });
	return true;
}

size_t serve_files_read(const struct serve_files *f, uint64_t addr, void *buf, size_t len)
{
	size_t done = 0, i;
	ssize_t n;

	do {
		for (n = 0, i = 0; i < f->nr && n <= 0; i++) {
			const struct serve_part *p = &f->part[i];
			uint64_t at = addr + done - p->start;
			size_t want = len - done;

			if (at >= p->size)
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
