// SPDX-License-Identifier: GPL-2.0-only
/*
 * Run steps in child processes: if the decoder crashes, only one recording is affected, and it is
 * reported.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fleet.h"

/*
 * Exit status of a child that failed because of this machine, as on a full disk, not because of its
 * input
 */
#define STATUS_MACHINE	70

struct step {
	struct fleet_item *item;	/* item to decode; or */
	const struct fleet_node *node;	/* sum to make; or */
	const char *format;		/* format of a profile */
	const char *program, *output;
	const char *input;
};

struct worker {
	pid_t pid;		/* 0: none */
	int said;		/* file with its messages */
	struct step step;
};

struct pool {
	struct fleet *f;
	struct worker *worker;
	size_t running;
	const char *what;
	size_t done, all;
};

void fleet_run_progress(const char *what, size_t n, size_t of)
{
	static int terminal = -1;

	if (terminal < 0)
		terminal = isatty(STDERR_FILENO);
	if (!terminal || !of)
		return;
	if (n < of)
		fprintf(stderr, "\r\033[K%s: %zu of %zu", what, n, of);
	else
		fprintf(stderr, "\r\033[K");
}

/* -------------------------------------------------------------- processes --- */

static void make_profile(const struct step *s)
{
	char *argv[] = { "ntrace profile", NULL, NULL, NULL, (char *)s->input, NULL };

	if (asprintf(&argv[1], "--format=%s", s->format) < 0 ||
	    asprintf(&argv[2], "--elf=%s", s->program) < 0 ||
	    asprintf(&argv[3], "--output=%s", s->output) < 0)
		die("%s", nt_strerror(NT_ENOMEM));
	exit(cmd_profile(5, argv));
}

/* The body of a child process. It takes no locks, so a killed child leaves none behind. */
static void __attribute__((noreturn)) work(struct pool *p, const struct step *s, int said,
					   pid_t parent)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(STATUS_MACHINE);
	if (p->f->lock >= 0)
		close(p->f->lock);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
	    dup2(said, STDERR_FILENO) < 0)
		_exit(STATUS_MACHINE);
	die_machine_status = STATUS_MACHINE;
	if (s->item)
		fleet_decode(p->f, s->item);
	else if (s->node)
		fleet_plan_merge(s->node);
	else
		make_profile(s);
	exit(EXIT_WHOLE);
}

static void start(struct pool *p, const struct step *s)
{
	struct worker *w = p->worker;
	pid_t parent = getpid();

	while (w->pid)
		w++;
	*w = (struct worker){ .step = *s, .said = memfd_create("said", MFD_CLOEXEC) };
	if (w->said < 0)
		die("no file in memory: %s", strerror(errno));
	fflush(NULL);
	w->pid = fork();
	if (w->pid < 0)
		die("no process: %s", strerror(errno));
	if (!w->pid)
		work(p, s, w->said, parent);
	p->running++;
}

/* Print all messages of a profile, line by line. */
static void forward(int said)
{
	FILE *text = fdopen(dup(said), "r");
	char *line = NULL, *plain;
	size_t room = 0;
	ssize_t n;

	if (!text)
		die("cannot read what a process said: %s", strerror(errno));
	fleet_run_progress("", 1, 1);
	rewind(text);
	while ((n = getline(&line, &room, text)) > 0) {
		line[strcspn(line, "\n")] = '\0';
		plain = utf8_plain(line + (*line == '\t'));
		fprintf(stderr, "%s%s\n", *line == '\t' ? "\t" : "", plain);
		free(plain);
	}
	free(line);
	fclose(text);
}

/* Get the last message, without our name. */
static void last_words(int said, char *line, size_t room)
{
	char text[4096 + 1], *at;
	off_t end = lseek(said, 0, SEEK_END);
	ssize_t n = pread(said, text, sizeof(text) - 1, end > 4096 ? end - 4096 : 0);

	text[n > 0 ? n : 0] = '\0';
	while (n > 0 && text[n - 1] == '\n')
		text[--n] = '\0';
	at = strrchr(text, '\n');
	at = at ? at + 1 : text;
	if (!strncmp(at, "ntrace: ", 8))
		at += 8;
	n = (ssize_t)strnlen(at, room - 1);
	memcpy(line, at, n);
	line[n] = '\0';
}

static bool ends_with(const char *line, const char *words)
{
	size_t n = strlen(line), len = strlen(words);

	return n >= len && !strcmp(line + n - len, words);
}

/*
 * Did reading fail because of this machine, or this version of ntrace, and not because of the file?
 * The last message ends with an error text of the system or the library. Such a file is tried
 * again.
 */
static bool is_machine(const char *line)
{
	static const int errors[] = {
		EACCES, EAGAIN, EBUSY, EINTR, EIO, EMFILE, ENFILE, ENOMEM, EPERM, EREMOTEIO, ESTALE,
		ETIMEDOUT,
	};
	size_t i;

	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (ends_with(line, strerror(errors[i])))
			return true;
	return ends_with(line, nt_strerror(NT_ENOMEM)) || strstr(line, "was built without") ||
	       ends_with(line, "has changed while it was read");
}

/* A child that dies is the fault of its input, unless it was killed from outside. */
static bool is_garbage(int status)
{
	if (WIFEXITED(status))
		return WEXITSTATUS(status) == EXIT_UNUSABLE;
	switch (WTERMSIG(status)) {
	case SIGSEGV:
	case SIGBUS:
	case SIGABRT:
	case SIGILL:
	case SIGFPE:
		return true;
	}
	return false;
}

