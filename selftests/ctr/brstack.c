// SPDX-License-Identifier: GPL-2.0-only
/*
 * A filter for perf script: entries of branch stacks, "FROM TO TYPE PRIV CODE", CODE
 * being the four bytes at FROM
 */
#include <perf/perf_dlfilter.h>
#include <stdio.h>
#include <string.h>

struct perf_dlfilter_fns perf_dlfilter_fns;

int filter_event(void *data, const struct perf_dlfilter_sample *s, void *ctx)
{
	__u64 i;

	(void)data;
	for (i = 0; i < s->brstack_nr; i++) {
		const struct perf_branch_entry *e = &s->brstack[i];
		unsigned int code = 0;

		if (!e->from || !e->to)
			continue;
		if (perf_dlfilter_fns.object_code(ctx, e->from, &code, 4) < 2)
			code = 0;
		printf("%llx %llx %u %u %x\n", e->from, e->to, (unsigned int)e->type,
		       (unsigned int)e->priv, code);
	}
	return 1;
}
