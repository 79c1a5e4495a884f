/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * N-Trace recordings: turns the records of a perf.data file into control flow with CPU, task and
 * time. Used by both perf's glue and the ntrace command.
 *
 *	nt-session-windows.c	records -> buffers with windows and their parameters
 *	nt-session-buffer.c	which bytes of an AUX buffer are a window
 *	nt-session-ring.c	AUX area samples
 *	nt-session-stream.c	windows of a sink that several CPUs share
 *	nt-session-queue.c	a buffer's windows -> control flow, in time order
 *	nt-session-owner.c	which task the trace of a window belongs to
 *	nt-session-patches.c	where the kernel was patched during the recording
 *	nt-session-flow.c	the control flow that a host shows, and losses
 *	nt-session-ahead.c	events that wait for the next timestamp
 *	nt-session-replay.c	decodes a message again if the kernel was patched
 *	nt-session-doubt.c	does the trace fit both copies of the kernel's text?
 *	nt-session-plain.c	fast path for runs of branches
 *	nt-session-quick.c	addresses only, without code
 *	nt-session-span.c	the time of each instruction, between timestamps
 *	nt-session-time.c	timestamps that wrap
 *	nt-session-period.c	placement of periodic samples
 *	nt-session-flags.c	transfers and losses in perf's terms
 *	nt-session-interval.c	the windows needed for a time interval
 *
 * The library is linked into both and not installed: its interface is not stable yet.
 */
#ifndef NT_SESSION_H
#define NT_SESSION_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ntrace-decoder/ntrace.h"
#include "ntrace-info.h"

/* Make room for one more element in an array of nr */
void *nt_session_grow(void *array, size_t nr, size_t size);

/* ------------------------------------------------- nt-session-buffer.c -- */

/* A PERF_RECORD_AUXTRACE: a range of bytes of the file */
struct nt_session_piece {
	uint64_t	offset;			/* in the AUX stream of its buffer */
	uint64_t	size;
	uint64_t	file_offset;		/* of the first byte */
	unsigned int	file;			/* if there are several: the host's number */
};

/* What the first byte of a window is */
enum nt_session_begin {
	NT_SESSION_BEGIN_SYNC,	/* the first byte of a sync message */
	NT_SESSION_BEGIN_MESSAGE,	/* the first byte of any message */
	NT_SESSION_BEGIN_ANYWHERE,
	/* Only nt_session_streams_mark() sets these. The message began in the previous window. */
	NT_SESSION_BEGIN_REST,
	/* Trace before the window is lost: this may be the rest of a message. */
	NT_SESSION_BEGIN_LOSS,
};

/*
 * The trace of one PERF_RECORD_AUX, which begins with a sync; the part of it that a snapshot
 * contains; or an AUX area sample
 */
struct nt_session_window {
	uint64_t	offset;
	uint64_t	size;
	uint64_t	time;			/* when it ended, perf's clock; 0: unknown */
	uint64_t	flags;			/* PERF_AUX_FLAG_* */
	uint64_t	hw_id;			/* the parameters in effect; 0: unknown */
	int	cpu;
	pid_t	pid, tid;		/* the task that was current when the window ended */
	bool	of_task;		/* from an event that follows a task */
	bool	orphan;			/* no AUX record covers these bytes */
	bool	ring;			/* from a circular buffer, may be overwritten */
	bool	sampled;		/* an AUX area sample of another event */
	bool	shared;			/* from a sink that other CPUs use, too; then: */
	bool	resume;			/* continues where the previous window ended */
	bool	echo;			/* a replica: another CPU's window has the flags */
	bool	torn;			/* an orphan's bytes may belong before it */
	bool	unplaced;		/* an orphan whose place in the stream is unknown */
	/* Only nt_session_streams_mark() sets this. The last message ends in the next window. */
	bool	unfinished;
	unsigned int idx;		/* of the buffer that contains the bytes */
	enum nt_session_begin begin;
};

/*
 * Where one of several files begins or ends (see ntrace-switch.c): AUX records up to that time are
 * about bytes before that offset, later ones about bytes from there on
 */
struct nt_session_mark {
	bool	there;
	uint64_t	time, offset;
};

/* The parameters of an event on a CPU, as last reported */
struct nt_session_terms {
	int		cpu;
	uint64_t	hw_id;
};

