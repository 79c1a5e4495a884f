// SPDX-License-Identifier: GPL-2.0-only
/*
 * The terms of an ntrace event: what the user wrote is checked against what
 * the hardware offers, and what he left open becomes the best it has.
 * No part of perf: the ntrace command has this file, too.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/perf_event.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "../../../util/ntrace-info.h"
#include "ntrace-pmu.h"

#define BIT(n)		(1ULL << (n))
#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))

static void __attribute__((format(printf, 3, 4)))
say(const struct ntrace_terms *t, bool error, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int n;

	n = snprintf(text, sizeof(text), NTRACE_PMU_NAME ": ");
	va_start(ap, fmt);
	vsnprintf(text + n, sizeof(text) - n, fmt, ap);
	va_end(ap);
	t->say(error, text);
}

enum field_kind {
	FIELD_FLAG,		/* the capability is 0 or 1 */
	FIELD_MASK,		/* bit n of the capability: value n is accepted */
	FIELD_MAX,		/* the capability is the largest value */
};

/*
 * Each config field once. @best: what to take if the user says nothing: the
 * first of these values that the hardware accepts, up to a negative one.
 */
static const struct field {
	const char *name;
	enum field_kind kind;
	int best[4];
	uint64_t cap;
} fields[] = {
	{ "contextid",	FIELD_FLAG, { 1, -1 },		NTRACE_CAP_CONTEXTID },
	{ "timestamp",	FIELD_FLAG, { 1, -1 },		NTRACE_CAP_TIMESTAMP },
	/* Not 1: a counter that context switches corrupt. */
	{ "retstack",	FIELD_MASK, { 3, 2, -1 },	0 },
	{ "seqjump",	FIELD_FLAG, { 1, -1 },		NTRACE_CAP_SEQJUMP },
	{ "repeathist",	FIELD_FLAG, { 1, -1 },		NTRACE_CAP_REPEATHIST },
	{ "extaddr",	FIELD_FLAG, { 1, -1 },		NTRACE_CAP_EXTADDR },
	/* Costs trace and tells nothing that the code does not. */
	{ "alljumps",	FIELD_FLAG, { -1 },		NTRACE_CAP_ALLJUMPS },
	/* Changes what is measured. */
	{ "stall",	FIELD_FLAG, { -1 },		NTRACE_CAP_STALL },
	/* Count messages: so a loss costs so much trace, not so much time. */
	{ "syncmode",	FIELD_MASK, { 1, 3, 2, -1 },	0 },
	{ "syncmax",	FIELD_MAX,  { 8, -1 },		0 },
};

static uint64_t read_cap(const struct field *f)
{
	uint64_t val;
	char file[64];

	snprintf(file, sizeof(file), "caps/%s", f->name);
	return ntrace_pmu_number(file, f->kind == FIELD_MASK, &val) ? val : 0;
}

static bool accepts(const struct field *f, uint64_t cap, uint64_t val)
{
	switch (f->kind) {
	case FIELD_FLAG:
		return !val || cap;
	case FIELD_MASK:
		return val < 64 && (!val || (cap & BIT(val)));
	case FIELD_MAX:
	default:
		return val <= cap;
	}
}

static void explain(const struct ntrace_terms *t, const struct field *f, uint64_t cap,
		    uint64_t val)
{
	char list[160] = "0";
	size_t len = 1;
	int i;

	switch (f->kind) {
	case FIELD_FLAG:
		say(t, true, "the trace encoders of this machine have no %s: leave %s=%" PRIu64
		    " out", f->name, f->name, val);
		return;
	case FIELD_MASK:
		for (i = 1; i < 64 && len < sizeof(list) - 4; i++) {
			if (cap & BIT(i))
				len += sprintf(list + len, ", %d", i);
		}
		say(t, true, "the trace encoders of this machine do not accept %s=%" PRIu64
		    ", but %s", f->name, val, list);
		return;
	case FIELD_MAX:
	default:
		say(t, true, "the trace encoders of this machine accept %s up to %" PRIu64
		    ", not %" PRIu64, f->name, cap, val);
	}
}

