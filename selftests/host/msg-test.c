// SPDX-License-Identifier: GPL-2.0-only
/*
 * The message layer: bytes in, one message out. Tests are named after the
 * requirements that they prove.
 */
#include <stdio.h>
#include <limits.h>
#include <stdlib.h>

#include "cmocka-tap.h"
#include "pack.h"
#include "nt-ctr.h"
#include "nt-short.h"
#include "random.h"

static struct nt_params plain(void)
{
	struct nt_params p;

	nt_params_init(&p);
	return p;
}

/* Decode bytes given in hex. The message is poisoned first. */
static int decode_hex(const struct nt_params *p, const char *hex, struct nt_msg *msg)
{
	uint8_t buf[512];
	size_t len = 0;
	int n;
	unsigned int v;

	memset(msg, 0xa5, sizeof(*msg));
	while (sscanf(hex, " %2x%n", &v, &n) == 1) {
		buf[len++] = v;
		hex += n;
	}
	return nt_msg_decode(p, buf, len, msg);
}

static int decode_pack(const struct nt_params *p, const struct pack *pk, struct nt_msg *msg)
{
	memset(msg, 0xa5, sizeof(*msg));
	return nt_msg_decode(p, pk->buf, pk->len, msg);
}

static void R64_mdo_and_reserved_mseo(void **state)
{
	struct nt_params p = plain();
	struct nt_msg m;

	(void)state;
	/* DirectBranch I-CNT 5: TCODE 3, then MDO 5 with MSEO 11 */
	assert_int_equal(decode_hex(&p, "0c 17", &m), 2);
	assert_int_equal(m.tcode, NT_TCODE_DIRECT_BRANCH);
	assert_int_equal(m.icnt, 5);
	/* MSEO 2 in the middle, and as the first byte; skip to behind MSEO 3 */
	assert_int_equal(decode_hex(&p, "0c 16 17 0c 17", &m), -NT_EMSEO);
	assert_int_equal(m.skip, 3);
	assert_int_equal(decode_hex(&p, "0e 17", &m), -NT_EMSEO);
	assert_int_equal(m.skip, 2);
}

static void R65_idle_between_messages(void **state)
{
	struct nt_params p = plain();
	uint8_t buf[1002];
	struct nt_msg m;

	(void)state;
	memset(buf, 0xff, sizeof(buf));
	buf[1000] = 0x0c;
	buf[1001] = 0x17;
	assert_int_equal(nt_msg_decode(&p, buf, sizeof(buf), &m), 1002);
	assert_int_equal(m.idle, 1000);
	assert_int_equal(m.icnt, 5);
	assert_int_equal(nt_msg_decode(&p, buf, 1000, &m), 0);
	assert_int_equal(m.idle, 1000);
	/* a message's own last byte may be FF: I-CNT 63 */
	assert_int_equal(decode_hex(&p, "0c ff ff ff", &m), 2);
	assert_int_equal(m.icnt, 63);
}

static void R66_first_byte(void **state)
{
	struct nt_params p = plain();
	struct nt_msg m;

	(void)state;
	assert_int_equal(decode_hex(&p, "0d 17", &m), -NT_EHEAD);	/* MSEO 01 */
	assert_int_equal(m.skip, 2);
	assert_int_equal(decode_hex(&p, "03 0c 17", &m), -NT_EHEAD);	/* MSEO 11, not idle */
	assert_int_equal(m.skip, 1);
	assert_int_equal(decode_hex(&p, "ff 0d 17", &m), -NT_EHEAD);
	assert_int_equal(m.skip, 3);
}

static void R67_fixed_fields_straddle_bytes(void **state)
{
	unsigned int bits;

	(void)state;
	for (bits = 0; bits <= 12; bits++) {
		struct nt_params p = plain();
		unsigned int src = 0xfff >> (12 - bits);
		struct nt_msg m;
		struct pack pk;

		p.srcbits = bits;
		pack_init(&pk);
		pk.srcbits = bits;
		pk.src = bits ? src & 0xa5b : 0;
		pack_ibhsync(&pk, 9, 2, 0x12345, 0x80001234, 0xbeef);
		assert_int_equal(decode_pack(&p, &pk, &m), pk.len);
		assert_int_equal(m.src, pk.src);
		assert_int_equal(!!(m.fields & NT_F_SRC), bits > 0);
		assert_int_equal(m.sync, 9);
		assert_int_equal(m.btype, 2);
		assert_int_equal(m.icnt, 0x12345);
		assert_int_equal(m.addr, 0x80001234 >> 1);
		assert_int_equal(m.hist, 0xbeef);
	}
}

static void R68_variable_field_uses_all_bits(void **state)
{
	struct nt_params p = plain();
	struct nt_msg m;

	(void)state;
	/* SYNC 4 bits leave 2 of the byte for I-CNT: 3, then F-ADDR 1 */
	assert_int_equal(decode_hex(&p, "24 c9 07", &m), 3);
	assert_int_equal(m.sync, 2);
	assert_int_equal(m.icnt, 3);
	assert_int_equal(m.addr, 1);
	/* zero fill: I-CNT 3 with 6 needless bits */
	assert_int_equal(decode_hex(&p, "24 c8 01 07", &m), 4);
	assert_int_equal(m.icnt, 3);
}

static void R70_endless_field(void **state)
{
	struct nt_params p = plain();
	size_t len = 1 << 20;
	uint8_t *zeros = calloc(1, len);
	struct nt_msg m;

	(void)state;
	assert_int_equal(nt_msg_decode(&p, zeros, len, &m), -NT_ELONG);
	assert_int_equal(m.skip, len);
	assert_int_equal(nt_msg_decode(&p, zeros, NT_MSG_MAX - 1, &m), 0);
	zeros[0] = 0x0c;
	assert_int_equal(nt_msg_decode(&p, zeros, len, &m), -NT_ELONG);
	free(zeros);
}

