// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write what existed before the recording began: tasks, their mappings, and the kernel. The records
 * look like those of the kernel, but have no time, so that they come first.
 */
#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "capture.h"
#include "cmd.h"

#define TRAILER		32	/* bytes at the end of each record: pid and tid, time, cpu, id */
#define MISC_BUILD_ID	(1 << 14)
#define KERNEL_NAME	"[kernel.kallsyms]"

/* Write a record: `fixed', a name padded to 8 bytes, and a trailer without a time */
static void write_named(struct capture *c, uint32_t type, uint16_t misc, const void *fixed,
			size_t len, const char *name)
{
	struct capture_bytes b = { NULL, 0, 0 };
	struct perf_event_header header = { .type = type, .misc = misc };
	static const uint8_t trailer[TRAILER];

	capture_put(&b, &header, sizeof(header));
	capture_put(&b, fixed, len);
	if (name)
		capture_put_text(&b, name, 8);
	capture_put(&b, trailer, sizeof(trailer));
	if (b.len <= UINT16_MAX) {
		header.size = b.len;
		memcpy(b.p, &header, sizeof(header));
		capture_file_write(c, b.p, b.len);
	}
	free(b.p);
}

void capture_task_write_comm(struct capture *c, pid_t pid, pid_t tid, const char *comm)
{
	const uint32_t fixed[2] = { pid, tid };

	write_named(c, PERF_RECORD_COMM, PERF_RECORD_MISC_USER, fixed, sizeof(fixed), comm);
}

static void write_fork(struct capture *c, pid_t pid, pid_t tid, pid_t parent)
{
	struct {
		uint32_t pid, ppid, tid, ptid;
		uint64_t time;
	} fixed = { pid, parent, tid, parent, 0 };

	write_named(c, PERF_RECORD_FORK, 0, &fixed, sizeof(fixed), NULL);
}

/* --------------------------------------------------------------- mappings - */

struct mapping {
	uint64_t start, end, offset;
	char prot[5];
	unsigned int maj, min;
	uint64_t ino;
};

/* Device and inode in the format of MMAP2 */
static const uint8_t *inode_of(const struct mapping *m, uint8_t p[16])
{
	const uint32_t maj = m->maj, min = m->min;

	memcpy(p, &maj, sizeof(maj));
	memcpy(p + 4, &min, sizeof(min));
	memcpy(p + 8, &m->ino, sizeof(m->ino));
	return p;
}

static void write_mapping(struct capture *c, pid_t pid, const struct mapping *m, const char *name)
{
	uint16_t misc = PERF_RECORD_MISC_USER;
	struct {
		uint32_t pid, tid;
		uint64_t start, len, offset;
		union {
			struct {
				uint32_t maj, min;
				uint64_t ino, generation;
			};
			struct {
				uint8_t size, reserved[3], id[BUILD_ID_MAX];
			};
		};
		uint32_t prot, flags;
	} fixed = {
		.pid = pid, .tid = pid, .start = m->start, .len = m->end - m->start,
		.offset = m->offset, .maj = m->maj, .min = m->min, .ino = m->ino,
		.prot = PROT_EXEC | (m->prot[0] == 'r' ? PROT_READ : 0) |
			(m->prot[1] == 'w' ? PROT_WRITE : 0),
		.flags = m->prot[3] == 's' ? MAP_SHARED : MAP_PRIVATE,
	};
	uint8_t id[BUILD_ID_MAX] = { 0 }, inode[16];
	unsigned int size;
	char path[PATH_MAX];

	if (*name == '/' && name[1] != '/') {
		/* the task may have another root */
		size = snprintf(path, sizeof(path), "/proc/%d/root%s", pid, name) <
		       (int)sizeof(path) ? capture_build_id_read(path, id) : 0;
		capture_build_id_note(c, misc, name, size ? id : inode_of(m, inode), size);
		if (size && c->event[EVENT_TASKS].attr.build_id) {
			memset(fixed.reserved, 0, sizeof(fixed.reserved));
			fixed.size = size;
			memcpy(fixed.id, id, sizeof(id));
			misc |= MISC_BUILD_ID;
		}
	}
	write_named(c, PERF_RECORD_MMAP2, misc, &fixed, sizeof(fixed), name);
}

