// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's buffers for records and for trace. Reading makes room for more.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture.h"
#include "cmd.h"

#define TRAILER		32	/* bytes at the end of each record: pid and tid, time, cpu, id */
#define MISC_BUILD_ID	(1 << 14)
#define RECORD_LEAST	8
#define HW_ID_SIZE	(16 + TRAILER)
#define SAMPLE_TIME	32	/* after header, ID, address, pid and tid */
#define TRIES		50

static uint64_t load(const __u64 *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static void store(__u64 *p, uint64_t val)
{
	__atomic_store_n(p, val, __ATOMIC_RELEASE);
}

void capture_ring_map(struct capture *c, unsigned int number)
{
	struct capture_ring *r = &c->ring[number];
	size_t page = sysconf(_SC_PAGESIZE);
	void *p;

	p = mmap(NULL, page + c->data_size, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (p == MAP_FAILED)
		capture_die_map(c, false, errno);
	r->page = p;
	r->data = (uint8_t *)p + page;
	if (!r->encoder)
		return;
	r->page->aux_offset = page + c->data_size;
	r->page->aux_size = c->aux_size;
	/* a mapping without PROT_WRITE makes the AUX buffer circular */
	p = mmap(NULL, c->aux_size, PROT_READ | (capture_is_circular(c) ? 0 : PROT_WRITE),
		 MAP_SHARED, r->fd, r->page->aux_offset);
	if (p == MAP_FAILED)
		capture_die_map(c, true, errno);
	r->aux = p;
}

/* -------------------------------------------------------------- records -- */

static void note_mapping(struct capture *c, const struct perf_event_header *h, const uint8_t *p)
{
	const char *name = (const char *)p + 72;
	size_t room = h->size - TRAILER;

	if (room <= 72 || !memchr(name, '\0', room - 72) || *name == '[' || !strncmp(name, "//", 2))
		return;
	if (h->misc & MISC_BUILD_ID)
		capture_build_id_note(c, h->misc & 7, name, p + 44, p[40]);
	else
		capture_build_id_note(c, h->misc & 7, name, p + 40, 0);
}

static void note_trace(struct capture *c, struct capture_ring *r, const uint8_t *p)
{
	uint64_t flags;

	memcpy(&flags, p + 24, sizeof(flags));
	if (flags & PERF_AUX_FLAG_TRUNCATED) {
		r->stopped = TRIES;
		c->cut++;
	}
	c->partial += !!(flags & PERF_AUX_FLAG_PARTIAL);
}

/*
 * The kernel reports the hardware ID of an event only once, but each file needs the newest one of
 * each event, without a time.
 */
static void keep_hw_id(struct capture *c, const struct perf_event_header *h, const uint8_t *p)
{
	struct capture_bytes *b = &c->hw_ids;
	size_t at;

	if (h->size != HW_ID_SIZE)
		return;
	for (at = 0; at < b->len; at += HW_ID_SIZE)
		if (!memcmp(b->p + at + HW_ID_SIZE - 8, p + HW_ID_SIZE - 8, 8))
			break;
	if (at == b->len)
		capture_put(b, p, HW_ID_SIZE);
	memcpy(b->p + at, p, HW_ID_SIZE);
	memset(b->p + at + HW_ID_SIZE - 24, 0, 8);
}

static void note_record(struct capture *c, struct capture_ring *r,
			const struct perf_event_header *h, const uint8_t *p)
{
	uint64_t time, lost;

	if (h->size < RECORD_LEAST + TRAILER)
		return;
	memcpy(&time, p + (h->type == PERF_RECORD_SAMPLE ? SAMPLE_TIME : h->size - 24),
	       sizeof(time));
	if (time && (!c->first || time < c->first))
		c->first = time;
	if (time > c->last)
		c->last = time;
	if (h->type == PERF_RECORD_MMAP2)
		note_mapping(c, h, p);
	if (h->type == PERF_RECORD_AUX && h->size >= 32 + TRAILER)
		note_trace(c, r, p);
	if ((h->type == PERF_RECORD_FORK || h->type == PERF_RECORD_EXIT ||
	     h->type == PERF_RECORD_COMM) && h->size >= 24 + TRAILER)
		capture_task_follow(c, h, p);
	if (h->type == PERF_RECORD_AUX_OUTPUT_HW_ID)
		keep_hw_id(c, h, p);
	if (h->type == PERF_RECORD_LOST && h->size >= 24 + TRAILER) {
		memcpy(&lost, p + 16, sizeof(lost));
		c->lost += lost;
	}
}

static void copy_out(const struct capture *c, const struct capture_ring *r, uint64_t at, void *to,
		     size_t len)
{
	size_t from = at & (c->data_size - 1), first = c->data_size - from;

	if (first > len)
		first = len;
	memcpy(to, r->data + from, first);
	memcpy((uint8_t *)to + first, r->data, len - first);
}

static bool drain_records(struct capture *c, struct capture_ring *r)
{
	uint64_t head = load(&r->page->data_head), at = r->page->data_tail;
	uint8_t record[65536] __attribute__((aligned(8)));
	struct perf_event_header h;
	bool some = at != head;

	while (head - at >= sizeof(h)) {
		copy_out(c, r, at, &h, sizeof(h));
		if (h.size < RECORD_LEAST || h.size > head - at)
			die("the kernel's buffer of CPU %d is damaged: a record of %u bytes",
			    r->cpu, h.size);
		copy_out(c, r, at, record, h.size);
		note_record(c, r, &h, record);
		capture_file_write(c, record, h.size);
		at += h.size;
	}
	store(&r->page->data_tail, at);
	return some;
}

/* ---------------------------------------------------------------- trace -- */

static void write_trace(struct capture *c, unsigned int number, uint64_t old, uint64_t head)
{
	const struct capture_ring *r = &c->ring[number];
	size_t from = old & (c->aux_size - 1), len[2] = { c->aux_size - from };
	const uint8_t *part[2] = { r->aux + from, r->aux };

	if (len[0] > head - old)
		len[0] = head - old;
	len[1] = head - old - len[0];
	capture_file_trace(c, number, old, part, len);
}

/*
 * When the driver finds no room, the kernel stops the event, or is about to do so. Now there is
 * room, so restart it. The stop is not reported, so retry for a while.
 */
static void go_on(struct capture *c, unsigned int number)
{
	struct capture_ring *r = &c->ring[number];
	size_t i;

	if (r->stopped)
		r->stopped--;
	for (i = 0; i < c->nr_fds; i++)
		if (c->fd[i].ring == number && c->fd[i].event == EVENT_TRACE)
			ioctl(c->fd[i].fd, PERF_EVENT_IOC_ENABLE, 0);
}

/*
 * A fragment of trace ends at a multiple of 8 bytes in the AUX buffer, and the rest waits for the
 * next one. The driver's padding also ends at such a multiple, so it is never split.
 */
static bool drain_trace(struct capture *c, unsigned int number, bool to_the_end)
{
	struct capture_ring *r = &c->ring[number];
	uint64_t head = load(&r->page->aux_head);

	if (!to_the_end)
		head = head > r->aux_old + 7 ? head & ~7ULL : r->aux_old;
	if (head == r->aux_old) {
		if (!to_the_end && c->cut)
			go_on(c, number);
		return false;
	}
	write_trace(c, number, r->aux_old, head);
	r->aux_old = head;
	store(&r->page->aux_tail, head);
	if (!to_the_end)
		go_on(c, number);
	return true;
}

bool capture_ring_stopped(const struct capture *c)
{
	size_t i;

	for (i = 0; i < c->nr_rings; i++)
		if (c->ring[i].stopped)
			return true;
	return false;
}

bool capture_ring_drain(struct capture *c, unsigned int number, bool to_the_end)
{
	struct capture_ring *r = &c->ring[number];
	bool some = drain_records(c, r);

	if (r->aux && !capture_is_circular(c))
		some |= drain_trace(c, number, to_the_end);
	return some;
}

/* Tracing is off. Write the newest bytes that are not in an earlier snapshot. */
void capture_ring_snapshot(struct capture *c, unsigned int number)
{
	struct capture_ring *r = &c->ring[number];
	uint64_t head, old = r->aux_old;

	if (!r->aux)
		return;
	head = load(&r->page->aux_head);
	if (head - old > c->o.snapshot_size)
		old = head - c->o.snapshot_size;
	if (head != old)
		write_trace(c, number, old, head);
	r->aux_old = head;
}
