// SPDX-License-Identifier: GPL-2.0-only
/*
 * nt_demux_: what is in the pieces of each source, byte by byte. That flows make the same events of
 * pieces and of the whole stream is in quick-test.c.
 */
#include <string.h>

#include "cmocka-tap.h"
#include "ntrace.h"

#define SRCBITS		3
#define SOURCES		(1 << SRCBITS)

static uint8_t stream[1 << 20];
static size_t stream_len;

static struct nt_params params(void)
{
	struct nt_params p;

	nt_params_init(&p);
	p.srcbits = SRCBITS;
	p.src = -1;
	return p;
}

static void put(unsigned int src, uint64_t icnt)
{
	const struct nt_msg m = { .fields = NT_F_SRC | NT_F_ICNT, .src = src, .icnt = icnt,
				  .tcode = NT_TCODE_DIRECT_BRANCH };
	struct nt_params p = params();

	p.src = src;
	stream_len += nt_enc_msg(&p, &m, stream + stream_len);
}

static void put_bytes(uint8_t byte, size_t n)
{
	memset(stream + stream_len, byte, n);
	stream_len += n;
}

static struct nt_demux *new_demux(void)
{
	const struct nt_params p = params();
	struct nt_demux *d = nt_demux_new(&p);

	assert_non_null(d);
	stream_len = 0;
	return d;
}

static size_t split(struct nt_demux *d, bool open)
{
	size_t consumed;

	assert_int_equal(nt_demux_split(d, stream, stream_len, 5000, open, &consumed), 0);
	return consumed;
}

/* The next message of the piece: its I-CNT, or what is wrong with it; 0: there is no other */
static int next(const struct nt_demux *d, unsigned int src, size_t *at, uint64_t *offset)
{
	struct nt_params p = params();
	struct nt_msg m;
	size_t len;
	const uint8_t *piece = nt_demux_piece(d, src, &len);
	int ret = nt_msg_decode(&p, piece + *at, len - *at, &m);

	*offset = nt_demux_offset(d, src, *at);
	*at += ret < 0 ? m.skip : (size_t)ret;
	if (ret > 0)
		assert_int_equal(m.src, src);
	return ret > 0 ? (int)m.icnt : ret;
}

/* R60: idle is between messages, and in no piece. */
static void R60_idle(void **state)
{
	struct nt_demux *d = new_demux();
	size_t len, where[4];
	uint64_t offset;
	unsigned int i;

	(void)state;
	for (i = 0; i < 4; i++) {
		put_bytes(0xff, i * 7);
		where[i] = stream_len;
		put(2, 10 + i);
		put(5, 100 + i);
	}
	put_bytes(0xff, 9);
	assert_int_equal(split(d, false), stream_len);
	for (i = 0, len = 0; i < 4; i++) {
		assert_int_equal(next(d, 2, &len, &offset), 10 + i);
		assert_int_equal(offset, 5000 + where[i]);
	}
	assert_int_equal(nt_demux_offset(d, 2, len), 5000 + stream_len);
	nt_demux_piece(d, 2, &where[0]);
	assert_int_equal(where[0], len);
	assert_null(nt_demux_piece(d, 3, &len));
	assert_int_equal(len, 0);
	assert_null(nt_demux_piece(d, SOURCES, &len));
	nt_demux_free(d);
}

/* Much damage does not become as much for each source. */
static void long_damage(void **state)
{
	struct nt_demux *d = new_demux();
	unsigned int i, src;
	uint64_t offset;
	size_t at, len;

	(void)state;
	put(0, 1);
	put_bytes(0x00, 900000);
	put_bytes(0x03, 1);
	for (i = 0; i < 20; i++)
		put(1, 2 + i);
	split(d, false);
	for (src = 0; src < SOURCES; src++) {
		at = 0;
		if (!src)
			assert_int_equal(next(d, src, &at, &offset), 1);
		assert_int_equal(next(d, src, &at, &offset), -NT_ELONG);
		assert_int_equal(offset, 5002);
		nt_demux_piece(d, src, &len);
		assert_in_range(len, at, src == 1 ? at + 60 : at);
		for (i = 0; src == 1 && i < 20; i++)
			assert_int_equal(next(d, src, &at, &offset), 2 + i);
		assert_int_equal(at, len);
	}
	nt_demux_free(d);
}

/* Each split tells of its own damage, and of the first of several. */
static void damage_again(void **state)
{
	struct nt_demux *d = new_demux();
	unsigned int round;
	uint64_t offset;
	size_t at;

	(void)state;
	for (round = 0; round < 3; round++) {
		stream_len = 0;
		put(4, 7);
		put_bytes(0x02, 1);		/* a reserved MSEO */
		put_bytes(0x03, 1);
		put_bytes(0x01, 1);		/* ends a field, and has not begun */
		put_bytes(0x03, 1);
		put(6, 8);
		split(d, false);
		at = 0;
		assert_int_equal(next(d, 6, &at, &offset), -NT_EMSEO);
		assert_int_equal(offset, 5002);
		assert_int_equal(next(d, 6, &at, &offset), 8);
		at = 0;
		assert_int_equal(next(d, 4, &at, &offset), 7);
		assert_int_equal(next(d, 4, &at, &offset), -NT_EMSEO);
	}
	nt_demux_free(d);
}

