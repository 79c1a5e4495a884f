// SPDX-License-Identifier: GPL-2.0-only
/*
 * The history of tasks: the records that describe them. A record is valid until another one
 * replaces it. The code that fills the history decides how long replaced records are still needed.
 *
 *	process ---- maps of its program
 *	   |
 *	threads ---- FORK, COMM of each
 *
 * perf describes the child of a fork by its parent. Here, the child gets copies of the parent's
 * records, so that it no longer depends on the parent.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>

#include "event.h"
#include "hashmap.h"
#include "ntrace-history.h"

struct thread_history {
	struct list_head	node;
	struct process_history	*process;
	pid_t			tid;
	struct list_head	records;
};

struct process_history {
	pid_t			pid;
	struct list_head	threads;
	struct list_head	maps;
};

struct ntrace_history {
	struct hashmap		*processes, *threads;
	struct ntrace_record	**running;	/* for each ring: the current task's switch */
	unsigned int		nr_lists;
	struct list_head	*gone;
	size_t			gone_size;
	size_t			nr;
	u64			seq;
};

static size_t hash_number(long key, void *ctx __maybe_unused)
{
	return key;
}

static bool equal_number(long a, long b, void *ctx __maybe_unused)
{
	return a == b;
}

/* --- records ---------------------------------------------------------------- */

static size_t record_size(struct ntrace_record *rec)
{
	return sizeof(*rec) + ntrace_record_event(rec)->header.size;
}

static void record_free(struct ntrace_history *h, struct ntrace_record *rec)
{
	h->nr--;
	free(rec);
}

static void free_list(struct list_head *list)
{
	struct ntrace_record *rec, *next;

	list_for_each_entry_safe(rec, next, list, node)
		free(rec);
}

static void keep(struct ntrace_history *h, struct ntrace_record *rec, struct list_head *list)
{
	h->nr++;
	rec->seq = h->seq++;
	list_add_tail(&rec->node, list);
}

/* Another record replaced this one. */
static void put_away(struct ntrace_history *h, struct ntrace_record *rec, unsigned int list,
		     u64 until)
{
	rec->until = until;
	list_move_tail(&rec->node, &h->gone[list]);
	h->gone_size += record_size(rec);
}

static void put_all_away(struct ntrace_history *h, struct list_head *records, unsigned int list,
			 u64 until)
{
	struct ntrace_record *rec, *next;

	list_for_each_entry_safe(rec, next, records, node)
		put_away(h, rec, list, until);
}

/* Copy a record for another task, valid from @time on. COMM, MMAP and MMAP2 begin alike. */
static int copy_for(struct ntrace_history *h, struct ntrace_record *rec, pid_t pid, pid_t tid,
		    u64 time, struct list_head *list)
{
	struct ntrace_record *copy = malloc(record_size(rec));
	union perf_event *event;

	if (!copy)
		return -ENOMEM;
	memcpy(copy, rec, record_size(rec));
	copy->time = time;
	event = ntrace_record_event(copy);
	event->comm.pid = pid;
	event->comm.tid = tid;
	memcpy((u8 *)event + copy->time_at, &time, sizeof(time));
	if (event->header.type == PERF_RECORD_COMM)
		event->header.misc &= ~PERF_RECORD_MISC_COMM_EXEC;
	keep(h, copy, list);
	return 0;
}

/* --- processes and threads -------------------------------------------------- */

static struct process_history *find_process(struct ntrace_history *h, pid_t pid)
{
	struct process_history *p = NULL;

	return hashmap__find(h->processes, (long)pid, &p) ? p : NULL;
}

static struct process_history *get_process(struct ntrace_history *h, pid_t pid)
{
	struct process_history *p = find_process(h, pid);

	if (p)
		return p;
	p = zalloc(sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	INIT_LIST_HEAD(&p->threads);
	INIT_LIST_HEAD(&p->maps);
	if (hashmap__add(h->processes, (long)pid, p))
		zfree(&p);
	return p;
}

static struct thread_history *find_thread(struct ntrace_history *h, pid_t tid)
{
	struct thread_history *t = NULL;