static void R71_too_wide_is_diagnosed(void **state)
{
	struct nt_params p = plain();
	struct nt_msg m;
	struct pack pk;
	int i;

	(void)state;
	/* 64 bits fit, zero fill beyond is harmless, the 65th bit is not */
	pack_init(&pk);
	pack_head(&pk, NT_TCODE_DIRECT_BRANCH);
	for (i = 0; i < 10; i++)
		pack_bits(&pk, 0x3f, 6);
	pk.buf[pk.len++] = 0x0f << 2 | 3;
	assert_int_equal(decode_pack(&p, &pk, &m), pk.len);
	assert_true(m.icnt == UINT64_MAX);
	pk.buf[pk.len - 1] = 0x1f << 2 | 3;
	assert_int_equal(decode_pack(&p, &pk, &m), -NT_EFIELD);
	assert_int_equal(m.skip, pk.len);
	pk.buf[pk.len - 1] = 0x0f << 2;
	pk.buf[pk.len++] = 3;
	assert_int_equal(decode_pack(&p, &pk, &m), pk.len);
	/* an address of more than XLEN bits */
	p.xlen = 32;
	pack_init(&pk);
	pack_ptsync(&pk, 5, 0, 0x80000000);
	assert_int_equal(decode_pack(&p, &pk, &m), pk.len);
	pack_init(&pk);
	pack_ptsync(&pk, 5, 0, 0x180000000);
	assert_int_equal(decode_pack(&p, &pk, &m), -NT_EFIELD);
}

static void R72_start_inside_a_message(void **state)
{
	struct nt_params p = plain();
	struct nt_msg m;

	(void)state;
	/* tail of a message, then DirectBranch */
	assert_int_equal(decode_hex(&p, "05 17 0c 17", &m), -NT_EHEAD);
	assert_int_equal(m.skip, 2);
	assert_int_equal(decode_hex(&p, "0c 17", &m), 2);
}

struct sample {
	const char *text;
	void (*pack)(struct pack *pk);
};

static void s_ownership(struct pack *k) { pack_ownership(k, 0x3b2); }
static void s_db(struct pack *k) { pack_db(k, 1000); }
static void s_ib(struct pack *k) { pack_ib(k, 3, 7, 0x2468); }
static void s_error(struct pack *k) { pack_error(k, 0, 0x8c); }
static void s_pts(struct pack *k) { pack_ptsync(k, 5, 0, 0x80000000); }
static void s_dbs(struct pack *k) { pack_dbsync(k, 2, 70, 0x12344); }
static void s_ibs(struct pack *k) { pack_ibsync(k, 2, 0, 9, 0x12344); }
static void s_rf0(struct pack *k) { pack_rf(k, 0, 4096); }
static void s_rf1(struct pack *k) { pack_rf(k, 1, 0x55555555); }
static void s_rf2(struct pack *k) { pack_rf2(k, 0x55555555, 10); }
static void s_ibh(struct pack *k) { pack_ibh(k, 0, 0x7d, 0xe, 0xffe); }
static void s_ibhs(struct pack *k) { pack_ibhsync(k, 2, 1, 3, 0x40, 5); }
static void s_rb(struct pack *k) { pack_repeat(k, 262143); }
static void s_ptc0(struct pack *k) { pack_ptc(k, 4, 10, 0); }
static void s_ptc1(struct pack *k) { pack_ptc(k, 0, 5, 1); }

static const struct sample samples[] = {
	{ "Ownership PROCESS=0x3b2 FORMAT=2 PRV=0 V=1 CONTEXT=0x1d", s_ownership },
	{ "DirectBranch I-CNT=1000", s_db },
	{ "IndirectBranch B-TYPE=3 I-CNT=7 U-ADDR=0x1234", s_ib },
	{ "Error ETYPE=0 ECODE=0x8c", s_error },
	{ "ProgTraceSync SYNC=5 I-CNT=0 F-ADDR=0x40000000", s_pts },
	{ "DirectBranchSync SYNC=2 I-CNT=70 F-ADDR=0x91a2", s_dbs },
	{ "IndirectBranchSync SYNC=2 B-TYPE=0 I-CNT=9 F-ADDR=0x91a2", s_ibs },
	{ "ResourceFull RCODE=0 RDATA0=4096", s_rf0 },
	{ "ResourceFull RCODE=1 RDATA0=0x55555555", s_rf1 },
	{ "ResourceFull RCODE=2 RDATA0=0x55555555 RDATA1=10", s_rf2 },
	{ "IndirectBranchHist B-TYPE=0 I-CNT=125 U-ADDR=0x7 HIST=0xffe", s_ibh },
	{ "IndirectBranchHistSync SYNC=2 B-TYPE=1 I-CNT=3 F-ADDR=0x20 HIST=0x5", s_ibhs },
	{ "RepeatBranch B-CNT=262143", s_rb },
	{ "ProgTraceCorrelation EVCODE=4 CDF=0 I-CNT=10", s_ptc0 },
	{ "ProgTraceCorrelation EVCODE=0 CDF=1 I-CNT=5 HIST=0x1", s_ptc1 },
};

#define NR_SAMPLES (sizeof(samples) / sizeof(samples[0]))

static void check_sample(const struct sample *s, unsigned int srcbits, int timestamp)
{
	struct nt_params p = plain();
	char text[256], want[256];
	struct nt_msg m;
	struct pack pk;
	size_t cut;

	pack_init(&pk);
	p.srcbits = pk.srcbits = srcbits;
	pk.src = srcbits ? 5 : 0;
	pk.timestamp = timestamp;
	p.timestamps = timestamp >= 0;
	s->pack(&pk);

	snprintf(want, sizeof(want), "%s", s->text);
	if (timestamp >= 0)
		snprintf(want + strlen(want), sizeof(want) - strlen(want), " TSTAMP=%d", timestamp);
	assert_int_equal(decode_pack(&p, &pk, &m), pk.len);
	assert_int_equal(m.src, pk.src);
	nt_msg_format(&m, text, sizeof(text));
	assert_string_equal(text, want);
	for (cut = 0; cut < pk.len; cut++)
		assert_int_equal(nt_msg_decode(&p, pk.buf, cut, &m), 0);
}

static void R73_all_messages(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < NR_SAMPLES; i++) {
		check_sample(&samples[i], 0, -1);
		check_sample(&samples[i], 3, -1);
		check_sample(&samples[i], 0, 123456);
		check_sample(&samples[i], 12, 0);
	}
}

