// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the ntrace PMU through perf_event_open(): sysfs, refusals and recordings.
 *
 * perf is not needed. Each test begins with idle hardware, and leaves it idle.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/ntrace.h>

#include "event.h"

#define DATA_PAGES	16
#define AUX_DEFAULT	(1UL << 20)

#ifndef PERF_RECORD_AUX_OUTPUT_HW_ID
#define PERF_RECORD_AUX_OUTPUT_HW_ID	21
#endif

/* TAP */

/* No test takes longer than this, in seconds */
#define HANG_S		600

static int test_number, test_failures;
static const char *test_why;
static unsigned long test_times;

static void report(bool ok, const char *name)
{
	printf("%sok %d - %s\n", ok ? "" : "not ", ++test_number, name);
	fflush(stdout);
	test_failures += !ok;
}

static void remark(const char *fmt, ...)
{
	va_list args;

	printf("# ");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
}

/* Fail the test and report the line if a condition is false */
#define CHECK(cond)								\
	do {									\
		if (!(cond)) {							\
			remark("line %d: %s (errno %s)", __LINE__, #cond,	\
			       strerror(errno));				\
			return false;						\
		}								\
	} while (0)

#define SKIP(why)	do { test_why = why; return true; } while (0)

/* sysfs */

static bool sysfs_line(const char *name, char *line, size_t size)
{
	char path[512];
	FILE *f;
	bool ok;

	snprintf(path, sizeof(path), PMU "%s", name);
	f = fopen(path, "r");
	if (!f)
		return false;
	ok = fgets(line, size, f);
	fclose(f);
	line[strcspn(line, "\n")] = 0;

	return ok;
}

static long sysfs_number(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), PMU "%s", name);

	return read_number(path);
}

static long cap(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "caps/%s", name);
	return sysfs_number(path);
}

/* sinkid of the sink that a CPU's encoder leads to */
static long sink_of_cpu(int cpu)
{
	char name[64], path[128];

	snprintf(path, sizeof(path), "cpu%d/sink", cpu);
	if (!sysfs_line(path, name, sizeof(name)))
		return -1;
	snprintf(path, sizeof(path), "sinks/%s", name);

	return sysfs_number(path);
}

/*
 * Do several CPUs share a sink? Then its trace is one stream, which is cut into records at any
 * byte.
 */
static bool sink_is_shared(void)
{
	return sysconf(_SC_NPROCESSORS_CONF) > 1 && sink_of_cpu(0) >= 0 &&
	       sink_of_cpu(0) == sink_of_cpu(1);
}

/* Size of the only memory that a sink can write to; 0: it can write to any memory */
static long sink_memory(void)
{
	char name[64], path[128];
	long size;

	if (!sysfs_line("cpu0/sink", name, sizeof(name)))
		return 0;
	snprintf(path, sizeof(path), "/sys/bus/platform/devices/%s/size", name);
	size = read_number(path);

	return size < 0 ? 0 : size;
}

/* Is the sink's own memory so small that it may be full before the driver can poll? */
static bool small_sink(void)
{
	return sink_memory() > 0 && sink_memory() <= 1L << 16;
}

/* Does the driver copy trace to the AUX area, window by window? */
static bool sink_copies(void)
{
	return sink_is_shared() || sink_memory() > 0;
}

/* Events */

static const struct field {
	const char *name, *word;
	uint64_t mask;
} fields[] = {
	{ "btm", "config", NTRACE_CONFIG_BTM },
	{ "contextid", "config", NTRACE_CONFIG_CONTEXTID },
	{ "timestamp", "config", NTRACE_CONFIG_TIMESTAMP },
	{ "retstack", "config", NTRACE_CONFIG_RETSTACK },
	{ "seqjump", "config", NTRACE_CONFIG_SEQJUMP },
	{ "repeathist", "config", NTRACE_CONFIG_REPEATHIST },
	{ "extaddr", "config", NTRACE_CONFIG_EXTADDR },
	{ "alljumps", "config", NTRACE_CONFIG_ALLJUMPS },
	{ "stall", "config", NTRACE_CONFIG_STALL },
	{ "mmode", "config", NTRACE_CONFIG_MMODE },
	{ "syncmode", "config", NTRACE_CONFIG_SYNCMODE },
	{ "syncmax", "config", NTRACE_CONFIG_SYNCMAX },
	{ "sinkid", "config2", NTRACE_CONFIG2_SINKID },
};

