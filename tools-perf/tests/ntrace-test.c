// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tables of the N-Trace decoder: bytes and what they say, code and trace and
 * where it went, the words of PERF_RECORD_AUXTRACE_INFO. Nothing here needs the
 * hardware, or a machine like it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/compiler.h>
#include <linux/kernel.h>

#include "debug.h"
#include "event.h"
#include "tests.h"
#include "util/ntrace-tree.h"

#if defined(HAVE_AUXTRACE_SUPPORT) || defined(NTRACE_TREE_AUXTRACE)
#define NTRACE_TESTS
#include "util/ntrace-priv.h"

#define POISON		0xa5

/* --- messages ----------------------------------------------------------------- */

static const struct {
	const char	*text;
	unsigned int	len;
	u8		bytes[16];
	bool		timestamps, extaddr;
	unsigned int	srcbits, src;
} messages[] = {
	{ "Ownership PROCESS=0x3b2 FORMAT=2 PRV=0 V=1 CONTEXT=0x1d", 3,
	  .bytes = { 0x08, 0xc8, 0x3b } },
	{ "Ownership PROCESS=0xc FORMAT=0 PRV=3 V=0", 2, .bytes = { 0x08, 0x33 } },
	{ "DirectBranch I-CNT=5", 2, .bytes = { 0x0c, 0x17 } },
	{ "IndirectBranchHist B-TYPE=0 I-CNT=125 U-ADDR=0x7 HIST=0xffe", 7,
	  .bytes = { 0xff, 0x70, 0xd0, 0x1d, 0x1d, 0xf8, 0xff } },
	{ "ProgTraceSync SYNC=5 I-CNT=0 F-ADDR=0xfc00018fa", 8,
	  .bytes = { 0x24, 0x15, 0xe8, 0x8c, 0x04, 0x00, 0x00, 0xff } },
	{ "ProgTraceSync SYNC=5 I-CNT=0 F-ADDR=0x7fffffffc00018fa", 8,
	  .bytes = { 0x24, 0x15, 0xe8, 0x8c, 0x04, 0x00, 0x00, 0xff }, .extaddr = true },
	{ "ProgTraceSync SYNC=5 I-CNT=0 F-ADDR=0x40000000", 9,
	  .bytes = { 0x24, 0xb4, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x07 },
	  .srcbits = 3, .src = 5 },
	{ "ResourceFull RCODE=1 RDATA0=0x15 TSTAMP=9", 4, .bytes = { 0x6c, 0x44, 0x15, 0x27 },
	  .timestamps = true },
	{ "ResourceFull RCODE=2 RDATA0=0x16 RDATA1=10", 4, .bytes = { 0x6c, 0x88, 0x15, 0x2b },
	  .timestamps = true },
	{ "ProgTraceCorrelation EVCODE=4 CDF=1 I-CNT=21 HIST=0x1", 4,
	  .bytes = { 0x84, 0x50, 0x55, 0x07 } },
	{ "Vendor TCODE=56", 2, .bytes = { 0xe0, 0x03 } },
};

static void message_params(unsigned int i, struct nt_params *params)
{
	nt_params_init(params);
	params->xlen	   = 64;
	params->src	   = -1;
	params->timestamps = messages[i].timestamps;
	params->extaddr	   = messages[i].extaddr;
	params->srcbits	   = messages[i].srcbits;
}

static int test_message(unsigned int i)
{
	struct nt_params params;
	struct nt_msg msg;
	unsigned int len;
	char text[256];

	message_params(i, &params);
	memset(&msg, POISON, sizeof(msg));
	TEST_ASSERT_EQUAL("length of a message",
			  nt_msg_decode(&params, messages[i].bytes, messages[i].len, &msg),
			  (int)messages[i].len);
	TEST_ASSERT_EQUAL("SRC", (unsigned int)msg.src, messages[i].src);
	nt_msg_format(&msg, text, sizeof(text));
	if (strcmp(text, messages[i].text)) {
		pr_debug("expected %s, found %s\n", messages[i].text, text);
		return TEST_FAIL;
	}
	for (len = 0; len < messages[i].len; len++) {
		TEST_ASSERT_EQUAL("part of a message",
				  nt_msg_decode(&params, messages[i].bytes, len, &msg), 0);
	}
	return TEST_OK;
}

