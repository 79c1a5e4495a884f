/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The timestamp unit inside an encoder (a funnel has the same one).
 */
#ifndef _NTRACE_TIMESTAMP_H
#define _NTRACE_TIMESTAMP_H

#include <linux/types.h>

struct ntrace_component;

/**
 * struct ntrace_timestamp - what it turned out to be
 * @mode:	trTsMode, 0: there is none
 * @width:	bits of the counter
 * @prescale:	a tick is 4^prescale of the source's, or of `time` if the source is elsewhere
 * @tracks_time: the counter shows the `time` CSR, prescaled
 * @control:	trTsControl while it runs, without Enable
 */
struct ntrace_timestamp {
	u8 mode;
	u8 width;
	u8 prescale;
	bool tracks_time;
	u32 control;
};

void ntrace_timestamp_probe(struct ntrace_component *comp, struct ntrace_timestamp *ts);
void ntrace_timestamp_probe_funnel(struct ntrace_component *comp, struct ntrace_timestamp *ts);
void ntrace_timestamp_check(struct ntrace_component *comp, struct ntrace_timestamp *ts);
void ntrace_timestamp_run(struct ntrace_component *comp, const struct ntrace_timestamp *ts);

#endif /* _NTRACE_TIMESTAMP_H */
