// SPDX-License-Identifier: GPL-2.0-only
/*
 * The code for decoding: bytes of a process or of the kernel, according to perf's current maps
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>

#include "addr_location.h"
#include "debug.h"
#include "dso.h"
#include "event.h"
#include "machine.h"
#include "map.h"
#include "maps.h"
#include "session.h"
#include "symbol.h"
#include "thread.h"
#include "vdso.h"
#include "ntrace-priv.h"

/* Read bytes in chunks of this size, because looking up a map is expensive. */
#define CHUNK	256

/* Limit for decoded code; the least recently executed code is dropped first. */
#define CODE_LIMIT	(512ull << 20)

struct ntrace_space {
	struct ntrace	*nt;
	struct thread	*thread;	/* its maps */
	u8		cpumode;
	bool		at_end;		/* the kernel's text at the end of the recording */
	struct nt_code	*code;
	u64		chunk_addr;
	size_t		chunk_len;	/* 0: none */
	u8		chunk[CHUNK];
};

/* There is no file of the vDSO; perf.data has a copy from the recording. */
static ssize_t read_vdso(struct ntrace *nt, u64 offset, u8 *buf, size_t len)
{
	if (offset >= nt->info.vdso_size)
		return 0;
	len = min(len, nt->info.vdso_size - (size_t)offset);
	memcpy(buf, (u8 *)nt->info.vdso + offset, len);
	return len;
}

static void warn_unreadable(struct dso *dso, u64 addr)
{
	if (dso__auxtrace_warned(dso))
		return;
	pr_err("ntrace: cannot read %s, executed at %#" PRIx64
	       ": its trace cannot be decoded (see --symfs, --kcore, perf buildid-cache)\n",
	       dso__long_name(dso) ?: "an unnamed file", addr);
	dso__set_auxtrace_warned(dso);
}

static ssize_t read_map(struct ntrace_space *s, struct map *map, u64 addr, u8 *buf, size_t len)
{
	struct dso *dso = map__dso(map);
	u64 left = map__end(map) - addr;
	ssize_t n;

	if (!dso)
		return 0;
	if (left < len)
		len = left;
	if (dso__is_vdso(dso) && s->nt->info.vdso_size)
		return read_vdso(s->nt, addr - map__start(map), buf, len);

	if (s->cpumode == PERF_RECORD_MISC_USER && !ntrace_file_fits(s->nt, dso))
		return 0;
	n = dso__data_read_offset(dso, s->nt->machine, map__map_ip(map, addr), buf, len);
	if (n <= 0)
		warn_unreadable(dso, addr);
	return n;
}

static void read_chunk(struct ntrace_space *s, u64 addr)
{
	struct addr_location al;
	ssize_t n = 0;

	addr_location__init(&al);
	if (thread__find_map(s->thread, s->cpumode, addr, &al)) {
		/* Loading a module's map finds its offset in the file. */
		if (s->cpumode == PERF_RECORD_MISC_KERNEL)
			map__load(al.map);
		n = read_map(s, al.map, addr, s->chunk, CHUNK);
		if (n > 0 && s->at_end)
			ntrace_kcore_read_end(s->nt, addr, s->chunk, n);
	}
	addr_location__exit(&al);
	s->chunk_addr = addr;
	s->chunk_len = n > 0 ? n : 0;
}

static int space_read(void *ctx, uint64_t space __maybe_unused, uint64_t addr, void *buf,
		      size_t len)
{
	struct ntrace_space *s = ctx;
	size_t at;

	if (len > CHUNK)
		len = CHUNK;
	at = addr - s->chunk_addr;
	if (addr < s->chunk_addr || at >= s->chunk_len) {
		read_chunk(s, addr);
		at = 0;
	}
	if (len > s->chunk_len - at)
		len = s->chunk_len - at;
	memcpy(buf, s->chunk + at, len);
	return len;
}

/* Report only patched code that ran. */
static void space_made(void *ctx, uint64_t space __maybe_unused, uint64_t pc, size_t len)
{
	ntrace_kcore_ran(((struct ntrace_space *)ctx)->nt, pc, len);
}

/*
 * A file's code is decoded once for all processes that map it. The machine keeps its dsos, so a
 * dso's address identifies it.
 */
static int space_map(void *ctx, uint64_t space __maybe_unused, uint64_t addr,
		     struct nt_mapping *mapping)
{
	struct ntrace_space *s = ctx;
	struct addr_location al;
	struct dso *dso;
	int err = -1;

	addr_location__init(&al);
	if (thread__find_map(s->thread, s->cpumode, addr, &al)) {
		dso = map__dso(al.map);
		mapping->start	= map__start(al.map);
		mapping->end	= map__end(al.map);
		mapping->file	= (uintptr_t)dso;
		mapping->offset	= map__map_ip(al.map, mapping->start);
		err = 0;
	}
	addr_location__exit(&al);
	return err;
}

