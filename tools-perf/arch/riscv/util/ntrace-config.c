// SPDX-License-Identifier: GPL-2.0-only
/*
 * The terms of an ntrace event: what the user wrote is checked against what
 * the hardware offers, and what he left open becomes the best it has.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>

#include "../../../perf-sys.h"
#include "../../../util/cloexec.h"
#include "../../../util/debug.h"
#include "../../../util/evlist.h"
#include "../../../util/evsel.h"
#include "../../../util/evsel_config.h"
#include "../../../util/pmu.h"
#include "../../../util/ntrace-compat.h"
#include "../../../util/ntrace-info.h"
#include "ntrace.h"

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
	u64 cap;
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

static u64 read_cap(struct perf_pmu *pmu, const struct field *f)
{
	const char *fmt = f->kind == FIELD_MASK ? "%llx" : "%lli";
	unsigned long long val;
	char path[64];

	snprintf(path, sizeof(path), "caps/%s", f->name);
	if (perf_pmu__scan_file(pmu, path, fmt, &val) != 1)
		return 0;
	return val;
}

static bool accepts(const struct field *f, u64 cap, u64 val)
{
	switch (f->kind) {
	case FIELD_FLAG:
		return !val || cap;
	case FIELD_MASK:
		return val < 64 && (!val || (cap & BIT_ULL(val)));
	case FIELD_MAX:
	default:
		return val <= cap;
	}
}

static void explain(struct perf_pmu *pmu, const struct field *f, u64 cap, u64 val)
{
	char list[160] = "0";
	size_t len = 1;
	int i;

	switch (f->kind) {
	case FIELD_FLAG:
		pr_err("%s: the trace encoders of this machine have no %s: leave %s=%" PRIu64 " out\n",
		       pmu->name, f->name, f->name, val);
		return;
	case FIELD_MASK:
		for (i = 1; i < 64 && len < sizeof(list) - 4; i++) {
			if (cap & BIT_ULL(i))
				len += scnprintf(list + len, sizeof(list) - len, ", %d", i);
		}
		pr_err("%s: the trace encoders of this machine do not accept %s=%" PRIu64 ", but %s\n",
		       pmu->name, f->name, val, list);
		return;
	case FIELD_MAX:
	default:
		pr_err("%s: the trace encoders of this machine accept %s up to %" PRIu64
		       ", not %" PRIu64 "\n", pmu->name, f->name, cap, val);
	}
}

u64 ntrace_config_get(struct perf_pmu *pmu, struct evsel *evsel, const char *name)
{
	u64 bits = perf_pmu__format_bits(pmu, name);

	if (!bits)
		return 0;
	return (evsel->core.attr.config & bits) >> __builtin_ctzll(bits);
}

/*
 * Where only the last bytes are kept, decoding begins at the first full address
 * among them: there should be several. Messages have some 8 bytes.
 */
static u64 syncmax_for(u64 kept, u64 val)
{
	while (kept && val && (8ULL << (val + 4)) > kept / 4)
		val--;
	return val;
}

static int apply_field(struct perf_pmu *pmu, struct evsel *evsel, const struct field *f, u64 kept)
{
	u64 cap, val;
	int i;

	/* A driver that does not know the field: then nobody set it. */
	if (!perf_pmu__format_bits(pmu, f->name))
		return 0;

	cap = read_cap(pmu, f);
	for (i = 0; i < (int)ARRAY_SIZE(f->best) && f->best[i] >= 0; i++) {
		val = f->best[i];
		if (f->kind == FIELD_MAX)
			val = min(syncmax_for(kept, val), cap);
		if (accepts(f, cap, val)) {
			ntrace_compat_set_config_if_unset(pmu, evsel, f->name, val);
			break;
		}
	}

	val = ntrace_config_get(pmu, evsel, f->name);
	if (accepts(f, cap, val))
		return 0;
	explain(pmu, f, cap, val);
	return -EINVAL;
}

static bool has_cap(struct perf_pmu *pmu, const char *path)
{
	int val;

	return perf_pmu__scan_file(pmu, path, "%d", &val) == 1 && val;
}

/* Branch history is the shorter encoding; BTM is for those who have only that. */
static int apply_mode(struct perf_pmu *pmu, struct evsel *evsel)
{
	bool htm = has_cap(pmu, "caps/htm"), btm = has_cap(pmu, "caps/btm");

	if (!htm && btm)
		ntrace_compat_set_config_if_unset(pmu, evsel, "btm", 1);

	if (ntrace_config_get(pmu, evsel, "btm") && !btm) {
		pr_err("%s: the trace encoders of this machine have no branch trace mode: leave btm=1 out\n",
		       pmu->name);
		return -EINVAL;
	}
	return 0;
}

/*
 * Encoders that cannot choose among user, kernel and machine mode cannot exclude guests either. perf
 * excludes guests by default, so clear that, unless the user chose with the modifiers G or H.
 */
static int check_filters(struct perf_pmu *pmu, struct evsel *evsel, bool mmode)
{
	struct perf_event_attr *attr = &evsel->core.attr;
	int filters, any, modes = !attr->exclude_user + !attr->exclude_kernel + mmode;

	if (perf_pmu__scan_file(pmu, "caps/filters", "%d", &filters) != 1)
		return 0;
	/* Drivers without that file knew only filters that pass any set. */
	if (perf_pmu__scan_file(pmu, "caps/anyfilter", "%d", &any) != 1)
		any = filters;
	if (any || (filters && modes == 1))
		return 0;
	if (modes == 3 && !evsel->exclude_GH)
		attr->exclude_guest = 0;
	if (modes == 3 && !attr->exclude_guest && !attr->exclude_host)
		return 0;

	if (filters)
		pr_err("%s: the trace encoders of this machine pass one privilege or everything (caps/anyfilter is 0): use %s//u, %s//k or %s/mmode/\n",
		       pmu->name, pmu->name, pmu->name, pmu->name);
	else
		pr_err("%s: the trace encoders of this machine have no filters (caps/filters is 0): they trace everything, use %s/mmode/\n",
		       pmu->name, pmu->name);
	return -EINVAL;
}