/* Shift a value to its field */
#define SET(field, value)						\
	((uint64_t)(value) * (NTRACE_CONFIG_##field & -NTRACE_CONFIG_##field))

static struct perf_event_attr user_attr(void)
{
	struct perf_event_attr attr = plain_attr(sysfs_number("type"));

	attr.exclude_guest = 1;
	attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
			   PERF_SAMPLE_IDENTIFIER;
	attr.sample_id_all = 1;
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;

	return attr;
}

/* errno of an open that should fail; 0 if it succeeded */
static int refused(struct perf_event_attr attr, pid_t pid, int cpu)
{
	int fd = event_open(&attr, pid, cpu);

	if (fd < 0)
		return errno;
	close(fd);

	return 0;
}

static int refused_config(uint64_t config)
{
	struct perf_event_attr attr = user_attr();

	attr.config = config;
	return refused(attr, 0, -1);
}

#define RECORDS	4096

/* Layout in the data area: the fields of sample_id_all follow those of the record */
struct aux_record {
	uint64_t offset, size, flags;
	uint32_t pid, tid;
	uint64_t time;
};

struct session {
	int fd;
	size_t aux_size;
	struct perf_event_mmap_page *page;
	uint8_t *data, *aux;
	uint64_t tail;
	uint64_t enabled_at;
	/* set by session_read() */
	struct aux_record record[RECORDS];
	unsigned int records;
	uint64_t hw_id;
	unsigned int hw_ids;
	uint64_t flags;
};

static struct session the_session;

/* The `time` CSR, which the hardware model reads, too */
static unsigned long long ticks(void)
{
	unsigned long long now = 0;

#ifdef __riscv
	__asm__ volatile("rdtime %0" : "=r"(now));
#endif

	return now;
}

/*
 * If $AUX_PAGES names a file, log there when an AUX area was mapped and unmapped, and its physical
 * addresses, "START END" for each page. Only root can see these addresses.
 */
static FILE *pages_file(void)
{
	const char *name = getenv("AUX_PAGES");

	return name ? fopen(name, "a") : NULL;
}

static void session_tell_pages(const struct session *s)
{
	FILE *out = pages_file();
	int map;
	uint64_t entry, at;

	if (!out)
		return;
	map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	fprintf(out, "mapped %llu\n", ticks());
	for (size_t i = 0; i < s->aux_size; i += PAGE) {
		(void)*(volatile uint8_t *)(s->aux + i);
		at = ((uintptr_t)s->aux + i) / PAGE * sizeof(entry);
		if (pread(map, &entry, sizeof(entry), at) != sizeof(entry))
			break;
		at = (entry & ((1ULL << 55) - 1)) * PAGE;
		fprintf(out, "0x%016llx 0x%016llx\n", (unsigned long long)at,
			(unsigned long long)(at + PAGE));
	}
	fclose(out);
	close(map);
}

static void session_unmap_aux(struct session *s)
{
	FILE *out;

	munmap(s->aux, s->aux_size);
	s->aux = NULL;
	out = pages_file();
	if (!out)
		return;
	fprintf(out, "unmapped %llu\n", ticks());
	fclose(out);
}

static void session_close(struct session *s)
{
	if (s->aux)
		session_unmap_aux(s);
	if (s->page)
		munmap(s->page, (1 + DATA_PAGES) * PAGE);
	if (s->fd >= 0)
		close(s->fd);
	s->page = NULL;
	s->fd = -1;
}

static bool session_map_aux(struct session *s, size_t aux_size, int prot)
{
	s->page->aux_offset = (1 + DATA_PAGES) * PAGE;
	s->page->aux_size = aux_size;
	s->aux = mmap(NULL, aux_size, prot, MAP_SHARED, s->fd, s->page->aux_offset);
	if (s->aux == MAP_FAILED) {
		s->aux = NULL;
		return false;
	}
	s->aux_size = aux_size;
	session_tell_pages(s);

	return true;
}

static bool session_open_prot(struct session *s, struct perf_event_attr *attr, pid_t pid, int cpu,
			      size_t aux_size, int prot)
{
	memset(s, 0, sizeof(*s));
	s->fd = event_open(attr, pid, cpu);
	if (s->fd < 0)
		return false;
	s->page = mmap(NULL, (1 + DATA_PAGES) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	if (s->page == MAP_FAILED)
		s->page = NULL;
	else
		s->data = (uint8_t *)s->page + PAGE;
	if (s->page && session_map_aux(s, aux_size, prot))
		return true;
	session_close(s);

	return false;
}

static bool session_open(struct session *s, struct perf_event_attr *attr, pid_t pid, int cpu,
			 size_t aux_size)
{
	return session_open_prot(s, attr, pid, cpu, aux_size, PROT_READ | PROT_WRITE);
}

static void session_copy(struct session *s, uint64_t at, void *to, size_t size)
{
	uint8_t *bytes = to;

	for (size_t i = 0; i < size; i++)
		bytes[i] = s->data[(at + i) % (DATA_PAGES * PAGE)];
}

/* Read all records so far */
static void session_read(struct session *s)
{
	uint64_t head = __atomic_load_n(&s->page->data_head, __ATOMIC_ACQUIRE);
	struct perf_event_header header;
	struct aux_record aux;

	for (; s->tail < head; s->tail += header.size) {
		session_copy(s, s->tail, &header, sizeof(header));
		if (header.type == PERF_RECORD_AUX) {
			session_copy(s, s->tail + sizeof(header), &aux, sizeof(aux));
			if (s->records < RECORDS)
				s->record[s->records++] = aux;
			s->flags |= aux.flags;
		} else if (header.type == PERF_RECORD_AUX_OUTPUT_HW_ID) {
			session_copy(s, s->tail + sizeof(header), &s->hw_id, sizeof(s->hw_id));
			s->hw_ids++;
		}
	}
	__atomic_store_n(&s->page->data_tail, s->tail, __ATOMIC_RELEASE);
}

/* Mark the trace of all records as read */
static void session_consume_aux(struct session *s)
{
	const struct aux_record *last = &s->record[s->records - 1];

	if (s->records)
		__atomic_store_n(&s->page->aux_tail, last->offset + last->size, __ATOMIC_RELEASE);
}

static bool session_enable(struct session *s)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	s->enabled_at = now.tv_sec * 1000000000ULL + now.tv_nsec;

	return !ioctl(s->fd, PERF_EVENT_IOC_ENABLE, 0);
}

static bool session_disable(struct session *s)
{
	return !ioctl(s->fd, PERF_EVENT_IOC_DISABLE, 0);
}

/* N-Trace, as far as needed to check that it is valid */

enum { TCODE_PTSYNC = 9, TCODE_PTC = 33, TCODE_ERROR = 8, TCODES = 64 };

struct messages {
	unsigned int count[TCODES];
	unsigned int total, bad;
	int first, last;
	bool stream;	/* messages may continue in the next record */
	bool inside;	/* within a message */
};

static void count_messages(struct messages *m, const struct session *s, const struct aux_record *r)
{
	bool inside = m->stream && m->inside && !r->flags;

	m->first = m->last = -1;
	for (uint64_t i = 0; i < r->size; i++) {
		uint8_t byte = s->aux[(r->offset + i) % s->aux_size];

		if (!inside) {
			if (byte == 0xff)
				continue;
			if (byte & 3) {
				m->bad++;
				continue;
			}
			m->last = byte >> 2;
			m->first = m->first < 0 ? m->last : m->first;
			m->count[m->last]++;
			m->total++;
			inside = true;
		} else if ((byte & 3) == 2) {
			m->bad++;
		} else if ((byte & 3) == 3) {
			inside = false;
		}
	}
	m->inside = inside;
	/* a full AUX area may end within a message */
	m->bad += inside && !m->stream && !(r->flags & PERF_AUX_FLAG_TRUNCATED);
}

/* Work */

static volatile uint64_t sink;

/* Conditional branches, calls and returns, without system calls */
__attribute__((noinline)) static uint64_t step(uint64_t x)
{
	return x & 1 ? 3 * x + 1 : x / 2;
}

static void spin(unsigned int n)
{
	uint64_t (*volatile indirect)(uint64_t) = step;

	for (unsigned int i = 0; i < n; i++)
		sink += i & 7 ? step(i) : indirect(i);
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void unpin(void)
{
	cpu_set_t set;

	memset(&set, 0xff, sizeof(set));
	sched_setaffinity(0, sizeof(set), &set);
}

/* Tests: sysfs */

static bool test_format(void)
{
	char name[64], line[64], want[64];

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		int low = __builtin_ctzll(fields[i].mask);
		int high = 63 - __builtin_clzll(fields[i].mask);

		snprintf(name, sizeof(name), "format/%s", fields[i].name);
		if (low == high)
			snprintf(want, sizeof(want), "%s:%d", fields[i].word, low);
		else
			snprintf(want, sizeof(want), "%s:%d-%d", fields[i].word, low, high);
		CHECK(sysfs_line(name, line, sizeof(line)));
		CHECK(!strcmp(line, want));
	}

	return true;
}

static bool test_caps(void)
{
	static const char *const names[] = {
		"htm", "btm", "contextid", "timestamp", "retstack", "seqjump", "repeathist",
		"extaddr", "alljumps", "stall", "mmode", "syncmode", "syncmax", "filters",
		"cpuwide", "latch", "inhibitsrc",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CHECK(cap(names[i]) >= 0);
	CHECK(cap("htm") || cap("btm"));
	CHECK(cap("retstack") & 1);
	CHECK(cap("syncmode") & ~1);

	return true;
}

static bool test_encoders(void)
{
	static const char *const names[] = {
		"hartid", "impl", "srcid", "srcbits", "ts_mode", "ts_width", "ts_prescale",
		"ts_freq", "ts_clock", "sink",
	};
	char path[128], line[128];

	for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++) {
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			snprintf(path, sizeof(path), "cpu%d/%s", cpu, names[i]);
			CHECK(sysfs_line(path, line, sizeof(line)));
			CHECK(line[0]);
		}
		CHECK(sink_of_cpu(cpu) > 0);
	}

	return true;
}

/* In the test bed the counter tracks `time`, and the driver detects this. */
static bool test_clock(void)
{
	char line[64];

	if (!cap("timestamp"))
		SKIP("no timestamp unit");
	CHECK(sysfs_line("cpu0/ts_clock", line, sizeof(line)));
	CHECK(!strcmp(line, "time"));
	CHECK(sysfs_number("cpu0/ts_freq") > 0);

	return true;
}

/* Tests: refusals */

static uint64_t known_bits(const char *word)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		bits |= strcmp(fields[i].word, word) ? 0 : fields[i].mask;

	return bits;
}

static bool test_unknown_bits(void)
{
	struct perf_event_attr attr;

	for (int bit = 0; bit < 64; bit++) {
		if (!(known_bits("config") >> bit & 1))
			CHECK(refused_config(1ULL << bit) == EINVAL);
		attr = user_attr();
		attr.config2 = 1ULL << bit;
		if (!(known_bits("config2") >> bit & 1))
			CHECK(refused(attr, 0, -1) == EINVAL);
		attr = user_attr();
		attr.config1 = 1ULL << bit;
		CHECK(refused(attr, 0, -1) == EINVAL);
		attr = user_attr();
		attr.config3 = 1ULL << bit;
		CHECK(refused(attr, 0, -1) == EINVAL);
	}

	return true;
}

/* For each single-bit capability: with 1 an event opens, with 0 it fails with EOPNOTSUPP. */
static bool test_unsupported(void)
{
	static const struct { const char *name; uint64_t config; } field[] = {
		{ "btm", SET(BTM, 1) }, { "contextid", SET(CONTEXTID, 1) },
		{ "timestamp", SET(TIMESTAMP, 1) }, { "seqjump", SET(SEQJUMP, 1) },
		{ "repeathist", SET(REPEATHIST, 1) }, { "extaddr", SET(EXTADDR, 1) },
		{ "alljumps", SET(ALLJUMPS, 1) }, { "stall", SET(STALL, 1) },
	};

	for (size_t i = 0; i < sizeof(field) / sizeof(field[0]); i++)
		CHECK(refused_config(field[i].config) == (cap(field[i].name) ? 0 : EOPNOTSUPP));
	for (int mode = 0; mode < 4; mode++) {
		CHECK(refused_config(SET(RETSTACK, mode)) ==
		      (cap("retstack") >> mode & 1 ? 0 : EOPNOTSUPP));
		if (mode)
			CHECK(refused_config(SET(SYNCMODE, mode)) ==
			      (cap("syncmode") >> mode & 1 ? 0 : EOPNOTSUPP));
	}
	CHECK(!refused_config(SET(SYNCMAX, cap("syncmax"))));

	return true;
}

/*
 * If an event of a CPU traces the kernel, the call counter takes returns of one task for those of
 * another one. If it traces only user space, each return to user space resets the counter.
 */
static bool test_counter(void)
{
	struct perf_event_attr attr = user_attr();

	if (!(cap("retstack") >> 1 & 1) || !cap("cpuwide"))
		SKIP("no counter that is a choice");
	attr.config = SET(RETSTACK, 1);
	CHECK(!refused(attr, 0, -1));
	CHECK(!refused(attr, -1, 0));
	attr.exclude_kernel = 0;
	CHECK(!refused(attr, 0, -1));
	CHECK(refused(attr, -1, 0) == EOPNOTSUPP);

	return true;
}

static bool test_sinkid(void)
{
	struct perf_event_attr attr = user_attr();

	attr.config2 = sink_of_cpu(0) ^ 0x55;
	CHECK(refused(attr, 0, 0) == EINVAL);
	attr.config2 = sink_of_cpu(0);
	CHECK(!refused(attr, 0, 0));
	if (sysconf(_SC_NPROCESSORS_CONF) > 1 && sink_of_cpu(1) != sink_of_cpu(0))
		CHECK(refused(attr, 0, 1) == EINVAL);

	return true;
}

static bool test_privileges(void)
{
	struct perf_event_attr attr = user_attr();

	attr.exclude_user = 1;
	CHECK(refused(attr, 0, -1) == EINVAL);
	attr.exclude_kernel = 0;
	CHECK(!refused(attr, 0, -1));
	attr = user_attr();
	attr.exclude_idle = 1;
	CHECK(refused(attr, 0, -1) == EOPNOTSUPP);
	attr = user_attr();
	attr.exclude_host = 1;
	CHECK(refused(attr, 0, -1) != 0);
	attr = user_attr();
	attr.config = SET(MMODE, 1);
	CHECK(refused(attr, 0, -1) == (cap("mmode") ? 0 : EOPNOTSUPP));

	return true;
}