static void R73_missing_and_extra_fields(void **state)
{
	struct nt_params p = plain();
	size_t i;

	(void)state;
	for (i = 0; i < NR_SAMPLES; i++) {
		struct nt_msg m;
		struct pack pk;

		/* a timestamp that the parameters know nothing of */
		pack_init(&pk);
		pk.timestamp = 7;
		p.timestamps = false;
		samples[i].pack(&pk);
		assert_int_equal(decode_pack(&p, &pk, &m), -NT_EEXTRA);
		assert_int_equal(m.skip, pk.len);
		/* and two where there may be one */
		p.timestamps = true;
		pk.buf[pk.len - 1] &= ~2;
		pack_var(&pk, 8);
		pk.buf[pk.len - 1] |= 3;
		assert_int_equal(decode_pack(&p, &pk, &m), -NT_EEXTRA);
	}
	/* IndirectBranch that ends with I-CNT; ProgTraceSync that ends in SYNC */
	p.timestamps = false;
	{
		struct nt_msg m;

		assert_int_equal(decode_hex(&p, "10 07", &m), -NT_ESHORT);
		assert_int_equal(decode_hex(&p, "24 03", &m), -NT_ESHORT);
		assert_int_equal(decode_hex(&p, "84 43 ff", &m), -NT_ESHORT);
	}
}

static void R74_vendor_and_reserved(void **state)
{
	struct nt_params p = plain();
	unsigned int tcode;

	(void)state;
	for (tcode = 0; tcode < 64; tcode++) {
		const char *name = nt_tcode_name(tcode);
		struct nt_msg m;
		struct pack pk;

		if (strcmp(name, "Vendor") && strcmp(name, "Reserved"))
			continue;
		assert_int_equal(!strcmp(name, "Vendor"), tcode >= 56 && tcode <= 62);
		pack_init(&pk);
		pack_head(&pk, tcode);
		pack_var(&pk, UINT64_MAX);
		pack_var(&pk, 1);
		pack_var(&pk, UINT64_MAX);
		pack_end(&pk);
		assert_int_equal(decode_pack(&p, &pk, &m), pk.len);
		assert_int_equal(m.tcode, tcode);
		assert_int_equal(m.fields, 0);
	}
}

static void R75_vector_1(void **state)
{
	struct nt_params p = plain();
	struct nt_msg m;

	(void)state;
	assert_int_equal(decode_hex(&p, "FF 70 D0 1D 1D F8 FF FF", &m), 7);
	assert_int_equal(m.idle, 1);
	assert_int_equal(m.tcode, NT_TCODE_INDIRECT_BRANCH_HIST);
	assert_int_equal(m.btype, 0);
	assert_int_equal(m.icnt, 0x7d);
	assert_int_equal(m.addr, 7);
	assert_int_equal(m.hist, 0xffe);
}

static void R76_rcode_decides_the_fields(void **state)
{
	struct nt_params p = plain();
	struct nt_msg m;
	struct pack pk;

	(void)state;
	p.timestamps = true;
	/* RCODE 1 and a second field: that is TSTAMP, not HREPEAT */
	pack_init(&pk);
	pk.timestamp = 10;
	pack_rf(&pk, 1, 5);
	assert_int_equal(decode_pack(&p, &pk, &m), pk.len);
	assert_int_equal(m.fields, NT_F_RCODE | NT_F_RDATA0 | NT_F_TSTAMP);
	assert_int_equal(m.tstamp, 10);
	/* RCODE 2 without TSTAMP: the second is HREPEAT */
	pack_init(&pk);
	pack_rf2(&pk, 5, 10);
	assert_int_equal(decode_pack(&p, &pk, &m), pk.len);
	assert_int_equal(m.fields, NT_F_RCODE | NT_F_RDATA0 | NT_F_RDATA1);
	assert_int_equal(m.rdata[1], 10);
	/* reserved and vendor RCODE: no field is guessed */
	pack_init(&pk);
	pack_rf(&pk, 3, 5);
	assert_int_equal(decode_pack(&p, &pk, &m), pk.len);
	assert_int_equal(m.fields, NT_F_RCODE);
	pack_init(&pk);
	pack_rf(&pk, 8, 5);
	assert_int_equal(decode_pack(&p, &pk, &m), pk.len);
	assert_int_equal(m.fields, NT_F_RCODE);
	p.profile = NT_PROFILE_SIFIVE;
	assert_int_equal(decode_pack(&p, &pk, &m), pk.len);
	assert_int_equal(m.fields, NT_F_RCODE | NT_F_RDATA0);
}

static void R77_cdf(void **state)
{
	struct nt_params p = plain();
	unsigned int cdf;

	(void)state;
	for (cdf = 2; cdf < 4; cdf++) {
		struct nt_msg m;
		struct pack pk;

		pack_init(&pk);
		pack_head(&pk, NT_TCODE_PROG_TRACE_CORRELATION);
		pack_bits(&pk, 4, 4);
		pack_bits(&pk, cdf, 2);
		pack_var(&pk, 5);
		pack_var(&pk, 6);
		pack_end(&pk);
		assert_int_equal(decode_pack(&p, &pk, &m), pk.len);
		assert_int_equal(m.cdf, cdf);
		assert_int_equal(m.fields, NT_F_EVCODE | NT_F_CDF);
	}
}

static uint64_t extended(const struct nt_params *p, const uint8_t *mdo, size_t n)
{
	struct nt_msg m;
	struct pack pk;
	size_t i;

	pack_init(&pk);
	pack_head(&pk, NT_TCODE_PROG_TRACE_SYNC);
	pack_bits(&pk, 5, 4);
	pack_var(&pk, 0);
	for (i = 0; i < n; i++)
		pk.buf[pk.len++] = mdo[i] << 2;
	pk.buf[pk.len - 1] |= 3;
	assert_int_equal(decode_pack(p, &pk, &m), pk.len);
	return m.addr << 1;
}

