// SPDX-License-Identifier: GPL-2.0-only
/*
 * The code that trace is read against: bytes of a process or of the kernel, as they are mapped at
 * this moment. A file's code is decoded once for all who map it.
 */
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rec.h"

/* What decoded code may take; what was not executed for the longest time goes first. */
#define CODE_LIMIT	(512ull << 20)

/* ------------------------------------------------------------- the kernel */

/* Of RV32 it is an ELF32, as the copy of perf record is of either. */
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

static void open_kernel(struct rec_kcore *k, const char *path)
{
	k->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (k->fd >= 0 && !read_segments(k))
		die("%s: is no copy of a kernel's text", path);
}

/* Without a copy the kernel's own file does, if that is the program: but for what it patches. */
void rec_code_open(struct rec *rec)
{
	const char *program = rec->options->program;
	char path[PATH_MAX];
	int n = nt_perfdata_beside(rec->pd, "kcore_dir/kcore", path, sizeof(path));

	rec->kcore.fd = -1;
	if (n && n < (int)sizeof(path))
		open_kernel(&rec->kcore, path);
	if (rec->kcore.fd < 0 && program && !strncmp(last_part(program), "vmlinux", 7))
		open_kernel(&rec->kcore, program);
}

static int read_kernel(void *ctx, uint64_t number, uint64_t addr, void *buf, size_t len)
{
	const struct rec_kcore *k = &((struct rec_space *)ctx)->rec->kcore;
	size_t i;

	(void)number;
	for (i = 0; i < k->nr_segments; i++) {
		const struct rec_segment *s = &k->segment[i];
		uint64_t at = addr - s->addr;
		ssize_t n;

		if (addr < s->addr || at >= s->size)
			continue;
		if (len > s->size - at)
			len = s->size - at;
		n = pread(k->fd, buf, len, s->offset + at);
		return n > 0 ? (int)n : 0;
	}
	return 0;
}

/* -------------------------------------------------------------- processes */

/* Looking up a mapping is dear, so more is read than is asked for. */
static void read_chunk(struct rec_space *space, uint64_t addr)
{
	const struct rec_mapping *m = rec_space_find(space, addr);
	size_t len = sizeof(space->chunk);

	space->chunk_addr = addr;
	space->chunk_len = 0;
	if (!m)
		return;
	if (len > m->end - addr)
		len = m->end - addr;
	space->chunk_len = rec_file_read(space->rec, m->file, m->offset + (addr - m->start),
					 space->chunk, len);
}

static int read_user(void *ctx, uint64_t number, uint64_t addr, void *buf, size_t len)
{
	struct rec_space *space = ctx;
	size_t at = addr - space->chunk_addr;

	(void)number;
	if (addr < space->chunk_addr || at >= space->chunk_len) {
		read_chunk(space, addr);
		at = 0;
	}
	if (len > space->chunk_len - at)
		len = space->chunk_len - at;
	memcpy(buf, space->chunk + at, len);
	return (int)len;
}

static int map_user(void *ctx, uint64_t number, uint64_t addr, struct nt_mapping *mapping)
{
	const struct rec_mapping *m = rec_space_find(ctx, addr);

	(void)number;
	if (!m)
		return -1;
	mapping->start	= m->start;
	mapping->end	= m->end;
	mapping->file	= (uintptr_t)m->file;
	mapping->offset = m->offset;
	return 0;
}

/* ---------------------------------------------------------------- graphs - */

static struct nt_code *new_code(struct rec *rec, nt_read_fn read, nt_map_fn map,
				struct rec_space *space, uint64_t number)
{
	uint64_t memory = rec->options->memory;
	struct nt_code *code;

	if (!rec->store)
		rec->store = nt_store_new(&rec->code_params, memory ? memory / 2 : CODE_LIMIT);
	code = rec->store ? nt_store_code(rec->store, number, read, map, space) : NULL;
	if (!code)
		die("%s", nt_strerror(NT_ENOMEM));
	return code;
}

struct nt_code *rec_code_user(struct rec *rec, struct rec_space *space)
{
	if (!space)
		return NULL;
	if (!space->code)
		space->code = new_code(rec, read_user, map_user, space, (uint64_t)space->pid);
	return space->code;
}

/* The kernel is there once, and may change what its files have. */
struct nt_code *rec_code_kernel(struct rec *rec)
{
	if (!rec->kernel) {
		rec->kernel = calloc(1, sizeof(*rec->kernel));
		if (!rec->kernel)
			die("%s", nt_strerror(NT_ENOMEM));
		rec->kernel->rec = rec;
	}
	if (!rec->kernel->code)
		rec->kernel->code = new_code(rec, read_kernel, NULL, rec->kernel, 0);
	return rec->kernel->code;
}

void rec_code_changed(struct rec_space *space, uint64_t start, uint64_t end)
{
	space->chunk_len = 0;
	if (space->code)
		nt_code_invalidate(space->code, start, end);
}

void rec_code_kernel_changed(struct rec *rec, uint64_t start, uint64_t end)
{
	if (rec->kernel)
		rec_code_changed(rec->kernel, start, end);
}

void rec_code_release(struct rec *rec)
{
	unsigned int i;

	rec_count_end(rec);
	for (i = 0; i < rec->nr_queues; i++) {
		if (rec->queue[i])
			nt_session_queue_forget_code(&rec->queue[i]->s);
	}
}

static void forget(struct rec *rec)
{
	struct rec_space *space;
	size_t at = 0;

	rec_code_release(rec);
	while ((space = rec_map_next(&rec->spaces, &at))) {
		nt_code_free(space->code);
		space->code = NULL;
	}
	if (rec->kernel)
		nt_code_free(rec->kernel->code);
	if (rec->kernel)
		rec->kernel->code = NULL;
	nt_store_free(rec->store);
	rec->store = NULL;
}

static bool same_code(const struct nt_params *a, const struct nt_params *b)
{
	return a->xlen == b->xlen && a->isa == b->isa && a->jvt == b->jvt &&
	       a->seqjump == b->seqjump;
}

void rec_code_use(struct rec *rec, const struct nt_params *params)
{
	if (rec->store && !same_code(&rec->code_params, params))
		forget(rec);
	rec->code_params = *params;
}

void rec_code_free(struct rec *rec)
{
	forget(rec);
	free(rec->kernel);
	free(rec->kcore.segment);
	if (rec->kcore.fd >= 0)
		close(rec->kcore.fd);
}
