// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace: RISC-V N-Trace on the command line
 */
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"

static const struct command commands[] = {
	{ "record", cmd_record, "record a program, tasks or CPUs, without perf" },
#ifndef NTRACE_RECORDER
	{ "dump", cmd_dump, "print messages" },
	{ "decode", cmd_decode, "print what was executed" },
	{ "encode", cmd_encode, "make a trace of a list of addresses" },
	{ "stat", cmd_stat, "count messages, bytes, instructions and losses" },
	{ "script", cmd_script, "print what a perf.data has trace of, without perf" },
	{ "profile", cmd_profile, "count what was executed, for compilers" },
	{ "merge", cmd_merge, "merge counts of many recordings" },
	{ "fleet", cmd_fleet, "count and merge what many hosts have sent" },
	{ "collect", cmd_collect, "record for a while, within a budget, and send counts" },
	{ "calls", cmd_calls, "what the calls of each function took" },
	{ "coverage", cmd_coverage, "count how often lines of the source were executed" },
	{ "timeline", cmd_timeline, "who called what when, for Perfetto" },
	{ "gdbserver", cmd_gdbserver, "serve a recording to GDB, forwards and backwards" },
	{ "tv", cmd_tv, "tandem-verification traces: print, count, verify" },
#endif
};

#define NR_COMMANDS	(sizeof(commands) / sizeof(commands[0]))

void warn(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("ntrace: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

int die_machine_status = EXIT_UNUSABLE;
_Thread_local jmp_buf *die_instead;

static void say_last(const char *fmt, va_list ap)
{
	if (die_instead)
		longjmp(*die_instead, 1);
	fflush(stdout);
	progress_end();
	fputs("ntrace: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_last(fmt, ap);
	va_end(ap);
	exit(EXIT_UNUSABLE);
}

void die_machine(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_last(fmt, ap);
	va_end(ap);
	exit(die_machine_status);
}

static void version(void)
{
#ifdef NTRACE_RECORDER
	puts("ntrace " NTRACE_VERSION ", which records and does nothing else");
#else
	printf("ntrace " NTRACE_VERSION "\ndisassembler: %s\n", lines_disassembler());
#endif
}

static void __attribute__((noreturn)) unknown(const char *name)
{
	const char *words[NR_COMMANDS + 1] = { NULL };
	const char *hint;
	size_t i;

	for (i = 0; i < NR_COMMANDS; i++)
		words[i] = commands[i].name;
	hint = nearest_word(name, words);
	if (hint)
		die("unknown command `%s'; did you mean `%s'?", name, hint);
	die("unknown command `%s'; `ntrace --help' lists them", name);
}

static void usage(FILE *to)
{
	size_t i;

	fputs("Usage: ntrace COMMAND [OPTION...] ...\n\n", to);
	for (i = 0; i < NR_COMMANDS; i++)
		fprintf(to, "  %-9s %s\n", commands[i].name, commands[i].help);
	fputs("\n`ntrace COMMAND --help' tells about a command, `ntrace --version' what this is.\n"
	      "Exit status: 0 decoded whole, 1 decoded with losses, 2 unusable input or arguments.\n",
	      to);
}

/* For atexit(): flush stdout, including the output of argp, and check for errors. */
static void close_stdout(void)
{
	if (!out_whole())
		_exit(EXIT_UNUSABLE);
}

/* A link named ntrace-fleet stands for `ntrace fleet'. */
static char **insert_fleet(int *argc, char **argv)
{
	char **args;

	if (strcmp(last_part(argv[0]), "ntrace-fleet"))
		return argv;
	args = calloc(*argc + 2, sizeof(*args));
	if (!args)
		die("%s", nt_strerror(NT_ENOMEM));
	args[0] = argv[0];
	args[1] = "fleet";
	memcpy(args + 2, argv + 1, *argc * sizeof(*args));
	(*argc)++;
	return args;
}

int main(int argc, char **argv)
{
	size_t i;

	atexit(close_stdout);

	argp_err_exit_status = EXIT_UNUSABLE;
	/* end when the reader closes the pipe, even if our parent ignores SIGPIPE */
	signal(SIGPIPE, SIG_DFL);
	if (argc)
		argv = insert_fleet(&argc, argv);
	if (argc < 2) {
		usage(stderr);
		return EXIT_UNUSABLE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "help")) {
		usage(stdout);
		return EXIT_WHOLE;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		version();
		return EXIT_WHOLE;
	}
	for (i = 0; i < NR_COMMANDS; i++) {
		char name[32];

		if (strcmp(argv[1], commands[i].name))
			continue;
		/* make argp's messages contain the whole command */
		snprintf(name, sizeof(name), "ntrace %s", argv[1]);
		argv[1] = name;
		return commands[i].run(argc - 1, argv + 1);
	}
	unknown(argv[1]);
}
