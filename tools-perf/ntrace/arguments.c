// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parse arguments with argp, and suggest a correction for mistyped options
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"

#define WORD_MAX	31	/* longer words are compared up to here */
#define NEAR		3	/* number of typing mistakes at most */

static size_t min3(size_t a, size_t b, size_t c)
{
	if (b < a)
		a = b;
	return c < a ? c : a;
}

/* The number of letters to add, remove or change in order to turn a into b */
static size_t distance(const char *a, const char *b)
{
	size_t la = strnlen(a, WORD_MAX), lb = strnlen(b, WORD_MAX), i, j;
	size_t row[WORD_MAX + 1], diagonal, above;

	for (j = 0; j <= lb; j++)
		row[j] = j;
	for (i = 0; i < la; i++) {
		diagonal = row[0];
		row[0] = i + 1;
		for (j = 0; j < lb; j++) {
			above = row[j + 1];
			row[j + 1] = min3(above + 1, row[j] + 1, diagonal + (a[i] != b[j]));
			diagonal = above;
		}
	}
	return row[lb];
}

const char *nearest_word(const char *word, const char *const *words)
{
	const char *best = NULL;
	/* at least half of the word has to be right */
	size_t limit = strlen(word) / 2;

	if (limit > NEAR)
		limit = NEAR;
	for (; *words; words++) {
		size_t d = distance(word, *words);

		if (d > limit)
			continue;
		limit = d;
		best = *words;
		if (!d)
			break;
		limit--;
	}
	return best;
}

/* ---------------------------------------------------------- options ------ */

#define OPTIONS_MAX	64

struct words {
	const char *list[OPTIONS_MAX + 1];
	const struct argp_option *option[OPTIONS_MAX];
	size_t n;
};

static void add_word(struct words *w, const char *name, const struct argp_option *option)
{
	if (w->n == OPTIONS_MAX)
		return;
	w->list[w->n] = name;
	w->option[w->n++] = option;
}

static void collect(struct words *w, const struct argp *argp)
{
	const struct argp_option *o = argp->options;
	const struct argp_child *child = argp->children;

	for (; o && (o->name || o->key || o->doc); o++)
		if (o->name)
			add_word(w, o->name, o);
	for (; child && child->argp; child++)
		collect(w, child->argp);
}

/* Find the option that `name` is, or abbreviates. *known: there is at least one */
static const struct argp_option *find_option(const struct words *w, const char *name, bool *known)
{
	size_t i, len = strlen(name);

	*known = false;
	for (i = 0; i < w->n; i++) {
		if (strncmp(w->list[i], name, len))
			continue;
		*known = true;
		/* if ambiguous, leave the error to getopt */
		if (!w->list[i][len])
			return w->option[i];
	}
	return NULL;
}

static void check_option(const struct words *w, const char *command, const char *arg, bool *value)
{
	const struct argp_option *option;
	const char *hint;
	char name[64];
	bool known;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(arg, "="), arg);
	option = find_option(w, name, &known);
	*value = option && option->arg && !(option->flags & OPTION_ARG_OPTIONAL) &&
		 !strchr(arg, '=');
	if (known)
		return;
	hint = nearest_word(name, w->list);
	if (hint)
		die("unrecognized option `--%s'; did you mean `--%s'?", name, hint);
	die("unrecognized option `--%s'; `%s --help' lists them", name, command);
}

void parse_arguments(const struct argp *argp, int argc, char **argv, void *input)
{
	struct words w = { .n = 0 };
	int i;

	collect(&w, argp);
	/* options of argp itself */
	add_word(&w, "help", NULL);
	add_word(&w, "usage", NULL);
	for (i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		bool value = false;

		if (!strncmp(argv[i], "--", 2))
			check_option(&w, argv[0], argv[i] + 2, &value);
		i += value;
	}
	if (argp_parse(argp, argc, argv, 0, NULL, input))
		exit(EXIT_UNUSABLE);
}

uint64_t arguments_size(const char **p, uint64_t bytes)
{
	static const char units[] = "BKMG";
	unsigned long long val;
	const char *unit;
	uint64_t size;
	char *end;

	if (**p < '0' || **p > '9')
		return 0;
	errno = 0;
	val = strtoull(*p, &end, 10);
	unit = *end & ~0x20 ? strchr(units, *end & ~0x20) : NULL;
	if (unit)
		bytes = 1ull << 10 * (unit - units);
	if (errno || val > 1ULL << 40 || __builtin_mul_overflow(val, bytes, &size))
		return 0;
	*p = end + !!unit;
	return size;
}
