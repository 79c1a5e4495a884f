// SPDX-License-Identifier: GPL-2.0-only
/*
 * Access to code: the bytes of a process or of the kernel, as they are mapped at the current time.
 * The code of a file is decoded once for all processes that map it.
 */
#include <stdlib.h>
#include <string.h>

#include "rec.h"

/* Limit for decoded code. The least recently executed code is freed first. */
#define CODE_LIMIT	(512ull << 20)

/* ------------------------------------------------------------- the kernel */

static int read_kernel(void *ctx, uint64_t number, uint64_t addr, void *buf, size_t len)
{
	const struct rec_space *space = ctx;

	(void)number;
	return (int)rec_kcore_read(space->rec, space->at_end, addr, buf, len);
}

static void made_kernel(void *ctx, uint64_t number, uint64_t pc, size_t len)
{
	(void)number;
	rec_kcore_ran(((const struct rec_space *)ctx)->rec, pc, len);
}

/* -------------------------------------------------------------- processes */

/* Looking up a mapping is expensive, so read more than was asked for. */
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

/*
 * There is one kernel, but it patches its code, so the start and the end of the recording have
 * separate code.
 */
struct nt_code *rec_code_kernel(struct rec *rec, bool at_end)
{
	struct rec_space **space = &rec->kernel[at_end];

	if (!*space) {
		*space = calloc(1, sizeof(**space));
		if (!*space)
			die("%s", nt_strerror(NT_ENOMEM));
		(*space)->rec = rec;
		(*space)->at_end = at_end;
	}
	if (!(*space)->code) {
		(*space)->code = new_code(rec, read_kernel, NULL, *space, 0);
		nt_code_tell((*space)->code, made_kernel);
	}
	return (*space)->code;
}

void rec_code_changed(struct rec_space *space, uint64_t start, uint64_t end)
{
	space->chunk_len = 0;
	if (space->code)
		nt_code_invalidate(space->code, start, end);
}

void rec_code_kernel_changed(struct rec *rec, uint64_t start, uint64_t end)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		if (rec->kernel[i])
			rec_code_changed(rec->kernel[i], start, end);
	}
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
	unsigned int i;
	size_t at = 0;

	rec_code_release(rec);
	while ((space = rec_map_next(&rec->spaces, &at))) {
		nt_code_free(space->code);
		space->code = NULL;
	}
	for (i = 0; i < 2; i++) {
		if (!rec->kernel[i])
			continue;
		nt_code_free(rec->kernel[i]->code);
		rec->kernel[i]->code = NULL;
	}
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
	free(rec->kernel[0]);
	free(rec->kernel[1]);
}
