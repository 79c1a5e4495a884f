// SPDX-License-Identifier: GPL-2.0-only
/*
 * The last branches of each task, and what samples of other events get from the trace: call chains
 * ('G') and last branches ('L').
 *
 * perf's own thread stacks keep call chains. Their branches would have neither type nor prediction,
 * so this file keeps branches.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/perf_event.h>
#include <linux/zalloc.h>

#include "branch.h"
#include "callchain.h"
#include "event.h"
#include "evlist.h"
#include "evsel.h"
#include "machine.h"
#include "sample.h"
#include "session.h"
#include "thread.h"
#include "thread-stack.h"
#include "ntrace-compat.h"
#include "ntrace-priv.h"

/*
 * The kernel ran between the sampled instruction and the time of its sample. A sample from a trap
 * gets the branches before that trap. Only the newest traps are kept, because an interrupt handler
 * may have any number of branches. For other samples, up to this number of branches may have to be
 * skipped.
 */
#define LATE_TRAPS	8U
#define LATE_BRANCHES	1024

/* Converted to entries when a sample needs them, which is one time in hundreds. */
struct last_branch {
	u64	from, to;
	u16	type;			/* PERF_BR_* */
	u16	cycles;			/* since the previous branch; 0: unknown */
};

/* A ring buffer; the newest entry precedes @next. Entries before traps are stored newest first. */
struct ntrace_last {
	u64			trace_nr;
	unsigned int		next, nr, room;
	unsigned int		traps;	/* so far; the newest is (traps - 1) % LATE_TRAPS */
	struct {
		u64			from;
		unsigned int		nr;
		struct last_branch	*entry;
	} trap[LATE_TRAPS];
	struct last_branch	entry[];
};

/* --- a task's last branches -------------------------------------------------- */

static unsigned int entry_type(unsigned int type, u32 flags)
{
	switch (type) {
	case NT_TYPE_COND:
		return PERF_BR_COND;
	case NT_TYPE_JUMP:
	case NT_TYPE_JUMP_LINK:
		return PERF_BR_UNCOND;
	case NT_TYPE_IJUMP:
	case NT_TYPE_IJUMP_LINK:
	case NT_TYPE_SWAP:	/* there is no type for a return that is a call, too */
		return PERF_BR_IND;
	case NT_TYPE_CALL:
		return PERF_BR_CALL;
	case NT_TYPE_ICALL:
		return PERF_BR_IND_CALL;
	case NT_TYPE_RET:
		return PERF_BR_RET;
	case NT_TYPE_INTERRUPT:
		return PERF_BR_IRQ;
	case NT_TYPE_ERET:
		return flags & PERF_IP_FLAG_SYSCALLRET ? PERF_BR_SYSRET : PERF_BR_ERET;
	default:
		/* The trace does not identify the exception, unless it was an ECALL. */
		return flags & PERF_IP_FLAG_SYSCALLRET ? PERF_BR_SYSCALL : PERF_BR_UNKNOWN;
	}
}

/* The trace has no predictions. The privilege is that of the target, as on other architectures. */
static struct branch_entry make_entry(const struct ntrace *nt, const struct last_branch *last)
{
	bool kernel = ntrace_is_kernel(nt, last->to ?: last->from);

	/* One initializer: separate bit-field writes would depend on each other. */
	return (struct branch_entry) {
		.from = last->from,
		.to = last->to,
		.flags = {
			.predicted = 1,
			.type = last->type,
			.cycles = last->cycles,
			.priv = kernel ? PERF_BR_PRIV_KERNEL : PERF_BR_PRIV_USER,
		},
	};
}

/* @flags: the sample's PERF_IP_FLAG_* */
struct branch_entry ntrace_branch_entry(const struct ntrace *nt, u64 from, u64 to,
					unsigned int type, u32 flags)
{
	return make_entry(nt, &(struct last_branch) { from, to, entry_type(type, flags), 0 });
}

/* @each: number of entries that are kept for each trap */
static struct ntrace_last *last_new(unsigned int room, unsigned int each)
{
	struct ntrace_last *last;
	unsigned int i;

	last = zalloc(sizeof(*last) + (room + LATE_TRAPS * each) * sizeof(last->entry[0]));
	if (!last)
		return NULL;
	last->room = room;
	for (i = 0; i < LATE_TRAPS; i++)
		last->trap[i].entry = last->entry + room + i * each;
	return last;
}

/* Get a task's ring buffer for adding entries. It is emptied after a loss. */
static struct ntrace_last *open_last(struct ntrace *nt, struct ntrace_task *task)
{
	u64 trace_nr = ntrace_task_trace_nr(nt, task);
	bool late = nt->opts.add_last_branch;
	struct ntrace_last *last;

