// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Parses records.  The layouts are those of perf_event_open(2) and, from 64 on, of
 * tools/lib/perf/include/perf/event.h.
 */
#include "nt-perfdata-int.h"

/* The bits of sample_type that are needed here */
#define SAMPLE_IP		(1ull << 0)
#define SAMPLE_TID		(1ull << 1)
#define SAMPLE_TIME		(1ull << 2)
#define SAMPLE_ADDR		(1ull << 3)
#define SAMPLE_ID		(1ull << 6)
#define SAMPLE_CPU		(1ull << 7)
#define SAMPLE_STREAM_ID	(1ull << 9)
#define SAMPLE_IDENTIFIER	(1ull << 16)
#define SAMPLE_AUX		(1ull << 20)

#define MISC_MMAP_DATA		(1 << 13)
#define MISC_MMAP_BUILD_ID	(1 << 14)
#define PROT_EXEC_BIT		4

#define ID_INDEX_ENTRY		32	/* bytes */

/* -------------------------------------------------------- identifiers ---- */

/* What the kernel appends to a record, in this order */
static const uint64_t trailer[] = {
	SAMPLE_TID, SAMPLE_TIME, SAMPLE_ID, SAMPLE_STREAM_ID, SAMPLE_CPU, SAMPLE_IDENTIFIER,
};

static size_t trailer_len(uint64_t sample_type)
{
	size_t i, n = 0;

	for (i = 0; i < sizeof(trailer) / sizeof(trailer[0]); i++)
		n += !!(sample_type & trailer[i]);
	return 8 * n;
}

static void set_tid(struct nt_perfdata_record *rec, struct nt_perfdata_cursor *c)
{
	rec->pid = nt_perfdata_u32(c);
	rec->tid = nt_perfdata_u32(c);
	rec->has |= NT_PERFDATA_HAS_TID;
}

static void set_time(struct nt_perfdata_record *rec, struct nt_perfdata_cursor *c)
{
	rec->time = nt_perfdata_u64(c);
	/* records that perf synthesizes have no time */
	if (rec->time && rec->time != UINT64_MAX)
		rec->has |= NT_PERFDATA_HAS_TIME;
}

static void set_id(struct nt_perfdata_record *rec, struct nt_perfdata_cursor *c)
{
	rec->id = nt_perfdata_u64(c);
	rec->has |= NT_PERFDATA_HAS_ID;
}

static void set_cpu(struct nt_perfdata_record *rec, struct nt_perfdata_cursor *c)
{
	rec->cpu = nt_perfdata_u32(c);
	nt_perfdata_u32(c);
	rec->has |= NT_PERFDATA_HAS_CPU;
}

static void take_trailer(struct nt_perfdata_record *rec, uint64_t type,
			 struct nt_perfdata_cursor *c)
{
	if (type & SAMPLE_TID)
		set_tid(rec, c);
	if (type & SAMPLE_TIME)
		set_time(rec, c);
	if (type & SAMPLE_ID)
		set_id(rec, c);
	if (type & SAMPLE_STREAM_ID)
		nt_perfdata_u64(c);
	if (type & SAMPLE_CPU)
		set_cpu(rec, c);
	if (type & SAMPLE_IDENTIFIER)
		set_id(rec, c);
}

/* A sample begins with these. */
static void take_sample(struct nt_perfdata_record *rec, uint64_t type,
			struct nt_perfdata_cursor *c)
{
	if (type & SAMPLE_IDENTIFIER)
		set_id(rec, c);
	if (type & SAMPLE_IP)
		nt_perfdata_u64(c);
	if (type & SAMPLE_TID)
		set_tid(rec, c);
	if (type & SAMPLE_TIME)
		set_time(rec, c);
	if (type & SAMPLE_ADDR)
		nt_perfdata_u64(c);
	if (type & SAMPLE_ID)
		set_id(rec, c);
	if (type & SAMPLE_STREAM_ID)
		nt_perfdata_u64(c);
	if (type & SAMPLE_CPU)
		set_cpu(rec, c);
}

/* Skip `nr' elements of `size' bytes. */
static void skip_array(struct nt_perfdata_cursor *c, uint64_t nr, unsigned int size)
{
	if (nr > RECORD_MAX)
		c->bad = true;
	else
		nt_perfdata_bytes(c, nr * size);
}

