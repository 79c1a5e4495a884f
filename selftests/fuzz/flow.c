// SPDX-License-Identifier: GPL-2.0-only
/*
 * The flow layer with any program: parameters, 512 bytes (or what there is) of code at an address
 * where traces find it, then messages. What is reported has to be linear code.
 */
#include <stdlib.h>

#include "fuzz.h"

#define CODE_SIZE	512
#define CODE_AT		0x80000000ull
#define EVENTS_MAX	4096	/* of a repetition that would not end */

struct code {
	const uint8_t *bytes;
	size_t size;
};

static size_t read_code(void *ctx, uint64_t addr, void *buf, size_t len)
{
	const struct code *c = ctx;
	uint64_t at = addr - CODE_AT;

	if (at >= c->size)
		return 0;
	if (len > c->size - at)
		len = c->size - at;
	memcpy(buf, c->bytes + at, len);
	return len;
}

static void check(struct nt_code *code, const struct nt_event *ev, uint64_t *pc, uint64_t mask)
{
	struct nt_insn insn = { .type = NT_TYPE_NONE };
	uint32_t n;

	for (n = 0; n < ev->insns && n < EVENTS_MAX; n++) {
		if (insn.type != NT_TYPE_NONE && insn.type != NT_TYPE_COND)
			abort();
		if (nt_code_insn(code, *pc, &insn) <= 0)
			abort();
		*pc = (*pc + insn.len) & mask;
	}
	if (ev->kind == NT_EV_BRANCH || ev->kind == NT_EV_START)
		*pc = ev->to;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nt_event ev[64];
	struct nt_params p;
	struct nt_code *code;
	struct nt_flow *flow;
	struct code c;
	uint64_t pc = 0;
	int n, i, total = 0;

	if (!fuzz_params(&p, &data, &size))
		return 0;
	p.jvt = CODE_AT + 256;
	c.bytes = data;
	c.size = size / 2 < CODE_SIZE ? size / 2 : CODE_SIZE;
	code = nt_code_new(&p, read_code, &c);
	flow = nt_flow_new(&p);
	if (code && flow) {
		nt_flow_set_code(flow, code, code);
		nt_flow_window(flow, data + c.size, size - c.size, 0);
		while (total < EVENTS_MAX && (n = nt_flow_next(flow, ev, 64)) > 0)
			for (i = 0; i < n; i++, total++)
				check(code, &ev[i], &pc, p.xlen == 32 ? UINT32_MAX : UINT64_MAX);
	}
	nt_flow_free(flow);
	nt_code_free(code);
	return 0;
}
