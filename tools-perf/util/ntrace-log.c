// SPDX-License-Identifier: GPL-2.0-only
/*
 * --itrace=d: log messages, their results, and the other events of the file, in the order in which
 * they were used. The log goes to ntrace.log or to standard output (+o), in full or only what
 * precedes errors (+e).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>

#include "debug.h"
#include "event.h"
#include "machine.h"
#include "sample.h"
#include "session.h"
#include "ntrace-priv.h"

#define LOG_NAME	"ntrace.log"

struct ntrace_log {
	FILE	*to;		/* output of the log functions ... */
	FILE	*out;		/* ... and the final destination */
	/* with +e, the latest output: a ring buffer */
	char	*ring;
	size_t	room, next;
	bool	full;
};

/* --- destination ------------------------------------------------------------ */

static ssize_t ring_write(void *cookie, const char *text, size_t len)
{
	struct ntrace_log *log = cookie;
	size_t i;

	for (i = 0; i < len; i++) {
		log->ring[log->next++] = text[i];
		if (log->next == log->room) {
			log->next = 0;
			log->full = true;
		}
	}
	return len;
}

static int open_ring(struct ntrace_log *log, size_t room)
{
	cookie_io_functions_t io = { .write = ring_write };

	log->room = room;
	log->ring = malloc(room);
	log->to = log->ring ? fopencookie(log, "w", io) : NULL;
	return log->to ? 0 : -ENOMEM;
}

/* Write out what led to an error. */
static void ring_out(struct ntrace_log *log)
{
	const char *text = log->ring, *newline;

	fflush(log->to);
	if (log->full) {
		/* The oldest line is incomplete. */
		newline = memchr(text + log->next, '\n', log->room - log->next);
		if (newline)
			fwrite(newline + 1, text + log->room - newline - 1, 1, log->out);
	}
	fwrite(text, log->next, 1, log->out);
	log->next = 0;
	log->full = false;
}

int ntrace_log_open(struct ntrace *nt)
{
	struct ntrace_log *log;

	if (!nt->opts.log)
		return 0;
	log = zalloc(sizeof(*log));
	if (!log)
		return -ENOMEM;
	nt->log = log;
	if (nt->opts.log_plus_flags & AUXTRACE_LOG_FLG_USE_STDOUT)
		log->out = stdout;
	else
		log->out = fopen(LOG_NAME, "w");
	if (!log->out) {
		pr_err("ntrace: cannot write %s here: %s\n", LOG_NAME, strerror(errno));
		return -EINVAL;
	}
	log->to = log->out;
	if (nt->opts.log_plus_flags & AUXTRACE_LOG_FLG_ON_ERROR)
		return open_ring(log, nt->opts.log_on_error_size ?: 16384);
	return 0;
}

void ntrace_log_close(struct ntrace *nt)
{
	struct ntrace_log *log = nt->log;

	if (!log)
		return;
	if (log->to && log->to != log->out)
		fclose(log->to);
	if (log->out && log->out != stdout && fclose(log->out))
		pr_err("ntrace: %s is not whole: %s\n", LOG_NAME, strerror(errno));
	free(log->ring);
	zfree(&nt->log);
}

/* --- content ----------------------------------------------------------------- */

/* Log one message, or the error if there is none. Returns the number of bytes to skip. */
static size_t log_message(FILE *to, const struct nt_params *params, const u8 *data, size_t len,
			  u64 offset)
{
	struct nt_msg msg;
	char text[256];
	int n = nt_msg_decode(params, data, len, &msg);

	if (!n && msg.idle < len)
		fprintf(to, "  %08" PRIx64 ": cut message\n", offset + msg.idle);
	if (!n)
		return len;
	if (n < 0) {
		fprintf(to, "  %08" PRIx64 ": bad: %s\n", offset, nt_strerror(n));
		return msg.skip ?: 1;
	}
	nt_msg_format(&msg, text, sizeof(text));
	fprintf(to, "  %08" PRIx64 ": ", offset + msg.idle);
	if (params->srcbits)
		fprintf(to, "SRC=%u ", msg.src);
	fprintf(to, "%s\n", text);
	return n;
}

