// SPDX-License-Identifier: GPL-2.0-only
/*
 * Convert a tandem-verification trace to a track, with registers and memory
 */
#include <stdlib.h>
#include <string.h>

#include "nt-enc.h"
#include "serve-state.h"
#include "tv.h"

struct source {
	struct serve_track *track;
	struct serve_state *state;
	const struct input *in;
	struct nt_params params;	/* for the code: kinds of transfers */
	struct serve_files *files;
	struct symbols *symbols;
	struct serve_run run;		/* not complete yet */
	uint64_t next;			/* where it continues */
	bool begun;
	uint64_t at;			/* the instruction that was looked at last */
	unsigned int moves;		/* before memory is given back */
};

#define PASSED	((size_t)4 << 20)	/* bytes of trace to give back at a time */
#define MOVES	64u

/* ----------------------------------------------------------------- track - */

static void end_run(struct source *s, unsigned int type)
{
	if (!s->run.insns && !(s->begun && nt_type_is_trap(type)))
		return;
	s->run.type = (uint8_t)type;
	if (!s->run.insns)
		s->run.pc = s->next;
	serve_track_put(s->track, &s->run);
	s->run = (struct serve_run){ .insns = 0 };
}

/* The kind of a transfer from the instruction */
static unsigned int type_of(const struct source *s, const struct nt_tv_group *g)
{
	struct nt_enc_op op;

	nt_enc_classify(&s->params, g->pc, g->insn, g->insn_bytes, &op);
	return op.type == NT_TYPE_NONE ? NT_TYPE_TRAP : op.type;
}

static void take_insn(struct source *s, const struct nt_tv_group *g)
{
	uint64_t pc = 0;

	if (s->begun && s->next != g->pc)
		end_run(s, NT_TYPE_TRAP);
	if (!s->run.insns)
		s->run.pc = g->pc;
	s->run.halves |= (uint64_t)(g->insn_bytes / 2u - 1) << 2 * s->run.insns++;
	s->next = g->pc + g->insn_bytes;
	s->begun = true;
	if (serve_state_pc(s->state, &pc) && pc != s->next) {
		s->next = pc;
		end_run(s, type_of(s, g));
	} else if (s->run.insns == SERVE_RUN_MAX) {
		end_run(s, NT_TYPE_NONE);
	}
}

static void take_other(struct source *s, const struct nt_tv_group *g)
{
	if (!(g->flags & (NT_TV_G_INIT | NT_TV_G_RESET)) || !s->begun)
		return;
	end_run(s, NT_TYPE_NONE);
	serve_track_mark(s->track, SERVE_GAP, "the hart is %s here", g->flags & NT_TV_G_RESET ?
			 "reset" : "initialised anew");
	s->begun = false;
}

static void take_groups(struct source *s, const char *path)
{
	const struct nt_tv_group *g;
	size_t passed = 0;
	uint64_t time;

	serve_track_mark(s->track, SERVE_BEGIN, "trace begins");
	while (serve_state_next(s->state, &g)) {
		if (g->offset - passed > PASSED) {
			input_forget(s->in, passed, g->offset);
			passed = g->offset;
		}
		if (!g->insn_bytes) {
			take_other(s, g);
			continue;
		}
		if (!(g->flags & NT_TV_G_PC))
			die("%s: offset %#llx: an instruction, and the trace has not told where: it is to "
			    "begin with the program counter", path, (unsigned long long)g->offset);
		take_insn(s, g);
		if (!s->run.insns &&
		    nt_tv_shadow_state(serve_state_shadow(s->state), NT_TV_MTIME, &time))
			serve_track_time(s->track, time, false);
	}
	end_run(s, NT_TYPE_NONE);
	serve_track_stop(s->track, s->next, s->begun);
	serve_track_end(s->track);
}

/* ------------------------------------------------------------- the state - */

#define FFLAGS	1u
#define FRM	2u
#define FCSR	3u

/* A trace with fcsr may lack its parts. */
static bool read_part(struct source *s, unsigned int reg, uint64_t *value)
{
	uint64_t fcsr;

	if ((reg != FFLAGS && reg != FRM) ||
	    !nt_tv_shadow_reg(serve_state_shadow(s->state), FCSR, &fcsr))
		return false;
	*value = reg == FFLAGS ? fcsr & 0x1f : fcsr >> 5 & 7;
	return true;
}

static void go(struct source *s, uint64_t insn)
{
	if (s->at != insn && ++s->moves == MOVES) {
		s->moves = 0;
		input_forget(s->in, 0, s->in->size);
	}
	s->at = insn;
	serve_state_goto(s->state, insn);
}

static bool read_reg(void *ctx, const struct serve_track *t, uint64_t insn, unsigned int reg,
		     uint64_t *value)
{
	struct source *s = ctx;

	(void)t;
	go(s, insn);
	return nt_tv_shadow_reg(serve_state_shadow(s->state), (uint16_t)reg, value) ||
	       read_part(s, reg, value);
}

