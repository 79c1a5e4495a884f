// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace record: record trace without perf
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture.h"
#include "cmd.h"

enum { OPT_KCORE = 0xa00, OPT_FILTER, OPT_DURATION, OPT_SWITCH, OPT_SWITCH_FILES,
       OPT_SAMPLE };

#define DURATION_MAX	1000000000ULL	/* in seconds: in ns, it fits into 64 bits */
#define SAMPLE_MAX	(60 << 10)

static const struct argp_option options[] = {
	{ "event", 'e', "ntrace/TERMS/MODIFIERS", 0,
	  "what the encoders are to do, and what is traced, "
	  "as perf-riscv-ntrace(1) has it: ntrace//u is user space alone (default; with --kcore "
	  "ntrace//, which is all), ntrace/@SINK/ chooses a sink", 0 },
	{ "output", 'o', "FILE", 0, "instead of perf.data", 0 },
	{ "all-cpus", 'a', NULL, 0, "whoever runs, on all CPUs", 0 },
	{ "cpu", 'C', "LIST", 0, "whoever runs, on these CPUs, as 0,2-3", 0 },
	{ "pid", 'p', "LIST", 0, "these processes, and what they start", 0 },
	{ "tid", 't', "LIST", 0, "these threads, and what they start", 0 },
	{ "mmap-pages", 'm', "RECORDS,TRACE", 0,
	  "size of the buffers of each CPU, either may be left "
	  "out: pages, or with B, K, M or G; without privileges 256K,128K, else 512K,4M", 0 },
	{ "filter", OPT_FILTER, "FILTER", 0, "only these addresses, as the kernel has it: "
	  "`filter OFFSET/SIZE@FILE', `start OFFSET@FILE,stop OFFSET@FILE'", 0 },
	{ "duration", OPT_DURATION, "SECONDS", 0, "end the recording then, and COMMAND", 0 },
	{ "kcore", OPT_KCORE, NULL, 0, "copy the kernel's text, without which its trace cannot be "
	  "decoded: FILE becomes a folder", 0 },
	{ "snapshot", 'S', "[e][SIZE]", OPTION_ARG_OPTIONAL,
	  "record nothing but the last SIZE bytes "
	  "of trace, at each SIGUSR2; with e at the end, too", 0 },
	{ "aux-sample", OPT_SAMPLE, "SIZE", OPTION_ARG_OPTIONAL,
	  "record samples of the clock, each "
	  "with the last SIZE bytes of trace (4K), and no other trace", 0 },
	{ "freq", 'F', "HZ", 0, "so many of those samples a second (1000)", 0 },
	{ "switch-output", OPT_SWITCH, "WHEN", OPTION_ARG_OPTIONAL, "begin a new file at "
	  "each SIGUSR2 (default), with SIZE bytes (B, K, M or G) or after TIME (s, m, h or d); a "
	  "complete file is FILE.TIMESTAMP", 0 },
	{ "switch-max-files", OPT_SWITCH_FILES, "N", 0, "keep the last N of those files", 0 },
	{ 0 }
};

static void parse_list(struct capture_list *list, const char *option, const char *arg)
{
	if (!capture_list_parse(list, arg))
		die("%s: `%s' is no list of numbers such as 0,2-3", option, arg);
	/* for the kernel, task 0 is the calling task */
	if (strcmp(option, "-C") && capture_list_has(list, 0))
		die("%s: there is no task 0: whoever idles is traced with its CPU (-C)", option);
}

/* A number of pages, or of bytes with a letter */
static uint64_t parse_size(const char **p)
{
	return arguments_size(p, sysconf(_SC_PAGESIZE));
}

static void parse_sizes(struct capture_options *o, const char *arg)
{
	const char *p = arg;
	bool ok = true;

	if (*p != ',')
		ok = (o->data_size = parse_size(&p));
	if (ok && *p == ',') {
		p++;
		ok = (o->aux_size = parse_size(&p));
	}
	if (!ok || *p)
		die("-m: `%s' is not RECORDS,TRACE such as 512K,4M or ,4M", arg);
}

