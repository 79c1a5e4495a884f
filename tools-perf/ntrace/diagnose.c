// SPDX-License-Identifier: GPL-2.0-only
/*
 * Find out why a trace does not decode: damage, parameters, or program?
 *
 * The beginning of the trace is decoded with other parameters. They are reported if they fit much
 * better than the given ones. If none do, but the messages look valid, each stretch between two
 * addresses is decoded by itself: damage affects few stretches, the wrong program affects most.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"

#define BYTES		((size_t)64 << 10)	/* bytes of the trace that are examined */
#define EVENTS_MAX	(1u << 19)		/* of each trial */
#define FORMS_MAX	8			/* formats to decode with code, at most */
#define BETTER		4			/* times fewer losses than with those given */
#define INFERRED_MIN	4			/* implicit returns or jumps: not damage */
#define PROFILE_MIN	4			/* losses; fewer may be skipped damage */
#define MESSAGES_MIN	16			/* with fewer messages, no conclusion is possible */
#define STRETCHES_MIN	4			/* to tell the wrong program from damage */
#define FIRST_INSNS	16			/* so few mean nothing */
#define FITTING_MAX	16			/* stretches that may fit by chance */

/* Messages as they look with certain parameters */
struct looks {
	unsigned int good, bad;
	unsigned int syncs;		/* among the good ones */
	unsigned int sources;		/* number of different sources */
	int source;			/* the most frequent source */
};

/* Result of following the messages through the program */
struct outcome {
	uint64_t losses, insns, inferred;
	uint64_t before;		/* starts before the first loss */
};

struct trial {
	struct nt_params params;
	struct looks looks;
	struct outcome outcome;
	unsigned int changes;
};

struct diagnosis {
	const struct input *in;
	const uint8_t *buf;
	size_t len;
	bool cut;			/* the trace continues after the buffer */
};

/* ------------------------------------------------------------ messages --- */

static bool is_sane(const struct nt_params *p, const struct nt_msg *m)
{
	bool sync = nt_tcode_is_sync(m->tcode);

	if (!strcmp(nt_tcode_name(m->tcode), "Reserved"))
		return false;
	if (sync && (m->sync == 8 || (m->sync > NT_SYNC_POWER_UP && m->sync < 14)))
		return false;
	if (sync && p->timestamps && !(m->fields & NT_F_TSTAMP))
		return false;
	if ((m->fields & NT_F_HIST) && !m->hist)
		return false;
	return m->cdf < 2 && m->icnt < 1 << 30 && !(m->rcode > 2 && m->rcode < 8) &&
	       !(m->etype && m->etype < 8);
}

static void count_source(struct looks *l, uint16_t *count, const struct nt_msg *m)
{
	unsigned int src = m->src & 0xfff;

	if (!count[src]++)
		l->sources++;
	if (l->source < 0 || count[src] > count[l->source])
		l->source = (int)src;
}

static struct looks look_at(const struct diagnosis *d, const struct nt_params *p)
{
	struct looks l = { .source = -1 };
	uint16_t count[4096] = { 0 };
	size_t at = 0;

	while (at < d->len) {
		struct nt_msg m;
		int ret = nt_msg_decode(p, d->buf + at, d->len - at, &m);

		if (!ret)
			break;
		at += ret > 0 ? (size_t)ret : m.skip;
		if (ret > 0 && is_sane(p, &m))
			l.good++;
		else
			l.bad++;
		if (ret > 0 && nt_tcode_is_sync(m.tcode))
			l.syncs++;
		if (ret > 0)
			count_source(&l, count, &m);
	}
	return l;
}

/* A few bad messages are damage, not another format. */
static bool looks_good(const struct looks *l)
{
	return l->good && l->bad * 8 <= l->good;
}

/* --------------------------------------------------------------- flow ---- */

/* Losses that do not depend on parameters */
static bool is_innocent(const struct nt_event *ev)
{
	return ev->reason == NT_EOVERFLOW || ev->reason == NT_ECUT || ev->reason == NT_EWORK;
}

