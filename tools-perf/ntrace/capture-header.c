// SPDX-License-Identifier: GPL-2.0-only
/*
 * Features in the header of a perf.data: machine, command, build-ids, offsets of trace
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "capture.h"
#include "cmd.h"

#define NAME_ALIGN	64
#define DEVICES		"/sys/bus/event_source/devices"

/* perf's numbers, including those that nt_perfdata_ defines */
enum {
	FEAT_BUILD_ID = 2, FEAT_HOSTNAME, FEAT_OSRELEASE, FEAT_VERSION, FEAT_ARCH, FEAT_NRCPUS,
	FEAT_CPUDESC, FEAT_CPUID, FEAT_TOTAL_MEM, FEAT_CMDLINE, FEAT_EVENT_DESC,
	FEAT_PMU_MAPPINGS = 16, FEAT_AUXTRACE = 18, FEAT_SAMPLE_TIME = 21,
	FEAT_MAX
};

static void put_string(struct capture_bytes *b, const char *text)
{
	capture_put32(b, (strlen(text) + NAME_ALIGN) / NAME_ALIGN * NAME_ALIGN);
	capture_put_text(b, text, NAME_ALIGN);
}

/* Read the value of the first line "NAME : VALUE"; empty if there is none */
static void read_value(const char *path, const char *name, char *value, size_t size)
{
	char line[512], *colon;
	FILE *f = fopen(path, "re");

	*value = '\0';
	while (f && fgets(line, sizeof(line), f)) {
		colon = strchr(line, ':');
		if (!colon || strncmp(line, name, strlen(name)) ||
		    !strchr(" \t:", line[strlen(name)]))
			continue;
		colon += 1 + strspn(colon + 1, " \t");
		colon[strcspn(colon, "\n")] = '\0';
		snprintf(value, size, "%s", colon);
		break;
	}
	if (f)
		fclose(f);
}

/*
 * Is the file at this path the one that was mapped? The path may mean another file in another root.
 * The device is not compared for overlayfs and btrfs, where it differs from that in the mapping.
 */
static bool is_same_file(const struct capture_file_id *id)
{
	struct stat st;

	if (!id->ino)
		return true;
	return !stat(id->name, &st) && st.st_ino == id->ino &&
	       (st.st_dev == id->dev || !major(st.st_dev));
}

/*
 * If the kernel did not report the build-id, read it from the file, unless the file was replaced.
 */
static unsigned int find_build_id(const struct capture *c, const struct capture_file_id *id,
				  uint8_t bytes[BUILD_ID_MAX])
{
	const struct capture_file_id *other;

	if (id->size) {
		memcpy(bytes, id->id, id->size);
		return id->size;
	}
	for (other = c->ids; other; other = other->next)
		if (other->size && !strcmp(other->name, id->name))
			return 0;
	return *id->name == '/' && is_same_file(id) ? capture_build_id_read(id->name, bytes) : 0;
}

static void put_build_ids(const struct capture *c, struct capture_bytes *b)
{
	const struct capture_file_id *id;

	for (id = c->ids; id; id = id->next) {
		uint8_t bytes[BUILD_ID_MAX] = { 0 };
		unsigned int size = find_build_id(c, id, bytes);
		size_t name = (strlen(id->name) + NAME_ALIGN) / NAME_ALIGN * NAME_ALIGN;
		struct perf_event_header header = {
			/* flag: the size is given, too */
			.misc = id->misc | 1 << 15, .size = sizeof(header) + 4 + 24 + name,
		};

		if (!size || name > 4096)
			continue;
		capture_put(b, &header, sizeof(header));
		capture_put32(b, id->pid);
		capture_put(b, bytes, BUILD_ID_MAX);
		capture_put32(b, size);
		capture_put_text(b, id->name, NAME_ALIGN);
	}
}

static void put_cpuid(struct capture_bytes *b)
{
	char vendor[64], arch[64], impl[64], text[200];

	read_value("/proc/cpuinfo", "mvendorid", vendor, sizeof(vendor));
	read_value("/proc/cpuinfo", "marchid", arch, sizeof(arch));
	read_value("/proc/cpuinfo", "mimpid", impl, sizeof(impl));
	if (!*vendor && !*arch && !*impl)
		return;
	snprintf(text, sizeof(text), "%s-%s-%s", vendor, arch, impl);
	put_string(b, text);
}

static void put_cpudesc(struct capture_bytes *b)
{
	char text[256];

	read_value("/proc/cpuinfo", "uarch", text, sizeof(text));
	if (*text)
		put_string(b, text);
}

