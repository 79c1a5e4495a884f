/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Recordings of N-Trace: what lies between the records of a perf.data and control flow with
 * CPU, task and time. No part of perf: perf's glue and the ntrace command both have it.
 *
 *	nt-session-windows.c	records -> buffers with windows, and their terms
 *	nt-session-buffer.c	which bytes of an AUX buffer are a window
 *	nt-session-ring.c	AUX area samples
 *	nt-session-stream.c	windows of a sink that several CPUs share
 *	nt-session-queue.c	a buffer's windows -> control flow, in the order of time
 *	nt-session-owner.c	whose the trace in a window is
 *	nt-session-patches.c	where the kernel was patched during the recording
 *	nt-session-flow.c	what of the control flow a host shows, and what was lost
 *	nt-session-ahead.c	events that wait for the next time that a message tells
 *	nt-session-replay.c	a window once more, where the kernel was patched in it
 *	nt-session-doubt.c	does the trace fit both copies of the kernel there?
 *	nt-session-plain.c	branches behind branches, at once
 *	nt-session-quick.c	addresses only, without code
 *	nt-session-span.c	the time of each instruction, between those that messages tell
 *	nt-session-time.c	timestamps that wrap
 *	nt-session-period.c	where the samples of a period are
 *	nt-session-flags.c	transfers and losses in perf's words
 *	nt-session-interval.c	which windows a time needs
 *
 * It is built into both, and not installed: its interface is not settled.
 */
#ifndef NT_SESSION_H
#define NT_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ntrace-decoder/ntrace.h"
#include "ntrace-info.h"

/* Room for one more in an array of nr */
void *nt_session_grow(void *array, size_t nr, size_t size);

/* ------------------------------------------------- nt-session-buffer.c -- */

/* A PERF_RECORD_AUXTRACE: bytes of the file */
struct nt_session_piece {
	uint64_t	offset;			/* in the AUX stream of its buffer */
	uint64_t	size;
	uint64_t	file_offset;		/* of the first byte */
	unsigned int	file;			/* of several, as the host numbers them */
};

/* Where in the trace the first byte of a window is */
enum nt_session_begin {
	NT_SESSION_BEGIN_SYNC,	/* a sync message begins */
	NT_SESSION_BEGIN_MESSAGE,	/* some message begins */
	NT_SESSION_BEGIN_ANYWHERE,
	/* Only nt_session_streams_mark() sets these. The window before has the message's begin. */
	NT_SESSION_BEGIN_REST,
	/* Trace before the window is lost: this may be the rest of a message. */
	NT_SESSION_BEGIN_LOSS,
};

/*
 * What one PERF_RECORD_AUX reports: a stretch of trace that begins with a sync;
 * or what a snapshot has of it; or an AUX area sample
 */
struct nt_session_window {
	uint64_t	offset;
	uint64_t	size;
	uint64_t	time;			/* of its end, perf's clock; 0 unknown */
	uint64_t	flags;			/* PERF_AUX_FLAG_* */
	uint64_t	hw_id;			/* the terms in effect, 0 unknown */
	int	cpu;
	pid_t	pid, tid;		/* current when the window ended */
	bool	of_task;		/* of an event that follows a task */
	bool	orphan;			/* no AUX record reports these bytes */
	bool	ring;			/* of a circular buffer, maybe overwritten */
	bool	sampled;		/* by another event */
	bool	shared;			/* of a sink that others use too; then: */
	bool	resume;			/* it goes on where the one before ended */
	bool	echo;			/* another CPU took it: its flags are told there */
	/* Only nt_session_streams_mark() sets this. The next window has the last message's end. */
	bool	unfinished;
	unsigned int idx;		/* of the buffer that has the bytes */
	enum nt_session_begin begin;
};

/*
 * Where one file of several begins, or ends (see ntrace-switch.c): AUX records up to that time are
 * about bytes before that offset, and later ones about those behind
 */
struct nt_session_mark {
	bool	there;
	uint64_t	time, offset;
};

/* What an event uses on a CPU, as last reported */
struct nt_session_terms {
	int		cpu;
	uint64_t	hw_id;
};