/* Write the executable mappings of a thread. Returns false if it has ended, and has none. */
static bool write_mappings_of(struct capture *c, pid_t pid, pid_t tid)
{
	char path[64], *line = NULL;
	bool some = false;
	size_t room = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/maps", pid, tid);
	f = fopen(path, "re");
	while (f && getline(&line, &room, f) > 0) {
		struct mapping m;
		int at = 0;

		some = true;
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
			   &m.start, &m.end, m.prot, &m.offset, &m.maj, &m.min, &m.ino, &at) < 7 ||
		    !at || m.prot[2] != 'x')
			continue;
		write_mapping(c, pid, &m, line[at] ? line + at : "//anon");
	}
	free(line);
	if (f)
		fclose(f);
	return some;
}

static DIR *open_threads(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	return opendir(path);
}

/* The first thread may have ended while others continue. */
static void write_mappings(struct capture *c, pid_t pid)
{
	bool done = write_mappings_of(c, pid, pid);
	struct dirent *entry;
	DIR *dir = done ? NULL : open_threads(pid);

	while (dir && !done && (entry = readdir(dir)))
		if (isdigit(entry->d_name[0]))
			done = write_mappings_of(c, pid, atoi(entry->d_name));
	if (dir)
		closedir(dir);
}

/* ------------------------------------------------------------------ tasks - */

/* A process has ended if at most its first thread is left, as a zombie. */
static bool is_alive(pid_t pid)
{
	char path[64], line[512], *behind, state = 'Z';
	DIR *dir = open_threads(pid);
	unsigned int threads = 0;
	struct dirent *entry;
	FILE *f;

	while (dir && (entry = readdir(dir)))
		threads += !!isdigit(entry->d_name[0]);
	if (dir)
		closedir(dir);
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (f && fgets(line, sizeof(line), f)) {
		behind = strrchr(line, ')');
		if (behind)
			sscanf(behind + 1, " %c", &state);
	}
	if (f)
		fclose(f);
	return threads > 1 || (threads && state != 'Z' && state != 'X');
}

static void forget(struct capture_list *live, int pid)
{
	size_t i;

	for (i = 0; i < live->nr; i++)
		if (live->id[i] == pid)
			live->id[i--] = live->id[--live->nr];
}

/*
 * Maintain the list of traced processes, which is written at the start of each file. If a thread
 * calls exec(2), it takes the place of the first thread, which ends, and the process continues.
 */
void capture_task_follow(struct capture *c, const struct perf_event_header *h, const uint8_t *p)
{
	uint32_t pid, tid;

	memcpy(&pid, p + 8, sizeof(pid));
	if (!c->per_task)
		return;
	if (h->type == PERF_RECORD_COMM) {
		if (h->misc & PERF_RECORD_MISC_COMM_EXEC)
			capture_list_add(&c->live, pid);
		return;
	}
	memcpy(&tid, p + 16, sizeof(tid));
	if (pid != tid)
		return;
	if (h->type == PERF_RECORD_FORK)
		capture_list_add(&c->live, pid);
	else if (!is_alive(pid))
		forget(&c->live, pid);
}

/* Read the name and parent of a thread. Returns false if it has ended. */
static bool read_status(pid_t pid, pid_t tid, char comm[16], pid_t *parent)
{
	char path[64], line[256];
	bool named = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
	f = fopen(path, "re");
	*parent = 0;
	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "Name:\t", 6)) {
			snprintf(comm, 16, "%.15s", line + 6);
			named = true;
		}
		if (sscanf(line, "PPid: %d", parent) == 1)
			break;
	}
	if (f)
		fclose(f);
	return named;
}

