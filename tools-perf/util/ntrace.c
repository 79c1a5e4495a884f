// SPDX-License-Identifier: GPL-2.0-only
/*
 * RISC-V N-Trace in a perf session. The other events of the file arrive here in time order. Before
 * each event, trace is decoded up to its time, so that code is read through the mappings that
 * existed when it ran.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>

#include "auxtrace.h"
#include "callchain.h"
#include "config.h"
#include "data.h"
#include "debug.h"
#include "event.h"
#include "evlist.h"
#include "evsel.h"
#include "machine.h"
#include "session.h"
#include "sort.h"
#include "symbol.h"
#include "thread.h"
#include "thread-stack.h"
#include "time-utils.h"
#include "tool.h"
#include "ntrace.h"
#include "ntrace-compat.h"
#include "ntrace-priv.h"

static struct ntrace *to_ntrace(struct perf_session *session)
{
	return container_of(session->auxtrace, struct ntrace, auxtrace);
}

/* --- clocks ----------------------------------------------------------------- */

u64 ntrace_ticks_to_ns(struct ntrace *nt, u64 ticks)
{
	return ntrace_info_ns(&nt->info, ticks);
}

u64 ntrace_ns_to_ticks(struct ntrace *nt, u64 ns)
{
	return ntrace_info_ticks(&nt->info, ns);
}

/* --- parameters ------------------------------------------------------------- */

int ntrace_params(struct ntrace *nt, u64 hw_id, int cpu, struct nt_params *params)
{
	char why[NTRACE_WHY];
	int err = ntrace_info_params(&nt->info, hw_id, cpu, params, why);

	if (err)
		pr_err("ntrace: %s\n", why);
	return err;
}

static int read_info(struct ntrace *nt, const struct perf_record_auxtrace_info *event)
{
	size_t nr = (event->header.size - sizeof(*event)) / sizeof(u64);
	char why[NTRACE_WHY];
	int err = ntrace_info_read(&nt->info, (const u64 *)event->priv, nr, why);

	if (err)
		pr_err("ntrace: %s\n", why);
	return err;
}

/* --- tasks ------------------------------------------------------------------ */

static size_t hash_long(long key, void *ctx __maybe_unused)
{
	return key;
}

static bool equal_long(long a, long b, void *ctx __maybe_unused)
{
	return a == b;
}

/* All idle tasks have TID 0, so they are distinguished by CPU. */
struct ntrace_task *ntrace_task(struct ntrace *nt, pid_t tid, int cpu)
{
	struct ntrace_task *task = NULL;
	long key = tid ?: -1L - cpu;

	if (hashmap__find(nt->tasks, key, &task))
		return task;

	task = zalloc(sizeof(*task));
	if (!task)
		return NULL;
	task->tid = tid;
	/* For perf's thread stacks, 0 means none: a change from 0 would not clear them. */
	task->trace_nr = 1;
	task->losses = nt->losses;
	if (hashmap__add(nt->tasks, key, task))
		zfree(&task);
	return task;
}

/*
 * The task whose trace has this TID. A thread that executes a program takes the TID of its leader,
 * and all other threads end. But the driver writes scontext when a task is switched in. Until then
 * scontext, and so the Ownership messages, have the old TID.
 */
pid_t ntrace_task_owner(struct ntrace *nt, pid_t tid)
{
	struct thread *thread = machine__find_thread(nt->machine, -1, tid);
	pid_t pid = thread ? thread__pid(thread) : -1;
	struct ntrace_task *task, *leader;

	thread__put(thread);
	if (pid <= 0 || pid == tid || !hashmap__find(nt->tasks, (long)pid, &leader) ||
	    !hashmap__find(nt->tasks, (long)tid, &task))
		return tid;
	return task->image == leader->image ? tid : pid;
}

/* Call stacks and last branches of a task are discarded when this number changes. */
u64 ntrace_task_trace_nr(const struct ntrace *nt, struct ntrace_task *task)
{
	if (task->losses != nt->losses)
		task->trace_nr++;
	task->losses = nt->losses;
	return task->trace_nr + task->execs;
}

/*
 * Calls and returns have been missed: by the thread that owns the buffer, or, on a CPU, by any task
 * that is not running on another CPU. Each task notices this when it runs next, so the cost of a
 * loss does not depend on the number of tasks.
 */
