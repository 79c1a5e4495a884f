// SPDX-License-Identifier: GPL-2.0-only
/*
 * The course of a recording: start the command, which waits, and open events; write the existing
 * tasks and mappings; then write the content of the buffers until the recording ends.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture.h"
#include "cmd.h"

/*
 * Write the content of the buffers at least this often, in ms. This limits what is lost if this
 * command is killed.
 */
#define ROUND		500
#define SOON		1

/* ---------------------------------------------------------------- lists -- */

bool capture_list_has(const struct capture_list *list, int id)
{
	size_t i;

	for (i = 0; i < list->nr; i++)
		if (list->id[i] == id)
			return true;
	return false;
}

void capture_list_add(struct capture_list *list, int id)
{
	if (capture_list_has(list, id))
		return;
	list->id = array_room(list->id, list->nr, sizeof(*list->id));
	list->id[list->nr++] = id;
}

/* *p moves past the number. */
static bool take_number(const char **p, unsigned long *val)
{
	char *end;

	if (!isdigit(**p))
		return false;
	errno = 0;
	*val = strtoul(*p, &end, 10);
	*p = end;
	return !errno && *val <= INT32_MAX;
}

bool capture_list_parse(struct capture_list *list, const char *text)
{
	unsigned long first, last;
	const char *p = text;

	do {
		if (!take_number(&p, &first))
			return false;
		last = first;
		if (*p == '-' && (p++, !take_number(&p, &last)))
			return false;
		if (last < first || last - first > 65535 || (*p && *p != ',' && *p != '\n'))
			return false;
		for (; first <= last; first++)
			capture_list_add(list, first);
	} while (*p++ == ',');
	return true;
}

/* ----------------------------------------------------- what is recorded -- */

static void read_cpus(struct capture *c)
{
	char line[4096] = "";
	FILE *f = fopen("/sys/devices/system/cpu/online", "re");
	size_t i;

	if (!f || !fgets(line, sizeof(line), f) || !capture_list_parse(&c->online, line))
		die("/sys/devices/system/cpu/online cannot be read: is /sys mounted?");
	fclose(f);
	/* a driver without this file has encoders on all CPUs */
	if (ntrace_pmu_line("cpumask", line, sizeof(line)) <= 0 ||
	    !capture_list_parse(&c->encoders, line))
		for (i = 0; i < c->online.nr; i++)
			capture_list_add(&c->encoders, c->online.id[i]);
	for (i = 0; i < c->o.cpus.nr; i++) {
		if (!capture_list_has(&c->online, c->o.cpus.id[i]))
			die("-C: CPU %d is not online", c->o.cpus.id[i]);
		if (!capture_list_has(&c->encoders, c->o.cpus.id[i]))
			die("-C: CPU %d has no trace encoder or no sink", c->o.cpus.id[i]);
	}
}

/* The trace of a task pauses while the task runs on a CPU without an encoder or a sink. */
static void warn_of_cpus(const struct capture *c)
{
	size_t i;

	for (i = 0; i < c->online.nr && !c->o.cpus.nr; i++) {
		if (capture_list_has(&c->encoders, c->online.id[i]))
			continue;
		warn("CPU %d, and maybe others, have no trace encoder or no sink: what runs there is not recorded",
			     c->online.id[i]);
		break;
	}
}

/* An encoder that counts calls cannot follow a CPU from one task to the next. */
static void check_wide(const struct capture *c)
{
	uint64_t wide;

	if (!c->per_task && ntrace_pmu_number("caps/cpuwide", false, &wide) && !wide)
		die("the trace encoders of this machine take returns of one task for those of another (caps/cpuwide is 0): record a program or a task (-p, -t), not CPUs (-a, -C)");
}

static void add_threads(struct capture *c, pid_t pid)
{
	struct dirent *entry;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		die("there is no process %d", pid);
	while ((entry = readdir(dir)))
		if (isdigit(entry->d_name[0]))
			capture_list_add(&c->tasks, atoi(entry->d_name));
	closedir(dir);
}

static void find_tasks(struct capture *c)
{
	char path[64];
	size_t i;

	for (i = 0; i < c->o.pids.nr; i++)
		add_threads(c, c->o.pids.id[i]);
	for (i = 0; i < c->o.tids.nr; i++) {
		snprintf(path, sizeof(path), "/proc/%d", c->o.tids.id[i]);
		if (access(path, F_OK))
			die("there is no task %d", c->o.tids.id[i]);
		capture_list_add(&c->tasks, c->o.tids.id[i]);
	}
	if (c->child && c->per_task)
		capture_list_add(&c->tasks, c->child);
	for (i = 0; i < c->tasks.nr; i++)
		capture_list_add(&c->live, capture_task_process(c->tasks.id[i]));
	if (c->per_task && !c->tasks.nr)
		die("there is no such process (any more)");
}

