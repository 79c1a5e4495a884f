// SPDX-License-Identifier: GPL-2.0-only
/*
 * GDB's `monitor' commands: report the position in the recording, and go to another one
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "serve.h"

static const struct serve_track *current(const struct serve_session *s)
{
	return s->rec->track[s->chosen];
}

/* ------------------------------------------------------------ in words --- */

static void put_time(const struct serve_session *s, uint64_t time, char *text, size_t size)
{
	if (s->rec->timed)
		snprintf(text, size, "%" PRIu64 ".%09" PRIu64 " s", time / 1000000000,
			 time % 1000000000);
	else
		snprintf(text, size, "%" PRIu64 "t", time);
}

static void put_place(struct serve_session *s, uint64_t pc, char *text, size_t size)
{
	uint32_t space = serve_view_space(serve_session_view(s, s->chosen), s->at[s->chosen]);
	uint64_t offset = 0;
	const char *name = NULL;

	if (s->rec->symbol)
		name = s->rec->symbol(s->rec->ctx, space, pc, &offset);

	if (name)
		snprintf(text, size, "%#" PRIx64 " <%s+%" PRIu64 ">", pc, name, offset);
	else
		snprintf(text, size, "%#" PRIx64, pc);
}

static void say_position(struct serve_session *s)
{
	const struct serve_track *t = current(s);
	uint64_t at = s->at[s->chosen], time, pc;
	char when[64] = "", place[200] = "an unknown address";
	unsigned int part = t->insns ?
			    (unsigned int)(((unsigned __int128)at * 10000 + t->insns / 2) /
					   t->insns) : 0;

	if (serve_track_time_at(t, at, &time)) {
		strcpy(when, ", time ");
		put_time(s, time, when + strlen(when), sizeof(when) - strlen(when));
	}
	if (serve_view_pc(serve_session_view(s, s->chosen), at, &pc))
		put_place(s, pc, place, sizeof(place));
	serve_session_say(s, "%s: instruction %" PRIu64 " of %" PRIu64 " (%u.%02u%%)%s: %s\n",
			  t->name,
			  at, t->insns, part / 100, part % 100, when, place);
}

/* -------------------------------------------------------------- going ---- */

/* Parse a decimal number, in parts of `unit', which is a power of ten. */
static bool parse_decimal(const char *text, uint64_t unit, uint64_t *value, const char **end)
{
	uint64_t part = unit / 10;
	char *p;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*value = strtoull(text, &p, 10);
	if (errno || *value > UINT64_MAX / unit - 1)
		return false;
	*value *= unit;
	if (*p == '.')
		for (p++; *p >= '0' && *p <= '9'; p++, part /= 10)
			*value += (uint64_t)(*p - '0') * part;
	*end = p;
	return true;
}

#define PER_CENT	1000000u	/* parts of one per cent */

/* Returns false if it is not a valid target of goto. */
static bool parse_target(const struct serve_session *s, const char *text, uint64_t *insn)
{
	const struct serve_track *t = current(s);
	const char *end;
	uint64_t value;

	if (!strcmp(text, "begin") || !strcmp(text, "end")) {
		*insn = *text == 'b' ? 0 : serve_track_last(t);
		return true;
	}
	if (strchr(text, '%')) {
		if (!parse_decimal(text, PER_CENT, &value, &end) || strcmp(end, "%") ||
		    value > 100ull * PER_CENT)
			return false;
		*insn = (uint64_t)(((unsigned __int128)t->insns * value + 50ull * PER_CENT) /
				   (100ull * PER_CENT));
		return true;
	}
	if (strchr(text, '.') || text[strlen(text) - 1] == 't') {
		bool ticks = !strchr(text, '.');

		if (!t->nr_times || ticks == s->rec->timed ||
		    !parse_decimal(text, ticks ? 1 : 1000000000, &value, &end) ||
		    strcmp(end, ticks ? "t" : ""))
			return false;
		*insn = serve_track_at_time(t, value);
		return true;
	}
	return parse_decimal(text, 1, insn, &end) && !*end;
}

static void on_goto(struct serve_session *s, const char *text)
{
	const struct serve_track *t = current(s);
	uint64_t insn;

	if (!*text || !parse_target(s, text, &insn)) {
		serve_session_say(s, "goto: `%s' is not begin, end, the number of an instruction, a part "
				  "such as 50%%%s\n", text, !t->nr_times ? "; no time is known" :
				  s->rec->timed ? ", or a time in seconds such as 12.345" :
				  ", or a time of the trace's clock such as 1000t");
		return;
	}
	if (insn > serve_track_last(t)) {
		serve_session_say(s, "goto: the last position of %s is %" PRIu64 "\n", t->name,
				  serve_track_last(t));
		return;
	}
	s->at[s->chosen] = insn;
	s->current = s->chosen;
	serve_move_sync(s, s->current);
	say_position(s);
	/* GDB has separate caches for registers and for the stack */
	serve_session_say(s, "GDB has not noticed: maintenance flush register-cache%s\n",
			  s->rec->memory ? ", then maintenance flush dcache" : "");
}

/* -------------------------------------------------------------- calls ---- */

static void on_position(struct serve_session *s, const char *text)
{
	(void)text;
	say_position(s);
}

#define FRAMES_SAID	64	/* unless the user gives a number */

