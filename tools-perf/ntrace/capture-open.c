// SPDX-License-Identifier: GPL-2.0-only
/*
 * Open events: on each CPU, one for each traced task, or one for all tasks. All events of a CPU
 * write to one buffer. The trace event is opened first, because it owns the AUX area.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture.h"
#include "cmd.h"

#define KiB(x)		((x) * 1024ULL)
#define MiB(x)		((x) * 1024ULL * 1024)
#define AUX_MIN		KiB(8)
#define WATERMARK_MIN	KiB(64)
#define SAMPLE_FREQ	1000	/* in Hz */

/* ----------------------------------------------------------- attributes -- */

static void set_common(const struct capture *c, struct perf_event_attr *attr)
{
	attr->size = sizeof(*attr);
	attr->sample_period = 1;
	/* task, address, CPU and time of each record */
	attr->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
			    PERF_SAMPLE_IDENTIFIER;
	attr->read_format = PERF_FORMAT_ID;
	attr->sample_id_all = 1;
	attr->inherit = 1;
	attr->enable_on_exec = c->per_task && c->o.command;
	attr->disabled = attr->enable_on_exec;
}

/*
 * Wake up at a quarter of the buffer instead of half, so that more space is left until it is read.
 */
static uint32_t watermark(const struct capture *c)
{
	uint64_t quarter = c->aux_size / 4;

	/* With smaller fragments, the driver would switch windows all the time. */
	if (quarter < WATERMARK_MIN || capture_is_circular(c))
		return 0;
	return quarter > UINT32_MAX ? UINT32_MAX : quarter;
}

static struct perf_event_attr *make_software(struct capture *c, uint64_t config, const char *name)
{
	struct capture_event *e = &c->event[c->nr_events++];

	e->name = strdup(name);
	if (!e->name)
		die("%s", nt_strerror(NT_ENOMEM));
	e->attr.type = PERF_TYPE_SOFTWARE;
	e->attr.config = config;
	set_common(c, &e->attr);
	return &e->attr;
}

static struct perf_event_attr *make_dummy(struct capture *c)
{
	struct perf_event_attr *attr = make_software(c, PERF_COUNT_SW_DUMMY, "dummy:u");

	attr->exclude_kernel = attr->exclude_hv = attr->exclude_guest = 1;
	return attr;
}