/* The driver refuses exclusions that the encoder does not support. */
static bool test_no_filters(void)
{
	struct perf_event_attr attr = user_attr();

	if (cap("filters"))
		SKIP("there are filters");
	CHECK(refused(attr, 0, -1) == EOPNOTSUPP);
	attr.exclude_kernel = 0;
	CHECK(refused(attr, 0, -1) == EOPNOTSUPP);
	attr.config = SET(MMODE, 1);
	attr.exclude_guest = 0;
	CHECK(!refused(attr, 0, -1));

	return true;
}

static bool test_stall_kernel(void)
{
	struct perf_event_attr attr = user_attr();

	if (!cap("stall"))
		SKIP("no stall");
	attr.config = SET(STALL, 1);
	attr.exclude_kernel = 0;
	CHECK(refused(attr, 0, -1) == EOPNOTSUPP);
	attr.exclude_kernel = 1;
	attr.config |= SET(MMODE, 1);
	CHECK(refused(attr, 0, -1) == EOPNOTSUPP);

	return true;
}

static bool as_nobody(bool (*test)(void))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (setgid(65534) || setuid(65534))
			_exit(2);
		_exit(test() ? 0 : 1);
	}

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status);
}

static bool nobody_mmode(void)
{
	return refused_config(SET(MMODE, 1)) == EACCES;
}

static bool nobody_stall(void)
{
	return refused_config(SET(STALL, 1)) == EACCES;
}

static bool nobody_user(void)
{
	return refused_config(0) == 0;
}

static bool test_unprivileged(void)
{
	CHECK(as_nobody(nobody_user));
	CHECK(as_nobody(nobody_mmode));
	CHECK(as_nobody(nobody_stall));

	return true;
}

/* errno of an open by user nobody, 0 if it worked: with the kernel, on a CPU, of another task */
static int nobody_errno;

static bool nobody_opens(uint64_t config, bool kernel, pid_t pid, int cpu)
{
	struct perf_event_attr attr = user_attr();

	attr.config = config;
	attr.exclude_kernel = !kernel;
	return refused(attr, pid, cpu) == nobody_errno;
}

static bool nobody_own(void) { return nobody_opens(0, false, 0, -1); }
static bool nobody_kernel(void) { return nobody_opens(0, true, 0, -1); }
static bool nobody_cpu(void) { return nobody_opens(0, false, -1, 0); }
static bool nobody_cpu_kernel(void) { return nobody_opens(0, true, -1, 0); }
static bool nobody_other(void) { return nobody_opens(0, false, 1, -1); }
static bool nobody_machine(void) { return nobody_opens(SET(MMODE, 1), true, 0, -1); }

static bool nobody_gets(bool (*open)(void), int error)
{
	nobody_errno = error;
	return as_nobody(open);
}

static bool set_paranoid(int level)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "w");
	bool ok = f && fprintf(f, "%d", level) > 0;

	return f && !fclose(f) && ok;
}

/*
 * Each level of perf_event_paranoid: own user space, own kernel, a CPU, a CPU's kernel. Tasks of
 * others and machine mode are never allowed.
 */
static bool test_paranoid(void)
{
	static const struct {
		int level, own, kernel, cpu, cpu_kernel;
	} levels[] = {
		{ 0, 0, 0, 0, 0 },
		{ 1, 0, 0, EACCES, EACCES },
		{ 2, 0, EACCES, EACCES, EACCES },
		{ 3, EACCES, EACCES, EACCES, EACCES },		/* Debian's */
	};
	bool ok = true;

	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]) && ok; i++) {
		if (!set_paranoid(levels[i].level))
			continue;
		ok = nobody_gets(nobody_own, levels[i].own) &&
		     nobody_gets(nobody_kernel, levels[i].kernel) &&
		     nobody_gets(nobody_cpu, levels[i].cpu) &&
		     nobody_gets(nobody_cpu_kernel, levels[i].cpu_kernel) &&
		     nobody_gets(nobody_other, EACCES) && nobody_gets(nobody_machine, EACCES);
		if (!ok)
			remark("perf_event_paranoid %d", levels[i].level);
	}
	set_paranoid(-1);

	return ok;
}

static bool test_aux_size(void)
{
	struct perf_event_attr attr = user_attr();
	struct session *s = &the_session;

	CHECK(!session_open(s, &attr, 0, -1, PAGE));
	CHECK(!session_open(s, &attr, 0, -1, 3 * PAGE));
	CHECK(session_open(s, &attr, 0, -1, 2 * PAGE));
	session_close(s);

	return true;
}

/* A circular area must be contiguous: sizes that the kernel cannot allocate are refused. */
static bool test_ring_size(void)
{
	struct perf_event_attr attr = user_attr();
	struct session *s = &the_session;

	if (sink_copies()) {
		CHECK(!session_open_prot(s, &attr, 0, -1, AUX_DEFAULT, PROT_READ));
		SKIP("sinks go round in the area only");
	}
	CHECK(!session_open_prot(s, &attr, 0, -1, PAGE, PROT_READ));
	CHECK(!session_open_prot(s, &attr, 0, -1, 8 << 20, PROT_READ));
	CHECK(session_open_prot(s, &attr, 0, -1, AUX_DEFAULT, PROT_READ));
	session_close(s);

	return true;
}

/* The head counts all bytes written, and marks the end of the newest trace. */
static bool test_ring(void)
{
	struct perf_event_attr attr = user_attr();
	struct session *s = &the_session;
	uint64_t head = 0, end = 0;

	if (sink_copies())
		SKIP("sinks go round in the area only");
	CHECK(session_open_prot(s, &attr, 0, -1, 2 * PAGE, PROT_READ));
	for (int i = 0; i < 20; i++) {
		CHECK(session_enable(s));
		spin(20000);
		CHECK(session_disable(s));
		CHECK(s->page->aux_head > head);
		head = s->page->aux_head;
	}
	session_read(s);
	CHECK(s->records >= 20);
	CHECK(head > s->aux_size);
	CHECK(s->flags == PERF_AUX_FLAG_OVERWRITE);
	for (unsigned int i = 0; i < s->records; i++) {
		CHECK(s->record[i].size <= s->aux_size);
		CHECK(s->record[i].offset >= end + s->record[i].size);
		end = s->record[i].offset;
	}
	CHECK(end == head);
	session_close(s);

	return true;
}

/* perf stat: an ntrace event cannot count */
static bool test_counting(void)
{
	struct perf_event_attr attr = user_attr();

	attr.sample_period = 0;
	CHECK(refused(attr, 0, -1) == EOPNOTSUPP);

	return true;
}

static bool test_busy(void)
{
	struct perf_event_attr attr = user_attr();
	int fd, other;

	fd = event_open(&attr, 0, -1);
	CHECK(fd >= 0);
	CHECK(refused(attr, 0, -1) == EBUSY);		/* the same task */
	CHECK(refused(attr, -1, 0) == EBUSY);		/* a CPU, while a task is traced */
	other = event_open(&attr, getppid(), -1);	/* another task may wait for its turn */
	CHECK(other >= 0);
	close(other);
	close(fd);

	fd = event_open(&attr, -1, 0);
	CHECK(fd >= 0);
	CHECK(refused(attr, -1, 0) == EBUSY);		/* the same CPU */
	CHECK(refused(attr, 0, -1) == EBUSY);		/* a task, while a CPU is traced */
	close(fd);
	CHECK(!refused(attr, 0, -1));

	return true;
}

static bool nobody_else_shares(void)
{
	return refused(user_attr(), -1, 1) == EBUSY;
}

static bool somebody_else_shares(void)
{
	return !refused(user_attr(), -1, 1);
}

/* Run a test in a child process, which opens its own events */
static bool as_another(bool (*test)(void))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(test() ? 0 : 1);

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status);
}

/*
 * Each user of a shared sink may publish all trace in it, so all users must have the same owner.
 */
static bool test_shared_owner(void)
{
	struct perf_event_attr attr = user_attr();
	int fd;

	if (!sink_is_shared())
		SKIP("no shared sink");
	fd = event_open(&attr, -1, 0);
	CHECK(fd >= 0);
	CHECK(!refused(attr, -1, 1));
	CHECK(as_another(nobody_else_shares));
	close(fd);
	CHECK(as_another(somebody_else_shares));

	return true;
}

/* Tests: recordings */

/* A stream has whole messages, from a sync message to a correlation message. */
static bool check_stream(struct session *s, bool correlated)
{
	struct messages m = { .stream = true };
	int last = -1;

	for (unsigned int i = 0; i < s->records; i++) {
		if (!s->record[i].size)
			continue;
		count_messages(&m, s, &s->record[i]);
		CHECK(last >= 0 || m.first == TCODE_PTSYNC);
		last = m.last < 0 ? last : m.last;
	}
	CHECK(!m.bad && !m.inside);
	CHECK(!correlated || last == TCODE_PTC);

	return true;
}

/*
 * Every record has whole messages, and begins with a sync message. The last one ends with a
 * correlation message.
 */
