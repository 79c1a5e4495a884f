// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace dump, stat and decode of a recording
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "rec.h"
#include "stat.h"

/* ------------------------------------------------------------------ dump - */

static void put_window(const struct nt_session_buffer *b, const struct nt_session_window *w)
{
	printf("# window cpu %d tid %d AUX 0x%" PRIx64 " size 0x%" PRIx64 " time %" PRIu64
	       ".%09" PRIu64 "%s%s%s%s\n", w->cpu, b->cpu < 0 ? b->tid : w->tid, w->offset, w->size,
	       w->time / 1000000000, w->time % 1000000000,
	       w->flags & NT_PERFDATA_AUX_TRUNCATED ? " truncated" : "",
	       w->flags & NT_PERFDATA_AUX_PARTIAL ? " partial" : "",
	       w->ring ? " overwritten" : "", w->orphan ? " without AUX record" : "");
}

static void put_message(const struct nt_params *params, uint64_t offset, const struct nt_msg *msg)
{
	char text[256];

	nt_msg_format(msg, text, sizeof(text));
	if (params->srcbits)
		printf("0x%08" PRIx64 " %u %s\n", offset, msg->src, text);
	else
		printf("0x%08" PRIx64 " - %s\n", offset, text);
}

/*
 * Called for each message of len bytes, or, with a negative len, for msg->skip bytes that are no
 * message
 */
typedef void (*message_fn)(void *ctx, const struct nt_params *params, uint64_t offset,
			   const struct nt_msg *msg, int len);

/* The start of a message that ends in the next window */
struct rest {
	uint8_t *data;
	size_t len;
};

/* Returns the offset of the last message if it ends in the next window. */
static size_t walk(const struct nt_params *params, uint64_t offset, const uint8_t *data, size_t at,
		   size_t len, bool more, message_fn fn, void *ctx)
{
	struct nt_msg msg;
	int n;

	while (at < len) {
		n = nt_msg_decode(params, data + at, len - at, &msg);
		if (!n && (more || msg.idle == len - at))
			break;
		if (!n) {
			n = -NT_ECUT;
			msg.skip = len - at;
		}
		fn(ctx, params, offset + at + msg.idle, &msg, n);
		at += n > 0 ? (size_t)n : msg.skip;
	}
	return at;
}

/* Report the bytes that a dump skips at the start of a window. */
static void put_passed(const struct nt_session_window *w, size_t n)
{
	const char *text = nt_session_window_passed_text(w);

	if (n && text)
		printf("# 0x%08" PRIx64 ": %s, %zu bytes\n", w->offset, text, n);
}

/* Walk window k of a buffer. Returns how many bytes it has. */
static size_t walk_window(struct rec *rec, struct nt_session_buffer *b, size_t k, struct rest *rest,
			  message_fn fn, void *ctx)
{
	const struct nt_session_window *w = &b->window[k];
	size_t len = nt_session_there(&rec->trace, w), at = 0;
	struct nt_params params;
	char why[NTRACE_WHY];
	uint8_t *data;
	bool more;

	if (ntrace_info_params(&rec->info, w->hw_id, w->cpu, &params, why))
		die("%s: %s", rec->path, why);
	if (!w->resume)
		rest->len = 0;
	data = malloc(rest->len + len + 1);
	if (!data)
		die("%s", nt_strerror(NT_ENOMEM));
	if (rest->len)
		memcpy(data, rest->data, rest->len);
	len = nt_session_read(&rec->trace, w, data + rest->len, len);
	more = nt_session_goes_on(b, k + 1, len == w->size);
	if (!w->resume)
		at = nt_session_window_skip(w, &params, data, len, more);
	put_passed(w, at);
	if (!w->resume && nt_session_window_is_middle(data, len, at))
		more = nt_session_goes_on(b, k + 1, false);
	if (w->shared)
		nt_session_choose_src(&params, w->hw_id);
	at = walk(&params, w->offset - rest->len, data, at, rest->len + len, more, fn, ctx);
	rest->len = more ? rest->len + len - at : 0;
	memmove(data, data + at, rest->len);
	free(rest->data);
	rest->data = data;
	return len;
}

