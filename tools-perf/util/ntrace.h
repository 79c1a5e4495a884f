/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef INCLUDE__PERF_NTRACE_H__
#define INCLUDE__PERF_NTRACE_H__

union perf_event;
struct perf_session;

/* Takes over the decoding of a session that has RISC-V N-Trace. */
int ntrace_process_auxtrace_info(union perf_event *event, struct perf_session *session);

#endif