static bool check_trace(struct session *s, bool correlated)
{
	struct messages m;

	CHECK(s->records > 0);
	CHECK(!(s->flags & PERF_AUX_FLAG_COLLISION));
	if (sink_is_shared())
		return check_stream(s, correlated);
	for (unsigned int i = 0; i < s->records; i++) {
		if (!s->record[i].size)
			continue;
		memset(&m, 0, sizeof(m));
		count_messages(&m, s, &s->record[i]);
		if (m.first != TCODE_PTSYNC || m.bad || (correlated && m.last != TCODE_PTC))
			remark("record %u: offset %#llx size %llu flags %#llx: %u messages, first %d, last %d, bad %u",
			       i, (unsigned long long)s->record[i].offset,
			       (unsigned long long)s->record[i].size,
			       (unsigned long long)s->record[i].flags,
			       m.total, m.first, m.last, m.bad);
		CHECK(m.first == TCODE_PTSYNC);
		CHECK(!m.bad);
		CHECK(!correlated || m.last == TCODE_PTC);
	}

	return true;
}

static uint64_t trace_bytes(const struct session *s)
{
	uint64_t bytes = 0;

	for (unsigned int i = 0; i < s->records; i++)
		bytes += s->record[i].size;

	return bytes;
}

static uint64_t flagged_bytes(const struct session *s)
{
	uint64_t bytes = 0;

	for (unsigned int i = 0; i < s->records; i++)
		bytes += s->record[i].flags ? s->record[i].size : 0;

	return bytes;
}

/* If records are further apart than this, the event was off in between. */
#define PAUSE_NS	100000000

/* Time that a record covers, in nanoseconds: poll period and latency; 0 if unknown */
static uint64_t record_ns(const struct session *s, unsigned int i)
{
	uint64_t since = i ? s->record[i - 1].time : s->enabled_at;

	since = since < s->enabled_at && s->enabled_at < s->record[i].time ? s->enabled_at : since;

	return s->record[i].time > since ? s->record[i].time - since : 0;
}

/*
 * Nothing is lost as long as rate x (period + latency) < window. A record with a loss holds a
 * window that was full at the poll. So its time must be long enough to fill the window, at the
 * highest rate of the records without a loss. (Allow twice that rate, because the speed of the
 * machine varies.)
 */
static bool lost_with_reason(const struct session *s)
{
	uint64_t longest = 0, largest = 0, ns;
	unsigned int lost = 0, unexplained = 0;
	double rate = 0;

	for (unsigned int i = 0; i < s->records; i++) {
		const struct aux_record *r = &s->record[i];

		ns = record_ns(s, i);
		if (!ns || ns > PAUSE_NS || r->flags || r->size < 1024)
			continue;
		rate = (double)r->size / ns > rate ? (double)r->size / ns : rate;
		longest = ns > longest ? ns : longest;
		largest = r->size > largest ? r->size : largest;
	}
	for (unsigned int i = 0; i < s->records; i++) {
		const struct aux_record *r = &s->record[i];

		if (!(r->flags & PERF_AUX_FLAG_PARTIAL))
			continue;
		ns = record_ns(s, i);
		lost++;
		if (!ns)
			continue;
		if (lost == 1 || 2 * rate * ns < r->size)
			remark("lost: rate %.1f MB/s x (period + latency) %.2f ms = %.1f KiB, window %.1f KiB",
			       1e3 * rate, ns / 1e6, rate * ns / 1024, r->size / 1024.0);
		unexplained += rate && 2 * rate * ns < r->size;
	}
	remark("lossless: rate %.1f MB/s x (period + latency) %.2f ms at most = %.1f KiB; %u records, up to %.1f KiB, %u lost",
	       1e3 * rate, longest / 1e6, rate * longest / 1024, s->records, largest / 1024.0,
	       lost);

	return !unexplained;
}

static bool record_self(struct session *s, uint64_t config, int cpu)
{
	struct perf_event_attr attr = user_attr();

	attr.config = config;
	CHECK(session_open(s, &attr, 0, cpu, AUX_DEFAULT));
	CHECK(session_enable(s));
	spin(20000);
	CHECK(session_disable(s));
	session_read(s);
	remark("%llu bytes in %u records", (unsigned long long)trace_bytes(s), s->records);
	CHECK(trace_bytes(s) > 100);
	CHECK(!(s->flags & PERF_AUX_FLAG_TRUNCATED));
	if (s->flags && small_sink())
		CHECK(lost_with_reason(s));
	else
		CHECK(!s->flags && check_trace(s, true));
	CHECK(s->hw_ids >= 1);
	CHECK((s->hw_id & NTRACE_HW_ID_VERSION) == NTRACE_HW_ID_VERSION_1);
	CHECK(sink_is_shared() == !(s->hw_id & NTRACE_HW_ID_PRIVATE));
	/* Messages have SRC if the sink is shared, or if the encoder cannot omit it. */
	CHECK((sink_is_shared() || !cap("inhibitsrc")) == !!(s->hw_id & NTRACE_HW_ID_SRCBITS));
	CHECK(s->hw_id & NTRACE_HW_ID_PRIV_U);
	CHECK(!(s->hw_id & (NTRACE_HW_ID_PRIV_S | NTRACE_HW_ID_PRIV_M)));

	return true;
}

static unsigned int hw_mode(const struct session *s)
{
	return (s->hw_id & NTRACE_HW_ID_INSTMODE) /
	       (NTRACE_HW_ID_INSTMODE & -NTRACE_HW_ID_INSTMODE);
}

static bool test_record_htm(void)
{
	bool ok;

	if (!cap("htm"))
		SKIP("no HTM");
	ok = record_self(&the_session, 0, -1) && hw_mode(&the_session) == 6;
	session_close(&the_session);

	return ok;
}

static bool test_record_btm(void)
{
	bool ok;

	if (!cap("btm"))
		SKIP("no BTM");
	ok = record_self(&the_session, SET(BTM, 1), -1) && hw_mode(&the_session) == 3;
	session_close(&the_session);

	return ok;
}

static bool test_record_fields(void)
{
	uint64_t config = SET(SYNCMODE, 3) | SET(SYNCMAX, 4);
	bool ok;

	config |= cap("contextid") ? SET(CONTEXTID, 1) : 0;
	config |= cap("timestamp") ? SET(TIMESTAMP, 1) : 0;
	config |= cap("extaddr") ? SET(EXTADDR, 1) : 0;
	config |= cap("retstack") & 8 ? SET(RETSTACK, 3) : 0;
	pin(0);
	ok = record_self(&the_session, config, 0);
	unpin();
	CHECK(ok);
	CHECK(!!(the_session.hw_id & NTRACE_HW_ID_CONTEXT) == !!cap("contextid"));
	CHECK(!!(the_session.hw_id & NTRACE_HW_ID_TIMESTAMP) == !!cap("timestamp"));
	CHECK(the_session.hw_ids == 1);
	session_close(&the_session);

	return true;
}

/* The hardware ID record is written as soon as there is room for it. */
static bool hw_id_is_repeated(struct session *s)
{
	CHECK(!ioctl(s->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1));
	CHECK(session_enable(s));
	spin(100);
	CHECK(session_disable(s));
	CHECK(!ioctl(s->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0));
	session_read(s);
	CHECK(!s->hw_ids && !s->records);

	for (int i = 0; i < 3; i++) {
		CHECK(session_enable(s));
		spin(100);
		CHECK(session_disable(s));
	}
	session_read(s);
	remark("%u records of the hardware, %u of trace", s->hw_ids, s->records);
	CHECK(s->hw_ids == 1 && s->records >= 3);

	return true;
}

static bool test_hw_id_lost(void)
{
	struct perf_event_attr attr = user_attr();
	bool ok;

	pin(0);
	ok = session_open(&the_session, &attr, 0, 0, AUX_DEFAULT) &&
	     hw_id_is_repeated(&the_session);
	unpin();
	session_close(&the_session);

	return ok;
}

/* Count how often trace begins while the task runs without system calls, for a third of a second */
static bool count_records(struct session *s, struct perf_event_attr *attr, unsigned int *records)
{
	struct timespec begin, now;

	CHECK(session_open(s, attr, 0, -1, 16UL << 20));
	CHECK(session_enable(s));
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		spin(1000);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - begin.tv_sec) * 1000 +
		 (now.tv_nsec - begin.tv_nsec) / 1000000 < 333);
	CHECK(session_disable(s));
	session_read(s);
	*records = s->records;
	session_close(s);

	return true;
}

/*
 * A frequency, which `perf record -F` sets for all events, must not stop trace at every tick.
 */
static bool test_frequency(void)
{
	struct perf_event_attr attr = user_attr();
	unsigned int once, ticks;

	CHECK(count_records(&the_session, &attr, &once));
	attr.freq = 1;
	attr.sample_freq = 1000;
	CHECK(count_records(&the_session, &attr, &ticks));
	remark("%u records, with a frequency %u", once, ticks);
	CHECK(once && ticks && ticks < 2 * once + 10);

	return true;
}

/*
 * Events with different terms, one after the other, on the same hart: no setting of an earlier
 * event may remain.
 */
static bool reconfigured(void)
{
	struct perf_event_attr attr = user_attr();
	struct session *s = &the_session;
	uint64_t config = 0, returns = cap("retstack") & 8 ? SET(RETSTACK, 3) : 0;
	bool btm;

	for (int i = 0; i < 12; i++) {
		btm = !cap("htm") || (i % 3 == 1 && cap("btm"));
		config = btm ? SET(BTM, 1) : SET(SYNCMODE, 1) | SET(SYNCMAX, i);
		config |= i & 1 ? returns : 0;
		CHECK(record_self(s, config, 0));
		CHECK(hw_mode(s) == (btm ? 3 : 6));
		CHECK(!!(s->hw_id & NTRACE_HW_ID_FEATURES) == (i & 1 && returns));
		session_close(s);
	}
	attr.exclude_kernel = 0;
	CHECK(session_open(s, &attr, 0, 0, AUX_DEFAULT));
	CHECK(session_enable(s));
	spin(1000);
	CHECK(session_disable(s));
	session_read(s);
	CHECK(s->hw_id & NTRACE_HW_ID_PRIV_S);
	session_close(s);

	return true;
}

