// SPDX-License-Identifier: GPL-2.0-only
/*
 * A perf.data by hand, around a trace of a program: recdata KIND ELF TRACE >perf.data
 *	file		as perf record writes it
 *	pipe		as perf record -o -
 *	compressed	as perf record -z
 *	samples		the trace is in samples of the AUX area; samples-compressed: as perf record
 *			-z
 *	partial		with a flag that trace was lost
 *	switch		two threads of which the trace does not tell, but switches do: the second
 *			begins with the second half of the trace, at a sync message
 *	times		a tick of the trace is a nanosecond; from 1150 to 1250 another task ran
 *	orphan		the AUX record of the second half is missing
 *	owners		Ownership messages tell which thread runs
 *	remap		during the second half ELF.other is mapped in place of ELF
 *	exec		the same, by another program
 *	data		another program is executed, and maps ELF as data alone
 *	fork		the second half is a child process's
 *	below@ADDR	what is below ADDR is ELF.other's
 */
#include <elf.h>
#include <stdbool.h>
#include <stdio.h>

#define MAKE_ROOM	((size_t)16 << 20)
#include "ntrace-info.h"
#include "perfdata-make.h"

#define PID	100
#define OTHER	101	/* thread of PID */
#define CHILD	102	/* another process */

static struct make m, side;
static uint8_t *elf, *trace;
static size_t elf_len, trace_len;
static bool timed, owners;
static uint32_t prot = 5;	/* of mappings: to be read and executed */

static void put_info(struct make *f)
{
	uint64_t header[NTRACE_INFO_HEADER_MAX] = {
		[NTRACE_INFO_VERSION] = NTRACE_INFO_MAJOR << 16 | NTRACE_INFO_MINOR,
		[NTRACE_INFO_HEADER_WORDS] = NTRACE_INFO_HEADER_MAX,
		[NTRACE_INFO_NR_CPUS] = 1,
		[NTRACE_INFO_CPU_WORDS] = NTRACE_INFO_CPU_MAX,
		[NTRACE_INFO_PMU_TYPE] = PMU_TYPE,
		[NTRACE_INFO_XLEN] = 64,
	};
	uint64_t cpu[NTRACE_INFO_CPU_MAX] = { [NTRACE_INFO_CPU_NR] = 1 };

	if (timed) {
		header[NTRACE_INFO_TIME_CAPS] = NTRACE_INFO_TIME_CAP_ZERO;
		header[NTRACE_INFO_TIME_MULT] = 1;
		cpu[NTRACE_INFO_CPU_TS_CLOCK] = NTRACE_TS_CLOCK_TIME;
	}
	begin(f, 70, 0);
	put32(f, NTRACE_AUXTRACE_TYPE);
	put32(f, 0);
	put(f, header, sizeof(header));
	put(f, cpu, sizeof(cpu));
	end(f);
}

static void put_map(struct make *f, const char *name, const Elf64_Phdr *ph, uint64_t size,
		    uint64_t time)
{
	begin(f, 10, 2);
	put32(f, PID);
	put32(f, PID);
	put64(f, ph->p_vaddr);
	put64(f, size);
	put64(f, ph->p_offset);
	put64(f, 0);
	put64(f, 0);
	put64(f, 0);
	put32(f, prot);
	put32(f, 2);
	put_text(f, name, 8);
	end_with(f, PID, PID, time, 1, ID_DUMMY);
}

/* What was mapped of the program, as far as it is below `end': at its own addresses */
static void put_maps(struct make *f, const char *name, uint64_t end, uint64_t time)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)elf;
	const Elf64_Phdr *ph = (const Elf64_Phdr *)(elf + eh->e_phoff);
	unsigned int i;

	for (i = 0; i < eh->e_phnum; i++) {
		uint64_t size = end > ph[i].p_vaddr ? end - ph[i].p_vaddr : 0;

		if (size > ph[i].p_filesz)
			size = ph[i].p_filesz;
		if (ph[i].p_type == PT_LOAD && size)
			put_map(f, name, &ph[i], size, time);
	}
}

static void put_exec(struct make *f, const char *name, uint64_t time)
{
	begin(f, 3, 1 << 13);
	put32(f, PID);
	put32(f, PID);
	put_text(f, name, 8);
	end_with(f, PID, PID, time, 1, ID_DUMMY);
}

static void put_fork(struct make *f, int pid, int tid, uint64_t time)
{
	begin(f, 7, 0);
	put32(f, pid);
	put32(f, PID);
	put32(f, tid);
	put32(f, PID);
	put64(f, time);
	end_with(f, PID, PID, time, 1, ID_DUMMY);
}

static void put_switch(struct make *f, bool out, int tid, uint64_t time)
{
	begin(f, 14, out ? 1 << 13 : 0);
	end_with(f, PID, tid, time, 1, ID_DUMMY);
}

static void put_side(struct make *f, const char *kind, const char *name, const char *other)
{
	put_info(f);
	put_id_index(f);
	put_exec(f, "prog", 1001);
	put_maps(f, name, UINT64_MAX, 1002);
	if (!strncmp(kind, "below@", 6))
		put_maps(f, other, strtoull(kind + 6, NULL, 16), 1002);
	put_fork(f, PID, OTHER, 1003);
	begin(f, 21, 0);
	put64(f, NTRACE_HW_ID_VERSION_1 | 6 << 4 | NTRACE_HW_ID_PRIV_U | NTRACE_HW_ID_PRIVATE |
		 (timed ? NTRACE_HW_ID_TIMESTAMP : 0) | (owners ? NTRACE_HW_ID_CONTEXT : 0));
	end_with(f, PID, PID, 1004, 1, ID_TRACE);
	begin(f, 12, 0);
	put32(f, PID);
	put32(f, PID);
	end_with(f, PID, PID, 1005, 1, ID_TRACE);
}