/* An AUX buffer: what one CPU, or one thread, wrote; or a CPU's view of a shared sink's stream */
struct nt_session_buffer {
	unsigned int		idx;
	int			cpu;	/* -1: of a thread */
	pid_t			tid;
	struct nt_session_piece	*piece;
	size_t			nr_pieces;
	struct nt_session_window	*window;
	size_t			nr_windows;
	size_t			wanted;		/* windows before that one are needed, all */
	bool			unordered;	/* pieces are not by their offsets */
	uint64_t		sampled;	/* bytes of AUX area samples so far */
	struct nt_session_terms	*terms;
	size_t			nr_terms;
	struct nt_session_mark	begin, end;
};

int nt_session_buffer_add_piece(struct nt_session_buffer *buffer,
				const struct nt_session_piece *piece, uint64_t reference);
int nt_session_buffer_add_window(struct nt_session_buffer *buffer,
				 const struct nt_session_window *window);
int nt_session_buffer_finish(struct nt_session_buffer *buffer);
void nt_session_buffer_free(struct nt_session_buffer *buffer);
void nt_session_buffer_blank(uint8_t *data, uint64_t len);
int nt_session_message(const struct nt_params *params, const uint8_t *data, size_t len, size_t *at,
		       struct nt_msg *msg);
size_t nt_session_window_skip(const struct nt_session_window *window,
			      const struct nt_params *params, const uint8_t *data, size_t len,
			      bool open);
/* What a dump says of bytes that it passes over at the begin of a marked window; else NULL */
const char *nt_session_window_passed_text(const struct nt_session_window *window);
bool nt_session_window_is_middle(const uint8_t *data, size_t len, size_t skip);
bool nt_session_window_passed(const struct nt_params *params, const uint8_t *data, size_t len);

/* ------------------------------------------------ nt-session-windows.c -- */

/* What an event asked for; cpu -1: on any */
struct nt_session_asked {
	unsigned int		idx;
	int			cpu;
	struct ntrace_asked	what;
};

/* The trace of a recording. All 0 at first but for info, read and ctx, which are the caller's */
struct nt_session {
	const struct ntrace_info *info;
	/* Bytes of the file, as many as there are of len; or negative */
	ssize_t (*read)(void *ctx, unsigned int file, uint64_t file_offset, void *buf, size_t len);
	void			*ctx;
	struct nt_session_buffer **buffer;	/* by number; NULL there is none */
	unsigned int		nr_buffers;
	struct nt_session_asked	*asked;
	size_t			nr_asked;
	uint64_t		sink;		/* that was asked for, 0 the default */
	const struct nt_session_interval *wanted;	/* the caller's; nr_wanted 0: all times */
	size_t			nr_wanted;
	uint64_t		reached;	/* the host's: time of the newest other event */
	size_t			opened;		/* windows so far */
};

/*
 * In the order of the file: an AUXTRACE record, what HW_ID tells, an AUX record, an AUX area
 * sample; and what each ID of an event was asked for, at any time. 0 or a negative errno
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
/* Then: find out what there is of each window. */
int nt_session_finish(struct nt_session *s);
void nt_session_free(struct nt_session *s);

/* The buffer of a number, made if need be; NULL: no memory, or no such number */
struct nt_session_buffer *nt_session_buffer(struct nt_session *s, unsigned int idx);
/* No recording has more. */
#define NT_SESSION_BUFFERS_MAX	65536

/* So many bytes of a window are in the file, from its begin on */
size_t nt_session_there(const struct nt_session *s, const struct nt_session_window *w);
/* So many of them, or fewer if the file has become shorter; or negative, of s->read */
ssize_t nt_session_read(const struct nt_session *s, const struct nt_session_window *w,
			uint8_t *data, size_t size);

/* Idle bytes: what the driver passed over, which has no AUX record, reads as these. */
bool nt_session_is_padding(const uint8_t *data, size_t len);

/* --------------------------- nt-session-ring.c, nt-session-stream.c -- */

/* Of a buffer with AUX area samples, leave these, and each byte once. */
int nt_session_samples_clip(const struct nt_session *s, struct nt_session_buffer *b);
/* Take the windows of shared sinks out of their buffers, and give each CPU a buffer with all. */
int nt_session_streams(struct nt_session *s);
/*
 * For dumps: leave the windows where they are, and mark those that may begin inside a message with
 * NT_SESSION_BEGIN_REST or NT_SESSION_BEGIN_LOSS.
 */
