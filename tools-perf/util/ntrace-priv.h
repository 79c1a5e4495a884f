/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Decoding of RISC-V N-Trace in perf: declarations for the ntrace-*.c files.
 *
 *	ntrace.c	 the session: processes events in time order
 *	ntrace-queue.c	 the session's queues: tasks, code, losses
 *	ntrace-synth.c	 control flow -> samples and errors
 *	ntrace-cycles.c	 cycles, if timestamps count them
 *	ntrace-stack.c	 last branches; samples of other events
 *	ntrace-log.c	 the debug log
 *	ntrace-space.c	 code bytes of a process and of the kernel
 *	ntrace-file.c	 is this the file that was recorded?
 *	ntrace-kcore.c	 the kernel's text at the start and at the end
 *	ntrace-window.c	 finds the windows in the file and their parameters
 *	ntrace-dump.c	 dumps the trace as text
 *	ntrace-plain.c	 makes injected files readable for other programs
 *	ntrace-record.c	 what perf record writes in addition to the trace
 *	ntrace-switch.c	 what a new file needs from earlier ones (--switch-output)
 *	ntrace-history.c the history of tasks
 *	ntrace-insn.c	 RISC-V instructions for perf script
 *
 * The ntrace command shares ntrace-info.c (what was recorded, on which machine) and
 * ntrace-session/.
 */
#ifndef INCLUDE__PERF_NTRACE_PRIV_H__
#define INCLUDE__PERF_NTRACE_PRIV_H__

#include <stdbool.h>
#include <linux/types.h>

#include "auxtrace.h"
#include "hashmap.h"
#include "session.h"
#include "ntrace-info.h"
#include "ntrace-decoder/ntrace.h"
#include "ntrace-session/nt-session.h"

struct evlist;
struct machine;
struct perf_event_attr;
struct perf_sample;
struct perf_session;
struct thread;

/* --- ntrace-record.c -------------------------------------------------------- */

bool ntrace_is_recorded(struct evlist *evlist);

/* --- ntrace-window.c -------------------------------------------------------- */

struct ntrace;

int ntrace_file_check(struct perf_session *session);
int ntrace_pipe_file(void);
int ntrace_pipe_open(struct perf_session *session, off_t *begin);
int ntrace_pipe_peek(struct perf_session *session, off_t begin, peek_events_cb_t cb, void *ctx);
int ntrace_pipe_skip(struct perf_session *session, u64 size);
int ntrace_windows_find(struct ntrace *nt);

/* --- ntrace-space.c --------------------------------------------------------- */

/* The code of a process, or of the kernel */
struct ntrace_space;

struct ntrace_space *ntrace_space_get(struct ntrace *nt, pid_t pid, struct thread *thread);
struct ntrace_space *ntrace_space_kernel(struct ntrace *nt, bool at_end);
struct nt_code *ntrace_space_code(struct ntrace_space *space);
void ntrace_space_changed(struct ntrace *nt, pid_t pid, u64 start, u64 end);
void ntrace_kernel_changed(struct ntrace *nt, u64 start, u64 end);
void ntrace_space_drop(struct ntrace *nt, pid_t pid);
void ntrace_spaces_free(struct ntrace *nt);
const char *ntrace_space_dso(struct ntrace *nt, struct thread *thread, u64 addr);

/* --- ntrace-file.c ---------------------------------------------------------- */

struct dso;

bool ntrace_file_fits(struct ntrace *nt, struct dso *dso);

/* --- ntrace-kcore.c --------------------------------------------------------- */

struct ntrace_kcore;
struct perf_data;

struct ntrace_kcore *ntrace_kcore_open(struct perf_data *data);
void ntrace_kcore_free(struct ntrace_kcore *kcore);
void ntrace_kcore_ran(struct ntrace *nt, u64 pc, size_t len);
void ntrace_kcore_read_end(struct ntrace *nt, u64 addr, u8 *buf, size_t len);
const struct nt_session_patches *ntrace_kcore_patches(const struct ntrace *nt);

struct ntrace_queue;

/* --- ntrace-cycles.c -------------------------------------------------------- */

/* Kinds of samples with cycles, each counted since the last sample of its kind */
enum ntrace_ipc {
	NTRACE_IPC_BRANCHES,
	NTRACE_IPC_INSTRUCTIONS,
	NTRACE_IPC_CYCLES,
	NTRACE_IPC_KINDS
};