/* An AUX buffer: what one CPU or one thread wrote; or one CPU's view of a shared sink's stream */
struct nt_session_buffer {
	unsigned int		idx;
	int			cpu;	/* -1: of a thread */
	pid_t			tid;
	struct nt_session_piece	*piece;
	size_t			nr_pieces;
	struct nt_session_window	*window;
	size_t			nr_windows;
	size_t			wanted;		/* all windows before this one are needed */
	bool			unordered;	/* pieces are not sorted by offset */
	uint64_t		sampled;	/* bytes of AUX area samples so far */
	struct nt_session_terms	*terms;
	size_t			nr_terms;
	struct nt_session_mark	begin, end;
};

/* Is the message of the source that is decoded? */
static inline bool nt_session_is_own(const struct nt_params *params, const struct nt_msg *msg)
{
	return !(msg->fields & NT_F_SRC) || params->src < 0 || msg->src == params->src;
}

int nt_session_buffer_add_piece(struct nt_session_buffer *buffer,
				const struct nt_session_piece *piece, uint64_t reference);
int nt_session_buffer_add_window(struct nt_session_buffer *buffer,
				 const struct nt_session_window *window);
int nt_session_buffer_finish(struct nt_session_buffer *buffer);
void nt_session_buffer_free(struct nt_session_buffer *buffer);
void nt_session_buffer_blank(uint8_t *data, uint64_t len);
int nt_session_message(const struct nt_params *params, const uint8_t *data, size_t len, size_t *at,
		       struct nt_msg *msg);
int nt_session_own_message(const struct nt_params *params, const uint8_t *data, size_t len,
			   size_t *at, struct nt_msg *msg);
size_t nt_session_window_skip(const struct nt_session_window *window,
			      const struct nt_params *params, const uint8_t *data, size_t len,
			      bool open);
/* What a dump prints for the bytes skipped at the beginning of a marked window; else NULL */
const char *nt_session_window_passed_text(const struct nt_session_window *window);
bool nt_session_window_is_middle(const uint8_t *data, size_t len, size_t skip);
bool nt_session_window_passed(const struct nt_params *params, const uint8_t *data, size_t len);

/* ------------------------------------------------ nt-session-windows.c -- */

/* The configuration of an event; cpu -1: any CPU */
struct nt_session_asked {
	unsigned int		idx;
	int			cpu;
	struct ntrace_asked	what;
};

/* The trace of a recording. The caller sets info, read and ctx, and zeroes the rest. */
struct nt_session {
	const struct ntrace_info *info;
	/* Read up to len bytes of the file. Returns their number, or a negative error */
	ssize_t (*read)(void *ctx, unsigned int file, uint64_t file_offset, void *buf, size_t len);
	void			*ctx;
	struct nt_session_buffer **buffer;	/* by index; NULL: none */
	unsigned int		nr_buffers;
	struct nt_session_asked	*asked;
	size_t			nr_asked;
	uint64_t		sink;		/* requested by the events; 0: default */
	const struct nt_session_interval *wanted;	/* owned by the caller; nr_wanted 0: all */
	size_t			nr_wanted;
	uint64_t		skips;		/* how often trace that is not wanted was skipped */
	uint64_t		reached;	/* set by the host: time of its newest event */
	size_t			opened;		/* windows opened so far */
};

/*
 * Add, in file order: an AUXTRACE record, the content of an HW_ID record, an AUX record, an AUX
 * area sample. The configuration of each event ID may come at any time. Return 0 or a negative
 * errno
 */
int nt_session_add_piece(struct nt_session *s, unsigned int idx, int cpu, pid_t tid,
			 const struct nt_session_piece *piece, uint64_t reference);
int nt_session_add_terms(struct nt_session *s, unsigned int idx, int cpu, uint64_t hw_id);
int nt_session_add_window(struct nt_session *s, unsigned int idx,
			  const struct nt_session_window *window);
int nt_session_add_sample(struct nt_session *s, unsigned int idx, int cpu, pid_t tid,
			  const struct nt_session_window *window, unsigned int file,
			  uint64_t file_offset);
int nt_session_ask(struct nt_session *s, unsigned int idx, int cpu,
		   const struct ntrace_asked *what);
/* Call this after the last record: it determines the bytes of each window. */
int nt_session_finish(struct nt_session *s);
void nt_session_free(struct nt_session *s);

/* The buffer with this index, created if needed; NULL: no memory, or index too large */
struct nt_session_buffer *nt_session_buffer(struct nt_session *s, unsigned int idx);
#define NT_SESSION_BUFFERS_MAX	65536

/* How many bytes of a window are in the file, from its beginning on */
size_t nt_session_there(const struct nt_session *s, const struct nt_session_window *w);
/* Read its bytes, or fewer if the file was truncated. Returns their number, or s->read's error */
ssize_t nt_session_read(const struct nt_session *s, const struct nt_session_window *w,
			uint8_t *data, size_t size);

