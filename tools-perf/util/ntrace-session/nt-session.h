/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Recordings of N-Trace: what lies between the records of a perf.data and control flow with
 * CPU, task and time. No part of perf: perf's glue and the ntrace command both have it.
 *
 *	nt-session-windows.c	records -> buffers with windows, and their terms
 *	nt-session-owner.c	whose the trace in a window is
 *	nt-session-buffer.c	which bytes of an AUX buffer are a window
 *	nt-session-ring.c	AUX area samples
 *	nt-session-stream.c	windows of a sink that several CPUs share
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
size_t nt_session_window_skip(const struct nt_session_window *window,
			      const struct nt_params *params, const uint8_t *data, size_t len);

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

/* ------------------------------------------------ nt-session-owner.c ---- */

/* What the messages of a window do not tell themselves */
struct nt_session_owners {
	/* Do records before the window tell of a task? */
	bool (*knows)(void *ctx, pid_t tid);
	/* The kernel's code, or NULL; asked where only the flow tells who was current */
	struct nt_code *(*kernel)(void *ctx);
	void *ctx;
};
/*
 * Up to this offset the Ownership messages of a window tell whose it is; 0: they do not, it is the
 * task's of the AUX record. The first `rest` bytes of data are of the window before.
 */
uint64_t nt_session_owned_until(const struct nt_session_window *w, const struct nt_params *params,
				const uint8_t *data, size_t len, size_t rest,
				const struct nt_session_owners *owners);

/* --------------------------- nt-session-ring.c, nt-session-stream.c -- */

/* Of a buffer with AUX area samples, leave these, and each byte once. */
int nt_session_samples_clip(const struct nt_session *s, struct nt_session_buffer *b);
/* Take the windows of shared sinks out of their buffers, and give each CPU a buffer with all. */
int nt_session_streams(struct nt_session *s);
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

bool nt_session_span_ends(const struct nt_event *ev);
bool nt_session_span_scan(struct nt_session_span *s, const struct nt_event *ev, int first, int nr,
			  bool all);
uint64_t nt_session_span_at(const struct nt_session_span *s, uint64_t insn);
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

/* a * b / c, cut, or UINT64_MAX; c is not 0 */
uint64_t nt_session_scale(uint64_t a, uint64_t b, uint64_t c);

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
/*
 * Of a BRANCH. code: of user space at ev->from, wanted for traps only. syscall_ip: of the ECALL
 * that the task is in, 0 none, which is kept; NULL: the task is not known.
 */
uint32_t nt_session_branch_flags(const struct nt_event *ev, struct nt_code *code,
				 uint64_t *syscall_ip);

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

#endif
