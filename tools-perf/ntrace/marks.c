// SPDX-License-Identifier: GPL-2.0-only
/* Marks of decode and encode, see marks.h */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "marks.h"

/* ------------------------------------------------------------- writing --- */

/* Whether the time has changed since the piece before is known only when that was written. */
static void put_first_time(void *ctx)
{
	const struct marks *m = ctx;

	if (!m->before->timed || m->before->time != m->first)
		printf("# time %" PRIu64 "\n", m->first);
}

static void put_time(struct marks *m, uint64_t time)
{
	bool first = !m->timed;

	m->due = false;
	if (m->timed && m->time == time)
		return;
	m->timed = true;
	m->time = time;
	if (first) {
		m->first = time;
		out_later(put_first_time, m);
		return;
	}
	out_str("# time ");
	out_dec(time);
	out_char('\n');
}

static void put_time_of(struct marks *m, const struct nt_event *ev)
{
	if (ev->flags & NT_EVF_TIME)
		put_time(m, ev->time);
}

static void put_field(const char *name, uint64_t value)
{
	out_char(' ');
	out_str(name);
	out_char('=');
	out_dec(value);
}

static void put_start(struct marks *m, const struct nt_event *ev)
{
	put_time_of(m, ev);
	out_str("# start ");
	out_hex(ev->to);
	put_field("SYNC", ev->reason);
	out_char('\n');
}

static void put_sync(struct marks *m, const struct nt_event *ev)
{
	put_time_of(m, ev);
	out_str("# sync ");
	out_hex(ev->to);
	put_field("SYNC", ev->reason);
	out_char('\n');
}

/*
 * A stop that no message reported has no time of its own. The event has the time of what follows.
 */
static void put_stop(struct marks *m, const struct nt_event *ev)
{
	bool told = ev->reason != NT_EVCODE_NONE;

	if (told)
		put_time_of(m, ev);
	out_str("# stop ");
	out_hex(ev->from);
	if (told)
		put_field("EVCODE", ev->reason);
	out_char('\n');
}

static void put_context(struct marks *m, const struct nt_event *ev)
{
	put_time_of(m, ev);
	out_str("# context");
	put_field("PRV", ev->priv);
	put_field("V", !!(ev->flags & NT_EVF_VIRT));
	if (ev->reason) {
		out_str(ev->reason == 3 ? " hcontext=" : " scontext=");
		out_hex(ev->context);
	} else if (ev->context) {
		out_str(" context=");
		out_hex(ev->context);
	}
	out_char('\n');
}

static void put_transfer(const struct nt_event *ev)
{
	out_str("# ");
	out_str(nt_type_name(ev->type));
	out_char(' ');
	out_hex(ev->from);
	out_char(' ');
	out_hex(ev->to);
	out_char('\n');
}

void marks_before(struct marks *m, const struct piece *p, const struct nt_event *ev)
{
	if (!m->begun && p->begin == p->in->begin && p->in->params.srcbits) {
		out_str("# source ");
		out_dec(p->in->source);
		out_char('\n');
	}
	if (m->due && ev->offset != m->due_offset)
		put_time(m, m->due_time);
}

/*
 * Write the time of a message after its last instruction, before the next message begins. The sync
 * message at the start of a piece was written as the last message of the piece before.
 */
void marks_behind(struct marks *m, const struct piece *p, const struct nt_event *ev, bool seam,
		  unsigned int transfers)
{
	bool first = !m->begun && p->begin != p->in->begin;

	m->begun = true;
	switch (ev->kind) {
	case NT_EV_BRANCH:
		if (transfers & (nt_type_is_trap(ev->type) ? MARKS_TRAP : MARKS_IJUMP))
			put_transfer(ev);
		m->due = ev->flags & NT_EVF_TIME;
		m->due_time = ev->time;
		m->due_offset = ev->offset;
		break;
	case NT_EV_START:
		if (!first)
			put_start(m, ev);
		break;
	case NT_EV_STOP:
		/*
		 * If the sync message at a boundary also reported a branch, its time was already
		 * written.
		 */
		if (!seam)
			put_stop(m, ev);
		break;
	case NT_EV_CONTEXT:
		put_context(m, ev);
		break;
	case NT_EV_SYNC:
		put_sync(m, ev);
		break;
	}
}

/* ------------------------------------------------------------- reading --- */

