// SPDX-License-Identifier: GPL-2.0-only
/*
 * Run steps as job arrays of Slurm: one for decoding, and one for each level of sums, each of which
 * waits for the previous one. Only the spool tells whether a step is done, so steps of a dead node
 * are submitted again.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fleet.h"

/* Number of rounds without progress before giving up */
#define ROUNDS_IN_VAIN	3

static const char script[] =
	"#!/bin/sh\n"
	"# written by ntrace fleet --engine=slurm: a task of a job array\n"
	"of=$1\n"
	"stage=$2\n"
	"shift 2\n"
	"exec \"$@\" --task=\"$stage.$SLURM_ARRAY_TASK_ID.$of\"\n";

struct slurm {
	struct fleet *f;
	char name[32];		/* of the jobs; unique to the spool */
	char *script, *log;
	char program[4096];
};

static volatile sig_atomic_t interrupted;

static void interrupt(int sig)
{
	interrupted = sig;
}

/* --------------------------------------------------------------- commands --- */

static void __attribute__((noreturn)) execute(char **argv, int out)
{
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(out, STDOUT_FILENO) < 0)
		_exit(127);
	execvp(argv[0], argv);
	dprintf(STDERR_FILENO, "ntrace: %s: %s: is Slurm installed?\n", argv[0], strerror(errno));
	_exit(127);
}