/* Are these idle bytes? Bytes that the driver skipped have no AUX record and read as idle. */
bool nt_session_is_padding(const uint8_t *data, size_t len);

/* --------------------------- nt-session-ring.c, nt-session-stream.c -- */

/* Keep only the AUX area samples of a buffer, and each byte only once. */
int nt_session_samples_clip(const struct nt_session *s, struct nt_session_buffer *b);
/* Move the windows of shared sinks from their buffers to one new buffer for each CPU. */
int nt_session_streams(struct nt_session *s);
/*
 * For dumps: leave the windows where they are, and mark those that may begin inside a message with
 * NT_SESSION_BEGIN_REST or NT_SESSION_BEGIN_LOSS.
 */
int nt_session_streams_mark(struct nt_session *s);
/*
 * Does a stream continue in window number next of a buffer? whole: all bytes of the previous window
 * are present; otherwise, the stream ends there.
 */
bool nt_session_goes_on(struct nt_session_buffer *b, size_t next, bool whole);
/* If messages have a SRC, set the SRC of this CPU, so that messages of others are ignored. */
void nt_session_choose_src(struct nt_params *params, uint64_t hw_id);
/*
 * The longest beginning of a message that is kept for the next window. No message comes near this
 * length.
 */
#define NT_SESSION_REST_MAX	4096

/* --------------------------- nt-session-span.c and nt-session-time.c -- */

/* The events up to the next timestamp: see nt-session-span.c */
struct nt_session_span {
	int	end;		/* index after its last event; the next span begins there ... */
	int	scan;		/* ... and does not end before this index */
	uint64_t	sum;		/* instructions up to scan */
	uint64_t	insns;		/* instructions that retire in the span ... */
	uint64_t	done;		/* ... up to the last event that was used */
	uint64_t	from, to;	/* perf's clock */
	uint64_t	advance;	/* of the clock of samples */
	bool	known;		/* to is valid */
};

/* The recent rate of instructions */
struct nt_session_pace {
	uint64_t	insns, time;
	uint64_t	tick, period;	/* of timestamps and of samples */
};

/* The clock of samples by time counts 1/1024 ns: several instructions may retire in 1 ns. */
#define NT_SESSION_CLOCK_SHIFT	10

/* The time of a message with TSTAMP. last: the time before; no time is earlier than from */
static inline uint64_t nt_session_span_stamp(const struct nt_params *params,
					     const struct nt_msg *msg, uint64_t last, uint64_t from)
{
	const bool xored = params->profile == NT_PROFILE_P550 ||
			   params->profile == NT_PROFILE_SIFIVE;
	uint64_t stamp = msg->tstamp;

	if (!nt_tcode_is_sync(msg->tcode) && xored)
		stamp ^= last;
	else if (!nt_tcode_is_sync(msg->tcode) && params->profile != NT_PROFILE_TT_DFD)
		return last + stamp;

	return nt_tstamp_behind(last, from, stamp, params->tstamp_bits);
}

/* a * b / c, rounded down; UINT64_MAX on overflow; c must not be 0 */
uint64_t nt_session_scale(uint64_t a, uint64_t b, uint64_t c);

/* When instruction number insn of the span retired. Most spans need only a short division. */
static inline uint64_t nt_session_span_at(const struct nt_session_span *s, uint64_t insn)
{
	const uint64_t ns = s->to - s->from;

	if (insn >= s->insns || !ns)
		return s->to;
	if (ns <= UINT16_MAX && s->insns <= UINT16_MAX)
		return s->from + (uint32_t)(ns * insn) / (uint32_t)s->insns;
	return s->from + nt_session_scale(ns, insn, s->insns);
}

bool nt_session_span_ends(const struct nt_event *ev);
bool nt_session_span_scan(struct nt_session_span *s, const struct nt_event *ev, int first, int nr,
			  bool all);
uint64_t nt_session_pace_of(const struct nt_session_pace *p, uint64_t insns);
uint64_t nt_session_pace_advance(struct nt_session_pace *p, uint64_t insns, uint64_t time,
				 bool cut);

uint64_t nt_session_time_from(const struct nt_params *params, uint64_t begin, uint64_t end,
			      const uint8_t *data, size_t len);

/* ----------------------------------------------- nt-session-interval.c -- */

/*
 * A stop that lasts longer is not a pause between two windows. The clocks of trace and records
 * differ by less than this.
 */
#define NT_SESSION_PAUSE_NS	10000000ULL

/* Decode this time before an interval event by event, so that the first span has its beginning. */
#define NT_SESSION_BEFORE_NS	100000ULL