/* Parse the number after the word `name`, and move *p past both. Returns false if there is none. */
static bool get_number(const char **p, const char *name, int base, uint64_t *value)
{
	const char *at = *p + strspn(*p, " ");
	size_t n = strlen(name);
	char *end;

	if (strncmp(at, name, n))
		return false;
	at += n;
	if (!strchr(base == 16 ? "0123456789abcdef" : "0123456789", *at) || !*at)
		return false;
	*value = strtoull(at, &end, base);
	*p = end;
	return !*end || strchr(" \r\n", *end);
}

static bool get_small(const char **p, const char *name, unsigned int max, uint8_t *value)
{
	uint64_t v;

	if (!get_number(p, name, 10, &v) || v > max)
		return false;
	*value = (uint8_t)v;
	return true;
}

static bool at_end(const char *p)
{
	return !p[strspn(p, " \r\n")];
}

static bool parse_source(const char *p, struct mark *m)
{
	return get_number(&p, "", 10, &m->value) && m->value < 1 << 12 && at_end(p);
}

static bool parse_time(const char *p, struct mark *m)
{
	return get_number(&p, "", 10, &m->value) && at_end(p);
}

static bool parse_start(const char *p, struct mark *m)
{
	return get_number(&p, "", 16, &m->pc) && get_small(&p, "SYNC=", 15, &m->reason) &&
	       at_end(p);
}

static bool parse_stop(const char *p, struct mark *m)
{
	if (!get_number(&p, "", 16, &m->pc))
		return false;
	m->told = get_small(&p, "EVCODE=", 15, &m->reason);
	return at_end(p);
}

static bool parse_context(const char *p, struct mark *m)
{
	uint8_t virt;

	if (!get_small(&p, "PRV=", 3, &m->priv) || !get_small(&p, "V=", 1, &virt))
		return false;
	m->virt = virt;
	if (get_number(&p, "scontext=", 16, &m->value))
		m->reason = 2;
	else if (get_number(&p, "hcontext=", 16, &m->value))
		m->reason = 3;
	else
		get_number(&p, "context=", 16, &m->value);
	return at_end(p);
}

static bool parse_transfer(const char *p, struct mark *m)
{
	return get_number(&p, "", 16, &m->pc) && get_number(&p, "", 16, &m->to) && at_end(p);
}

static bool parse_loss(const char *p, struct mark *m)
{
	(void)p;
	(void)m;
	return true;
}

static const struct {
	const char *word;
	enum mark_kind kind;
	uint8_t type;
	bool (*parse)(const char *p, struct mark *m);
	const char *form;
} forms[] = {
	{ "source", MARK_SOURCE, 0, parse_source, "`# source ID', ID 0 to 4095" },
	{ "time", MARK_TIME, 0, parse_time, "`# time TICKS'" },
	{ "start", MARK_START, 0, parse_start, "`# start ADDRESS SYNC=N', N 0 to 15" },
	{ "stop", MARK_STOP, 0, parse_stop, "`# stop ADDRESS [EVCODE=N]', N 0 to 15" },
	{ "sync", MARK_SYNC, 0, parse_start, "`# sync ADDRESS SYNC=N', N 0 to 15" },
	{ "context", MARK_CONTEXT, 0, parse_context,
	  "`# context PRV=0..3 V=0..1 [scontext=X|hcontext=X|context=X]'" },
	{ "exception", MARK_TRAP, NT_TYPE_EXCEPTION, parse_transfer, "`# exception FROM TO'" },
	{ "interrupt", MARK_TRAP, NT_TYPE_INTERRUPT, parse_transfer, "`# interrupt FROM TO'" },
	{ "trap", MARK_TRAP, NT_TYPE_TRAP, parse_transfer, "`# trap FROM TO'" },
	{ "ijump", MARK_IJUMP, NT_TYPE_IJUMP, parse_transfer, "`# ijump FROM TO'" },
	{ "loss", MARK_LOSS, 0, parse_loss, "" },
};

const char *mark_parse(const char *text, struct mark *mark)
{
	const char *p = text + strspn(text, "# ");
	size_t i, n = strcspn(p, " \r\n");

	memset(mark, 0, sizeof(*mark));
	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (strlen(forms[i].word) != n || strncmp(p, forms[i].word, n))
			continue;
		mark->kind = forms[i].kind;
		mark->type = forms[i].type;
		return forms[i].parse(p + n, mark) ? NULL : forms[i].form;
	}
	return NULL;
}