/* A message that ends in the next chunk, and bytes that a flow wants again */
static void chunks(void **state)
{
	struct nt_demux *d = new_demux();
	size_t consumed, at = 0, len;
	uint64_t offset;

	(void)state;
	put(1, 1);
	put(1, 5000);
	stream_len--;
	consumed = split(d, true);
	assert_int_equal(consumed, 2);
	nt_demux_piece(d, 1, &len);
	assert_int_equal(len, 2);
	nt_demux_keep(d, 1, 0);
	assert_int_equal(nt_demux_split(d, stream + 2, stream_len + 1 - 2, 5002, false, &consumed),
			 0);
	assert_int_equal(next(d, 1, &at, &offset), 1);
	assert_int_equal(offset, 5000);
	assert_int_equal(next(d, 1, &at, &offset), 5000);
	assert_int_equal(offset, 5002);
	nt_demux_free(d);
}

/* Long pieces of many runs: under the sanitizer, each byte and each run has its room. */
static void growth(void **state)
{
	struct nt_demux *d = new_demux();
	const unsigned int n = 20000;
	size_t at[2] = { 0, 0 }, where, len;
	unsigned int i, src;
	uint64_t offset;

	(void)state;
	for (i = 0; i < n; i++)
		put(i & 1, 1 + i);
	assert_int_equal(split(d, false), stream_len);
	for (i = 0, where = 0; i < n; i++) {
		src = i & 1;
		len = at[src];
		assert_int_equal(next(d, src, &at[src], &offset), 1 + i);
		assert_int_equal(offset, 5000 + where);
		where += at[src] - len;
	}
	nt_demux_free(d);
}

static unsigned int said(uint64_t *what, unsigned int n, const struct nt_demux *d,
			 unsigned int src, bool *lost)
{
	struct nt_params p = params();
	size_t len, at = 0;
	const uint8_t *piece = nt_demux_piece(d, src, &len);

	while (at < len) {
		struct nt_msg m;
		int ret = nt_msg_decode(&p, piece + at, len - at, &m);

		assert_int_not_equal(ret, 0);
		/* as a flow does: nothing counts that is in the rest of a damaged message */
		if (*lost) {
			while (at < len && (piece[at] & 3) != 3)
				at++;
			*lost = at == len;
			at += at < len;
			continue;
		}
		at += ret < 0 ? m.skip : (size_t)ret;
		*lost = ret < 0 && at == len && (piece[len - 1] & 3) != 3;
		if (ret > 0)
			what[n++] = m.icnt;
	}
	return n;
}

/* The rest of a damaged message is nobody's, wherever the stream is cut. */
static void damage_in_chunks(void **state)
{
	static const uint64_t want[2][3] = { { 1, 5 }, { 2, 3, 4 } };
	static const unsigned int nr_want[2] = { 2, 3 };
	size_t cut, cut2, used, used2, used3;
	struct nt_demux *d = new_demux();
	unsigned int i, n;

	(void)state;
	put(1, 1);
	put(2, 2);
	put_bytes(0x02, 2);		/* what looks like messages belongs to this */
	put(1, 77);
	put(2, 3);
	put(2, 4);
	put_bytes(0x01, 1);
	put_bytes(0x00, 3);
	put(2, 88);
	put(1, 5);
	for (i = 0; i < 2; i++)
	for (cut = 0; cut <= stream_len; cut++)
	for (cut2 = cut; cut2 <= stream_len; cut2++) {
		uint64_t got[16];
		bool lost = false;

		assert_int_equal(nt_demux_split(d, stream, cut, 0, true, &used), 0);
		n = said(got, 0, d, i + 1, &lost);
		assert_int_equal(nt_demux_split(d, stream + used, cut2 - used, used, true, &used2),
				 0);
		n = said(got, n, d, i + 1, &lost);
		used += used2;
		assert_int_equal(nt_demux_split(d, stream + used, stream_len - used, used, false,
						&used3), 0);
		n = said(got, n, d, i + 1, &lost);
		assert_int_equal(used + used3, stream_len);
		assert_int_equal(n, nr_want[i]);
		assert_memory_equal(got, want[i], n * sizeof(*got));
		assert_false(lost);
	}
	nt_demux_free(d);
}

static void refused(void **state)
{
	struct nt_params p = params();

	(void)state;
	p.srcbits = 0;
	assert_null(nt_demux_new(&p));
	p.srcbits = 13;
	assert_null(nt_demux_new(&p));
	nt_demux_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(R60_idle),
		cmocka_unit_test(long_damage),
		cmocka_unit_test(damage_again),
		cmocka_unit_test(chunks),
		cmocka_unit_test(damage_in_chunks),
		cmocka_unit_test(growth),
		cmocka_unit_test(refused),
	};

	return RUN_TAP(tests);
}
