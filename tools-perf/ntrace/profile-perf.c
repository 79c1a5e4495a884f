// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace profile of perf.data: count the branches that perf script prints
 */
#include <stdlib.h>

#include "profile-flow.h"

void profile_perf_read(struct profile_perf *r, const char *perf, const char *file,
		       const char *program, const char *build_id)
{
	struct profile_reader rd = {
		.result = r, .data = file, .program = program, .name = last_part(program),
		.build_id = build_id,
	};
	struct perf_event_line ev;
	struct perf_script s;
	uint64_t from, to;
	struct profile_where *w;

	if (perf)
		perf_build_ids_read(&rd.ids, perf, file);
	profile_own_check(&rd);
	perf_script_open(&s, perf, file, "be", "comm,pid,tid,cpu,time,flags,ip,addr,dso,dsoff");
	while (perf_script_next(&s, &ev)) {
		if (ev.error) {
			profile_flow_loss(&rd, &ev);
			continue;
		}
		w = profile_flow_thread(&rd, ev.tid, ev.cpu);
		from = profile_own_place(&rd, &ev.from, &w->bias);
		to = profile_own_place(&rd, &ev.to, &w->bias);
		profile_flow_branch(&rd, w, ev.interval, ev.flags, from, to);
	}
	perf_script_close(&s);
	profile_flow_end(&rd);
	profile_own_found(&rd);
	perf_build_ids_free(&rd.ids);
	profile_flow_free(&rd);
	profile_own_free(&rd);
}
