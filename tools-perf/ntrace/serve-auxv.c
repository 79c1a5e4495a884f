// SPDX-License-Identifier: GPL-2.0-only
/*
 * The auxiliary vector, as far as it follows from the program's file and where it was: GDB finds out
 * from it where a program that is not at its file's addresses is.
 */
#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "serve.h"

static void put_word(struct serve_recording *r, uint64_t value)
{
	size_t bytes = r->xlen / 8;

	for (size_t i = 0; i < bytes; i++)
		r->auxv[r->auxv_size++] = (uint8_t)(value >> 8 * i);
}

static void put(struct serve_recording *r, uint64_t type, uint64_t value)
{
	put_word(r, type);
	put_word(r, value);
}

/* Where the loader was: among the libraries, by the name that the program has for it */
static uint64_t find_base(const struct serve_recording *r, Elf *elf, const GElf_Phdr *ph)
{
	size_t size;
	const char *file = elf_rawfile(elf, &size), *name, *end;

	if (!file || ph->p_offset >= size)
		return 0;
	name = file + ph->p_offset;
	if (!memchr(name, 0, size - ph->p_offset))
		return 0;
	end = strrchr(name, '/');
	for (size_t i = 0; end && i < r->nr_libraries; i++) {
		const char *slash = strrchr(r->library[i].path, '/');

		if (slash && !strcmp(slash, end))
			return r->library[i].bias;
	}
	return 0;
}

static void fill(struct serve_recording *r, Elf *elf, const GElf_Ehdr *eh)
{
	uint64_t headers = eh->e_phoff, base = 0;
	size_t nr, i;
	GElf_Phdr ph;

	if (elf_getphdrnum(elf, &nr))
		return;
	for (i = 0; i < nr; i++) {
		if (!gelf_getphdr(elf, (int)i, &ph))
			continue;
		if (ph.p_type == PT_LOAD && eh->e_phoff >= ph.p_offset &&
		    eh->e_phoff < ph.p_offset + ph.p_filesz)
			headers = ph.p_vaddr + (eh->e_phoff - ph.p_offset);
		if (ph.p_type == PT_INTERP)
			base = find_base(r, elf, &ph);
	}
	r->auxv = calloc(7, 16);
	if (!r->auxv)
		die("%s", nt_strerror(NT_ENOMEM));
	put(r, AT_PHDR, headers + r->bias);
	put(r, AT_PHENT, eh->e_phentsize);
	put(r, AT_PHNUM, nr);
	put(r, AT_PAGESZ, 4096);
	if (base)
		put(r, AT_BASE, base);
	put(r, AT_ENTRY, eh->e_entry + r->bias);
	put(r, AT_NULL, 0);
}

void serve_auxv_make(struct serve_recording *r)
{
	int fd = open(r->exec_file, O_RDONLY | O_CLOEXEC);
	GElf_Ehdr eh;
	Elf *elf;

	elf = fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
	if (elf && gelf_getehdr(elf, &eh))
		fill(r, elf, &eh);
	elf_end(elf);
	if (fd >= 0)
		close(fd);
}
