// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lets every allocation of an operation fail once: the first, the second, and so on, until the
 * operation needs no more. Needs a kernel with FAILSLAB and FAIL_PAGE_ALLOC.
 *
 *	fault-inject load MODULE	insmod and rmmod, without probing (see bind)
 *	fault-inject bind		unbind each component, and bind it again
 *	fault-inject open		perf_event_open: of a task, a CPU, kinds that allocate more
 *	fault-inject mmap		map the AUX area of these, one also read-only, and enable
 *
 * /proc/thread-self/fail-nth = N lets the N-th allocation of this task fail. It reads 0 afterwards
 * if there were that many.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/ntrace.h>

#include "event.h"

#define AUTOPROBE	"/sys/bus/platform/drivers_autoprobe"
#define FAIL		"/sys/kernel/debug/"
#define AUX		(128 * 1024UL)
#define MOST		20000

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool good;

	if (fd < 0)
		return false;
	good = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);

	return good;
}

/* Let allocations that may sleep, and those of one page, fail, too. Do not print each failure. */
static bool prepare(void)
{
	return write_text(FAIL "failslab/ignore-gfp-wait", "N") &&
	       write_text(FAIL "fail_page_alloc/ignore-gfp-wait", "N") &&
	       write_text(FAIL "fail_page_alloc/ignore-gfp-highmem", "N") &&
	       write_text(FAIL "fail_page_alloc/min-order", "0") &&
	       write_text(FAIL "failslab/verbose", "0") &&
	       write_text(FAIL "fail_page_alloc/verbose", "0");
}

static int nth_fd, pmu_type;

static void arm(unsigned int nth)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", nth);
	if (pwrite(nth_fd, text, strlen(text), 0) < 0)
		perror("fail-nth");
}

/* Returns whether the allocation was reached, and failed */
static bool disarm(void)
{
	char text[16] = "";
	ssize_t got = pread(nth_fd, text, sizeof(text) - 1, 0);
	bool reached = got > 0 && !atoi(text);

	arm(0);

	return reached;
}

/* An operation to run with a failing allocation, and how to undo it if it succeeds */
struct path {
	const char *name;
	int (*run)(const struct path *path);
	void (*undo)(const struct path *path, int result);
	const void *what;
};

static struct { void *image; size_t size; } module;

static int load(const struct path *path)
{
	return syscall(SYS_init_module, module.image, module.size, "");
}

static void unload(const struct path *path, int result)
{
	if (!result && syscall(SYS_delete_module, "ntrace", O_NONBLOCK))
		printf("# rmmod: %s\n", strerror(errno));
}

static int bind(const struct path *path)
{
	return write_text(DRIVER "bind", path->what) ? 0 : -1;
}

static void unbind(const struct path *path, int result)
{
	if (!result && !write_text(DRIVER "unbind", path->what))
		printf("# unbind %s: %s\n", (const char *)path->what, strerror(errno));
}

struct kind {
	uint64_t config;
	bool cpu;
	int prot;
};

/* Inherited events allocate more. They cannot be mapped without a CPU. */
static bool inherit;

static int open_event(const struct path *path)
{
	const struct kind *kind = path->what;
	struct perf_event_attr attr = plain_attr(pmu_type);

	attr.config = kind->config;
	attr.inherit = inherit && !kind->cpu;

	return event_open(&attr, kind->cpu ? -1 : 0, kind->cpu ? 0 : -1);
}

static void close_event(const struct path *path, int result)
{
	if (result >= 0)
		close(result);
}

/* Map the event and enable it. The event is opened without faults. */
static int map_event(const struct path *path)
{
	const struct kind *kind = path->what;
	unsigned int nth = 0;
	char text[16] = "";
	long bytes;
	int fd;

	if (pread(nth_fd, text, sizeof(text) - 1, 0) > 0)
		nth = atoi(text);
	arm(0);
	fd = open_event(path);
	if (fd < 0)
		return -1;
	arm(nth);
	bytes = trace_shortly(fd, AUX, kind->prot);
	close(fd);

	return bytes < 0 ? -1 : 0;
}

/* Does the operation succeed when no allocation fails? */
static bool works(const struct path *path)
{
	int result = path->run(path);

	if (path->undo)
		path->undo(path, result);

	return result >= 0;
}