static void tell_failure(struct pool *p, const struct worker *w, int status, const char *line)
{
	const struct step *s = &w->step;
	char *what = utf8_plain(s->item ? s->item->path : s->node ? s->node->path : s->output);
	char *words = utf8_plain(line);

	fleet_run_progress("", 1, 1);
	if (WIFSIGNALED(status))
		warn("%s: not made: its process was ended by signal %d", what, WTERMSIG(status));
	else if (s->format)
		warn("%s: not made, as said above", what);
	else
		warn("%s: not made: %s", what, words);
	p->f->failed++;
	free(what);
	free(words);
}

/* The caller prints the path itself. */
static void cut_path(char *line, const char *path)
{
	size_t len = strlen(path);

	if (!strncmp(line, path, len) && !strncmp(line + len, ": ", 2))
		memmove(line, line + len + 2, strlen(line + len + 2) + 1);
}

static void finish_decode(struct pool *p, struct worker *w, int status)
{
	struct fleet_item *item = w->step.item;
	char line[1024];

	last_words(w->said, line, sizeof(line));
	cut_path(line, item->path);
	if (WIFSIGNALED(status) && is_garbage(status))
		snprintf(line, sizeof(line), "the decoder was ended by signal %d",
			 WTERMSIG(status));
	if (is_garbage(status)) {
		fleet_spool_mark(item, WIFEXITED(status) && is_machine(line) ? FLEET_PUT_OFF :
				 FLEET_GARBAGE, line);
		return;
	}
	fleet_spool_read_status(p->f, item);
	if (item->state != FLEET_COUNTED)
		tell_failure(p, w, status, line);
}

static void finish(struct pool *p, struct worker *w, int status)
{
	char line[1024];

	if (w->step.format)
		forward(w->said);
	if (w->step.item) {
		finish_decode(p, w, status);
	} else if (!WIFEXITED(status) || WEXITSTATUS(status) >= EXIT_UNUSABLE) {
		last_words(w->said, line, sizeof(line));
		tell_failure(p, w, status, line);
	}
	close(w->said);
	w->pid = 0;
	p->running--;
	fleet_run_progress(p->what, ++p->done, p->all);
}

static void wait_for_one(struct pool *p)
{
	struct worker *w = p->worker;
	int status;
	pid_t pid;

	do
		pid = waitpid(-1, &status, 0);
	while (pid < 0 && errno == EINTR);
	if (pid < 0)
		die("cannot wait for a process: %s", strerror(errno));
	while (w < p->worker + p->f->jobs && w->pid != pid)
		w++;
	if (w < p->worker + p->f->jobs)
		finish(p, w, status);
}

static void run_steps(struct fleet *f, const char *what, const struct step *step, size_t nr)
{
	struct pool p = { .f = f, .what = what, .all = nr };
	size_t i;

	p.worker = calloc(f->jobs, sizeof(*p.worker));
	if (!p.worker)
		die("%s", nt_strerror(NT_ENOMEM));
	for (i = 0; i < nr; i++) {
		while (p.running == f->jobs)
			wait_for_one(&p);
		start(&p, &step[i]);
	}
	while (p.running)
		wait_for_one(&p);
	free(p.worker);
}

/* ----------------------------------------------------------------- stages --- */

static void run_decode(struct fleet *f, const struct fleet_share *share)
{
	struct step *step = calloc(f->nr_items + 1, sizeof(*step));
	size_t i, n = 0;

	if (!step)
		die("%s", nt_strerror(NT_ENOMEM));
	for (i = share->index; i < f->nr_items; i += share->of)
		if (f->item[i].state == FLEET_WAITING)
			step[n++].item = &f->item[i];
	run_steps(f, "decoding", step, n);
	free(step);
}

static bool is_possible(const struct fleet_node *node)
{
	size_t i;

	for (i = 0; i < node->nr_from; i++)
		if (access(node->from[i], F_OK))
			return false;
	return access(node->path, F_OK);
}

static void run_level(struct fleet *f, const struct fleet_plan *plan,
		      const struct fleet_share *share)
{
	struct step *step = calloc(plan->nr + 1, sizeof(*step));
	size_t i, at = 0, n = 0;

	if (!step)
		die("%s", nt_strerror(NT_ENOMEM));
	for (i = 0; i < plan->nr; i++)
		if (plan->node[i].level == share->stage && at++ % share->of == share->index &&
		    is_possible(&plan->node[i]))
			step[n++].node = &plan->node[i];
	run_steps(f, "merging", step, n);
	free(step);
}

void fleet_run_share(struct fleet *f, const struct fleet_share *share)
{
	struct fleet_plan plan;

	if (!share->stage) {
		run_decode(f, share);
		return;
	}
	fleet_plan_make(f, &plan);
	run_level(f, &plan, share);
	fleet_plan_free(&plan);
}

void fleet_run(struct fleet *f)
{
	struct fleet_share share = { .of = 1 };
	struct fleet_plan plan;

	run_decode(f, &share);
	fleet_plan_make(f, &plan);
	while (!f->failed && share.stage < plan.levels) {
		share.stage++;
		run_level(f, &plan, &share);
	}
	if (f->failed)
		die("%zu steps failed, see above: mend that, and run the command again; finished steps are kept",
		    f->failed);
	f->saturated = fleet_plan_saturated(&plan);
	if (plan.nr)
		fleet_plan_publish(f, &plan);
	fleet_plan_free(&plan);
}

/*
 * Make merged/PROGRAM.FORMAT, which appears when it is complete. A failure does not affect other
 * profiles.
 */
void fleet_run_profile(struct fleet *f, const char *format, const char *program)
{
	char *to = fleet_path(f, "merged/%s.%s", last_part(program), format);
	char *sum = fleet_path(f, "merged/sum.edges");
	struct step step = { .format = format, .program = program, .output = to, .input = sum };

	run_steps(f, "writing profiles", &step, 1);
	free(to);
	free(sum);
}