static bool test_reconfigure(void)
{
	struct perf_event_attr attr = user_attr();
	/* keep the components on, so that they are not reset between two events */
	int other = event_open(&attr, getppid(), -1);
	bool ok;

	CHECK(other >= 0);
	pin(0);
	ok = reconfigured();
	unpin();
	close(other);

	return ok;
}

/*
 * Check records from *next on: each begins with a sync message and is complete, unless its flags
 * report lost trace.
 */
static bool session_check(struct session *s, struct messages *m, unsigned int *next)
{
	unsigned int bad;

	session_read(s);
	m->stream = sink_is_shared();
	for (; *next < s->records; (*next)++) {
		const struct aux_record *r = &s->record[*next];

		if (!r->size)
			continue;
		bad = m->bad;
		count_messages(m, s, r);
		if (r->flags)
			m->bad = bad;
		if (m->stream && !r->flags) {
			CHECK(m->bad == bad);
			continue;
		}
		if (m->first != TCODE_PTSYNC || r->flags)
			remark("record %u at %#llx size %#llx flags %#llx", *next,
			       (unsigned long long)r->offset, (unsigned long long)r->size,
			       (unsigned long long)r->flags);
		CHECK(m->stream || m->first == TCODE_PTSYNC);
		CHECK(m->bad == bad);
	}

	return true;
}

/*
 * The driver switches the window many times, and the reader keeps up: hardly any trace is lost, and
 * each loss is flagged.
 */
static bool test_moving(void)
{
	struct perf_event_attr attr = user_attr();
	struct session *s = &the_session;
	struct messages m = {};
	unsigned int next = 0;

	CHECK(session_open(s, &attr, 0, -1, AUX_DEFAULT));
	/* stop when there is no more room for records: a small sink causes very many */
	for (int i = 0; i < 40 && s->records < RECORDS / 2; i++) {
		CHECK(session_enable(s));
		spin(100000);
		CHECK(session_disable(s));
		CHECK(session_check(s, &m, &next));
		session_consume_aux(s);
	}
	remark("%llu bytes, %u messages in %u records, flags %#llx",
	       (unsigned long long)trace_bytes(s), m.total, s->records,
	       (unsigned long long)s->flags);
	CHECK(lost_with_reason(s));
	CHECK(trace_bytes(s) > AUX_DEFAULT);
	CHECK(!(s->flags & ~PERF_AUX_FLAG_PARTIAL));
	CHECK(m.count[TCODE_ERROR] == 0 || s->flags & PERF_AUX_FLAG_PARTIAL);
	CHECK(flagged_bytes(s) < trace_bytes(s) / 2);
	session_close(s);

	return true;
}

/* The area is so small that bursts overrun its windows: each loss is flagged, trace continues. */
static bool test_burst(void)
{
	struct perf_event_attr attr = user_attr();
	struct session *s = &the_session;
	unsigned int next = 0, partial = 0;
	struct messages m = {};

	if (sink_copies())
		SKIP("windows are not in the area");
	if (cap("btm"))
		attr.config = SET(BTM, 1);
	CHECK(session_open(s, &attr, 0, -1, 4 * PAGE));
	for (int i = 0; i < 2000 && (!partial || s->records < partial + 10); i++) {
		CHECK(session_enable(s));
		spin(2000);
		CHECK(session_disable(s));
		CHECK(session_check(s, &m, &next));
		session_consume_aux(s);
		if (!partial && s->flags & PERF_AUX_FLAG_PARTIAL)
			partial = s->records;
	}
	/* For information only: the records with the highest rate are those with a loss. */
	lost_with_reason(s);
	CHECK(partial);
	CHECK(s->records >= partial + 10);
	session_close(s);

	return true;
}

/* Spin until a record after the first @records has trace. */
static bool spin_until_trace(struct session *s, unsigned int records)
{
	for (int i = 0; i < 1000; i++) {
		spin(10000);
		session_read(s);
		for (unsigned int r = records; r < s->records; r++)
			if (s->record[r].size)
				return true;
		session_consume_aux(s);
	}
	remark("no trace since record %u of %u", records, s->records);

	return false;
}

/*
 * If nobody reads, the event reports that once, and traces again when there is room. The test does
 * not enable the event again: a reader may do that too early.
 */
static bool test_truncated(void)
{
	struct perf_event_attr attr = user_attr();
	struct session *s = &the_session;
	unsigned int before;

	CHECK(session_open(s, &attr, 0, -1, 8 * PAGE));
	CHECK(session_enable(s));
	for (int i = 0; i < 1000 && !(s->flags & PERF_AUX_FLAG_TRUNCATED); i++) {
		spin(10000);
		session_read(s);
	}
	CHECK(s->flags & PERF_AUX_FLAG_TRUNCATED);
	CHECK(trace_bytes(s) > 4 * PAGE);
	CHECK(trace_bytes(s) < 8 * PAGE);

	/* reported once, however long the area is full and however often the task is switched */
	before = s->records;
	for (int i = 0; i < 20; i++) {
		spin(10000);
		usleep(1000);
	}
	session_read(s);
	CHECK(s->records == before);

	session_consume_aux(s);
	CHECK(spin_until_trace(s, before));
	CHECK(session_disable(s));
	session_close(s);

	return true;
}

/*
 * The reader sets the tail ahead of the head. Then there is no room, whatever there was before. An
 * area that is unmapped while it is in use looks the same to the driver.
 */
static bool get_ahead(struct session *s)
{
	struct perf_event_attr attr = user_attr();

	CHECK(session_open(s, &attr, 0, -1, 16 * PAGE));
	CHECK(session_enable(s));
	spin(1000);
	__atomic_store_n(&s->page->aux_tail, 1ULL << 40, __ATOMIC_RELEASE);
	for (int i = 0; i < 100; i++)
		spin(10000);
	session_read(s);
	CHECK(trace_bytes(s) < 16 * PAGE);

	return true;
}

static bool test_reader_ahead(void)
{
	struct session *s = &the_session;

	CHECK(get_ahead(s));
	CHECK(session_disable(s));
	session_close(s);

	CHECK(record_self(s, 0, -1));
	session_close(s);

	return true;
}

/* The driver reports the loss before new trace, as there was no room for a record earlier. */
static bool test_reader_back(void)
{
	struct session *s = &the_session;
	unsigned int before;

	CHECK(get_ahead(s));
	before = s->records;
	session_consume_aux(s);
	CHECK(spin_until_trace(s, before));
	CHECK(session_disable(s));
	session_read(s);
	CHECK(s->record[before].flags & PERF_AUX_FLAG_TRUNCATED);
	session_close(s);

	return true;
}

/* A child stalls while nobody reads. Once the test reads, no byte is lost. */
static bool stall_read(struct session *s, pid_t pid, int *status, struct messages *m)
{
	struct timespec nap = { .tv_nsec = 20 * 1000 * 1000 };
	unsigned int idle = 0, next = 0;
	uint64_t before = 0;

	/* no progress for a while: the area is full, and the child waits */
	while (idle < 10) {
		nanosleep(&nap, NULL);
		session_read(s);
		idle = trace_bytes(s) == before ? idle + 1 : 0;
		before = trace_bytes(s);
		CHECK(!waitpid(pid, status, WNOHANG));
	}
	remark("waits after %llu bytes", (unsigned long long)before);

	do {
		CHECK(session_check(s, m, &next));
		session_consume_aux(s);
		nanosleep(&nap, NULL);
	} while (!waitpid(pid, status, WNOHANG));

	return session_check(s, m, &next);
}

static bool test_stall(void)
{
	struct perf_event_attr attr = user_attr();
	struct session *s = &the_session;
	struct messages m = {};
	int status, go[2];
	pid_t pid;
	char c;

	if (!cap("stall"))
		SKIP("no stall");
	CHECK(!pipe(go));
	fflush(stdout);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(go[1]);
		pin(0);
		if (read(go[0], &c, 1) != 1)
			_exit(1);
		spin(1000000);
		_exit(0);
	}

	attr.config = SET(STALL, 1);
	CHECK(session_open(s, &attr, pid, -1, 64 * PAGE));
	CHECK(session_enable(s));
	CHECK(write(go[1], "", 1) == 1);
	close(go[0]);
	close(go[1]);
	pin(sysconf(_SC_NPROCESSORS_CONF) - 1);
	CHECK(stall_read(s, pid, &status, &m));
	unpin();
	remark("%llu bytes in %u records, flags %#llx", (unsigned long long)trace_bytes(s),
	       s->records, (unsigned long long)s->flags);
	CHECK(lost_with_reason(s));
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
	CHECK(trace_bytes(s) > 64 * PAGE);
	CHECK(!s->flags);
	CHECK(!m.bad);
	CHECK(!m.count[TCODE_ERROR]);
	session_close(s);

	return true;
}

/* Count the messages of a shared sink's stream in the records of both sessions */
static void count_stream(struct messages *m, const struct session *a, const struct session *b)
{
	unsigned int i = 0, k = 0;
	bool first;

	m->stream = true;
	while (i < a->records || k < b->records) {
		first = k == b->records ||
			(i < a->records && a->record[i].time <= b->record[k].time);
		if (first)
			count_messages(m, a, &a->record[i++]);
		else
			count_messages(m, b, &b->record[k++]);
	}
}