uint64_t ntrace_terms_get(uint64_t config, const char *name)
{
	uint64_t bits = ntrace_pmu_bits(name, "config");

	return bits ? (config & bits) >> __builtin_ctzll(bits) : 0;
}

/*
 * Where only the last bytes are kept, decoding begins at the first full address
 * among them: there should be several. Messages have some 8 bytes.
 */
static uint64_t syncmax_for(uint64_t kept, uint64_t val)
{
	while (kept && val && (8ULL << (val + 4)) > kept / 4)
		val--;
	return val;
}

static int apply_field(struct ntrace_terms *t, const struct field *f, uint64_t kept)
{
	uint64_t cap, val;
	size_t i;

	/* A driver that does not know the field: then nobody set it. */
	if (!ntrace_pmu_bits(f->name, "config"))
		return 0;

	cap = read_cap(f);
	for (i = 0; i < COUNT(f->best) && f->best[i] >= 0; i++) {
		val = f->best[i];
		if (f->kind == FIELD_MAX) {
			val = syncmax_for(kept, val);
			val = val < cap ? val : cap;
		}
		if (accepts(f, cap, val)) {
			t->set_if_unset(t, f->name, val);
			break;
		}
	}

	val = ntrace_terms_get(t->config, f->name);
	if (accepts(f, cap, val))
		return 0;
	explain(t, f, cap, val);
	return -EINVAL;
}

static bool has_cap(const char *file)
{
	uint64_t val;

	return ntrace_pmu_number(file, false, &val) && val;
}

/* Branch history is the shorter encoding; BTM is for those who have only that. */
static int apply_mode(struct ntrace_terms *t)
{
	bool htm = has_cap("caps/htm"), btm = has_cap("caps/btm");

	if (!htm && btm)
		t->set_if_unset(t, "btm", 1);

	if (ntrace_terms_get(t->config, "btm") && !btm) {
		say(t, true,
		    "the trace encoders of this machine have no branch trace mode: leave btm=1 out");
		return -EINVAL;
	}
	return 0;
}

/*
 * Encoders that cannot choose among user, kernel and machine mode cannot exclude guests either.
 * perf excludes guests by default, so clear that, unless the user chose with the modifiers G or H.
 */
static int check_filters(struct ntrace_terms *t, bool mmode)
{
	int modes = !t->exclude_user + !t->exclude_kernel + mmode;
	uint64_t filters, any;

	if (!ntrace_pmu_number("caps/filters", false, &filters))
		return 0;
	/* Drivers without that file knew only filters that pass any set. */
	if (!ntrace_pmu_number("caps/anyfilter", false, &any))
		any = filters;
	if (any || (filters && modes == 1))
		return 0;
	if (modes == 3 && !t->guests_chosen)
		t->exclude_guest = false;
	if (modes == 3 && !t->exclude_guest && !t->exclude_host)
		return 0;

	if (filters)
		say(t, true,
		    "the trace encoders of this machine pass one privilege or everything (caps/anyfilter is 0): use ntrace//u, ntrace//k or ntrace/mmode/");
	else
		say(t, true,
		    "the trace encoders of this machine have no filters (caps/filters is 0): they trace everything, use ntrace/mmode/");
	return -EINVAL;
}

/*
 * What the driver refuses for the privileges that the event has: it can tell why only in the kernel
 * log, and perf would speak of sampling.
 */
static int check_privileges(struct ntrace_terms *t)
{
	bool mmode = ntrace_terms_get(t->config, "mmode");

	if (ntrace_terms_get(t->config, "stall") && (!t->exclude_kernel || mmode)) {
		say(t, true,
		    "stall traces user space only, as a kernel that is stopped could not make room: use ntrace/stall/u");
		return -EINVAL;
	}
	if (t->exclude_idle) {
		say(t, true, "cannot leave out the idle task: leave the modifier I out");
		return -EINVAL;
	}
	return check_filters(t, mmode);
}

