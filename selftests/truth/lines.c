// SPDX-License-Identifier: GPL-2.0-only
/* Parser of decoded lists. It must be fast, so it uses neither stdio nor regular expressions. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lines.h"
#include "truth.h"

struct lines {
	int fd;
	enum line_format format;
	char *buf;
	size_t at, len;
	bool eof;
	uint64_t number;
};

#define BUF_SIZE	(1u << 20)

static const int8_t hex_digit[256] = {
	['0'] = 1, ['1'] = 2, ['2'] = 3, ['3'] = 4, ['4'] = 5, ['5'] = 6, ['6'] = 7, ['7'] = 8,
	['8'] = 9, ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15,
	['f'] = 16,
};

/* Parse lower-case hex digits at p. Returns their end, or NULL if there are none. */
static const char *get_hex(const char *p, const char *end, uint64_t *v)
{
	const char *start = p;

	*v = 0;
	for (; p < end && hex_digit[(uint8_t)*p]; p++)
		*v = *v << 4 | (unsigned int)(hex_digit[(uint8_t)*p] - 1);
	return p == start ? NULL : p;
}

/* Find the last word before `end`, and set `end` to its end. Returns its beginning. */
static const char *last_word(const char *start, const char **end)
{
	const char *e = *end, *p;

	while (e > start && e[-1] == ' ')
		e--;
	for (p = e; p > start && p[-1] != ' '; p--)
		;
	*end = e;
	return p;
}

/* Parse the last word as a hex number, and set `end` to its beginning */
static bool last_hex(const char *start, const char **end, uint64_t *v)
{
	const char *e = *end;
	const char *p = last_word(start, &e);

	if (p == e || get_hex(p, e, v) != e)
		return false;
	*end = p;
	return true;
}

static bool has(const struct line *line, const char *word)
{
	return memmem(line->text, line->len, word, strlen(word)) != NULL;
}

/* ------------------------------------------------------------- perf script */

/* perf's error code for losses that AUX flags report for a whole window */
#define PERF_ERROR_LOST	2

static const struct {
	const char *word;
	uint32_t types;
	int8_t syscall;
} perf_flags[] = {
	{ "jcc", 1u << X_COND, -1 },
	{ "jmp", 1u << X_JUMP | 1u << X_IJUMP, -1 },
	{ "call", 1u << X_CALL | 1u << X_ICALL | 1u << X_SWAP, -1 },
	{ "return", 1u << X_RET, -1 },
	{ "syscall", 1u << X_EXCEPTION, 1 },
	{ "int", 1u << X_EXCEPTION, 0 },
	{ "hw int", 1u << X_INTERRUPT, -1 },
	{ "iret", 1u << X_ERET, -1 },
	{ "sysret", 1u << X_ERET, -1 },
};

static bool is_word(const char *p, const char *end, const char *word)
{
	size_t n = strlen(word);

	return (size_t)(end - p) == n && !memcmp(p, word, n);
}

static void perf_type(struct line *line, const char *p, const char *end)
{
	for (size_t i = 0; i < sizeof(perf_flags) / sizeof(*perf_flags); i++) {
		if (!is_word(p, end, perf_flags[i].word))
			continue;
		line->types = perf_flags[i].types;
		line->syscall = perf_flags[i].syscall;
	}
}

/* `flags` are the words between the event and the addresses */
static void perf_branch(struct line *line, const char *flags, const char *end)
{
	while (flags < end && *flags == ' ')
		flags++;
	while (end > flags && end[-1] == ' ')
		end--;
	line->kind = LINE_BRANCH;
	if (is_word(flags, end, "tr strt")) {
		line->kind = LINE_START;
	} else if (is_word(flags, end, "tr end")) {
		line->kind = LINE_STOP;
	} else if (end - flags > 8 && !memcmp(flags, "tr end  ", 8)) {
		line->kind = LINE_STOP;
		flags += 8;
	}
	if (line->kind != LINE_START)
		perf_type(line, flags, end);
}

/*
 * Is this the line of a sample with a call chain? Its address is in the next lines. The line itself
 * has the flags of the instruction, if that is a branch, and 0 as address if branches are printed.
 */
static bool is_sample(const char *p, const char *end)
{
	struct line flags = { .types = 0 };

	while (p < end && *p == ' ')
		p++;
	while (end > p && end[-1] == ' ')
		end--;
	if (end > p && end[-1] == '0' && (end - p == 1 || end[-2] == ' '))
		end--;
	while (end > p && end[-1] == ' ')
		end--;
	perf_type(&flags, p, end);
	return p == end || flags.types;
}

/* "... TID [CPU] ... EVENT: [FLAGS] IP [=> ADDR]" */
static bool parse_perf_sample(struct line *line)
{
	const char *start = line->text, *end = start + line->len, *p, *body, *e;

	p = memchr(start, '[', line->len);
	if (!p)
		return false;
	line->cpu = atoi(p + 1);
	e = p;
	body = last_word(start, &e);
	if (body == e)
		return false;
	line->tid = atoi(body);
	body = memrchr(p, ':', (size_t)(end - p));
	if (!body)	/* the list has no event field */
		body = memchr(p, ']', (size_t)(end - p));
	if (!body++)
		return false;
	p = memmem(body, (size_t)(end - body), "=>", 2);
	line->kind = LINE_INSN;
	if (!p && is_sample(body, end))
		line->kind = LINE_SAMPLE;
	else if (!p)
		return last_hex(body, &end, &line->from);
	if (!p)
		return true;
	if (!last_hex(p + 2, &end, &line->to) || !last_hex(body, &p, &line->from))
		return false;
	perf_branch(line, body, p);
	return true;
}

