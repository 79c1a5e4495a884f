// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tasks and the mappings of processes, as reported by the records so far. An ended task is freed
 * when no more trace from before its end can follow.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "rec.h"

#define PROT_EXEC_BIT	4

/*
 * Search for tasks that can be freed after so many have ended. A search looks at every queue, and
 * delivers the counts of edges.
 */
#define ENDED	64

struct rec_task *rec_task_get(struct rec *rec, int tid, int cpu)
{
	int64_t key = tid ? tid : -1 - (int64_t)cpu;
	struct rec_task *task = rec_map_find(&rec->tasks, key);

	if (task)
		return task;
	task = calloc(1, sizeof(*task));
	if (!task)
		die("%s", nt_strerror(NT_ENOMEM));
	task->tid = tid;
	task->pid = tid ? -1 : 0;
	if (!tid)
		strcpy(task->comm, "swapper");
	else
		snprintf(task->comm, sizeof(task->comm), ":%d", tid);
	rec_map_set(&rec->tasks, key, task);
	return task;
}

/* The task that an event names. Before a part began, another one may have freed an ended task. */
static struct rec_task *named_task(struct rec *rec, int tid)
{
	struct rec_task *task = rec_task_get(rec, tid, -1);

	rec->used_ended |= task->ended && task->end < rec->begun;
	return task;
}

int rec_task_owner(const struct rec *rec, int tid)
{
	const struct rec_task *task = rec_map_find(&rec->tasks, tid), *leader;

	if (!task || task->pid <= 0 || task->pid == tid)
		return tid;
	leader = rec_map_find(&rec->tasks, task->pid);
	return leader && leader->image != task->image ? task->pid : tid;
}

struct rec_space *rec_space_get(struct rec *rec, int pid)
{
	struct rec_space *space = rec_map_find(&rec->spaces, pid);

	if (space)
		return space;
	space = calloc(1, sizeof(*space));
	if (!space)
		die("%s", nt_strerror(NT_ENOMEM));
	space->rec = rec;
	space->pid = pid;
	rec_map_set(&rec->spaces, pid, space);
	rec_count_space(rec);
	return space;
}

struct rec_space *rec_task_space(struct rec *rec, const struct rec_task *task)
{
	/* idle tasks share tid 0, and have no mappings */
	if (!task || task->tid <= 0)
		return NULL;
	return rec_space_get(rec, task->pid >= 0 ? task->pid : task->tid);
}

/* Assign a task to its process, as an event says. */
static void set_process(struct rec *rec, struct rec_task *task, int pid)
{
	struct rec_space *before;

	task->recorded = true;
	if (task->pid == pid)
		return;
	before = task->pid > 0 ? rec_map_find(&rec->spaces, task->pid) : NULL;
	if (before && before->users)
		before->users--;
	task->pid = pid;
	if (pid > 0)
		rec_space_get(rec, pid)->users++;
}