/* Fork a child on a CPU that calls work() when it reads from the pipe */
static pid_t child_on(int cpu, int go[2], void (*work)(void))
{
	pid_t pid;
	char c;

	fflush(stdout);
	pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(go[1]);
	pin(cpu);
	if (read(go[0], &c, 1) != 1)
		_exit(1);
	work();
	_exit(0);
}

#define INDIRECT	200000

/* Each round has a return, which needs a message. */
static void spin_indirect(void)
{
	spin(INDIRECT);
}

/* Conditional branches, for ever: a message reports 31 of them. */
static void spin_direct(void)
{
	for (unsigned int i = 0; ; i++)
		if (i & 1)
			sink++;
}

/*
 * The area of one child is full and nobody reads it. The area of another child, which shares the
 * sink, has room. Then trace of the first child is in the records of the second, or the first child
 * waits. No trace is lost without a flag.
 */
static bool test_stall_beside(void)
{
	static struct session other;
	struct perf_event_attr attr = user_attr();
	struct session *s = &the_session;
	struct timespec nap = { .tv_nsec = 20 * 1000 * 1000 };
	unsigned int idle = 0, told;
	uint64_t before = 0;
	struct messages m = {};
	int status, go[2];
	pid_t pid, second;

	if (!cap("stall"))
		SKIP("no stall");
	if (!sink_is_shared() || sysconf(_SC_NPROCESSORS_CONF) < 2)
		SKIP("no two CPUs share a sink");
	CHECK(!pipe(go));
	pid = child_on(0, go, spin_indirect);
	second = child_on(1, go, spin_direct);

	attr.config = SET(STALL, 1);
	CHECK(session_open(s, &attr, pid, -1, 64 * PAGE));
	CHECK(session_open(&other, &attr, second, -1, 16 * AUX_DEFAULT));
	CHECK(session_enable(s) && session_enable(&other));
	CHECK(write(go[1], "ab", 2) == 2);
	/* until it ends, or for a minute without progress, because the machine may be busy */
	while (idle < 3000 && !waitpid(pid, &status, WNOHANG)) {
		nanosleep(&nap, NULL);
		session_read(s);
		session_read(&other);
		idle = trace_bytes(s) + trace_bytes(&other) == before ? idle + 1 : 0;
		before = trace_bytes(s) + trace_bytes(&other);
	}
	remark("%llu and %llu bytes%s", (unsigned long long)trace_bytes(s),
	       (unsigned long long)trace_bytes(&other), idle < 3000 ? "" : ", waits");
	kill(second, SIGKILL);
	waitpid(second, &status, 0);
	if (idle == 3000) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	}
	session_read(s);
	session_read(&other);
	close(go[0]);
	close(go[1]);
	count_stream(&m, s, &other);
	/* IndirectBranch and IndirectBranchHist, with synchronisation or without */
	told = m.count[4] + m.count[12] + m.count[28] + m.count[29];
	remark("%u messages, %u of jumps that nothing else tells, in %u and %u records, flags %#llx %#llx",
	       m.total, told, s->records, other.records, (unsigned long long)s->flags,
	       (unsigned long long)other.flags);
	CHECK(idle < 3000);
	CHECK(!s->flags && !other.flags);
	CHECK(!m.bad && !m.count[TCODE_ERROR]);
	CHECK(told >= INDIRECT);
	session_close(&other);
	session_close(s);

	return true;
}

/*
 * Unmap the AUX area again and again, while a thread on another CPU is traced into it, and
 * disables, enables and reads its event. Without an area the driver must not access it.
 */
static struct {
	struct session *s;
	volatile pid_t tid;
	volatile bool go, end;
} unmapping;

static void *unmapping_traced(void *arg)
{
	uint64_t value;

	pin(1);
	unmapping.tid = syscall(SYS_gettid);
	while (!unmapping.go)
		sched_yield();
	for (unsigned int i = 1; !unmapping.end; i++) {
		session_enable(unmapping.s);
		spin(i % 1024);
		session_disable(unmapping.s);
		if (read(unmapping.s->fd, &value, sizeof(value)) != sizeof(value))
			break;
	}

	return NULL;
}

static bool unmap_often(unsigned long times, uint64_t config)
{
	struct perf_event_attr attr = user_attr();
	struct session *s = &the_session;
	unsigned long done = 0;
	pthread_t thread;
	bool ok;

	memset(&unmapping, 0, sizeof(unmapping));
	unmapping.s = s;
	CHECK(!pthread_create(&thread, NULL, unmapping_traced, NULL));
	while (!unmapping.tid)
		sched_yield();
	attr.config = config;
	ok = session_open(s, &attr, unmapping.tid, -1, 2 * PAGE);
	unmapping.end = !ok;
	unmapping.go = true;
	while (ok && done < times) {
		/* at another moment each time */
		for (volatile unsigned int i = done % 2048; i; i--)
			;
		session_unmap_aux(s);
		/* the records' times and sizes do not matter */
		s->page->data_tail = s->page->data_head;
		s->page->aux_tail = s->page->aux_head;
		ok = session_map_aux(s, 2 * PAGE, PROT_READ | PROT_WRITE);
		done++;
	}
	unmapping.end = true;
	/* with stall the thread waits for room if its area is full */
	while (pthread_tryjoin_np(thread, NULL)) {
		s->page->data_tail = s->page->data_head;
		s->page->aux_tail = s->page->aux_head;
		sched_yield();
	}
	CHECK(ok);
	remark("%lu times, %llu bytes of trace", done, (unsigned long long)s->page->aux_head);
	CHECK(s->page->aux_head);
	session_close(s);

	return true;
}

static bool test_unmap(void)
{
	unsigned long times = test_times ? test_times : 2000;

	if (sysconf(_SC_NPROCESSORS_CONF) < 2)
		SKIP("one CPU");
	pin(0);
	if (!cap("stall"))
		CHECK(unmap_often(times, 0));
	else
		CHECK(unmap_often(times / 2, 0) && unmap_often(times - times / 2, SET(STALL, 1)));
	unpin();

	return true;
}

/* Trace a whole CPU */
static bool test_cpu_wide(void)
{
	struct perf_event_attr attr = user_attr();
	struct session *s = &the_session;

	attr.exclude_kernel = 0;
	pin(0);
	CHECK(session_open(s, &attr, -1, 0, 4 * AUX_DEFAULT));
	CHECK(session_enable(s));
	spin(1000);
	CHECK(session_disable(s));
	unpin();
	session_read(s);
	remark("%llu bytes in %u records, flags %#llx", (unsigned long long)trace_bytes(s),
	       s->records, (unsigned long long)s->flags);
	CHECK(check_trace(s, true));
	CHECK(s->hw_id & NTRACE_HW_ID_PRIV_U && s->hw_id & NTRACE_HW_ID_PRIV_S);
	session_close(s);

	return true;
}

/* AUX pause and resume: perf_event_attr::aux_action */
enum { START_PAUSED = 1, PAUSE = 2, RESUME = 4 };

static int clock_open(int group, uint64_t period, unsigned int action)
{
	struct perf_event_attr attr = {
		.size		= sizeof(attr),
		.type		= PERF_TYPE_SOFTWARE,
		.config		= PERF_COUNT_SW_CPU_CLOCK,
		.sample_period	= period,
		.use_clockid	= 1,
		.clockid	= CLOCK_MONOTONIC,
		.aux_action	= action,
	};

	return syscall(SYS_perf_event_open, &attr, 0, -1, group, PERF_FLAG_FD_CLOEXEC);
}

static bool paused_run(struct session *s, unsigned int *syncs)
{
	struct messages m = { .stream = sink_is_shared() };

	CHECK(session_enable(s));
	spin(3000000);
	CHECK(session_disable(s));
	session_read(s);
	for (unsigned int i = 0; i < s->records; i++)
		count_messages(&m, s, &s->record[i]);
	CHECK(!m.bad);
	*syncs = m.count[TCODE_PTSYNC];

	return true;
}

static bool test_pause(void)
{
	struct perf_event_attr attr = user_attr();
	struct session *s = &the_session;
	unsigned int syncs;
	int pause, resume;

	attr.aux_action = START_PAUSED;
	if (refused(attr, 0, -1))
		SKIP("a kernel without AUX pause");
	CHECK(session_open(s, &attr, 0, -1, AUX_DEFAULT));
	CHECK(paused_run(s, &syncs));
	CHECK(!trace_bytes(s));

	resume = clock_open(s->fd, 5000000, RESUME);
	CHECK(resume >= 0);
	pause = clock_open(s->fd, 2000000, PAUSE);
	CHECK(pause >= 0);
	CHECK(paused_run(s, &syncs));
	remark("%u syncs, %llu bytes", syncs, (unsigned long long)trace_bytes(s));
	CHECK(syncs >= 3);
	close(pause);
	close(resume);
	session_close(s);

	return true;
}

#define TRACEFS	"/sys/kernel/tracing"

