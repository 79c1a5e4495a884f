// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace fleet: count and merge the recordings of many hosts
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fleet.h"

#define JOBS_MAX	4096

enum { OPT_ENGINE = 0xc00, OPT_SBATCH, OPT_KERNEL, OPT_OTHERS, OPT_FORMAT, OPT_ELF, OPT_REPORT,
       OPT_TASK };

static const struct argp_option options[] = {
	{ "jobs", 'j', "N", 0,
	  "so many processes at a time (default: one for each CPU); with Slurm, "
	  "so many tasks of a job array (default: 32)", 0 },
	{ "engine", OPT_ENGINE, "local|slurm", 0, "who does the work: this machine (default), or "
	  "Slurm's nodes, which see SPOOL and this program at the same paths", 0 },
	{ "sbatch", OPT_SBATCH, "OPTION", 0, "an option for sbatch, such as its -p (several)", 0 },
	{ "kernel", OPT_KERNEL, NULL, 0, "count of recordings the kernel, too", 0 },
	{ "others", OPT_OTHERS, NULL, 0,
	  "count of recordings programs, too, that are neither root's nor yours", 0 },
	{ "format", OPT_FORMAT, "llvm-profgen|autofdo|gcc|bolt|pprof|folded|callgrind", 0,
	  "of profiles of --elf (default llvm-profgen)", 0 },
	{ "elf", OPT_ELF, "FILE", 0, "a program of which to make merged/NAME.FORMAT (several)", 0 },
	{ "report", OPT_REPORT, NULL, 0, "print the report, and change nothing", 0 },
	{ "task", OPT_TASK, "STAGE.INDEX.OF", 0,
	  "for jobs that --engine=slurm submits: one task's part", 0 },
	{ 0 }
};

struct command_fleet {
	struct fleet fleet;
	struct fleet_share share;
	bool report, slurm, task;
	const char *format;
	const char **program;
	size_t nr_programs;
};

static void parse_task(struct command_fleet *cf, const char *arg)
{
	unsigned int stage, index, of;
	int end = 0;

	if (sscanf(arg, "%4u.%8u.%8u%n", &stage, &index, &of, &end) != 3 || arg[end] || index >= of)
		die("--task: `%s' is not STAGE.INDEX.OF", arg);
	cf->task = true;
	cf->share = (struct fleet_share){ .stage = stage, .index = index, .of = of };
}

static void parse_format(struct command_fleet *cf, const char *arg)
{
	static const char *const formats[] = {
		"llvm-profgen", "autofdo", "gcc", "bolt", "pprof", "folded", "callgrind",
	};
	size_t i;

	for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (!strcmp(arg, formats[i]))
			cf->format = arg;
	if (cf->format != arg)
		die("--format: `%s' is none of llvm-profgen, autofdo, gcc, bolt, pprof, folded, callgrind",
		    arg);
}

static void parse_engine(struct command_fleet *cf, const char *arg)
{
	cf->slurm = !strcmp(arg, "slurm");
	if (!cf->slurm && strcmp(arg, "local"))
		die("--engine: `%s' is none of local, slurm", arg);
}