/* On perf's clock, both ends included */
struct nt_session_interval {
	uint64_t	from, to;
};

/*
 * The window to decode next: the first one from number next on that may contain trace of a wanted
 * time, or an earlier one if decoding has to begin there; b->nr_windows if there is none. Skipped
 * windows do not count as losses. If decoding begins in a window of a shared sink, this window no
 * longer continues the previous one.
 */
size_t nt_session_wanted(const struct nt_session *s, struct nt_session_buffer *b, size_t next);
bool nt_session_time_is_wanted(const struct nt_session *s, uint64_t time);
/*
 * Branches between @time and the returned time may be skipped. If the returned time is not later,
 * none may be skipped. UINT64_MAX: no interval follows.
 */
uint64_t nt_session_unwanted_until(const struct nt_session *s, uint64_t time);

struct nt_session_queue;

/*
 * Where to begin in the window that the queue has loaded, if what precedes an interval may be
 * skipped: the offset in q->data of a sync message before the interval, or q->data_skip
 */
size_t nt_session_interval_begin(const struct nt_session_queue *q,
				 const struct nt_session_window *w,
				 const struct nt_params *params);

/*
 * The previous window that has an AUX record. Trace without a record has no time of its own. NULL:
 * there is none
 */
const struct nt_session_window *nt_session_window_before(const struct nt_session_buffer *b,
							 const struct nt_session_window *w);

/* ------------------------------------------------- nt-session-period.c -- */

/*
 * Instructions or time are divided into blocks of one period. Each block has one sample, at a
 * random position in it. So every unit is sampled with the same probability, 1 / period, whatever
 * loop it belongs to, and however short the traced stretch is. A block that begins after a gap gets
 * a new random position. If the stretch ends before that position, the block has no sample.
 *
 *	|.....x....|..x.......|........x.|x.........|	x sample
 *	<- period ->
 */
struct nt_session_period {
	uint64_t	period;
	uint64_t	random;		/* state of the generator */
	uint64_t	rest;		/* of the block, after its sample */
	bool		exact;		/* samples are exactly one period apart */
};

void nt_session_period_init(struct nt_session_period *p, uint64_t period, uint64_t seed,
			    bool exact);

/* Begin a new block. Returns the number of units up to its sample, at least 1 */
uint64_t nt_session_period_begin(struct nt_session_period *p);

/* The number of units from one sample to the next, at least 1 */
uint64_t nt_session_period_next(struct nt_session_period *p);

/* a * b / c, rounded up or down at random so that the mean is exact */
uint64_t nt_session_period_scale(struct nt_session_period *p, uint64_t a, uint64_t b, uint64_t c);

/* -------------------------------------------------- nt-session-flags.c -- */

/* Kinds of transfers, with the values of perf's PERF_IP_FLAG_* */
enum nt_session_flag {
	NT_SESSION_BRANCH	= 1 << 0,
	NT_SESSION_CALL		= 1 << 1,
	NT_SESSION_RETURN	= 1 << 2,
	NT_SESSION_CONDITIONAL	= 1 << 3,
	NT_SESSION_SYSCALL	= 1 << 4,
	NT_SESSION_ASYNC	= 1 << 5,
	NT_SESSION_INTERRUPT	= 1 << 6,
	NT_SESSION_BEGIN	= 1 << 8,	/* trace begins: from is 0 */
	NT_SESSION_END		= 1 << 9,	/* trace ends: to is 0 */
};

/* The flags of a type (enum nt_type), as far as the type determines them; 0 for NONE */
uint32_t nt_session_flags(unsigned int type);
/* Is there an ECALL? code: of user space; NULL: unknown */
bool nt_session_is_ecall(struct nt_code *code, uint64_t addr);
/* The ECALL that a task executes. Zeros: not known yet. */
struct nt_session_syscall {
	uint64_t	ip;		/* its address; 0: none */
	uint64_t	known;		/* s->skips + 1 when it was found out */
};

/* The flags of a trap or of the return from it */
uint32_t nt_session_trap_flags(const struct nt_session *s, const struct nt_event *ev,
			       struct nt_code *code, struct nt_session_syscall *call);

/* The address in user space, if it is one, whose code nt_session_branch_flags() needs */
static inline uint64_t nt_session_flags_addr(const struct nt_event *ev)
{
	return ev->type == NT_TYPE_ERET ? ev->to : ev->from;
}

static inline bool nt_session_flags_need_code(const struct nt_event *ev)
{
	return ev->type == NT_TYPE_ERET || nt_type_is_trap(ev->type);
}