void ntrace_tasks_lost(struct ntrace *nt, const struct ntrace_queue *q)
{
	u64 before = nt->losses;
	unsigned int i;

	if (q->s.buffer->cpu < 0) {
		if (q->task)
			q->task->trace_nr++;
		return;
	}
	nt->losses++;
	for (i = 0; i < nt->nr_queues; i++) {
		struct ntrace_queue *other = nt->queue[i];

		if (other && other != q && other->s.have_pc && other->task &&
		    other->task->losses == before)
			other->task->losses = nt->losses;
	}
}

static void free_tasks(struct ntrace *nt)
{
	struct hashmap_entry *entry;
	size_t bkt;

	if (IS_ERR_OR_NULL(nt->tasks))
		return;
	hashmap__for_each_entry(nt->tasks, entry, bkt) {
		struct ntrace_task *task = entry->pvalue;

		free(task->last);
		free(task);
	}
	hashmap__free(nt->tasks);
}

/* --- decoding in time order ------------------------------------------------- */

static bool is_wanted(const struct ntrace *nt, const struct ntrace_queue *q)
{
	int cpu = q->s.buffer->cpu;

	return cpu < 0 || !nt->opts.cpu_bitmap || test_bit(cpu, nt->opts.cpu_bitmap);
}

/*
 * Insert a queue into the heap if it has events up to @limit. Decoded events may wait for the next
 * timestamp: look for it up to @all.
 */
static int enqueue(struct ntrace *nt, unsigned int i, u64 limit, u64 all)
{
	struct ntrace_queue *q = nt->queue[i];
	bool waits = q->s.pos == q->s.span.end && q->s.pos < q->s.nr;
	int ret;

	ret = nt_session_queue_fetch(&q->s, waits ? all : limit);
	if (ret < 0)
		return ret;
	if (ret)
		return auxtrace_heap__add(&nt->heap, i, nt_session_queue_time(&q->s));
	if (limit == UINT64_MAX)
		return nt_session_flow_flush(&q->s, UINT64_MAX);
	if (limit <= NT_SESSION_PAUSE_NS)
		return 0;
	return nt_session_flow_flush(&q->s, limit - NT_SESSION_PAUSE_NS);
}

/*
 * Decode everything up to @limit, always from the queue with the earliest event. After the last
 * wanted time, only a stop is left that may be a pause.
 */
static int decode_until(struct ntrace *nt, u64 limit)
{
	const u64 all = limit;
	unsigned int i;
	u64 until;
	int err;

	limit = min(limit, nt->last_limit);
	for (i = 0; i < nt->nr_queues; i++) {
		if (!nt->queue[i] || !is_wanted(nt, nt->queue[i]))
			continue;
		err = enqueue(nt, i, limit, all);
		if (err)
			return err;
	}

	while (nt->heap.heap_cnt && nt->heap.heap_array[0].ordinal <= limit) {
		i = nt->heap.heap_array[0].queue_nr;
		auxtrace_heap__pop(&nt->heap);
		until = nt->heap.heap_cnt ? min(limit, nt->heap.heap_array[0].ordinal) : limit;
		err = nt_session_queue_deliver(&nt->queue[i]->s, until, limit);
		if (!err)
			err = enqueue(nt, i, limit, all);
		if (err)
			return err;
	}

	/* Later events stay fetched, and their queues are added again with the next limit. */
	while (nt->heap.heap_cnt)
		auxtrace_heap__pop(&nt->heap);
	return 0;
}

/* --- the other events ------------------------------------------------------- */

static void on_mmap(struct ntrace *nt, u8 mode, pid_t pid, u64 start, u64 len)
{
	if (mode == PERF_RECORD_MISC_KERNEL)
		ntrace_kernel_changed(nt, start, start + len);
	else
		ntrace_space_changed(nt, pid, start, start + len);
}

/* An exec gives a thread its leader's TID. Stops before the exec have the old TID. */
static int rename_owner(struct ntrace *nt, int cpu)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < nt->nr_queues && !err; i++) {
		struct ntrace_queue *q = nt->queue[i];
		pid_t tid = q && q->s.cpu == cpu ? ntrace_task_owner(nt, q->s.tid) : -1;

		if (tid <= 0 || tid == q->s.tid)
			continue;
		err = nt_session_flow_flush(&q->s, UINT64_MAX);
		ntrace_queue_set_tid(q, tid);
	}
	return err;
}

