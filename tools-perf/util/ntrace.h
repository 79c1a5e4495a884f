/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef INCLUDE__PERF_NTRACE_H__
#define INCLUDE__PERF_NTRACE_H__

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

union perf_event;
struct auxtrace_record;
struct evlist;
struct machine;
struct mmap;
struct perf_data;
struct perf_sample;
struct perf_session;
struct perf_tool;
struct record_opts;

/* The function of perf record that takes events */
typedef int (*ntrace_write_t)(const struct perf_tool *tool, union perf_event *event,
			      struct perf_sample *sample, struct machine *machine);

/* Set up the decoding of a session with RISC-V N-Trace. */
int ntrace_process_auxtrace_info(union perf_event *event, struct perf_session *session);

/* Does this session have RISC-V N-Trace? */
bool ntrace_is_ours(struct perf_session *session);

/* Make the output of perf inject in @fd readable for other programs. */
int ntrace_plain_attrs(struct perf_session *session, int fd);

/* A new output file begins: write running tasks and mappings that perf omits. */
void ntrace_record_switched(struct evlist *evlist, struct record_opts *opts,
			    const struct perf_tool *tool, ntrace_write_t write,
			    struct machine *machine);

/* perf record with several files: recording begins; perf reads, writes; files end, begin */
void ntrace_switch_start(struct evlist *evlist, struct record_opts *opts, bool several, u64 size);
void ntrace_switch_synthesized(const union perf_event *event);
void ntrace_switch_read(struct mmap *map, const void *buf, size_t size);
void ntrace_switch_round(void);
void ntrace_switch_end(const struct perf_tool *tool, ntrace_write_t write, struct machine *machine);
int ntrace_switch_write(const struct perf_tool *tool, ntrace_write_t write,
			struct machine *machine);

/* At the beginning or end of a file: record how the trace's clock relates to the clock of -k. */
int ntrace_record_clock(struct auxtrace_record *itr, bool end, const struct perf_tool *tool,
			ntrace_write_t write, struct machine *machine);

/* At the end of a recording: copy the kernel's text again, if requested. */
void ntrace_kcore_end(struct evlist *evlist, bool kcore, struct perf_data *data,
		      struct machine *machine);

/*
 * Symbols that the assembler creates for the linker: local labels, and marks where data or code
 * with some extensions begins ($x, $xrv64gc, $d.1). They are not functions.
 */
static inline bool ntrace_symbol_is_label(const char *name)
{
	if (name[0] == '.')
		return name[1] == 'L';
	if (name[0] == 'L')
		return name[1] == '0' && name[2] == '\001';
	if (name[0] != '$' || (name[1] != 'x' && name[1] != 'd'))
		return false;
	return !name[2] || name[2] == '.' || (name[1] == 'x' && name[2] == 'r' && name[3] == 'v');
}

#endif
