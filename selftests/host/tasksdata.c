// SPDX-License-Identifier: GPL-2.0-only
/*
 * A perf.data of many short-lived processes on one CPU: tasksdata NR TIDS WINDOW ELF TRACE
 * [STRETCH] >perf.data
 *
 * Process number i has the ID 1000 + i % TIDS and the name "p<i>". It maps ELF and ends a
 * millisecond after the one before. TRACE has a stretch for each, which a sync message begins, and
 * whose Ownership message names it. One AUX record tells of the trace of WINDOW processes, when all
 * of these have ended.
 *
 * STRETCH: records are not in the order of time. Of so many processes those with odd numbers come
 * behind the others, as if they were of another CPU's buffer. Process 0 was there before: what is
 * known of it has no time, and comes last, as perf record --tail-synthesize writes it.
 */
#include <elf.h>
#include <stdio.h>

#define MAKE_ROOM	((size_t)64 << 20)
#include "ntrace-info.h"
#include "perfdata-make.h"

#define PARENT	1
#define APART	1000000ull	/* ns from one process to the next */

static struct make m;

static void put_info(void)
{
	const uint64_t header[NTRACE_INFO_HEADER_MAX] = {
		[NTRACE_INFO_VERSION] = NTRACE_INFO_MAJOR << 16 | NTRACE_INFO_MINOR,
		[NTRACE_INFO_HEADER_WORDS] = NTRACE_INFO_HEADER_MAX,
		[NTRACE_INFO_NR_CPUS] = 1,
		[NTRACE_INFO_CPU_WORDS] = NTRACE_INFO_CPU_MAX,
		[NTRACE_INFO_PMU_TYPE] = PMU_TYPE,
		[NTRACE_INFO_XLEN] = 64,
	};
	const uint64_t cpu[NTRACE_INFO_CPU_MAX] = { [NTRACE_INFO_CPU_NR] = 1 };

	begin(&m, 70, 0);
	put32(&m, NTRACE_AUXTRACE_TYPE);
	put32(&m, 0);
	put(&m, header, sizeof(header));
	put(&m, cpu, sizeof(cpu));
	end(&m);
	put_id_index(&m);
	begin(&m, 21, 0);
	put64(&m, NTRACE_HW_ID_VERSION_1 | 6 << 4 | NTRACE_HW_ID_PRIV_U | NTRACE_HW_ID_PRIVATE |
		  NTRACE_HW_ID_CONTEXT);
	end_with(&m, PARENT, PARENT, 1, 1, ID_TRACE);
}

/* A process begins (FORK) or ends (EXIT). */
static void put_task(uint32_t type, int tid, uint64_t time)
{
	begin(&m, type, 0);
	put32(&m, tid);
	put32(&m, PARENT);
	put32(&m, tid);
	put32(&m, PARENT);
	put64(&m, time);
	end_with(&m, tid, tid, time, 1, ID_DUMMY);
}

static void put_exec(int tid, unsigned long i, uint64_t time)
{
	char name[32];

	snprintf(name, sizeof(name), "p%lu", i);
	begin(&m, 3, 1 << 13);
	put32(&m, tid);
	put32(&m, tid);
	put_text(&m, name, 8);
	end_with(&m, tid, tid, time, 1, ID_DUMMY);
}

static void put_maps(const char *path, const uint8_t *elf, int tid, uint64_t time)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)elf;
	const Elf64_Phdr *ph = (const Elf64_Phdr *)(elf + eh->e_phoff);
	unsigned int i;

	for (i = 0; i < eh->e_phnum; i++) {
		if (ph[i].p_type != PT_LOAD || !(ph[i].p_flags & PF_X))
			continue;
		begin(&m, 10, 2);
		put32(&m, tid);
		put32(&m, tid);
		put64(&m, ph[i].p_vaddr);
		put64(&m, ph[i].p_filesz);
		put64(&m, ph[i].p_offset);
		put64(&m, 0);
		put64(&m, 0);
		put64(&m, 0);
		put32(&m, 5);
		put32(&m, 2);
		put_text(&m, path, 8);
		end_with(&m, tid, tid, time, 1, ID_DUMMY);
	}
}

static void put_window(size_t from, size_t to, int tid, uint64_t time)
{
	begin(&m, 11, 0);
	put64(&m, from);
	put64(&m, to - from);
	put64(&m, 0);
	end_with(&m, tid, tid, time, 1, ID_TRACE);
}

static void put_trace(const uint8_t *trace, size_t len)
{
	const size_t filled = (len + 7) & ~(size_t)7;

	begin(&m, 71, 0);
	put64(&m, filled);
	put64(&m, 0);
	put64(&m, 0);
	put32(&m, 3);
	put32(&m, (uint32_t)-1);
	put32(&m, 1);
	put32(&m, 0);
	end(&m);
	put(&m, trace, len);
	put(&m, "\0\0\0\0\0\0\0", filled - len);
}

struct run {
	const char *path;
	uint8_t *elf, *trace;
	size_t len, from, to;
	unsigned long nr, tids, window;
	struct nt_params params;
};

static uint64_t time_of(unsigned long i)
{
	return (i + 1) * APART;
}

static void put_process(const struct run *r, unsigned long i, bool timed)
{
	const uint64_t time = timed ? time_of(i) : 0;
	const int tid = 1000 + (int)(i % r->tids);

	if (timed)
		put_task(7, tid, time);
	put_exec(tid, i, time + timed);
	put_maps(r->path, r->elf, tid, time + 2 * timed);
	if (timed)
		put_task(4, tid, time + APART / 2);
}

/* Report its trace, if the process is the last one of a window. */
static void put_trace_of(struct run *r, unsigned long i)
{
	r->to = i + 1 == r->nr ? r->len : nt_msg_find_sync(&r->params, r->trace, r->len, r->to + 8);
	if ((i + 1) % r->window && i + 1 != r->nr)
		return;
	put_window(r->from, r->to, PARENT, time_of(i) + APART / 2 + 1);
	r->from = r->to;
}

static void put_in_order(struct run *r)
{
	unsigned long i;

	for (i = 0; i < r->nr; i++) {
		put_process(r, i, true);
		put_trace_of(r, i);
	}
}

static void put_stretch(struct run *r, unsigned long first, unsigned long end)
{
	unsigned long i;

	for (i = first + first % 2; i < end; i += 2)
		if (i)
			put_process(r, i, true);
	for (i = first + !(first % 2); i < end; i += 2)
		put_process(r, i, true);
	for (i = first; i < end; i++)
		put_trace_of(r, i);
}

int main(int argc, char **argv)
{
	unsigned long stretch, i;
	struct run r = { .from = 0 };
	struct header h;
	size_t elf_len;

	if (argc != 6 && argc != 7)
		return 2;
	r.nr = strtoul(argv[1], NULL, 0);
	r.tids = strtoul(argv[2], NULL, 0);
	r.window = strtoul(argv[3], NULL, 0);
	r.path = argv[4];
	r.elf = load(argv[4], &elf_len);
	r.trace = load(argv[5], &r.len);
	stretch = argc == 7 ? strtoul(argv[6], NULL, 0) : 0;
	nt_params_init(&r.params);
	h = put_header(&m);
	put_info();
	if (!stretch)
		put_in_order(&r);
	for (i = 0; stretch && i < r.nr; i += stretch)
		put_stretch(&r, i, i + stretch < r.nr ? i + stretch : r.nr);
	if (stretch)
		put_process(&r, 0, false);
	put_trace(r.trace, r.len);
	put_features(&m, &h, 0, NULL);
	return fwrite(m.bytes, 1, m.len, stdout) != m.len;
}