/*
 * The flags of a BRANCH. code: of user space at nt_session_flags_addr(), only if they need code.
 * call: of the task, updated here; NULL: the task is unknown. A return behind an ECALL ends a
 * system call, unless it is known that the task executes none.
 */
static inline uint32_t nt_session_branch_flags(const struct nt_session *s,
					       const struct nt_event *ev, struct nt_code *code,
					       struct nt_session_syscall *call)
{
	if (nt_session_flags_need_code(ev))
		return nt_session_trap_flags(s, ev, code, call);
	return nt_session_flags(ev->type);
}

/* Kinds of losses. The values are perf's error codes. */
enum nt_session_loss {
	NT_SESSION_LOSS_OVERFLOW = 1,	/* the encoder lost messages */
	NT_SESSION_LOSS_LOST,		/* trace is missing in the file */
	NT_SESSION_LOSS_CODE,		/* code not available */
	NT_SESSION_LOSS_FLOW,		/* trace and code do not match */
	NT_SESSION_LOSS_DATA,		/* malformed messages */
	NT_SESSION_LOSS_FILE,		/* the file is damaged */
};

/* The kind of loss for the reason (enum nt_error) of a LOSS */
enum nt_session_loss nt_session_loss(unsigned int reason);

/* ------------------------------------------------ nt-session-patches.c -- */

/* Code that changed between the start and the end of the recording */
struct nt_session_patch {
	uint64_t	start, end;
	bool		told;
};

struct nt_session_patches {
	struct nt_session_patch *patch;	/* sorted by address */
	size_t		nr;
	uint64_t	lines[128];	/* bitmap of patched lines, by their low bits */
};

#define NT_SESSION_PATCHES_LINE	6	/* a line has 64 bytes */

/* May [start, end) overlap a patch? False: certainly not */
static inline bool nt_session_patches_maybe(const struct nt_session_patches *p, uint64_t start,
					    uint64_t end)
{
	uint64_t line = start >> NT_SESSION_PATCHES_LINE;
	const uint64_t last = (end - 1) >> NT_SESSION_PATCHES_LINE;

	if (start >= end || last - line > 8)
		return start < end;
	for (; line <= last; line++)
		if (p->lines[line / 64 % 128] >> line % 64 & 1)
			return true;
	return false;
}

/* Add the ranges where the copies differ: @len bytes at @addr of each; returns 0 or -ENOMEM */
int nt_session_patches_compare(struct nt_session_patches *p, uint64_t addr, const uint8_t *first,
			       const uint8_t *last, size_t len);
/* A range in [pc, pc + len) that no call has returned yet, or NULL */
const struct nt_session_patch *nt_session_patches_ran(struct nt_session_patches *p, uint64_t pc,
						      size_t len);
/* The first range in [start, end), or NULL */
const struct nt_session_patch *nt_session_patches_find(const struct nt_session_patches *p,
						       uint64_t start, uint64_t end);
void nt_session_patches_free(struct nt_session_patches *p);

/* -------------------------------------------------- nt-session-quick.c -- */

/* Like nt_flow, but without code: events have no instruction counts */
struct nt_session_quick;

/* NULL: no memory */
struct nt_session_quick *nt_session_quick_new(const struct nt_params *params, bool syncs_only);
void nt_session_quick_free(struct nt_session_quick *qk);
/* open: more bytes will follow; more: continues where the previous window ended. */
void nt_session_quick_window(struct nt_session_quick *qk, const uint8_t *buf, size_t len,
			     uint64_t offset, bool open, bool more);
void nt_session_quick_time_from(struct nt_session_quick *qk, uint64_t ticks);
int nt_session_quick_next(struct nt_session_quick *qk, struct nt_event *ev, unsigned int max,
			  uint64_t limit);
bool nt_session_quick_at_limit(const struct nt_session_quick *qk);
size_t nt_session_quick_consumed(const struct nt_session_quick *qk);

/* -------------------------------------------------- nt-session-queue.c -- */

/*
 * The callbacks of a host. Functions that return int return 0, or a negative error that ends
 * decoding. Those marked NULL are optional.
 */