/* Values of counters */
static void skip_read(uint64_t format, struct nt_perfdata_cursor *c)
{
	const bool group = format & 1u << 3;
	uint64_t nr = group ? nt_perfdata_u64(c) : 1;

	skip_array(c, !!(format & 1u << 0) + !!(format & 1u << 1), 8);
	skip_array(c, nr, 8 * (1 + !!(format & 1u << 2) + !!(format & 1u << 4)));
}

static void skip_branches(uint64_t type, struct nt_perfdata_cursor *c)
{
	uint64_t nr = nt_perfdata_u64(c);

	if (type & 1u << 17)	/* PERF_SAMPLE_BRANCH_HW_INDEX */
		nt_perfdata_u64(c);
	skip_array(c, nr, type & 1u << 19 ? 24 + 8 : 24);	/* ..._COUNTERS */
}

static void skip_regs(uint64_t mask, struct nt_perfdata_cursor *c)
{
	if (nt_perfdata_u64(c))		/* no registers without an ABI */
		skip_array(c, __builtin_popcountll(mask), 8);
}

static void skip_stack(struct nt_perfdata_cursor *c)
{
	uint64_t size = nt_perfdata_u64(c);

	if (!size)
		return;
	skip_array(c, size, 1);
	nt_perfdata_u64(c);
}

/* Skip everything between CPU and the AUX area sample at the end, in the order of the bits. */
static void skip_to_aux(const struct nt_perfdata_event *e, struct nt_perfdata_cursor *c)
{
	const uint64_t type = e->sample_type;
	/* PERIOD comes before READ; all other single words are together, except registers */
	if (type & 1u << 8)
		nt_perfdata_u64(c);
	if (type & 1u << 4)
		skip_read(e->read_format, c);
	if (type & 1u << 5)
		skip_array(c, nt_perfdata_u64(c), 8);	/* CALLCHAIN */
	if (type & 1u << 10)
		skip_array(c, nt_perfdata_u32(c), 1);	/* RAW */
	if (type & 1u << 11)
		skip_branches(e->branch_sample_type, c);
	if (type & 1u << 12)
		skip_regs(e->regs_user, c);
	if (type & 1u << 13)
		skip_stack(c);
	/* WEIGHT or WEIGHT_STRUCT, DATA_SRC, TRANSACTION */
	skip_array(c, !!(type & (1u << 14 | 1u << 24)) + !!(type & 1u << 15) +
		   !!(type & 1u << 17), 8);
	if (type & 1u << 18)
		skip_regs(e->regs_intr, c);
	/* PHYS_ADDR, CGROUP, DATA_PAGE_SIZE, CODE_PAGE_SIZE */
	skip_array(c, __builtin_popcountll(type & (1u << 19 | 7u << 21)), 8);
}

/* The bytes of a compressed record are not in the file: copy them to another one. */
static int take_aux_sample(struct nt_perfdata *pd, struct nt_perfdata_record *rec,
			   const struct nt_perfdata_event *e, struct nt_perfdata_cursor *c)
{
	const uint8_t *bytes;

	skip_to_aux(e, c);
	rec->aux_sample.size = nt_perfdata_u64(c);
	rec->aux_sample.at = rec->offset + (c->p - rec->data);
	rec->aux_sample.file = rec->file;
	bytes = nt_perfdata_bytes(c, rec->aux_sample.size);
	if (c->bad || !rec->compressed || !rec->aux_sample.size)
		return 0;
	rec->aux_sample.file = KEPT_FILE;
	return nt_perfdata_source_keep(pd, bytes, rec->aux_sample.size, &rec->aux_sample.at);
}

/* The position of a sample's ID in words from the front; -1: none */
static int id_from_front(uint64_t type)
{
	if (type & SAMPLE_IDENTIFIER)
		return 0;
	if (!(type & SAMPLE_ID))
		return -1;
	return !!(type & SAMPLE_IP) + !!(type & SAMPLE_TID) + !!(type & SAMPLE_TIME) +
	       !!(type & SAMPLE_ADDR);
}

/* The same in a trailer, from the end; 1: the last word */
static int id_from_end(uint64_t type)
{
	if (type & SAMPLE_IDENTIFIER)
		return 1;
	if (!(type & SAMPLE_ID))
		return -1;
	return 1 + !!(type & SAMPLE_STREAM_ID) + !!(type & SAMPLE_CPU);
}

