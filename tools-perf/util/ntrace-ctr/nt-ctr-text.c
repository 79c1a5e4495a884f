// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Control transfer records: control registers and records as text
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "nt-ctr.h"

static uint64_t field_of(bool draft, const char *word, size_t len)
{
	unsigned int bit;

	for (bit = 0; bit < 64; bit++) {
		const char *field = nt_ctr_field_name(draft, bit);

		if (field && strlen(field) == len && !strncasecmp(field, word, len))
			return 1ull << bit;
	}
	return 0;
}

/* 0x... or decimal, of at most 64 bits */
static int parse_number(const char *text, uint64_t *value)
{
	const int base = text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;
	const int before = errno;
	bool fits;
	char *end;

	errno = 0;
	*value = strtoull(text, &end, base);
	fits = !errno;
	errno = before;
	return fits && !*end ? 0 : -NT_EINVAL;
}

int nt_ctr_parse(bool draft, const char *text, uint64_t *value, size_t *bad)
{
	const char *word = text;

	*value = 0;
	*bad = 0;
	if (*text >= '0' && *text <= '9')
		return parse_number(text, value);
	for (;;) {
		size_t len = strcspn(word, ",");
		uint64_t field = field_of(draft, word, len);

		if (!field) {
			*bad = (size_t)(word - text);
			return -NT_EINVAL;
		}
		*value |= field;
		if (!word[len])
			return 0;
		word += len + 1;
	}
}

int nt_ctr_format(const struct nt_ctr_entry *e, char *buf, size_t size)
{
	const char *type = nt_type_name(e->data & NT_CTRDATA_TYPE);

	if (e->data & NT_CTRDATA_CCV)
		return snprintf(buf, size, "%" PRIx64 " %" PRIx64 " %" PRIx64 " %s %" PRIu32,
				e->source, e->target, e->data, type,
				nt_ctr_cycles_decode((uint16_t)(e->data >> 16)));
	return snprintf(buf, size, "%" PRIx64 " %" PRIx64 " %" PRIx64 " %s",
			e->source, e->target, e->data, type);
}