static int test__ntrace_messages(struct test_suite *test __maybe_unused,
				 int subtest __maybe_unused)
{
	static const u8 damaged[] = { 0x0c, 0x02, 0x17, 0x0c, 0x17 };
	struct nt_params params;
	struct nt_msg msg;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(messages); i++) {
		if (test_message(i) != TEST_OK)
			return TEST_FAIL;
	}
	message_params(0, &params);
	TEST_ASSERT_VAL("a reserved MSEO is no message",
			nt_msg_decode(&params, damaged, sizeof(damaged), &msg) < 0);
	TEST_ASSERT_EQUAL("bytes to pass over", (int)msg.skip, 3);
	return TEST_OK;
}

/* --- control flow -------------------------------------------------------------- */

/* 100 c.add; 102 beq 200; 106 add; 10a beq 300; ... 200 c.add; 202 c.ebreak; 300 add */
static const u8 code_100[] = { 0x2e, 0x95, 0x63, 0x0f, 0xb5, 0x0e, 0x33, 0x05, 0xb5, 0x00,
			       0x63, 0x0b, 0xb5, 0x1e };
static const u8 code_200[] = { 0x2e, 0x95, 0x02, 0x90 };
static const u8 code_300[] = { 0x33, 0x05, 0xb5, 0x00 };

static int read_code(void *ctx __maybe_unused, uint64_t space __maybe_unused, uint64_t addr,
		     void *buf, size_t len)
{
	static const struct {
		u64		at;
		size_t		len;
		const u8	*bytes;
	} pieces[] = {
		{ 0x100, sizeof(code_100), code_100 },
		{ 0x200, sizeof(code_200), code_200 },
		{ 0x300, sizeof(code_300), code_300 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pieces); i++) {
		if (addr < pieces[i].at || addr >= pieces[i].at + pieces[i].len)
			continue;
		len = min(len, pieces[i].len - (size_t)(addr - pieces[i].at));
		memcpy(buf, pieces[i].bytes + (addr - pieces[i].at), len);
		return len;
	}
	return 0;
}

/* What a trace is expected to be, the last of KIND NT_EV_STOP */
struct step {
	unsigned int	kind;
	u64		from, to;
	unsigned int	insns;
};

static int compare_flow(struct nt_flow *flow, const struct step *step)
{
	struct nt_event ev[16];
	unsigned int at = 0;
	int i, n;

	while ((n = nt_flow_next(flow, ev, ARRAY_SIZE(ev))) > 0) {
		for (i = 0; i < n; i++, at++) {
			if (ev[i].kind == step[at].kind && ev[i].from == step[at].from &&
			    ev[i].to == step[at].to && ev[i].insns == step[at].insns)
				continue;
			pr_debug("event %u: kind %u from %#" PRIx64 " to %#" PRIx64 " insns %u\n",
				 at, ev[i].kind, ev[i].from, ev[i].to, ev[i].insns);
			return TEST_FAIL;
		}
	}
	TEST_ASSERT_VAL("the end of the trace", !n && at && step[at - 1].kind == NT_EV_STOP);
	return TEST_OK;
}

static int test_flow(const u8 *trace, size_t len, const struct step *step)
{
	struct nt_params params;
	struct nt_code *code;
	struct nt_flow *flow;
	int ret = TEST_FAIL;

	nt_params_init(&params);
	params.xlen = 64;
	params.src = -1;
	code = nt_code_new(&params, read_code, NULL);
	flow = nt_flow_new(&params);
	if (code && flow) {
		nt_flow_set_code(flow, code, NULL);
		nt_flow_window(flow, trace, len, 0);
		ret = compare_flow(flow, step);
	}
	nt_flow_free(flow);
	nt_code_free(code);
	return ret;
}