static void R86_extended_addresses(void **state)
{
	static const uint8_t a[] = { 0x3f, 0x3f, 0x3f, 0x3f, 0x3f, 0x1f };
	static const uint8_t b[] = { 0x3f, 0x3f, 0x3f, 0x3f, 0x1f, 0x3c };
	static const uint8_t c[] = { 0x3f, 0x3f, 0x3f, 0x3f, 0x3f, 0x3f, 0x00 };
	static const uint8_t d[] = { 0x3f, 0x3f, 0x3f, 0x3f, 0x3f, 0x3f, 0x3f, 0x3f,
				     0x3f, 0x3f, 0x05 };
	static const uint8_t kernel[] = { 0x3a, 0x23, 0x01, 0x00, 0x00, 0x3f };
	struct nt_params p = plain();

	(void)state;
	p.extaddr = true;
	assert_true(extended(&p, a, sizeof(a)) == 0xffffffffe);
	assert_true(extended(&p, b, sizeof(b)) == 0xfffffffe3ffffffe);
	assert_true(extended(&p, c, sizeof(c)) == 0x1ffffffffe);
	assert_true(extended(&p, d, sizeof(d)) == 0xbffffffffffffffe);
	assert_true(extended(&p, kernel, sizeof(kernel)) == 0xffffffff800031f4);
	p.extaddr = false;
	assert_true(extended(&p, a, sizeof(a)) == 0xffffffffe);
	assert_true(extended(&p, b, sizeof(b)) == 0x1e3ffffffe);
	assert_true(extended(&p, d, sizeof(d)) == 0xbffffffffffffffe);
	assert_true(extended(&p, kernel, sizeof(kernel)) == 0x1f800031f4);
}

/* Bits beyond the 64th repeat the sign, or the field is too wide. */
static void R71_R86_sign_beyond_64_bits(void **state)
{
	static const struct {
		uint8_t top[3];		/* MDOs behind ten that are 3f: bits 60 and up */
		unsigned int nr;
		bool fits;
	} cases[] = {
		{ { 0x3f }, 1, true }, { { 0x3f, 0x3f }, 2, true },
		{ { 0x3f, 0x3f, 0x3f }, 3, true },
		{ { 0x1f }, 1, false }, { { 0x2f }, 1, false }, { { 0x37 }, 1, false },
		{ { 0x3f, 0x1f }, 2, false }, { { 0x1f, 0x3f }, 2, false },
		{ { 0x3f, 0x3f, 0x3e }, 3, false }, { { 0x07 }, 1, true },
	};
	struct nt_params p = plain();
	struct nt_msg m;
	unsigned int i, k;

	(void)state;
	p.extaddr = true;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pack pk;
		int ret;

		pack_init(&pk);
		pack_head(&pk, NT_TCODE_PROG_TRACE_SYNC);
		pack_bits(&pk, 5, 4);
		pack_var(&pk, 0);
		for (k = 0; k < 10; k++)
			pk.buf[pk.len++] = 0x3f << 2;
		for (k = 0; k < cases[i].nr; k++)
			pk.buf[pk.len++] = cases[i].top[k] << 2;
		pk.buf[pk.len - 1] |= 3;
		ret = decode_pack(&p, &pk, &m);
		if (ret != (cases[i].fits ? (int)pk.len : -NT_EFIELD))
			fail_msg("case %u: %d", i, ret);
		if (cases[i].fits)
			assert_true(m.addr == UINT64_MAX >> 1);
	}
}

/* The longest message there may be, and one that has no end by then */
static void R70_longest_message(void **state)
{
	static uint8_t buf[NT_MSG_MAX + 1];
	struct nt_params p = plain();
	struct nt_msg m;

	(void)state;
	buf[0] = 60 << 2;
	assert_int_equal(nt_msg_decode(&p, buf, NT_MSG_MAX - 1, &m), 0);
	assert_int_equal(nt_msg_decode(&p, buf, NT_MSG_MAX, &m), -NT_ELONG);
	assert_int_equal(nt_msg_decode(&p, buf, NT_MSG_MAX + 1, &m), -NT_ELONG);
	buf[NT_MSG_MAX] = 3;
	assert_int_equal(nt_msg_decode(&p, buf, NT_MSG_MAX + 1, &m), -NT_ELONG);
	buf[NT_MSG_MAX - 1] = 3;
	assert_int_equal(nt_msg_decode(&p, buf, NT_MSG_MAX, &m), NT_MSG_MAX);
	assert_int_equal(m.tcode, 60);
	assert_int_equal(nt_msg_decode(&p, buf, NT_MSG_MAX + 1, &m), NT_MSG_MAX);
}

static void R87_extension_on_rv32(void **state)
{
	static const uint8_t top[] = { 0x00, 0x20 };
	struct nt_params p = plain();

	(void)state;
	p.xlen = 32;
	p.extaddr = true;
	assert_true(extended(&p, top, sizeof(top)) == 0xfffff000);
	p.extaddr = false;
	assert_true(extended(&p, top, sizeof(top)) == 0x1000);
}

static void R83_R90_full_addresses(void **state)
{
	static const uint64_t addrs[] = {
		0, 2, 0x80000000, 0x7ffffffffffffffe, 0x8000000000000000,
		0xffffffffffffffffull & ~1ull, 0x0000800000000000, 0xdeadbeefcafef00c,
	};
	struct nt_params p = plain();
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(addrs) / sizeof(addrs[0]); i++) {
		struct nt_msg m;
		struct pack pk;

		pack_init(&pk);
		pack_ptsync(&pk, 5, 0, addrs[i]);
		assert_int_equal(decode_pack(&p, &pk, &m), pk.len);
		assert_true(m.addr << 1 == addrs[i]);
	}
}

static void R127_ownership_words(void **state)
{
	struct nt_params p = plain();
	char text[200];
	struct nt_msg m;
	struct pack pk;

	(void)state;
	pack_init(&pk);
	pack_ownership(&pk, 0xc);
	assert_int_equal(decode_pack(&p, &pk, &m), pk.len);
	nt_msg_format(&m, text, sizeof(text));
	assert_string_equal(text, "Ownership PROCESS=0xc FORMAT=0 PRV=3 V=0");
}