/*
 * An AUX record of a CPU's buffer names the task that ran when the buffer was read. But its bytes
 * also contain the trace of all tasks that ran before.
 */
static bool is_of_nobody(const struct rec *rec, const struct nt_session_buffer *b)
{
	return b && b->cpu >= 0 && b->nr_windows &&
	       (rec->options->pids.nr || rec->options->tids.nr);
}

static bool has_of_nobody(const struct rec *rec)
{
	unsigned int i;

	for (i = 0; i < rec->trace.nr_buffers; i++)
		if (is_of_nobody(rec, rec->trace.buffer[i]))
			return true;
	return false;
}

static bool window_is_wanted(const struct rec *rec, const struct nt_session_buffer *b,
			     const struct nt_session_window *w)
{
	const struct rec_options *o = rec->options;

	if (is_of_nobody(rec, b))
		return false;
	return rec_cpu_is_wanted(o, w->cpu) && rec_time_is_wanted(rec, w->time) &&
	       rec_list_has_id(&o->tids, w->tid) && rec_list_has_id(&o->pids, w->pid);
}

/* Without decoding, the names of tasks are not known. */
static void refuse_names(const struct rec_options *o)
{
	if (o->comms.nr)
		die("--comm: messages alone do not tell whose they are; --pid and --tid choose by AUX records");
}

struct dump {
	struct rec *rec;
	const struct nt_session_window *window;
};

static void dump_message(void *ctx, const struct nt_params *params, uint64_t offset,
			 const struct nt_msg *msg, int len)
{
	const struct dump *dump = ctx;

	if (len > 0) {
		put_message(params, offset, msg);
		return;
	}
	if (len == -NT_ECUT && dump->window->unfinished) {
		printf("# 0x%08" PRIx64 ": begin of a message, %zu bytes\n", offset,
		       msg->skip - msg->idle);
		return;
	}
	printf("# 0x%08" PRIx64 ": %s, skipped %zu\n", offset, nt_strerror(len),
	       msg->skip - msg->idle);
	dump->rec->losses++;
}

static void dump_window(struct rec *rec, struct nt_session_buffer *b, size_t k)
{
	const struct nt_session_window *w = &b->window[k];
	struct dump dump = { .rec = rec, .window = w };
	struct rest rest = { .len = 0 };
	size_t len;

	put_window(b, w);
	if (w->size && !w->hw_id) {
		printf("# no HW_ID record tells how to read it\n");
		rec->losses++;
	}
	if (!w->size || !w->hw_id)
		return;
	len = walk_window(rec, b, k, &rest, dump_message, &dump);
	free(rest.data);
	if (len < w->size)
		printf("# 0x%08" PRIx64 ": the file does not have the rest, 0x%" PRIx64 " bytes\n",
		       w->offset + len, w->size - len);
}

int rec_dump(const char *path, const struct rec_options *o)
{
	struct rec rec;
	unsigned int i;
	size_t k;
	int status;

	refuse_names(o);
	rec_open(&rec, path, o);
	if (has_of_nobody(&rec))
		die("%s: --pid and --tid are for the trace of tasks: messages in a CPU's buffer are of all who ran there; `ntrace decode' tells them apart",
		    path);
	if (nt_session_streams_mark(&rec.trace))
		die("%s", nt_strerror(NT_ENOMEM));
	for (i = 0; i < rec.trace.nr_buffers; i++) {
		struct nt_session_buffer *b = rec.trace.buffer[i];

		for (k = 0; b && k < b->nr_windows; k++)
			if (window_is_wanted(&rec, b, &b->window[k]))
				dump_window(&rec, b, k);
	}
	status = rec_status(&rec);
	rec_free(&rec);
	return status;
}

static void put_loss(void *ctx, const struct rec_loss *loss)
{
	(void)ctx;
	out_str("# loss code ");
	out_dec(loss->code);
	if (loss->ip) {
		out_str(" pc ");
		out_hex(loss->ip);
	}
	out_str(": ");
	out_plain(loss->text);
	out_char('\n');
}

