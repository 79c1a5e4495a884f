// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the program in modes.c recorded against the library's buffer: modescmp <LINES
 *
 * QEMU 11.1 departs from the ratified text where V changes. Filters and RASEMU are those
 * of the target's register, the text says vsctrctl's (R166); an external trap from VS
 * wants vsctrctl.STE, too, the text only for traps from VU (R164). Where that matters,
 * exactly QEMU's outcome is expected, and counted.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "nt-ctr.h"

#define FILTERS	(0xffffull << 32 | NT_CTRCTL_RASEMU)

struct what {
	int start, down, trap, target;
	uint64_t ctl, vsctl, status;
	unsigned int n;
	struct nt_ctr_entry entry[16];
};

static struct {
	char name[16];
	uint64_t at;
} names[16];

static uint64_t at(const char *name)
{
	unsigned int i;

	for (i = 0; i < 16; i++)
		if (!strcmp(names[i].name, name))
			return names[i].at;
	return 0;
}

struct run {
	struct nt_ctr *ctr;
	const struct what *what;
	bool like_qemu;
};

static void go(struct run *r, unsigned int type, uint64_t from, uint64_t to, int source, int target,
	       int cause)
{
	const struct nt_ctr_transfer t = {
		.size = sizeof(t), .from = from, .to = to, .type = (uint8_t)type,
		.source = (uint8_t)source, .target = (uint8_t)target, .cause = (int16_t)cause,
	};
	bool departs = r->like_qemu && source & 4 && !(target & 4);
	uint64_t ctl = r->what->ctl, vsctl = r->what->vsctl;

	if (departs) {
		nt_ctr_write(r->ctr, NT_CTR_M, NT_CSR_VSCTRCTL,
			     (vsctl & ~FILTERS) | (ctl & FILTERS));
		if (source == NT_CTR_VS && !(vsctl & NT_CTRCTL_STE))
			nt_ctr_write(r->ctr, NT_CTR_M, NT_CSR_MCTRCTL, ctl & ~NT_CTRCTL_STE);
	}
	nt_ctr_transfer(r->ctr, &t);
	if (departs) {
		nt_ctr_write(r->ctr, NT_CTR_M, NT_CSR_VSCTRCTL, vsctl);
		nt_ctr_write(r->ctr, NT_CTR_M, NT_CSR_MCTRCTL, ctl);
	}
}

static int cause_of(int mode)
{
	return mode == NT_CTR_VS ? 10 : mode == NT_CTR_S ? 9 : 8;
}

static void call_and_return(struct run *r, uint64_t from, int mode)
{
	go(r, NT_TYPE_CALL, from, at("f"), mode, mode, NT_CTR_CAUSE_UNKNOWN);
	go(r, NT_TYPE_RET, at("f"), from + 4, mode, mode, NT_CTR_CAUSE_UNKNOWN);
}

static void all_transfers(struct run *r)
{
	const struct what *w = r->what;
	uint64_t body = at(w->trap ? "body_ebreak" : "body_ecall");
	int mode = w->start;

	go(r, NT_TYPE_ERET, at("leave"), w->down == 9 ? body : at("down"), NT_CTR_M, mode, -1);
	if (w->down != 9) {
		go(r, NT_TYPE_ERET, at("down"), body, mode, w->down, -1);
		mode = w->down;
	}
	call_and_return(r, body, mode);
	go(r, NT_TYPE_EXCEPTION, body + 4, at(w->target == NT_CTR_M ? "back" : "handler"), mode,
	   w->target, w->trap ? NT_CTR_CAUSE_BREAKPOINT : cause_of(mode));
	if (w->target == NT_CTR_M)
		return;
	call_and_return(r, at("handler"), w->target);
	go(r, NT_TYPE_EXCEPTION, at("up_handler"), at("back"), w->target, NT_CTR_M,
	   cause_of(w->target));
}

/* Is what was recorded what it should be? */
static bool same(const struct what *w, bool like_qemu, bool tell)
{
	struct nt_ctr_params params;
	struct run r = { .what = w, .like_qemu = like_qemu };
	struct nt_ctr_entry e;
	unsigned int i, n = 0;
	uint64_t status;
	bool equal = true;
	char line[80];

	nt_ctr_params_init(&params);
	params.depth = 16;
	params.flags = NT_CTR_NO_MISP | NT_CTR_NO_CC;
	r.ctr = nt_ctr_new(&params);
	nt_ctr_write(r.ctr, NT_CTR_M, NT_CSR_VSCTRCTL, w->vsctl);
	nt_ctr_write(r.ctr, NT_CTR_M, NT_CSR_MCTRCTL, w->ctl);
	all_transfers(&r);
	for (i = 0; i < 16; i++) {
		if (!nt_ctr_entry(r.ctr, i, &e))
			continue;
		nt_ctr_format(&e, line, sizeof(line));
		if (tell)
			printf("  library  %s\n", line);
		equal = equal && n < w->n && !memcmp(&e, &w->entry[n], sizeof(e));
		n++;
	}
	nt_ctr_read(r.ctr, NT_CTR_M, NT_CSR_SCTRSTATUS, &status);
	if (tell)
		printf("  library  sctrstatus %" PRIx64 "\n", status);
	nt_ctr_free(r.ctr);
	return equal && n == w->n && status == w->status;
}

static void tell(const struct what *w)
{
	char line[80];
	unsigned int i;

	printf("start %d down %d trap %d target %d mctrctl %" PRIx64 " vsctrctl %" PRIx64 "\n",
	       w->start, w->down, w->trap, w->target, w->ctl, w->vsctl);
	for (i = 0; i < w->n; i++) {
		nt_ctr_format(&w->entry[i], line, sizeof(line));
		printf("  hardware %s\n", line);
	}
	printf("  hardware sctrstatus %" PRIx64 "\n", w->status);
	same(w, true, true);
}

struct sums {
	unsigned long settings, entries, departures, wrong;
};

static void check(const struct what *w, struct sums *s)
{
	s->settings++;
	s->entries += w->n;
	if (!same(w, true, false)) {
		if (s->wrong++ < 5)
			tell(w);
	} else {
		s->departures += !same(w, false, false);
	}
}

int main(void)
{
	struct what w = { .start = -1 };
	struct sums s = { 0 };
	unsigned int n = 0;
	bool ended = false;
	char line[256];

	while (fgets(line, sizeof(line), stdin)) {
		struct nt_ctr_entry *e = &w.entry[w.n];

		if (line[0] == 's' && n < 16) {
			n += sscanf(line, "s %15s %" SCNx64, names[n].name, &names[n].at) == 2;
		} else if (line[0] == 'e' && w.n < 16) {
			w.n += sscanf(line, "e %" SCNx64 " %" SCNx64 " %" SCNx64, &e->source,
				      &e->target, &e->data) == 3;
			ended = !strncmp(line, "end", 3);
		}
		if ((line[0] == 'c' || ended) && w.start >= 0)
			check(&w, &s);
		if (line[0] != 'c')
			continue;
		w = (struct what){ .start = -1 };
		if (sscanf(line, "c %d %d %d %d %" SCNx64 " %" SCNx64 " %" SCNx64, &w.start,
			   &w.down, &w.trap, &w.target, &w.ctl, &w.vsctl, &w.status) != 7) {
			printf("not understood: %s", line);
			return 2;
		}
	}
	printf("settings %lu entries %lu as QEMU and not as the text %lu wrong %lu%s\n", s.settings,
	       s.entries, s.departures, s.wrong, ended ? "" : ", cut off");
	return s.wrong || !s.departures || !s.entries || !ended;
}