static struct outcome follow(const struct diagnosis *d, const struct nt_params *p,
			     const uint8_t *buf, size_t len, bool alone)
{
	struct nt_code *code = nt_code_new(p, nt_image_read, d->in->image);
	struct nt_flow *flow = nt_flow_new(p);
	struct outcome o = { 0 };
	struct nt_event ev[256];
	unsigned int events = 0;
	int i, n;

	if (!code || !flow)
		die("%s", nt_strerror(NT_ENOMEM));
	nt_flow_set_code(flow, code, code);
	nt_flow_window(flow, buf, len, 0);
	nt_flow_open_end(flow, d->cut);
	while (events < EVENTS_MAX && (n = nt_flow_next(flow, ev, 256)) > 0) {
		events += n;
		for (i = 0; i < n; i++) {
			bool unknown = alone &&
				       (ev[i].reason == NT_ESTACK || ev[i].reason == NT_EINDIRECT);

			o.insns += ev[i].insns;
			o.before += ev[i].kind == NT_EV_START && !o.losses;
			o.inferred += ev[i].kind == NT_EV_BRANCH && (ev[i].flags & NT_EVF_INFERRED);
			o.losses += is_loss(&ev[i]) && !is_innocent(&ev[i]) && !unknown;
		}
	}
	nt_flow_free(flow);
	nt_code_free(code);
	return o;
}

static bool is_better(const struct trial *a, const struct trial *b)
{
	if (a->outcome.losses != b->outcome.losses)
		return a->outcome.losses < b->outcome.losses;
	if (a->outcome.insns != b->outcome.insns)
		return a->outcome.insns > b->outcome.insns;
	return a->changes < b->changes;
}

/* Is the difference more than chance, or than damage that looks like an implicit return? */
static bool is_convincing(const struct trial *t, const struct trial *given)
{
	const struct nt_params *p = &t->params, *q = &given->params;
	bool silent = p->retstack > q->retstack || p->seqjump > q->seqjump;
	bool form = p->srcbits != q->srcbits || p->timestamps != q->timestamps ||
		    p->profile != q->profile;

	if (t->looks.good < MESSAGES_MIN || t->outcome.losses * BETTER > given->outcome.losses ||
	    !t->outcome.insns || t->outcome.insns < given->outcome.insns)
		return false;
	if (p->profile != q->profile && given->outcome.losses < t->outcome.losses + PROFILE_MIN)
		return false;
	return !silent || form || t->outcome.inferred >= given->outcome.inferred + INFERRED_MIN;
}

/* ------------------------------------------------------------- trying ---- */

/* A profile changes several things at once, so prefer an option that changes only one. */
static unsigned int differences(const struct nt_params *a, const struct nt_params *b)
{
	return (a->srcbits != b->srcbits) + (a->timestamps != b->timestamps) +
	       2 * (a->profile != b->profile) + (a->extaddr != b->extaddr) +
	       (a->retstack != b->retstack) + (a->seqjump != b->seqjump) +
	       (a->alljumps != b->alljumps) + (a->xlen != b->xlen) +
	       (a->addr_bits != b->addr_bits);
}

/* Of several sources, choose the given one, or else the one with most messages. */
static void choose_source(const struct diagnosis *d, struct trial *t)
{
	t->params.src = -1;
	if (t->params.srcbits == d->in->params.srcbits)
		t->params.src = d->in->params.src;
	if (t->params.src < 0 && t->looks.sources > 1)
		t->params.src = t->looks.source;
}

/* Insert a trial, sorted by looks, then by the number of sources and of changes. */
static void add_form(struct trial *forms, unsigned int *n, const struct trial *t)
{
	unsigned int i = *n;

	if (*n == FORMS_MAX)
		i--;
	else
		++*n;
	for (; i > 0; i--) {
		const struct trial *o = &forms[i - 1];

		if (o->looks.bad < t->looks.bad ||
		    (o->looks.bad == t->looks.bad && (o->looks.sources < t->looks.sources ||
		     (o->looks.sources == t->looks.sources && o->changes <= t->changes))))
			break;
		if (i < FORMS_MAX)
			forms[i] = *o;
	}
	if (i < FORMS_MAX)
		forms[i] = *t;
}

/* Find the message formats that look good. */
static unsigned int find_forms(const struct diagnosis *d, struct trial *forms)
{
	unsigned int srcbits, timestamps, profile, n = 0;

	for (profile = 0; nt_profile_name(profile); profile++) {
		for (timestamps = 0; timestamps < 2; timestamps++) {
			for (srcbits = 0; srcbits <= 12; srcbits++) {
				struct trial t = { .params = d->in->params };

				t.params.srcbits = srcbits;
				t.params.timestamps = timestamps;
				t.params.profile = profile;
				/* SRC always has 4 bits in this profile, and there is no BTM */
				if (profile == NT_PROFILE_TT_DFD &&
				    (srcbits != 4 || nt_params_check(&t.params)))
					continue;
				t.looks = look_at(d, &t.params);
				t.changes = differences(&t.params, &d->in->params);
				choose_source(d, &t);
				if (looks_good(&t.looks))
					add_form(forms, &n, &t);
			}
		}
	}
	return n;
}