/*
 * What the driver refuses for the privileges that the event has: it can tell why only in the kernel
 * log, and perf would speak of sampling.
 */
static int check_privileges(struct perf_pmu *pmu, struct evsel *evsel)
{
	const struct perf_event_attr *attr = &evsel->core.attr;
	bool mmode = ntrace_config_get(pmu, evsel, "mmode");

	if (ntrace_config_get(pmu, evsel, "stall") && (!attr->exclude_kernel || mmode)) {
		pr_err("%s: stall traces user space only, as a kernel that is stopped could not make room: use %s/stall/u\n",
		       pmu->name, pmu->name);
		return -EINVAL;
	}
	if (attr->exclude_idle) {
		pr_err("%s: cannot leave out the idle task: leave the modifier I out\n", pmu->name);
		return -EINVAL;
	}
	return check_filters(pmu, evsel, mmode);
}

/* ntrace/@NAME/: the name's number stands in sysfs, for config2 */
static int apply_sink(struct perf_pmu *pmu, struct evsel *evsel)
{
	struct evsel_config_term *term;
	unsigned long long id;
	char path[PATH_MAX];

	list_for_each_entry(term, &evsel->config_terms, list) {
		if (term->type != EVSEL__CONFIG_TERM_DRV_CFG)
			continue;

		snprintf(path, sizeof(path), "sinks/%s", term->val.str);
		if (!perf_pmu__file_exists(pmu, path)) {
			pr_err("%s: no sink \"%s\": see /sys/bus/event_source/devices/%s/sinks/\n",
			       pmu->name, term->val.str, pmu->name);
			return -EINVAL;
		}
		if (perf_pmu__scan_file(pmu, path, "%llx", &id) != 1) {
			pr_err("%s: cannot read %s\n", pmu->name, path);
			return -EINVAL;
		}
		evsel->core.attr.config2 &= ~(u64)GENMASK(31, 0);
		evsel->core.attr.config2 |= id & GENMASK(31, 0);
	}
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
static bool may_open(const struct perf_pmu *pmu, u64 config, bool *denied)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = pmu->type,
		.config = config,
		.sample_period = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.disabled = 1,
	};
	int fd = sys_perf_event_open(&attr, 0, -1, -1, perf_event_open_cloexec_flag());

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
static bool contextid_denied(struct perf_pmu *pmu)
{
	u64 bit = perf_pmu__format_bits(pmu, "contextid");
	bool denied, ignored;

	if (!bit || !in_container() || may_open(pmu, bit, &denied) || !denied)
		return false;
	return may_open(pmu, 0, &ignored);
}

/* Without ids in the trace, context switches are recorded beside it. */
static int apply_contextid(struct perf_pmu *pmu, struct evsel *evsel, bool *denied)
{
	*denied = contextid_denied(pmu);
	if (!*denied)
		return 0;
	if (ntrace_config_get(pmu, evsel, "contextid")) {
		pr_err("%s: contextid=1 in a container (a PID namespace of its own) needs CAP_PERFMON outside of it, for the trace has thread ids of the host: leave it out, or record with contextid=0\n",
		       pmu->name);
		return -EACCES;
	}
	pr_warning("%s: recording with contextid=0: in a container (a PID namespace of its own) contextid needs CAP_PERFMON outside of it\n",
		   pmu->name);
	return 0;
}

/* @kept: how many bytes of trace are kept at a time, 0: all */
int ntrace_config_apply(struct perf_pmu *pmu, struct evsel *evsel, u64 kept)
{
	bool denied;
	size_t i;
	int err;

	err = apply_mode(pmu, evsel) ?: apply_contextid(pmu, evsel, &denied);
	if (err)
		return err;

	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		if (denied && !strcmp(fields[i].name, "contextid"))
			continue;
		err = apply_field(pmu, evsel, &fields[i], kept);
		if (err)
			return err;
	}
	if (kept && !ntrace_config_get(pmu, evsel, "syncmode"))
		pr_warning("%s: without syncmode only trace that begins in the %" PRIu64 " bytes kept can be decoded\n",
			   pmu->name, kept);
	err = check_privileges(pmu, evsel);
	return err ?: apply_sink(pmu, evsel);
}

u64 ntrace_config_caps(struct perf_pmu *pmu)
{
	u64 caps = 0, val;
	size_t i;

	if (has_cap(pmu, "caps/htm"))
		caps |= NTRACE_CAP_HTM;
	if (has_cap(pmu, "caps/btm"))
		caps |= NTRACE_CAP_BTM;
	if (!has_cap(pmu, "caps/inhibitsrc"))
		caps |= NTRACE_CAP_SRC_ALWAYS;

	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		val = read_cap(pmu, &fields[i]);
		if (fields[i].kind == FIELD_FLAG && val)
			caps |= fields[i].cap;
		else if (!strcmp(fields[i].name, "retstack"))
			caps |= (val & 0xf) << NTRACE_CAP_RETSTACK_SHIFT;
		else if (!strcmp(fields[i].name, "syncmode"))
			caps |= (val & 0xf) << NTRACE_CAP_SYNCMODE_SHIFT;
	}
	return caps;
}