/* Add an event for a system call with an AUX action to the group; -1: no such tracepoint */
static int syscall_open(int group, const char *name, unsigned int action)
{
	struct perf_event_attr attr = {
		.size		= sizeof(attr),
		.type		= PERF_TYPE_TRACEPOINT,
		.sample_period	= 1,
		.use_clockid	= 1,
		.clockid	= CLOCK_MONOTONIC,
		.aux_action	= action,
	};
	char path[128];
	long id;

	mount("nodev", TRACEFS, "tracefs", 0, NULL);
	snprintf(path, sizeof(path), TRACEFS "/events/syscalls/sys_enter_%s/id", name);
	id = read_number(path);
	if (id < 0)
		return -1;
	attr.config = id;

	return syscall(SYS_perf_event_open, &attr, 0, -1, group, PERF_FLAG_FD_CLOEXEC);
}

/* Does the last record say that the area is full? It may be older than the room that was made. */
static bool area_is_full(const struct session *s)
{
	const struct aux_record *last = &s->record[s->records - 1];

	return s->records && last->flags & PERF_AUX_FLAG_TRUNCATED &&
	       last->offset + last->size - s->page->aux_tail > s->page->aux_size / 2;
}

/* Make room, and trace until the area is full. */
static bool fill_area(struct session *s)
{
	session_consume_aux(s);
	for (int i = 0; i < 1000; i++) {
		spin(10000);
		session_read(s);
		if (area_is_full(s))
			return true;
	}

	return false;
}

/*
 * A pause or resume while the area is full takes effect when there is room. The driver polls for
 * room with its own timer: perf does not start the event again, unless there is a context switch.
 */
static bool pause_full(struct session *s)
{
	unsigned long long bytes;

	CHECK(fill_area(s));
	syscall(SYS_getppid);
	/* A context switch publishes what was traced before the pause. */
	usleep(1000);
	session_read(s);
	bytes = trace_bytes(s);
	session_consume_aux(s);
	for (int i = 0; i < 20; i++) {
		spin(10000);
		session_read(s);
		session_consume_aux(s);
	}
	remark("paused while full: %llu bytes more", trace_bytes(s) - bytes);
	CHECK(trace_bytes(s) == bytes);

	syscall(SYS_getpgid, 0);
	CHECK(fill_area(s));
	syscall(SYS_getppid);
	syscall(SYS_getpgid, 0);
	session_consume_aux(s);
	CHECK(spin_until_trace(s, s->records));

	return true;
}

static bool test_pause_full(void)
{
	struct perf_event_attr attr = user_attr();
	struct session *s = &the_session;
	int pause, resume;

	attr.aux_action = START_PAUSED;
	if (refused(attr, 0, -1))
		SKIP("a kernel without AUX pause");
	attr.aux_action = 0;
	CHECK(session_open(s, &attr, 0, -1, 8 * PAGE));
	pause = syscall_open(s->fd, "getppid", PAUSE);
	resume = syscall_open(s->fd, "getpgid", RESUME);
	if (pause < 0 || resume < 0) {
		session_close(s);
		SKIP("a kernel without tracepoints of system calls");
	}
	CHECK(session_enable(s));
	for (int i = 0; i < 5; i++)
		CHECK(pause_full(s));
	CHECK(session_disable(s));
	close(pause);
	close(resume);
	session_close(s);

	return true;
}

/* Tests: repetition */

static bool test_cycles(void)
{
	struct perf_event_attr attr = user_attr();

	for (int i = 0; i < 1000; i++) {
		attr.config = (i & 1 ? SET(SYNCMODE, 2) : 0) |
			      (i & 2 && cap("contextid") ? SET(CONTEXTID, 1) : 0);
		CHECK(session_open(&the_session, &attr, 0, i & 4 ? 0 : -1, 16 * PAGE));
		if (i % 10 == 0)
			CHECK(session_enable(&the_session));
		session_close(&the_session);
	}

	return true;
}

/*
 * On hardware that fails (in the test bed): the driver does not reset a failed component while an
 * event holds it. Afterwards it resets the component, which works like before.
 */
static bool test_failed_while_used(void)
{
	struct perf_event_attr attr = user_attr();
	struct session *s = &the_session;
	unsigned int before;

	pin(0);
	CHECK(session_open(s, &attr, 0, 0, AUX_DEFAULT));
	CHECK(session_enable(s));
	spin(1000);
	CHECK(session_disable(s));
	session_read(s);
	if (!(s->flags & PERF_AUX_FLAG_PARTIAL)) {
		unpin();
		session_close(s);
		SKIP("nothing fails here");
	}
	/* the second start fails and is reported, too */
	before = s->records;
	CHECK(session_enable(s));
	spin(1000);
	CHECK(session_disable(s));
	session_read(s);
	CHECK(s->records > before);
	CHECK(s->record[s->records - 1].flags & PERF_AUX_FLAG_PARTIAL);
	CHECK(refused(attr, getppid(), 0) == EIO);
	/* a task can still be traced on other CPUs */
	if (sysconf(_SC_NPROCESSORS_CONF) > 1)
		CHECK(!refused(attr, getppid(), -1));
	session_close(s);
	CHECK(!refused(attr, getppid(), 0));
	unpin();

	return true;
}

static bool test_unload_while_used(void)
{
	struct perf_event_attr attr = user_attr();
	int fd;

	if (access("/sys/module/ntrace/initstate", F_OK))
		SKIP("the driver is built into this kernel");
	fd = event_open(&attr, 0, -1);
	CHECK(fd >= 0);
	CHECK(syscall(SYS_delete_module, "ntrace", O_NONBLOCK) < 0);
	CHECK(errno == EWOULDBLOCK || errno == EBUSY);
	close(fd);

	return true;
}

/* A software event that maps the area keeps it, and the module, after the trace event is closed. */
static bool test_unload_while_mapped(void)
{
	struct perf_event_attr attr = user_attr(), other = {
		.size		= sizeof(other),
		.type		= PERF_TYPE_SOFTWARE,
		.config		= PERF_COUNT_SW_DUMMY,
		.disabled	= 1,
	};
	struct session *s = &the_session;
	long refs = read_number("/sys/module/ntrace/refcnt");
	uint8_t *page, *aux;
	int fd;

	if (refs < 0)
		SKIP("the driver is built into this kernel");
	CHECK(session_open(s, &attr, 0, -1, AUX_DEFAULT));
	other.use_clockid = attr.use_clockid;
	other.clockid = attr.clockid;
	fd = event_open(&other, 0, -1);
	CHECK(fd >= 0);
	CHECK(!ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, s->fd));
	page = mmap(NULL, (1 + DATA_PAGES) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(page != MAP_FAILED);
	aux = mmap(NULL, AUX_DEFAULT, PROT_READ, MAP_SHARED, fd, (1 + DATA_PAGES) * PAGE);
	CHECK(aux != MAP_FAILED);
	session_close(s);
	CHECK(read_number("/sys/module/ntrace/refcnt") > refs);
	munmap(aux, AUX_DEFAULT);
	munmap(page, (1 + DATA_PAGES) * PAGE);
	close(fd);
	CHECK(read_number("/sys/module/ntrace/refcnt") == refs);

	return true;
}

/* sinkid of another sink that a CPU's encoder leads to, or 0 */
static long second_sink_of_cpu(int cpu)
{
	struct perf_event_attr attr = user_attr();
	DIR *dir = opendir(PMU "sinks");
	struct dirent *e;
	char path[300];
	long sink = 0;

	while (dir && !sink && (e = readdir(dir))) {
		snprintf(path, sizeof(path), "sinks/%s", e->d_name);
		attr.config2 = e->d_name[0] == '.' ? sink_of_cpu(cpu) : sysfs_number(path);
		if ((long)attr.config2 != sink_of_cpu(cpu) && !refused(attr, 0, cpu))
			sink = attr.config2;
	}
	if (dir)
		closedir(dir);

	return sink;
}

/*
 * An encoder sends trace to all outputs that accept it. While it is used with its own sink, it
 * cannot be used with a sink after a funnel, because that sink would get the trace of both.
 */
static bool test_two_outputs(void)
{
	struct perf_event_attr attr = user_attr(), other = user_attr();
	int fd;

	other.config2 = second_sink_of_cpu(0);
	if (!other.config2)
		SKIP("no encoder has two sinks");
	fd = event_open(&attr, 0, 0);
	CHECK(fd >= 0);
	CHECK(refused(other, getppid(), 0) == EBUSY);
	CHECK(!refused(attr, getppid(), 0));
	close(fd);
	fd = event_open(&other, 0, 0);
	CHECK(fd >= 0);
	CHECK(refused(attr, getppid(), 0) == EBUSY);
	CHECK(!refused(attr, getppid(), 1));
	close(fd);
	CHECK(!refused(attr, getppid(), 0));

	return true;
}

/* Outside of the reported trace the area is not written: it stays all zeros (R58). */
static bool test_red_zone(void)
{
	struct perf_event_attr attr = user_attr();
	struct session *s = &the_session;
	uint64_t end = 0, touched = 0;

	CHECK(session_open(s, &attr, 0, -1, AUX_DEFAULT));
	for (int i = 0; i < 5; i++) {
		CHECK(session_enable(s));
		spin(3000);
		CHECK(session_disable(s));
		session_read(s);
		CHECK(s->records && s->page->aux_head <= s->aux_size / 2);
		for (unsigned int r = 0; r < s->records; r++)
			if (s->record[r].offset + s->record[r].size > end)
				end = s->record[r].offset + s->record[r].size;
		CHECK(end == s->page->aux_head);
		for (uint64_t at = end; at < s->aux_size; at++)
			CHECK(!s->aux[at]);
	}
	for (uint64_t at = 0; at < end; at++)
		touched += !!s->aux[at];
	CHECK(touched > end / 2);
	session_close(s);

	return true;
}