static void try_one(const struct diagnosis *d, const struct trial *form, unsigned int bits,
		    uint8_t addr_bits, struct trial *best)
{
	const struct nt_params *given = &d->in->params;
	struct trial t = *form;

	t.params.extaddr ^= bits & 1;
	t.params.seqjump ^= bits >> 1 & 1;
	t.params.alljumps ^= bits >> 2 & 1;
	if (bits & 8)
		t.params.retstack = given->retstack ? 0 : 3;
	if (bits & 16)
		t.params.xlen = given->xlen == 32 ? 64 : 32;
	t.params.addr_bits = addr_bits;
	if (nt_params_check(&t.params))
		return;
	t.changes = differences(&t.params, given);
	t.outcome = follow(d, &t.params, d->buf, d->len, false);
	if (is_better(&t, best))
		*best = t;
}

/* ------------------------------------------------------------- telling --- */

/* "with --srcbits=2 --timestamps, without --extaddr" */
struct advice {
	char with[160], without[80];
};

static void __attribute__((format(printf, 3, 4))) put_option(char *text, size_t size,
							     const char *fmt, ...)
{
	size_t n = strlen(text);
	va_list ap;

	va_start(ap, fmt);
	if (n + 1 < size)
		text[n++] = ' ';
	vsnprintf(text + n, size - n, fmt, ap);
	va_end(ap);
}

static void put_flag(struct advice *a, const char *name, bool now, bool given)
{
	if (now && !given)
		put_option(a->with, sizeof(a->with), "--%s", name);
	if (!now && given)
		put_option(a->without, sizeof(a->without), "--%s", name);
}

static void put_number(struct advice *a, const char *name, int now, int given)
{
	if (now != given)
		put_option(a->with, sizeof(a->with), "--%s=%d", name, now);
}

/* The options that turn `given' into `p' */
static void advise(struct advice *a, const struct nt_params *p, const struct nt_params *given)
{

	if (p->profile != given->profile)
		put_option(a->with, sizeof(a->with), "--profile=%s", nt_profile_name(p->profile));
	put_number(a, "xlen", p->xlen, given->xlen);
	put_number(a, "srcbits", p->srcbits, given->srcbits);
	if (p->src >= 0)
		put_number(a, "src", p->src, given->src);
	put_flag(a, "timestamps", p->timestamps, given->timestamps);
	if (p->addr_bits != given->addr_bits)
		put_option(a->with, sizeof(a->with), "--addr-bits=%d",
			   p->addr_bits ? p->addr_bits : p->xlen - 1);
	put_flag(a, "extaddr", p->extaddr, given->extaddr);
	put_number(a, "retstack", p->retstack, given->retstack);
	put_flag(a, "seqjump", p->seqjump, given->seqjump);
	put_flag(a, "alljumps", p->alljumps, given->alljumps);
}

static void say(const struct diagnosis *d, const struct trial *t, const char *what,
		uint64_t given, uint64_t now)
{
	struct advice a = { "", "" };

	advise(&a, &t->params, &d->in->params);
	fflush(stdout);
	fprintf(stderr, "ntrace: %s: these parameters do not fit the trace; others would:%s%s%s%s "
		"(%s in the first %zu bytes: %" PRIu64 ", not %" PRIu64 ")\n", d->in->file,
		*a.with ? " with" : "", a.with, *a.without ? " without" : "", a.without, what,
		d->len, now, given);
}

/* ------------------------------------------------------------ program ---- */

/* Copy the messages, and begin a new trace after each message with an address, at that address. */
static size_t part(const struct diagnosis *d, uint8_t *to, unsigned int *stretches)
{
	struct nt_params p = d->in->params;
	uint64_t ref = 0, mask = p.xlen == 32 ? UINT32_MAX : UINT64_MAX;
	size_t at = 0, n = 0;
	bool known = false, due = false;

	while (at < d->len) {
		struct nt_msg sync = {
			.tcode = NT_TCODE_PROG_TRACE_SYNC, .sync = NT_SYNC_TRACE_ENABLE,
			.fields = NT_F_SYNC | NT_F_ICNT | NT_F_FADDR,
		};
		struct nt_msg m;
		int ret = nt_msg_decode(&p, d->buf + at, d->len - at, &m);

		if (!ret)
			break;
		at += ret > 0 ? (size_t)ret : m.skip;
		known &= ret > 0;
		if (ret < 0 || (p.src >= 0 && m.src != p.src))
			continue;
		if (due && known && (m.fields & NT_F_ICNT)) {
			sync.src = m.src;
			sync.addr = ref >> 1;
			sync.fields |= p.timestamps ? NT_F_TSTAMP : 0;
			n += nt_enc_msg(&p, &sync, to + n);
			++*stretches;
			due = false;
		}
		memcpy(to + n, d->buf + at - ret, ret);
		n += ret;
		if (m.fields & NT_F_ADDR) {
			ref = (m.fields & NT_F_FADDR ? m.addr << 1 : ref ^ m.addr << 1) & mask;
			known |= !!(m.fields & NT_F_FADDR);
			due = true;
		}
	}
	return n;
}