static size_t read_memory(void *ctx, const struct serve_track *t, uint64_t insn, uint64_t addr,
			  void *buf, size_t len)
{
	struct source *s = ctx;
	size_t done = 0, n = 0;

	(void)t;
	go(s, insn);
	do {
		if (serve_state_is_flat(s->state))
			n = serve_state_read(s->state, addr + done, (char *)buf + done, len - done);
		/* bytes without an access so far: one by one, the trace takes precedence */
		if (!n)
			n = serve_files_read(s->files, 0, addr + done, (char *)buf + done, 1);
		done += n;
	} while (n && done < len);
	return done;
}

static bool is_touched(const struct source *s, const struct nt_tv_group *g,
		       const struct serve_watch *w)
{
	struct serve_access access[NT_TV_GROUP_MAX + 1];
	size_t n = serve_state_accesses(g, s->params.xlen == 32, access, NT_TV_GROUP_MAX + 1);

	for (size_t i = 0; i < n; i++) {
		if (w->kind != '4' && access[i].write != (w->kind == '2'))
			continue;
		/* avoid sums, which may overflow at the end of the address space */
		if (access[i].addr - w->addr < w->size || w->addr - access[i].addr < access[i].size)
			return true;
	}
	return false;
}

#define STRETCH	65536u		/* number of instructions to examine at once */

static bool in_stretch(struct source *s, uint64_t low, uint64_t high, bool back,
		       const struct serve_watch *watch, size_t nr, uint64_t *found, size_t *which)
{
	const struct nt_tv_group *g;
	bool any = false;

	go(s, low);
	for (uint64_t insn = low; insn < high && serve_state_next(s->state, &g);) {
		if (!g->insn_bytes)
			continue;
		for (size_t i = 0; i < nr; i++) {
			if (!is_touched(s, g, &watch[i]))
				continue;
			any = true;
			*found = insn;
			*which = i;
		}
		if (any && !back)
			return true;
		insn++;
	}
	return any;
}

static bool find_touched(void *ctx, const struct serve_track *t, uint64_t low, uint64_t high,
			 bool back,
			 const struct serve_watch *watch, size_t nr, uint64_t *found, size_t *which)
{
	struct source *s = ctx;

	if (high > t->insns)
		high = t->insns;
	while (!back && low < high) {
		uint64_t to = high - low > STRETCH ? low + STRETCH : high;

		if (in_stretch(s, low, to, false, watch, nr, found, which))
			return true;
		low = to;
	}
	while (high > low) {
		uint64_t from = high - low > STRETCH ? high - STRETCH : low;

		if (in_stretch(s, from, high, true, watch, nr, found, which))
			return true;
		high = from;
	}
	return false;
}

/* -------------------------------------------------------------- the whole  */

static const char *name_of(void *ctx, uint32_t space, uint64_t addr, uint64_t *offset)
{
	const struct source *s = ctx;

	(void)space;
	return symbols_find(s->symbols, addr, offset);
}

static void free_source(void *ctx)
{
	struct source *s = ctx;

	serve_state_free(s->state);
	symbols_free(s->symbols);
	free(s);
}

/* All CSRs that the trace contains, except for those of the FPU, which GDB has elsewhere. */
static void list_csrs(struct serve_recording *r, const struct nt_tv_shadow *shadow)
{
	uint32_t reg = 0;

	for (; nt_tv_shadow_next_reg(shadow, &reg) && reg < NT_TV_REG_X; reg++) {
		struct serve_csr *csr;
		char name[16];

		if ((r->flen && reg <= FCSR) || r->nr_csrs == SERVE_CSRS)
			continue;
		r->csr = array_room(r->csr, r->nr_csrs, sizeof(*r->csr));
		csr = &r->csr[r->nr_csrs++];
		csr->number = (uint16_t)reg;
		snprintf(csr->name, sizeof(csr->name), "%s",
			 tv_reg_name(csr->number, name, sizeof(name)));
	}
}

void serve_tv_open(struct serve_recording *r, struct input *in, const struct nt_tv_params *params)
{
	struct source *s = calloc(1, sizeof(*s));

	*r = (struct serve_recording){
		.path = in->file, .xlen = params->xlen, .flen = params->flen, .symbol = name_of,
		.reg = read_reg, .memory = read_memory, .touched = find_touched,
		.free = free_source, .ctx = s,
	};
	if (!s)
		die("%s", nt_strerror(NT_ENOMEM));
	serve_program_init(&r->program);
	serve_recording_add_input(r, in);
	r->flen = params->flen;
	s->in = in;
	s->params = in->params;
	s->params.xlen = params->xlen;
	s->files = &r->files;
	s->symbols = symbols_new(in);
	s->state = serve_state_new(params, in->trace, in->size, in->file);
	s->track = serve_track_new(&r->program, "hart", 0);
	take_groups(s, in->file);
	list_csrs(r, serve_state_shadow(s->state));
	r->track = array_room(r->track, 0, sizeof(*r->track));
	r->track[r->nr_tracks++] = s->track;
	if (!s->track->insns)
		die("%s: has no instruction", in->file);
}