/* ------------------------------------------------------------------ stat - */

struct counts {
	struct rec *rec;
	struct rec_loss *loss;	/* of parts other than the first: to be printed in order */
	size_t nr_losses;
	struct stat_messages messages;
	struct stat_totals totals;
	uint64_t windows, size;
	bool wanted, echo;	/* properties of the current window */
};

static void count_message(void *ctx, const struct nt_params *params, uint64_t offset,
			  const struct nt_msg *msg, int len)
{
	struct counts *c = ctx;

	(void)offset;
	/* the message belongs to another CPU, which counts it */
	if (!c->wanted || (len > 0 && params->src >= 0 && msg->fields & NT_F_SRC &&
			   msg->src != params->src))
		return;
	c->messages.idle += msg->idle;
	if (len > 0)
		stat_add(&c->messages, msg, len);
	else if (!c->echo)
		c->messages.bad += msg->skip - msg->idle;
}

static void count_branch(void *ctx, const struct rec_sample *s)
{
	struct counts *c = ctx;

	c->totals.branches += s->type != NT_TYPE_NONE;
}

static void count_loss(void *ctx, const struct rec_loss *loss)
{
	struct counts *c = ctx;

	if (!c->rec->part) {
		put_loss(NULL, loss);
		return;
	}
	c->loss = array_room(c->loss, c->nr_losses, sizeof(*c->loss));
	c->loss[c->nr_losses] = *loss;
	c->loss[c->nr_losses].text = strdup(loss->text);
	if (!c->loss[c->nr_losses++].text)
		die("%s", nt_strerror(NT_ENOMEM));
}

static void count_edge(void *ctx, const struct rec_space *space, const struct nt_edge *edge)
{
	struct counts *c = ctx;

	(void)space;
	c->totals.branches += edge->count;
}

/* May a message that begins in window k end in one that is wanted? */
static bool reaches_wanted(const struct rec *rec, const struct nt_session_buffer *b, size_t k)
{
	uint64_t between = 0;
	size_t i;

	for (i = k + 1; i < b->nr_windows && b->window[i].resume; i++) {
		if (window_is_wanted(rec, b, &b->window[i]))
			return true;
		between += b->window[i].size;
		if (between > NT_SESSION_REST_MAX)
			break;
	}
	return false;
}

/* Each CPU has the stream of a shared sink. Count a byte only where it was found. */
static void count_windows(struct rec *rec, struct counts *c)
{
	struct rest rest = { .len = 0 };
	unsigned int i;
	size_t k, len;

	for (i = 0; i < rec->trace.nr_buffers; i++) {
		struct nt_session_buffer *b = rec->trace.buffer[i];

		for (k = 0; b && k < b->nr_windows; k++) {
			const struct nt_session_window *w = &b->window[k];

			c->wanted = window_is_wanted(rec, b, w);
			c->echo = w->echo;
			if (!w->hw_id || !w->size || !(c->wanted || reaches_wanted(rec, b, k)))
				continue;
			len = walk_window(rec, b, k, &rest, count_message, c);
			if (c->wanted && !c->echo) {
				c->windows++;
				c->size += len;
			}
		}
	}
	free(rest.data);
}

static struct rec_output counts_output(struct counts *c)
{
	return (struct rec_output){
		.branch = count_branch, .edge = count_edge, .loss = count_loss, .ctx = c,
	};
}

static struct rec_output counts_begin(void *ctx, struct rec *rec)
{
	struct counts *c = calloc(1, sizeof(*c));

	(void)ctx;
	if (!c)
		die("%s", nt_strerror(NT_ENOMEM));
	c->rec = rec;
	return counts_output(c);
}

static void counts_append(void *ctx, void *other)
{
	struct counts *c = ctx;
	const struct counts *o = other;
	size_t i;

	c->totals.branches += o->totals.branches;
	for (i = 0; i < o->nr_losses; i++)
		put_loss(NULL, &o->loss[i]);
}