static uint64_t parse_duration(const char *arg)
{
	char *end;
	double val = strtod(arg, &end);

	if (end == arg || *end || !isfinite(val) || val < 1e-6 || val > DURATION_MAX)
		die("--duration: `%s' is no number of seconds such as 10 or 0.5", arg);
	return (uint64_t)(val * 1e9);
}

static void parse_snapshot(struct capture_options *o, const char *arg)
{
	o->snapshots = true;
	if (!arg)
		return;
	if (*arg == 'e') {
		o->snapshot_at_end = true;
		arg++;
	}
	if (!*arg)
		return;
	/* as in perf, a number without a letter is in bytes here */
	o->snapshot_size = arguments_size(&arg, 1);
	if (!o->snapshot_size || *arg)
		die("-S: a snapshot has a number of bytes such as 65536 or 64K");
}

/* As in perf: whole words, and the record with the sample must be below 64 KiB. */
static uint64_t parse_sample(const char *arg)
{
	const char *p = arg;
	uint64_t size = arguments_size(&p, 1);

	if (!size || *p || size % 8 || size > SAMPLE_MAX)
		die("--aux-sample: `%s' is no size such as 4K: a multiple of 8 bytes, at most 60K",
		    arg);
	return size;
}

static unsigned long parse_count(const char *option, const char *arg)
{
	unsigned long val;
	char *end;

	errno = 0;
	val = strtoul(arg, &end, 10);
	if (*arg < '0' || *arg > '9' || *end || errno || !val || val > 1 << 20)
		die("%s: `%s' is no number from 1 to %d", option, arg, 1 << 20);
	return val;
}

