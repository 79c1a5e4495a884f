// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write the records at the start of a file: machine and clock, event IDs, and the existing tasks
 * and mappings.
 */
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "cmd.h"

void capture_begin_clock(struct capture *c)
{
	uint64_t *word = c->info.word;
	const struct perf_event_mmap_page *page = c->ring[0].page;
	uint32_t seq;
	bool zero, is_short;

	do {
		seq = __atomic_load_n(&page->lock, __ATOMIC_ACQUIRE);
		zero = page->cap_user_time_zero;
		is_short = page->cap_user_time_short;
		word[NTRACE_INFO_TIME_SHIFT] = page->time_shift;
		word[NTRACE_INFO_TIME_MULT] = page->time_mult;
		word[NTRACE_INFO_TIME_ZERO] = page->time_zero;
		word[NTRACE_INFO_TIME_CYCLES] = page->time_cycles;
		word[NTRACE_INFO_TIME_MASK] = page->time_mask;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (__atomic_load_n(&page->lock, __ATOMIC_RELAXED) != seq || seq & 1);
	word[NTRACE_INFO_TIME_CAPS] = (zero ? NTRACE_INFO_TIME_CAP_ZERO : 0) |
				      (zero && is_short ? NTRACE_INFO_TIME_CAP_SHORT : 0);
}

static void write_clock(struct capture *c)
{
	const uint64_t *word = c->info.word;
	struct {
		struct perf_event_header header;
		uint64_t shift, mult, zero, cycles, mask;
		uint8_t have_zero, is_short, reserved[6];
	} rec = {
		.header = { .type = NT_PERFDATA_TIME_CONV, .size = sizeof(rec) },
		.shift = word[NTRACE_INFO_TIME_SHIFT], .mult = word[NTRACE_INFO_TIME_MULT],
		.zero = word[NTRACE_INFO_TIME_ZERO], .cycles = word[NTRACE_INFO_TIME_CYCLES],
		.mask = word[NTRACE_INFO_TIME_MASK], .have_zero = 1,
		.is_short = !!(word[NTRACE_INFO_TIME_CAPS] & NTRACE_INFO_TIME_CAP_SHORT),
	};

	if (word[NTRACE_INFO_TIME_CAPS] & NTRACE_INFO_TIME_CAP_ZERO)
		capture_file_write(c, &rec, sizeof(rec));
}

/* Write the buffer, CPU and task of each ID, with as many IDs in a record as fit. */
static void write_index(struct capture *c)
{
	const size_t most = (UINT16_MAX - 16) / 32;
	struct capture_bytes b = { NULL, 0, 0 };
	size_t i, k, n;

	for (i = 0; i < c->nr_fds; i += n) {
		n = c->nr_fds - i < most ? c->nr_fds - i : most;
		const struct perf_event_header header = {
			.type = NT_PERFDATA_ID_INDEX, .size = 16 + n * 32,
		};

		b.len = 0;
		capture_put(&b, &header, sizeof(header));
		capture_put64(&b, n);
		for (k = i; k < i + n; k++) {
			capture_put64(&b, c->fd[k].id);
			capture_put64(&b, c->fd[k].ring);
			capture_put64(&b, c->fd[k].cpu);
			capture_put64(&b, (int64_t)c->fd[k].tid);
		}
		capture_file_write(c, b.p, b.len);
	}
	free(b.p);
}

static void write_info(struct capture *c)
{
	size_t len = c->info.nr * sizeof(uint64_t);
	struct {
		struct perf_event_header header;
		uint32_t type, reserved;
	} rec = {
		.header = { .type = NT_PERFDATA_AUXTRACE_INFO, .size = sizeof(rec) + len },
		.type = NTRACE_AUXTRACE_TYPE,
	};

	if (sizeof(rec) + len > UINT16_MAX)
		die("the description of this machine does not fit into a record: it has too many CPUs");
	capture_file_write(c, &rec, sizeof(rec));
	capture_file_write(c, c->info.word, len);
}

#define FINISHED_INIT	82

/* For the first file, the command has not been executed yet. */
static void write_tasks(struct capture *c)
{
	size_t i;

	if (!c->per_task)
		capture_task_write_all(c);
	for (i = 0; i < c->live.nr; i++)
		if (c->live.id[i] == c->child && !c->files.nr)
			capture_task_write_comm(c, c->child, c->child, "ntrace");
		else
			capture_task_write(c, c->live.id[i], false);
}

void capture_begin_write(struct capture *c)
{
	write_clock(c);
	write_index(c);
	write_info(c);
	capture_task_write_kernel(c);
	write_tasks(c);
	capture_file_write(c, c->hw_ids.p, c->hw_ids.len);
	capture_file_mark(c, FINISHED_INIT);
	capture_file_round(c);
}