static int test__ntrace_flow(struct test_suite *test __maybe_unused, int subtest __maybe_unused)
{
	/* Sync at 0x100, the first branch taken, one more instruction */
	static const u8 btm[] = { 0x24, 0x05, 0x00, 0x0b, 0x0c, 0x0f, 0x84, 0x00, 0x07 };
	static const struct step btm_steps[] = {
		{ NT_EV_START, 0x100, 0x100, 0 },
		{ NT_EV_BRANCH, 0x102, 0x200, 2 },
		{ NT_EV_STOP, 0x202, 0, 1 },
	};
	/* Sync at 0x100, the second branch taken, one more instruction: a history of two */
	static const u8 htm[] = { 0x24, 0x05, 0x00, 0x0b, 0x84, 0x40, 0x25, 0x17 };
	static const struct step htm_steps[] = {
		{ NT_EV_START, 0x100, 0x100, 0 },
		{ NT_EV_BRANCH, 0x10a, 0x300, 4 },
		{ NT_EV_STOP, 0x304, 0, 1 },
	};

	TEST_ASSERT_EQUAL("branch trace", test_flow(btm, sizeof(btm), btm_steps), TEST_OK);
	TEST_ASSERT_EQUAL("history trace", test_flow(htm, sizeof(htm), htm_steps), TEST_OK);
	return TEST_OK;
}

/* --- PERF_RECORD_AUXTRACE_INFO --------------------------------------------------- */

static struct perf_record_auxtrace_info *new_info(size_t *size)
{
	static const char isa[] = "rv64imafdc";
	size_t words = NTRACE_INFO_HEADER_MAX + NTRACE_INFO_CPU_MAX + 1 + 2, i;
	struct perf_record_auxtrace_info *rec;
	__u64 *word, *cpu, *item;

	*size = sizeof(*rec) + words * sizeof(u64);
	rec = calloc(1, *size);
	if (!rec)
		return NULL;
	rec->header.size = *size;
	word = rec->priv;
	cpu  = word + NTRACE_INFO_HEADER_MAX;
	item = cpu + NTRACE_INFO_CPU_MAX;
	word[NTRACE_INFO_VERSION]      = NTRACE_INFO_MAJOR << 16 | NTRACE_INFO_MINOR;
	word[NTRACE_INFO_HEADER_WORDS] = NTRACE_INFO_HEADER_MAX;
	word[NTRACE_INFO_NR_CPUS]      = 1;
	word[NTRACE_INFO_CPU_WORDS]    = NTRACE_INFO_CPU_MAX;
	word[NTRACE_INFO_XLEN]	       = 64;
	cpu[NTRACE_INFO_CPU_NR]	       = 3;
	cpu[NTRACE_INFO_CPU_HART]      = 7;
	cpu[NTRACE_INFO_CPU_ADDR_BITS] = 48;
	cpu[NTRACE_INFO_CPU_TS_WIDTH]  = 40;
	cpu[NTRACE_INFO_CPU_PROFILE]   = NT_PROFILE_TT_DFD;
	*item++ = (u64)NTRACE_INFO_TAG_ISA << 32 | strlen(isa);
	for (i = 0; isa[i]; i++)
		item[i / 8] |= (u64)isa[i] << (i % 8 * 8);
	return rec;
}

static int read_info(struct ntrace_info *info, const struct perf_record_auxtrace_info *rec)
{
	size_t words = (rec->header.size - sizeof(*rec)) / sizeof(u64);
	char why[NTRACE_WHY] = "";
	int err = ntrace_info_read(info, (const u64 *)rec->priv, words, why);

	/* An error has a reason, and nothing else has. */
	return !err == !*why ? err : 1;
}