static void parse_switch(struct capture_options *o, const char *arg)
{
	static const char units[] = "smhd";
	static const unsigned int seconds[] = { 1, 60, 3600, 86400 };
	unsigned long long val = 0;
	const char *unit, *p = arg;
	char *end = NULL;

	o->switches = true;
	o->switch_by_signal = !arg || !strcmp(arg, "signal");
	if (o->switch_by_signal)
		return;
	if (*arg >= '0' && *arg <= '9')
		val = strtoull(arg, &end, 10);
	unit = val && *end && !end[1] ? strchr(units, *end) : NULL;
	if (unit && val <= DURATION_MAX / seconds[unit - units])
		o->switch_time = val * seconds[unit - units] * 1000000000;
	else if (!unit)
		o->switch_size = arguments_size(&p, 0);
	if (!o->switch_time && (!o->switch_size || *p))
		die("--switch-output: `%s' is none of signal, a size such as 100M and a time such as 30s",
		    arg);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct capture_options *o = state->input;
	size_t len;

	switch (key) {
	case 'e':
		if (o->event)
			die("-e: there may be one event");
		o->event = arg;
		break;
	case 'o':
		/* shells complete the name of a folder with a slash */
		for (len = strlen(arg); len > 1 && arg[len - 1] == '/'; len--)
			arg[len - 1] = '\0';
		o->output = arg;
		break;
	case 'a':
		o->all = true;
		break;
	case 'C':
		parse_list(&o->cpus, "-C", arg);
		break;
	case 'p':
		parse_list(&o->pids, "-p", arg);
		break;
	case 't':
		parse_list(&o->tids, "-t", arg);
		break;
	case 'm':
		parse_sizes(o, arg);
		break;
	case OPT_FILTER:
		o->filter = arg;
		break;
	case OPT_DURATION:
		o->duration = parse_duration(arg);
		break;
	case OPT_KCORE:
		o->kcore = true;
		break;
	case 'S':
		parse_snapshot(o, arg);
		break;
	case OPT_SAMPLE:
		o->sample_size = parse_sample(arg ? arg : "4K");
		break;
	case 'F':
		o->sample_freq = parse_count("-F", arg);
		break;
	case OPT_SWITCH:
		parse_switch(o, arg);
		break;
	case OPT_SWITCH_FILES:
		o->switch_files = parse_count("--switch-max-files", arg);
		break;
	case ARGP_KEY_ARGS:
		/* point into the argv of main(), because the copy of mark_command() is freed */
		o->command = o->argv + o->argc - (state->argc - state->next);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* As in perf: without a command, recording CPUs or tasks ends with a signal. */
static void check(struct capture_options *o)
{
	bool tasks = o->pids.nr || o->tids.nr, cpus = o->all || o->cpus.nr;

	if (o->all && o->cpus.nr)
		die("-a is all CPUs, -C some: choose one");
	if (tasks && cpus)
		die("-a and -C trace whoever runs, -p and -t tasks: choose one");
	if (!tasks && !cpus && !o->command)
		die("nothing to record: ntrace record -- COMMAND, or -p PID, -t TID, -a, -C LIST");
	if (tasks && o->command)
		die("-p and -t trace tasks that are there, so there can be no command: give --duration, or end it with ^C");
	if (o->snapshots && o->sample_size)
		die("-S keeps snapshots, --aux-sample samples of the trace: choose one");
	if (o->sample_freq && !o->sample_size)
		die("-F is for --aux-sample: without that, the trace has every instruction");
	if (o->filter && cpus && strchr(o->filter, '@'))
		die("--filter: addresses of a file are those of tasks that map it, and -a and -C trace whoever runs: name addresses of the kernel, or record tasks");
	if (o->switch_files && !o->switches)
		die("--switch-max-files keeps files that --switch-output makes: give that, too");
	if (!strcmp(o->output, "-"))
		die("-o: a recording is written to a file, not to a pipe");
}

static const struct argp_option *find_short(char key)
{
	const struct argp_option *o;

	for (o = options; o->name; o++)
		if (o->key == key)
			return o;
	return NULL;
}

static const struct argp_option *find_long(const char *name)
{
	const struct argp_option *o;

	for (o = options; o->name; o++)
		if (!strncmp(o->name, name, strlen(name)))
			return o;
	return NULL;
}

/* Is the next argument the value of this option? */
static bool takes_next(const char *arg)
{
	const struct argp_option *o;

	if (arg[1] == '-') {
		o = strchr(arg, '=') ? NULL : find_long(arg + 2);
		return o && o->arg && !(o->flags & OPTION_ARG_OPTIONAL);
	}
	while (*++arg) {
		o = find_short(*arg);
		if (o && o->arg)
			return !(o->flags & OPTION_ARG_OPTIONAL) && !arg[1];
	}
	return false;
}

/* Arguments after the command belong to the command, even if they look like options of ntrace. */
static char **mark_command(int argc, char **argv, int *nr)
{
	char **marked = calloc(argc + 2, sizeof(*marked));
	int i, at = 1;

	if (!marked)
		die("%s", nt_strerror(NT_ENOMEM));
	while (at < argc && argv[at][0] == '-' && argv[at][1] && strcmp(argv[at], "--"))
		at += 1 + takes_next(argv[at]);
	if (at > argc)
		at = argc;
	for (i = 0; i < argc; i++)
		marked[i + (i >= at)] = argv[i];
	marked[at] = "--";
	*nr = argc + 1;
	if (at == argc || !strcmp(argv[at], "--"))
		memcpy(marked, argv, (*nr = argc) * sizeof(*argv));
	marked[*nr] = NULL;
	return marked;
}

int cmd_record(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "[--] [COMMAND [ARGUMENT...]]",
		.doc = "Record trace of COMMAND and of what it starts, of tasks, or of CPUs, into a "
		       "perf.data. Nothing of perf is needed.",
	};
	struct capture c = {
		.o = { .output = "perf.data", .argc = argc, .argv = argv }, .file = { .fd = -1 },
	};

	argv = mark_command(argc, argv, &argc);
	parse_arguments(&argp, argc, argv, &c.o);
	free(argv);
	check(&c.o);
	if (!c.o.event)
		c.o.event = c.o.kcore ? "ntrace//" : "ntrace//u";
	return capture_run(&c);
}