static void put_window(struct make *f, uint64_t offset, uint64_t size, uint64_t flags, int tid,
		       uint64_t time)
{
	begin(f, 11, 0);
	put64(f, offset);
	put64(f, size);
	put64(f, flags);
	end_with(f, PID, tid, time, 1, ID_TRACE);
}

static void put_trace(struct make *f)
{
	size_t filled = (trace_len + 7) & ~(size_t)7;

	begin(f, 71, 0);
	put64(f, filled);
	put64(f, 0);
	put64(f, 0);
	put32(f, 3);
	put32(f, (uint32_t)-1);
	put32(f, 1);
	put32(f, 0);
	end(f);
	put(f, trace, trace_len);
	put(f, "\0\0\0\0\0\0\0", filled - trace_len);
}

/* Where a sync message begins in the second half */
static size_t middle(void)
{
	struct nt_params p;

	nt_params_init(&p);
	return nt_msg_find_sync(&p, trace, trace_len, trace_len / 2);
}

/* Between the two windows; returns who runs then */
static int put_change(struct make *f, const char *kind, const char *name, const char *other)
{
	if (!strcmp(kind, "fork")) {
		put_fork(f, CHILD, CHILD, 2001);
		return CHILD;
	}
	if (!strcmp(kind, "switch"))
		return OTHER;
	if (strcmp(kind, "remap"))
		put_exec(f, "other", 2001);
	prot = strcmp(kind, "data") ? 5 : 1;
	put_maps(f, strcmp(kind, "data") ? other : name, UINT64_MAX, 2001);
	return PID;
}

static void put_windows(struct make *f, const char *kind, const char *name, const char *other)
{
	static const char *const halves[] = { "switch", "remap", "exec", "fork", "data" };
	size_t half = middle(), i;
	int tid;

	if (timed) {
		put_switch(f, true, PID, 1150);
		put_switch(f, false, PID, 1250);
	}
	for (i = 0; i < 5 && strcmp(kind, halves[i]); i++)
		;
	if (i < 5) {
		put_window(f, 0, half, 0, PID, 2000);
		tid = put_change(f, kind, name, other);
		put_switch(f, true, PID, 2001);
		put_switch(f, false, tid, 2002);
		put_window(f, half, trace_len - half, 0, tid, 3000);
	} else {
		put_window(f, 0, strcmp(kind, "orphan") ? trace_len : half,
			   strcmp(kind, "partial") ? 0 : 4, PID, 2000);
	}
}

/* Samples of another event, which have parts of the trace: each begins with a sync message. */
static void put_samples(struct make *f)
{
	size_t from = 0, to, filled;
	struct nt_params p;
	uint64_t time;

	nt_params_init(&p);
	for (time = 2000; from < trace_len; from = to, time += 10) {
		to = from + 2000 < trace_len ?
		     nt_msg_find_sync(&p, trace, trace_len, from + 2000) : trace_len;
		if (to - from > 60000)
			abort();
		filled = (to - from + 7) & ~(size_t)7;
		begin(f, 9, 2);
		put64(f, ID_TRACE);
		put32(f, PID);
		put32(f, PID);
		put64(f, time);
		put32(f, 1);
		put32(f, 0);
		put64(f, filled);
		put(f, trace + from, to - from);
		put(f, "\377\377\377\377\377\377\377", filled - (to - from));
		end(f);
	}
}

static void put_pipe_header(struct make *f)
{
	put(f, "PERFILE2", 8);
	put64(f, 16);
	begin(f, 64, 0);
	put_attr(f, PMU_TYPE, 0);
	put64(f, ID_TRACE);
	end(f);
	begin(f, 64, 0);
	put_attr(f, 1, 9);
	put64(f, ID_DUMMY);
	end(f);
}

/* All other records come compressed, cut wherever 1000 bytes end. */
static void put_packed(struct make *f, const struct make *records)
{
	size_t at, n;

	for (at = 0; at < records->len; at += n) {
		n = records->len - at < 1000 ? records->len - at : 1000;
		put_compressed(f, !at, at & 8, records->bytes + at, n);
	}
}

int main(int argc, char **argv)
{
	const char *kind = argc == 4 ? argv[1] : "";
	bool pipe = !strcmp(kind, "pipe"), samples = !strncmp(kind, "samples", 7);
	bool packed = !strcmp(kind, "compressed") || !strcmp(kind, "samples-compressed");
	struct header h = { 0 };
	char other[4096];

	if (argc != 4)
		return 2;
	snprintf(other, sizeof(other), "%s.other", argv[2]);
	timed = !strcmp(kind, "times");
	owners = !strcmp(kind, "owners");
	elf = load(argv[2], &elf_len);
	trace = load(argv[3], &trace_len);
	if (pipe)
		put_pipe_header(&m);
	else
		h = put_header(&m);
	put_side(packed ? &side : &m, kind, argv[2], other);
	if (samples)
		put_samples(packed ? &side : &m);
	else
		put_windows(packed ? &side : &m, kind, argv[2], other);
	if (packed)
		put_packed(&m, &side);
	if (samples)
		set64(&m, h.attrs + 24, SAMPLE_TYPE | 1u << 20);
	else
		put_trace(&m);
	if (!pipe)
		put_features(&m, &h, 0, NULL);
	return fwrite(m.bytes, 1, m.len, stdout) != m.len;
}
