/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef INCLUDE__PERF_NTRACE_H__
#define INCLUDE__PERF_NTRACE_H__

#include <stdbool.h>

union perf_event;
struct evlist;
struct machine;
struct perf_data;
struct perf_session;

/* Takes over the decoding of a session that has RISC-V N-Trace. */
int ntrace_process_auxtrace_info(union perf_event *event, struct perf_session *session);

/* Is it such a session? */
bool ntrace_is_ours(struct perf_session *session);

/* What was injected is written to @fd: make it readable for others. */
int ntrace_plain_attrs(struct perf_session *session, int fd);

/* When recording ends: the kernel's text once more, if it was asked for. */
void ntrace_kcore_end(struct evlist *evlist, bool kcore, struct perf_data *data,
		      struct machine *machine);

#endif
