// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Timestamps of fewer than 64 bits. No message of a window shows how often the counter wrapped
 * before it. But the AUX record has the time of the window's end, so the last timestamp stands for
 * the latest possible time before that.
 */
#include "nt-session.h"

static uint64_t range_of(unsigned int bits)
{
	return 1ULL << bits;
}

/* The first and the last time of the messages, as if the first were in the counter's first range */
struct span {
	uint64_t	first, last;
	bool	known;
};

static void take(struct span *s, const struct nt_params *params, const struct nt_msg *msg)
{
	if (!(msg->fields & NT_F_TSTAMP) || (!s->known && !nt_tcode_is_sync(msg->tcode)))
		return;
	/* Add one range, because a time may precede the first by less than the slack. */
	if (!s->known)
		s->first = s->last = range_of(params->tstamp_bits) +
				     (msg->tstamp & (range_of(params->tstamp_bits) - 1));
	else
		s->last = nt_session_span_stamp(params, msg, s->last, 0);
	s->known = true;
}

static struct span find_span(const struct nt_params *params, const uint8_t *data, size_t len)
{
	struct span s = { 0 };
	struct nt_msg msg;
	size_t at = 0;

	while (nt_session_own_message(params, data, len, &at, &msg))
		take(&s, params, &msg);
	return s;
}

/*
 * The earliest time, in ticks, of any timestamp of a window. The window was written between @begin
 * and @end; 0: unknown. If more than one time is possible, all messages are read: the last one was
 * written just before the end.
 */
uint64_t nt_session_time_from(const struct nt_params *params, uint64_t begin, uint64_t end,
			      const uint8_t *data, size_t len)
{
	unsigned int bits = params->tstamp_bits;
	uint64_t range, last;
	struct span s;

	if (!params->timestamps || !bits || bits >= 63 || !end)
		return 0;
	range = range_of(bits);
	/* the clocks of records and of the trace may differ by this */
	end += nt_tstamp_slack(bits);
	if (end < range)
		return 0;
	if (begin && end - begin < range)
		return end - range + 1;

	s = find_span(params, data, len);
	if (!s.known)
		return end - range + 1;
	/* The first time after end - range is the last one up to end. */
	last = nt_tstamp_widen(end - range + 1, s.last, bits);
	return last > s.last - s.first ? last - (s.last - s.first) : 0;
}
