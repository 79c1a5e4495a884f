// SPDX-License-Identifier: GPL-2.0-only
/*
 * Handle GDB's packets, and reply to those that only query. An unknown packet gets an empty reply,
 * as the protocol requires.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "gdb.h"
#include "serve.h"

/* ------------------------------------------------------------------ text - */

static void make_room(struct serve_text *t, size_t more)
{
	if (t->len + more < t->room)
		return;
	t->room = 2 * (t->len + more) + 256;
	t->s = realloc(t->s, t->room);
	if (!t->s)
		die("%s", nt_strerror(NT_ENOMEM));
}

void serve_text_bytes(struct serve_text *t, const void *bytes, size_t len)
{
	make_room(t, len);
	if (len)
		memcpy(t->s + t->len, bytes, len);
	t->len += len;
	t->s[t->len] = '\0';
}

void serve_text_put(struct serve_text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	make_room(t, (size_t)n);
	va_start(ap, fmt);
	vsnprintf(t->s + t->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	t->len += (size_t)n;
}

static void put_hex(struct serve_text *t, const void *bytes, size_t len)
{
	const uint8_t *b = bytes;

	make_room(t, 2 * len);
	t->s[t->len] = '\0';
	for (size_t i = 0; i < len; i++)
		t->len += (size_t)sprintf(t->s + t->len, "%02x", b[i]);
}

/* --------------------------------------------------------------- session - */

void serve_session_init(struct serve_session *s, const struct serve_recording *r,
			const struct serve_options *options)
{
	*s = (struct serve_session){ .rec = r, .options = options };
	s->view = calloc(r->nr_tracks + 1, sizeof(*s->view));
	s->at = calloc(r->nr_tracks + 1, sizeof(*s->at));
	s->past = calloc(r->nr_tracks + 1, sizeof(*s->past));
	s->btrace_sent = calloc(r->nr_tracks + 1, sizeof(*s->btrace_sent));
	if (!s->view || !s->at || !s->past || !s->btrace_sent)
		die("%s", nt_strerror(NT_ENOMEM));
	memset(s->btrace_sent, 0xff, r->nr_tracks * sizeof(*s->btrace_sent));
	s->infer = serve_infer_new(r);
	serve_move_sync(s, 0);
}

void serve_session_free(struct serve_session *s)
{
	for (size_t i = 0; i < s->rec->nr_tracks; i++)
		free(s->view[i]);
	free(s->view);
	free(s->at);
	free(s->past);
	free(s->btrace_sent);
	free(s->object.s);
	free(s->reply.s);
	free(s->watch);
	serve_infer_free(s->infer);
	serve_points_free(&s->points);
}

struct serve_view *serve_session_view(struct serve_session *s, size_t track)
{
	if (!s->view[track]) {
		s->view[track] = malloc(sizeof(struct serve_view));
		if (!s->view[track])
			die("%s", nt_strerror(NT_ENOMEM));
		serve_view_init(s->view[track], s->rec->track[track]);
	}
	return s->view[track];
}

static void send(struct serve_session *s)
{
	s->packet(s->ctx, s->reply.s ? s->reply.s : "", s->reply.len);
	s->reply.len = 0;
}

void serve_session_reply(struct serve_session *s, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	s->reply.len = 0;
	serve_text_put(&s->reply, "%s", text);
	send(s);
}

void serve_session_say(struct serve_session *s, const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	s->reply.len = 0;
	serve_text_put(&s->reply, "O");
	put_hex(&s->reply, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
	send(s);
}

/* --------------------------------------------------------------- threads - */

void serve_session_thread_id(const struct serve_session *s, size_t track, char *text, size_t size)
{
	(void)s;
	snprintf(text, size, "%zx", track + 1);
}

/* "-1": all, "0": any. Returns false if there is no such thread. */
static bool parse_thread(const struct serve_session *s, const char *p, size_t *track)
{
	uint64_t id;

	*track = s->current;
	if (!strcmp(p, "-1") || !strcmp(p, "0"))
		return true;
	if (!gdb_number(&p, &id) || *p || !id || id > s->rec->nr_tracks)
		return false;
	*track = (size_t)id - 1;
	return true;
}

/*
 * GDB does not report which thread its user has selected. Assume the thread that stopped last,
 * until `thread N' sends T for another one. Hg is not conclusive: `info threads' sends Hg for each
 * thread. Reading the list of threads once more than after a stop indicates `info threads', so Hg
 * is ignored from then on.
 */
static void choose_thread(struct serve_session *s, const char *p)
{
	size_t track;

	if (!parse_thread(s, *p ? p + 1 : p, &track)) {
		serve_session_reply(s, "E01");
		return;
	}
	if (*p == 'g') {
		s->chosen = track;
		if (s->lists < 2)
			s->user = track;
	} else {
		s->told = strcmp(p + 1, "-1") && strcmp(p + 1, "0");
		if (s->told)
			s->current = track;
	}
	serve_session_reply(s, "OK");
}

static void is_alive(struct serve_session *s, const char *p)
{
	size_t track;
	bool alive = parse_thread(s, p, &track);

	if (alive)
		s->user = track;
	serve_session_reply(s, alive ? "OK" : "E01");
}

static void list_threads(struct serve_session *s)
{
	char id[24];

	s->reply.len = 0;
	for (size_t i = 0; i < s->rec->nr_tracks; i++) {
		/* the rest is in qXfer:threads:read, which has no limit */
		if (s->reply.len + sizeof(id) > SERVE_PACKET_MAX)
			break;
		serve_session_thread_id(s, i, id, sizeof(id));
		serve_text_put(&s->reply, "%c%s", i ? ',' : 'm', id);
	}
	send(s);
}

static void extra_info(struct serve_session *s, const char *p)
{
	size_t track;

	if (!parse_thread(s, p, &track)) {
		serve_session_reply(s, "E01");
		return;
	}
	s->reply.len = 0;
	put_hex(&s->reply, s->rec->track[track]->name, strlen(s->rec->track[track]->name));
	send(s);
}

/* ------------------------------------------------------------- registers - */

static unsigned int first_csr(const struct serve_session *s)
{
	return s->rec->flen ? SERVE_REGS : SERVE_REG_PC + 1;
}

static unsigned int reg_bytes(const struct serve_session *s, unsigned int reg)
{
	if (reg <= SERVE_REG_PC || reg >= first_csr(s))
		return s->rec->xlen / 8;
	return reg < SERVE_REG_FFLAGS ? s->rec->flen / 8 : 4;
}

/* The NT_TV_REG_ number of a register */
static unsigned int arch_number(const struct serve_session *s, unsigned int reg)
{
	if (reg >= first_csr(s))
		return s->rec->csr[reg - first_csr(s)].number;
	if (reg < SERVE_REG_PC)
		return 0x1000 + reg;
	if (reg < SERVE_REG_FFLAGS)
		return 0x1020 + reg - SERVE_REG_F;
	return 1 + reg - SERVE_REG_FFLAGS;	/* fflags, frm, fcsr */
}

bool serve_session_reg(struct serve_session *s, unsigned int reg, uint64_t *value)
{
	const struct serve_recording *r = s->rec;
	size_t t = s->chosen;

	*value = 0;
	if (reg == 0x1000)
		return true;
	if (r->reg)
		return r->reg(r->ctx, r->track[t], s->at[t], reg, value);
	return reg > 0x1000 && reg < 0x1020 &&
	       serve_infer_reg(s->infer, serve_session_view(s, t), s->at[t], reg - 0x1000, value);
}

static bool reg_value(struct serve_session *s, unsigned int reg, uint64_t *value)
{
	size_t t = s->chosen;

	if (reg == SERVE_REG_PC)
		return serve_view_pc(serve_session_view(s, t), s->at[t], value);
	return serve_session_reg(s, arch_number(s, reg), value);
}

static void put_reg(struct serve_session *s, unsigned int reg)
{
	unsigned int bytes = reg_bytes(s, reg);
	uint64_t value;

	if (!reg_value(s, reg, &value)) {
		serve_text_put(&s->reply, "%.*s", (int)(2 * bytes), "xxxxxxxxxxxxxxxx");
		return;
	}
	for (unsigned int i = 0; i < bytes; i++)
		serve_text_put(&s->reply, "%02x", (unsigned int)(value >> 8 * i & 0xff));
}

static unsigned int nr_regs(const struct serve_session *s)
{
	return first_csr(s) + (unsigned int)s->rec->nr_csrs;
}

static void all_regs(struct serve_session *s)
{
	s->reply.len = 0;
	for (unsigned int i = 0; i < nr_regs(s); i++)
		put_reg(s, i);
	send(s);
}

static void one_reg(struct serve_session *s, const char *p)
{
	uint64_t reg;

	if (!gdb_number(&p, &reg) || *p || reg >= nr_regs(s)) {
		serve_session_reply(s, "E01");
		return;
	}
	s->reply.len = 0;
	put_reg(s, (unsigned int)reg);
	send(s);
}

/* ---------------------------------------------------------------- memory - */

/* Use the mappings at the thread's current position. */
static uint32_t space_of(struct serve_session *s)
{
	return serve_view_space(serve_session_view(s, s->chosen), s->at[s->chosen]);
}

static void read_memory(struct serve_session *s, const char *p)
{
	const struct serve_recording *r = s->rec;
	uint8_t buf[SERVE_PACKET_MAX / 2 - 8];
	uint64_t addr, len;
	size_t n;

	if (!gdb_number(&p, &addr) || *p++ != ',' || !gdb_number(&p, &len) || *p) {
		serve_session_reply(s, "E01");
		return;
	}
	if (len > sizeof(buf))
		len = sizeof(buf);
	if (r->memory)
		n = r->memory(r->ctx, r->track[s->chosen], s->at[s->chosen], addr, buf, len);
	else
		n = serve_files_read(&r->files, space_of(s), addr, buf, len);
	/* memory is not known; an empty reply would mean that the packet is not supported */
	if (!n) {
		serve_session_reply(s, "E01");
		return;
	}
	s->reply.len = 0;
	put_hex(&s->reply, buf, n);
	send(s);
}

/* ----------------------------------------------------------- breakpoints - */

static void set_watch(struct serve_session *s, const struct serve_watch *w, bool set)
{
	size_t i = 0;

	while (i < s->nr_watches && (s->watch[i].kind != w->kind || s->watch[i].addr != w->addr ||
				     s->watch[i].size != w->size))
		i++;
	if (set && i == s->nr_watches) {
		s->watch = array_room(s->watch, s->nr_watches, sizeof(*s->watch));
		s->watch[s->nr_watches++] = *w;
	} else if (!set && i < s->nr_watches) {
		s->watch[i] = s->watch[--s->nr_watches];
	}
	serve_session_reply(s, "OK");
}

static void set_point(struct serve_session *s, const char *p, bool set)
{
	char kind = *p++;
	uint64_t addr, size;

	if (kind < '0' || kind > '4' || (kind > '1' && !s->rec->touched)) {
		serve_session_reply(s, "%s", "");
		return;
	}
	if (*p++ != ',' || !gdb_number(&p, &addr) || *p++ != ',' || !gdb_number(&p, &size)) {
		serve_session_reply(s, "E01");
		return;
	}
	if (kind > '1') {
		set_watch(s, &(struct serve_watch){ addr, size ? size : 1, kind }, set);
		return;
	}
	/* setting or removing a breakpoint twice has no further effect */
	if (set)
		serve_points_add(&s->points, addr, (unsigned int)(kind - '0'));
	else
		serve_points_remove(&s->points, addr, (unsigned int)(kind - '0'));
	serve_session_reply(s, "OK");
}

/* -------------------------------------------------------------- movement - */

/* A parsed vCont packet */
struct plan {
	char *action;		/* of each thread; 0: it stays */
	uint64_t start, end;	/* of a range step */
};

/* Parse what follows the letter of an action. Returns false if it is not valid. */
static bool parse_action(const char **p, char action, struct plan *plan)
{
	switch (action) {
	case 'c': case 's':
		return true;
	case 'C': case 'S':
		if (gdb_digit(**p) < 0 || gdb_digit((*p)[1]) < 0)
			return false;
		*p += 2;
		return true;
	case 'r':
		if (!gdb_number(p, &plan->start) || **p != ',')
			return false;
		++*p;
		return gdb_number(p, &plan->end);
	}
	return false;
}

/* Apply an action to its threads. Of several actions for a thread, the first one counts. */
static bool apply_action(const struct serve_session *s, const char **p, char action,
			 struct plan *plan)
{
	size_t len = strcspn(*p, ";"), track;
	bool all = !len || (len == 3 && !strncmp(*p, ":-1", len));
	char id[24];

	if (len && (**p != ':' || len >= sizeof(id)))
		return false;
	snprintf(id, sizeof(id), "%.*s", len ? (int)len - 1 : 0, *p + !!len);
	*p += len;
	if (!all && !parse_thread(s, id, &track))
		return false;
	for (size_t i = 0; i < s->rec->nr_tracks; i++)
		if ((all || i == track) && !plan->action[i])
			plan->action[i] = action;
	return true;
}

/* ";s:1;c" */
static bool parse_plan(const struct serve_session *s, const char *p, struct plan *plan)
{
	bool any = false;

	for (; *p == ';'; any = true) {
		char action = *++p;

		if (action)
			p++;
		if (!parse_action(&p, action, plan) || !apply_action(s, &p, action, plan))
			return false;
	}
	return any && !*p;
}

static enum serve_how how_of(char action)
{
	if (action == 'r')
		return SERVE_RANGE;
	return action == 's' || action == 'S' ? SERVE_STEP : SERVE_CONTINUE;
}

/*
 * Move one thread alone, or all at once. In the latter case, one may step. If all step, the chosen
 * one does, and the others follow.
 */
static void carry_out(struct serve_session *s, const struct plan *plan)
{
	size_t nr = s->rec->nr_tracks, go = 0, steps = 0, last = 0, step = 0;

	for (size_t i = 0; i < nr; i++) {
		if (!plan->action[i])
			continue;
		last = i;
		go++;
		if (how_of(plan->action[i]) == SERVE_CONTINUE)
			continue;
		step = i;
		steps++;
	}
	if ((go != 1 && go != nr) || (steps > 1 && steps != nr)) {
		serve_session_reply(s, "E.a recording runs one thread, or all; one may step");
		return;
	}
	s->current = steps == 1 ? step : go == 1 ? last : s->chosen;
	serve_move(s, how_of(plan->action[s->current]), false, plan->start, plan->end,
		   go == 1 && nr > 1);
}

static void resume(struct serve_session *s, const char *p)
{
	struct plan plan = { .action = calloc(s->rec->nr_tracks + 1, 1) };

	if (!plan.action)
		die("%s", nt_strerror(NT_ENOMEM));
	if (parse_plan(s, p, &plan))
		carry_out(s, &plan);
	else
		serve_session_reply(s, "E01");
	free(plan.action);
}

/* Hc0 means the thread that the user looks at. Hc with a thread ID means that thread alone. */
static void go_on(struct serve_session *s, enum serve_how how, bool back)
{
	if (!s->told)
		s->current = s->user;
	serve_move(s, how, back, 0, 0, s->told && s->rec->nr_tracks > 1);
}

/* --------------------------------------------------------------- objects - */

/* qXfer:OBJECT:read:ANNEX:OFFSET,LENGTH. The object does not change while the client reads it. */
static void read_object(struct serve_session *s, const char *p)
{
	char name[sizeof(s->object_name)], *annex, *colon;
	const char *range;
	uint64_t offset, len;

	range = strrchr(p, ':');
	snprintf(name, sizeof(name), "%.*s", range ? (int)(range - p) : 0, p);
	annex = strstr(name, ":read:");
	if (!range || !annex || (size_t)(range - p) >= sizeof(name)) {
		serve_session_reply(s, "%s", "");
		return;
	}
	range++;
	if (!gdb_number(&range, &offset) || *range++ != ',' || !gdb_number(&range, &len)) {
		serve_session_reply(s, "E01");
		return;
	}
	if (!offset || strcmp(name, s->object_name)) {
		strcpy(s->object_name, name);
		s->object.len = 0;
		*annex = '\0';
		annex += strlen(":read:");
		colon = strchr(name, ':');
		if (colon || !serve_object_make(s, name, annex, &s->object)) {
			*s->object_name = '\0';
			serve_session_reply(s, "E00");
			return;
		}
	}
	if (offset > s->object.len)
		offset = s->object.len;
	if (len > s->object.len - offset)
		len = s->object.len - offset;
	/* each byte may be escaped, and then takes two */
	if (len > SERVE_PACKET_MAX / 2)
		len = SERVE_PACKET_MAX / 2;
	s->reply.len = 0;
	serve_text_put(&s->reply, "%c", offset + len < s->object.len ? 'm' : 'l');
	serve_text_bytes(&s->reply, s->object.s + offset, len);
	send(s);
}

/* ------------------------------------------------------------ all others - */

static void tell_features(struct serve_session *s, const char *p)
{
	const struct serve_recording *r = s->rec;

	s->swbreak = strstr(p, "swbreak+");
	s->reply.len = 0;
	serve_text_put(&s->reply, "PacketSize=%x;QStartNoAckMode+;ReverseStep+;ReverseContinue+;"
		       "vContSupported+;swbreak+;qXfer:features:read+;qXfer:threads:read+;"
		       "Qbtrace:bts+;Qbtrace:off+;Qbtrace-conf:bts:size+;qXfer:btrace:read+;"
		       "qXfer:btrace-conf:read+", SERVE_PACKET_MAX);
	if (r->exec_file)
		serve_text_put(&s->reply, ";qXfer:exec-file:read+");
	if (serve_object_has_libraries(r))
		serve_text_put(&s->reply, ";qXfer:libraries:read+");
	send(s);
}

/* LLDB asks this instead of reading target.xml. */
static void tell_host(struct serve_session *s)
{
	char triple[64];

	snprintf(triple, sizeof(triple), "riscv%u-unknown-elf", s->rec->xlen);
	s->reply.len = 0;
	serve_text_put(&s->reply, "triple:");
	put_hex(&s->reply, triple, strlen(triple));
	serve_text_put(&s->reply, ";endian:little;ptrsize:%u;", s->rec->xlen / 8);
	send(s);
}

static void monitor(struct serve_session *s, const char *p)
{
	size_t n = 0, before = s->chosen;
	char command[256];
	uint64_t byte;

	for (; *p; p += 2) {
		if (n + 1 >= sizeof(command)) {
			serve_session_reply(s, "E.monitor: more than %zu characters",
					    sizeof(command) - 1);
			return;
		}
		if (!gdb_unhex(p, 1, &byte) || !byte) {
			serve_session_reply(s, "E01");
			return;
		}
		command[n++] = (char)byte;
	}
	while (n && command[n - 1] == ' ')
		n--;
	command[n] = '\0';
	s->chosen = s->user;
	serve_monitor(s, command);
	s->chosen = before;
	serve_session_reply(s, "OK");
}

static void branch_trace(struct serve_session *s, const char *p)
{
	bool on = !strcmp(p, "bts");

	if (!on && strcmp(p, "off")) {
		serve_session_reply(s, "%s", "");
		return;
	}
	s->btrace = on;
	s->btrace_sent[s->chosen] = UINT64_MAX;
	serve_session_reply(s, "OK");
}

/* Packets with a prefix, and their handlers */
static const struct {
	const char *prefix;
	void (*handle)(struct serve_session *s, const char *rest);
} queries[] = {
	{ "qSupported", tell_features },
	{ "qXfer:", read_object },
	{ "qRcmd,", monitor },
	{ "qThreadExtraInfo,", extra_info },
	{ "Qbtrace:", branch_trace },
	{ "vCont;", NULL },
};

/* Packets with a constant reply */
static const struct {
	const char *packet, *reply;
} answers[] = {
	{ "qAttached", "1" },
	{ "qSymbol::", "OK" },
	{ "vCont?", "vCont;c;C;s;S;r" },
	{ "qsThreadInfo", "l" },
};

static bool answer(struct serve_session *s, const char *data)
{
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		if (strcmp(data, answers[i].packet))
			continue;
		serve_session_reply(s, "%s", answers[i].reply);
		return true;
	}
	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		size_t len = strlen(queries[i].prefix);

		if (strncmp(data, queries[i].prefix, len))
			continue;
		if (queries[i].handle)
			queries[i].handle(s, data + len);
		else
			resume(s, data + len - 1);
		return true;
	}
	return false;
}

