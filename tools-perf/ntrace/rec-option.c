// SPDX-License-Identifier: GPL-2.0-only
/*
 * Options that say what to decode of a recording, and where the files are
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rec.h"

enum {
	OPT_SYMFS = 0x500, OPT_BUILDID_DIR, OPT_CPU, OPT_PID, OPT_TID, OPT_TIME,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "What to decode of a perf.data:", 5 },
	{ "cpu", OPT_CPU, "LIST", 0, "these CPUs, as 0,2-3", 5 },
	{ "pid", OPT_PID, "PID", 0, "this process", 5 },
	{ "tid", OPT_TID, "TID", 0, "this thread", 5 },
	{ "time", OPT_TIME, "FROM,TO", 0, "between these times, in seconds as they are printed; either "
	  "may be left out", 5 },
	{ NULL, 0, NULL, 0, "Where the files are that ran:", 6 },
	{ "symfs", OPT_SYMFS, "DIR", 0, "DIR has them, at the paths at which they ran", 6 },
	{ "buildid-dir", OPT_BUILDID_DIR, "DIR", 0, "perf's build-id cache, instead of ~/.debug", 6 },
	{ 0 }
};

static void add_cpus(struct rec_options *o, unsigned int first, unsigned int last)
{
	if (last >= (unsigned int)o->nr_cpus) {
		o->cpu = realloc(o->cpu, last + 1);
		if (!o->cpu)
			die("%s", nt_strerror(NT_ENOMEM));
		memset(o->cpu + o->nr_cpus, 0, last + 1 - o->nr_cpus);
		o->nr_cpus = last + 1;
	}
	while (first <= last)
		o->cpu[first++] = true;
}

static void parse_cpus(struct rec_options *o, const char *list)
{
	unsigned int first, last;
	const char *p = list;
	int n;

	do {
		n = 0;
		if (sscanf(p, "%u-%u%n", &first, &last, &n) != 2) {
			n = 0;
			if (sscanf(p, "%u%n", &first, &n) != 1)
				n = 0;
			last = first;
		}
		p += n;
		if (!n || *list < '0' || *list > '9' || last < first || last > 65535 ||
		    (*p && *p != ','))
			die("--cpu: `%s' is no list of CPUs such as 0,2-3", list);
		add_cpus(o, first, last);
	} while (*p++ == ',');
}

/* Seconds, with at most nine digits behind a dot: *p goes behind them. */
static bool parse_time(const char **p, uint64_t *ns)
{
	uint64_t unit = 100000000;
	char *end;

	if (**p < '0' || **p > '9')
		return false;
	errno = 0;
	*ns = strtoull(*p, &end, 10);
	if (errno || *ns > UINT64_MAX / 1000000000 - 1)
		return false;
	*ns *= 1000000000;
	if (*end == '.')
		for (end++; *end >= '0' && *end <= '9' && unit; end++, unit /= 10)
			*ns += unit * (*end - '0');
	*p = end;
	return true;
}

static void parse_times(struct rec_options *o, const char *text)
{
	const char *p = text;
	bool from = parse_time(&p, &o->from), comma = *p == ',', to = false;

	if (comma) {
		p++;
		to = parse_time(&p, &o->to);
	}
	if (*p || !comma || (!from && !to) || (to && (!o->to || o->to < o->from)))
		die("--time: `%s' is not FROM,TO in seconds such as 12.5,12.501; percentages are perf's",
		    text);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct rec_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		*o = (struct rec_options){ .pid = -1, .tid = -1 };
		break;
	case OPT_SYMFS:
		o->symfs = arg;
		break;
	case OPT_BUILDID_DIR:
		o->buildid_dir = arg;
		break;
	case OPT_CPU:
		parse_cpus(o, arg);
		break;
	case OPT_PID:
		o->pid = (int)parse_small(arg, "--pid", INT32_MAX);
		break;
	case OPT_TID:
		o->tid = (int)parse_small(arg, "--tid", INT32_MAX);
		break;
	case OPT_TIME:
		parse_times(o, arg);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

const struct argp rec_argp = { .options = options, .parser = parse };

void rec_refuse_input(const struct input *in)
{
	if (in->images)
		die("%s: is a perf.data, which tells what ran; --symfs and --buildid-dir tell where the files are",
		    in->file);
	if (input_has_parameters(in))
		die("%s: is a perf.data, which tells how its trace was made: parameters are for raw traces",
		    in->file);
}

void rec_options_free(struct rec_options *o)
{
	free(o->cpu);
}

void rec_refuse_options(const struct rec_options *o)
{
	const char *given = o->cpu ? "cpu" : o->pid >= 0 ? "pid" : o->tid >= 0 ? "tid" :
			    o->from || o->to ? "time" : o->symfs ? "symfs" : o->buildid_dir ? "buildid-dir" : NULL;

	if (given)
		die("--%s is for a perf.data; a raw trace does not tell", given);
}

static error_t parse_either(int key, char *arg, struct argp_state *state)
{
	void **inputs = state->input;

	(void)arg;
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = inputs[0];
	state->child_inputs[1] = inputs[1];
	return 0;
}

bool rec_parse_either(const char *doc, int argc, char **argv, struct input *in,
		      struct rec_options *o)
{
	static const struct argp_child children[] = {
		{ &input_argp, 0, NULL, 0 }, { &rec_argp, 0, NULL, 0 }, { 0 }
	};
	const struct argp argp = {
		.parser = parse_either, .args_doc = "FILE", .doc = doc, .children = children,
	};
	void *inputs[] = { in, o };

	parse_arguments(&argp, argc, argv, inputs);
	if (rec_is_data(in->file)) {
		rec_refuse_input(in);
		return true;
	}
	rec_refuse_options(o);
	return false;
}