/* Trace without times is decoded after all other events. The first exec has no trace before it. */
static void warn_of_exec(const struct ntrace *nt, struct ntrace_queue *q, pid_t tid)
{
	if ((nt->images || nt->forked) && nt_session_queue_is_untimed(&q->s))
		pr_warning_once("ntrace: task %d executed a program in trace without times: what it ran before may be taken for the new program's\n",
				tid);
}

/* A task is about to change: held events belong to the old one. */
static int flush_task(struct ntrace *nt, pid_t tid, bool user)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < nt->nr_queues && !err; i++) {
		struct ntrace_queue *q = nt->queue[i];

		if (user && q && q->s.tid == tid)
			warn_of_exec(nt, q, tid);
		/* An exec is not a pause at the address where the task left user space. */
		if (q && q->s.tid == tid &&
		    !(user && q->s.have_held && ntrace_is_kernel(nt, q->s.held.from)))
			err = nt_session_flow_flush(&q->s, UINT64_MAX);
	}
	return err;
}

/* Until the task reaches user space again, its calls belong to the kernel. */
static int on_exec(struct ntrace *nt, union perf_event *event, int cpu)
{
	struct ntrace_task *task = ntrace_task(nt, event->comm.tid, cpu);
	int err = flush_task(nt, event->comm.tid, true);

	if (err)
		return err;
	ntrace_space_changed(nt, event->comm.pid, 0, 0);
	if (!task)
		return -ENOMEM;
	task->exec = true;
	task->image = ++nt->images;
	return rename_owner(nt, cpu);
}

/* The TID, and perhaps the PID, of an ended task is reused. */
static int on_fork(struct ntrace *nt, union perf_event *event, u64 time)
{
	struct ntrace_task *task, *leader;
	int err = flush_task(nt, event->fork.tid, false);
	unsigned int i;

	/* Tasks without a time existed before, and perf describes them. */
	nt->forked |= time;

	if (hashmap__find(nt->tasks, (long)(pid_t)event->fork.tid, &task)) {
		task->trace_nr++;
		task->syscall = (struct nt_session_syscall){ 0 };
		task->left_at = task->left_behind = task->image = 0;
		task->exec = task->user = false;
	}
	if (event->fork.pid != event->fork.tid &&
	    hashmap__find(nt->tasks, (long)(pid_t)event->fork.pid, &leader)) {
		task = ntrace_task(nt, event->fork.tid, -1);
		if (task)
			task->image = leader->image;
	}

	for (i = 0; i < nt->nr_queues; i++) {
		if (nt->queue[i] && nt->queue[i]->s.tid == (pid_t)event->fork.tid)
			ntrace_queue_renew_thread(nt->queue[i]);
	}
	if (event->fork.pid != event->fork.ppid)
		ntrace_space_drop(nt, event->fork.pid);
	return err;
}

/* Set the task of a CPU if the trace does not name it. */
static void on_switch(struct ntrace *nt, int cpu, pid_t tid)
{
	unsigned int i;

	for (i = 0; i < nt->nr_queues; i++) {
		struct ntrace_queue *q = nt->queue[i];

		if (!q || q->s.buffer->cpu != cpu || cpu < 0)
			continue;
		if (q->s.tid > 0 && tid > 0 && q->s.tid != tid && nt_session_queue_is_blind(&q->s))
			pr_warning_once("ntrace: CPU %d: trace that tells neither times nor tasks: what several tasks ran between two AUX records is taken for the last one's\n",
					cpu);
		if (!q->s.owned)
			ntrace_queue_set_tid(q, tid);
	}
}

/* A task that leaves the CPU does not pause there, whatever follows. */
static bool is_switch(struct ntrace *nt, const union perf_event *event,
		      const struct perf_sample *sample)
{
	struct evsel *evsel;

	if (event->header.type != PERF_RECORD_SAMPLE)
		return event->header.type == PERF_RECORD_SWITCH ||
		       event->header.type == PERF_RECORD_SWITCH_CPU_WIDE;
	evsel = evlist__id2evsel(nt->session->evlist, sample->id);
	return evsel && evsel->core.attr.type == PERF_TYPE_TRACEPOINT &&
	       !strcmp(evsel__name(evsel), "sched:sched_switch");
}

