// SPDX-License-Identifier: GPL-2.0-only
/*
 * The message layer: parameters, then any bytes. A message is the same whether other bytes are
 * behind it or not, and put together again it is read as before.
 */
#include "fuzz.h"

static bool same(const struct nt_msg *a, const struct nt_msg *b)
{
	return a->fields == b->fields && a->src == b->src && a->tcode == b->tcode &&
	       a->sync == b->sync && a->btype == b->btype && a->etype == b->etype &&
	       a->rcode == b->rcode && a->evcode == b->evcode && a->cdf == b->cdf &&
	       a->icnt == b->icnt && a->addr == b->addr && a->hist == b->hist &&
	       a->rdata[0] == b->rdata[0] && a->rdata[1] == b->rdata[1] && a->tstamp == b->tstamp;
}

/* Are all its fields known, so that it can be put together? */
static bool is_whole(const struct nt_msg *m)
{
	switch (m->tcode) {
	case NT_TCODE_RESOURCE_FULL:
		return m->rcode <= 2;
	case NT_TCODE_PROG_TRACE_CORRELATION:
		return m->cdf <= 1;
	default:
		return strcmp(nt_tcode_name(m->tcode), "Vendor") &&
		       strcmp(nt_tcode_name(m->tcode), "Reserved");
	}
}

static void check(const struct nt_params *p, const struct nt_msg *m, const uint8_t *bytes, int n)
{
	uint8_t exact[NT_MSG_MAX], again[NT_ENC_MSG_MAX];
	char text[256], cut[16];
	struct nt_msg other;
	int len;

	len = nt_msg_format(m, text, sizeof(text));
	MUST(len > 0 && len < (int)sizeof(text));
	MUST(nt_msg_format(m, cut, sizeof(cut)) == len && !strncmp(cut, text, sizeof(cut) - 1));

	n -= m->idle;
	MUST(n > 0 && n <= NT_MSG_MAX);
	memcpy(exact, bytes + m->idle, n);
	MUST(nt_msg_decode(p, exact, n, &other) == n && same(m, &other));
	MUST(!nt_msg_decode(p, exact, n - 1, &other) || n == 1);
	if (!is_whole(m))
		return;
	len = nt_enc_msg(p, m, again);
	MUST(len > 0 && len <= n);
	MUST(nt_msg_decode(p, again, len, &other) == len && same(m, &other));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, data + size };
	struct nt_params p;
	struct nt_msg m;
	size_t from;

	take_params(&in, &p);
	from = take(&in);
	data = in.p;
	size = left(&in);
	MUST(nt_msg_find_sync(&p, data, size, from) <= size);
	while (in.p < in.end) {
		int n = nt_msg_decode(&p, in.p, left(&in), &m);

		if (!n)
			break;
		MUST(n < 0 || (size_t)n <= left(&in));
		MUST(n > 0 || (m.skip && m.skip <= left(&in)));
		if (n > 0)
			check(&p, &m, in.p, n);
		in.p += n > 0 ? (size_t)n : m.skip;
	}
	return 0;
}