int nt_session_streams_mark(struct nt_session *s);
/*
 * Does a stream go on in window number next of a buffer? whole: all bytes of the one before are
 * there; else it does not any more.
 */
bool nt_session_goes_on(struct nt_session_buffer *b, size_t next, bool whole);
/* Where messages have a SRC, there may be others', too: decode those of the CPU. */
void nt_session_choose_src(struct nt_params *params, uint64_t hw_id);
/*
 * What there is of a message that ends in the next window: none is longer, or even nearly as long
 */
#define NT_SESSION_REST_MAX	4096

/* --------------------------- nt-session-span.c and nt-session-time.c -- */

/* The events up to the next time that a message tells: see nt-session-span.c */
struct nt_session_span {
	int	end;		/* index behind its last event; the next span begins there ... */
	int	scan;		/* ... and no end of that was found before this index */
	uint64_t	sum;		/* instructions up to there */
	uint64_t	insns;		/* instructions that retire in the span ... */
	uint64_t	done;		/* ... up to the last event that was used */
	uint64_t	from, to;	/* perf's clock */
	uint64_t	advance;	/* of the clock of samples */
	bool	known;		/* to is a time */
};

/* How fast instructions retired lately */
struct nt_session_pace {
	uint64_t	insns, time;
	uint64_t	tick, period;	/* of timestamps, of samples */
};

/* The clock of samples by time counts 1/1024 ns: several instructions may retire in 1 ns. */
#define NT_SESSION_CLOCK_SHIFT	10

/* The time that a message with TSTAMP tells, last being the one before, and none before from */
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

/* a * b / c, cut, or UINT64_MAX; c is not 0 */
uint64_t nt_session_scale(uint64_t a, uint64_t b, uint64_t c);

/* When instruction number insn of the span retired. Most spans need a short division only. */
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
 * After so long without trace, a stop is not a pause between two windows; by so much clocks of
 * trace and of records differ at most.
 */
#define NT_SESSION_PAUSE_NS	10000000ULL

/* Times of perf's clock, both included */
struct nt_session_interval {
	uint64_t	from, to;
};

/*
 * The window to decode next: of a buffer's windows from number next on the first that may have
 * trace of a time that is wanted, or one before it with which decoding has to begin; b->nr_windows
 * if there is none. What is left out is no loss. A window of a shared sink in which decoding begins
 * does not go on from the one before any more.
 */
size_t nt_session_wanted(const struct nt_session *s, struct nt_session_buffer *b, size_t next);
bool nt_session_time_is_wanted(const struct nt_session *s, uint64_t time);

/*
 * The window of an AUX record that was before: bytes between records tell no time of their own.
 * NULL: there is none
 */
const struct nt_session_window *nt_session_window_before(const struct nt_session_buffer *b,
							 const struct nt_session_window *w);

/* ------------------------------------------------- nt-session-period.c -- */

/*
 * What is sampled, instructions or time, is cut into blocks of one period. Each block has
 * one sample, at a random place in it, so every unit is sampled with the same probability,
 * 1 / period, whatever loop it belongs to and however short the stretch is that it is in.
 * A block that begins anew after a gap has its own random place: when the stretch ends
 * before that place, there is no sample of the block.
 *
 *	|.....x....|..x.......|........x.|x.........|	x sample
 *	<- period ->
 */
struct nt_session_period {
	uint64_t	period;
	uint64_t	random;		/* state of the generator */
	uint64_t	rest;		/* of the block, behind its sample */
	bool		exact;		/* samples are one period apart, without chance */
};

void nt_session_period_init(struct nt_session_period *p, uint64_t period, uint64_t seed,
			    bool exact);

/* Begin a new block: so many units, at least 1, from here to its sample */
uint64_t nt_session_period_begin(struct nt_session_period *p);

/* So many units from one sample to the next, at least 1 */
uint64_t nt_session_period_next(struct nt_session_period *p);

/* The same, up or down by chance, so that its mean is exact */
uint64_t nt_session_period_scale(struct nt_session_period *p, uint64_t a, uint64_t b, uint64_t c);

/* -------------------------------------------------- nt-session-flags.c -- */

/* What a transfer is, as perf has it: PERF_IP_FLAG_* */
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

