// SPDX-License-Identifier: GPL-2.0-only
/*
 * Explain what the kernel refused, and what to do about it
 */
#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "capture.h"
#include "cmd.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON	38
#endif

/* Inode of the initial user namespace, a constant of the kernel */
#define INIT_USER_NS	0xeffffffdU

/* Print a message that is shared with perf. Both prefix it with "ntrace", so remove one. */
void capture_say(bool error, const char *text)
{
	if (!strncmp(text, "ntrace: ", 8))
		text += 8;
	if (error)
		die("%s", text);
	warn("%s", text);
}

long capture_sysctl(const char *name, long otherwise)
{
	char path[128];
	long val = otherwise;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
	f = fopen(path, "re");
	if (f) {
		if (fscanf(f, "%ld", &val) != 1)
			val = otherwise;
		fclose(f);
	}
	return val;
}

static long paranoid(void)
{
	return capture_sysctl("perf_event_paranoid", 2);
}

static bool has_capability(unsigned int cap)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	return !syscall(SYS_capget, &header, data) && data[cap / 32].effective >> cap % 32 & 1;
}

/* Capabilities do not count in another user namespace. */
static bool in_user_namespace(void)
{
	struct stat st;

	return !stat("/proc/self/ns/user", &st) && st.st_ino != INIT_USER_NS;
}

static bool may_everything(void)
{
	return !in_user_namespace() &&
	       (has_capability(CAP_PERFMON) || has_capability(CAP_SYS_ADMIN));
}

/* May this user lock any amount of memory? The kernel checks this for buffers. */
bool capture_may_lock(void)
{
	return paranoid() < 0 || (!in_user_namespace() && has_capability(CAP_IPC_LOCK));
}

/* The default seccomp filters of Docker and podman refuse this system call. */
static bool has_seccomp(void)
{
	char line[128];
	int mode = 0;
	FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Seccomp: %d", &mode) == 1)
			break;
	if (f)
		fclose(f);
	return mode == 2;
}

void capture_die_pmu(void)
{
	struct utsname u;

	if (!uname(&u) && strncmp(u.machine, "riscv", 5))
		die("this machine (%s) has no N-Trace: record on a RISC-V one, and bring perf.data here",
		    u.machine);
	if (access("/sys/bus/event_source/devices", F_OK))
		die("there is no /sys/bus/event_source/devices: in a container /sys has to be mounted; else this kernel is without CONFIG_PERF_EVENTS");
	die("the kernel has no PMU `ntrace': load its driver (modprobe ntrace); if that is loaded, its words are in dmesg, and the device tree must name the trace components");
}

static void __attribute__((noreturn))
die_denied(const struct capture *c, const struct perf_event_attr *attr, pid_t tid)
{
	bool mmode = ntrace_terms_get(attr->config, "mmode");
	bool stall = ntrace_terms_get(attr->config, "stall");

	if (may_everything())
		die("the kernel refuses the event to this user, who has CAP_PERFMON: a security module, or a filter of system calls%s (in a container: --security-opt seccomp=...)",
		    has_seccomp() ? ", which this process has" : "");
	if (in_user_namespace() && !getuid())
		die("the kernel refuses the event: root of a container, or of a user namespace, is not root of the machine; it takes CAP_PERFMON outside, or kernel.perf_event_paranoid (now %ld) set there",
		    paranoid());
	if (mmode || stall)
		die("%s takes root or CAP_PERFMON, as it %s", mmode ? "mmode" : "stall",
		    mmode ? "shows what firmware does" : "delays all that runs on the hart");
	if (!c->per_task && paranoid() > 0)
		die("to trace CPUs (-a, -C), whoever runs there, takes root, CAP_PERFMON, or kernel.perf_event_paranoid of at most 0 (it is %ld); a program of your own: ntrace record -e ntrace//u -- COMMAND",
		    paranoid());
	if (!attr->exclude_kernel && paranoid() > 1)
		die("to trace the kernel takes root, CAP_PERFMON, or kernel.perf_event_paranoid of at most 1 (it is %ld); user space alone: -e ntrace//u",
		    paranoid());
	if (paranoid() > 2)
		die("this kernel gives events to root and CAP_PERFMON alone (kernel.perf_event_paranoid is %ld): sysctl kernel.perf_event_paranoid=2 allows programs of one's own",
		    paranoid());
	if (tid != -1 && tid != c->child)
		die("task %d is another user's, or may not be traced (ptrace(2)): that takes root or CAP_PERFMON",
		    tid);
	die("the kernel refuses the event: a security module, or a filter of system calls%s (in a container: --security-opt seccomp=...)",
	    has_seccomp() ? ", which this process has" : "");
}

void capture_die_open(const struct capture *c, unsigned int event, int cpu, pid_t tid, int err)
{
	const struct perf_event_attr *attr = &c->event[event].attr;

	switch (err) {
	case EACCES:
	case EPERM:
		die_denied(c, attr, tid);
	case EBUSY:
		die("the trace sink of CPU %d is in use: another recording (perf, ntrace) has it; end that one, or take another sink, ntrace/@NAME/ with a NAME of /sys/bus/event_source/devices/ntrace/sinks/ (unless the encoder is used for one of two sinks, and a funnel leads to either)",
		    cpu);
	case ESRCH:
		die("there is no task %d (any more)", tid);
	case EMFILE:
	case ENFILE:
		die("too many open files, each task has an event for each CPU: raise the limit (ulimit -n), or name fewer tasks");
	case ENODEV:
	case ENOENT:
		if (event != EVENT_TRACE)
			break;
		die("CPU %d cannot be traced%s: its encoder or sink is not usable, dmesg tells why", cpu,
		    ntrace_terms_get(attr->config, "contextid") ? " like that" : "");
	case EINVAL:
	case EOPNOTSUPP:
		if (event != EVENT_TRACE)
			break;
		die("the driver refuses `%s': %s; dmesg tells more", c->event[event].name,
		    strerror(err));
	case ENOSYS:
		die("this kernel has no perf events (CONFIG_PERF_EVENTS)");
	}
	die("cannot open the event `%s' on CPU %d: %s", c->event[event].name, cpu, strerror(err));
}

static long locked_kib(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return -1;
	return (long)(limit.rlim_cur / 1024);
}

void capture_die_map(const struct capture *c, bool aux, int err)
{
	uint64_t size = (aux ? c->aux_size : c->data_size) / 1024;
	const char *what = aux ? "trace" : "records";

	switch (err) {
	case EPERM:
		die("buffers of %llu KiB for records and %llu KiB for trace for each CPU are more than this user may lock (kernel.perf_event_mlock_kb %ld for each CPU, and ulimit -l %ld): take smaller ones, -m 64K,64K, or raise a limit",
		    (unsigned long long)c->data_size / 1024, (unsigned long long)c->aux_size / 1024,
		    capture_sysctl("perf_event_mlock_kb", 516), locked_kib());
	case ENOMEM:
		die("there is no memory for a buffer of %llu KiB for %s for each CPU: take a smaller one, -m DATA,AUX",
		    (unsigned long long)size, what);
	case EINVAL:
	case EOPNOTSUPP:
		if (aux)
			die("the driver takes no buffer of %llu KiB for trace: dmesg tells why; another size: -m ,SIZE",
			    (unsigned long long)size);
	}
	die("cannot map a buffer of %llu KiB for %s: %s", (unsigned long long)size, what,
	    strerror(err));
}