static void format_is_cut_to_size(void **state)
{
	struct nt_params p = plain();
	char text[16];
	struct nt_msg m;

	(void)state;
	assert_int_equal(decode_hex(&p, "FF 70 D0 1D 1D F8 FF", &m), 7);
	memset(text, 'x', sizeof(text));
	assert_int_equal(nt_msg_format(&m, text, 10), 59);
	assert_string_equal(text, "IndirectB");
	assert_int_equal(text[10], 'x');
	assert_int_equal(nt_msg_format(&m, NULL, 0), 59);
}

static void sync_is_found(void **state)
{
	struct nt_params p = plain();
	struct pack pk;
	size_t first, second;

	(void)state;
	pack_init(&pk);
	pack_ptsync(&pk, 5, 0, 0x1000);
	pack_db(&pk, 5);
	first = pk.len;
	pack_ibhsync(&pk, 2, 0, 1, 0x1000, 1);
	pack_db(&pk, 5);
	pk.buf[pk.len++] = 0xff;
	second = pk.len;
	pack_dbsync(&pk, 2, 1, 0x1000);
	assert_int_equal(nt_msg_find_sync(&p, pk.buf, pk.len, 0), first);
	assert_int_equal(nt_msg_find_sync(&p, pk.buf, pk.len, first), second);
	assert_int_equal(nt_msg_find_sync(&p, pk.buf, pk.len, second), pk.len);
	assert_int_equal(nt_msg_find_sync(&p, pk.buf, pk.len, pk.len + 5), pk.len);
}

static bool no_room(void *ctx, const uint8_t *msg, unsigned int len)
{
	(void)ctx;
	(void)msg;
	(void)len;
	return false;
}

/* Nearly all bytes are of a message as nt-short.h reads them; the others make it end, or be bad. */
static void random_short(uint8_t *buf, size_t len)
{
	static const uint8_t tcodes[] = {
		NT_TCODE_DIRECT_BRANCH, NT_TCODE_INDIRECT_BRANCH, NT_TCODE_RESOURCE_FULL,
		NT_TCODE_INDIRECT_BRANCH_HIST,
	};
	unsigned int field = 2 + rnd(12), end = 3 + rnd(20), i;

	buf[0] = tcodes[rnd(4)] << 2 | (rnd(50) ? 0 : rnd(4));
	for (i = 1; i < len; i++) {
		unsigned int mdo = rnd(4) ? rnd(64) : rnd(2) * 0x3f;

		buf[i] = mdo << 2 | (!rnd(end) ? 3 : !rnd(field) ? 1 : rnd(200) ? 0 : 2);
	}
	/* an RCODE that is common */
	if (buf[0] == NT_TCODE_RESOURCE_FULL << 2 && rnd(2))
		buf[1] = (buf[1] & ~0x3c) | rnd(3) << 2;
}

static void random_params(struct nt_params *p)
{
	nt_params_init(p);
	p->xlen = rnd(2) ? 64 : 32;
	p->timestamps = rnd(2);
	p->extaddr = rnd(2);
	p->srcbits = rnd(2) ? 0 : rnd(13);
	p->addr_bits = rnd(3) ? 0 : 20 + rnd(p->xlen - 20);
	p->profile = rnd(4) ? NT_PROFILE_1_0 : rnd(NT_PROFILE_TT_DFD + 1);
}

/* What is known of a message without reading its fields fits it, as it was read byte by byte. */
static bool check_length(const struct nt_params *p, const uint8_t *buf, const struct nt_msg *msg,
			 int n)
{
	struct nt_short_kind kinds[64];
	unsigned int len;

	nt_short_kinds(nt_srcbits(p), kinds);
	len = nt_short_length(buf, kinds, p->timestamps);
	if (!len || nt_addr_bits(p) < NT_SHORT_ADDR_MAX)
		return false;
	assert_int_equal(n, len);
	assert_int_equal(nt_short_source(nt_short_load(buf), nt_srcbits(p)), msg->src);
	return true;
}

/* The length of a message of n bytes without its last field */
static unsigned int without_last(const uint8_t *buf, unsigned int n)
{
	for (n--; n && !(buf[n - 1] & 1); n--)
		;
	return n;
}

/* Of a good message: its bytes without TSTAMP and SRC */
static void check_frame(const struct nt_params *p, const uint8_t *buf, const struct nt_msg *msg,
			int n)
{
	const bool stamped = msg->fields & NT_F_TSTAMP;
	const uint64_t src = nt_short_src(nt_srcbits(p), UINT_MAX);
	struct nt_short_frame frame = { 0 };
	uint64_t word[2];
	uint8_t bytes[16] = { 0 };

	if (p->timestamps != stamped || !nt_short_frame(buf, stamped, src, &frame))
		return;
	assert_int_equal(frame.len, n);
	assert_int_equal(frame.tcode, msg->tcode);
	if (stamped) {
		assert_true(frame.stamp == msg->tstamp);
		n = without_last(buf, n);
	}
	memcpy(bytes, buf, n);
	word[0] = nt_short_load(bytes) & ~src;
	word[1] = nt_short_load(bytes + 8);
	if (n <= 8)
		word[0] <<= 64 - 8 * n;
	assert_memory_equal(frame.word, word, sizeof(word));
}

/* A bad message must not pass for a good one with another TSTAMP. True: it has a frame. */
static bool check_bad_frame(const struct nt_params *p, const uint8_t *buf)
{
	const uint64_t src = nt_short_src(nt_srcbits(p), UINT_MAX);
	struct nt_short_frame frame;
	uint8_t other[64] = { 0 };
	struct nt_msg msg;
	unsigned int n;

	if (!p->timestamps || !nt_short_frame(buf, true, src, &frame))
		return false;
	n = without_last(buf, frame.len);
	memcpy(other, buf, n);
	other[n] = 3;
	/* one without TSTAMP has no frame */
	assert_true(nt_msg_decode(p, other, n + 1, &msg) < 0 || !(msg.fields & NT_F_TSTAMP));
	return true;
}

/*
 * With less than NT_SHORT_ROOM bytes messages are read byte by byte, with more at once: neither may
 * be noticed.
 */