/* Of a type, enum nt_type, as far as that tells; of none: 0 */
uint32_t nt_session_flags(unsigned int type);
/* Is there an ECALL? code: of user space, NULL is not known */
bool nt_session_is_ecall(struct nt_code *code, uint64_t addr);
/* The same of a trap, or the return from one */
uint32_t nt_session_trap_flags(const struct nt_event *ev, struct nt_code *code,
			       uint64_t *syscall_ip);
/*
 * Of a BRANCH. code: of user space at ev->from, wanted for traps only. syscall_ip: of the ECALL
 * that the task is in, 0 none, which is kept; NULL: the task is not known.
 */
static inline uint32_t nt_session_branch_flags(const struct nt_event *ev, struct nt_code *code,
					       uint64_t *syscall_ip)
{
	if (ev->type == NT_TYPE_ERET || nt_type_is_trap(ev->type))
		return nt_session_trap_flags(ev, code, syscall_ip);
	return nt_session_flags(ev->type);
}

/* Kinds of losses; their numbers are perf's codes of errors */
enum nt_session_loss {
	NT_SESSION_LOSS_OVERFLOW = 1,	/* the encoder lost messages */
	NT_SESSION_LOSS_LOST,		/* trace did not get into the file */
	NT_SESSION_LOSS_CODE,		/* no code for what was executed */
	NT_SESSION_LOSS_FLOW,		/* trace and code do not fit */
	NT_SESSION_LOSS_DATA,		/* bytes that are no messages */
	NT_SESSION_LOSS_FILE,		/* the file is damaged */
};

/* Of the reason of a LOSS, enum nt_error */
enum nt_session_loss nt_session_loss(unsigned int reason);

/* ------------------------------------------------ nt-session-patches.c -- */

/* Code that was not the same at the start and at the end */
struct nt_session_patch {
	uint64_t	start, end;
	bool		told;
};

struct nt_session_patches {
	struct nt_session_patch *patch;	/* in the order of addresses */
	size_t		nr;
	uint64_t	lines[128];	/* a bit for each line that has one, by its lowest bits */
};

#define NT_SESSION_PATCHES_LINE	6	/* a line has 64 bytes */

/* Is [start, end) near one? False: certainly not */
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

/* As nt_flow, without code: no event has instructions */
struct nt_session_quick;

/* NULL: no memory */
struct nt_session_quick *nt_session_quick_new(const struct nt_params *params, bool syncs_only);
void nt_session_quick_free(struct nt_session_quick *qk);
/* open: there is going to be more; more: it goes on where the window before ended. */
void nt_session_quick_window(struct nt_session_quick *qk, const uint8_t *buf, size_t len,
			     uint64_t offset, bool open, bool more);
void nt_session_quick_time_from(struct nt_session_quick *qk, uint64_t ticks);
int nt_session_quick_next(struct nt_session_quick *qk, struct nt_event *ev, unsigned int max,
			  uint64_t limit);
bool nt_session_quick_at_limit(const struct nt_session_quick *qk);
size_t nt_session_quick_consumed(const struct nt_session_quick *qk);

/* -------------------------------------------------- nt-session-queue.c -- */

struct nt_session_queue;

/*
 * What a host does for its queues. Functions that return int return 0, or a negative error that
 * ends the decoding; those marked NULL may be missing.
 */
struct nt_session_host {
	/* Do the ticks in the window's messages convert to the recording's time? */
	bool (*is_timed)(struct nt_session_queue *q, const struct nt_session_window *w);
	/* NULL. A window begins; q->timed is still that of the one before. */
	void (*enter)(struct nt_session_queue *q, const struct nt_session_window *w);
	/*
	 * NULL. All events of q->window were used. The next window goes on with what is behind the
	 * first @used bytes of q->data. Not called for a window without bytes, or a refused one.
	 */
	void (*leave)(struct nt_session_queue *q, size_t used);
	/* How its messages are to be decoded; code is read so from now on. */
	int (*terms)(struct nt_session_queue *q, const struct nt_session_window *w,
		     struct nt_params *params);
	/* Give q->flow the code of the task that q->tid names. */
	void (*use_code)(struct nt_session_queue *q);
	/* NULL. What the branches that follow may be added to, or NULL */
	struct nt_counts *(*counts)(struct nt_session_queue *q);
	/* The decoder failed. */
	int (*broken)(struct nt_session_queue *q, int err);
	/* The kernel's code, or NULL */
	struct nt_code *(*kernel)(struct nt_session_queue *q);
	bool (*is_kernel)(struct nt_session_queue *q, uint64_t addr);
	/*
	 * With q->patches: is the other copy of the kernel's text worth a try? q->kernel_at_end
	 * says which one use_code() uses.
	 */
	bool (*is_patched)(struct nt_session_queue *q);

