// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace dump and ntrace decode of a recording
 */
#include <inttypes.h>
#include <stdlib.h>

#include "rec.h"

/* ------------------------------------------------------------------ dump - */

static void put_window(const struct ntrace_buffer *b, const struct ntrace_window *w)
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

/* Messages from `at' on; returns how many bytes were none. */
static unsigned long put_messages(const struct nt_params *params, const struct ntrace_window *w,
				  const uint8_t *data, size_t len, size_t at)
{
	unsigned long bad = 0;
	struct nt_msg msg;
	int n;

	while (at < len) {
		n = nt_msg_decode(params, data + at, len - at, &msg);
		if (n > 0) {
			put_message(params, w->offset + at + msg.idle, &msg);
			at += n;
			continue;
		}
		if (!n && msg.idle == len - at)
			break;
		if (!n)
			msg.skip = len - at;
		printf("# 0x%08" PRIx64 ": %s, skipped %zu\n", w->offset + at + msg.idle,
		       nt_strerror(n ? n : -NT_ECUT), msg.skip - msg.idle);
		bad++;
		at += msg.skip;
	}
	return bad;
}

static void dump_window(struct rec *rec, const struct ntrace_buffer *b,
			const struct ntrace_window *w)
{
	char why[NTRACE_WHY];
	struct nt_params params;
	uint8_t *data;
	size_t len;

	put_window(b, w);
	if (!w->size)
		return;
	if (!w->hw_id) {
		printf("# no HW_ID record tells how to read it\n");
		rec->losses++;
		return;
	}
	if (ntrace_info_params(&rec->info, w->hw_id, w->cpu, &params, why))
		die("%s: %s", rec->path, why);
	len = rec_window_there(b, w);
	data = malloc(len + 1);
	if (!data)
		die("%s", nt_strerror(NT_ENOMEM));
	len = rec_window_read(rec, b, w, data, len);
	rec->losses += put_messages(&params, w, data, len,
				    ntrace_window_skip(w, &params, data, len));
	if (len < w->size)
		printf("# 0x%08" PRIx64 ": the file does not have the rest, 0x%" PRIx64 " bytes\n",
		       w->offset + len, w->size - len);
	free(data);
}

int rec_dump(const char *path, const struct rec_options *o)
{
	struct rec rec;
	unsigned int i;
	size_t k;
	int status;

	rec_open(&rec, path, o);
	for (i = 0; i < rec.nr_queues; i++) {
		const struct ntrace_buffer *b = rec.queue[i] ? &rec.queue[i]->buffer : NULL;

		for (k = 0; b && k < b->nr_windows; k++)
			if (rec_cpu_is_wanted(o, b->window[k].cpu) &&
			    rec_time_is_wanted(o, b->window[k].time) &&
			    (o->tid < 0 || o->tid == b->window[k].tid) &&
			    (o->pid < 0 || o->pid == b->window[k].pid))
				dump_window(&rec, b, &b->window[k]);
	}
	status = rec_status(&rec);
	rec_free(&rec);
	return status;
}

/* ---------------------------------------------------------------- decode - */

struct print {
	bool marks;
	int cpu, pid, tid;	/* of the last mark */
};

/* Whose what follows is */
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

/* Where trace begins or ends: no transfer */
static void put_edge(const struct print *p, const struct rec_sample *s)
{
	if (!p->marks)
		return;
	out_str(s->flags & REC_BEGIN ? "# start " : "# stop ");
	out_hex(s->flags & REC_BEGIN ? s->addr : s->ip);
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

/* With addresses: what no instruction tells */
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
	out_str(loss->text);
	out_char('\n');
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
