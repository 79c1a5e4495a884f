// SPDX-License-Identifier: GPL-2.0-only
/*
 * Symbols of addresses in a recording. Those of files come from their own symbol tables, those of
 * the kernel from the kallsyms that perf record --kcore copied.
 */
#include <limits.h>
#include <string.h>

#include "rec.h"

bool rec_place(struct rec *rec, const struct rec_space *space, uint64_t addr, const char **file,
	       uint64_t *offset)
{
	const struct rec_mapping *m;

	*offset = 0;
	*file = "[kernel.kallsyms]";
	if (!addr || rec_is_kernel(rec, addr))
		return addr;
	m = space ? rec_space_find(space, addr) : NULL;
	if (!m)
		return false;
	*file = m->file->name;
	*offset = m->offset + (addr - m->start);
	return true;
}

const struct rec_file *rec_file_at(const struct rec *rec, const struct rec_space *space,
				   uint64_t addr)
{
	const struct rec_mapping *m = NULL;

	if (space && !rec_is_kernel(rec, addr))
		m = rec_space_find(space, addr);
	return m ? m->file : NULL;
}

const char *rec_file_symbol(struct rec *rec, struct rec_file *f, uint64_t at, uint64_t *offset)
{
	if (!rec_file_open(rec, f) || !rec_file_address(f, at, &at))
		return NULL;
	if (!f->symbols && f->vdso && rec->info.vdso_size)
		f->symbols = symbols_of_memory(rec->info.vdso, rec->info.vdso_size, rec->info.xlen);
	else if (!f->symbols)
		f->symbols = symbols_of_file(f->path, rec->info.xlen);
	return symbols_find(f->symbols, at, offset);
}

static const char *user_symbol(struct rec *rec, const struct rec_task *task, uint64_t addr,
			       uint64_t *offset)
{
	const struct rec_space *space = rec_task_space(rec, task);
	const struct rec_mapping *m = space ? rec_space_find(space, addr) : NULL;

	return m ? rec_file_symbol(rec, m->file, m->offset + (addr - m->start), offset) : NULL;
}

struct symbols *rec_kernel_symbols(struct rec *rec)
{
	char path[PATH_MAX];
	int n;

	if (!rec->kernel_symbols_read) {
		rec->kernel_symbols_read = true;
		n = nt_perfdata_beside(rec->pd, NTRACE_KCORE_START "/kallsyms", path, sizeof(path));
		if (n && n < (int)sizeof(path))
			rec->kernel_symbols = symbols_of_kallsyms(path);
	}
	return rec->kernel_symbols;
}

static const char *kernel_symbol(struct rec *rec, uint64_t addr, uint64_t *offset)
{
	struct symbols *symbols = rec_kernel_symbols(rec);

	return symbols ? symbols_find(symbols, addr, offset) : NULL;
}

const char *rec_symbol(struct rec *rec, const struct rec_task *task, uint64_t addr,
		       uint64_t *offset)
{
	if (!addr)
		return NULL;
	return rec_is_kernel(rec, addr) ? kernel_symbol(rec, addr, offset) :
					  user_symbol(rec, task, addr, offset);
}

void rec_symbols_free(struct rec *rec)
{
	symbols_free(rec->kernel_symbols);
}
