// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Ranges where the copies of the kernel's text at the start and at the end of a recording differ */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "nt-session.h"

/* Beyond this number, a difference extends the range before it. */
#define PATCHES_MAX	4096

static void note_lines(struct nt_session_patches *p, uint64_t start, uint64_t end)
{
	const uint64_t all = sizeof(p->lines) * CHAR_BIT;
	uint64_t line;

	if ((end - start) >> NT_SESSION_PATCHES_LINE >= all) {
		memset(p->lines, 0xff, sizeof(p->lines));
		return;
	}
	for (line = start >> NT_SESSION_PATCHES_LINE; line <= (end - 1) >> NT_SESSION_PATCHES_LINE;
	     line++)
		p->lines[line / 64 % 128] |= 1ull << line % 64;
}

static int add(struct nt_session_patches *p, uint64_t start, uint64_t end)
{
	struct nt_session_patch *before, *bigger;
	size_t at = p->nr;

	while (at && p->patch[at - 1].start > start)
		at--;
	before = at ? &p->patch[at - 1] : NULL;
	if (before && (start <= before->end || p->nr >= PATCHES_MAX)) {
		if (end > before->end) {
			note_lines(p, before->end, end);
			before->end = end;
		}
		return 0;
	}
	bigger = realloc(p->patch, (p->nr + 1) * sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	p->patch = bigger;
	memmove(bigger + at + 1, bigger + at, (p->nr++ - at) * sizeof(*bigger));
	bigger[at] = (struct nt_session_patch){ start, end, false };
	note_lines(p, start, end);
	return 0;
}

int nt_session_patches_compare(struct nt_session_patches *p, uint64_t addr, const uint8_t *first,
			       const uint8_t *last, size_t len)
{
	size_t i = 0, from;
	int err = 0;

	if (!memcmp(first, last, len))
		return 0;
	while (i < len && !err) {
		for (from = i; i < len && first[i] != last[i]; i++)
			;
		/* Report whole instructions: round to four bytes. */
		if (i > from)
			err = add(p, (addr + from) & ~3ull, (addr + i + 3) & ~3ull);
		else
			i++;
	}
	return err;
}

const struct nt_session_patch *nt_session_patches_ran(struct nt_session_patches *p, uint64_t pc,
						      size_t len)
{
	struct nt_session_patch *patch;

	for (patch = p->patch; patch < p->patch + p->nr; patch++) {
		if (patch->told || patch->end <= pc || patch->start >= pc + len)
			continue;
		patch->told = true;
		return patch;
	}
	return NULL;
}

const struct nt_session_patch *nt_session_patches_find(const struct nt_session_patches *p,
						       uint64_t start, uint64_t end)
{
	size_t from = 0, to = p->nr;

	if (!to || end <= p->patch[0].start || start >= p->patch[to - 1].end)
		return NULL;
	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (p->patch[mid].end <= start)
			from = mid + 1;
		else
			to = mid;
	}
	return from < p->nr && p->patch[from].start < end ? &p->patch[from] : NULL;
}

void nt_session_patches_free(struct nt_session_patches *p)
{
	free(p->patch);
	*p = (struct nt_session_patches){ 0 };
}