static bool is_accepted(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	int fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/*
 * The event for everything else that decoding needs. Task switches are needed if the trace itself
 * does not identify tasks.
 */
static void make_tasks_event(struct capture *c)
{
	const struct perf_event_attr *trace = &c->event[EVENT_TRACE].attr;
	struct perf_event_attr *attr = make_dummy(c), probe;

	attr->mmap = attr->mmap2 = attr->comm = attr->comm_exec = attr->task = 1;
	attr->context_switch = !ntrace_terms_get(trace->config, "contextid");
	/* since Linux 5.12; the file may have been replaced when the recording ends */
	probe = *attr;
	probe.build_id = 1;
	attr->build_id = is_accepted(&probe, 0, -1);
}

/* The kernel refuses rates above its current limit, which it lowers if samples take too long. */
static unsigned int sample_freq(const struct capture *c)
{
	unsigned int wanted = c->o.sample_freq ? c->o.sample_freq : SAMPLE_FREQ;
	long most = capture_sysctl("perf_event_max_sample_rate", wanted);

	if (most <= 0 || wanted <= most)
		return wanted;
	if (c->o.sample_freq)
		warn("-F: %u samples a second are more than the kernel takes now (kernel.perf_event_max_sample_rate): %ld",
		     wanted, most);
	return most;
}

/* In a group with the trace event, so that both run at the same times. */
static void make_samples_event(struct capture *c)
{
	const struct perf_event_attr *trace = &c->event[EVENT_TRACE].attr;
	struct perf_event_attr *attr;

	if (!c->o.sample_size)
		return;
	c->samples = c->nr_events;
	attr = make_software(c, PERF_COUNT_SW_CPU_CLOCK, trace->exclude_kernel ? "cpu-clock:u" :
			     trace->exclude_user ? "cpu-clock:k" : "cpu-clock");
	attr->freq = 1;
	attr->sample_freq = sample_freq(c);
	attr->sample_type |= PERF_SAMPLE_AUX;
	attr->aux_sample_size = c->o.sample_size;
	attr->enable_on_exec = attr->disabled = 0;
	attr->exclude_user = trace->exclude_user;
	attr->exclude_kernel = trace->exclude_kernel;
	attr->exclude_hv = trace->exclude_hv;
	attr->exclude_guest = trace->exclude_guest;
}

/*
 * The kernel's text changes for all CPUs at once, so this event is also needed when a single task
 * is traced.
 */
static void make_code_event(struct capture *c)
{
	struct perf_event_attr *attr;

	if (c->event[EVENT_TRACE].attr.exclude_kernel)
		return;
	c->code = c->nr_events;
	attr = make_dummy(c);
	attr->enable_on_exec = attr->disabled = 0;
	attr->ksymbol = attr->text_poke = 1;
	if (is_accepted(attr, -1, c->online.id[0]))
		return;
	free(c->event[--c->nr_events].name);
	c->code = 0;
}

static void make_events(struct capture *c)
{
	struct perf_event_attr *attr = &c->event[EVENT_TRACE].attr;

	set_common(c, attr);
	attr->disabled = 1;
	attr->aux_watermark = watermark(c);
	c->nr_events = EVENT_TRACE + 1;
	make_tasks_event(c);
	make_samples_event(c);
	make_code_event(c);
}

/* ---------------------------------------------------------------- sizes -- */

static void check_size(const char *what, uint64_t size, uint64_t least)
{
	if (size < least || size & (size - 1) || size > MiB(1024))
		die("-m: the size of the buffer for %s must be a power of 2, at least %llu KiB and at most 1 GiB, not %llu bytes",
		    what, (unsigned long long)least / 1024, (unsigned long long)size);
}

/* Without privileges, both buffers must fit into the limit for locked memory. */
static void choose_sizes(struct capture *c)
{
	bool privileged = capture_may_lock();

	c->data_size = c->o.data_size ? c->o.data_size : privileged ? KiB(512) : KiB(256);
	c->aux_size = c->o.aux_size ? c->o.aux_size : privileged ? MiB(4) : KiB(128);
	/* keep it small: at each sample, the driver restarts the buffer */
	while (c->o.sample_size && !c->o.aux_size && c->aux_size / 2 >= c->o.sample_size &&
	       c->aux_size > AUX_MIN)
		c->aux_size /= 2;
	check_size("records", c->data_size, sysconf(_SC_PAGESIZE));
	check_size("trace", c->aux_size, AUX_MIN);
	if (capture_is_circular(c) && c->aux_size > MiB(4))
		die("-m: a buffer for trace that snapshots (-S) and samples (--aux-sample) are taken of is one piece of memory, at most 4 MiB");
	if (c->o.snapshots && !c->o.snapshot_size)
		c->o.snapshot_size = c->aux_size;
	if (c->o.sample_size > c->aux_size)
		die("--aux-sample: %llu bytes cannot come from a buffer of %llu: see -m",
		    (unsigned long long)c->o.sample_size, (unsigned long long)c->aux_size);
	if (c->o.snapshot_size > c->aux_size)
		die("-S: snapshots of %llu bytes cannot come from a buffer of %llu: see -m",
		    (unsigned long long)c->o.snapshot_size, (unsigned long long)c->aux_size);
}

/* -------------------------------------------------------------- opening -- */

/* Each task has events on each CPU, so allow as many open files as possible. */
static bool raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= limit.rlim_max)
		return false;
	limit.rlim_cur = limit.rlim_max;
	return !setrlimit(RLIMIT_NOFILE, &limit);
}

static int open_one(struct capture *c, unsigned int event, pid_t tid, int cpu, int leader)
{
	int fd;

	do
		fd = syscall(SYS_perf_event_open, &c->event[event].attr, tid, cpu, leader,
			     PERF_FLAG_FD_CLOEXEC);
	while (fd < 0 && errno == EMFILE && raise_limit());
	return fd;
}

static void set_filter(struct capture *c, int fd)
{
	if (!c->o.filter || !ioctl(fd, PERF_EVENT_IOC_SET_FILTER, c->o.filter))
		return;
	if (errno == EINVAL)
		die("--filter: `%s' is not as the kernel has it: OFFSET/SIZE@FILE, with numbers and no spaces around the @ (symbols are perf's)",
		    c->o.filter);
	if (errno == EOPNOTSUPP)
		die("--filter: the driver refuses `%s': dmesg tells why, nr_addr_filters and caps/latch of the PMU in sysfs what there is",
		    c->o.filter);
	die("--filter: `%s': %s", c->o.filter, strerror(errno));
}