	/* One more entry: removing an end must not have cost the oldest entry. */
	if (!task->last)
		task->last = last_new(nt->br_stack_sz + nt->opts.inject +
				      (late ? LATE_BRANCHES : 0),
				      late ? nt->br_stack_sz : 0);
	last = task->last;
	if (last && last->trace_nr != trace_nr) {
		last->nr = 0;
		last->traps = 0;
		last->trace_nr = trace_nr;
	}
	return last;
}

/* The entry with @age newer ones */
static const struct last_branch *entry_at(const struct ntrace_last *last, unsigned int age)
{
	unsigned int at = last->next + last->room - 1 - age;

	return &last->entry[at < last->room ? at : at - last->room];
}

static void keep_before_trap(const struct ntrace *nt, struct ntrace_last *last, u64 from)
{
	unsigned int at = last->traps++ % LATE_TRAPS, i;

	last->trap[at].from = from;
	last->trap[at].nr = min(last->nr, nt->br_stack_sz);
	for (i = 0; i < last->trap[at].nr; i++)
		last->trap[at].entry[i] = *entry_at(last, i);
}

static inline void push(struct ntrace_last *last, u64 from, u64 to, u16 type, u16 cycles)
{
	last->entry[last->next++] = (struct last_branch) { from, to, type, cycles };
	if (last->next == last->room)
		last->next = 0;
	if (last->nr < last->room)
		last->nr++;
}

/*
 * Some programs that read the output of perf inject take an entry that does not begin at a branch,
 * or that leads into the middle of a function, for one of another binary, and then omit the whole
 * function. So omit the end of trace, and omit the beginning of trace unless it is elsewhere: the
 * program does not notice an interrupt or a system call.
 */
static bool begins_elsewhere(struct ntrace_last *last, u64 to)
{
	const struct last_branch *end;
	bool joined;

	if (!last->nr)
		return false;
	end = &last->entry[(last->next ?: last->room) - 1];
	if (end->to)
		return true;
	joined = to == end->from || (end->type == PERF_BR_SYSCALL && to == end->from + 4);
	last->next = end - last->entry;
	last->nr--;
	return last->nr && !joined;
}

int ntrace_last_push(struct ntrace *nt, struct ntrace_task *task, u64 from, u64 to,
		     unsigned int type, u32 flags, u16 cycles)
{
	struct ntrace_last *last;

	if (!nt->br_stack_sz || !task)
		return 0;
	last = open_last(nt, task);
	if (!last)
		return -ENOMEM;
	if (!from && nt->opts.inject && !begins_elsewhere(last, to))
		return 0;
	if (nt->opts.add_last_branch && nt_type_is_trap(type))
		keep_before_trap(nt, last, from);
	push(last, from, to, entry_type(type, flags), cycles);
	return 0;
}

/* Push many taken transfers, of types for which flags do not matter. */
int ntrace_last_push_all(struct ntrace *nt, struct ntrace_task *task, const struct nt_event *ev,
			 int nr)
{
	struct ntrace_last *last;

	if (!nt->br_stack_sz || !task)
		return 0;
	last = open_last(nt, task);
	if (!last)
		return -ENOMEM;
	/* Skip those that would be overwritten at once. */
	if (nr > (int)last->room) {
		ev += nr - last->room;
		nr = last->room;
	}
	for (; nr--; ev++)
		push(last, ev->from, ev->to, entry_type(ev->type, 0), 0);
	return 0;
}

/* Append the newest branches from @age on. */
static void copy_last(const struct ntrace *nt, const struct ntrace_last *last, unsigned int age,
		      struct branch_stack *stack)
{
	for (; age < last->nr && stack->nr < nt->br_stack_sz; age++)
		stack->entries[stack->nr++] = make_entry(nt, entry_at(last, age));
}

/* After a loss, old entries are invalid even if nothing has been added. */
static struct ntrace_last *valid_last(const struct ntrace *nt, struct ntrace_task *task)
{
	return task && task->last && task->last->trace_nr == ntrace_task_trace_nr(nt, task) ?
		       task->last : NULL;
}

static struct branch_stack *clear(struct ntrace *nt, struct branch_stack **stack)
{
	if (!*stack)
		*stack = zalloc(sizeof(**stack) + nt->br_stack_sz * sizeof(struct branch_entry));
	if (*stack) {
		(*stack)->nr = 0;
		(*stack)->hw_idx = -1ULL;
	}
	return *stack;
}

/* Copy the last branches of a task to *@stack, which is allocated on first use. */
struct branch_stack *ntrace_last_copy(struct ntrace *nt, struct ntrace_task *task,
				      struct branch_stack **stack)
{
	const struct ntrace_last *last = valid_last(nt, task);
	bool ended;

	if (clear(nt, stack) && last) {
		ended = nt->opts.inject && last->nr && !entry_at(last, 0)->to;
		copy_last(nt, last, ended, *stack);
	}
	return *stack;
}