	/* The number that the task has now whose trace has this one */
	pid_t (*owner)(struct nt_session_queue *q, pid_t tid);
	/* Do records before the window tell of a task? */
	bool (*knows)(struct nt_session_queue *q, pid_t tid);
	/* Another task runs from here on, -1 unknown: sets q->tid. */
	void (*set_tid)(struct nt_session_queue *q, pid_t tid);

	/*
	 * NULL. Use up events that nobody looks at, not later than until: how many, or negative. None
	 * of them is one up to which code that was patched may have run, if is_patched() says so.
	 */
	int (*pass)(struct nt_session_queue *q, uint64_t until);
	/*
	 * An event, at q->time. last: no other is from the same message, as far as is known. Calls
	 * nt_session_flow_event(), and through that what follows here.
	 */
	int (*event)(struct nt_session_queue *q, const struct nt_event *ev, bool last);
	/* event() does nothing with a branch behind another but range() and branch(). */
	bool plain_branches;
	/* NULL. Events that were used come once more, this was the last one of them. */
	void (*restart)(struct nt_session_queue *q);
	/* So many instructions have retired from q->pc on, one behind the other. */
	int (*range)(struct nt_session_queue *q, uint32_t insns);
	int (*branch)(struct nt_session_queue *q, const struct nt_event *ev);
	/* Trace begins here, and nt_session_flow_left() is for other queues of the task; ends */
	int (*start)(struct nt_session_queue *q, const struct nt_event *ev);
	int (*stop)(struct nt_session_queue *q, const struct nt_event *ev);
	/* NULL. From q->held on, trace was off until q->resumed_time, and the task did not move. */
	int (*pause)(struct nt_session_queue *q);
	/* NULL. An event of any other kind */
	int (*other)(struct nt_session_queue *q, const struct nt_event *ev);
	/* NULL. What was called, and returned, from here until trace goes on is not known. */
	void (*lost)(struct nt_session_queue *q);
	/* ip: where, or 0 */
	int (*loss)(struct nt_session_queue *q, enum nt_session_loss code, uint64_t ip,
		    const char *text);
	/* A loss for want of code at ev->to */
	int (*no_code)(struct nt_session_queue *q, const struct nt_event *ev);
	/* The name of what is mapped at an address, or NULL */
	const char *(*place)(struct nt_session_queue *q, uint64_t addr);
};

/* As many events as a message can make, and far more than the library wants */
#define NT_SESSION_BATCH	256

#define NT_SESSION_TURNS	64

struct nt_session_replay {
	uint64_t	used;		/* events of the window that were used ... */
	uint64_t	used_sum;	/* ... and what they were */
	uint64_t	left;		/* of them, to come again before a new one */
	uint64_t	sum;
	uint64_t	turn[NT_SESSION_TURNS];	/* the other copy is right behind these times */
	unsigned int	nr, next;	/* of the turns */
	uint64_t	at;		/* offset of the loss that the last one is for */
	unsigned int	failed;		/* turns that were taken back */
	bool		first;		/* the copy in use when the window began */
	bool		trial;		/* the last turn may still be wrong */
	bool		counted;	/* used, used_sum: without branches that were counted */
	bool		recount;	/* find them out: all up to the loss at `until` was used */
	uint64_t	until;
};

