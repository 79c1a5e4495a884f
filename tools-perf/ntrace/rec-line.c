// SPDX-License-Identifier: GPL-2.0-only
/*
 * Branches and losses of a recording as lines of perf script, for code that handles both
 */
#include <stdio.h>

#include "perf-script.h"
#include "rec.h"

static unsigned int kind_of(unsigned int flags)
{
	if (flags & NT_SESSION_CALL && flags & NT_SESSION_SYSCALL)
		return PERF_TRAP | PERF_SYSCALL;
	if (flags & NT_SESSION_CALL && flags & NT_SESSION_INTERRUPT)
		return PERF_TRAP | (flags & NT_SESSION_ASYNC ? PERF_INTERRUPT : 0);
	if (flags & NT_SESSION_RETURN && flags & (NT_SESSION_SYSCALL | NT_SESSION_INTERRUPT))
		return PERF_ERET;
	return (flags & NT_SESSION_CALL ? PERF_CALL : 0) |
	       (flags & NT_SESSION_RETURN ? PERF_RETURN : 0);
}

unsigned int rec_line_flags(unsigned int flags)
{
	/* At the end of trace no trap is visible, only the instruction that would cause it. */
	if (flags & NT_SESSION_END)
		return PERF_END | (kind_of(flags) & ~PERF_TRAP);
	return kind_of(flags) | (flags & NT_SESSION_BEGIN ? PERF_BEGIN : 0);
}

static struct perf_place place_of(struct rec *rec, const struct rec_sample *s, uint64_t addr)
{
	struct perf_place place = { .addr = addr };

	if (!rec_place(rec, s->space, addr, &place.dso, &place.offset))
		place.dso = NULL;
	return place;
}

void rec_line_branch(struct rec *rec, const struct rec_sample *s, struct perf_event_line *line)
{
	*line = (struct perf_event_line){
		.pid = s->pid, .tid = s->tid, .cpu = s->cpu, .time = s->time,
		.interval = rec_interval(rec, s->time),
		.flags = rec_line_flags(s->flags),
		.from = place_of(rec, s, s->ip), .to = place_of(rec, s, s->addr),
	};
	snprintf(line->comm, sizeof(line->comm), "%s", s->task ? s->task->comm : ":-1");
}

void rec_line_loss(struct rec *rec, const struct rec_loss *loss, struct perf_event_line *line)
{
	*line = (struct perf_event_line){
		.error = loss->text, .pid = loss->pid, .tid = loss->tid, .cpu = loss->cpu,
		.time = loss->time, .interval = rec_interval(rec, loss->time),
		.from.addr = loss->ip,
	};
}