/* Tests: components that are unbound */

/* "bind" or "unbind" a device */
static bool driver_write(const char *what, const char *device)
{
	char path[128];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), DRIVER "%s", what);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return false;
	n = write(fd, device, strlen(device));
	close(fd);

	return n == (ssize_t)strlen(device);
}

/* The device of a CPU's encoder, or the name of its sink */
static bool component_of_cpu(int cpu, bool sink, char *name, size_t size)
{
	char path[64], target[256];
	ssize_t n;

	snprintf(path, sizeof(path), "cpu%d/sink", cpu);
	if (sink)
		return sysfs_line(path, name, size);

	snprintf(path, sizeof(path), PMU "cpu%d", cpu);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return false;
	target[n] = 0;
	snprintf(name, size, "%s", strrchr(target, '/') + 1);

	return true;
}

struct times {
	uint64_t value, enabled, running;
};

/* A component that the event needs is unbound, and bound again. */
static bool check_unbound(struct session *s, const char *device, bool pinned)
{
	struct perf_event_attr attr = user_attr();
	struct times before, after;
	unsigned int records;

	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	attr.pinned = pinned;
	CHECK(session_open(s, &attr, 0, 0, AUX_DEFAULT));
	CHECK(session_enable(s));
	spin(3000);
	CHECK(driver_write("unbind", device));

	session_read(s);
	CHECK(s->records && s->record[0].size && s->flags == PERF_AUX_FLAG_PARTIAL);
	CHECK(check_stream(s, true));
	CHECK(read(s->fd, &before, sizeof(before)) == sizeof(before) && before.running);
	records = s->records;
	spin(3000);
	CHECK(read(s->fd, &after, sizeof(after)) == sizeof(after));
	CHECK(after.running == before.running);

	/* Neither other events nor this one can use it: a pinned event gets into error state. */
	attr.pinned = 0;
	CHECK(refused(attr, getppid(), 0) == ENODEV);
	CHECK(session_enable(s));
	CHECK(read(s->fd, &after, sizeof(after)) == (pinned ? 0 : (ssize_t)sizeof(after)));
	CHECK(pinned || after.running == before.running);

	CHECK(driver_write("bind", device));
	CHECK(session_disable(s) && session_enable(s));
	spin(3000);
	CHECK(session_disable(s));
	session_read(s);
	CHECK(s->records == records);
	session_close(s);

	CHECK(record_self(s, 0, 0));
	session_close(s);

	return true;
}

static bool test_unbind(void)
{
	char device[64];

	pin(0);
	for (int sink = 0; sink <= 1; sink++) {
		CHECK(component_of_cpu(0, sink, device, sizeof(device)));
		for (int pinned = 0; pinned <= 1; pinned++)
			CHECK(check_unbound(&the_session, device, pinned));
	}
	unpin();

	return true;
}

/* An event whose sink was unbound never uses its area again, even if the sink is bound again. */
static bool test_unbind_area(void)
{
	struct perf_event_attr attr = user_attr();
	struct session *s = &the_session;
	char device[64];

	pin(0);
	CHECK(component_of_cpu(0, true, device, sizeof(device)));
	CHECK(session_open(s, &attr, 0, 0, AUX_DEFAULT));
	CHECK(driver_write("unbind", device));
	session_unmap_aux(s);
	CHECK(session_map_aux(s, AUX_DEFAULT, PROT_READ | PROT_WRITE));
	CHECK(driver_write("bind", device));
	CHECK(session_enable(s));
	spin(1000);
	CHECK(session_disable(s));
	session_read(s);
	CHECK(!s->records);
	session_close(s);
	unpin();

	return true;
}

/* filters: needs privilege filters, because the test traces only user space */
static const struct {
	const char *name;
	bool (*run)(void);
	bool filters;
} tests[] = {
	{ "format/ has every field of the header", test_format },
	{ "caps/ says what the encoders can do", test_caps },
	{ "each CPU links to an encoder that leads to a sink", test_encoders },
	{ "the timestamp counter is known by its clock", test_clock },
	{ "unknown config bits are refused", test_unknown_bits },
	{ "what the hardware cannot do is refused, the rest is not", test_unsupported, true },
	{ "a counter of calls is refused for the kernel of a CPU", test_counter, true },
	{ "an unknown sink is refused, and one that is out of reach", test_sinkid, true },
	{ "exclude_* is kept or refused", test_privileges, true },
	{ "without filters only everything can be traced", test_no_filters },
	{ "stalling the kernel is refused", test_stall_kernel, true },
	{ "without privilege: user space yes, machine mode no", test_unprivileged, true },
	{ "an AUX area of one page and one of three are refused", test_aux_size, true },
	{ "perf_event_paranoid 0 to 3: what nobody may trace", test_paranoid, true },
	{ "a circular AUX area of one page or above 4 MiB is refused", test_ring_size, true },
	{ "counting is refused", test_counting, true },
	{ "a second user of an encoder gets EBUSY", test_busy, true },
	{ "a shared sink is one owner's, others get EBUSY", test_shared_owner, true },
	{ "HTM: user space of this task", test_record_htm, true },
	{ "R27: BTM: user space of this task, with SRC if the sink is shared",
	  test_record_btm, true },
	{ "every optional field at once", test_record_fields, true },
	{ "a hardware id record that found no room comes later", test_hw_id_lost, true },
	{ "a frequency does not cut trace into pieces", test_frequency, true },
	{ "events with different terms in turn", test_reconfigure, true },
	{ "moving windows, with a reader that keeps up", test_moving, true },
	{ "a burst overruns a small window: PARTIAL, and trace goes on", test_burst, true },
	{ "a full AUX area is TRUNCATED once, and trace resumes with room", test_truncated, true },
	{ "a reader that is ahead of the AUX area's head gets no trace", test_reader_ahead, true },
	{ "a reader that corrects aux_tail gets a TRUNCATED record first", test_reader_back, true },
	{ "with stall a full AUX area loses nothing", test_stall, true },
	{ "with stall a full AUX area loses nothing, beside another CPU's",
	  test_stall_beside, true },
	{ "the AUX area is unmapped again and again while trace comes", test_unmap, true },
	{ "a circular AUX area has the newest trace", test_ring, true },
	{ "trace pauses and resumes with other events", test_pause, true },
	{ "trace pauses and resumes while the AUX area is full", test_pause_full, true },
	{ "kernel and user of a CPU", test_cpu_wide, true },
	{ "R58: the AUX area has nothing outside of what its records tell of",
	  test_red_zone, true },
	{ "1000 times open, map and close", test_cycles, true },
	{ "what has failed is not reset while an event holds it", test_failed_while_used, true },
	{ "unloading while used is refused", test_unload_while_used, true },
	{ "unloading while the area is mapped is refused", test_unload_while_mapped, true },
	{ "an encoder has one sink at a time, if the other is behind a funnel",
	  test_two_outputs, true },
	{ "an encoder or a sink is unbound under an event", test_unbind, true },
	{ "a sink is unbound under an AUX area", test_unbind_area, true },
};

/* Print a file in /proc of a task, as TAP comments */
static void show(const char *task, const char *file)
{
	char path[300], line[512];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/%s", getppid(), task, file);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		fprintf(stderr, "# %s: %.*s\n", file, (int)strcspn(line, "\n"), line);
	if (f)
		fclose(f);
}

/* Start a process that shows where the threads of a hanging test are, before the test is killed. */
static pid_t watch(void)
{
	const long slow = atol(getenv("SLOW") ?: "1");
	static const char *const files[] = { "stat", "syscall", "wchan", "stack" };
	char tasks[64];
	struct dirent *e;
	pid_t pid;
	DIR *dir;

	pid = test_times ? 0 : fork();
	if (pid || test_times)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sleep(HANG_S * (slow > 0 ? slow : 1));
	snprintf(tasks, sizeof(tasks), "/proc/%d/task", getppid());
	dir = opendir(tasks);
	while (dir && (e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		fprintf(stderr, "# thread %s after %d s\n", e->d_name, HANG_S);
		for (int i = 0; i < 4; i++)
			show(e->d_name, files[i]);
	}
	_exit(0);
}

/* Run a test. A skipped test counts as ok. */
static void run(unsigned int i)
{
	const pid_t watcher = watch();
	bool skip = tests[i].filters && !cap("filters");
	char name[256];
	bool ok;

	test_why = NULL;
	the_session.fd = -1;
	ok = skip || tests[i].run();
	if (!ok) {
		unpin();
		session_close(&the_session);
	}
	if (skip)
		test_why = "no filters";
	if (watcher > 0) {
		kill(watcher, SIGKILL);
		waitpid(watcher, NULL, 0);
	}
	snprintf(name, sizeof(name), "%s%s%s", tests[i].name, test_why ? " # SKIP " : "",
		 test_why ? test_why : "");
	report(ok, name);
}

/*
 * event-test [WORDS [TIMES]]: run all tests, or those with WORDS in their description. TIMES is the
 * number of repetitions in tests that repeat.
 */
int main(int argc, char **argv)
{
	const unsigned int nr = sizeof(tests) / sizeof(tests[0]);
	const char *words = argc > 1 ? argv[1] : "";
	unsigned int i, plan = 0;

	test_times = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
	pmu_type_or_skip();
	for (i = 0; i < nr; i++)
		plan += !!strstr(tests[i].name, words);
	printf("1..%u\n", plan);
	for (i = 0; i < nr; i++)
		if (strstr(tests[i].name, words))
			run(i);

	return test_failures || !plan;
}