static int flush_cpu(struct ntrace *nt, int cpu)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < nt->nr_queues && !err; i++) {
		if (nt->queue[i] && nt->queue[i]->s.cpu == cpu)
			err = nt_session_flow_flush(&nt->queue[i]->s, UINT64_MAX);
	}
	return err;
}

static void on_context_switch(struct ntrace *nt, union perf_event *event,
			      struct perf_sample *sample)
{
	bool out = event->header.misc & PERF_RECORD_MISC_SWITCH_OUT;

	if (event->header.type == PERF_RECORD_SWITCH_CPU_WIDE)
		on_switch(nt, sample->cpu, out ? (pid_t)event->context_switch.next_prev_tid :
						 (pid_t)sample->tid);
	else if (!out)
		on_switch(nt, sample->cpu, sample->tid);
}

static int on_event(struct ntrace *nt, union perf_event *event, struct perf_sample *sample)
{
	u8 mode = event->header.misc & PERF_RECORD_MISC_CPUMODE_MASK;

	switch (event->header.type) {
	case PERF_RECORD_MMAP:
		on_mmap(nt, mode, event->mmap.pid, event->mmap.start, event->mmap.len);
		break;
	case PERF_RECORD_MMAP2:
		on_mmap(nt, mode, event->mmap2.pid, event->mmap2.start, event->mmap2.len);
		break;
	case PERF_RECORD_COMM:
		if (event->header.misc & PERF_RECORD_MISC_COMM_EXEC)
			return on_exec(nt, event, sample->cpu);
		break;
	case PERF_RECORD_FORK:
		return on_fork(nt, event, sample->time);
	case PERF_RECORD_KSYMBOL:
		ntrace_kernel_changed(nt, event->ksymbol.addr,
				      event->ksymbol.addr + event->ksymbol.len);
		break;
	case PERF_RECORD_TEXT_POKE:
		nt->poked = true;
		ntrace_kernel_changed(nt, event->text_poke.addr,
				      event->text_poke.addr + max(event->text_poke.old_len,
								  event->text_poke.new_len));
		break;
	case PERF_RECORD_SAMPLE:
		ntrace_stack_sample(nt, sample);
		break;
	case PERF_RECORD_ITRACE_START:
		on_switch(nt, sample->cpu, event->itrace_start.tid);
		break;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		on_context_switch(nt, event, sample);
		break;
	default:
		break;
	}
	return 0;
}

static int ntrace_process_event(struct perf_session *session, union perf_event *event,
				struct perf_sample *sample, const struct perf_tool *tool)
{
	struct ntrace *nt = to_ntrace(session);
	int err = 0;

	if (dump_trace)
		return 0;
	if (!tool->ordered_events) {
		pr_err("ntrace: decoding requires ordered events\n");
		return -EINVAL;
	}

	if (sample->time && sample->time != (u64)-1)
		err = decode_until(nt, sample->time);
	if (!err && is_switch(nt, event, sample))
		err = flush_cpu(nt, sample->cpu);
	if (err)
		return err;
	if (sample->time && sample->time != (u64)-1)
		nt->trace.reached = max(nt->trace.reached, sample->time);
	ntrace_log_event(nt, event, sample);
	return on_event(nt, event, sample);
}

static int ntrace_process_auxtrace_event(struct perf_session *session, union perf_event *event,
					 const struct perf_tool *tool __maybe_unused)
{
	struct ntrace *nt = to_ntrace(session);
	unsigned int idx = event->auxtrace.idx;

	/* ntrace_windows_find() has already read all of them. */
	if (perf_data__is_pipe(session->data) && ntrace_pipe_skip(session, event->auxtrace.size))
		return -EIO;
	if (dump_trace && idx < nt->trace.nr_buffers && nt->trace.buffer[idx])
		ntrace_dump_piece(nt, nt->trace.buffer[idx], event->auxtrace.offset,
				  event->auxtrace.size);
	return 0;
}

static void ntrace_dump_auxtrace_sample(struct perf_session *session, struct perf_sample *sample)
{
	ntrace_dump_sample(to_ntrace(session), sample);
}

