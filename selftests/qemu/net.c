// SPDX-License-Identifier: GPL-2.0-only
/*
 * The path of trace after the encoders: through funnels, into sinks and over bridges.
 *
 * The sender moves a message as far downstream as possible, so no component holds a message that
 * could move on.  Messages that a full or disabled sink holds up are pulled when there is room
 * again, one from each input in turn.
 */

#include <stdlib.h>
#include <string.h>

#include "model.h"

/*
 * Log of the sinks' writes to memory: a line each time a sink is enabled, and a line for each range
 * of addresses
 */

static FILE *log_file;

static void log_range(struct component *c)
{
	if (c->log_from != c->log_to)
		fprintf(log_file, "%s wrote 0x%016llx 0x%016llx\n", c->name,
			(unsigned long long)(c->log_from + opt.dma_offset),
			(unsigned long long)(c->log_to + opt.dma_offset));
	c->log_from = c->log_to = 0;
}

void net_log_store(struct component *c, uint64_t at, unsigned int len)
{
	if (!log_file)
		return;
	if (at != c->log_to) {
		log_range(c);
		c->log_from = at;
	}
	c->log_to = at + len;
}

static void on_wrote(struct ram_sink *sink, uint64_t at, unsigned int len)
{
	net_log_store((void *)((uint8_t *)sink - offsetof(struct component, sink)), at, len);
}

void net_log_enable(struct component *c, uint64_t time)
{
	const struct ram_sink *sink = &c->sink;
	uint64_t offset = ram_in_sram(sink) ? 0 : opt.dma_offset;

	if (!log_file)
		return;
	c->logged = true;
	log_range(c);
	fprintf(log_file, "%s window 0x%016llx 0x%016llx %s %llu\n", c->name,
		(unsigned long long)(sink->start + offset),
		(unsigned long long)(sink->limit + offset) +
			(ram_in_sram(sink) ? RAM_SRAM_WIDTH : sink->can->width),
		ram_in_sram(sink) ? "sram" : "smem", (unsigned long long)time);
}

void net_log_disable(struct component *c, uint64_t time)
{
	if (!log_file || !c->logged)
		return;
	c->logged = false;
	log_range(c);
	fprintf(log_file, "%s off %llu\n", c->name, (unsigned long long)time);
}

/*
 * Input of a component; its lock is held
 */

/* Faults after a number of messages */
static void count_passed(struct component *c)
{
	if (!c->fault.enable_after && !c->fault.stray_after)
		return;
	c->passed++;
	if (c->passed == c->fault.stray_after && c->type == COMP_SINK)
		ram_stray(&c->sink);
	if (c->passed != c->fault.enable_after)
		return;
	if (c->type == COMP_FUNNEL)
		funnel_drop_enable(&c->funnel);
	else if (c->type == COMP_SINK)
		ram_drop_enable(&c->sink);
}

static unsigned int put(struct component *c, unsigned int input, const uint8_t *buf,
			unsigned int len);

static bool takes(const struct component *c)
{
	switch (c->type) {
	case COMP_FUNNEL:
		return c->funnel.enable.is;
	case COMP_SINK:
		return c->sink.enable.is;
	default:
		return c->bridge.enable.is;
	}
}

/* Send messages from a funnel as far as possible */
static bool forward(struct component *c)
{
	const struct link *to = &c->out[0];
	struct funnel *f = &c->funnel;
	bool moved = false;
	unsigned int n;

	while (f->fill && c->n_out) {
		n = put(to->to, to->input, f->buf, funnel_message(f->buf, f->fill));
		if (!n)
			break;
		funnel_took(f, n);
		moved = true;
	}
	return moved;
}

static unsigned int put_funnel(struct component *c, unsigned int input, const uint8_t *msg,
			       unsigned int len)
{
	forward(c);
	/* in version 0 funnel and sink are one component */
	if (opt.version0 && !takes(c->out[0].to))
		return 0;
	if (!funnel_put(&c->funnel, input, msg, len))
		return 0;
	forward(c);
	return len;
}

/* Returns how many bytes were taken: a sink may take a part, others take whole messages */
static unsigned int put(struct component *c, unsigned int input, const uint8_t *buf,
			unsigned int len)
{
	unsigned int n;

	comp_lock(c);
	if (c->type == COMP_FUNNEL)
		n = put_funnel(c, input, buf, len);
	else if (c->type == COMP_SINK)
		n = ram_put(&c->sink, buf, len);
	else
		n = bridge_put(&c->bridge, len);
	if (n)
		count_passed(c);
	mmio_show_status(c);
	comp_unlock(c);
	return n;
}

/*
 * Output of an encoder.  A message goes to all enabled outputs, and only when all of them have
 * room.
 */

static uint64_t room_in(const struct component *c, unsigned int input)
{
	const struct funnel *f = &c->funnel;

	if (!takes(c))
		return 0;
	if (c->type == COMP_SINK)
		return ram_room(&c->sink);
	if (c->type == COMP_BRIDGE || f->dis_input >> input & 1)
		return UINT64_MAX;
	if (f->fill || !c->n_out)
		return FUNNEL_BUFFER - f->fill;
	return room_in(c->out[0].to, c->out[0].input);
}

