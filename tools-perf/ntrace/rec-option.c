// SPDX-License-Identifier: GPL-2.0-only
/*
 * Options that say what to decode of a recording, and where the files are
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "rec.h"

#define MEMORY_MIN	(16ull << 20)
#define CPU_MAX		65535ul

enum {
	OPT_SYMFS = 0x500, OPT_BUILDID_DIR, OPT_CPU, OPT_PID, OPT_TID, OPT_COMM,
	OPT_TIME, OPT_MEMORY, OPT_ONE_BY_ONE,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "What to decode of a perf.data:", 5 },
	{ "cpu", OPT_CPU, "LIST", 0, "these CPUs, as 0,2-3", 5 },
	{ "pid", OPT_PID, "LIST", 0, "these processes, as 100,102", 5 },
	{ "tid", OPT_TID, "LIST", 0, "these threads", 5 },
	{ "comm", OPT_COMM, "LIST", 0, "what has one of these names, as sh,ls", 5 },
	{ "comms", 0, NULL, OPTION_ALIAS, NULL, 5 },
	{ "time", OPT_TIME, "FROM,TO", 0,
	  "between these times, in seconds as they are printed; either "
	  "may be left out. Several with spaces between, which are one where they overlap; or parts "
	  "of the recording, as 10%-20%,50%-60%, "
	  "or 10%/2, the second tenth. Commands may differ by what is at the borders", 5 },
	{ NULL, 0, NULL, 0, "Where the files are that ran:", 6 },
	{ "symfs", OPT_SYMFS, "DIR", 0, "DIR has them, at the paths at which they ran", 6 },
	{ "buildid-dir", OPT_BUILDID_DIR, "DIR", 0,
	  "perf's build-id cache, instead of ~/.debug", 6 },
	{ NULL, 0, NULL, 0, "What it may take:", 7 },
	{ "memory", OPT_MEMORY, "SIZE", 0,
	  "at most SIZE of memory, as 512M or 4G: decoded code is forgotten "
	  "in time, at half of SIZE, and decoded again; with too little for the rest the command ends",
	  7 },
	{ "one-by-one", OPT_ONE_BY_ONE, NULL, 0,
	  "decode every branch by itself, instead of counting most of them: to check that the result "
	  "is the same", 7 },
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

/* Parse a number, and move *p past it. Returns more than CPU_MAX if there is none. */
static unsigned long parse_cpu(const char **p)
{
	unsigned long cpu;
	char *end;

	if (**p < '0' || **p > '9')
		return CPU_MAX + 1;
	cpu = strtoul(*p, &end, 10);
	*p = end;
	return cpu;
}

static void parse_cpus(struct rec_options *o, const char *list)
{
	const char *p = list;
	unsigned long first, last;

	do {
		last = first = parse_cpu(&p);
		if (*p == '-' && p++)
			last = parse_cpu(&p);
		if (last < first || last > CPU_MAX || (*p && *p != ','))
			die("--cpu: `%s' is no list of CPUs such as 0,2-3", list);
		add_cpus(o, first, last);
	} while (*p++ == ',');
}

/* Parse seconds, with at most nine decimal places, and move *p past them. */
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

/* Parse FROM,TO, and move *p past it. Either may be missing. */
static bool parse_interval(const char **p, struct nt_session_interval *in)
{
	bool from = parse_time(p, &in->from), to;

	if (*(*p)++ != ',')
		return false;
	to = parse_time(p, &in->to);
	if (!from)
		in->from = 0;
	if (!to)
		in->to = UINT64_MAX;
	return (from || to) && in->from <= in->to;
}

/* Parse a percentage, with at most six decimal places, and move *p past the sign. */
static bool parse_percent(const char **p, uint64_t *part)
{
	uint64_t unit = REC_PARTS / 1000;
	char *end;

	if (**p < '0' || **p > '9')
		return false;
	errno = 0;
	*part = strtoull(*p, &end, 10);
	if (errno || *part > 100)
		return false;
	*part *= REC_PARTS / 100;
	if (*end == '.')
		for (end++; *end >= '0' && *end <= '9' && unit; end++, unit /= 10)
			*part += unit * (*end - '0');
	*p = end + 1;
	return *end == '%' && *part <= REC_PARTS;
}

/* Parse A%-B%, A%/N (the Nth of such parts) or A%, and move *p past it. */
static bool parse_part(const char **p, struct nt_session_interval *in)
{
	unsigned long long nth;
	uint64_t a;
	char *end;

	if (!parse_percent(p, &a))
		return false;
	*in = (struct nt_session_interval){ 0, a };
	if (**p == '-') {
		(*p)++;
		in->from = a;
		return parse_percent(p, &in->to) && in->from <= in->to;
	}
	if (**p != '/')
		return true;
	if ((*p)[1] < '0' || (*p)[1] > '9')
		return false;
	nth = strtoull(*p + 1, &end, 10);
	*p = end;
	if (!nth || !a || nth > REC_PARTS / a)
		return false;
	in->from = (nth - 1) * a;
	in->to = nth * a;
	return true;
}