static int read_terms(const struct ntrace_info *info, u64 hw_id, int cpu,
		      struct nt_params *params)
{
	char why[NTRACE_WHY] = "";
	int err = ntrace_info_params(info, hw_id, cpu, params, why);

	return !err == !*why ? err : 1;
}

static int check_info(struct perf_record_auxtrace_info *rec, size_t size)
{
	struct ntrace_info info = { 0 };
	struct nt_params params;
	size_t cut;

	TEST_ASSERT_EQUAL("reading", read_info(&info, rec), 0);
	TEST_ASSERT_VAL("the CPU", ntrace_info_cpu(&info, 3) && !ntrace_info_cpu(&info, 0) &&
			ntrace_info_cpu(&info, 3)[NTRACE_INFO_CPU_HART] == 7);
	TEST_ASSERT_VAL("the ISA", info.isa && !strcmp(info.isa, "rv64imafdc"));
	/* Version 1, history, all compared returns, timestamps */
	TEST_ASSERT_EQUAL("terms",
			  read_terms(&info, 1 | 0x808ULL << 8 | 1 << 23, 3, &params), 0);
	TEST_ASSERT_EQUAL("address bits", params.addr_bits, 48);
	TEST_ASSERT_EQUAL("timestamp bits", params.tstamp_bits, 40);
	TEST_ASSERT_EQUAL("a CPU that is not known", read_terms(&info, 1, 0, &params), 0);
	TEST_ASSERT_VAL("its bits", !params.addr_bits && params.tstamp_bits == 64);
	TEST_ASSERT_EQUAL("mode that it does not tell", params.mode, NT_MODE_UNKNOWN);
	TEST_ASSERT_EQUAL("BTM", read_terms(&info, 1 | 3 << 4, 3, &params), 0);
	TEST_ASSERT_EQUAL("BTM", params.mode, NT_MODE_BTM);
	TEST_ASSERT_EQUAL("HTM", read_terms(&info, 1 | 6 << 4, 3, &params), 0);
	TEST_ASSERT_EQUAL("HTM", params.mode, NT_MODE_HTM);
	TEST_ASSERT_EQUAL("messages of 1.0", params.profile, NT_PROFILE_1_0);
	TEST_ASSERT_EQUAL("others", read_terms(&info, 2 | 6 << 4, 3, &params), 0);
	TEST_ASSERT_EQUAL("others", params.profile, NT_PROFILE_TT_DFD);
	TEST_ASSERT_VAL("messages that deviate, nobody says how",
			read_terms(&info, 2 | 6 << 4, 0, &params) < 0);
	TEST_ASSERT_VAL("a newer HW_ID is refused", read_terms(&info, 3, 3, &params) < 0);
	ntrace_info_free(&info);

	/* Only the last item may be missing. */
	for (cut = 8; cut <= size - sizeof(*rec); cut += 8) {
		memset(&info, 0, sizeof(info));
		rec->header.size = size - cut;
		TEST_ASSERT_VAL("a record that is cut",
				!read_info(&info, rec) == (cut == 3 * sizeof(u64)));
		ntrace_info_free(&info);
	}
	rec->header.size = size;
	rec->priv[NTRACE_INFO_VERSION] = (NTRACE_INFO_MAJOR + 1) << 16;
	memset(&info, 0, sizeof(info));
	TEST_ASSERT_VAL("a newer major version is refused", read_info(&info, rec) < 0);
	ntrace_info_free(&info);
	return TEST_OK;
}

static int test__ntrace_info(struct test_suite *test __maybe_unused, int subtest __maybe_unused)
{
	size_t size;
	struct perf_record_auxtrace_info *rec = new_info(&size);
	int ret = rec ? check_info(rec, size) : TEST_FAIL;

	free(rec);
	return ret;
}

/* --- times and samples ----------------------------------------------------------- */

#define STAMPED	(NT_EVF_TIME | NT_EVF_STAMP)
#define BRANCH(at, n, f)	{ .kind = NT_EV_BRANCH, .offset = at, .insns = n, .flags = f }