/* Print a line of TAP with the number of allocations, and how many of them were required */
static bool inject(int number, const struct path *path)
{
	unsigned int nth, refused = 0;
	bool reached = true, after;
	int result;

	for (nth = 1; nth <= MOST && reached; nth++) {
		if (!(nth % 100)) {
			printf("# %s: %u allocations so far\n", path->name, nth);
			fflush(stdout);
		}
		arm(nth);
		result = path->run(path);
		reached = disarm();
		refused += reached && result < 0;
		if (path->undo)
			path->undo(path, result);
	}
	after = works(path);
	printf("%sok %d - %s: %u allocations failed in turn, %u of them refused it; then it works%s\n",
	       after && !reached && nth > 2 ? "" : "not ", number, path->name, nth - 2, refused,
	       after ? "" : " not");
	fflush(stdout);

	return after && !reached && nth > 2;
}

static int read_module(const char *name)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	module.image = malloc(4 << 20);
	if (fd < 0 || !module.image)
		return -1;
	while ((got = read(fd, (char *)module.image + module.size, (4 << 20) - module.size)) > 0)
		module.size += got;
	close(fd);

	return got;
}

static int inject_load(const char *name)
{
	const struct path path = { "insmod", load, unload };
	bool good;

	if (read_module(name)) {
		printf("Bail out! %s: %s\n", name, strerror(errno));
		return 1;
	}
	syscall(SYS_delete_module, "ntrace", O_NONBLOCK);
	printf("1..1\n");
	if (!write_text(AUTOPROBE, "0"))
		printf("# %s: %s\n", AUTOPROBE, strerror(errno));
	good = inject(1, &path);
	write_text(AUTOPROBE, "1");
	if (load(&path))
		printf("# insmod: %s\n", strerror(errno));

	return !good;
}

static int inject_bind(void)
{
	struct path path[64] = {};
	int nr = 0, failed = 0;
	struct dirent *entry;
	DIR *dir;

	if (access(DRIVER "bind", W_OK)) {
		printf("1..0 # SKIP the driver has no bind file\n");
		return 4;
	}
	dir = opendir(DRIVER);
	while (dir && (entry = readdir(dir)) && nr < 64)
		if (strstr(entry->d_name, ".trace"))
			path[nr++] = (struct path) {
				strdup(entry->d_name), bind, unbind, strdup(entry->d_name)
			};
	printf("1..%d\n", nr);
	for (int i = 0; i < nr; i++) {
		unbind(&path[i], 0);
		failed += !inject(i + 1, &path[i]);
		if (bind(&path[i]))
			printf("# bind %s: %s\n", path[i].name, strerror(errno));
	}

	return failed || !nr;
}

static int inject_events(int (*run)(const struct path *), void (*undo)(const struct path *, int))
{
	static const struct kind task = { 0, false, PROT_READ | PROT_WRITE };
	static const struct kind cpu = { 0, true, PROT_READ | PROT_WRITE };
	static const struct kind context = {
		NTRACE_CONFIG_CONTEXTID, false, PROT_READ | PROT_WRITE
	};
	static const struct kind snapshot = { 0, false, PROT_READ };
	const struct path path[] = {
		{ "a task's event", run, undo, &task },
		{ "a CPU's event", run, undo, &cpu },
		{ "an event with contextid", run, undo, &context },
		{ "an event in overwrite mode", run, undo, &snapshot },
	};
	const int nr = sizeof(path) / sizeof(path[0]);
	int failed = 0;

	printf("1..%d\n", nr);
	for (int i = 0; i < nr; i++) {
		/* Not every sink can wrap: skip snapshots if they fail without a fault, too. */
		if (path[i].what == &snapshot && !works(&path[i]))
			printf("ok %d - %s # SKIP this sink cannot: %s\n", i + 1, path[i].name,
			       strerror(errno));
		else
			failed += !inject(i + 1, &path[i]);
	}

	return !!failed;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	nth_fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (nth_fd < 0 || !prepare()) {
		printf("1..0 # SKIP this kernel cannot make allocations fail (FAILSLAB, FAIL_PAGE_ALLOC)\n");
		return 4;
	}
	if (!strcmp(what, "load") && argc > 2)
		return inject_load(argv[2]);
	pmu_type = pmu_type_or_skip();
	if (!strcmp(what, "bind"))
		return inject_bind();
	inherit = !strcmp(what, "open");
	if (inherit)
		return inject_events(open_event, close_event);
	if (!strcmp(what, "mmap"))
		return inject_events(map_event, NULL);
	fprintf(stderr, "usage: fault-inject load MODULE | bind | open | mmap\n");

	return 2;
}