struct ntrace_cycles {
	bool		on;		/* timestamps count cycles */
	bool		known;		/* base is valid */
	bool		exact;		/* count belongs to this event ... */
	bool		was_exact;	/* ... and belonged to the previous event */
	unsigned int	shift;
	u64		mask;
	u64		base;		/* ticks up to which cycles are counted */
	u64		ticks;		/* of the message of the current events ... */
	u64		offset;		/* ... and its offset */
	u64		count;
	u64		entry;		/* count at the last branch */
	struct {
		u64	cycles, insns;
	} told[NTRACE_IPC_KINDS];
};

bool ntrace_cycles_possible(const struct ntrace *nt);
void ntrace_cycles_window(struct ntrace_queue *q, const struct nt_session_window *w);
void ntrace_cycles_event(struct ntrace_queue *q, const struct nt_event *ev, bool last);
u64 ntrace_cycles_take(struct ntrace_queue *q, struct perf_sample *sample, enum ntrace_ipc which,
		       u64 insns, bool exact);
u64 ntrace_cycles_of_branch(struct ntrace_queue *q);

/* --- ntrace-queue.c --------------------------------------------------------- */

/* The decoder of one buffer, window by window */
struct ntrace_queue {
	struct nt_session_queue	s;
	struct ntrace		*nt;
	struct thread		*thread;
	struct ntrace_task	*task;
	pid_t			pid;
	/* periodic samples */
	struct nt_session_period	period;
	u64			insns;		/* instructions retired in total */
	u64			sampled_insns;	/* instructions up to the last sample */
	u64			next_sample;	/* time or instruction number of the next sample */
	struct ntrace_cycles	cycles;
	/* number of bytes of the window that are in the log */
	struct nt_session_window	*logged_window;
	size_t			logged;
	/* buffers for samples */
	union perf_event	*event;
	struct ip_callchain	*chain;
	struct branch_stack	*branches;
};

struct ntrace_queue *ntrace_queue_new(struct ntrace *nt, struct nt_session_buffer *buffer);
void ntrace_queue_free(struct ntrace_queue *q);
void ntrace_queue_look_up_thread(struct ntrace_queue *q);
int ntrace_queue_event(struct nt_session_queue *s, const struct nt_event *ev, bool last);
void ntrace_queue_set_tid(struct ntrace_queue *q, pid_t tid);
void ntrace_queue_renew_thread(struct ntrace_queue *q);
struct nt_code *ntrace_queue_code(struct ntrace_queue *q, u64 addr);

/* --- ntrace-synth.c --------------------------------------------------------- */

/* One kind of synthesized event */
struct ntrace_synth {
	bool	on;
	u64	id;
	u64	sample_type;
	u64	branch_type;
};

/* Traps, as the trace distinguishes them */
enum {
	NTRACE_EXCEPTION,
	NTRACE_INTERRUPT,
	NTRACE_TRAP,			/* either of the two */
	NTRACE_TRAPS
};

int ntrace_synth_setup(struct ntrace *nt);
void ntrace_synth_restart(struct ntrace_queue *q);
int ntrace_synth_branch(struct ntrace_queue *q, const struct nt_event *ev);
int ntrace_synth_pass(struct ntrace_queue *q, u64 until);
int ntrace_synth_start(struct ntrace_queue *q, const struct nt_event *ev);
int ntrace_synth_stop(struct ntrace_queue *q, const struct nt_event *ev);
int ntrace_synth_range(struct ntrace_queue *q, u32 insns);
int ntrace_synth_address(struct ntrace_queue *q, u64 ip);
int ntrace_synth_error(struct ntrace_queue *q, enum nt_session_loss code, u64 ip,
		       const char *fmt, ...) __printf(4, 5);

/* --- ntrace-stack.c --------------------------------------------------------- */

struct branch_entry;
struct branch_stack;
struct ntrace_last;
struct ntrace_task;

struct branch_entry ntrace_branch_entry(const struct ntrace *nt, u64 from, u64 to,
					unsigned int type, u32 flags);
int ntrace_last_push(struct ntrace *nt, struct ntrace_task *task, u64 from, u64 to,
		     unsigned int type, u32 flags, u16 cycles);
int ntrace_last_push_all(struct ntrace *nt, struct ntrace_task *task, const struct nt_event *ev,
			 int nr);
struct branch_stack *ntrace_last_copy(struct ntrace *nt, struct ntrace_task *task,
				      struct branch_stack **stack);
void ntrace_stack_sample(struct ntrace *nt, struct perf_sample *sample);
void ntrace_stack_setup(struct ntrace *nt);
void ntrace_stack_free(struct ntrace *nt);

/* --- ntrace-log.c ----------------------------------------------------------- */

struct ntrace_log;