static void put_memory(struct capture_bytes *b)
{
	char text[64];

	read_value("/proc/meminfo", "MemTotal", text, sizeof(text));
	capture_put64(b, strtoull(text, NULL, 10));
}

static void put_command(const struct capture *c, struct capture_bytes *b)
{
	int i;

	capture_put32(b, c->o.argc + 1);
	put_string(b, "ntrace");
	for (i = 0; i < c->o.argc; i++)
		put_string(b, i ? c->o.argv[i] : "record");
}

static void put_events(const struct capture *c, struct capture_bytes *b)
{
	unsigned int i;

	capture_put32(b, c->nr_events);
	capture_put32(b, sizeof(struct perf_event_attr));
	for (i = 0; i < c->nr_events; i++) {
		const struct capture_event *e = &c->event[i];

		capture_put(b, &e->attr, sizeof(e->attr));
		capture_put32(b, e->nr_ids);
		put_string(b, e->name);
		capture_put(b, e->id, e->nr_ids * sizeof(*e->id));
	}
}

static void put_pmus(struct capture_bytes *b)
{
	struct capture_bytes list = { NULL, 0, 0 };
	DIR *dir = opendir(DEVICES);
	struct dirent *entry;
	char path[512];
	unsigned int type, n = 0;
	FILE *f;

	while (dir && (entry = readdir(dir))) {
		if (snprintf(path, sizeof(path), DEVICES "/%s/type", entry->d_name) >=
		    (int)sizeof(path))
			continue;
		f = fopen(path, "re");
		if (f && fscanf(f, "%u", &type) == 1) {
			capture_put32(&list, type);
			put_string(&list, entry->d_name);
			n++;
		}
		if (f)
			fclose(f);
	}
	if (dir)
		closedir(dir);
	capture_put32(b, n);
	capture_put(b, list.p, list.len);
	free(list.p);
}

/* Leave out records of trace that were cut off when the disk was full. */
static void put_index(const struct capture *c, struct capture_bytes *b)
{
	size_t i, n = 0;

	while (n < c->file.nr_traces && c->file.trace[n] < c->file.at)
		n++;
	capture_put64(b, n);
	for (i = 0; i < n; i++) {
		capture_put64(b, c->file.trace[i]);
		capture_put64(b, 48);	/* of the record without its trace */
	}
}

static void put_feature(const struct capture *c, struct capture_bytes *b, unsigned int feature)
{
	struct utsname u;

	uname(&u);
	switch (feature) {
	case FEAT_BUILD_ID:
		put_build_ids(c, b);
		break;
	case FEAT_HOSTNAME:
		put_string(b, u.nodename);
		break;
	case FEAT_OSRELEASE:
		put_string(b, u.release);
		break;
	case FEAT_VERSION:
		put_string(b, "ntrace " NTRACE_VERSION);
		break;
	case FEAT_ARCH:
		put_string(b, u.machine);
		break;
	case FEAT_NRCPUS:
		capture_put32(b, sysconf(_SC_NPROCESSORS_CONF));
		capture_put32(b, sysconf(_SC_NPROCESSORS_ONLN));
		break;
	case FEAT_CPUDESC:
		put_cpudesc(b);
		break;
	case FEAT_CPUID:
		put_cpuid(b);
		break;
	case FEAT_TOTAL_MEM:
		put_memory(b);
		break;
	case FEAT_CMDLINE:
		put_command(c, b);
		break;
	case FEAT_EVENT_DESC:
		put_events(c, b);
		break;
	case FEAT_PMU_MAPPINGS:
		put_pmus(b);
		break;
	case FEAT_AUXTRACE:
		put_index(c, b);
		break;
	case FEAT_SAMPLE_TIME:
		capture_put64(b, c->first);
		capture_put64(b, c->last);
		break;
	}
}

/* Write a section for each available feature, preceded by the table of their offsets */
void capture_header_make(struct capture *c, struct capture_bytes *b, uint64_t at,
			 uint64_t *features)
{
	struct capture_bytes one[FEAT_MAX] = { { NULL, 0, 0 } };
	unsigned int i, n = 0;

	for (i = 0; i < FEAT_MAX; i++) {
		put_feature(c, &one[i], i);
		n += !!one[i].len;
	}
	at += n * 16;
	for (i = 0; i < FEAT_MAX; i++) {
		if (!one[i].len)
			continue;
		features[i / 64] |= 1ULL << i % 64;
		capture_put64(b, at);
		capture_put64(b, one[i].len);
		at += one[i].len;
	}
	for (i = 0; i < FEAT_MAX; i++) {
		capture_put(b, one[i].p, one[i].len);
		free(one[i].p);
	}
}