/* Profiles are named after their programs, so names must be unique. */
static void check_programs(const struct command_fleet *cf)
{
	size_t i, k;

	for (i = 0; i < cf->nr_programs; i++)
		for (k = 0; k < i; k++)
			if (!strcmp(last_part(cf->program[i]), last_part(cf->program[k])))
				die("--elf: %s and %s have the same name, and so would their profiles in merged/: run the command once for each, and move the profile away before the next",
				    cf->program[k], cf->program[i]);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct command_fleet *cf = state->input;

	switch (key) {
	case 'j':
		cf->fleet.jobs = parse_small(arg, "--jobs", JOBS_MAX);
		if (!cf->fleet.jobs)
			die("--jobs: 0 is too few");
		break;
	case OPT_ENGINE:
		parse_engine(cf, arg);
		break;
	case OPT_SBATCH:
		cf->fleet.sbatch = array_room(cf->fleet.sbatch, cf->fleet.nr_sbatch, sizeof(arg));
		cf->fleet.sbatch[cf->fleet.nr_sbatch++] = arg;
		break;
	case OPT_KERNEL:
		cf->fleet.choice.kernel = true;
		break;
	case OPT_OTHERS:
		cf->fleet.choice.others = true;
		break;
	case OPT_FORMAT:
		parse_format(cf, arg);
		break;
	case OPT_ELF:
		cf->program = array_room(cf->program, cf->nr_programs, sizeof(*cf->program));
		cf->program[cf->nr_programs++] = arg;
		break;
	case OPT_REPORT:
		cf->report = true;
		break;
	case OPT_TASK:
		parse_task(cf, arg);
		break;
	case ARGP_KEY_ARG:
		if (cf->fleet.spool)
			argp_error(state, "one spool at a time: %s is a second one", arg);
		cf->fleet.spool = arg;
		break;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no spool given: the folder that hosts send to");
		break;
	case ARGP_KEY_END:
		if (cf->format && !cf->nr_programs)
			argp_error(state, "--format wants a program as --elf");
		if (cf->fleet.nr_sbatch && !cf->slurm)
			argp_error(state, "--sbatch is for --engine=slurm");
		check_programs(cf);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* The number of CPUs that this process may use */
static unsigned int count_cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned int)CPU_COUNT(&set);
}

/* Run one task of a cluster job. The process that submitted the job does the rest. */
static int run_task(struct command_fleet *cf)
{
	if (!cf->fleet.jobs)
		cf->fleet.jobs = 1;
	fleet_spool_open(&cf->fleet, false);
	fleet_spool_read(&cf->fleet);
	fleet_run_share(&cf->fleet, &cf->share);
	return cf->fleet.failed ? EXIT_UNUSABLE : EXIT_WHOLE;
}

static void do_all(struct command_fleet *cf)
{
	struct fleet *f = &cf->fleet;
	size_t i;

	if (!f->jobs)
		f->jobs = cf->slurm ? 32 : count_cpus();
	fleet_spool_open(f, true);
	fleet_spool_read(f);
	if (cf->slurm)
		fleet_slurm(f);
	else
		fleet_spool_clean(f);
	fleet_run(f);
	for (i = 0; f->nr_leaves && i < cf->nr_programs; i++)
		fleet_run_profile(f, cf->format ? cf->format : "llvm-profgen", cf->program[i]);
}

static void only_look(struct fleet *f)
{
	struct fleet_plan plan;

	fleet_spool_open(f, false);
	fleet_spool_read(f);
	fleet_plan_make(f, &plan);
	f->saturated = fleet_plan_saturated(&plan);
	fleet_plan_free(&plan);
}

int cmd_fleet(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "SPOOL",
		.doc = "Count and merge the recordings, or edges, that hosts have put into SPOOL/incoming/HOST/, "
		       "and print a line for each host. The sum is SPOOL/merged/sum.edges. A command "
		       "that was killed continues where it was when it is run again.",
	};
	struct command_fleet cf = { .fleet = { .lock = -1 } };
	bool well;

	parse_arguments(&argp, argc, argv, &cf);
	if (cf.task)
		return run_task(&cf);
	if (cf.report)
		only_look(&cf.fleet);
	else
		do_all(&cf);
	well = fleet_report(&cf.fleet);
	out_done();
	if (!cf.report && !cf.fleet.nr_leaves)
		die("%s: nothing to merge", cf.fleet.spool);
	if (!cf.fleet.nr_items)
		die("%s: nothing has been sent: hosts have a folder each below %s/incoming/",
		    cf.fleet.spool, cf.fleet.spool);
	fleet_spool_free(&cf.fleet);
	free(cf.fleet.sbatch);
	free(cf.program);
	if (cf.fleet.failed)
		return EXIT_UNUSABLE;
	return well ? EXIT_WHOLE : EXIT_LOSSES;
}