/* The number after a word; -1 without the word */
static int number_behind(const struct line *line, const char *word)
{
	const char *p = memmem(line->text, line->len, word, strlen(word));

	return p ? atoi(p + strlen(word)) : -1;
}

/* "instruction trace error type 1 time T cpu N pid N tid N ip A code N: WORDS" */
static void parse_perf_error(struct line *line)
{
	line->cpu = number_behind(line, " cpu ");
	line->tid = number_behind(line, " tid ");
	line->kind = LINE_LOSS;
	if (has(line, "both copies of the kernel fit"))
		line->kind = LINE_DOUBT;
	if (number_behind(line, " code ") != PERF_ERROR_LOST)
		return;
	line->kind = LINE_LOST;
	if (has(line, "AUX buffer full"))
		line->kind = LINE_FULL;
	else if (has(line, "the sink was full"))
		line->kind = LINE_SINK;
}

/* Lines after the line of a sample: one for each caller, then one with all branches */
static bool parse_perf_stack(struct line *line)
{
	const char *end = line->text + line->len;

	if (line->text[0] == '\t') {
		line->kind = LINE_FRAME;
		return last_hex(line->text + 1, &end, &line->from);
	}
	line->kind = LINE_LAST;
	return line->len > 3 && !memcmp(line->text, " 0x", 3);
}

/* Returns 1 if the line was parsed, 0 if it is to be ignored, -1 if it is invalid */
static int parse_perf(struct line *line)
{
	const char *p = line->text;
	size_t n = line->len;

	if (n && parse_perf_stack(line))
		return 1;
	while (n && *p == ' ')
		p++, n--;
	if (!n || *p == '#')
		return 0;
	if (*p == 'i' && n > 22 && !memcmp(p, "instruction trace error", 23)) {
		parse_perf_error(line);
		return 1;
	}
	if (parse_perf_sample(line))
		return 1;
	return has(line, "PERF_RECORD_") ? 0 : -1;
}

/* ----------------------------------------------------------- ntrace decode */

static uint32_t type_named(const char *p, size_t len)
{
	for (unsigned int x = X_COND; x < X_MAX; x++)
		if (strlen(xfer_names[x]) == len && !memcmp(xfer_names[x], p, len))
			return x == X_TRAP ? 1u << X_TRAP | 1u << X_EXCEPTION | 1u << X_INTERRUPT
					   : 1u << x;
	return 0;
}

static int parse_ntrace(struct line *line)
{
	const char *p = line->text, *end = p + line->len;

	line->kind = LINE_LOSS;
	if (!line->len)
		return 0;
	/* other comments do not describe control flow */
	if (*p == '#')
		return has(line, "# loss ") || has(line, "# note ");
	line->kind = LINE_INSN;
	p = get_hex(p, end, &line->from);
	if (!p)
		return -1;
	if (p == end)
		return 1;
	line->kind = LINE_BRANCH;
	if (*p != ' ' || !(p = get_hex(p + 1, end, &line->to)))
		return -1;
	if (p == end)
		return 1;
	if (*p++ != ' ')
		return -1;
	if (end - p == 3 && !memcmp(p, "not", 3))
		return 0;
	line->types = type_named(p, (size_t)(end - p));
	return line->types ? 1 : -1;
}

/* ------------------------------------------------------------------- input */

struct lines *lines_open(int fd, enum line_format format)
{
	struct lines *l = calloc(1, sizeof(*l));

	if (!l || !(l->buf = malloc(BUF_SIZE)))
		die("out of memory");
	l->fd = fd;
	l->format = format;
	return l;
}

void lines_close(struct lines *l)
{
	free(l->buf);
	free(l);
}

static void refill(struct lines *l)
{
	ssize_t n;

	l->len -= l->at;
	memmove(l->buf, l->buf + l->at, l->len);
	l->at = 0;
	if (l->len == BUF_SIZE)
		die("line %llu has no end", (unsigned long long)l->number + 1);
	do {
		n = read(l->fd, l->buf + l->len, BUF_SIZE - l->len);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		die("decoded input: %s", strerror(errno));
	l->len += (size_t)n;
	l->eof = !n;
}

static bool raw_line(struct lines *l, struct line *line)
{
	const char *nl;

	while (!(nl = memchr(l->buf + l->at, '\n', l->len - l->at))) {
		if (l->eof) {
			if (l->at == l->len)
				return false;
			nl = l->buf + l->len;
			break;
		}
		refill(l);
	}
	*line = (struct line) {
		.text = l->buf + l->at, .len = (size_t)(nl - l->buf) - l->at,
		.number = ++l->number, .cpu = -1, .tid = -1, .syscall = -1,
	};
	l->at += line->len + 1;
	if (l->at > l->len)
		l->at = l->len;
	return true;
}

bool lines_next(struct lines *l, struct line *line)
{
	int known;

	while (raw_line(l, line)) {
		known = l->format == FORMAT_PERF ? parse_perf(line) : parse_ntrace(line);
		if (known > 0)
			return true;
		if (known < 0)
			die("decoded line %llu is not understood: %.*s",
			    (unsigned long long)line->number, (int)line->len, line->text);
	}
	return false;
}
