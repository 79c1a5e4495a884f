// SPDX-License-Identifier: GPL-2.0-only
/*
 * The call stack at a position: replayed from the checkpoint before it, call by call
 */
#include <stdlib.h>
#include <string.h>

#include "serve.h"

#define STACK_MAX	65536u	/* deeper than that of any program: returns were not traced */

static void push(struct serve_stack *s, uint64_t from, uint64_t to, uint64_t ret, bool trap)
{
	if (s->nr == STACK_MAX)
		serve_stack_forget(s);
	if (s->nr == s->room) {
		s->room = s->room ? 2 * s->room : 64;
		s->frame = reallocarray(s->frame, s->room, sizeof(*s->frame));
		if (!s->frame)
			die("%s", nt_strerror(NT_ENOMEM));
	}
	s->frame[s->nr++] = (struct serve_frame){ from, to, ret, trap };
}

static void pop_to(struct serve_stack *s, size_t nr)
{
	s->nr = nr;
	if (s->low > nr)
		s->low = nr;
}

/*
 * Return from the innermost frame with this return address, and drop frames inside of it. Without
 * one, nothing changes.
 */
static void return_to(struct serve_stack *s, uint64_t pc)
{
	for (size_t i = s->nr; i && !s->frame[i - 1].trap; i--) {
		if (s->frame[i - 1].ret == pc) {
			pop_to(s, i - 1);
			return;
		}
	}
}

/*
 * A trap may return to the trapping instruction, after it, or elsewhere. In any case, the last trap
 * has ended.
 */
static void return_from_trap(struct serve_stack *s)
{
	for (size_t i = s->nr; i; i--) {
		if (s->frame[i - 1].trap) {
			pop_to(s, i - 1);
			return;
		}
	}
}

void serve_stack_step(struct serve_stack *s, const struct serve_run *left, uint64_t pc)
{
	uint64_t end = serve_run_pc(left, left->insns);
	uint64_t last = left->insns ? serve_run_pc(left, left->insns - 1u) : left->pc;

	switch (left->type) {
	case NT_TYPE_CALL:
	case NT_TYPE_ICALL:
		push(s, last, pc, end, false);
		break;
	case NT_TYPE_SWAP:
		return_to(s, pc);
		push(s, last, pc, end, false);
		break;
	case NT_TYPE_RET:
		return_to(s, pc);
		break;
	case NT_TYPE_ERET:
		return_from_trap(s);
		break;
	default:
		if (nt_type_is_trap(left->type))
			push(s, end, pc, end, true);
	}
}

/* Load the stack at the start of a chunk. */
static void load(struct serve_stack *s, const struct serve_track *t, size_t chunk)
{
	const struct serve_chunk *c = &t->chunk[chunk];
	size_t missing = c->nr_same + c->nr_frames;

	s->nr = s->room = missing;
	s->frame = calloc(missing + 1, sizeof(*s->frame));
	if (!s->frame)
		die("%s", nt_strerror(NT_ENOMEM));
	for (; missing; c--) {
		if (c->nr_same >= missing)
			continue;
		memcpy(s->frame + c->nr_same, c->frame, (missing - c->nr_same) * sizeof(*s->frame));
		missing = c->nr_same;
	}
}

struct serve_stack serve_stack_at(struct serve_view *v, uint64_t insn)
{
	const struct serve_track *t = v->track;
	struct serve_stack s = { .frame = NULL };
	const struct serve_chunk *c;
	unsigned int nth;
	uint32_t index;
	uint64_t at;

	if (!t->insns)
		return s;
	if (insn >= t->insns)
		insn = t->insns - 1;
	serve_view_at(v, insn, &nth, &index);
	c = &t->chunk[v->chunk];
	load(&s, t, v->chunk);
	at = c->insn;
	if (serve_track_mark_at(t, at))
		s.nr = 0;
	for (uint32_t i = 0; i < index; i++) {
		const struct serve_run *run = &t->program->run[v->run[i]];
		uint64_t next = at + run->insns;

		/* earlier calls are not known after a mark */
		if (!serve_track_mark_at(t, next))
			serve_stack_step(&s, run, t->program->run[v->run[i + 1]].pc);
		else if (run->insns)
			s.nr = 0;
		at = next;
	}
	return s;
}