/* perf's own message for this flag is about virtual machines on x86. */
static void warn_about_losses(struct perf_session *session, const struct perf_tool *tool)
{
	struct events_stats *stats = &session->evlist->stats;

	if (!stats->total_aux_partial || tool->no_warn)
		return;
	pr_warning("ntrace: %" PRIu64 " of %u AUX records have lost trace, though there was room in the AUX area: the encoder had no room for its messages, or the driver came too late. --itrace=e shows where; a larger area (-m) or the term stall helps, see perf-riscv-ntrace(1)\n",
		   (u64)stats->total_aux_partial, stats->nr_events[PERF_RECORD_AUX]);
	stats->total_aux_partial = 0;
}

/* With --time, only some windows are decoded. */
static void count_windows(const struct ntrace *nt)
{
	size_t all = 0;
	unsigned int i;

	for (i = 0; i < nt->nr_queues; i++)
		all += nt->queue[i] ? nt->queue[i]->s.buffer->nr_windows : 0;
	pr_debug("ntrace: %zu of %zu windows decoded\n", nt->trace.opened, all);
}

static int ntrace_flush_events(struct perf_session *session, const struct perf_tool *tool)
{
	struct ntrace *nt = to_ntrace(session);
	int err;

	if (dump_trace)
		return 0;
	if (!tool->ordered_events)
		return -EINVAL;
	warn_about_losses(session, tool);
	err = decode_until(nt, UINT64_MAX);
	count_windows(nt);
	return err;
}

/* --- beginning and end ------------------------------------------------------ */

static void ntrace_free_events(struct perf_session *session)
{
	struct ntrace *nt = to_ntrace(session);
	unsigned int i;

	for (i = 0; i < nt->nr_queues; i++)
		ntrace_queue_free(nt->queue[i]);
	nt->nr_queues = 0;
	zfree(&nt->queue);
	auxtrace_heap__free(&nt->heap);
}

static void ntrace_free(struct perf_session *session)
{
	struct ntrace *nt = to_ntrace(session);

	ntrace_free_events(session);
	session->auxtrace = NULL;
	ntrace_spaces_free(nt);
	hashmap__free(nt->spaces);
	hashmap__free(nt->files);
	free_tasks(nt);
	ntrace_stack_free(nt);
	ntrace_log_close(nt);
	thread__zput(nt->unknown_thread);
	ntrace_kcore_free(nt->kcore);
	nt_session_free(&nt->trace);
	ntrace_info_free(&nt->info);
	if (nt->unpacked >= 0)
		close(nt->unpacked);
	free(nt->custom);
	free(nt->wanted);
	free(nt);
}

bool ntrace_is_ours(struct perf_session *session)
{
	return session->auxtrace && session->auxtrace->process_event == ntrace_process_event;
}

static bool ntrace_evsel_is_auxtrace(struct perf_session *session, struct evsel *evsel)
{
	return evsel->core.attr.type == to_ntrace(session)->info.pmu_type;
}

#define DEFAULT_PERIOD_NS	100000	/* perf's own */
#define UNTIMED_PERIOD		1000

/* No period means the shortest: every instruction. */
static void choose_period(struct ntrace *nt)
{
	struct itrace_synth_opts *opts = &nt->opts;

	if (!opts->period) {
		opts->period = 1;
		opts->period_type = PERF_ITRACE_PERIOD_INSTRUCTIONS;
	}
	if (opts->period_type == PERF_ITRACE_PERIOD_TICKS) {
		opts->period = ntrace_ticks_to_ns(nt, opts->period) -
			       ntrace_ticks_to_ns(nt, 0) ?: 1;
		opts->period_type = PERF_ITRACE_PERIOD_NANOSECS;
	}
	nt->untimed_period = opts->period;
	/* A good period for times would give hardly any samples of a short program. */
	if (opts->period_type == PERF_ITRACE_PERIOD_NANOSECS && opts->period == DEFAULT_PERIOD_NS)
		nt->untimed_period = UNTIMED_PERIOD;
}

/* Without times in the trace, samples by time become samples by instructions. */
void ntrace_warn_untimed(const struct ntrace *nt)
{
	const struct itrace_synth_opts *opts = &nt->opts;

	if (opts->instructions && opts->period_type != PERF_ITRACE_PERIOD_INSTRUCTIONS)
		pr_warning_once("ntrace: trace without times: samples every %" PRIu64
				" instructions instead of every %llu ns\n",
				nt->untimed_period, opts->period);
}

