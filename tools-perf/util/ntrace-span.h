/* SPDX-License-Identifier: GPL-2.0-only */
/* Times between those that messages tell: see ntrace-span.c, ntrace-time.c */
#ifndef INCLUDE__PERF_NTRACE_SPAN_H__
#define INCLUDE__PERF_NTRACE_SPAN_H__

#include <stdbool.h>
#include <stdint.h>

#include "ntrace-decoder/ntrace.h"

/* The events up to the next time that a message tells: see ntrace-span.c */
struct ntrace_span {
	int	end;		/* index behind its last event; the next span begins there ... */
	int	scan;		/* ... and no end of that was found before this index */
	uint64_t	sum;		/* instructions up to there */
	uint64_t	insns;		/* instructions that retire in the span ... */
	uint64_t	done;		/* ... up to the last event that was used */
	uint64_t	from, to;	/* perf's clock */
	uint64_t	advance;	/* of the clock of samples */
	bool	known;		/* to is a time */
};

/* How fast instructions retired lately */
struct ntrace_pace {
	uint64_t	insns, time;
	uint64_t	tick, period;	/* of timestamps, of samples */
};

/* The clock of samples by time counts 1/1024 ns: several instructions may retire in 1 ns. */
#define NTRACE_CLOCK_SHIFT	10

/* The time that a message with TSTAMP tells, @last being the one before, and none before @from */
static inline uint64_t ntrace_span_stamp(const struct nt_params *params, const struct nt_msg *msg,
					 uint64_t last, uint64_t from)
{
	uint64_t stamp = msg->tstamp;

	if (!nt_tcode_is_sync(msg->tcode) && params->profile == NT_PROFILE_1_0)
		return last + stamp;
	if (!nt_tcode_is_sync(msg->tcode) && params->profile != NT_PROFILE_TT_DFD)
		stamp ^= last;

	return nt_tstamp_behind(last, from, stamp, params->tstamp_bits);
}

bool ntrace_span_ends(const struct nt_event *ev);
bool ntrace_span_scan(struct ntrace_span *s, const struct nt_event *ev, int first, int nr,
		      bool all);
uint64_t ntrace_span_at(const struct ntrace_span *s, uint64_t insn);
uint64_t ntrace_pace_of(const struct ntrace_pace *p, uint64_t insns);
uint64_t ntrace_pace_advance(struct ntrace_pace *p, uint64_t insns, uint64_t time, bool cut);

uint64_t ntrace_time_from(const struct nt_params *params, uint64_t begin, uint64_t end,
			  const uint8_t *data, size_t len);

#endif