/* Samples get their trace from the event that was opened last. */
static int leader_of(const struct capture *c, unsigned int event)
{
	return event && event == c->samples ? c->fd[c->nr_fds - 1].fd : -1;
}

/* Returns false if the task has ended. */
static bool add_fd(struct capture *c, unsigned int event, unsigned int ring, pid_t tid)
{
	struct capture_ring *r = &c->ring[ring];
	struct capture_event *e = &c->event[event];
	struct capture_fd *f;
	__u64 id;
	int fd = open_one(c, event, tid, r->cpu, leader_of(c, event));

	if (fd < 0 && errno == ESRCH && tid != -1)
		return false;
	if (fd < 0)
		capture_die_open(c, event, r->cpu, tid, errno);
	if (event == EVENT_TRACE)
		set_filter(c, fd);
	if (ioctl(fd, PERF_EVENT_IOC_ID, &id))
		die("an event has no ID: %s", strerror(errno));
	if (r->fd < 0) {
		r->fd = fd;
		r->tid = tid;
		r->encoder = event == EVENT_TRACE;
	}
	c->fd = array_room(c->fd, c->nr_fds, sizeof(*c->fd));
	f = &c->fd[c->nr_fds++];
	*f = (struct capture_fd){ fd, event, ring, r->cpu, tid, id };
	e->id = array_room(e->id, e->nr_ids, sizeof(*e->id));
	e->id[e->nr_ids++] = id;
	return true;
}

/* Should this CPU be traced? */
static bool is_traced(const struct capture *c, int cpu)
{
	return capture_list_has(&c->encoders, cpu) &&
	       (!c->o.cpus.nr || capture_list_has(&c->o.cpus, cpu));
}

static void open_for(struct capture *c, unsigned int ring, pid_t tid)
{
	if (is_traced(c, c->ring[ring].cpu) &&
	    !(add_fd(c, EVENT_TRACE, ring, tid) &&
	      (!c->samples || add_fd(c, c->samples, ring, tid))))
		return;
	add_fd(c, EVENT_TASKS, ring, tid);
}

static void open_ring(struct capture *c, int cpu)
{
	unsigned int number = c->nr_rings;
	size_t i, first = c->nr_fds;

	c->ring = array_room(c->ring, number, sizeof(*c->ring));
	c->ring[number] = (struct capture_ring){ .cpu = cpu, .fd = -1, .tid = -1 };
	for (i = 0; i < c->tasks.nr; i++)
		open_for(c, number, c->tasks.id[i]);
	if (!c->per_task)
		open_for(c, number, -1);
	if (c->ring[number].fd < 0)
		die("there is no task %d (any more)", c->tasks.id[0]);
	if (c->code)
		add_fd(c, c->code, number, -1);
	c->nr_rings++;
	capture_ring_map(c, number);
	for (i = first; i < c->nr_fds; i++)
		if (c->fd[i].fd != c->ring[number].fd &&
		    ioctl(c->fd[i].fd, PERF_EVENT_IOC_SET_OUTPUT, c->ring[number].fd))
			die("an event cannot share the buffer of CPU %d: %s", cpu, strerror(errno));
}

void capture_open(struct capture *c)
{
	size_t i;

	choose_sizes(c);
	capture_event_parse(c, c->o.event, c->o.snapshots ? c->o.snapshot_size : c->o.sample_size);
	make_events(c);
	/*
	 * Record names and mappings on all CPUs, because tasks may have migrated to the chosen
	 * ones.
	 */
	for (i = 0; i < c->online.nr; i++)
		open_ring(c, c->online.id[i]);
}

void capture_enable(struct capture *c, bool on)
{
	size_t i;

	for (i = 0; i < c->nr_fds; i++)
		if (c->fd[i].event == EVENT_TRACE)
			ioctl(c->fd[i].fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

/* Close all events, so that the traced tasks are no longer slowed down. */
void capture_close(struct capture *c)
{
	size_t i;

	for (i = 0; i < c->nr_fds; i++)
		close(c->fd[i].fd);
	c->nr_fds = 0;
}