/* The event of a record; -1: unknown. perf puts the IDs of all events at the same position. */
static int find_event(const struct nt_perfdata *pd, const struct nt_perfdata_record *rec)
{
	bool sample = rec->type == NT_PERFDATA_SAMPLE;
	const struct nt_perfdata_id *found;
	uint64_t id, type;
	int64_t at;
	int nth;

	if (!pd->nr_attrs)
		return -1;
	if (pd->nr_attrs == 1)
		return 0;
	type = pd->attr[0].sample_type;
	nth = sample ? id_from_front(type) : id_from_end(type);
	if (nth < 0)
		return 0;
	at = sample ? RECORD_HEADER + 8 * nth : (int64_t)rec->len - 8 * nth;
	if (at < RECORD_HEADER || at + 8 > (int64_t)rec->len)
		return -1;
	memcpy(&id, rec->data + at, sizeof(id));
	/* records that perf synthesizes have no ID, and the layout of the first event */
	if (!id)
		return 0;
	found = nt_perfdata_event_find(pd, id);
	return found ? found->event : -1;
}

/* ----------------------------------------------------------- the record -- */

static void take_build_id(struct nt_perfdata_build_id *id, struct nt_perfdata_cursor *c)
{
	nt_perfdata_take(c, &id->size, 1);
	nt_perfdata_bytes(c, 3);
	nt_perfdata_take(c, id->data, sizeof(id->data));
	if (id->size > sizeof(id->data))
		id->size = sizeof(id->data);
}

static void take_mmap(struct nt_perfdata_record *rec, struct nt_perfdata_cursor *c)
{
	struct nt_perfdata_mmap *m = &rec->mmap;

	m->pid	 = nt_perfdata_u32(c);
	m->tid	 = nt_perfdata_u32(c);
	m->start = nt_perfdata_u64(c);
	m->len	 = nt_perfdata_u64(c);
	m->pgoff = nt_perfdata_u64(c);
	m->prot	 = rec->misc & MISC_MMAP_DATA ? 0 : PROT_EXEC_BIT;
	if (rec->type == NT_PERFDATA_MMAP2) {
		if (rec->misc & MISC_MMAP_BUILD_ID) {
			take_build_id(&m->build_id, c);
		} else {
			m->maj = nt_perfdata_u32(c);
			m->min = nt_perfdata_u32(c);
			m->ino = nt_perfdata_u64(c);
			m->ino_generation = nt_perfdata_u64(c);
		}
		m->prot	 = nt_perfdata_u32(c);
		m->flags = nt_perfdata_u32(c);
	}
	m->name = nt_perfdata_text(c);
}

static void take_task(struct nt_perfdata_record *rec, struct nt_perfdata_cursor *c)
{
	rec->task.pid  = nt_perfdata_u32(c);
	rec->task.ppid = nt_perfdata_u32(c);
	rec->task.tid  = nt_perfdata_u32(c);
	rec->task.ptid = nt_perfdata_u32(c);
	rec->task.time = nt_perfdata_u64(c);
}

static void take_namespaces(struct nt_perfdata_record *rec, struct nt_perfdata_cursor *c)
{
	rec->namespaces.pid = nt_perfdata_u32(c);
	rec->namespaces.tid = nt_perfdata_u32(c);
	rec->namespaces.nr  = nt_perfdata_u64(c);
	if (rec->namespaces.nr > RECORD_MAX)
		c->bad = true;
	else
		rec->namespaces.links = nt_perfdata_bytes(c, 16 * rec->namespaces.nr);
}

static void take_text_poke(struct nt_perfdata_record *rec, struct nt_perfdata_cursor *c)
{
	rec->text_poke.addr    = nt_perfdata_u64(c);
	rec->text_poke.old_len = nt_perfdata_u16(c);
	rec->text_poke.new_len = nt_perfdata_u16(c);
	rec->text_poke.bytes   = nt_perfdata_bytes(c, (uint32_t)rec->text_poke.old_len +
						      rec->text_poke.new_len);
}