static void counts_drop(void *other)
{
	struct counts *c = other;

	while (c->nr_losses)
		free((char *)c->loss[--c->nr_losses].text);
	free(c->loss);
	free(c);
}

int rec_stat(const char *path, const struct rec_options *o)
{
	static const struct rec_parts parts = {
		.begin = counts_begin, .append = counts_append, .drop = counts_drop,
	};
	struct rec rec;
	struct counts c = { .rec = &rec };
	const struct rec_output output = counts_output(&c);
	int status;

	refuse_names(o);
	rec_open(&rec, path, o);
	rec_parts_run(&rec, &output, &parts);
	count_windows(&rec, &c);
	out_flush();
	out_free();
	c.totals.insns = rec.insns;
	c.totals.losses = rec.losses;
	if (has_of_nobody(&rec))
		printf("# without messages and bytes of CPUs' buffers, which are of all who ran there\n");
	else
		stat_print_messages(&c.messages, "windows", c.size);
	/* bytes are counted for whole windows only */
	stat_print_totals(&c.totals, o->nr_times ? 0 : c.size);
	status = rec_status(&rec);
	rec_free(&rec);
	return status;
}

/* ---------------------------------------------------------------- decode - */

struct print {
	bool marks;
	int cpu, pid, tid;	/* of the last mark */
};

/* Print the task that the following lines belong to, if it has changed. */
static void put_owner(struct print *p, const struct rec_sample *s)
{
	if (!p->marks || (p->cpu == s->cpu && p->pid == s->pid && p->tid == s->tid))
		return;
	p->cpu = s->cpu;
	p->pid = s->pid;
	p->tid = s->tid;
	out_str("# task ");
	out_dec(s->pid < 0 ? 0 : s->pid);
	out_char('/');
	out_dec(s->tid < 0 ? 0 : s->tid);
	out_str(" cpu ");
	out_dec(s->cpu);
	out_char('\n');
}

static void put_insn(void *ctx, const struct rec_sample *s)
{
	put_owner(ctx, s);
	out_hex(s->ip);
	out_char('\n');
}

/* Print where trace begins or ends. This is not a transfer. */
static void put_edge(const struct print *p, const struct rec_sample *s)
{
	if (!p->marks)
		return;
	out_str(s->flags & NT_SESSION_BEGIN ? "# start " : "# stop ");
	out_hex(s->flags & NT_SESSION_BEGIN ? s->addr : s->ip);
	out_char('\n');
}

static void put_branch(void *ctx, const struct rec_sample *s)
{
	put_owner(ctx, s);
	if (s->type == NT_TYPE_NONE) {
		put_edge(ctx, s);
		return;
	}
	out_hex(s->ip);
	out_char(' ');
	out_hex(s->addr);
	out_char(' ');
	out_str(nt_type_name(s->type));
	out_char('\n');
}

/* For output of addresses: print transfers that are not evident from the instructions. */
static void put_mark(void *ctx, const struct rec_sample *s)
{
	const struct print *p = ctx;

	if (s->type == NT_TYPE_NONE) {
		put_owner(ctx, s);
		put_edge(p, s);
	} else if (p->marks && nt_type_is_trap(s->type)) {
		put_owner(ctx, s);
		out_str("# ");
		out_str(nt_type_name(s->type));
		out_char(' ');
		out_hex(s->ip);
		out_char(' ');
		out_hex(s->addr);
		out_char('\n');
	}
}

int rec_decode(const char *path, const struct rec_options *o, bool branches, bool marks)
{
	struct print print = { .marks = marks, .cpu = -1, .pid = -1, .tid = -1 };
	const struct rec_output output = {
		.branch = branches ? put_branch : put_mark,
		.insn = branches ? NULL : put_insn,
		.loss = put_loss,
		.ctx = &print,
	};
	struct rec rec;
	int status;

	rec_open(&rec, path, o);
	rec_run(&rec, &output);
	out_flush();
	out_free();
	status = rec_status(&rec);
	rec_free(&rec);
	return status;
}