/* A ProgTraceSync with a timestamp of 16 bits */
#define SYNC_AT(t)	0x24, 0x05, 0x00, 0x09, \
	((t) & 0x3f) << 2, ((t) >> 6 & 0x3f) << 2, ((t) >> 12) << 2 | 3

static int test_time_from(void)
{
	/* Three times, rising, of which the second begins another range */
	static const u8 trace[] = { SYNC_AT(0xff00), SYNC_AT(0x4000), SYNC_AT(0xc000) };
	/* A ResourceFull tells the third: 0x5000 + 0xc000, another range, or 0x5000 ^ 0xc000 */
	static const u8 full[] = { SYNC_AT(0xff00), SYNC_AT(0x5000), 0x6c, 0x41, 0x00, 0x00, 0x33 };
	struct nt_params params;

	nt_params_init(&params);
	params.timestamps = true;
	TEST_ASSERT_VAL("64 bits",
			nt_session_time_from(&params, 0, 5000000, trace, sizeof(trace)) == 0);
	params.tstamp_bits = 16;
	TEST_ASSERT_VAL("no time of the window",
			nt_session_time_from(&params, 0, 0, trace, sizeof(trace)) == 0);
	TEST_ASSERT_VAL("the first range",
			nt_session_time_from(&params, 0, 0xd000, trace, sizeof(trace)) == 0);
	/* One time only: it is known from the end alone, with an eighth of the range behind it. */
	TEST_ASSERT_VAL("a short window",
			nt_session_time_from(&params, 0x7d000, 0x85000, NULL, 0) == 0x77001);
	/* The last is 0x8c000, and the first lies 0xc100 before it. */
	TEST_ASSERT_VAL("a long window",
			nt_session_time_from(&params, 0x10000, 0x8d000, trace,
					     sizeof(trace)) == 0x7ff00);
	TEST_ASSERT_VAL("a distance",
			nt_session_time_from(&params, 0x10000, 0x8d000, full,
					     sizeof(full)) == 0x6ff00);
	params.profile = NT_PROFILE_P550;
	TEST_ASSERT_VAL("bits that changed",
			nt_session_time_from(&params, 0x10000, 0x8d000, full,
					     sizeof(full)) == 0x7ff00);
	params.profile = NT_PROFILE_1_0;
	TEST_ASSERT_VAL("a record from before the last message",
			nt_session_time_from(&params, 0, 0x8b000, trace, sizeof(trace)) == 0x7ff00);
	TEST_ASSERT_VAL("a long window without times",
			nt_session_time_from(&params, 0, 0x8d000, NULL, 0) == 0x7f001);
	TEST_ASSERT_VAL("the same stamp, a range later",
			nt_tstamp_widen(0x12346, 0x2345, 16) == 0x22345);
	return TEST_OK;
}

/* Messages at offsets 0 (a start), 10, 20 (without a time of its own), 30 */
static const struct nt_event timed_events[] = {
	{ .kind = NT_EV_START, .offset = 0, .flags = STAMPED },
	BRANCH(10, 4, STAMPED), BRANCH(10, 6, STAMPED),
	BRANCH(20, 5, NT_EVF_TIME), BRANCH(20, 1, NT_EVF_TIME),
	BRANCH(30, 2, STAMPED), BRANCH(30, 2, STAMPED),
	{ .kind = NT_EV_START, .offset = 40, .flags = STAMPED },
};

static bool next_span(struct nt_session_span *s, int nr, bool all)
{
	int first = s->end;

	s->sum = 0;
	if (!nt_session_span_scan(s, timed_events, first, nr, all))
		return false;
	s->end = s->scan;
	return true;
}