/* ---------------------------------------------------------- the command -- */

static void __attribute__((noreturn))
run_child(char **command, int go, int told, const sigset_t *signals)
{
	char word;
	int err;

	sigprocmask(SIG_SETMASK, signals, NULL);
	/* end of file: the recording process has ended */
	if (read(go, &word, 1) != 1)
		_exit(EXIT_UNUSABLE);
	execvp(*command, command);
	err = errno;
	if (write(told, &err, sizeof(err)) < 0)
		_exit(EXIT_UNUSABLE);
	_exit(127);
}

/* The running command, which is ended if this command ends without waiting for it; 0: none */
static pid_t running;

static void end_command(void)
{
	if (!running)
		return;
	kill(running, SIGTERM);
	/* in case it is stopped */
	kill(running, SIGCONT);
}

/* The child executes the command when a byte arrives through the pipe. */
static void start_child(struct capture *c, const sigset_t *signals)
{
	int go[2], told[2];

	if (!c->o.command)
		return;
	if (pipe2(go, O_CLOEXEC) || pipe2(told, O_CLOEXEC))
		die("no pipe: %s", strerror(errno));
	fflush(NULL);
	c->child = fork();
	if (c->child < 0)
		die("cannot start %s: %s", *c->o.command, strerror(errno));
	if (!c->child) {
		close(go[1]);
		close(told[0]);
		run_child(c->o.command, go[0], told[1], signals);
	}
	close(go[0]);
	close(told[1]);
	c->go = go[1];
	c->told = told[0];
}

static void let_child_go(struct capture *c)
{
	int err;

	if (!c->child)
		return;
	if (write(c->go, "", 1) != 1) {
		capture_file_discard(c);
		die("%s died before it began", *c->o.command);
	}
	close(c->go);
	/* returns when the child has executed the command, or could not */
	if (read(c->told, &err, sizeof(err)) == sizeof(err)) {
		capture_file_discard(c);
		die("%s: %s", *c->o.command, strerror(err));
	}
	close(c->told);
	running = c->child;
	atexit(end_command);
}

/* Reap a command that has ended. */
static bool child_ended(struct capture *c)
{
	int status = 0;
	pid_t pid;

	if (!c->child)
		return false;
	pid = waitpid(c->child, &status, WNOHANG);
	if (pid != c->child && !(pid < 0 && errno == ECHILD))
		return false;
	c->child = running = 0;
	if (WIFEXITED(status) && WEXITSTATUS(status))
		warn("%s ended with status %d", *c->o.command, WEXITSTATUS(status));
	if (WIFSIGNALED(status))
		warn("%s was ended by signal %d, %s", *c->o.command, WTERMSIG(status),
			     strsignal(WTERMSIG(status)));
	return true;
}

/* ----------------------------------------------------------- files -- */

static void begin_file(struct capture *c)
{
	c->first = c->last = 0;
	c->kallsyms.len = 0;
	capture_file_open(c);
	capture_file_begin(c);
	capture_kcore_start(c);
	capture_begin_write(c);
}

static void end_file(struct capture *c)
{
	struct capture_file *f = &c->file;

	capture_kcore_end(c);
	capture_file_end(c);
	c->failed |= f->error;
	if (f->error)
		warn("%s: %s: the file ends there, what is in it can be decoded", f->data,
			     strerror(f->error));
	if (c->o.switches)
		capture_switch_name(c);
	fprintf(stderr, "ntrace: recorded %.3f MB in %s\n", (double)f->at / (1 << 20), f->path);
}

static void begin(struct capture *c)
{
	if (!c->event[EVENT_TRACE].attr.exclude_kernel && !c->o.kcore)
		warn("the kernel is traced, but decoding needs its text, too: --kcore copies it");
	if (ntrace_info_build(c->type, 0, &c->info, capture_say))
		die("%s", nt_strerror(NT_ENOMEM));
	capture_begin_clock(c);
	begin_file(c);
	if (c->file.error)
		die("%s: cannot be written: %s", c->file.data, strerror(c->file.error));
	if (!c->event[EVENT_TRACE].attr.enable_on_exec)
		capture_enable(c, true);
	let_child_go(c);
}

/* ------------------------------------------------------------- the loop -- */

