// SPDX-License-Identifier: GPL-2.0-only
/*
 * If only counts are known, each function is a stack of its own, with what it executed, and how
 * often it called other functions.
 */
#include "profile.h"
#include "stacks.h"

struct flat {
	struct stacks *s;
	struct calls *c;
	const struct profile *p;
	const struct symbols *symbols;
	struct nt_code *code;
	struct stacks_label label;
};

static struct calls_function *function_at(struct flat *f, uint64_t pc, uint64_t *offset)
{
	const char *name = symbols_find(f->symbols, pc, offset);

	if (!name)
		*offset = 0;
	return calls_function(f->c, name ?: "[unknown]", "", NULL, name ? pc - *offset : 0);
}

static struct stacks_node *node_at(struct flat *f, uint64_t pc)
{
	uint64_t offset;

	return stacks_enter(f->s, NULL, function_at(f, pc, &offset), 0, false);
}

static void add_run(struct flat *f, uint64_t from, uint32_t insns, uint64_t count)
{
	if (!insns)
		return;
	/* stacks_run() has counted one of them */
	stacks_run(f->s, node_at(f, from), from, insns, &f->label)->runs += count - 1;
}

/*
 * A run may continue from one function in the next. It may also contain an ECALL, which never
 * retires, so it is not counted here or in recordings.
 */
static void add_range(struct flat *f, const struct range *r)
{
	const struct stacks_node *node = node_at(f, r->start);
	uint64_t from = r->start, pc = r->start;
	uint32_t insns = 0;
	struct nt_insn insn;
	bool retires;
	int len;

	while (pc <= r->end) {
		len = nt_code_insn(f->code, pc, &insn);
		retires = len <= 0 || !(insn.flags & NT_INSN_TRAPS);
		if (!retires || node_at(f, pc) != node) {
			add_run(f, from, insns, r->count);
			node = node_at(f, pc);
			from = retires ? pc : pc + len;
			insns = 0;
		}
		insns += retires;
		if (len <= 0)
			break;
		pc += len;
	}
	add_run(f, from, insns, r->count);
}

static void add_edge(struct flat *f, const struct nt_edge *e)
{
	struct stacks_node *node = node_at(f, e->from);
	struct calls_function *to;
	struct nt_insn insn;
	uint64_t offset;

	stacks_run(f->s, node, e->from, 0, &f->label)->branches += e->count;
	if (nt_code_insn(f->code, e->from, &insn) <= 0 ||
	    (insn.type != NT_TYPE_CALL && insn.type != NT_TYPE_ICALL && insn.type != NT_TYPE_SWAP))
		return;
	to = function_at(f, e->to, &offset);
	stacks_enter(f->s, node, to, e->from, true)->calls += e->count;
}

void stacks_flat(struct stacks *s, struct calls *c, const struct profile *p,
		 const struct symbols *symbols)
{
	struct flat f = {
		.s = s, .c = c, .p = p, .symbols = symbols, .code = input_code(&p->in),
		.label = { .pid = -1, .tid = -1, .cpu = -1 },
	};
	size_t i;

	s->flat = true;
	for (i = 0; i < p->ranges.n; i++)
		add_range(&f, &p->ranges.list[i]);
	for (i = 0; i < p->nr_edges; i++)
		add_edge(&f, &p->edges[i]);
	nt_code_free(f.code);
}
