// SPDX-License-Identifier: GPL-2.0-only
/*
 * Run the recorder and the decoder as child processes. The recorder has the priority of the
 * command, because the buffers must be emptied in time. The decoder only uses idle CPU time.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect.h"

/* from linux/ioprio.h, which C libraries do not provide */
#define IOPRIO_WHO_PROCESS	1
#define IOPRIO_CLASS_IDLE	(3 << 13)

static int status_of(int status, const char *what)
{
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	warn("%s was ended by signal %d, %s", what, WTERMSIG(status), strsignal(WTERMSIG(status)));
	return EXIT_UNUSABLE;
}

/* Returns 0 in the child, which is killed when its parent ends. */
static pid_t begin(void)
{
	pid_t parent = getpid(), pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		die("no process: %s", strerror(errno));
	if (!pid && (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent))
		_exit(EXIT_UNUSABLE);
	return pid;
}

/* ---------------------------------------------------------------- recording --- */

static uint64_t size_of(const char *path)
{
	struct stat st;
	uint64_t size;
	char *inside;

	if (stat(path, &st))
		return 0;
	if (!S_ISDIR(st.st_mode))
		return st.st_size;
	if (asprintf(&inside, "%s/data", path) < 0)
		die("%s", nt_strerror(NT_ENOMEM));
	size = stat(inside, &st) ? 0 : st.st_size;
	free(inside);
	return size;
}

/* End a recording that becomes too large, as if its time was over. */
static int watch(const struct collect *c, pid_t pid, const char *to)
{
	const struct timespec soon = { .tv_nsec = 100 * 1000 * 1000 };
	bool told = false;
	int status;
	pid_t got;

	while (!(got = waitpid(pid, &status, WNOHANG))) {
		if (!told && size_of(to) > c->largest) {
			warn("the recording has %" PRIu64 " bytes: ended (--largest)", size_of(to));
			told = !kill(pid, SIGTERM);
		}
		nanosleep(&soon, NULL);
	}
	if (got < 0)
		die("cannot wait for the recorder: %s", strerror(errno));
	return status_of(status, "the recorder");
}

int collect_run_record(const struct collect *c, const char *to)
{
	char *argv[10] = { "ntrace record", "-a" }, *duration;
	int argc = 2;
	pid_t pid;

	if (asprintf(&duration, "--duration=%s", c->duration) < 0)
		die("%s", nt_strerror(NT_ENOMEM));
	argv[argc++] = duration;
	if (c->event) {
		argv[argc++] = "-e";
		argv[argc++] = (char *)c->event;
	}
	if (c->kernel)
		argv[argc++] = "--kcore";
	argv[argc++] = "-o";
	argv[argc++] = (char *)to;
	pid = begin();
	if (!pid)
		exit(cmd_record(argc, argv));
	free(duration);
	return watch(c, pid, to);
}

/* ----------------------------------------------------------------- counting --- */

static void become_idle(const struct collect *c)
{
	/* SIGXCPU comes first, and is distinct from a SIGKILL by somebody else */
	const struct rlimit limit = { c->cpu, c->cpu + 1 };
	const struct sched_param none = { 0 };

	if (sched_setscheduler(0, SCHED_IDLE, &none) ||
	    syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_CLASS_IDLE) ||
	    setrlimit(RLIMIT_CPU, &limit))
		die("cannot give way to others: %s", strerror(errno));
}

int collect_run_count(const struct collect *c, const char *from, const char *to)
{
	char *argv[10] = { "ntrace profile", "--format=edges", "-o", (char *)to };
	int argc = 4, status;
	pid_t pid;

	if (c->kernel)
		argv[argc++] = "--kernel";
	if (c->others)
		argv[argc++] = "--others";
	argv[argc++] = (char *)from;
	pid = begin();
	if (!pid) {
		become_idle(c);
		exit(cmd_profile(argc, argv));
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			die("cannot wait for the decoder: %s", strerror(errno));
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
		warn("the recording was not counted in %u s of processor time (--cpu)", c->cpu);
	return status_of(status, "the decoder");
}