static int test__ntrace_times(struct test_suite *test __maybe_unused,
			      int subtest __maybe_unused)
{
	struct nt_session_span s = { .end = 0 };

	TEST_ASSERT_VAL("a start", next_span(&s, 8, false) && s.end == 1 && !s.sum);
	TEST_ASSERT_VAL("a message", next_span(&s, 8, false) && s.end == 3 && s.sum == 10);
	TEST_ASSERT_VAL("one without a time, and the next", next_span(&s, 8, false) &&
			s.end == 7 && s.sum == 10);
	TEST_ASSERT_VAL("the next start", next_span(&s, 8, false) && s.end == 8 && !s.sum);

	TEST_ASSERT_EQUAL("fewer bits", test_time_from(), TEST_OK);

	/* There may be more of a message, as long as nobody says that there is not. */
	s = (struct nt_session_span) { .end = 1, .scan = 1 };
	TEST_ASSERT_VAL("part of a message", !nt_session_span_scan(&s, timed_events, 1, 3, false));
	TEST_ASSERT_VAL("... and all of it",
			nt_session_span_scan(&s, timed_events, 1, 3, true) &&
			s.scan == 3 && s.sum == 10);
	s = (struct nt_session_span) { .end = 3, .scan = 3 };
	TEST_ASSERT_VAL("no time yet", !nt_session_span_scan(&s, timed_events, 3, 5, false));
	TEST_ASSERT_VAL("... but in the rest of it",
			nt_session_span_scan(&s, timed_events, 3, 8, false) &&
			s.scan == 7 && s.sum == 10);

	s = (struct nt_session_span) { .insns = 10, .from = 1000, .to = 1100 };
	TEST_ASSERT_VAL("times between those of messages",
			nt_session_span_at(&s, 0) == 1000 && nt_session_span_at(&s, 1) == 1010 &&
			nt_session_span_at(&s, 7) == 1070 && nt_session_span_at(&s, 10) == 1100 &&
			nt_session_span_at(&s, 11) == 1100);
	s.insns = 0;
	TEST_ASSERT_EQUAL("nothing retired", (int)nt_session_span_at(&s, 0), 1100);
	return TEST_OK;
}

/* Messages without the code, in two windows: a damaged one begins in one and ends in the other. */
static int test_quick(struct nt_session_quick *qk)
{
	static const u8 begin[] = { 0x24, 0x15, 0x00, 0x83, 0x02 };
	static const u8 rest[] = { 0x24, 0x15, 0x08, 0x83, 0x24, 0x15, 0x00, 0x83 };
	struct nt_event ev[NT_SESSION_BATCH];

	nt_session_quick_window(qk, begin, sizeof(begin), 0, true, false);
	TEST_ASSERT_EQUAL("start and damage",
			  nt_session_quick_next(qk, ev, NT_SESSION_BATCH, UINT64_MAX), 2);
	TEST_ASSERT_VAL("where it starts", ev[0].kind == NT_EV_START && ev[0].to == 0x1000);
	TEST_ASSERT_VAL("the loss", ev[1].kind == NT_EV_LOSS);
	nt_session_quick_window(qk, rest, sizeof(rest), sizeof(begin), false, true);
	TEST_ASSERT_EQUAL("behind the damage",
			  nt_session_quick_next(qk, ev, NT_SESSION_BATCH, UINT64_MAX), 1);
	TEST_ASSERT_VAL("the next start", ev[0].kind == NT_EV_START && ev[0].to == 0x1000);
	return TEST_OK;
}

static int test__ntrace_quick(struct test_suite *test __maybe_unused, int subtest __maybe_unused)
{
	struct nt_session_quick *qk;
	struct nt_params params;
	int ret;

	nt_params_init(&params);
	params.xlen = 64;
	params.src = -1;
	qk = nt_session_quick_new(&params, false);
	ret = qk ? test_quick(qk) : TEST_FAIL;
	nt_session_quick_free(qk);
	return ret;
}

