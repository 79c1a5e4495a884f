// SPDX-License-Identifier: GPL-2.0-only
/*
 * Work is bounded: events and instructions that a decoder delivers, counted, are never more than
 * its input pays for, whatever the program is (Documentation/design.rst, "Bad input").
 */
#include "nt-flow.h"
#include "program.h"

/* A window's budget at first; small, as WORK_PER_BYTE is with -D, so that it is met */
#define FIRST		512
#define BATCH_MAX	64
/* Events of a message beside those of its walk and repetitions, which the budget does not count */
#define PER_MESSAGE	4

struct bound {
	uint64_t events, insns;
	uint64_t icnt;		/* the longest that RepeatBranch may repeat */
};

static void pay_resource_full(struct bound *b, const struct nt_msg *m)
{
	if (m->rcode)	/* outcomes run no further ahead of I-CNT */
		b->insns += ICNT_MAX + HIST_REACH;
	else if (m->rdata[0] <= (uint64_t)ICNT_MAX)
		b->insns += m->rdata[0];
}

/* What the message pays for, that is whole and legal */
static void pay(struct bound *b, const struct nt_msg *m)
{
	b->events += PER_MESSAGE;
	if (m->tcode == NT_TCODE_RESOURCE_FULL)
		pay_resource_full(b, m);
	if (m->tcode == NT_TCODE_REPEAT_BRANCH && m->bcnt <= (uint64_t)REPEAT_MAX)
		b->insns += m->bcnt * b->icnt;
	if (!(m->fields & NT_F_ICNT) || m->icnt > (uint64_t)ICNT_MAX)
		return;
	b->insns += m->icnt;
	if (b->icnt < m->icnt)
		b->icnt = m->icnt;
}

static struct bound bound_of(const struct nt_params *params, const uint8_t *p, size_t len)
{
	struct bound b = { .events = FIRST + BATCH_MAX + len * WORK_PER_BYTE };
	struct nt_msg m;
	int ret;

	while (len) {
		ret = nt_msg_decode(params, p, len, &m);
		if (!ret)
			break;
		if (ret > 0)
			pay(&b, &m);
		else
			b.events += PER_MESSAGE;
		p += ret > 0 ? (size_t)ret : m.skip;
		len -= ret > 0 ? (size_t)ret : m.skip;
	}
	b.events += PER_MESSAGE;
	return b;
}

static void work(struct nt_flow *flow, const struct bound *b, unsigned int max)
{
	struct nt_event ev[BATCH_MAX];
	uint64_t events = 0, insns = 0;
	int n, i;

	while ((n = nt_flow_next(flow, ev, max)) > 0) {
		events += n;
		for (i = 0; i < n; i++)
			insns += ev[i].insns;
		MUST(events <= b->events);
		MUST(insns <= b->insns);
	}
	MUST(!n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, data + size };
	static struct fuzz_program prog;
	struct nt_params params;
	struct nt_code *code;
	struct nt_flow *flow;
	struct bound b;
	unsigned int max;

	take_params(&in, &params);
	max = 1 + take(&in) % BATCH_MAX;
	fuzz_program_make(&prog, &in, &params, false);
	params.jvt = prog.base;
	b = bound_of(&params, in.p, left(&in));
	code = nt_code_new(&params, fuzz_read, &prog);
	flow = nt_flow_new(&params);
	MUST(code && flow);
	nt_flow_set_code(flow, code, code);
	nt_flow_window(flow, in.p, left(&in), 0);
	flow->work = FIRST;
	work(flow, &b, max);
	nt_flow_free(flow);
	nt_code_free(code);
	return 0;
}
