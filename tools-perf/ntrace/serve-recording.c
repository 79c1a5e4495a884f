// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is served, whichever source it is from: its programs, and its end
 */
#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "serve.h"

void serve_recording_add_elf(struct serve_recording *r, const char *path, uint64_t bias)
{
	char full[PATH_MAX];
	GElf_Ehdr eh;
	Elf *elf;
	int fd;

	if (!serve_files_add_elf(&r->files, path, bias))
		die("%s: is no ELF file any more", path);
	if (r->exec_file)
		return;
	r->exec_file = strdup(realpath(path, full) ? full : path);
	r->bias = bias;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	/* GDB refuses a target without the registers that calls of the program use. */
	if (elf && gelf_getehdr(elf, &eh) && eh.e_flags & EF_RISCV_FLOAT_ABI)
		r->flen = (eh.e_flags & EF_RISCV_FLOAT_ABI) == EF_RISCV_FLOAT_ABI_SINGLE ? 32 : 64;
	elf_end(elf);
	close(fd);
}

void serve_recording_add_input(struct serve_recording *r, const struct input *in)
{
	for (const struct elf *e = in->elfs; e; e = e->next)
		serve_recording_add_elf(r, e->path, e->bias);
	for (const struct elf *e = in->raws; e; e = e->next)
		if (!serve_files_add_raw(&r->files, e->path, e->bias))
			die("%s: cannot be read", e->path);
}

void serve_recording_free(struct serve_recording *r)
{
	for (size_t i = 0; i < r->nr_tracks; i++)
		serve_track_free(r->track[i]);
	free(r->track);
	for (size_t i = 0; i < r->nr_libraries; i++)
		free(r->library[i].path);
	free(r->library);
	free(r->exec_file);
	free(r->auxv);
	serve_program_free(&r->program);
	serve_files_free(&r->files);
	if (r->free)
		r->free(r->ctx);
}