static void R64_R69_short_messages_at_once(void **state)
{
	unsigned int rounds = getenv("ROUNDS") ? atoi(getenv("ROUNDS")) : 300000, good = 0, i;
	unsigned int skimmed = 0, bad = 0;
	uint8_t buf[64];
	struct nt_params p;
	struct nt_msg at_once, bytewise;
	int n, m;

	(void)state;
	rnd_begin();
	for (i = 0; i < rounds; i++) {
		random_params(&p);
		random_short(buf, sizeof(buf));
		n = nt_msg_decode(&p, buf, sizeof(buf), &at_once);
		m = nt_msg_decode(&p, buf, NT_SHORT_ROOM - 1, &bytewise);
		if (!m)
			continue;
		assert_int_equal(n, m);
		if (m < 0 && bytewise.skip == NT_SHORT_ROOM - 1)
			continue;
		assert_memory_equal(&at_once, &bytewise, sizeof(bytewise));
		good += m > 0;
		skimmed += check_length(&p, buf, &bytewise, m);
		if (m > 0 && m <= 16)
			check_frame(&p, buf, &bytewise, m);
		else if (m < 0)
			bad += check_bad_frame(&p, buf);
	}
	assert_true(good > rounds / 10);
	assert_true(skimmed > rounds / 40);
	assert_true(bad > rounds / 1000);
	print_message("# %u of %u are messages, %u short ones\n", good, rounds, skimmed);
}

/* What a newer header has behind the end of a structure, and this library does not know */
static void unknown_members_must_be_0(void **state)
{
	struct { struct nt_params p; uint8_t more[40]; } params = { .more = { 0 } };
	struct { struct nt_ctr_params p; uint8_t more[40]; } ctr = { .more = { 0 } };
	struct nt_flow *flow;
	struct nt_ctr *c;
	unsigned int i;

	(void)state;
	nt_params_init(&params.p);
	nt_ctr_params_init(&ctr.p);
	params.p.size = sizeof(params);
	ctr.p.size = sizeof(ctr);
	assert_int_equal(nt_params_check(&params.p), 0);
	flow = nt_flow_new(&params.p);
	c = nt_ctr_new(&ctr.p);
	assert_true(flow && c);
	nt_flow_free(flow);
	nt_ctr_free(c);
	for (i = 0; i < sizeof(params.more); i++) {
		params.more[i] = ctr.more[i] = 0x80;
		assert_int_equal(nt_params_check(&params.p), -NT_EINVAL);
		assert_null(nt_flow_new(&params.p));
		assert_null(nt_ctr_new(&ctr.p));
		params.more[i] = ctr.more[i] = 0;
	}
	params.p.size = SIZE_MAX;
	ctr.p.size = SIZE_MAX;
	assert_int_equal(nt_params_check(&params.p), -NT_EINVAL);
	assert_null(nt_ctr_new(&ctr.p));
}

/* A caller with any header since the first; nothing is written behind what it has. */
static void check_sizes(size_t params_size)
{
	const size_t least = offsetof(struct nt_msg, tstamp) + sizeof(uint64_t);
	static const uint8_t buf[] = { 0x0c, 0x17 };
	struct nt_params p = plain();
	struct {
		struct nt_msg m;
		uint8_t behind[32];
	} mine;
	size_t size, i;

	p.size = params_size;
	for (size = least - 1; size <= sizeof(struct nt_msg) + 8; size++) {
		memset(&mine, 0x5a, sizeof(mine));
		assert_int_equal(nt_msg_decode_sized(&p, buf, sizeof(buf), &mine.m, size),
				 size < least ? -NT_EINVAL : 2);
		if (size >= least)
			assert_int_equal(mine.m.icnt, 5);
		for (i = size < least ? 0 : size; i < sizeof(mine); i++)
			assert_int_equal(((uint8_t *)&mine)[i], 0x5a);
	}
}

static void messages_of_other_headers(void **state)
{
	(void)state;
	check_sizes(sizeof(struct nt_params));
	check_sizes(offsetof(struct nt_params, isa) + sizeof(uint32_t));
}

static void the_version_is_the_header_s(void **state)
{
	(void)state;
	assert_int_equal(nt_version(), LIBNTRACE_VERSION);
	assert_true(LIBNTRACE_VERSION >= LIBNTRACE_VERSION_OF(0, 1, 0));
	assert_true(LIBNTRACE_VERSION < LIBNTRACE_VERSION_OF(1, 0, 0));
}

static void params_are_checked(void **state)
{
	struct nt_params p = plain();

	(void)state;
	assert_int_equal(nt_params_check(&p), 0);
	p.xlen = 128;
	assert_int_equal(nt_params_check(&p), -NT_EINVAL);
	p = plain();
	p.srcbits = 13;
	assert_int_equal(nt_params_check(&p), -NT_EINVAL);
	p = plain();
	p.srcbits = 2;
	p.src = 3;
	assert_int_equal(nt_params_check(&p), 0);
	p.src = 4;
	assert_int_equal(nt_params_check(&p), -NT_EINVAL);
	p = plain();
	p.retstack = 4;
	assert_int_equal(nt_params_check(&p), -NT_EINVAL);
	p = plain();
	p.size = 8;
	assert_int_equal(nt_params_check(&p), -NT_EINVAL);
	assert_int_equal(nt_params_check(NULL), -NT_EINVAL);
}