/* Reads without locks: the result may be outdated, which costs at most a wait */
uint64_t net_room(const struct component *from)
{
	uint64_t least = UINT64_MAX, room;
	unsigned int i, n = 0;

	for (i = 0; i < from->n_out; i++) {
		if (from->n_out > 1 && !takes(from->out[i].to))
			continue;
		room = room_in(from->out[i].to, from->out[i].input);
		least = room < least ? room : least;
		n++;
	}
	return n ? least : 0;
}

static unsigned int send_message(struct component *from, const uint8_t *msg, unsigned int len)
{
	unsigned int i, n = 0;

	if (from->n_out > 1 && net_room(from) < len)
		return 0;
	for (i = 0; i < from->n_out; i++)
		if (from->n_out == 1 || takes(from->out[i].to))
			n = put(from->out[i].to, from->out[i].input, msg, len);
	return n;
}

unsigned int net_send(struct component *from, const uint8_t *buf, unsigned int len)
{
	unsigned int done = 0, n, msg;

	if (from->n_out == 1 && from->out[0].to->type == COMP_SINK)
		return put(from->out[0].to, 0, buf, len);
	while (done < len) {
		msg = funnel_message(buf + done, len - done);
		n = send_message(from, buf + done, msg);
		done += n;
		if (!n || n < msg)
			break;
	}
	return done;
}

/* An encoder has flushed */
void net_settle(struct component *from)
{
	struct component *c;
	unsigned int i;

	for (i = 0; i < from->n_out; i++) {
		c = from->out[i].to;
		if (c->type != COMP_SINK)
			continue;
		comp_lock(c);
		ram_settle(&c->sink);
		mmio_show_status(c);
		comp_unlock(c);
	}
}

/*
 * Time: the clock of a timestamp unit.  In shared mode an encoder uses the counter of the funnel
 * that it leads to, which may share the counter of another funnel.  Counters of funnels are words
 * that any hart may update, without a lock.
 */

static struct component *funnel_below(const struct component *c)
{
	unsigned int i;

	for (i = 0; i < c->n_out; i++)
		if (c->out[i].to->type == COMP_FUNNEL)
			return c->out[i].to;
	return NULL;
}

/* An inactive funnel does not forward time. */
static uint64_t shared_time(struct hart *h, const struct component *c)
{
	struct component *below = funnel_below(c);

	return below && below->funnel.active.is ? net_time(h, below) : 0;
}

uint64_t net_time(struct hart *h, struct component *c)
{
	struct ts_unit *ts = c->type == COMP_ENCODER ? &h->te.ts : &c->funnel.ts;

	switch (ts_mode(ts)) {
	case TS_SHARED:
		return ts_advance(ts, shared_time(h, c));
	case TS_INTERNAL_CORE:
		return ts_advance(ts, guest_core_clock(h));
	default:
		return ts_advance(ts, guest_time(h));
	}
}

/*
 * There is room again: pull messages from upstream. No lock is held.
 */

static bool pull_round(struct component *c)
{
	bool moved = false;
	unsigned int i;

	if (c->type == COMP_ENCODER) {
		if (!c->hart)
			return false;
		hart_lock(c->hart);
		moved = encode_drain_one(c->hart);
		hart_unlock(c->hart);
		return moved;
	}
	if (c->type == COMP_FUNNEL) {
		comp_lock(c);
		moved = forward(c);
		mmio_show_status(c);
		comp_unlock(c);
	}
	for (i = 0; i < c->n_in; i++)
		moved |= pull_round(c->in[i]);
	return moved;
}

void net_pull(struct component *c)
{
	while (pull_round(c))
		;
}

/*
 * Beginning and end
 */

static void init_component(struct component *c, uint8_t *ram, uint64_t size)
{
	uint32_t inputs = (1u << c->n_in) - 1;

	if (c->type == COMP_FUNNEL) {
		funnel_init(&c->funnel, &opt.funnel, inputs);
	} else if (c->type == COMP_BRIDGE) {
		bridge_init(&c->bridge, &opt.bridge);
	} else if (c->type == COMP_SINK) {
		ram_init(&c->sink, &opt.sink, ram, opt.rambase - opt.dma_offset, size);
		if (opt.sink.impl & RAM_HAS_SRAM)
			ram_set_sram(&c->sink, g_malloc0(c->sram_size), c->sram_size);
		if (c->region_size)
			ram_set_region(&c->sink, c->region, c->region_size);
		c->sink.wrote = opt.sink_log ? on_wrote : NULL;
	}
}

void net_init(void)
{
	uint8_t *ram;
	uint64_t size;
	unsigned int i;

	ram = guest_ram(&size);
	if (opt.sink_log) {
		log_file = fopen(opt.sink_log, "w");
		if (!log_file)
			die("sink_log: cannot write %s", opt.sink_log);
	}
	for (i = 0; i < n_components; i++)
		init_component(components[i], ram, size);
}

void net_exit(void)
{
	unsigned int i;

	if (!log_file)
		return;
	for (i = 0; i < n_components; i++)
		if (components[i]->type == COMP_SINK)
			log_range(components[i]);
	if (fclose(log_file))
		die("sink_log: writing failed");
}