static void take_ksymbol(struct nt_perfdata_record *rec, struct nt_perfdata_cursor *c)
{
	rec->ksymbol.addr  = nt_perfdata_u64(c);
	rec->ksymbol.len   = nt_perfdata_u32(c);
	rec->ksymbol.type  = nt_perfdata_u16(c);
	rec->ksymbol.flags = nt_perfdata_u16(c);
	rec->ksymbol.name  = nt_perfdata_text(c);
}

/* Records of the kernel */
static void take_kernel(struct nt_perfdata_record *rec, struct nt_perfdata_cursor *c)
{
	switch (rec->type) {
	case NT_PERFDATA_MMAP:
	case NT_PERFDATA_MMAP2:
		take_mmap(rec, c);
		break;
	case NT_PERFDATA_COMM:
		rec->comm.pid  = nt_perfdata_u32(c);
		rec->comm.tid  = nt_perfdata_u32(c);
		rec->comm.name = nt_perfdata_text(c);
		break;
	case NT_PERFDATA_FORK:
	case NT_PERFDATA_EXIT:
		take_task(rec, c);
		break;
	case NT_PERFDATA_AUX:
		rec->aux.offset = nt_perfdata_u64(c);
		rec->aux.size	= nt_perfdata_u64(c);
		rec->aux.flags	= nt_perfdata_u64(c);
		break;
	case NT_PERFDATA_ITRACE_START:
		rec->itrace_start.pid = nt_perfdata_u32(c);
		rec->itrace_start.tid = nt_perfdata_u32(c);
		break;
	case NT_PERFDATA_SWITCH_CPU_WIDE:
		rec->other.pid = nt_perfdata_u32(c);
		rec->other.tid = nt_perfdata_u32(c);
		break;
	case NT_PERFDATA_LOST:
		rec->lost.id = nt_perfdata_u64(c);
		/* fallthrough */
	case NT_PERFDATA_LOST_SAMPLES:
		rec->lost.lost = nt_perfdata_u64(c);
		break;
	case NT_PERFDATA_NAMESPACES:
		take_namespaces(rec, c);
		break;
	case NT_PERFDATA_KSYMBOL:
		take_ksymbol(rec, c);
		break;
	case NT_PERFDATA_TEXT_POKE:
		take_text_poke(rec, c);
		break;
	case NT_PERFDATA_AUX_OUTPUT_HW_ID:
		rec->hw_id = nt_perfdata_u64(c);
		break;
	}
}

static void take_auxtrace(struct nt_perfdata_record *rec, struct nt_perfdata_cursor *c)
{
	rec->auxtrace.size	= nt_perfdata_u64(c);
	rec->auxtrace.offset	= nt_perfdata_u64(c);
	rec->auxtrace.reference = nt_perfdata_u64(c);
	rec->auxtrace.idx	= nt_perfdata_u32(c);
	rec->auxtrace.tid	= nt_perfdata_u32(c);
	rec->auxtrace.cpu	= nt_perfdata_u32(c);
}

/* The message is an array of 64 bytes in the middle; fmt says whether there is a time. */
static void take_error(struct nt_perfdata_record *rec, struct nt_perfdata_cursor *c)
{
	struct nt_perfdata_cursor message;
	uint32_t fmt;

	rec->auxtrace_error.type = nt_perfdata_u32(c);
	rec->auxtrace_error.code = nt_perfdata_u32(c);
	rec->auxtrace_error.cpu	 = nt_perfdata_u32(c);
	rec->auxtrace_error.pid	 = nt_perfdata_u32(c);
	rec->auxtrace_error.tid	 = nt_perfdata_u32(c);
	fmt = nt_perfdata_u32(c);
	rec->auxtrace_error.ip	 = nt_perfdata_u64(c);
	if (fmt)
		rec->auxtrace_error.time = nt_perfdata_u64(c);
	message = *c;
	rec->auxtrace_error.message = nt_perfdata_text(&message);
	c->bad |= message.bad;
}

