// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks that decoded instructions are a part of the truth, for snapshots and samples, which
 * hold only fragments of a run: takes a list of instructions (perf script --itrace=i1i -F
 * cpu,tid,event,ip) and finds its fragments in the truth, CPU by CPU.
 *
 * A fragment is as long as decoded instructions and truth are equal. The next one is searched
 * after it. Short fragments match anywhere, so their number is limited. The number of errors
 * that the decoder reports is limited, too, by default to 0.
 *
 * With --reported each fragment must end exactly where the decoder reports an error: so all
 * losses are reported.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lines.h"
#include "truth.h"

#define HARTS	64
/* Up to this many instructions may be equal by accident */
#define ACCIDENT	16

struct list {
	uint64_t *pc;
	size_t nr, room;
};

struct hart {
	struct list truth, decoded;
	struct list cuts;	/* positions of errors in decoded */
	unsigned int pieces;
	size_t end;		/* end of the last fragment in the truth */
};

static struct hart harts[HARTS];
static uint64_t errors;

static void add(struct list *list, uint64_t value)
{
	if (list->nr == list->room) {
		list->room = list->room ? 2 * list->room : 1 << 16;
		list->pc = realloc(list->pc, list->room * sizeof(*list->pc));
		if (!list->pc)
			die("no memory");
	}
	list->pc[list->nr++] = value;
}

static size_t *alloc(size_t nr)
{
	size_t *numbers = calloc(nr + 1, sizeof(*numbers));

	if (!numbers)
		die("no memory");
	return numbers;
}

static void read_truth(const char *arg, uint64_t segment)
{
	const struct truth_event *ev;
	struct truth *truth;
	char *spec;
	unsigned long cpu = strtoul(arg, &spec, 10);

	if (cpu >= HARTS || *spec != '=')
		die("--truth %s: not CPU=STREAM", arg);
	truth = truth_open(spec + 1);
	if (truth_seek_segment(truth, segment)) {
		while ((ev = truth_peek(truth, 0)) && ev->kind != TRUTH_SEGMENT) {
			if (ev->kind == TRUTH_INSN)
				add(&harts[cpu].truth, ev->pc);
			truth_pop(truth);
		}
	}
	truth_close(truth);
}

static void read_decoded(void)
{
	struct lines *lines = lines_open(STDIN_FILENO, FORMAT_PERF);
	struct line line;

	while (lines_next(lines, &line)) {
		if (line.kind >= LINE_DOUBT) {
			if (!errors++)
				printf("# line %llu: %.*s\n", (unsigned long long)line.number,
				       (int)line.len, line.text);
			if (line.cpu >= 0 && line.cpu < HARTS)
				add(&harts[line.cpu].cuts, harts[line.cpu].decoded.nr);
			continue;
		}
		if (line.kind != LINE_INSN)
			die("line %llu is no instruction", (unsigned long long)line.number);
		if (line.cpu < 0 || line.cpu >= HARTS)
			die("line %llu is of CPU %d", (unsigned long long)line.number, line.cpu);
		add(&harts[line.cpu].decoded, line.from);
	}
}

static size_t same(const struct hart *h, size_t at, size_t from)
{
	size_t n = 0;

	while (at + n < h->decoded.nr && from + n < h->truth.nr &&
	       h->decoded.pc[at + n] == h->truth.pc[from + n])
		n++;
	return n;
}

/*
 * For each position in @text, compute how many elements equal the beginning of @pattern (Z
 * algorithm). This takes linear time, even for loops. If @own is NULL, the text is the pattern, and
 * position 0 is skipped.
 */
static void match_lengths(const uint64_t *pattern, size_t nr, const uint64_t *text, size_t text_nr,
			  const size_t *own, size_t *length)
{
	size_t begin = 0, end = 0;	/* the match with the highest end */

	for (size_t i = own ? 0 : 1; i < text_nr; i++) {
		size_t n = 0;

		if (i < end)
			n = (own ?: length)[i - begin];
		if (i + n >= end) {
			n = i < end ? end - i : 0;
			while (n < nr && i + n < text_nr && pattern[n] == text[i + n])
				n++;
			begin = i;
			end = i + n;
		}
		length[i] = n;
	}
}

/*
 * Find the next fragment in the truth: the position with the longest match, because in a loop many
 * positions match. Of those with about the same length take the first one, because instructions
 * after a fragment may be equal by accident. Returns the end of the truth if there is none.
 */
static size_t find(const struct hart *h, size_t at, size_t from)
{
	const size_t left = h->decoded.nr - at, rest = h->truth.nr - from;
	const uint64_t *pattern = h->decoded.pc + at, *text = h->truth.pc + from;
	size_t *own = alloc(left), *length = alloc(rest), most = 0, enough, i;

	match_lengths(pattern, left, pattern, left, NULL, own);
	own[0] = left;
	match_lengths(pattern, left, text, rest, own, length);
	for (i = 0; i < rest; i++)
		most = length[i] > most ? length[i] : most;
	enough = most > ACCIDENT ? most - ACCIDENT : most;
	for (i = 0; i < rest && length[i] < enough; i++)
		;
	free(own);
	free(length);
	return most ? from + i : h->truth.nr;
}