/* nt_params_check() and nt_branch_parse() return the same error for the same mistake. */
static void branches_are_checked(void **state)
{
	static const struct {
		int ret;
		struct nt_branch b;
	} cases[] = {
		{ 0, { 0x707f, 0x600b, { { 31, 1, 1 } }, NT_TYPE_COND, { 0 } } },
		{ 0, { 0x3, 0x1, { { 2, 14, 1 } }, NT_TYPE_JUMP_LINK, { 0 } } },
		{ 0, { 0x67, 0x43, { { 8, 1, 1 } }, NT_TYPE_COND, { 0 } } },	/* bit 2 is 0 */
		{ 0, { 0x3f, 0x1f, { { 6, 42, 1 } }, NT_TYPE_COND, { 0 } } },
		{ 0, { 0x7f, 0x3f, { { 7, 57, 7 } }, NT_TYPE_COND, { 0 } } },
		{ 0, { 0x7f, 0x0b, { { 0 } }, NT_TYPE_IJUMP_LINK, { 0 } } },
		{ -NT_EMATCH, { 0x700f, 0x601b, { { 31, 1, 1 } }, NT_TYPE_COND, { 0 } } },
		{ -NT_ELENGTH, { 0, 0, { { 31, 1, 1 } }, NT_TYPE_COND, { 0 } } },
		{ -NT_ELENGTH, { 0x7060, 0x6000, { { 31, 1, 1 } }, NT_TYPE_COND, { 0 } } },
		{ -NT_ELENGTH, { 0x7003, 0x6003, { { 31, 1, 1 } }, NT_TYPE_COND, { 0 } } },
		{ -NT_ELENGTH, { 0x1f, 0x1f, { { 31, 1, 1 } }, NT_TYPE_COND, { 0 } } },
		{ -NT_ELENGTH, { 0x3f, 0x3f, { { 31, 1, 1 } }, NT_TYPE_COND, { 0 } } },
		{ -NT_ELENGTH, { 0x7f, 0x7f, { { 31, 1, 1 } }, NT_TYPE_COND, { 0 } } },
		{ -NT_ELENGTH, { 0x10003, 0x1, { { 2, 1, 1 } }, NT_TYPE_COND, { 0 } } },
		{ -NT_ELENGTH, { 1ull << 32 | 0x7f, 0xb, { { 31, 1, 1 } }, NT_TYPE_COND, { 0 } } },
		{ -NT_EKIND, { 0x7f, 0x0b, { { 31, 1, 1 } }, NT_TYPE_NONE, { 0 } } },
		{ -NT_EKIND, { 0x7f, 0x0b, { { 0 } }, NT_TYPE_TRAP, { 0 } } },
		{ -NT_EKIND, { 0x7f, 0x0b, { { 0 } }, 77, { 0 } } },
		{ -NT_EKIND, { 0x7f, 0x0b, { { 0 } }, NT_TYPE_COND, { 0 } } },
		{ -NT_EKIND, { 0x7f, 0x0b, { { 31, 1, 1 } }, NT_TYPE_RET, { 0 } } },
		{ -NT_EOFFSET, { 0x7f, 0x0b, { { 31, 1, 0 } }, NT_TYPE_COND, { 0 } } },
		{ -NT_EOFFSET, { 0x7f, 0x0b, { { 31, 2, 1 } }, NT_TYPE_COND, { 0 } } },
		{ -NT_EOFFSET, { 0x7f, 0x0b, { { 6, 2, 1 } }, NT_TYPE_COND, { 0 } } },
		{ -NT_EOFFSET, { 0x7f, 0x0b, { { 31, 1, 1 }, { 31, 1, 2 } }, NT_TYPE_COND,
				 { 0 } } },
		{ -NT_EOFFSET, { 0x7f, 0x0b, { { 31, 1, 1 }, { 30, 1, 1 } }, NT_TYPE_COND,
				 { 0 } } },
		{ -NT_EOFFSET, { 0x7f, 0x0b, { { 7, 25, 40 } }, NT_TYPE_COND, { 0 } } },
		{ -NT_EOFFSET, { 0x7f, 0x0b, { { 255, 255, 255 } }, NT_TYPE_COND, { 0 } } },
		{ -NT_EOFFSET, { 0x7f, 0x3f, { { 0, 64, 1 } }, NT_TYPE_COND, { 0 } } },
		{ -NT_EOFFSET, { 0x7f, 0x3f, { { 60, 5, 1 } }, NT_TYPE_COND, { 0 } } },
		{ -NT_EINVAL, { 0x7f, 0x0b, { { 31, 1, 1 } }, NT_TYPE_COND, { 0, 1 } } },
	};
	struct nt_enc_config c = { .size = sizeof(c), .emit = no_room };
	struct nt_branch two[2] = { cases[0].b, cases[0].b };
	struct nt_branch many[NT_BRANCHES_MAX + 1];
	struct nt_params p = plain();
	struct nt_enc *enc;
	unsigned int i;

	(void)state;
	p.nr_branches = 1;
	assert_int_equal(nt_params_check(&p), -NT_EINVAL);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		p.branches = &cases[i].b;
		if (nt_params_check(&p) != cases[i].ret)
			fail_msg("case %u: %s, not %s", i, nt_strerror(nt_params_check(&p)),
				 nt_strerror(cases[i].ret));
		enc = nt_enc_new(&p, &c);
		assert_int_equal(!enc, cases[i].ret != 0);
		nt_enc_free(enc);
	}
	p.branches = two;
	p.nr_branches = 2;
	assert_int_equal(nt_params_check(&p), -NT_EOVERLAP);
	two[1].match |= 0x1000;		/* funct3 7 */
	assert_int_equal(nt_params_check(&p), 0);
	two[1].mask = 0x607f;		/* 6 and 7 */
	two[1].match = 0x600b;
	assert_int_equal(nt_params_check(&p), -NT_EOVERLAP);
	two[1] = cases[1].b;		/* of another length */
	assert_int_equal(nt_params_check(&p), 0);
	for (i = 0; i <= NT_BRANCHES_MAX; i++)
		many[i] = (struct nt_branch){ 0x3fff, i << 7 | 0x0b, { { 31, 1, 1 } }, NT_TYPE_COND,
					      { 0 } };
	p.branches = many;
	p.nr_branches = NT_BRANCHES_MAX;
	assert_int_equal(nt_params_check(&p), 0);
	p.nr_branches++;
	assert_int_equal(nt_params_check(&p), -NT_EINVAL);
	/* an older caller's structure ends before them */
	p.size = offsetof(struct nt_params, branches);
	assert_int_equal(nt_params_check(&p), 0);
}