struct watch {
	struct pollfd *fd;	/* our own file descriptors, followed by those of events */
	size_t nr, tasks;	/* number of events of live tasks */
	bool ended, switched;	/* end the recording; switch to the next file */
};

/* 0 ns: never */
static int make_timer(uint64_t first, uint64_t then)
{
	const struct itimerspec time = {
		.it_value = { .tv_sec = first / 1000000000, .tv_nsec = first % 1000000000 },
		.it_interval = { .tv_sec = then / 1000000000, .tv_nsec = then % 1000000000 },
	};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd < 0 || timerfd_settime(fd, 0, &time, NULL))
		die("no timer: %s", strerror(errno));
	return fd;
}

enum { FD_SIGNALS, FD_TIMER, FD_SWITCH, OWN_FDS };

static void watch_events(const struct capture *c, struct watch *w, int signals)
{
	size_t i;

	w->fd = calloc(OWN_FDS + c->nr_fds, sizeof(*w->fd));
	if (!w->fd)
		die("%s", nt_strerror(NT_ENOMEM));
	w->fd[FD_SIGNALS] = (struct pollfd){ .fd = signals, .events = POLLIN };
	w->fd[FD_TIMER] = (struct pollfd){ .fd = make_timer(c->o.duration, 0), .events = POLLIN };
	w->fd[FD_SWITCH] = (struct pollfd){
		.fd = make_timer(c->o.switch_time, c->o.switch_time), .events = POLLIN,
	};
	w->nr = OWN_FDS + c->nr_fds;
	for (i = 0; i < c->nr_fds; i++) {
		const struct capture_fd *f = &c->fd[i];
		struct pollfd *p = &w->fd[OWN_FDS + i];

		/*
		 * Polling any event consumes the wakeup of its buffer. So poll the events of all
		 * tasks, because the task whose event owns the buffer may end first.
		 */
		*p = (struct pollfd){ .fd = f->fd, .events = POLLIN };
		if (f->tid == -1 && c->ring[f->ring].fd != f->fd)
			p->fd = -1;
		w->tasks += f->tid != -1;
	}
}

/* Tasks that have ended, with all their children, have nothing left to record. */
static void look_at_ends(const struct capture *c, struct watch *w)
{
	size_t i;

	for (i = 0; i < c->nr_fds; i++) {
		struct pollfd *p = &w->fd[OWN_FDS + i];

		if (p->fd < 0 || !(p->revents & (POLLHUP | POLLERR)))
			continue;
		w->tasks -= c->fd[i].tid != -1;
		p->fd = -1;
	}
	if (c->per_task && !w->tasks && !c->child)
		w->ended = true;
}

static void take_snapshot(struct capture *c)
{
	unsigned int i;

	capture_enable(c, false);
	for (i = 0; i < c->nr_rings; i++) {
		capture_ring_drain(c, i, true);
		capture_ring_snapshot(c, i);
	}
	c->taken++;
}

static void look_at_signals(struct capture *c, struct watch *w)
{
	struct signalfd_siginfo info;

	if (!(w->fd[FD_SIGNALS].revents & POLLIN))
		return;
	while (read(w->fd[FD_SIGNALS].fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD) {
			w->ended |= child_ended(c);
		} else if (info.ssi_signo == SIGUSR2) {
			if (c->o.snapshots) {
				take_snapshot(c);
				capture_enable(c, true);
			}
			w->switched |= c->o.switch_by_signal;
		} else {
			w->ended = true;
		}
	}
}

static void drain(struct capture *c, bool to_the_end)
{
	bool some = false;
	unsigned int i;

	for (i = 0; i < c->nr_rings; i++)
		some |= capture_ring_drain(c, i, to_the_end);
	/* from now on, records are later than those of the round before this one */
	if (some)
		capture_file_mark(c, NT_PERFDATA_FINISHED_ROUND);
	capture_file_round(c);
}

static void look_at_switch(const struct capture *c, struct watch *w)
{
	uint64_t times;

	/* reading re-arms the timer */
	if (w->fd[FD_SWITCH].revents & POLLIN &&
	    read(w->fd[FD_SWITCH].fd, &times, sizeof(times)) == sizeof(times))
		w->switched = true;
	w->switched |= c->o.switch_size && c->file.at >= c->o.switch_size;
}

/* Pause the trace, complete this file, and begin the next one. */
static void switch_file(struct capture *c)
{
	capture_enable(c, false);
	drain(c, true);
	end_file(c);
	begin_file(c);
	capture_enable(c, true);
}

