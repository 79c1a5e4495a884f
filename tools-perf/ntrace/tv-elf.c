// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace tv from-elf: state initialisation that loads a program
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tv.h"

#define STORES	64			/* per group */
#define MOST	((uint64_t)1 << 30)	/* of a segment, because headers may contain any size */

struct loader {
	const char *path, *to;
	struct nt_tv_writer w;
	unsigned int stores;	/* in the open group */
	uint8_t buf[1 << 16];
};

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "Write to FILE, not to standard output", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct loader *l = state->input;

	switch (key) {
	case 'o':
		l->to = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (l->path)
			argp_error(state, "more than one ELF file: `%s' and `%s'", l->path, arg);
		l->path = arg;
		return 0;
	case ARGP_KEY_END:
		if (!l->path)
			argp_error(state, "no ELF file given");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static int write_out(void *ctx, const uint8_t *buf, size_t len)
{
	(void)ctx;
	if (fwrite(buf, 1, len, stdout) != len)
		out_done();
	return 0;
}

static void end_group(struct loader *l)
{
	if (l->stores)
		nt_tv_end(&l->w);
	l->stores = 0;
}

static void store(struct loader *l, uint64_t addr, unsigned int memsize, uint64_t value)
{
	if (!l->stores) {
		nt_tv_begin(&l->w);
		nt_tv_state_init(&l->w);
	}
	nt_tv_memreq(&l->w, NT_TV_STORE, memsize, addr, value);
	nt_tv_memrsp(&l->w, NT_TV_STORE, memsize, NT_TV_SUCCESS, 0);
	if (++l->stores == STORES)
		end_group(l);
}

/* Store a segment in aligned units, as large as possible. */
static void store_segment(struct loader *l, const GElf_Phdr *ph, const uint8_t *bytes)
{
	uint64_t at = 0;

	while (at < ph->p_memsz) {
		uint64_t addr = ph->p_paddr + at, value = 0;
		unsigned int memsize = 3;

		while (memsize && (addr & ((1u << memsize) - 1) ||
				   ph->p_memsz - at < 1u << memsize))
			memsize--;
		for (unsigned int i = 0; i < 1u << memsize && at + i < ph->p_filesz; i++)
			value |= (uint64_t)bytes[at + i] << 8 * i;
		store(l, addr, memsize, value);
		at += 1u << memsize;
	}
	end_group(l);
}

static void load(struct loader *l, Elf *elf)
{
	size_t n, size, i;
	const char *raw = elf_rawfile(elf, &size);
	GElf_Phdr ph;

	if (!raw || elf_getphdrnum(elf, &n))
		die("%s: cannot read its program headers: %s", l->path, elf_errmsg(-1));
	for (i = 0; i < n; i++) {
		if (!gelf_getphdr(elf, (int)i, &ph))
			die("%s: cannot read program header %zu: %s", l->path, i, elf_errmsg(-1));
		if (ph.p_type != PT_LOAD)
			continue;
		if (ph.p_offset > size || ph.p_filesz > size - ph.p_offset)
			die("%s: segment %zu has 0x%" PRIx64 " bytes from 0x%" PRIx64 ", the file "
			    "only 0x%zx in all: it was cut", l->path, i, (uint64_t)ph.p_filesz,
			    (uint64_t)ph.p_offset, size);
		if (ph.p_filesz > ph.p_memsz)
			die("%s: segment %zu has 0x%" PRIx64 " bytes in the file, more than the "
			    "0x%" PRIx64 " in memory", l->path, i, (uint64_t)ph.p_filesz,
			    (uint64_t)ph.p_memsz);
		if (ph.p_memsz > MOST)
			die("%s: segment %zu has %" PRIu64 " bytes, more than %" PRIu64, l->path, i,
			    (uint64_t)ph.p_memsz, MOST);
		store_segment(l, &ph, (const uint8_t *)raw + ph.p_offset);
	}
}

static void open_output(struct loader *l, const GElf_Ehdr *head)
{
	unsigned int xlen = head->e_ident[EI_CLASS] == ELFCLASS32 ? 32 : 64;
	const struct nt_tv_params params = { sizeof(params), (uint8_t)xlen, 64, (uint8_t)xlen, 0 };

	if (l->to)
		out_to(l->to);
	nt_tv_writer_init(&l->w, &params, l->buf, sizeof(l->buf), write_out, l);
}

int tv_from_elf(int argc, char **argv)
{
	static const struct argp argp = { options, parse, "ELF",
		"Write state-initialisation groups that load an ELF file: its segments at their "
		"physical addresses, what the file leaves out as zeros, and the pc.",
		NULL, NULL, NULL };
	static struct loader l;
	GElf_Ehdr head;
	Elf *elf;
	int fd;

	parse_arguments(&argp, argc, argv, &l);
	input_refuse(l.to, l.path, "ELF file");
	fd = open(l.path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die("%s: %s", l.path, strerror(errno));
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &head) ||
	    head.e_machine != EM_RISCV)
		die("%s: not a RISC-V ELF file", l.path);
	open_output(&l, &head);
	load(&l, elf);
	nt_tv_begin(&l.w);
	nt_tv_state_init(&l.w);
	nt_tv_pc(&l.w, head.e_entry);
	nt_tv_end(&l.w);
	nt_tv_flush(&l.w);
	out_done();
	elf_end(elf);
	close(fd);
	return EXIT_WHOLE;
}
