// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints the truth as text, to compare the output of commands with it: a line for each event of a
 * hart's recording, in order.
 *
 *	i PC NEXT BYTES TYPE	retired, and went to NEXT; the type of transfer
 *	t PC NEXT CAUSE TYPE	trapped
 *	b PC TID		recording begins
 *	e PC			recording ends
 *	o TID			another task runs from here on
 *	d, r PC			messages were dropped; trace restarts
 *
 * Numbers are hexadecimal without 0x, TIDs decimal.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "truth.h"

static void print_event(const struct truth_event *ev)
{
	switch (ev->kind) {
	case TRUTH_INSN:
		printf("i %" PRIx64 " %" PRIx64 " %0*x %s\n", ev->pc, ev->next, 2 * ev->len,
		       ev->insn, xfer_names[truth_xfer(ev)]);
		break;
	case TRUTH_TRAP:
		printf("t %" PRIx64 " %" PRIx64 " %" PRIx64 " %s\n", ev->pc, ev->next, ev->value,
		       xfer_names[truth_xfer(ev)]);
		break;
	case TRUTH_BEGIN:
		printf("b %" PRIx64 " %u\n", ev->pc, ev->tid);
		break;
	case TRUTH_END:
		printf("e %" PRIx64 "\n", ev->pc);
		break;
	case TRUTH_OWNER:
		printf("o %u\n", ev->tid);
		break;
	case TRUTH_DROP:
		puts("d");
		break;
	case TRUTH_RESTART:
		printf("r %" PRIx64 "\n", ev->pc);
		break;
	}
}

static void __attribute__((noreturn)) usage(int status)
{
	fputs("usage: truthlist [--segment N] STREAM\n"
	      "Prints the truth stream of one hart, all of it or recording N.\n",
	      status ? stderr : stdout);
	exit(status);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "segment", required_argument, NULL, 's' }, { "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	const struct truth_event *ev;
	const char *segment = NULL;
	struct truth *truth;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c != 's')
			usage(c == 'h' ? 0 : 2);
		segment = optarg;
	}
	if (optind + 1 != argc)
		usage(2);
	truth = truth_open(argv[optind]);
	if (segment && !truth_seek_segment(truth, strtoull(segment, NULL, 0)))
		die("%s: no recording %s", argv[optind], segment);
	for (; (ev = truth_peek(truth, 0)); truth_pop(truth)) {
		if (ev->kind == TRUTH_SEGMENT && segment)
			break;
		print_event(ev);
	}
	truth_close(truth);
	if (fflush(stdout))
		die("cannot write");
	return 0;
}