struct nt_session_host {
	/* Do the ticks in the window's messages convert to the recording's time? */
	bool (*is_timed)(struct nt_session_queue *q, const struct nt_session_window *w);
	/* NULL. A window begins; q->timed is still that of the previous window. */
	void (*enter)(struct nt_session_queue *q, const struct nt_session_window *w);
	/*
	 * NULL. All events of q->window were used. The first @used bytes of q->data were consumed;
	 * the next window continues with the rest. Not called for an empty or a refused window.
	 */
	void (*leave)(struct nt_session_queue *q, size_t used);
	/* Fill in the parameters for decoding the window, which also affect code. */
	int (*terms)(struct nt_session_queue *q, const struct nt_session_window *w,
		     struct nt_params *params);
	/* Give q->flow the code of the task that q->tid names. */
	void (*use_code)(struct nt_session_queue *q);
	/* NULL. Counters to add the branches up to about the time *until to, or NULL */
	struct nt_counts *(*counts)(struct nt_session_queue *q, uint64_t *until);
	/* The decoder failed. */
	int (*broken)(struct nt_session_queue *q, int err);
	/* The kernel's code, or NULL */
	struct nt_code *(*kernel)(struct nt_session_queue *q);
	bool (*is_kernel)(struct nt_session_queue *q, uint64_t addr);
	/*
	 * With q->patches: is it worth trying the other copy of the kernel's text? q->kernel_at_end
	 * tells which copy use_code() uses.
	 */
	bool (*is_patched)(struct nt_session_queue *q);

	/* The current ID of the task that the trace calls tid */
	pid_t (*owner)(struct nt_session_queue *q, pid_t tid);
	/* Do records before the window mention this task? */
	bool (*knows)(struct nt_session_queue *q, pid_t tid);
	/* Another task runs from here on, -1: unknown. Sets q->tid. */
	void (*set_tid)(struct nt_session_queue *q, pid_t tid);

	/*
	 * NULL. Consume events that produce no output, up to the time until. Returns their number,
	 * or a negative error. If is_patched() is true, it stops before an event up to which
	 * patched code may have run.
	 */
	int (*pass)(struct nt_session_queue *q, uint64_t until);
	/*
	 * An event, at q->time. last: no more events of the same message are known. Calls
	 * nt_session_flow_event(), which calls the functions below.
	 */
	int (*event)(struct nt_session_queue *q, const struct nt_event *ev, bool last);
	/* For a branch after a branch, event() only calls range() and branch(). */
	bool plain_branches;
	/* insns instructions have retired from q->pc on, without a transfer. */
	int (*range)(struct nt_session_queue *q, uint32_t insns);
	int (*branch)(struct nt_session_queue *q, const struct nt_event *ev);
	/* Trace begins (call nt_session_flow_left() for other queues of the task), or ends */
	int (*start)(struct nt_session_queue *q, const struct nt_event *ev);
	int (*stop)(struct nt_session_queue *q, const struct nt_event *ev);
	/* NULL. Trace was off from q->held until q->resumed_time, at the same address. */
	int (*pause)(struct nt_session_queue *q);
	/* NULL. An event of any other kind */
	int (*other)(struct nt_session_queue *q, const struct nt_event *ev);
	/* NULL. Calls and returns from here until trace resumes are unknown. */
	void (*lost)(struct nt_session_queue *q);
	/* ip: the address of the loss, or 0 */
	int (*loss)(struct nt_session_queue *q, enum nt_session_loss code, uint64_t ip,
		    const char *text);
	/* A loss because there is no code at ev->to */
	int (*no_code)(struct nt_session_queue *q, const struct nt_event *ev);
	/* The name of the mapping at an address, or NULL */
	const char *(*place)(struct nt_session_queue *q, uint64_t addr);
};

/* At least as many events as one message can produce */
#define NT_SESSION_BATCH	256

struct nt_session_replay {
	bool		marked;		/* nt_flow_mark() has remembered this offset: */
	uint64_t	mark;
	uint64_t	reached;	/* the session's, then */
	uint64_t	lost;		/* offset of the last loss that was tried; 0: none yet */
	uint64_t	first;		/* of the first message that was decoded again */
	unsigned int	tries;		/* with the other copy */
	bool		due;		/* use the other copy for it, after all events before it */
	bool		trial;		/* the next events are decoded with the other copy */
	unsigned int	batches;	/* since then */
};