/* One decoder: follows one buffer, window by window. Part of what the host has for it */
struct nt_session_queue {
	const struct nt_session_host *host;
	struct nt_session *session;
	struct nt_session_buffer *buffer;
	unsigned int		without_code;	/* the host's: 0, or 1: addresses, 2: of syncs */
	bool			exact_period;	/* the host's: samples are one period apart */
	const struct nt_session_patches *patches; /* the host's; NULL: none */
	struct nt_flow		*flow;		/* one of the two */
	struct nt_session_quick	*quick;
	struct nt_path		*path;		/* for the host to use */
	uint64_t		hw_id;
	struct nt_params	params;		/* that it was made for */
	/* the window being decoded */
	size_t			next_window;
	struct nt_session_window *window;
	uint8_t			*data;
	size_t			data_room;
	size_t			data_len;
	size_t			data_skip;	/* of it, before decoding can begin */
	size_t			rest;		/* of it, from the window before */
	bool			timed;		/* its messages carry the recording's time */
	bool			owned;		/* its messages tell whose they are ... */
	uint64_t		owned_until;	/* ... up to this offset */
	bool			begun;		/* its own losses are reported */
	bool			lost_some;	/* messages told a loss in it */
	bool			unsaid;		/* trace ended, and no message said so */
	bool			broken;		/* there a shared sink was full, */
	uint64_t		broken_at;	/* which another CPU's AUX record tells */
	bool			behind_gap;	/* trace is missing before the next event */
	uint64_t		next_offset;	/* behind its last byte */
	unsigned int		ts_shift;
	uint64_t		ticks_from;	/* no timestamp of it is of before that */
	pid_t			window_tid;	/* who ran when it began */
	bool			guest;		/* V=1: what runs is a guest's ... */
	pid_t			host_tid;	/* ... by leave of this task */
	struct nt_session_replay replay;
	unsigned int		doubtful;	/* events left to drop behind a loss */
	unsigned int		no_doubt;	/* events left that both copies agree on */
	bool			kernel_at_end;	/* the copy of the kernel's text in use */
	/* what the library gave and has not been used */
	struct nt_event		*ev;
	int			nr, pos, room;
	unsigned int		losses;		/* of them */
	struct nt_session_span	span;		/* that pos is in, or behind */
	struct nt_session_pace	pace;		/* its period is the host's */
	uint64_t		clock;		/* of samples by time, when the span began */
	/* where the flow is */
	pid_t			tid;
	int			cpu;
	uint64_t		time;		/* the recording's */
	uint64_t		pc;		/* where the linear code began ... */
	bool			have_pc;
	struct nt_event		held;		/* a START or STOP, until what follows is clear */
	bool			have_held;
	uint64_t		held_time;
	bool			paused;		/* the held stop was one, up to this start */
	struct nt_event		resumed;
	uint64_t		resumed_time;
};

/* 0 or a negative errno */
int nt_session_queue_init(struct nt_session_queue *q, const struct nt_session_host *host,
			  struct nt_session *s, struct nt_session_buffer *buffer);
void nt_session_queue_exit(struct nt_session_queue *q);
/* Before code is freed */
void nt_session_queue_forget_code(struct nt_session_queue *q);
/* Have events ready that are not later than limit. 1: there are, 0: not yet or not any more */
int nt_session_queue_fetch(struct nt_session_queue *q, uint64_t limit);
/* Use up what was fetched, as far as it is not later than until. */
int nt_session_queue_deliver(struct nt_session_queue *q, uint64_t until);
/* Of what was fetched: when is the next event? */
uint64_t nt_session_queue_time(const struct nt_session_queue *q);
/* Is the trace that comes next without times? Other events have effect before all of it, then. */
bool nt_session_queue_is_untimed(struct nt_session_queue *q);
/* ... and of a CPU, without telling whose it is? All of it will be the task's that ran last. */
bool nt_session_queue_is_blind(struct nt_session_queue *q);

/* -------------------------------------------------- nt-session-plain.c -- */

/* Is no event of the span later than that? */
bool nt_session_plain_ends_before(const struct nt_session_queue *q, uint64_t until);
/* Behind a branch: use those that come next, as far as they are plain, and not later than until. */
int nt_session_plain_use(struct nt_session_queue *q, uint64_t until);

/* -------------------------------------------------- nt-session-owner.c -- */

/*
 * Up to this offset the Ownership messages of a window tell whose it is; 0: they do not, it is the
 * task's of the AUX record
 */
uint64_t nt_session_owned_until(struct nt_session_queue *q, const struct nt_session_window *w,
				const struct nt_params *params);

/* --------------------------------------------------- nt-session-flow.c -- */