static void take_time_conv(struct nt_perfdata_record *rec, struct nt_perfdata_cursor *c)
{
	uint8_t byte;

	rec->time_conv.shift = nt_perfdata_u64(c);
	rec->time_conv.mult  = nt_perfdata_u64(c);
	rec->time_conv.zero  = nt_perfdata_u64(c);
	/* end of the record before Linux 5.10 */
	if (c->p == c->end)
		return;
	rec->time_conv.cycles = nt_perfdata_u64(c);
	rec->time_conv.mask   = nt_perfdata_u64(c);
	nt_perfdata_take(c, &byte, 1);
	rec->time_conv.zero_valid = byte;
	nt_perfdata_take(c, &byte, 1);
	rec->time_conv.short_counter = byte;
	nt_perfdata_take(c, rec->time_conv.reserved, sizeof(rec->time_conv.reserved));
}

/* Only in pipe mode; the header of a file has the attrs. */
static int take_attr(struct nt_perfdata *pd, struct nt_perfdata_cursor *c)
{
	int err;

	if (!pd->pipe_mode)
		return 0;
	err = nt_perfdata_event_add(pd, c);
	return err ? err : nt_perfdata_event_add_ids(pd, pd->nr_attrs - 1, c);
}

static int take_id_index(struct nt_perfdata *pd, struct nt_perfdata_cursor *c)
{
	uint64_t nr = nt_perfdata_u64(c);
	struct nt_perfdata_cursor entries = *c;

	/* the rest is about virtual machines */
	if (nr > RECORD_MAX)
		return -NT_PERFDATA_EDAMAGED;
	nt_perfdata_bytes(c, nr * ID_INDEX_ENTRY);
	entries.end = c->p;
	return c->bad ? -NT_PERFDATA_EDAMAGED : nt_perfdata_event_index(pd, &entries);
}

/* perf's own records */
static int take_user(struct nt_perfdata *pd, struct nt_perfdata_record *rec,
		     struct nt_perfdata_cursor *c)
{
	switch (rec->type) {
	case NT_PERFDATA_HEADER_ATTR:
		return take_attr(pd, c);
	case NT_PERFDATA_HEADER_BUILD_ID:
		return nt_perfdata_header_build_id(pd, rec->data, rec->len);
	case NT_PERFDATA_HEADER_FEATURE:
		return nt_perfdata_header_feature(pd, rec->data, rec->len);
	case NT_PERFDATA_ID_INDEX:
		return take_id_index(pd, c);
	case NT_PERFDATA_AUXTRACE_INFO:
		rec->auxtrace_info.type = nt_perfdata_u32(c);
		nt_perfdata_u32(c);
		rec->auxtrace_info.priv = c->p;
		rec->auxtrace_info.words = (c->end - c->p) / 8;
		break;
	case NT_PERFDATA_AUXTRACE:
		take_auxtrace(rec, c);
		break;
	case NT_PERFDATA_AUXTRACE_ERROR:
		take_error(rec, c);
		break;
	case NT_PERFDATA_TIME_CONV:
		take_time_conv(rec, c);
		break;
	}
	return c->bad ? -NT_PERFDATA_EDAMAGED : 0;
}

int nt_perfdata_record_parse(struct nt_perfdata *pd, struct nt_perfdata_record *rec,
			     const char **what)
{
	struct nt_perfdata_cursor c = { rec->data + RECORD_HEADER, rec->data + rec->len, false };
	const struct nt_perfdata_event *e;
	size_t behind;
	int err = 0;

	*what = "is too short for what it tells";
	if (rec->type >= NT_PERFDATA_USER_FIRST)
		return take_user(pd, rec, &c);
	rec->event = find_event(pd, rec);
	if (rec->event < 0) {
		*what = "has an ID that no event has";
		return -NT_PERFDATA_EDAMAGED;
	}
	e = &pd->attr[rec->event];
	if (rec->type == NT_PERFDATA_SAMPLE) {
		take_sample(rec, e->sample_type, &c);
		if (e->sample_type & SAMPLE_AUX)
			err = take_aux_sample(pd, rec, e, &c);
	} else {
		behind = e->flags & NT_PERFDATA_SAMPLE_ID_ALL ? trailer_len(e->sample_type) : 0;
		if (behind > (size_t)(c.end - c.p))
			return -NT_PERFDATA_EDAMAGED;
		c.end -= behind;
		take_kernel(rec, &c);
		if (!c.bad && behind) {
			c = (struct nt_perfdata_cursor){ c.end, c.end + behind, false };
			take_trailer(rec, e->sample_type, &c);
		}
	}
	return c.bad ? -NT_PERFDATA_EDAMAGED : err;
}