/* The decoder of one buffer, window by window. Embedded in the host's own structure */
struct nt_session_queue {
	const struct nt_session_host *host;
	struct nt_session *session;
	struct nt_session_buffer *buffer;
	unsigned int		without_code;	/* set by the host: 0, 1: addresses, 2: of syncs */
	bool			exact_period;	/* set by the host: samples are one period apart */
	const struct nt_session_patches *patches; /* owned by the host; NULL: none */
	struct nt_flow		*flow;		/* either flow or quick is used */
	struct nt_session_quick	*quick;
	struct nt_path		*path;		/* for the host to use */
	uint64_t		hw_id;
	struct nt_params	params;		/* of flow or quick */
	/* the window being decoded */
	size_t			next_window;
	struct nt_session_window *window;
	uint8_t			*data;
	size_t			data_room;
	size_t			data_len;
	size_t			data_skip;	/* bytes of data before decoding begins */
	size_t			rest;		/* bytes of data kept from the previous window */
	bool			timed;		/* its messages have the recording's time ... */
	bool			unstamped;	/* ... of which some have no TSTAMP */
	bool			owned;		/* its Ownership messages are valid ... */
	uint64_t		owned_until;	/* ... up to this offset */
	bool			begun;		/* losses known before decoding are reported */
	bool			lost_some;	/* messages reported a loss in it */
	bool			unsaid;		/* trace ended without a message that reports it */
	bool			after_loss;	/* a loss was reported, and no start since */
	const char		*broken;	/* why a shared sink's stream lacks trace ... */
	uint64_t		broken_at;	/* ... at this offset; NULL: it lacks none */
	bool			behind_gap;	/* trace is missing before the next event */
	uint64_t		next_offset;	/* after the last byte of the window */
	unsigned int		ts_shift;
	uint64_t		ticks_from;	/* no timestamp of the window is earlier */
	bool			guest;		/* V=1: a guest runs ... */
	pid_t			host_tid;	/* ... inside of this host task */
	struct nt_session_replay replay;
	uint64_t		used;		/* offset in the message of the last used event */
	unsigned int		doubtful;	/* events left to drop after a loss, or ..._OPEN */
	unsigned int		no_doubt;	/* events left for which both copies agree */
	bool			calls_unsure;	/* the return stack may be wrong, but for ... */
	unsigned int		calls;		/* ... so many calls since */
	bool			kernel_at_end;	/* the copy of the kernel's text in use */
	/* decoded events that have not been used */
	struct nt_event		*ev;
	int			nr, pos, room;
	struct nt_session_span	span;		/* that pos is in, or after */
	struct nt_session_pace	pace;		/* its period is set by the host */
	uint64_t		clock;		/* of samples by time, at the span's begin */
	/* position of the flow */
	pid_t			tid;
	int			cpu;
	uint64_t		time;		/* the recording's clock */
	uint64_t		pc;		/* start of the current linear code */
	bool			have_pc;
	struct nt_event		held;		/* a START or STOP, until the next event */
	bool			have_held;
	uint64_t		held_time;
	bool			paused;		/* the held stop was a pause, until this start */
	struct nt_event		resumed;
	uint64_t		resumed_time;
};

/* The AUX offset of the first byte that the decoder got */
static inline uint64_t nt_session_queue_offset(const struct nt_session_queue *q)
{
	return q->window->offset + q->data_skip - q->rest;
}

/* 0 or a negative errno */
int nt_session_queue_init(struct nt_session_queue *q, const struct nt_session_host *host,
			  struct nt_session *s, struct nt_session_buffer *buffer);
void nt_session_queue_exit(struct nt_session_queue *q);
/* Call this before code is freed. */
void nt_session_queue_forget_code(struct nt_session_queue *q);
/* Decode events up to the time limit. 1: events are ready, 0: none yet, or none left */
int nt_session_queue_fetch(struct nt_session_queue *q, uint64_t limit);
/*
 * Deliver the fetched events up to the time @until, where another queue has one. Events that
 * produce no output may be passed up to @limit: they have no order between queues.
 */
int nt_session_queue_deliver(struct nt_session_queue *q, uint64_t until, uint64_t limit);
/* The time of the next fetched event */
uint64_t nt_session_queue_time(const struct nt_session_queue *q);
/* Does the next trace lack times? Then other events take effect before all of it. */
bool nt_session_queue_is_untimed(struct nt_session_queue *q);
/* ... and also lack owners, in a CPU's buffer? Then it counts for the task that ran last. */
bool nt_session_queue_is_blind(struct nt_session_queue *q);

/* -------------------------------------------------- nt-session-plain.c -- */

/* Do all events of the span happen up to that time? */
bool nt_session_plain_ends_before(const struct nt_session_queue *q, uint64_t until);
/* After a branch: use the following plain branches up to the time until. */
int nt_session_plain_use(struct nt_session_queue *q, uint64_t until);

/* -------------------------------------------------- nt-session-owner.c -- */

/*
 * The offset up to which the Ownership messages of a window are valid; 0: not at all, the window
 * belongs to the task of the AUX record
 */
uint64_t nt_session_owned_until(struct nt_session_queue *q, const struct nt_session_window *w,
				const struct nt_params *params);

/* --------------------------------------------------- nt-session-flow.c -- */