	return hashmap__find(h->threads, (long)tid, &t) ? t : NULL;
}

static struct thread_history *new_thread(struct ntrace_history *h, struct process_history *p,
					 pid_t tid)
{
	struct thread_history *t = zalloc(sizeof(*t));

	if (!t)
		return NULL;
	t->tid = tid;
	t->process = p;
	INIT_LIST_HEAD(&t->records);
	if (hashmap__add(h->threads, (long)tid, t)) {
		zfree(&t);
		return NULL;
	}
	list_add_tail(&t->node, &p->threads);
	return t;
}

static void end_thread(struct ntrace_history *h, struct thread_history *t, unsigned int list,
		       u64 time)
{
	put_all_away(h, &t->records, list, time);
	hashmap__delete(h->threads, (long)t->tid, NULL, NULL);
	list_del(&t->node);
	free(t);
}

static void end_process(struct ntrace_history *h, struct process_history *p, unsigned int list,
			u64 time)
{
	struct thread_history *t, *next;

	list_for_each_entry_safe(t, next, &p->threads, node)
		end_thread(h, t, list, time);
	put_all_away(h, &p->maps, list, time);
	hashmap__delete(h->processes, (long)p->pid, NULL, NULL);
	free(p);
}

static struct thread_history *get_thread(struct ntrace_history *h, struct process_history *p,
					 pid_t tid, u64 time)
{
	struct thread_history *t = find_thread(h, tid);

	if (t && t->process == p)
		return t;
	/* The thread of another process, whose end was lost */
	if (t)
		end_thread(h, t, NTRACE_HISTORY_EXIT, time);
	return new_thread(h, p, tid);
}

/* --- events of tasks -------------------------------------------------------- */

/* IDs are reused. The records of the old task's end may be lost. */
static void end_namesakes(struct ntrace_history *h, const struct perf_record_fork *fork, u64 time)
{
	struct process_history *p = find_process(h, fork->pid);
	struct thread_history *t = find_thread(h, fork->tid);

	if (p && fork->pid != fork->ppid)
		end_process(h, p, NTRACE_HISTORY_EXIT, time);
	else if (t)
		end_thread(h, t, NTRACE_HISTORY_EXIT, time);
}

static int inherit(struct ntrace_history *h, const struct perf_record_fork *fork,
		   struct thread_history *child, u64 time)
{
	struct process_history *parent = find_process(h, fork->ppid);
	struct thread_history *of = find_thread(h, fork->ptid);
	struct ntrace_record *rec;
	int err = 0;