/* --time. With --itrace=T samples have times of another clock. */
static int choose_times(struct ntrace *nt)
{
	const struct itrace_synth_opts *opts = &nt->opts;
	u64 last = 0;
	int i;

	nt->last_limit = UINT64_MAX;
	if (!opts->ptime_range || opts->range_num <= 0 || opts->use_timestamp)
		return 0;
	nt->wanted = calloc(opts->range_num, sizeof(*nt->wanted));
	if (!nt->wanted)
		return -ENOMEM;
	for (i = 0; i < opts->range_num; i++) {
		nt->wanted[i].from = opts->ptime_range[i].start;
		nt->wanted[i].to = opts->ptime_range[i].end ?: UINT64_MAX;
		last = max(last, nt->wanted[i].to);
	}
	nt->trace.wanted = nt->wanted;
	nt->trace.nr_wanted = opts->range_num;
	/* By this time it is known whether a stop at the end is a pause. */
	if (last < UINT64_MAX - NT_SESSION_PAUSE_NS)
		nt->last_limit = last + NT_SESSION_PAUSE_NS + 1;
	return 0;
}

/* Add one branch encoding of ntrace.branches. 0 or a negative enum nt_error */
static int add_branch(struct ntrace *nt, const char *text)
{
	struct nt_params alone;
	struct nt_branch *more;
	int err;

	more = realloc(nt->custom, (nt->nr_custom + 1) * sizeof(*more));
	if (!more)
		return -NT_ENOMEM;
	nt->custom = more;
	err = nt_branch_parse(text, &more[nt->nr_custom]);
	if (err)
		return err;
	nt->nr_custom++;
	/* check that there are not too many, and that they do not overlap */
	nt_params_init(&alone);
	alone.branches = nt->custom;
	alone.nr_branches = nt->nr_custom;
	return nt_params_check(&alone);
}

/* ntrace.branches: encodings in the format of ntrace --branch, separated by spaces */
static int read_branches(struct ntrace *nt, const char *value)
{
	char *copy = strdup(value), *rest = copy, *word;
	int err = 0;

	if (!copy)
		return -ENOMEM;
	/* the last configuration file wins */
	nt->nr_custom = 0;
	while (!err && (word = strsep(&rest, " \t"))) {
		if (!*word)
			continue;
		err = add_branch(nt, word);
		if (err == -NT_EINVAL && nt->nr_custom > NT_BRANCHES_MAX)
			pr_err("ntrace.branches: more than %u\n", NT_BRANCHES_MAX);
		else if (err == -NT_EINVAL)
			pr_err("ntrace.branches: `%s' is not MASK/MATCH[:TYPE[:OFFSET]], as 0x707f/0x600b:cond:b\n",
			       word);
		else if (err)
			pr_err("ntrace.branches: `%s': %s\n", word, nt_strerror(err));
	}
	free(copy);
	return err ? -EINVAL : 0;
}

static int config(const char *name, const char *value, void *ctx)
{
	struct ntrace *nt = ctx;

	if (!strcmp(name, "ntrace.exact-period"))
		nt->exact_period = perf_config_bool(name, value);
	if (!strcmp(name, "ntrace.branches"))
		return read_branches(nt, value);
	return 0;
}

static void choose_samples(struct ntrace *nt)
{
	struct itrace_synth_opts none = { .default_no_sample = false };
	struct itrace_synth_opts *opts = nt->session->itrace_synth_opts;

	/* Not every command has options for trace; perf data convert has none. */
	if (!opts)
		opts = &none;
	if (opts->set) {
		nt->opts = *opts;
	} else {
		itrace_synth_opts__set_default(&nt->opts, opts->default_no_sample);
		if (!opts->default_no_sample && !opts->inject) {
			nt->opts.branches = false;
			nt->opts.callchain = true;
			nt->opts.add_callchain = true;
		}
		/* As documented by perf, traps are reported only on request. */
		nt->opts.intr_events = false;
		nt->opts.thread_stack = opts->thread_stack;
		nt->opts.cpu_bitmap = opts->cpu_bitmap;
		nt->opts.ptime_range = opts->ptime_range;
		nt->opts.range_num = opts->range_num;
	}
	nt->timed = nt->info.have_clock && !nt->opts.timeless_decoding;
	choose_period(nt);

	if (nt->opts.calls)
		nt->branches_filter |= PERF_IP_FLAG_CALL | PERF_IP_FLAG_ASYNC |
				       PERF_IP_FLAG_TRACE_END;
	if (nt->opts.returns)
		nt->branches_filter |= PERF_IP_FLAG_RETURN | PERF_IP_FLAG_TRACE_BEGIN;
}

