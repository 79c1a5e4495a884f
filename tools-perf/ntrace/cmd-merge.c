// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace merge: add up the counts of many recordings
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "edges.h"

enum { OPT_FLATTEN = 0xb00, OPT_SHOW, OPT_WEIGHT, OPT_CAP };

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "default: standard output", 0 },
	{ "flatten", OPT_FLATTEN, NULL, 0,
	  "add the recordings up; else they stay apart, so that one that arrives again counts once",
	  0 },
	{ "weight", OPT_WEIGHT, "[HOST=]N", 0,
	  "what was recorded on HOST, or on any other host, counts N times (with --flatten; several)",
	  0 },
	{ "cap", OPT_CAP, "[HOST=]N", 0,
	  "HOST, or each other host, counts as at most N branches (with --flatten; several)", 0 },
	{ "show", OPT_SHOW, NULL, 0, "print what is in the files, and merge nothing", 0 },
	{ 0 }
};

struct command_merge {
	struct edges_merge merge;
	const char *output;
	bool flatten, show;
	char **files;
	size_t nr_files;
};

/* NULL stands for all other hosts. */
static bool same_host(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* [HOST=]N */
static void add_weight(struct edges_weight **list, size_t *nr, char *arg, const char *option)
{
	char *equals = strrchr(arg, '=');
	struct edges_weight w = { .value = parse_number(equals ? equals + 1 : arg, option) };
	size_t i;

	if (equals) {
		*equals = '\0';
		/* "-" is a host without a name, as in --show */
		w.host = strcmp(arg, "-") ? arg : "";
	}
	for (i = 0; i < *nr; i++)
		if (same_host((*list)[i].host, w.host))
			die("%s: %s is given twice", option,
			    w.host ? w.host : "that of all other hosts");
	*list = array_room(*list, *nr, sizeof(**list));
	(*list)[(*nr)++] = w;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct command_merge *cm = state->input;

	switch (key) {
	case 'o':
		cm->output = arg;
		break;
	case OPT_FLATTEN:
		cm->flatten = true;
		break;
	case OPT_SHOW:
		cm->show = true;
		break;
	case OPT_WEIGHT:
		add_weight(&cm->merge.weight, &cm->merge.nr_weights, arg, "--weight");
		break;
	case OPT_CAP:
		add_weight(&cm->merge.cap, &cm->merge.nr_caps, arg, "--cap");
		break;
	case ARGP_KEY_ARGS:
		cm->files = state->argv + state->next;
		cm->nr_files = state->argc - state->next;
		break;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no file of edges given");
		break;
	case ARGP_KEY_END:
		if (!cm->flatten && (cm->merge.nr_weights || cm->merge.nr_caps))
			argp_error(state, "--weight and --cap are of sums: they want --flatten");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static bool has_host(const struct edges_parts *parts, const char *host)
{
	size_t i, k;

	for (i = 0; i < parts->nr; i++)
		for (k = 0; k < parts->part[i].head.nr_recordings; k++)
			if (!strcmp(parts->part[i].head.recording[k].host, host))
				return true;
	return false;
}

/* A host that is not in the files was most likely mistyped. */
static void check_hosts(const struct command_merge *cm, const struct edges_weight *list, size_t nr,
			const char *option)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (list[i].host && !has_host(&cm->merge.parts, list[i].host))
			warn("%s: `%s' has recorded nothing of this, so that it has no effect: ntrace merge --show prints the hosts",
			     option, list[i].host);
}

static void merge(struct command_merge *cm)
{
	struct edges_writer w;

	edges_write_open(&w, cm->output);
	if (cm->flatten)
		edges_merge_sum(&cm->merge, &w);
	else
		edges_merge_write(&cm->merge, &w);
	edges_write_close(&w);
}

int cmd_merge(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "EDGES...",
		.doc = "Merge counts of transfers, as ntrace profile --format=edges makes them, of any "
		       "number of recordings: the order of files does not matter, and a recording that "
		       "arrives twice counts once.",
	};
	struct command_merge cm = { .output = NULL };
	bool whole;
	size_t i;

	parse_arguments(&argp, argc, argv, &cm);
	for (i = 0; i < cm.nr_files; i++) {
		edges_merge_add(&cm.merge, cm.files[i]);
		progress(i, cm.nr_files);
	}
	progress_end();
	if (!cm.merge.parts.nr)
		die("nothing to merge");
	edges_merge_settle(&cm.merge);
	check_hosts(&cm, cm.merge.weight, cm.merge.nr_weights, "--weight");
	check_hosts(&cm, cm.merge.cap, cm.merge.nr_caps, "--cap");
	if (cm.show)
		edges_show(&cm.merge);
	else
		merge(&cm);
	if (cm.merge.saturated)
		warn("%" PRIu64 " sums are more than a count can be, and are the most that it can: give smaller --weight",
		     cm.merge.saturated);
	whole = !cm.merge.skipped && !cm.merge.saturated;
	edges_merge_free(&cm.merge);
	out_done();
	return whole ? EXIT_WHOLE : EXIT_LOSSES;
}