	if (of) {
		list_for_each_entry(rec, &of->records, node) {
			if (!err && ntrace_record_event(rec)->header.type == PERF_RECORD_COMM)
				err = copy_for(h, rec, fork->pid, fork->tid, time, &child->records);
		}
	}
	if (!parent || fork->pid == fork->ppid)
		return err;
	list_for_each_entry(rec, &parent->maps, node) {
		if (!err)
			err = copy_for(h, rec, fork->pid, fork->tid, time, &child->process->maps);
	}
	return err;
}

static int on_fork(struct ntrace_history *h, struct ntrace_record *rec)
{
	struct perf_record_fork *fork = &ntrace_record_event(rec)->fork;
	struct process_history *p;
	struct thread_history *t;

	/* perf synthesizes this for a task that already runs; its other records follow. */
	if (!rec->time) {
		free(rec);
		return 0;
	}
	end_namesakes(h, fork, rec->time);
	p = get_process(h, fork->pid);
	t = p ? get_thread(h, p, fork->tid, rec->time) : NULL;
	if (!t) {
		free(rec);
		return -ENOMEM;
	}
	/* With this flag, perf takes only the copies, and inherits nothing. */
	fork->header.misc |= PERF_RECORD_MISC_FORK_EXEC;
	keep(h, rec, &t->records);
	return inherit(h, fork, t, rec->time);
}

static void on_exec(struct ntrace_history *h, struct thread_history *t, struct ntrace_record *exec)
{
	unsigned int list = NTRACE_HISTORY_EXEC(exec->ring);
	struct process_history *p = t->process;
	struct thread_history *other, *next;

	/* The thread that called exec now has the process's ID. */
	list_for_each_entry_safe(other, next, &p->threads, node) {
		if (other != t)
			end_thread(h, other, list, exec->time);
	}
	put_all_away(h, &p->maps, list, exec->time);
}

static int on_comm(struct ntrace_history *h, struct ntrace_record *rec)
{
	union perf_event *event = ntrace_record_event(rec);
	bool exec = event->header.misc & PERF_RECORD_MISC_COMM_EXEC;
	struct process_history *p = get_process(h, event->comm.pid);
	struct thread_history *t = p ? get_thread(h, p, event->comm.tid, rec->time) : NULL;
	struct ntrace_record *old, *next;

	if (!t) {
		free(rec);
		return -ENOMEM;
	}
	if (exec)
		on_exec(h, t, rec);
	list_for_each_entry_safe(old, next, &t->records, node) {
		if (ntrace_record_event(old)->header.type == PERF_RECORD_COMM)
			put_away(h, old, exec ? NTRACE_HISTORY_EXEC(rec->ring) : NTRACE_HISTORY_MAP,
				 rec->time);
	}
	keep(h, rec, &t->records);
	return 0;
}

static u64 map_start(struct ntrace_record *rec)
{
	union perf_event *event = ntrace_record_event(rec);

	return event->header.type == PERF_RECORD_MMAP ? event->mmap.start : event->mmap2.start;
}

static u64 map_end(struct ntrace_record *rec)
{
	union perf_event *event = ntrace_record_event(rec);

	return map_start(rec) +
	       (event->header.type == PERF_RECORD_MMAP ? event->mmap.len : event->mmap2.len);
}

static bool is_same_map(struct ntrace_record *a, struct ntrace_record *b)
{
	union perf_event *x = ntrace_record_event(a), *y = ntrace_record_event(b);
	size_t skip = offsetof(struct perf_record_mmap, start);

	return x->header.type == y->header.type && x->header.misc == y->header.misc &&
	       x->header.size - a->ids == y->header.size - b->ids &&
	       !memcmp((u8 *)x + skip, (u8 *)y + skip, x->header.size - a->ids - skip);
}

/* Mapping the same again changes nothing; compilers do this at run time. */
static bool is_mapped(struct process_history *p, struct ntrace_record *rec)
{
	struct ntrace_record *old;

	list_for_each_entry_reverse(old, &p->maps, node) {
		if (map_start(old) < map_end(rec) && map_start(rec) < map_end(old))
			return is_same_map(old, rec);
	}
	return false;
}

static int on_map(struct ntrace_history *h, struct ntrace_record *rec)
{
	union perf_event *event = ntrace_record_event(rec);
	bool user = (event->header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER;
	struct process_history *p = user ? get_process(h, event->mmap.pid) : NULL;
	struct ntrace_record *old, *next;

	if (!p || is_mapped(p, rec)) {
		free(rec);
		return user && !p ? -ENOMEM : 0;
	}
	list_for_each_entry_safe(old, next, &p->maps, node) {
		if (map_start(rec) <= map_start(old) && map_end(old) <= map_end(rec))
			put_away(h, old, NTRACE_HISTORY_MAP, rec->time);
	}
	keep(h, rec, &p->maps);
	return 0;
}

static int on_end(struct ntrace_history *h, struct ntrace_record *rec)
{
	const struct perf_record_fork *fork = &ntrace_record_event(rec)->fork;
	struct process_history *p = find_process(h, fork->pid);
	struct thread_history *t = find_thread(h, fork->tid);

	if (t)
		end_thread(h, t, NTRACE_HISTORY_EXIT, rec->time);
	if (p && list_empty(&p->threads))
		end_process(h, p, NTRACE_HISTORY_EXIT, rec->time);
	h->nr++;
	rec->seq = h->seq++;
	INIT_LIST_HEAD(&rec->node);
	put_away(h, rec, NTRACE_HISTORY_EXIT, rec->time);
	return 0;
}

static int on_switch(struct ntrace_history *h, struct ntrace_record *rec)
{
	struct ntrace_record **running = &h->running[rec->ring];

	if (*running)
		put_away(h, *running, NTRACE_HISTORY_SWITCH(rec->ring), rec->time);
	h->nr++;
	rec->seq = h->seq++;
	INIT_LIST_HEAD(&rec->node);
	*running = rec;
	return 0;
}

/* --- interface -------------------------------------------------------------- */

/* Add a record, in time order. Takes ownership of @rec. */
int ntrace_history_add(struct ntrace_history *h, struct ntrace_record *rec)
{
	switch (ntrace_record_event(rec)->header.type) {
	case PERF_RECORD_FORK:
		return on_fork(h, rec);
	case PERF_RECORD_COMM:
		return on_comm(h, rec);
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return on_map(h, rec);
	case PERF_RECORD_EXIT:
		return on_end(h, rec);
	case PERF_RECORD_ITRACE_START:
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return on_switch(h, rec);
	default:
		free(rec);
		return 0;
	}
}

static void forget(struct ntrace_history *h, struct ntrace_record *rec)
{
	h->gone_size -= record_size(rec);
	list_del(&rec->node);
	record_free(h, rec);
}

/* Forget the records of a list that were replaced before a time. */
void ntrace_history_forget(struct ntrace_history *h, unsigned int list, u64 before)
{
	struct ntrace_record *rec, *next;

	list_for_each_entry_safe(rec, next, &h->gone[list], node) {
		if (rec->until >= before)
			break;
		forget(h, rec);
	}
}

/*
 * Limit replaced records to @most bytes: forget the oldest, even if they are still needed. Returns
 * whether any were forgotten.
 */
bool ntrace_history_limit(struct ntrace_history *h, size_t most)
{
	struct ntrace_record *oldest, *rec;
	bool forgot = false;
	unsigned int i;

	while (h->gone_size > most) {
		oldest = NULL;
		for (i = 0; i < h->nr_lists; i++) {
			rec = list_first_entry_or_null(&h->gone[i], struct ntrace_record, node);
			if (rec && (!oldest || rec->until < oldest->until))
				oldest = rec;
		}
		forget(h, oldest);
		forgot = true;
	}
	return forgot;
}

static int by_time(const void *a, const void *b)
{
	const struct ntrace_record *x = *(struct ntrace_record *const *)a;
	const struct ntrace_record *y = *(struct ntrace_record *const *)b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static size_t collect_list(struct list_head *list, struct ntrace_record **to)
{
	struct ntrace_record *rec;
	size_t n = 0;

	list_for_each_entry(rec, list, node)
		to[n++] = rec;
	return n;
}

static size_t collect(struct ntrace_history *h, struct ntrace_record **to)
{
	struct hashmap_entry *entry;
	unsigned int i;
	size_t bkt, n = 0;

	for (i = 0; i < h->nr_lists; i++)
		n += collect_list(&h->gone[i], to + n);
	for (i = 0; NTRACE_HISTORY_EXEC(i) < h->nr_lists; i++) {
		if (h->running[i])
			to[n++] = h->running[i];
	}
	hashmap__for_each_entry(h->threads, entry, bkt) {
		struct thread_history *t = entry->pvalue;

		n += collect_list(&t->records, to + n);
	}
	hashmap__for_each_entry(h->processes, entry, bkt) {
		struct process_history *p = entry->pvalue;

		n += collect_list(&p->maps, to + n);
	}
	return n;
}

/* Write all records in time order. Returns the first error of @write. */
int ntrace_history_write(struct ntrace_history *h,
			 int (*write)(void *ctx, struct ntrace_record *rec), void *ctx)
{
	struct ntrace_record **all = calloc(h->nr ?: 1, sizeof(*all));
	size_t i, n;
	int err = 0;

	if (!all)
		return -ENOMEM;
	n = collect(h, all);
	qsort(all, n, sizeof(*all), by_time);
	for (i = 0; i < n && !err; i++)
		err = write(ctx, all[i]);
	free(all);
	return err;
}

struct ntrace_history *ntrace_history_new(unsigned int nr_rings)
{
	struct ntrace_history *h = zalloc(sizeof(*h));
	unsigned int i;

	if (!h)
		return NULL;
	h->processes = hashmap__new(hash_number, equal_number, NULL);
	h->threads   = hashmap__new(hash_number, equal_number, NULL);
	h->nr_lists  = NTRACE_HISTORY_EXEC(nr_rings);
	h->gone	     = calloc(h->nr_lists, sizeof(*h->gone));
	h->running   = calloc(nr_rings ?: 1, sizeof(*h->running));
	if (IS_ERR(h->processes) || IS_ERR(h->threads) || !h->gone || !h->running) {
		h->nr_lists = 0;
		ntrace_history_free(h);
		return NULL;
	}
	for (i = 0; i < h->nr_lists; i++)
		INIT_LIST_HEAD(&h->gone[i]);
	return h;
}

static void free_tasks(struct ntrace_history *h)
{
	struct hashmap_entry *entry;
	size_t bkt;

	if (!IS_ERR_OR_NULL(h->threads)) {
		hashmap__for_each_entry(h->threads, entry, bkt) {
			struct thread_history *t = entry->pvalue;

			free_list(&t->records);
			free(t);
		}
		hashmap__free(h->threads);
	}
	if (!IS_ERR_OR_NULL(h->processes)) {
		hashmap__for_each_entry(h->processes, entry, bkt) {
			struct process_history *p = entry->pvalue;

			free_list(&p->maps);
			free(p);
		}
		hashmap__free(h->processes);
	}
}

void ntrace_history_free(struct ntrace_history *h)
{
	unsigned int i;

	if (!h)
		return;
	free_tasks(h);
	for (i = 0; i < h->nr_lists; i++)
		free_list(&h->gone[i]);
	for (i = 0; NTRACE_HISTORY_EXEC(i) < h->nr_lists; i++)
		free(h->running[i]);
	free(h->gone);
	free(h->running);
	free(h);
}