static void choose_stacks(struct ntrace *nt)
{
	struct itrace_synth_opts *opts = &nt->opts;

	/* With addresses only, calls and most branches are unknown. */
	if (opts->quick) {
		opts->callchain = opts->add_callchain = opts->thread_stack = false;
		opts->last_branch = opts->add_last_branch = false;
	}
	if ((opts->callchain || opts->add_callchain) && !symbol_conf.use_callchain) {
		symbol_conf.use_callchain = true;
		if (callchain_register_param(&callchain_param) < 0) {
			symbol_conf.use_callchain = false;
			/* perf report -g none needs chains for the sums of callees. */
			if (!symbol_conf.cumulate_callchain && !perf_hpp_list.parent)
				opts->callchain = opts->add_callchain = false;
		}
	}

	if (opts->last_branch || opts->add_last_branch)
		nt->br_stack_sz = opts->last_branch_sz;
	else if (callchain_param.branch_callstack)
		pr_warning("ntrace: without last branches --branch-history shows call chains only: add l, e.g. --itrace=i100usl\n");
	nt->callstack = opts->callchain || opts->add_callchain || opts->thread_stack;
	ntrace_stack_setup(nt);
}

/* All tasks share the kernel's maps: this thread stands for any unknown task. */
static int make_unknown_thread(struct ntrace *nt)
{
	nt->unknown_thread = thread__new(999999999, 999999999);
	if (!nt->unknown_thread)
		return -ENOMEM;
	if (thread__set_comm(nt->unknown_thread, "unknown", 0) ||
	    thread__init_maps(nt->unknown_thread, nt->machine))
		return -ENOMEM;
	return 0;
}

static struct ntrace *ntrace_new(struct perf_session *session)
{
	struct ntrace *nt = zalloc(sizeof(*nt));

	if (!nt)
		return NULL;
	nt->session = session;
	nt->unpacked = -1;
	nt->machine = &session->machines.host;
	nt->spaces  = hashmap__new(hash_long, equal_long, NULL);
	nt->tasks   = hashmap__new(hash_long, equal_long, NULL);
	nt->files   = hashmap__new(hash_long, equal_long, NULL);

	nt->auxtrace.process_event	    = ntrace_process_event;
	nt->auxtrace.process_auxtrace_event = ntrace_process_auxtrace_event;
	nt->auxtrace.dump_auxtrace_sample   = ntrace_dump_auxtrace_sample;
	nt->auxtrace.flush_events	    = ntrace_flush_events;
	nt->auxtrace.free_events	    = ntrace_free_events;
	nt->auxtrace.free		    = ntrace_free;
	nt->auxtrace.evsel_is_auxtrace	    = ntrace_evsel_is_auxtrace;
	return nt;
}

static int start(struct ntrace *nt, union perf_event *event)
{
	int err;

	err = ntrace_file_check(nt->session);
	if (!err)
		err = read_info(nt, &event->auxtrace_info);
	if (err)
		return err;
	if (dump_trace)
		ntrace_info_print(&nt->info);

	choose_samples(nt);
	err = choose_times(nt);
	if (!err)
		err = perf_config(config, nt);
	if (!err)
		err = make_unknown_thread(nt);
	/* The queues need the kcore. */
	if (!err && !dump_trace)
		nt->kcore = ntrace_kcore_open(nt->session->data);
	if (!err)
		err = ntrace_windows_find(nt);
	if (err || dump_trace)
		return err;

	choose_stacks(nt);
	err = ntrace_log_open(nt);
	return err ?: ntrace_synth_setup(nt);
}

int ntrace_process_auxtrace_info(union perf_event *event, struct perf_session *session)
{
	struct ntrace *nt = ntrace_new(session);
	int err;

	if (!nt)
		return -ENOMEM;
	session->auxtrace = &nt->auxtrace;
	err = IS_ERR(nt->spaces) || IS_ERR(nt->tasks) || IS_ERR(nt->files) ? -ENOMEM :
									 start(nt, event);
	if (err)
		ntrace_free(session);
	return err;
}