int nt_session_flow_event(struct nt_session_queue *q, const struct nt_event *ev);
/* Process an Ownership message, without reporting anything */
void nt_session_flow_context(struct nt_session_queue *q, const struct nt_event *ev);
/* Report a held event that is older than that time: a pause would have ended by then. */
int nt_session_flow_flush(struct nt_session_queue *q, uint64_t before);
/* The task continues elsewhere at that time: a held stop was not a pause. */
int nt_session_flow_left(struct nt_session_queue *q, uint64_t time);
/* No window is left: report what the stream of a shared sink lacks, if no start told of it. */
int nt_session_flow_unstarted(struct nt_session_queue *q);
/* Trace is missing between the previous event and the next one. */
int nt_session_flow_gap(struct nt_session_queue *q);
int __attribute__((format(printf, 4, 5)))
nt_session_flow_loss(struct nt_session_queue *q, enum nt_session_loss code, uint64_t ip,
		     const char *fmt, ...);

/* -------------------------------------------------- nt-session-ahead.c -- */

/* All of a span was used: begin the next one, if it is complete or no more events will come. */
bool nt_session_ahead_next(struct nt_session_queue *q, bool all);
/*
 * The previous span was used. Skip whole spans that end among the next nr events and not later than
 * until. Returns the number of skipped events. On entry, *insns is the number of instructions of
 * all nr events; on return, that of the skipped ones.
 */
int nt_session_ahead_pass(struct nt_session_queue *q, int nr, uint64_t until, uint64_t *insns);
/* Discard unused events; the next event is a START. */
void nt_session_ahead_reset(struct nt_session_queue *q);
/* Forget the events that were used. */
void nt_session_ahead_move(struct nt_session_queue *q);
/* Make room for two batches after the events that wait for the end of their span */
int nt_session_ahead_room(struct nt_session_queue *q);
/*
 * When the instruction retired that comes insns after the last used event. Not before the newest
 * other event of the session, because code is read through the mappings that these events describe.
 */
static inline uint64_t nt_session_ahead_time(const struct nt_session_queue *q, uint64_t insns)
{
	uint64_t time;

	if (!q->timed)
		return q->time;
	time = nt_session_span_at(&q->span, q->span.done + insns);
	return time > q->session->reached ? time : q->session->reached;
}

/* A time of perf's clock in ticks of the window's messages */
static inline uint64_t nt_session_queue_ticks(const struct nt_session_queue *q, uint64_t time)
{
	return ntrace_info_ticks(q->session->info, time) >> q->ts_shift;
}

/* When the event happened, if it is used next */
static inline uint64_t nt_session_queue_event_time(const struct nt_session_queue *q,
						   const struct nt_event *ev)
{
	uint64_t time = nt_session_ahead_time(q, ev->insns);

	return time > q->time ? time : q->time;
}

/* ------------------------------------------------- nt-session-replay.c -- */

/* A window begins. */
void nt_session_replay_begin(struct nt_session_queue *q);
/* Call this before each batch. Returns 0 or a negative error of the decoder */
int nt_session_replay_mark(struct nt_session_queue *q);
/*
 * A batch of @n events was decoded to q->ev + q->nr. Returns how many of them are to be used, or a
 * negative error of the decoder. It may replace them, and drop events before them.
 */
int nt_session_replay_check(struct nt_session_queue *q, int n);
/*
 * All events before a message that did not fit were used: continue with the other copy. False:
 * there is no such message.
 */
bool nt_session_replay_turn(struct nt_session_queue *q);

/* -------------------------------------------------- nt-session-doubt.c -- */

/* Doubtful are all events up to the first that is not on the way. */
#define NT_SESSION_DOUBT_OPEN	UINT_MAX

/*
 * A taken branch whose message has no address, or the address of a later event: both copies of the
 * text may still fit. @last: the event is the last of its message.
 */
bool nt_session_doubt_is_on_the_way(const struct nt_event *ev, bool last);

/*
 * Did patched code run up to @ev, the next event, and does the trace also fit the other copy of the
 * kernel's text on another path? Returns the patched range, or NULL. *events: the number of
 * doubtful events, from @ev on, or NT_SESSION_DOUBT_OPEN; the last one tells where the flow
 * continues.
 */
const struct nt_session_patch *nt_session_doubt(struct nt_session_queue *q,
						const struct nt_event *ev, unsigned int *events);

/* Did patched code run up to one of the events that wait? */
bool nt_session_doubt_is_possible(const struct nt_session_queue *q);

/* Did patched code run in a message whose end nt_session_doubt() needs, and q->ev does not have? */
bool nt_session_doubt_goes_on(const struct nt_session_queue *q);

#endif