/*
 * Log the messages that begin in the first @end bytes of q->s.data. A message that began in the
 * previous window gets the offset of its rest, as in a dump, because that window may be from
 * another buffer.
 */
static void log_messages(struct ntrace_queue *q, size_t end)
{
	struct nt_session_window *w = q->s.window;
	size_t rest = q->s.rest;

	if (q->logged_window != w) {
		q->logged_window = w;
		q->logged = q->s.data_skip;
		fprintf(q->nt->log->to,
			"window %#" PRIx64 ", %#" PRIx64
			" bytes, CPU %d, TID %d, terms %#" PRIx64 "\n",
			w->offset, w->size, w->cpu, w->tid, w->hw_id);
	}
	while (q->logged < end)
		q->logged += log_message(q->nt->log->to, &q->s.params, q->s.data + q->logged,
					 q->s.data_len - q->logged,
					 w->offset + max(q->logged, rest) - rest);
}

/* Log an event of the flow, after all messages up to the event's own. */
void ntrace_log_flow(struct ntrace_queue *q, const struct nt_event *ev)
{
	FILE *to;
	u64 at;

	if (!q->nt->log)
		return;
	to = q->nt->log->to;
	if (q->s.window) {
		at = ev->offset - (q->s.window->offset - q->s.rest);
		/* A held event may be from a previous window. */
		log_messages(q, at < q->s.data_len ? at + 1 : 0);
	}
	switch (ev->kind) {
	case NT_EV_BRANCH:
		fprintf(to, "    %d: %#" PRIx64 " -> %#" PRIx64 " type %u\n", q->s.tid, ev->from,
			ev->to, ev->type);
		break;
	case NT_EV_START:
		fprintf(to, "    start %#" PRIx64 "%s\n", ev->to,
			ev->flags & NT_EVF_JOIN ? ", where it stopped" : "");
		break;
	case NT_EV_STOP:
		fprintf(to, "    %d: stop %#" PRIx64 " reason %u\n", q->s.tid, ev->from,
			ev->reason);
		break;
	case NT_EV_CONTEXT:
		fprintf(to, "    context %" PRIu64 " format %u\n", ev->context, ev->reason);
		break;
	default:
		fprintf(to, "    %s: %s\n", ev->kind == NT_EV_LOSS ? "loss" : "notice",
			nt_strerror(ev->reason));
		break;
	}
}

/* At the end of a window: log its last messages if they produced no event. */
void ntrace_log_leave(struct ntrace_queue *q, size_t used)
{
	if (q->nt->log)
		log_messages(q, used);
}

/* Log an event of the file; +a: in full, -a: not at all */
void ntrace_log_event(struct ntrace *nt, union perf_event *event,
		      const struct perf_sample *sample)
{
	if (!nt->log || nt->opts.log_minus_flags & AUXTRACE_LOG_FLG_ALL_PERF_EVTS)
		return;
	fprintf(nt->log->to, "event %s: CPU %d TID %d time %" PRIu64 "\n",
		perf_event__name(event->header.type), (int)sample->cpu, (int)sample->tid,
		sample->time);
	if (nt->opts.log_plus_flags & AUXTRACE_LOG_FLG_ALL_PERF_EVTS)
		perf_event__fprintf(event, nt->machine, nt->log->to);
}

void ntrace_log_error(struct ntrace_queue *q, const char *msg)
{
	struct ntrace_log *log = q->nt->log;

	if (!log)
		return;
	fprintf(log->to, "error: CPU %d TID %d: %s\n", q->s.cpu, q->s.tid, msg);
	if (log->ring)
		ring_out(log);
}
