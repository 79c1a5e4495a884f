// SPDX-License-Identifier: GPL-2.0-only
/*
 * A recording to be served, from any source: its programs, and freeing it
 */
#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "serve.h"

/* Does the program have GNU's ABI note, which names the operating system? */
static bool has_abi_note(Elf *elf, const GElf_Phdr *ph)
{
	Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)ph->p_offset, ph->p_filesz,
					      ph->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	size_t at = 0, name, desc;
	GElf_Nhdr nhdr;

	while (data && (at = gelf_getnote(data, at, &nhdr, &name, &desc)))
		if (nhdr.n_type == NT_GNU_ABI_TAG && nhdr.n_namesz == sizeof("GNU") &&
		    !memcmp((char *)data->d_buf + name, "GNU", sizeof("GNU")))
			return true;
	return false;
}

struct facts {
	bool is_linux;
	uint64_t start, end;	/* of the loaded segments */
	unsigned int flen;	/* width of the registers that pass floating-point arguments */
};

static void read_facts(Elf *elf, struct facts *facts)
{
	GElf_Ehdr eh;
	GElf_Phdr ph;
	size_t nr;

	*facts = (struct facts){ .start = UINT64_MAX };
	if (!gelf_getehdr(elf, &eh) || elf_getphdrnum(elf, &nr))
		return;
	/* GDB refuses a target without the registers that the program's calling convention uses. */
	if (eh.e_flags & EF_RISCV_FLOAT_ABI)
		facts->flen = (eh.e_flags & EF_RISCV_FLOAT_ABI) == EF_RISCV_FLOAT_ABI_SINGLE ?
			      32 : 64;
	for (size_t i = 0; i < nr; i++) {
		if (!gelf_getphdr(elf, (int)i, &ph))
			continue;
		if (ph.p_type == PT_LOAD && ph.p_vaddr < facts->start)
			facts->start = ph.p_vaddr;
		if (ph.p_type == PT_LOAD && ph.p_vaddr + ph.p_memsz > facts->end)
			facts->end = ph.p_vaddr + ph.p_memsz;
		facts->is_linux |= ph.p_type == PT_INTERP || ph.p_type == PT_DYNAMIC ||
				   (ph.p_type == PT_NOTE && has_abi_note(elf, &ph));
	}
}

/*
 * A library was unmapped. GDB asks for the program's file only once, so a file that is not always
 * mapped is listed as a library.
 */
static void end_library(struct serve_recording *r, struct serve_library *l)
{
	serve_files_end(&r->files, l->file);
	l->to = r->files.space;
	if (l->exec)
		r->exec_file = NULL;
	l->exec = false;
}

static void add_library(struct serve_recording *r, struct serve_library new)
{
	for (size_t i = 0; i < r->nr_libraries; i++) {
		struct serve_library *l = &r->library[i];

		if (l->to == UINT32_MAX || l->start >= new.end || new.start >= l->end)
			continue;
		new.shared = l->shared = true;
	}
	r->library = array_room(r->library, r->nr_libraries, sizeof(*r->library));
	r->library[r->nr_libraries++] = new;
}

void serve_recording_unmap(struct serve_recording *r, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < r->nr_libraries; i++) {
		struct serve_library *l = &r->library[i];

		if (l->to == UINT32_MAX && l->start < end && start < l->end)
			end_library(r, l);
	}
}

void serve_recording_end(struct serve_recording *r)
{
	for (size_t i = 0; i < r->nr_libraries; i++)
		if (r->library[i].to == UINT32_MAX)
			end_library(r, &r->library[i]);
}

static void add_elf(struct serve_recording *r, const char *path, uint64_t bias, bool replace)
{
	struct serve_library new = { .from = r->files.space, .to = UINT32_MAX };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char full[PATH_MAX];
	struct facts facts;
	Elf *elf;

	new.path = strdup(realpath(path, full) ? full : path);
	if (!new.path)
		die("%s", nt_strerror(NT_ENOMEM));
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	read_facts(elf, &facts);
	elf_end(elf);
	close(fd);
	new.start = facts.start + bias;
	new.end = facts.end + bias;
	if (replace)
		serve_recording_unmap(r, new.start, new.end);
	new.file = serve_files_add_elf(&r->files, path, bias);
	if (!new.file)
		die("%s: is no ELF file any more", path);
	new.exec = !r->nr_libraries && !facts.is_linux;
	if (new.exec) {
		r->exec_file = new.path;
		r->flen = facts.flen;
	}
	add_library(r, new);
}

void serve_recording_add_elf(struct serve_recording *r, const char *path, uint64_t bias)
{
	add_elf(r, path, bias, false);
}

void serve_recording_replace(struct serve_recording *r, const char *path, uint64_t bias)
{
	add_elf(r, path, bias, true);
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
	free(r->csr);
	serve_program_free(&r->program);
	serve_files_free(&r->files);
	if (r->free)
		r->free(r->ctx);
}