static struct ntrace_space *space_new(struct ntrace *nt, struct thread *thread, u8 cpumode)
{
	struct ntrace_space *s = zalloc(sizeof(*s));

	if (!s)
		return NULL;
	s->nt = nt;
	s->cpumode = cpumode;
	s->thread = thread__get(thread);
	if (!nt->store)
		nt->store = nt_store_new(&nt->code_params, CODE_LIMIT);
	/* There is only one kernel, and its code may differ from its files. */
	s->code = nt_store_code(nt->store, 0, space_read,
				cpumode == PERF_RECORD_MISC_USER ? space_map : NULL, s);
	if (!s->code) {
		thread__put(s->thread);
		zfree(&s);
		return NULL;
	}
	if (cpumode == PERF_RECORD_MISC_KERNEL)
		nt_code_tell(s->code, space_made);
	return s;
}

static void space_free(struct ntrace_space *s)
{
	if (!s)
		return;
	nt_code_free(s->code);
	thread__put(s->thread);
	free(s);
}

static void space_changed(struct ntrace_space *s, u64 start, u64 end)
{
	s->chunk_len = 0;
	nt_code_invalidate(s->code, start, end);
}

struct nt_code *ntrace_space_code(struct ntrace_space *space)
{
	return space ? space->code : NULL;
}

struct ntrace_space *ntrace_space_get(struct ntrace *nt, pid_t pid, struct thread *thread)
{
	struct ntrace_space *s = NULL;

	if (hashmap__find(nt->spaces, (long)pid, &s))
		return s;

	s = space_new(nt, thread, PERF_RECORD_MISC_USER);
	if (s && hashmap__add(nt->spaces, (long)pid, s)) {
		space_free(s);
		s = NULL;
	}
	return s;
}

/*
 * Loading the kernel's own map may replace all kernel maps with those of a kcore, which contains
 * the modules, too, as they were in memory.
 */
static void load_kernel(struct ntrace *nt)
{
	struct map *map = machine__kernel_map(nt->machine);

	if (map)
		map__load(map);
}

/* @at_end: with the text at the end of the recording, not at the start */
struct ntrace_space *ntrace_space_kernel(struct ntrace *nt, bool at_end)
{
	struct ntrace_space **s = &nt->kernel[at_end];

	if (!*s) {
		load_kernel(nt);
		*s = space_new(nt, nt->unknown_thread, PERF_RECORD_MISC_KERNEL);
		if (*s)
			(*s)->at_end = at_end;
	}
	return *s;
}

void ntrace_space_changed(struct ntrace *nt, pid_t pid, u64 start, u64 end)
{
	struct ntrace_space *s = NULL;

	if (hashmap__find(nt->spaces, (long)pid, &s))
		space_changed(s, start, end);
}

void ntrace_kernel_changed(struct ntrace *nt, u64 start, u64 end)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(nt->kernel); i++) {
		if (nt->kernel[i])
			space_changed(nt->kernel[i], start, end);
	}
}

/* Call this before code is freed. */
static void forget_code(struct ntrace *nt)
{
	unsigned int i;

	for (i = 0; i < nt->nr_queues; i++) {
		if (nt->queue[i])
			nt_session_queue_forget_code(&nt->queue[i]->s);
	}
}

/* A new process has the PID of one that has ended. */
void ntrace_space_drop(struct ntrace *nt, pid_t pid)
{
	struct ntrace_space *s = NULL;

	if (!hashmap__delete(nt->spaces, (long)pid, NULL, &s))
		return;
	forget_code(nt);
	space_free(s);
}

void ntrace_spaces_free(struct ntrace *nt)
{
	struct hashmap_entry *entry;
	unsigned int i;
	size_t bkt;

	forget_code(nt);
	if (!IS_ERR_OR_NULL(nt->spaces)) {
		hashmap__for_each_entry(nt->spaces, entry, bkt)
			space_free(entry->pvalue);
		hashmap__clear(nt->spaces);
	}
	for (i = 0; i < ARRAY_SIZE(nt->kernel); i++) {
		space_free(nt->kernel[i]);
		nt->kernel[i] = NULL;
	}
	nt_store_free(nt->store);
	nt->store = NULL;
}

/* The name of the mapping at an address, for messages */
const char *ntrace_space_dso(struct ntrace *nt, struct thread *thread, u64 addr)
{
	bool kernel = ntrace_is_kernel(nt, addr);
	u8 cpumode = kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
	const char *name = NULL;
	struct addr_location al;

	if (!thread)
		return NULL;
	addr_location__init(&al);
	if (thread__find_map(thread, cpumode, addr, &al) && map__dso(al.map))
		name = dso__short_name(map__dso(al.map));
	addr_location__exit(&al);
	return name;
}