/* Run a command and read its output, up to room bytes. Returns the exit status. */
static int ask(char **argv, char *text, size_t room)
{
	size_t n = 0;
	int fd[2], status;
	ssize_t got;
	char rest[512];
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC))
		die("no pipe: %s", strerror(errno));
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		die("no process: %s", strerror(errno));
	if (!pid)
		execute(argv, fd[1]);
	close(fd[1]);
	do {
		bool full = n + 1 >= room;

		got = read(fd[0], full ? rest : text + n, full ? sizeof(rest) : room - 1 - n);
		if (got > 0 && !full)
			n += got;
	} while (got > 0 || (got < 0 && errno == EINTR));
	text[n] = '\0';
	close(fd[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void cancel(struct slurm *s)
{
	char *name, text[256];

	if (asprintf(&name, "--name=%s", s->name) < 0)
		die("%s", nt_strerror(NT_ENOMEM));
	ask((char *[]){ "scancel", "--me", name, NULL }, text, sizeof(text));
	free(name);
}

/*
 * Is any job left? must: fail if the controller does not answer; otherwise, assume that one is
 * left.
 */
static bool are_running(struct slurm *s, bool must)
{
	char *name, text[64];
	int status;

	if (asprintf(&name, "--name=%s", s->name) < 0)
		die("%s", nt_strerror(NT_ENOMEM));
	status = ask((char *[]){ "squeue", "--me", "--noheader", "--format=%i", name, NULL }, text,
		     sizeof(text));
	if (status && must)
		die("squeue does not tell what runs: is Slurm there, and are you a user of it?");
	free(name);
	return status || *text;
}

/* ------------------------------------------------------------------- jobs --- */

/*
 * Submit a job array, and return its job ID. before: the ID of the job that has to end first, or ""
 */
static void submit(struct slurm *s, unsigned int stage, size_t tasks, const char *before, char *job,
		   size_t room)
{
	char *argv[64 + 16], of[24], at[24], *array, *name, *output, *after, text[256];
	size_t n = 0, i;

	if (s->f->nr_sbatch > 48)
		die("--sbatch: %zu options are too many: at most 48", s->f->nr_sbatch);
	snprintf(of, sizeof(of), "%zu", tasks);
	snprintf(at, sizeof(at), "%u", stage);
	if (asprintf(&array, "--array=0-%zu", tasks - 1) < 0 ||
	    asprintf(&name, "--job-name=%s", s->name) < 0 ||
	    asprintf(&output, "--output=%s/%%A_%%a", s->log) < 0 ||
	    asprintf(&after, "--dependency=afterany:%s", before) < 0)
		die("%s", nt_strerror(NT_ENOMEM));
	argv[n++] = "sbatch";
	argv[n++] = "--parsable";
	argv[n++] = "--requeue";
	argv[n++] = "--open-mode=append";
	argv[n++] = array;
	argv[n++] = name;
	argv[n++] = output;
	if (*before)
		argv[n++] = after;
	for (i = 0; i < s->f->nr_sbatch; i++)
		argv[n++] = s->f->sbatch[i];
	argv[n++] = s->script;
	argv[n++] = of;
	argv[n++] = at;
	argv[n++] = s->program;
	argv[n++] = "fleet";
	if (s->f->choice.kernel)
		argv[n++] = "--kernel";
	if (s->f->choice.others)
		argv[n++] = "--others";
	argv[n++] = (char *)s->f->spool;
	argv[n] = NULL;
	if (ask(argv, text, sizeof(text)))
		die("sbatch has refused a job, as it said above: see --sbatch for its options");
	n = strspn(text, "0123456789");
	if (!n || n >= room)
		die("sbatch printed `%.60s', not the number of a job", text);
	memcpy(job, text, n);
	job[n] = '\0';
	free(array);
	free(name);
	free(output);
	free(after);
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* ------------------------------------------------------------------ rounds --- */

struct state {
	size_t waiting;		/* number of files to be decoded */
	size_t missing;		/* number of missing sums */
	unsigned int levels;
};

/* Determine what is left to do. The number of sums is known when all files are decoded. */
static struct state look(struct slurm *s)
{
	struct state st = { .waiting = 0 };
	struct fleet_plan plan;
	size_t i;

	fleet_spool_read(s->f);
	for (i = 0; i < s->f->nr_items; i++)
		st.waiting += s->f->item[i].state == FLEET_WAITING;
	fleet_plan_make(s->f, &plan);
	st.levels = plan.levels;
	for (i = 0; i < plan.nr; i++)
		st.missing += access(plan.node[i].path, F_OK) != 0;
	fleet_plan_free(&plan);
	return st;
}

static void submit_all(struct slurm *s, const struct state *st)
{
	size_t steps = s->f->nr_items;
	unsigned int i = 0;
	char job[64] = "";

	if (st->waiting)
		submit(s, 0, least(steps, s->f->jobs), job, job, sizeof(job));
	do {
		steps = fleet_plan_steps(steps);
		submit(s, ++i, least(steps, s->f->jobs), job, job, sizeof(job));
	} while (steps > 1 || i < st->levels);
}

static void show(struct slurm *s, const struct state *st)
{
	if (st->waiting)
		fleet_run_progress("decoding", s->f->nr_items - st->waiting, s->f->nr_items);
	else if (st->missing)
		fleet_run_progress("merging, sums to make", st->missing, st->missing + 1);
}

static void end_if_interrupted(struct slurm *s)
{
	if (!interrupted)
		return;
	cancel(s);
	die("ended by signal %d; its jobs are cancelled", (int)interrupted);
}

/*
 * Wait for jobs of an earlier command that was killed. A node that does not answer may keep them
 * for long.
 */
static void wait_for_old(struct slurm *s)
{
	bool told = false;

	for (cancel(s); are_running(s, true); sleep(1)) {
		if (!told)
			warn("waiting for jobs of an earlier command, which are cancelled, to end: squeue --name=%s",
			     s->name);
		told = true;
		end_if_interrupted(s);
	}
}

/* Wait until everything is done, or until no job is left. */
static struct state wait_for_jobs(struct slurm *s)
{
	struct state st;
	bool running;

	do {
		/* reading a large spool is expensive */
		sleep(1 + s->f->nr_items / 10000);
		end_if_interrupted(s);
		/* before reading the spool, in order not to miss what the last job did */
		running = are_running(s, false);
		st = look(s);
		show(s, &st);
	} while (running && (st.waiting || st.missing));
	fleet_run_progress("", 1, 1);
	return st;
}

static void open_slurm(struct slurm *s, struct fleet *f)
{
	char *real = realpath(f->spool, NULL);
	uint8_t digest[EDGES_SHA256];
	struct edges_sha256 hash;
	ssize_t n = readlink("/proc/self/exe", s->program, sizeof(s->program) - 1);

	if (!real || n < 0)
		die("%s: %s", real ? "/proc/self/exe" : f->spool, strerror(errno));
	s->program[n] = '\0';
	/* jobs run in other folders, so use an absolute path */
	f->spool = real;
	s->f = f;
	edges_sha256_begin(&hash);
	edges_sha256_add(&hash, real, strlen(real));
	edges_sha256_end(&hash, digest);
	snprintf(s->name, sizeof(s->name), "ntrace-fleet-%02x%02x%02x%02x", digest[0], digest[1],
		 digest[2], digest[3]);
	s->script = fleet_path(f, "work/slurm/task");
	s->log = fleet_path(f, "work/slurm");
	fleet_spool_write(s->script, script, sizeof(script) - 1);
}

void fleet_slurm(struct fleet *f)
{
	struct sigaction act = { .sa_handler = interrupt };
	unsigned int vain = 0;
	struct slurm s;
	struct state st, before;

	open_slurm(&s, f);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	wait_for_old(&s);
	fleet_spool_read(f);
	fleet_spool_clean(f);
	st = look(&s);
	while (st.waiting || st.missing) {
		before = st;
		submit_all(&s, &st);
		st = wait_for_jobs(&s);
		vain = st.waiting == before.waiting && st.missing == before.missing ? vain + 1 : 0;
		if (vain == ROUNDS_IN_VAIN)
			die("%d times jobs have ended without having done anything: see what they said in %s",
			    ROUNDS_IN_VAIN, s.log);
	}
	cancel(&s);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	free(s.script);
	free(s.log);
}
