/* SPDX-License-Identifier: GPL-2.0-only */
/* What a file has of an AUX buffer: see ntrace-buffer.c */
#ifndef INCLUDE__PERF_NTRACE_BUFFER_H__
#define INCLUDE__PERF_NTRACE_BUFFER_H__

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ntrace-decoder/ntrace.h"

/* A PERF_RECORD_AUXTRACE: bytes of the file */
struct ntrace_piece {
	uint64_t	offset;			/* in the AUX stream of its buffer */
	uint64_t	size;
	uint64_t	file_offset;		/* of the first byte */
	bool		unpacked;		/* in the file of what was compressed */
};

/* Where in the trace the first byte of a window is */
enum ntrace_begin {
	NTRACE_BEGIN_SYNC,	/* a sync message begins */
	NTRACE_BEGIN_MESSAGE,	/* some message begins */
	NTRACE_BEGIN_ANYWHERE,
};

/*
 * What one PERF_RECORD_AUX reports: a stretch of trace that begins with a sync;
 * or what a snapshot has of it; or an AUX area sample
 */
struct ntrace_window {
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
	unsigned int idx;		/* the queue whose buffer has the bytes */
	enum ntrace_begin begin;
};

/*
 * Where one file of several begins, or ends (see ntrace-switch.c): AUX records up to that time are
 * about bytes before that offset, and later ones about those behind
 */
struct ntrace_mark {
	bool	there;
	uint64_t	time, offset;
};

/* An AUX buffer: what one CPU, or one thread, wrote */
struct ntrace_buffer {
	int			cpu;	/* -1: of a thread */
	pid_t			tid;
	struct ntrace_piece	*piece;
	size_t			nr_pieces;
	struct ntrace_window	*window;
	size_t			nr_windows;
	uint64_t			sampled;	/* bytes of AUX area samples so far */
	struct ntrace_mark	begin, end;
};

int ntrace_buffer_add_piece(struct ntrace_buffer *buffer, const struct ntrace_piece *piece,
			    uint64_t reference);
int ntrace_buffer_add_window(struct ntrace_buffer *buffer, const struct ntrace_window *window);
int ntrace_buffer_finish(struct ntrace_buffer *buffer);
void ntrace_buffer_free(struct ntrace_buffer *buffer);
void ntrace_buffer_blank(uint8_t *data, uint64_t len);
size_t ntrace_window_skip(const struct ntrace_window *window, const struct nt_params *params,
			  const uint8_t *data, size_t len);

void *ntrace_grow(void *array, size_t nr, size_t size);

#endif