/* The clock of samples: the usual pace, whatever a tick or a stall adds to one span */
static u64 advance(struct nt_session_pace *p, u64 insns, u64 ns)
{
	return nt_session_pace_advance(p, insns, ns << NT_SESSION_CLOCK_SHIFT, false) >>
	       NT_SESSION_CLOCK_SHIFT;
}

static int test_pace(void)
{
	struct nt_session_pace p = { .tick = 100 << NT_SESSION_CLOCK_SHIFT,
				 .period = 1000 << NT_SESSION_CLOCK_SHIFT };
	u64 clock = 0, last = 0;
	int i;

	/* 30 instructions in 30 ns, in ticks of 100 ns */
	for (i = 0; i < 10000; i++)
		clock += advance(&p, 30, (i + 1) * 30 / 100 * 100 - i * 30 / 100 * 100);
	TEST_ASSERT_VAL("time goes by", clock > 290000 && clock < 310000);
	TEST_ASSERT_VAL("a stall is not sampled", advance(&p, 30, 1000000000) < 100);
	for (i = 0; i < 10000; i++)
		last = advance(&p, 30, 3000);
	TEST_ASSERT_VAL("slower for good", last > 2900 && last < 3100);
	TEST_ASSERT_VAL("nothing retires", !advance(&p, 0, 1000));
	return TEST_OK;
}

/* A queue that is in the middle of a period, and what may follow */
static int test_restart(struct ntrace *nt, struct ntrace_queue *q)
{
	const struct nt_event start = { .kind = NT_EV_START, .to = 0x100 };
	struct nt_session_buffer buffer = { .cpu = 1 };
	u64 seen = 0, place;
	int i;

	nt->opts.period = nt->untimed_period = 1000;
	nt->opts.period_type = PERF_ITRACE_PERIOD_INSTRUCTIONS;
	q->nt = nt;
	q->s.buffer = &buffer;
	for (i = 0; i < 4000; i++) {
		q->insns += 50;
		q->s.have_held = false;
		TEST_ASSERT_EQUAL("a start", ntrace_queue_event(&q->s, &start, true), 0);
		TEST_ASSERT_VAL("the sample is in the period that began",
				q->next_sample > q->insns && q->next_sample <= q->insns + 1000);
		place = q->next_sample - q->insns;
		seen += place <= 50;
	}
	/* One in 20 is in the 50 instructions that are left until the next gap. */
	TEST_ASSERT_VAL("stretches shorter than a period", seen > 140 && seen < 260);

	nt->exact_period = true;
	place = q->next_sample;
	q->insns += 50;
	q->s.have_held = false;
	TEST_ASSERT_EQUAL("a start", ntrace_queue_event(&q->s, &start, true), 0);
	TEST_ASSERT_VAL("exact periods go on", q->next_sample == place);
	return TEST_OK;
}

static int test__ntrace_samples(struct test_suite *test __maybe_unused,
				int subtest __maybe_unused)
{
	struct ntrace *nt = calloc(1, sizeof(*nt));
	struct ntrace_queue *q = calloc(1, sizeof(*q));
	int ret = nt && q ? test_pace() : TEST_FAIL;

	if (ret == TEST_OK)
		ret = test_restart(nt, q);
	free(q);
	free(nt);
	return ret;
}

#endif /* NTRACE_TESTS */

static struct test_case ntrace_tests[] = {
#ifdef NTRACE_TESTS
	TEST_CASE("RISC-V N-Trace messages", ntrace_messages),
	TEST_CASE("RISC-V N-Trace control flow", ntrace_flow),
	TEST_CASE("RISC-V N-Trace description of the machine", ntrace_info),
	TEST_CASE("RISC-V N-Trace times", ntrace_times),
	TEST_CASE("RISC-V N-Trace samples", ntrace_samples),
	TEST_CASE("RISC-V N-Trace without the code", ntrace_quick),
#endif
	{ .name = NULL, }
};

struct test_suite suite__ntrace = {
	.desc = "RISC-V N-Trace decoder",
	.test_cases = ntrace_tests,
};