static void write_thread(struct capture *c, pid_t pid, pid_t tid, bool forks)
{
	char comm[16];
	pid_t parent;

	if (!read_status(pid, tid, comm, &parent))
		return;
	if (forks || tid != pid)
		write_fork(c, pid, tid, tid == pid ? parent : pid);
	capture_task_write_comm(c, pid, tid, comm);
}

pid_t capture_task_process(pid_t tid)
{
	char path[64], line[256];
	pid_t pid = tid;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Tgid: %d", &pid) == 1)
			break;
	if (f)
		fclose(f);
	return pid;
}

void capture_task_write(struct capture *c, pid_t pid, bool forks)
{
	struct dirent *entry;
	DIR *dir;

	/* the first thread comes first, because it is the parent of the others */
	write_thread(c, pid, pid, forks);
	dir = open_threads(pid);
	while (dir && (entry = readdir(dir)))
		if (isdigit(entry->d_name[0]) && atoi(entry->d_name) != pid)
			write_thread(c, pid, atoi(entry->d_name), forks);
	if (dir)
		closedir(dir);
	write_mappings(c, pid);
}

void capture_task_write_all(struct capture *c)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (isdigit(entry->d_name[0]))
			capture_task_write(c, atoi(entry->d_name), true);
	if (dir)
		closedir(dir);
}

/* ----------------------------------------------------------------- kernel - */

static void write_kernel_map(struct capture *c, uint64_t start, uint64_t end, uint64_t offset,
			     const char *name)
{
	struct {
		uint32_t pid, tid;
		uint64_t start, len, offset;
	} fixed = { -1, 0, start, end - start, offset };

	write_named(c, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL, &fixed, sizeof(fixed), name);
}

static void note_kernel(struct capture *c, const char *name, const char *notes)
{
	uint8_t id[BUILD_ID_MAX];
	unsigned int size = capture_build_id_notes(notes, id);

	capture_build_id_note(c, PERF_RECORD_MISC_KERNEL, name, size ? id : NULL, size);
}

static void write_modules(struct capture *c)
{
	char name[64], line[512], path[256], mapped[68];
	uint64_t size, start;
	FILE *f = fopen("/proc/modules", "re");

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%63s %" SCNu64 " %*s %*s %*s %" SCNx64, name, &size,
			   &start) != 3 || !start)
			continue;
		snprintf(mapped, sizeof(mapped), "[%s]", name);
		write_kernel_map(c, start, start + size, 0, mapped);
		snprintf(path, sizeof(path), "/sys/module/%s/notes/.note.gnu.build-id", name);
		note_kernel(c, mapped, path);
	}
	if (f)
		fclose(f);
}

/* Find the kernel's text. Returns false if its addresses are hidden. */
static bool find_kernel(struct capture *c, uint64_t *start, uint64_t *end)
{
	const char *at = capture_symbols(c);
	struct capture_symbol s;

	*start = *end = 0;
	while ((!*start || !*end) && capture_symbol_next(&at, &s)) {
		if (capture_symbol_is(&s, "_text") || (!*start && capture_symbol_is(&s, "_stext")))
			*start = s.addr;
		if (capture_symbol_is(&s, "_end"))
			*end = s.addr;
	}
	return *start && *start < *end;
}

void capture_task_write_kernel(struct capture *c)
{
	uint64_t start, end;

	if (c->event[EVENT_TRACE].attr.exclude_kernel)
		return;
	note_kernel(c, KERNEL_NAME, "/sys/kernel/notes");
	if (!find_kernel(c, &start, &end)) {
		warn("the kernel's addresses are not to be seen (kernel.kptr_restrict): its functions will have no names");
		return;
	}
	write_kernel_map(c, start, end, start, KERNEL_NAME "_text");
	write_modules(c);
}