/* --- samples of other events --------------------------------------------------- */

static bool is_user(const struct ntrace *nt, u64 addr)
{
	return addr && !ntrace_is_kernel(nt, addr);
}

/*
 * The number of last branches that happened after @ip was sampled, if the sample is not from a
 * trap. User space: the branches after the last one that leads to user space. Kernel: the branches
 * after the linear code that contains @ip.
 */
static unsigned int late_branches(const struct ntrace *nt, const struct ntrace_last *last, u64 ip)
{
	const struct last_branch *newer = NULL, *e;
	unsigned int age;

	for (age = 0; age < last->nr; age++) {
		e = entry_at(last, age);
		if (is_user(nt, e->to))
			break;
		if (is_user(nt, ip))
			continue;
		if (newer && e->to <= ip && ip <= newer->from)
			break;
		newer = e;
	}
	return age;
}

/* Copy the branches before the newest trap at @ip, if they are kept. */
static bool copy_before_trap(const struct ntrace *nt, const struct ntrace_last *last, u64 ip,
			     struct branch_stack *stack)
{
	unsigned int age, at;

	for (age = 1; age <= min(last->traps, LATE_TRAPS); age++) {
		at = (last->traps - age) % LATE_TRAPS;
		if (last->trap[at].from != ip)
			continue;
		for (; stack->nr < last->trap[at].nr; stack->nr++)
			stack->entries[stack->nr] =
				make_entry(nt, &last->trap[at].entry[stack->nr]);
		return true;
	}
	return false;
}

static void add_last(struct ntrace *nt, struct perf_sample *sample)
{
	struct ntrace_task *task = ntrace_task(nt, sample->tid, sample->cpu);
	const struct ntrace_last *last = valid_last(nt, task);

	if (!clear(nt, &nt->late_branches))
		return;
	if (last && !copy_before_trap(nt, last, sample->ip, nt->late_branches))
		copy_last(nt, last, late_branches(nt, last, sample->ip), nt->late_branches);
	sample->branch_stack = nt->late_branches;
	/* Our branch stacks have an index word, whatever the event's own have. */
	sample->no_hw_idx = false;
}

/*
 * Put the sampled address in front of perf's chain of return addresses. If the kernel is traced,
 * the stack contains the sample's trap, which returns to that address.
 */
static void put_ip(struct ip_callchain *chain, u64 ip, u64 context, bool there)
{
	unsigned int skip;

	if (there && chain->nr >= 2 && chain->ips[0] == context && chain->ips[1] == ip)
		return;
	skip = chain->nr && chain->ips[0] == context;
	memmove(chain->ips + 2, chain->ips + skip, (chain->nr - skip) * sizeof(u64));
	chain->ips[0] = context;
	chain->ips[1] = ip;
	chain->nr += 2 - skip;
}

static void add_chain(struct ntrace *nt, struct perf_sample *sample)
{
	struct thread *thread = machine__findnew_thread(nt->machine, sample->pid, sample->tid);
	size_t sz = nt->opts.callchain_sz + 1;
	bool there;

	if (!nt->late_chain)
		nt->late_chain = zalloc(sizeof(*nt->late_chain) + (sz + 2) * sizeof(u64));
	if (thread && nt->late_chain) {
		thread_stack__sample_late(thread, sample->cpu, nt->late_chain, sz, sample->ip,
					  ntrace_kernel_start(nt));
		/* If there are no return addresses, perf's chain has only the sampled address. */
		there = nt->kernel_traced || !thread_stack__depth(thread, sample->cpu);
		put_ip(nt->late_chain, sample->ip,
		       is_user(nt, sample->ip) ? PERF_CONTEXT_USER : PERF_CONTEXT_KERNEL,
		       there);
		sample->callchain = nt->late_chain;
	}
	thread__put(thread);
}

/* Complete a sample of another event, after trace has been decoded up to its time. */
void ntrace_stack_sample(struct ntrace *nt, struct perf_sample *sample)
{
	if (nt->opts.add_callchain && !sample->callchain)
		add_chain(nt, sample);
	if (nt->opts.add_last_branch && !sample->branch_stack)
		add_last(nt, sample);
}

/* Announce what the samples of other events will contain. */
void ntrace_stack_setup(struct ntrace *nt)
{
	struct evsel *evsel;
	u64 more = 0;

	if (nt->opts.add_callchain)
		more |= PERF_SAMPLE_CALLCHAIN;
	if (nt->opts.add_last_branch)
		more |= PERF_SAMPLE_BRANCH_STACK;
	evlist__for_each_entry(nt->session->evlist, evsel)
		evsel->synth_sample_type |= more & ~evsel->core.attr.sample_type;
}

void ntrace_stack_free(struct ntrace *nt)
{
	free(nt->late_chain);
	free(nt->late_branches);
}