/* The last fragment is the longest common suffix. */
static size_t last_piece(const struct hart *h)
{
	size_t n = 0;

	while (n < h->decoded.nr && n < h->truth.nr &&
	       h->decoded.pc[h->decoded.nr - n - 1] == h->truth.pc[h->truth.nr - n - 1])
		n++;
	return n;
}

static bool match(struct hart *h, int cpu, bool last)
{
	size_t at = 0, here, end = h->decoded.nr - (last ? last_piece(h) : 0);

	while (at < end) {
		here = find(h, at, h->end);
		if (here == h->truth.nr) {
			printf("different: CPU %d: decoded instruction %zu of %zu, at %llx, is nowhere in the truth behind instruction %zu of %zu\n",
			       cpu, at, h->decoded.nr, (unsigned long long)h->decoded.pc[at],
			       h->end, h->truth.nr);
			return false;
		}
		h->pieces++;
		h->end = here + same(h, at, here);
		at += h->end - here;
	}
	h->pieces += end < h->decoded.nr;
	if (!last || end < h->decoded.nr || !h->decoded.nr)
		return true;
	printf("different: CPU %d: the last piece ends before the truth does\n", cpu);
	return false;
}

/* Find decoded instructions [at, end) in the truth as one fragment */
static bool match_piece(struct hart *h, size_t at, size_t end)
{
	const uint64_t *from = h->truth.pc + h->end, *here = from;
	size_t left = h->truth.nr - h->end, n = end - at;

	for (;; here++) {
		const size_t rest = left - (size_t)(here - from);
		const uint8_t *found = memmem(here, rest * sizeof(*here), h->decoded.pc + at,
					      n * sizeof(*here));
		size_t offset = found ? (size_t)(found - (const uint8_t *)here) : 0;

		if (!found)
			return false;
		here += offset / sizeof(*here);
		if (offset % sizeof(*here) == 0)
			break;
	}
	h->end += (size_t)(here - from) + n;
	h->pieces++;
	return true;
}

static bool match_reported(struct hart *h, int cpu)
{
	size_t at = 0, end;

	add(&h->cuts, h->decoded.nr);
	for (size_t i = 0; i < h->cuts.nr; i++, at = end) {
		end = h->cuts.pc[i];
		if (end == at || match_piece(h, at, end))
			continue;
		printf("different: CPU %d: decoded instructions %zu to %zu of %zu are not in the truth in one piece behind instruction %zu of %zu\n",
		       cpu, at, end, h->decoded.nr, h->end, h->truth.nr);
		return false;
	}
	return true;
}

static void __attribute__((noreturn)) usage(int status)
{
	fputs("usage: truthpart --segment N --truth CPU=STREAM... [OPTION...] <DECODED\n"
	      "  --pieces N   at most so many in all\n"
	      "  --insns N    at least so many instructions in all\n"
	      "  --errors N   at most so many reports of errors among them (0)\n"
	      "  --reported   a piece ends where an error is reported, and nowhere else\n"
	      "  --last       the last piece of a CPU ends where the truth does\n"
	      "Exit status: 0 all of it is true, 1 different, too little, in too many pieces or with errors, 2 unusable.\n",
	      status ? stderr : stdout);
	exit(status);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "truth", required_argument, NULL, 't' },
		{ "segment", required_argument, NULL, 's' },
		{ "pieces", required_argument, NULL, 'p' },
		{ "insns", required_argument, NULL, 'i' },
		{ "errors", required_argument, NULL, 'e' }, { "reported", no_argument, NULL, 'r' },
		{ "last", no_argument, NULL, 'l' }, { "help", no_argument, NULL, 'h' }, { 0 },
	};
	uint64_t segment = 1, most = UINT64_MAX, least = 1, insns = 0, pieces = 0, allowed = 0,
		 ran = 0;
	bool fits = true, last = false, reported = false;
	const char *truths[HARTS];
	int c, nr = 0;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 't': if (nr < HARTS) truths[nr++] = optarg; break;
		case 's': segment = strtoull(optarg, NULL, 10); break;
		case 'p': most = strtoull(optarg, NULL, 10); break;
		case 'e': allowed = strtoull(optarg, NULL, 10); break;
		case 'i': least = strtoull(optarg, NULL, 10); break;
		case 'l': last = true; break;
		case 'r': reported = true; break;
		default: usage(c == 'h' ? 0 : 2);
		}
	}
	if (!nr || optind != argc)
		usage(2);
	for (int i = 0; i < nr; i++)
		read_truth(truths[i], segment);
	read_decoded();

	for (int cpu = 0; cpu < HARTS && fits; cpu++) {
		struct hart *h = &harts[cpu];

		fits = reported ? match_reported(h, cpu) : match(h, cpu, last);
		insns += h->decoded.nr;
		ran += h->truth.nr;
		pieces += h->pieces;
	}
	if (!fits)
		return 1;
	printf("%s insns=%llu pieces=%llu errors=%llu truth=%llu\n",
	       insns < least ? "too little:" : pieces > most ? "too many pieces:" :
	       errors > allowed ? "errors:" : "part",
	       (unsigned long long)insns, (unsigned long long)pieces, (unsigned long long)errors,
	       (unsigned long long)ran);
	return insns < least || pieces > most || errors > allowed;
}