/* Print a backtrace. */
static void say_stack(struct serve_session *s, const char *text, bool calls)
{
	struct serve_view *v = serve_session_view(s, s->chosen);
	struct serve_stack stack = serve_stack_at(v, s->at[s->chosen]);
	char place[200] = "an unknown address";
	uint64_t pc, most;
	const char *end;
	size_t n = 0;

	if (!parse_decimal(text, 1, &most, &end))
		most = FRAMES_SAID;
	if (serve_view_pc(v, s->at[s->chosen], &pc))
		put_place(s, pc, place, sizeof(place));
	if (!calls)
		serve_session_say(s, "#0  %s\n", place);
	for (size_t i = stack.nr; i && n < most; i--, n++) {
		const struct serve_frame *f = &stack.frame[i - 1];
		char to[200];

		put_place(s, f->from, place, sizeof(place));
		put_place(s, f->to, to, sizeof(to));
		if (calls)
			serve_session_say(s, "%s %s %s\n", place, f->trap ? "trapped to" : "called",
					  to);
		else
			serve_session_say(s, "#%-2zu %s%s\n", n + 1, place,
					  f->trap ? ", a trap" : "");
	}
	if (stack.nr > n)
		serve_session_say(s, "... and %zu more\n", stack.nr - n);
	if (!stack.nr && calls)
		serve_session_say(s, "no call is known that has not returned: trace of it is missing\n");
	free(stack.frame);
}

static void on_where(struct serve_session *s, const char *text)
{
	say_stack(s, text, false);
}

static void on_calls(struct serve_session *s, const char *text)
{
	say_stack(s, text, true);
}

/* --------------------------------------------------------------- gaps ---- */

#define MARKS_SAID	200

static void on_gaps(struct serve_session *s, const char *text)
{
	const struct serve_track *t = current(s);
	size_t n = 0;

	(void)text;
	for (size_t i = 0; i < t->nr_marks; i++) {
		if (t->mark[i].kind == SERVE_BEGIN)
			continue;
		if (n++ < MARKS_SAID)
			serve_session_say(s, "%" PRIu64 " %s: %s\n", t->mark[i].insn,
					  t->mark[i].kind == SERVE_LOSS ? "loss" : "gap",
					  t->mark[i].text);
	}
	if (n > MARKS_SAID)
		serve_session_say(s, "... and %zu more\n", n - MARKS_SAID);
	if (!n)
		serve_session_say(s, "%s has neither losses nor gaps\n", t->name);
}

/* -------------------------------------------------------------- known ---- */

static void on_known(struct serve_session *s, const char *text)
{
	const struct serve_recording *r = s->rec;
	char list[32 * 4 + 1] = "";
	uint64_t value;

	(void)text;
	for (unsigned int i = 1; i < 32; i++)
		if (serve_session_reg(s, 0x1000 + i, &value))
			sprintf(list + strlen(list), " x%u", i);
	serve_session_say(s, "registers: pc%s%s\n", *list ? list : "; no others",
			  r->reg || !*list ? "" :
			  ", as they follow from the code that was executed");
	serve_session_say(s, "memory: %s\n",
			  r->memory ? "what the trace told up to here, and files" :
			  "what programs' files have that is read-only and was mapped then");
}

static void on_help(struct serve_session *s, const char *text);
static void on_thread(struct serve_session *s, const char *text);

static const struct {
	const char *name, *help;
	void (*run)(struct serve_session *s, const char *rest);
} commands[] = {
	{ "position", "where this is in the recording", on_position },
	{ "goto", "begin, end, INSTRUCTION, PART% or a time: go there", on_goto },
	{ "where", "the calls that this is in, as backtrace; 64 of them, or NUMBER", on_where },
	{ "calls", "the same, as who called what", on_calls },
	{ "gaps", "where trace is missing", on_gaps },
	{ "known", "which registers and what memory is known here", on_known },
	{ "thread", "NUMBER COMMAND: one of these for that thread", on_thread },
	{ "help", "this", on_help },
};

#define NR_COMMANDS	(sizeof(commands) / sizeof(commands[0]))

static void on_help(struct serve_session *s, const char *text)
{
	(void)text;
	for (size_t i = 0; i < NR_COMMANDS; i++)
		serve_session_say(s, "monitor %-9s %s\n", commands[i].name, commands[i].help);
}

static void on_thread(struct serve_session *s, const char *text)
{
	size_t before = s->chosen;
	const char *end;
	uint64_t id;

	if (!parse_decimal(text, 1, &id, &end) || *end != ' ' || !id || id > s->rec->nr_tracks) {
		serve_session_say(s, "thread: expected the number of a thread, 1 to %zu, and a command, "
				  "not `%s'\n", s->rec->nr_tracks, text);
		return;
	}
	s->chosen = (size_t)id - 1;
	serve_monitor(s, end);
	s->chosen = before;
}

void serve_monitor(struct serve_session *s, const char *command)
{
	size_t len;

	command += strspn(command, " ");
	len = strcspn(command, " ");
	for (size_t i = 0; i < NR_COMMANDS; i++) {
		if (strlen(commands[i].name) != len || strncmp(command, commands[i].name, len))
			continue;
		commands[i].run(s, command + len + strspn(command + len, " "));
		return;
	}
	serve_session_say(s, "`%s' is not known; monitor help lists what is\n", command);
}