static void ask_or_set(struct serve_session *s, const char *data)
{
	char id[24];

	if (answer(s, data))
		return;
	if (!strcmp(data, "QStartNoAckMode")) {
		serve_session_reply(s, "OK");
		s->no_ack = true;
	} else if (!strcmp(data, "qC")) {
		serve_session_thread_id(s, s->current, id, sizeof(id));
		serve_session_reply(s, "QC%s", id);
	} else if (!strcmp(data, "qfThreadInfo")) {
		list_threads(s);
	} else if (!strcmp(data, "qHostInfo")) {
		tell_host(s);
	} else if (!strncmp(data, "Qbtrace-conf:bts:size=", 22)) {
		serve_session_reply(s, "OK");
	} else if (!strncmp(data, "vKill", 5)) {
		s->ended = true;
		serve_session_reply(s, "OK");
	} else {
		serve_session_reply(s, "%s", "");
	}
}

void serve_session_packet(struct serve_session *s, const char *data, size_t len)
{
	(void)len;
	switch (data[0]) {
	case '?':
		serve_move_reason(s);
		break;
	case 'g':
		all_regs(s);
		break;
	case 'p':
		one_reg(s, data + 1);
		break;
	case 'm':
		read_memory(s, data + 1);
		break;
	case 'G': case 'P': case 'M': case 'X':
		serve_session_reply(s, "E.a recording cannot be changed");
		break;
	case 'Z': case 'z':
		set_point(s, data + 1, data[0] == 'Z');
		break;
	case 'H':
		choose_thread(s, data + 1);
		break;
	case 'T':
		is_alive(s, data + 1);
		break;
	case 's': case 'S':
		go_on(s, SERVE_STEP, false);
		break;
	case 'c': case 'C':
		go_on(s, SERVE_CONTINUE, false);
		break;
	case 'b':
		if (strcmp(data, "bs") && strcmp(data, "bc"))
			serve_session_reply(s, "%s", "");
		else
			go_on(s, data[1] == 's' ? SERVE_STEP : SERVE_CONTINUE, true);
		break;
	case 'D':
		serve_session_reply(s, "OK");
		s->ended = true;
		break;
	case 'k':
		s->ended = true;
		break;
	default:
		ask_or_set(s, data);
	}
}