/* The first mapping that ends after an address */
static size_t find(const struct rec_space *space, uint64_t addr)
{
	size_t low = 0, high = space->nr_maps;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (space->map[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct rec_mapping *rec_space_find(const struct rec_space *space, uint64_t addr)
{
	size_t i = find(space, addr);

	return i < space->nr_maps && space->map[i].start <= addr ? &space->map[i] : NULL;
}

/* Replace `gone' mappings, from index `at' on. */
static void replace(struct rec_space *space, size_t at, size_t gone,
		    const struct rec_mapping *with, size_t nr)
{
	size_t rest = space->nr_maps - at - gone;
	struct rec_mapping *map;

	map = reallocarray(space->map, space->nr_maps + nr, sizeof(*map));
	if (!map)
		die("%s", nt_strerror(NT_ENOMEM));
	memmove(map + at + nr, map + at + gone, rest * sizeof(*map));
	memcpy(map + at, with, nr * sizeof(*map));
	space->map = map;
	space->nr_maps += nr - gone;
	space->changed = true;
}

/* Remove the parts of older mappings that the new one covers. */
static void add_mapping(struct rec_space *space, const struct rec_mapping *m)
{
	size_t first = find(space, m->start), last = first, nr = 0;
	struct rec_mapping with[3];

	while (last < space->nr_maps && space->map[last].start < m->end)
		last++;
	if (last > first && space->map[first].start < m->start) {
		with[nr] = space->map[first];
		with[nr++].end = m->start;
	}
	with[nr++] = *m;
	if (last > first && space->map[last - 1].end > m->end) {
		with[nr] = space->map[last - 1];
		with[nr].offset += m->end - with[nr].start;
		with[nr++].start = m->end;
	}
	replace(space, first, last - first, with, nr);
}

void rec_task_mmap(struct rec *rec, const struct nt_perfdata_mmap *m, bool kernel)
{
	struct rec_mapping map = { m->start, m->start + m->len, m->pgoff, NULL };
	struct rec_space *space;

	if (kernel) {
		rec_code_kernel_changed(rec, map.start, map.end);
		return;
	}
	space = rec_space_get(rec, m->pid);
	set_process(rec, named_task(rec, m->tid), m->pid);
	if (!(m->prot & PROT_EXEC_BIT) || map.end <= map.start)
		return;
	map.file = rec_file_get(rec, m->name, &m->build_id);
	rec_count_changing(rec, space, map.start, map.end);
	add_mapping(space, &map);
	rec_code_changed(space, map.start, map.end);
}

/* A new process may have the pid of an old one. It starts with the mappings of its parent. */
static void copy_space(struct rec *rec, int pid, int ppid)
{
	struct rec_space *space = rec_space_get(rec, pid), *parent = rec_space_get(rec, ppid);

	rec_count_changing(rec, space, 0, 0);
	rec_code_changed(space, 0, 0);
	space->nr_maps = 0;
	space->changed = true;
	if (parent->nr_maps)
		replace(space, 0, 0, parent->map, parent->nr_maps);
}

/*
 * The task for a new thread. What had its tid before has ended, or was only named by damaged trace.
 */
static struct rec_task *new_task(struct rec *rec, int tid)
{
	struct rec_task *task = rec_map_find(&rec->tasks, tid);

	if (task && rec->output->gone)
		rec->output->gone(rec->output->ctx, task);
	task = rec_task_get(rec, tid, -1);
	task->ended = false;
	task->born = rec->notes_done;
	task->syscall = (struct nt_session_syscall){ 0 };
	return task;
}

void rec_task_fork(struct rec *rec, int pid, int ppid, int tid, int ptid)
{
	struct rec_task *task = new_task(rec, tid), *parent = named_task(rec, ptid);

	set_process(rec, task, pid);
	parent->recorded = true;
	task->image = pid == tid ? 0 : named_task(rec, pid)->image;
	/* only the parent's tid may be known */
	if (*parent->comm == ':')
		snprintf(task->comm, sizeof(task->comm), ":%d", tid);
	else
		memcpy(task->comm, parent->comm, sizeof(task->comm));
	if (pid != ppid)
		copy_space(rec, pid, ppid);
}

void rec_task_comm(struct rec *rec, int pid, int tid, const char *name, bool exec)
{
	struct rec_task *task = named_task(rec, tid);

	set_process(rec, task, pid);
	snprintf(task->comm, sizeof(task->comm), "%s", name);
	/*
	 * Keep the mappings until they are replaced, because the place where trace ended is still
	 * looked up.
	 */
	if (!exec)
		return;
	/* If another thread takes the leader's place, the leader's EXIT came before. */
	task->ended = false;
	task->image = ++rec->images;
	rec_code_changed(rec_space_get(rec, pid), 0, 0);
}

/* -------------------------------------------------------------- the end - */

static void free_space(struct rec_space *space)
{
	nt_code_free(space->code);
	free(space->map);
	free(space);
}

/* All trace before the returned time has been decoded. */
static uint64_t done(const struct rec *rec)
{
	uint64_t time = rec->trace.reached > NT_SESSION_PAUSE_NS ?
			rec->trace.reached - NT_SESSION_PAUSE_NS : 0;
	unsigned int i;

	for (i = 0; i < rec->nr_queues; i++)
		if (rec->queue[i] && rec_queue_done(rec->queue[i]) < time)
			time = rec_queue_done(rec->queue[i]);
	return time;
}

/* After its EXIT, a task is still in the kernel until another one runs. */
static bool is_running(const struct rec *rec, const struct rec_task *task)
{
	const struct rec_space *space = rec_map_find(&rec->spaces, task->pid);
	unsigned int i;

	for (i = 0; i < rec->nr_queues; i++) {
		const struct rec_queue *q = rec->queue[i];

		if (q &&
		    (q->task == task || q->s.tid == task->tid || (space && q->space == space) ||
		     (q->s.guest && q->s.host_tid == task->tid)))
			return true;
	}
	return false;
}

/* Threads find their process's exec in the leader, which may end before them. */
static bool is_leading(const struct rec *rec, const struct rec_task *task)
{
	const struct rec_space *space = rec_map_find(&rec->spaces, task->pid);

	return task->tid == task->pid && space && space->users > 1;
}

static void free_task(struct rec *rec, struct rec_task *task)
{
	const int pid = task->pid;
	struct rec_space *space;

	if (rec->output->gone)
		rec->output->gone(rec->output->ctx, task);
	set_process(rec, task, -1);
	space = rec_map_find(&rec->spaces, pid);
	if (space && !space->users)
		free_space(rec_map_remove(&rec->spaces, pid));
	free(rec_map_remove(&rec->tasks, task->tid));
}

static void free_ended(struct rec *rec)
{
	const uint64_t time = done(rec);
	size_t i, left = 0;

	rec_code_release(rec);
	for (i = 0; i < rec->nr_ended; i++) {
		const struct rec_ended *e = &rec->ended[i];
		struct rec_task *task = rec_map_find(&rec->tasks, e->tid);

		/* a new task may have the tid */
		if (!task || !task->ended || task->end != e->time)
			continue;
		if (e->time < time && !is_running(rec, task) && !is_leading(rec, task))
			free_task(rec, task);
		else
			rec->ended[left++] = *e;
	}
	rec->nr_ended = rec->ended_left = left;
}

void rec_task_exit(struct rec *rec, int pid, int tid, uint64_t time)
{
	struct rec_task *task = tid > 0 ? rec_map_find(&rec->tasks, tid) : NULL;
	struct rec_ended *ended;

	if (!task || task->ended || rec->keep_tasks)
		return;
	set_process(rec, task, pid);
	ended = nt_session_grow(rec->ended, rec->nr_ended, sizeof(*ended));
	if (!ended)
		die("%s", nt_strerror(NT_ENOMEM));
	rec->ended = ended;
	task->ended = true;
	task->end = time;
	ended[rec->nr_ended++] = (struct rec_ended){ tid, time };
	/*
	 * Amortized: each entry is examined a few times only, however many have to stay. Before a
	 * part begins, it does not know which of them run.
	 */
	if (!rec->skipping && rec->nr_ended >= ENDED + 2 * rec->ended_left)
		free_ended(rec);
}

void rec_tasks_free(struct rec *rec)
{
	struct rec_space *space;
	size_t at = 0;
	void *task;

	while ((task = rec_map_next(&rec->tasks, &at)))
		free(task);
	rec_map_free(&rec->tasks);
	for (at = 0; (space = rec_map_next(&rec->spaces, &at));)
		free_space(space);
	rec_map_free(&rec->spaces);
	free(rec->ended);
}