static void branches_as_text(void **state)
{
	static const char *const bad[] = {
		"", "0x707f", "0x707f/", "/0x600b", "0x707f/0x600b:", "0x707f/0x600b:branch",
		"0x707f/0x600b:not", "0x707f/0x600b:con", "0x707f/0x600b:conditional",
		"0x707f/0x600b:cond:", "0x707f/0x600b:cond:u", "0x707f/0x600b:cond:b:b",
		"0x707f/0x600b:cond:31", "0x707f/0x600b:cond:31@", "0x707f/0x600b:cond:31@12,",
		"0x707f/0x600b:cond:7-8@1", "0x707f/0x600b:cond:64@1", "0x707f/0x600b:cond:31@64",
		"0x707f/0x600b:cond:31-@1", "0x707f/0x600b:cond:-31@1", "0x/0x600b", "0xg/0",
		"0x10000000000000000/0", "18446744073709551616/0", "0x707f/0x600b ",
		" 0x707f/0x600b",
		"0x707f/0x600b:cond:31@1,30@2,29@3,28@4,27@5,26@6,25@7,24@8,23@9", "-1/0",
	};
	struct nt_branch b, untouched;
	unsigned int i;

	(void)state;
	memset(&untouched, 0xa5, sizeof(untouched));
	b = untouched;
	assert_int_equal(nt_branch_parse(NULL, &b), -NT_EINVAL);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (nt_branch_parse(bad[i], &b) != -NT_EINVAL)
			fail_msg("`%s' is taken", bad[i]);
	assert_int_equal(nt_branch_parse("0x700f/0x601b", &b), -NT_EMATCH);
	assert_int_equal(nt_branch_parse("0x7003/0x6003", &b), -NT_ELENGTH);
	assert_int_equal(nt_branch_parse("0x7f/0x1f:cond", &b), -NT_EKIND);
	assert_int_equal(nt_branch_parse("0x7f/0x0b:ret:b", &b), -NT_EKIND);
	assert_int_equal(nt_branch_parse("0xff/0x0b", &b), -NT_EOFFSET);
	assert_memory_equal(&b, &untouched, sizeof(b));
	assert_int_equal(nt_branch_parse("28799/24587:cond:31-30@2,29@1", &b), 0);
	assert_true(b.mask == 0x707f && b.match == 0x600b && b.type == NT_TYPE_COND);
	assert_int_equal(b.offset[0].from, 30);
	assert_int_equal(b.offset[0].width, 2);
	assert_int_equal(b.offset[0].to, 2);
	assert_int_equal(b.offset[1].width, 1);
	assert_int_equal(b.offset[2].width, 0);
	assert_int_equal(nt_branch_parse("0xFF00000000000000/0xFF00000000000000", &b), -NT_ELENGTH);
}

static void isa_strings(void **state)
{
	struct nt_params p = plain();

	(void)state;
	assert_int_equal(nt_isa_parse("rv64imafdc_zicsr_zcb", &p), 0);
	assert_int_equal(p.xlen, 64);
	assert_int_equal(p.isa, NT_ISA_C | NT_ISA_D | NT_ISA_ZCB);
	assert_int_equal(nt_isa_parse("rv32i2p1_m2p0_zca1p0_zcmp1p0_zcmt1p0", &p), 0);
	assert_int_equal(p.xlen, 32);
	assert_int_equal(p.isa, NT_ISA_C | NT_ISA_ZCMP | NT_ISA_ZCMT);
	assert_int_equal(nt_isa_parse("RV64GC", &p), 0);
	assert_int_equal(p.isa, NT_ISA_C | NT_ISA_D);
	assert_int_equal(nt_isa_parse("rv64i_xzcmt_zcmtx", &p), 0);
	assert_int_equal(p.isa, 0);
	assert_int_equal(nt_isa_parse("armv8", &p), -NT_EINVAL);
	assert_int_equal(nt_isa_parse("", &p), -NT_EINVAL);
	assert_int_equal(nt_isa_parse(NULL, &p), -NT_EINVAL);
}

static void every_error_has_words(void **state)
{
	int i, j;

	(void)state;
	for (i = 0; i < NT_ERROR_MAX; i++) {
		assert_string_not_equal(nt_strerror(i), "unknown error");
		assert_string_equal(nt_strerror(i), nt_strerror(-i));
		for (j = 0; j < i; j++)
			assert_string_not_equal(nt_strerror(i), nt_strerror(j));
	}
	assert_string_equal(nt_strerror(NT_ERROR_MAX), "unknown error");
	assert_string_equal(nt_strerror(INT32_MIN), "unknown error");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(R64_mdo_and_reserved_mseo),
		cmocka_unit_test(R65_idle_between_messages),
		cmocka_unit_test(R66_first_byte),
		cmocka_unit_test(R67_fixed_fields_straddle_bytes),
		cmocka_unit_test(R68_variable_field_uses_all_bits),
		cmocka_unit_test(R70_endless_field),
		cmocka_unit_test(R71_too_wide_is_diagnosed),
		cmocka_unit_test(R72_start_inside_a_message),
		cmocka_unit_test(R73_all_messages),
		cmocka_unit_test(R73_missing_and_extra_fields),
		cmocka_unit_test(R74_vendor_and_reserved),
		cmocka_unit_test(R75_vector_1),
		cmocka_unit_test(R76_rcode_decides_the_fields),
		cmocka_unit_test(R77_cdf),
		cmocka_unit_test(R83_R90_full_addresses),
		cmocka_unit_test(R86_extended_addresses),
		cmocka_unit_test(R71_R86_sign_beyond_64_bits),
		cmocka_unit_test(R70_longest_message),
		cmocka_unit_test(R87_extension_on_rv32),
		cmocka_unit_test(R127_ownership_words),
		cmocka_unit_test(format_is_cut_to_size),
		cmocka_unit_test(sync_is_found),
		cmocka_unit_test(R64_R69_short_messages_at_once),
		cmocka_unit_test(unknown_members_must_be_0),
		cmocka_unit_test(messages_of_other_headers),
		cmocka_unit_test(the_version_is_the_header_s),
		cmocka_unit_test(params_are_checked),
		cmocka_unit_test(branches_are_checked),
		cmocka_unit_test(branches_as_text),
		cmocka_unit_test(isa_strings),
		cmocka_unit_test(every_error_has_words),
	};

	return RUN_TAP(tests);
}
