// SPDX-License-Identifier: GPL-2.0-only
/*
 * Build-ids of the files that ran. The kernel reports them with each mapping. If it could not read
 * one, the file is read when the recording ends.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "capture.h"
#include "cmd.h"

#define NOTES_MAX	((size_t)64 << 10)
#define SEGMENTS_MAX	256

/* @size: 0: the build-id is not known */
static bool is_that(const struct capture_file_id *f, const char *name, const uint8_t *id,
		    unsigned int size)
{
	return !strcmp(f->name, name) && (!size || (f->size == size && !memcmp(f->id, id, size)));
}

static void note_inode(struct capture_file_id *f, const uint8_t *p)
{
	uint32_t maj, min;

	memcpy(&maj, p, sizeof(maj));
	memcpy(&min, p + 4, sizeof(min));
	memcpy(&f->ino, p + 8, sizeof(f->ino));
	f->dev = makedev(maj, min);
}

void capture_build_id_note(struct capture *c, uint16_t misc, const char *name, const uint8_t *id,
			   unsigned int size)
{
	struct capture_file_id *f;

	if (size > BUILD_ID_MAX)
		size = 0;
	for (f = c->ids; f; f = f->next)
		if (is_that(f, name, id, size))
			return;
	f = calloc(1, sizeof(*f));
	if (f)
		f->name = strdup(name);
	if (!f || !f->name)
		die("%s", nt_strerror(NT_ENOMEM));
	f->misc = misc;
	f->pid = -1;
	f->size = size;
	if (size)
		memcpy(f->id, id, size);
	else if (id)
		note_inode(f, id);
	f->next = c->ids;
	c->ids = f;
}

/* Find the GNU note among notes that are aligned to 4 bytes. */
static unsigned int find_note(const uint8_t *p, size_t len, uint8_t id[BUILD_ID_MAX])
{
	uint32_t name, desc, type;
	size_t at = 0;

	while (len - at >= 12) {
		memcpy(&name, p + at, 4);
		memcpy(&desc, p + at + 4, 4);
		memcpy(&type, p + at + 8, 4);
		at += 12;
		if (name > len - at || desc > len - at ||
		    ((name + 3) & ~3u) + ((desc + 3) & ~3u) > len - at)
			return 0;
		if (type == NT_GNU_BUILD_ID && name == 4 && !memcmp(p + at, "GNU", 4)) {
			if (desc > BUILD_ID_MAX)
				return 0;
			memcpy(id, p + at + 4, desc);
			return desc;
		}
		at += ((name + 3) & ~3u) + ((desc + 3) & ~3u);
	}
	return 0;
}

static unsigned int read_notes(int fd, uint64_t offset, uint64_t size, uint8_t id[BUILD_ID_MAX])
{
	unsigned int found = 0;
	uint8_t *buf;
	ssize_t n;

	if (size > NOTES_MAX)
		size = NOTES_MAX;
	buf = malloc(size + 1);
	if (!buf)
		die("%s", nt_strerror(NT_ENOMEM));
	n = pread(fd, buf, size, offset);
	if (n > 0)
		found = find_note(buf, n, id);
	free(buf);
	return found;
}

unsigned int capture_build_id_notes(const char *path, uint8_t id[BUILD_ID_MAX])
{
	unsigned int found;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	found = read_notes(fd, 0, NOTES_MAX, id);
	close(fd);
	return found;
}

static unsigned int read_elf(int fd, uint8_t id[BUILD_ID_MAX])
{
	unsigned int i, found = 0;
	Elf64_Ehdr ehdr;
	Elf64_Phdr ph;

	if (pread(fd, &ehdr, sizeof(ehdr), 0) != sizeof(ehdr) ||
	    memcmp(ehdr.e_ident, ELFMAG, SELFMAG) || ehdr.e_ident[EI_CLASS] != ELFCLASS64 ||
	    ehdr.e_phentsize != sizeof(ph) || ehdr.e_phnum > SEGMENTS_MAX)
		return 0;
	for (i = 0; i < ehdr.e_phnum && !found; i++) {
		if (pread(fd, &ph, sizeof(ph), ehdr.e_phoff + i * sizeof(ph)) != sizeof(ph))
			return 0;
		if (ph.p_type == PT_NOTE && ph.p_align != 8)
			found = read_notes(fd, ph.p_offset, ph.p_filesz, id);
	}
	return found;
}

unsigned int capture_build_id_read(const char *path, uint8_t id[BUILD_ID_MAX])
{
	unsigned int found;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return 0;
	found = read_elf(fd, id);
	close(fd);
	return found;
}