/* ntrace/@NAME/: the name's number stands in sysfs, for config2 */
static int apply_sink(struct ntrace_terms *t)
{
	char file[256];
	uint64_t id;

	if (!t->sink)
		return 0;
	if (snprintf(file, sizeof(file), "sinks/%s", t->sink) >= (int)sizeof(file) ||
	    strchr(t->sink, '/') || !ntrace_pmu_exists(file)) {
		say(t, true, "no sink \"%.100s\": see /sys/bus/event_source/devices/ntrace/sinks/",
		    t->sink);
		return -EINVAL;
	}
	if (!ntrace_pmu_number(file, true, &id)) {
		say(t, true, "cannot read %s", file);
		return -EINVAL;
	}
	t->config2 &= ~0xffffffffULL;
	t->config2 |= id & 0xffffffff;
	return 0;
}

/* The inode of the initial PID namespace, the same on all Linux machines */
#define INIT_PID_NS	0xeffffffcU

static bool in_container(void)
{
	struct stat st;

	return !stat("/proc/self/ns/pid", &st) && st.st_ino != INIT_PID_NS;
}

/* Does the kernel let this user have an event like that, for a task of theirs? */
static bool may_open(uint64_t config, bool *denied)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.config = config,
		.sample_period = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.disabled = 1,
	};
	uint64_t type;
	int fd = -1;

	errno = ENODEV;
	if (ntrace_pmu_number("type", false, &type)) {
		attr.type = type;
		fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	}
	*denied = fd < 0 && errno == EACCES;
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/*
 * The trace has thread ids as the initial PID namespace numbers them, which the kernel shows in
 * other namespaces to those only who may see all of the machine. Whether one of those is here,
 * it knows best: capabilities of a user namespace do not count.
 */
static bool contextid_denied(void)
{
	uint64_t bit = ntrace_pmu_bits("contextid", "config");
	bool denied, ignored;

	if (!bit || !in_container() || may_open(bit, &denied) || !denied)
		return false;
	return may_open(0, &ignored);
}

/* Without ids in the trace, context switches are recorded beside it. */
static int apply_contextid(struct ntrace_terms *t, bool *denied)
{
	*denied = contextid_denied();
	if (!*denied)
		return 0;
	if (ntrace_terms_get(t->config, "contextid")) {
		say(t, true,
		    "contextid=1 in a container (a PID namespace of its own) needs CAP_PERFMON outside of it, for the trace has thread ids of the host: leave it out, or record with contextid=0");
		return -EACCES;
	}
	say(t, false,
	    "recording with contextid=0: in a container (a PID namespace of its own) contextid needs CAP_PERFMON outside of it");
	return 0;
}

int ntrace_terms_apply(struct ntrace_terms *t, uint64_t kept)
{
	bool denied;
	size_t i;
	int err;

	err = apply_mode(t) ?: apply_contextid(t, &denied);
	if (err)
		return err;

	for (i = 0; i < COUNT(fields); i++) {
		if (denied && !strcmp(fields[i].name, "contextid"))
			continue;
		err = apply_field(t, &fields[i], kept);
		if (err)
			return err;
	}
	if (kept && !ntrace_terms_get(t->config, "syncmode"))
		say(t, false, "without syncmode only trace that begins in the %" PRIu64
		    " bytes kept can be decoded", kept);
	err = check_privileges(t);
	return err ?: apply_sink(t);
}

uint64_t ntrace_terms_caps(void)
{
	uint64_t caps = 0, val;
	size_t i;

	if (has_cap("caps/htm"))
		caps |= NTRACE_CAP_HTM;
	if (has_cap("caps/btm"))
		caps |= NTRACE_CAP_BTM;
	if (!has_cap("caps/inhibitsrc"))
		caps |= NTRACE_CAP_SRC_ALWAYS;

	for (i = 0; i < COUNT(fields); i++) {
		val = read_cap(&fields[i]);
		if (fields[i].kind == FIELD_FLAG && val)
			caps |= fields[i].cap;
		else if (!strcmp(fields[i].name, "retstack"))
			caps |= (val & 0xf) << NTRACE_CAP_RETSTACK_SHIFT;
		else if (!strcmp(fields[i].name, "syncmode"))
			caps |= (val & 0xf) << NTRACE_CAP_SYNCMODE_SHIFT;
	}
	return caps;
}