static void record(struct capture *c, int signals)
{
	struct watch w = { .nr = 0 };

	watch_events(c, &w, signals);
	while (!w.ended && !c->file.error && !c->failed) {
		if (poll(w.fd, w.nr, capture_ring_stopped(c) ? SOON : ROUND) < 0 && errno != EINTR)
			die("poll: %s", strerror(errno));
		w.ended |= w.fd[FD_TIMER].revents & POLLIN;
		look_at_signals(c, &w);
		look_at_ends(c, &w);
		drain(c, false);
		look_at_switch(c, &w);
		if (w.switched && !w.ended && !c->file.error)
			switch_file(c);
		w.switched = false;
	}
	close(w.fd[FD_TIMER].fd);
	close(w.fd[FD_SWITCH].fd);
	free(w.fd);
}

/* -------------------------------------------------------------- the end -- */

/* Ask a running command to end, and wait for it. A second signal ends the wait. */
static void wait_for_child(struct capture *c, int signals)
{
	struct pollfd p = { .fd = signals, .events = POLLIN };
	struct signalfd_siginfo info;

	if (!c->child || child_ended(c))
		return;
	end_command();
	while (!child_ended(c)) {
		poll(&p, 1, -1);
		if (read(signals, &info, sizeof(info)) == sizeof(info) &&
		    info.ssi_signo != SIGCHLD && info.ssi_signo != SIGUSR2) {
			warn("%s, process %d, goes on", *c->o.command, c->child);
			running = 0;
			return;
		}
	}
}

static void say_losses(const struct capture *c)
{
	if (c->cut)
		warn("trace was lost %llu times, as there was no room in the buffer: use a larger one (-m ,SIZE), or ntrace/stall/u",
			     (unsigned long long)c->cut);
	if (c->partial)
		warn("trace was lost %llu times, as the sink was full before it was emptied",
			     (unsigned long long)c->partial);
	if (c->lost)
		warn("%llu records beside the trace were lost: use a larger buffer (-m SIZE)",
			     (unsigned long long)c->lost);
	if (c->o.snapshots && !c->taken)
		warn("no snapshot was taken, the file has no trace: send SIGUSR2 while it records, or use -Se for one at the end");
}

static int end(struct capture *c)
{
	struct capture_file *f = &c->file;

	if (c->o.snapshots && c->o.snapshot_at_end && !f->error)
		take_snapshot(c);
	capture_enable(c, false);
	drain(c, true);
	capture_close(c);
	end_file(c);
	say_losses(c);
	if (c->failed)
		return EXIT_UNUSABLE;
	return c->cut || c->partial || c->lost ? EXIT_LOSSES : EXIT_WHOLE;
}

/*
 * Read signals from a file descriptor. If SIGHUP is ignored, as under nohup, leave it so. But do
 * not leave SIGINT ignored: a shell without job control does this to commands in the background,
 * and then ^C is expected to work.
 */
static int watch_signals(const struct capture *c, sigset_t *ours, sigset_t *before)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction now;
	size_t i;
	int fd;

	sigemptyset(ours);
	for (i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (ends[i] != SIGHUP ||
		    (!sigaction(SIGHUP, NULL, &now) && now.sa_handler != SIG_IGN))
			sigaddset(ours, ends[i]);
	/* the parent process may have ignored SIGCHLD */
	signal(SIGCHLD, SIG_DFL);
	sigaddset(ours, SIGCHLD);
	if (c->o.snapshots || c->o.switch_by_signal)
		sigaddset(ours, SIGUSR2);
	sigprocmask(SIG_BLOCK, ours, before);
	fd = signalfd(-1, ours, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		die("no signals: %s", strerror(errno));
	return fd;
}

int capture_run(struct capture *c)
{
	sigset_t ours, before;
	int signals, status;
	uint64_t type;

	if (!ntrace_pmu_number("type", false, &type))
		capture_die_pmu();
	c->type = type;
	c->per_task = !c->o.all && !c->o.cpus.nr;
	read_cpus(c);
	check_wide(c);
	if (c->o.kcore)
		capture_kcore_check(c);
	signals = watch_signals(c, &ours, &before);
	start_child(c, &before);
	/* handle writes to a dead command, or beyond ulimit -f, as errors */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	/* no snapshot or switch was asked for, so SIGUSR2 must not end the recording */
	if (!c->o.snapshots && !c->o.switch_by_signal)
		signal(SIGUSR2, SIG_IGN);
	find_tasks(c);
	capture_open(c);
	warn_of_cpus(c);
	begin(c);
	record(c, signals);
	status = end(c);
	wait_for_child(c, signals);
	return status;
}