/* The syntax is that of perf. perf itself rejects percentages if a recording has no samples. */
static void parse_times(struct rec_options *o, const char *text)
{
	bool parts = strchr(text, '%'), ok;
	struct nt_session_interval *more;
	const char *p = text;

	free(o->time);
	o->time = NULL;
	o->nr_times = 0;
	o->parts = parts;
	do {
		more = nt_session_grow(o->time, o->nr_times, sizeof(*more));
		if (!more)
			die("%s", nt_strerror(NT_ENOMEM));
		o->time = more;
		ok = parts ? parse_part(&p, &more[o->nr_times++]) :
			     parse_interval(&p, &more[o->nr_times++]);
	} while (ok && *p++ == (parts ? ',' : ' '));
	if (!ok || p[-1])
		die("--time: `%s' is not FROM,TO in seconds such as 12.5,12.501, nor parts such as 10%%-20%% or 10%%/2",
		    text);
}

/* ------------------------------------------------------------------ lists - */

static void grow_list(struct rec_list *list, size_t size, void *array)
{
	void *more = nt_session_grow(*(void **)array, list->nr, size);

	if (!more)
		die("%s", nt_strerror(NT_ENOMEM));
	*(void **)array = more;
}

static void parse_ids(struct rec_list *list, const char *option, const char *text)
{
	const char *p = text;
	char *end;
	long id;

	do {
		errno = 0;
		id = strtol(p, &end, 10);
		if (errno || *p < '0' || *p > '9' || id > INT32_MAX || (*end && *end != ','))
			die("%s: `%s' is no list of numbers such as 100,102", option, text);
		grow_list(list, sizeof(*list->id), &list->id);
		list->id[list->nr++] = (int)id;
		p = end;
	} while (*p++);
}

static void parse_names(struct rec_list *list, const char *text)
{
	const char *p = text, *end;

	do {
		end = strchrnul(p, ',');
		grow_list(list, sizeof(*list->name), &list->name);
		list->name[list->nr] = strndup(p, end - p);
		if (!list->name[list->nr++])
			die("%s", nt_strerror(NT_ENOMEM));
		p = end;
	} while (*p++);
}

bool rec_list_has_id(const struct rec_list *list, int id)
{
	size_t i;

	for (i = 0; i < list->nr; i++)
		if (list->id[i] == id)
			return true;
	return !list->nr;
}

bool rec_list_has_name(const struct rec_list *list, const char *name)
{
	size_t i;

	for (i = 0; i < list->nr; i++)
		if (name && !strcmp(list->name[i], name))
			return true;
	return !list->nr;
}

static void free_list(struct rec_list *list)
{
	size_t i;

	for (i = 0; list->name && i < list->nr; i++)
		free(list->name[i]);
	free(list->name);
	free(list->id);
}

/*
 * Half of the memory is for decoded code, which can be freed. Tasks, mappings and counts have no
 * limit of their own. The kernel refuses to allocate more, and then the command ends.
 */
static void parse_memory(struct rec_options *o, const char *text)
{
	struct rlimit limit;
	const char *p = text;

	o->memory = arguments_size(&p, 1);
	if (o->memory < MEMORY_MIN || *p)
		die("--memory: `%s' is no size of 16M or more such as 512M or 4G", text);
	if (getrlimit(RLIMIT_DATA, &limit))
		die("--memory: %s", strerror(errno));
	limit.rlim_cur = o->memory < limit.rlim_max ? o->memory : limit.rlim_max;
	if (setrlimit(RLIMIT_DATA, &limit))
		die("--memory: %s", strerror(errno));
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct rec_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		*o = (struct rec_options){ 0 };
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
		parse_ids(&o->pids, "--pid", arg);
		break;
	case OPT_TID:
		parse_ids(&o->tids, "--tid", arg);
		break;
	case OPT_COMM:
		parse_names(&o->comms, arg);
		break;
	case OPT_TIME:
		parse_times(o, arg);
		break;
	case OPT_ONE_BY_ONE:
		o->one_by_one = true;
		break;
	case OPT_MEMORY:
		parse_memory(o, arg);
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
	free(o->time);
	free_list(&o->pids);
	free_list(&o->tids);
	free_list(&o->comms);
}

void rec_refuse_options(const struct rec_options *o, const char *what)
{
	const char *given = o->cpu ? "cpu" : o->pids.nr ? "pid" : o->tids.nr ? "tid" :
			    o->comms.nr ? "comm" : o->nr_times ? "time" : o->symfs ? "symfs" :
			    o->buildid_dir ? "buildid-dir" : o->memory ? "memory" :
			    o->one_by_one ? "one-by-one" : NULL;

	if (given)
		die("--%s is for a perf.data; %s does not tell", given, what);
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
	rec_refuse_options(o, "a raw trace");
	return false;
}