int ntrace_log_open(struct ntrace *nt);
void ntrace_log_close(struct ntrace *nt);
void ntrace_log_flow(struct ntrace_queue *q, const struct nt_event *ev);
void ntrace_log_leave(struct ntrace_queue *q, size_t used);
void ntrace_log_event(struct ntrace *nt, union perf_event *event,
		      const struct perf_sample *sample);
void ntrace_log_error(struct ntrace_queue *q, const char *msg);

/* --- ntrace-dump.c ---------------------------------------------------------- */

void ntrace_dump_piece(struct ntrace *nt, const struct nt_session_buffer *buffer, u64 offset,
		       u64 size);
void ntrace_dump_sample(struct ntrace *nt, const struct perf_sample *sample);

/* --- ntrace.c --------------------------------------------------------------- */

/* What is remembered of a task while it does not run */
struct ntrace_task {
	pid_t	tid;
	u64	trace_nr;	/* see ntrace_task_trace_nr(); never 0 */
	u64	losses;		/* the part of nt->losses that trace_nr includes */
	struct nt_session_syscall syscall;
	u64	left_at;	/* address where its trace ended ... */
	u64	left_behind;	/* ... or after it, if it is an ECALL */
	bool	user;		/* it has run in user space */
	bool	exec;		/* it has called exec, and is not in user space yet */
	u32	execs;		/* execs so far: call stacks restart at each */
	u64	image;		/* number of its last exec, or of its process's at its creation */
	struct ntrace_last *last; /* branches; NULL: none yet */
};

struct ntrace {
	struct auxtrace		auxtrace;
	struct perf_session	*session;
	struct machine		*machine;
	struct ntrace_info	info;
	struct nt_session	trace;
	struct nt_session_interval *wanted;	/* nt->trace.wanted */
	u64			last_limit;	/* no later trace is decoded */
	struct itrace_synth_opts opts;
	struct ntrace_queue	**queue;
	unsigned int		nr_queues;
	struct auxtrace_heap	heap;
	struct hashmap		*spaces;	/* by pid */
	struct ntrace_space	*kernel[2];	/* with the text at the start and at the end */
	struct ntrace_kcore	*kcore;		/* the kernel's text when recording ended */
	bool			poked;		/* there are records of the kernel's text changes */
	struct hashmap		*tasks;		/* by tid */
	u64			images;		/* execs so far */
	bool			forked;		/* tasks were created during the recording */
	u64			losses;		/* losses in buffers of CPUs */
	struct hashmap		*files;		/* by dso: is it a different file? */
	struct nt_params	code_params;
	struct nt_store		*store;		/* of all spaces */
	bool			have_code_params;
	struct nt_branch	*custom;	/* branch encodings of perf's */
	u32			nr_custom;
	struct thread		*unknown_thread;
	/* samples */
	bool			timed;		/* samples have times */
	u64			untimed_period;	/* in instructions, for trace without times */
	bool			exact_period;	/* samples are exactly one period apart */
	bool			kernel_traced;
	bool			callstack;
	unsigned int		br_stack_sz;
	u32			branches_filter;
	u32			pass_types;	/* transfers that produce no output themselves */
	u64			skip;
	u64			num_events;
	struct ntrace_synth	branches;
	struct ntrace_synth	instructions;
	struct ntrace_synth	cycles;
	struct ntrace_synth	traps[NTRACE_TRAPS];
	struct ip_callchain	*late_chain;	/* for samples of other events */
	struct branch_stack	*late_branches;
	struct ntrace_log	*log;
	int			unpacked;	/* file with trace of compressed records, or -1 */
};

struct ntrace_task *ntrace_task(struct ntrace *nt, pid_t tid, int cpu);
pid_t ntrace_task_owner(struct ntrace *nt, pid_t tid);
void ntrace_warn_untimed(const struct ntrace *nt);
u64 ntrace_task_trace_nr(const struct ntrace *nt, struct ntrace_task *task);
void ntrace_tasks_lost(struct ntrace *nt, const struct ntrace_queue *q);
u64 ntrace_ticks_to_ns(struct ntrace *nt, u64 ticks);
u64 ntrace_ns_to_ticks(struct ntrace *nt, u64 ns);

int ntrace_params(struct ntrace *nt, u64 hw_id, int cpu, struct nt_params *params);

/* Kernel addresses begin where user space ends: see ntrace_info_kernel_start() */
static inline u64 ntrace_kernel_start(const struct ntrace *nt)
{
	return ntrace_info_kernel_start(&nt->info);
}

static inline bool ntrace_is_kernel(const struct ntrace *nt, u64 addr)
{
	return addr >= ntrace_kernel_start(nt);
}

#endif