/*
 * With the wrong program, nearly every sync message leads to a loss. A trace without other sync
 * messages has one loss only. Behind damage, all relative addresses are wrong, but the stretches
 * before it fit.
 */
static void doubt_program(const struct diagnosis *d, const struct trial *given)
{
	uint8_t *buf = malloc(d->len * (1 + NT_ENC_MSG_MAX / 2) + NT_ENC_MSG_MAX);
	const struct outcome *plain = &given->outcome;
	unsigned int stretches = 0;
	struct outcome o;
	size_t len;
	bool fits;

	if (!buf)
		die("%s", nt_strerror(NT_ENOMEM));
	len = part(d, buf, &stretches);
	o = follow(d, &d->in->params, buf, len, true);
	free(buf);
	fits = plain->losses >= STRETCHES_MIN ? plain->losses * 2 < given->looks.syncs :
	       stretches < STRETCHES_MIN || o.before > FITTING_MAX;
	if (fits && plain->insns > FIRST_INSNS)
		return;
	fflush(stdout);
	if (!fits && !given->looks.bad && (plain->losses >= STRETCHES_MIN ||
					   (o.before < 3 && o.losses * 8 >= stretches * 7)))
		fprintf(stderr, "ntrace: %s: the program does not fit the trace: %" PRIu64 " of %u "
			"stretches between two addresses do not follow from its code; give the "
			"file that was traced, where it ran (--elf=ELF@BIAS)\n", d->in->file,
			o.losses, stretches);
	else
		fprintf(stderr, "ntrace: %s: the trace does not follow the program from its "
			"beginning: another program was traced or at another address "
			"(--elf=ELF@BIAS), or the trace is damaged\n", d->in->file);
}

/* ------------------------------------------------------------ interface -- */

static bool diagnose_messages(const struct diagnosis *d, const struct trial *given,
			      const struct trial *forms, unsigned int n)
{
	if (!n || looks_good(&given->looks))
		return false;
	say(d, &forms[0], "bad messages", given->looks.bad, forms[0].looks.bad);
	return true;
}

void diagnose(const struct input *in)
{
	/* full width, and the widths that virtual addresses need in Sv39, Sv48 and Sv57 */
	static const uint8_t widths[] = { 0, 38, 47, 48, 56 };
	size_t rest = in->size - in->begin;
	struct diagnosis d = {
		.in = in, .buf = in->trace + in->begin, .len = rest < BYTES ? rest : BYTES,
		.cut = rest > BYTES,
	};
	struct trial forms[FORMS_MAX], given = { .params = in->params }, best;
	unsigned int i, bits, width, n, all = nt_image_xlen(in->image) ? 16 : 32;

	n = find_forms(&d, forms);
	if (n && forms[0].looks.good < MESSAGES_MIN)
		return;
	given.looks = look_at(&d, &in->params);
	if (!in->images) {
		diagnose_messages(&d, &given, forms, n);
		return;
	}
	choose_source(&d, &given);
	given.outcome = follow(&d, &given.params, d.buf, d.len, false);
	if (!given.outcome.losses)
		return;
	best = given;
	for (i = 0; i < n; i++)
		for (bits = 0; bits < all; bits++)
			try_one(&d, &forms[i], bits, in->params.addr_bits, &best);
	for (i = 0; i < n; i++)
		for (width = 0; width < sizeof(widths); width++)
			try_one(&d, &forms[i], best.params.retstack != in->params.retstack ? 8 : 0,
				widths[width], &best);
	if (best.changes && is_convincing(&best, &given))
		say(&d, &best, "losses", given.outcome.losses, best.outcome.losses);
	else if (looks_good(&given.looks))
		doubt_program(&d, &given);
	else
		diagnose_messages(&d, &given, forms, n);
}