int nt_session_flow_event(struct nt_session_queue *q, const struct nt_event *ev);
/* What an Ownership message tells, and nothing else */
void nt_session_flow_context(struct nt_session_queue *q, const struct nt_event *ev);
/* What is held back since before that time is true: trace that was to resume would have resumed. */
int nt_session_flow_flush(struct nt_session_queue *q, uint64_t before);
/* The task goes on elsewhere at that time: a stop that is held back was none of a pause. */
int nt_session_flow_left(struct nt_session_queue *q, uint64_t time);
/* Between what was and what comes next trace is missing. */
int nt_session_flow_gap(struct nt_session_queue *q);
int __attribute__((format(printf, 4, 5)))
nt_session_flow_loss(struct nt_session_queue *q, enum nt_session_loss code, uint64_t ip,
		     const char *fmt, ...);

/* -------------------------------------------------- nt-session-ahead.c -- */

/* All of a span was used: begin the next, if all of its events are there, or no more will come. */
bool nt_session_ahead_next(struct nt_session_queue *q, bool all);
/*
 * The span before was used. Pass over whole spans: those that end among the next nr events, if that
 * is not later than until. Returns how many events these are, and in *insns how many of the
 * instructions that all nr have.
 */
int nt_session_ahead_pass(struct nt_session_queue *q, int nr, uint64_t until, uint64_t *insns);
/* What was not used is not wanted; what comes next begins with a START. */
void nt_session_ahead_reset(struct nt_session_queue *q);
/* Room for two batches behind the events that wait for the end of their span */
int nt_session_ahead_room(struct nt_session_queue *q);
/*
 * When the instruction retired that is so many behind the last event that was used. Other events of
 * the session were there already: code is read through the mappings that they tell of, so nothing
 * is before them.
 */
static inline uint64_t nt_session_ahead_time(const struct nt_session_queue *q, uint64_t insns)
{
	uint64_t time;

	if (!q->timed)
		return q->time;
	time = nt_session_span_at(&q->span, q->span.done + insns);
	return time > q->session->reached ? time : q->session->reached;
}

/* When such an event happened, if it is used next */
static inline uint64_t nt_session_queue_event_time(const struct nt_session_queue *q,
						   const struct nt_event *ev)
{
	uint64_t time = nt_session_ahead_time(q, ev->insns);

	return time > q->time ? time : q->time;
}

/* ------------------------------------------------- nt-session-replay.c -- */

/* Only where there is another copy of the kernel is anything decoded again. */
void nt_session_replay_begin(struct nt_session_queue *q);
/* So many events were used. */
void nt_session_replay_note(struct nt_session_queue *q, const struct nt_event *ev, int nr);
/* Until when the copy in use is the right one, in ticks; UINT64_MAX: no end is known. */
uint64_t nt_session_replay_limit(const struct nt_session_queue *q);
/* All up to the limit is decoded: use the other copy. False: there was no limit. */
bool nt_session_replay_turn(struct nt_session_queue *q);
/* The last turn was wrong: once more without it, loss and all. False: that was tried before. */
bool nt_session_replay_take_back(struct nt_session_queue *q);
/* An event that was used before came again. False: it was the last one, and they differ, or it can be
 * none of them. */
bool nt_session_replay_same(struct nt_session_queue *q, const struct nt_event *ev);
/* May branches be counted? They are used at once, and what was used may have to come again. */
bool nt_session_replay_may_count(const struct nt_session_queue *q);
/* Is the event, which comes again, the one up to which all was used? Then it is a new one. */
bool nt_session_replay_is_recounted(struct nt_session_queue *q, const struct nt_event *ev);
/* A new event: true if the caller has to decode the window again before it is used. */
bool nt_session_replay_loss(struct nt_session_queue *q, const struct nt_event *ev);

/* -------------------------------------------------- nt-session-doubt.c -- */

/*
 * Did code that was patched run up to @ev, the next event, and does the trace fit the other copy
 * of the kernel's text on another path, too? Returns the patched range, or NULL. *events: the
 * number of events, from @ev on, that are in doubt; the last one tells where the flow goes on.
 */
const struct nt_session_patch *nt_session_doubt(struct nt_session_queue *q,
						const struct nt_event *ev, unsigned int *events);

#endif
