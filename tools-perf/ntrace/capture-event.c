// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parse -e: ntrace/TERMS/MODIFIERS, with the syntax of perf
 */
#include <errno.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "cmd.h"

#define FORMAT_DIR	"/sys/bus/event_source/devices/" NTRACE_PMU_NAME "/format"

struct wanted {
	struct ntrace_terms terms;
	uint64_t given;		/* bits of config */
};

static void set_if_unset(struct ntrace_terms *t, const char *name, uint64_t val)
{
	struct wanted *w = (struct wanted *)t;
	uint64_t bits = ntrace_pmu_bits(name, "config");

	if (bits && !(w->given & bits))
		t->config = (t->config & ~bits) | (val << __builtin_ctzll(bits) & bits);
}

static void __attribute__((noreturn)) die_term(const char *name)
{
	const char *words[64] = { NULL }, *hint;
	struct dirent *entry;
	char list[512] = "";
	size_t n = 0, len = 0;
	DIR *dir = opendir(FORMAT_DIR);

	while (dir && (entry = readdir(dir)) && n + 1 < sizeof(words) / sizeof(*words)) {
		if (entry->d_name[0] == '.' || len + strlen(entry->d_name) + 3 > sizeof(list))
			continue;
		len += sprintf(list + len, "%s%s", len ? ", " : "", entry->d_name);
		words[n++] = strdup(entry->d_name);
	}
	hint = nearest_word(name, words);
	if (hint)
		die("-e: the driver has no term `%s'; did you mean `%s'?", name, hint);
	die("-e: the driver has no term `%s'; it has %s, and @NAME, a sink", name, list);
}

/* Parse NAME or NAME=VALUE */
static void set_term(struct wanted *w, char *term)
{
	char *value = strchr(term, '='), *end;
	uint64_t bits, bits2, val = 1, mask;

	if (value)
		*value++ = '\0';
	bits = ntrace_pmu_bits(term, "config");
	bits2 = ntrace_pmu_bits(term, "config2");
	if (!bits && !bits2)
		die_term(term);
	mask = bits ? bits >> __builtin_ctzll(bits) : bits2 >> __builtin_ctzll(bits2);
	if (value) {
		errno = 0;
		val = strtoull(value, &end, 0);
		if (errno || end == value || *end || *value == '-')
			die("-e: %s: `%s' is no number", term, value);
	}
	if (val > mask)
		die("-e: %s: %s is too large, at most %llu", term, value, (unsigned long long)mask);
	if (bits)
		w->terms.config = (w->terms.config & ~bits) | val << __builtin_ctzll(bits);
	else
		w->terms.config2 = (w->terms.config2 & ~bits2) | val << __builtin_ctzll(bits2);
	w->given |= bits;
}

static void set_terms(struct wanted *w, char *text)
{
	char *term, *rest = text;

	while ((term = strsep(&rest, ",")))
		if (*term == '@')
			w->terms.sink = term + 1;
		else if (*term)
			set_term(w, term);
}

/* As in perf: by default, everything but guests is traced; with modifiers, only what they name. */
static void set_modifiers(struct wanted *w, struct perf_event_attr *attr, const char *text)
{
	const char *p;

	attr->exclude_guest = 1;
	if (strpbrk(text, "ukh"))
		attr->exclude_user = attr->exclude_kernel = attr->exclude_hv = 1;
	if (strpbrk(text, "GH")) {
		w->terms.guests_chosen = true;
		attr->exclude_host = attr->exclude_guest = 1;
	}
	for (p = text; *p; p++) {
		switch (*p) {
		case 'u':
			attr->exclude_user = 0;
			break;
		case 'k':
			attr->exclude_kernel = 0;
			break;
		case 'h':
			attr->exclude_hv = 0;
			break;
		case 'G':
			attr->exclude_guest = 0;
			break;
		case 'H':
			attr->exclude_host = 0;
			break;
		default:
			die("-e: the modifier `%c' is none of u (user), k (kernel), h (hypervisor), G (guests), H (host)",
			    *p);
		}
	}
}

/* Split ntrace/TERMS/MODIFIERS, or ntrace alone. */
static void split(char *text, char **terms, char **modifiers)
{
	char *slash = strchr(text, '/'), *end = slash ? strchr(slash + 1, '/') : NULL;

	if (strncmp(text, NTRACE_PMU_NAME, strlen(NTRACE_PMU_NAME)) ||
	    (text[strlen(NTRACE_PMU_NAME)] && text[strlen(NTRACE_PMU_NAME)] != '/'))
		die("-e: `%s' is no ntrace event: only such are recorded, as ntrace//u; perf records others, too",
		    text);
	if (slash && !end)
		die("-e: `%s' lacks a /: ntrace/TERMS/ or ntrace//", text);
	*terms = slash ? slash + 1 : text + strlen(text);
	*modifiers = end ? end + 1 : text + strlen(text);
	if (end)
		*end = '\0';
}

/* @kept: number of bytes of trace that are kept at a time; 0: all */
void capture_event_parse(struct capture *c, const char *text, uint64_t kept)
{
	struct wanted w = { .terms = { .set_if_unset = set_if_unset, .say = capture_say } };
	struct capture_event *e = &c->event[EVENT_TRACE];
	struct perf_event_attr *attr = &e->attr;
	char *copy = strdup(text), *terms, *modifiers;

	e->name = strdup(text);
	if (!copy || !e->name)
		die("%s", nt_strerror(NT_ENOMEM));
	split(copy, &terms, &modifiers);
	set_modifiers(&w, attr, modifiers);
	set_terms(&w, terms);
	w.terms.exclude_user = attr->exclude_user;
	w.terms.exclude_kernel = attr->exclude_kernel;
	w.terms.exclude_guest = attr->exclude_guest;
	w.terms.exclude_host = attr->exclude_host;
	/* in the case of an error, capture_say() has already ended the command */
	if (ntrace_terms_apply(&w.terms, kept))
		exit(EXIT_UNUSABLE);
	attr->type = c->type;
	attr->config = w.terms.config;
	attr->config2 = w.terms.config2;
	attr->exclude_guest = w.terms.exclude_guest;
	free(copy);
}
