// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Recorded events, and the meaning of the IDs in records: event, buffer, CPU, thread
 */
#include <stdlib.h>

#include "nt-perfdata-int.h"

#define ATTR_VER0	64	/* bytes in Linux 2.6.31; later fields are 0 */
#define EVENTS_MAX	65536

/* ------------------------------------------------------------------ IDs -- */

/* Distributes IDs that differ in few bits */
static size_t hash(uint64_t id)
{
	return (id * 0x9e3779b97f4a7c15ull) >> 32;
}

/* The slot of an ID in the table, which is at most half full; id 0: empty */
static struct nt_perfdata_id *place(struct nt_perfdata_id *table, size_t room, uint64_t id)
{
	size_t i = hash(id) & (room - 1);

	while (table[i].id && table[i].id != id)
		i = (i + 1) & (room - 1);
	return &table[i];
}

static int make_room(struct nt_perfdata *pd)
{
	size_t room = pd->id_room ? 2 * pd->id_room : 64, i;
	struct nt_perfdata_id *table;

	if (2 * pd->nr_ids < pd->id_room)
		return 0;
	table = calloc(room, sizeof(*table));
	if (!table)
		return -NT_PERFDATA_ENOMEM;
	for (i = 0; i < pd->id_room; i++)
		if (pd->id[i].id)
			*place(table, room, pd->id[i].id) = pd->id[i];
	free(pd->id);
	pd->id = table;
	pd->id_room = room;
	return 0;
}

struct nt_perfdata_id *nt_perfdata_event_find(const struct nt_perfdata *pd, uint64_t id)
{
	struct nt_perfdata_id *found;

	if (!id || !pd->id_room)
		return NULL;
	found = place(pd->id, pd->id_room, id);
	return found->id ? found : NULL;
}

static struct nt_perfdata_id *find_or_add(struct nt_perfdata *pd, uint64_t id)
{
	struct nt_perfdata_id *found;

	if (make_room(pd))
		return NULL;
	found = place(pd->id, pd->id_room, id);
	if (!found->id) {
		*found = (struct nt_perfdata_id){ id, -1, -1, -1, -1 };
		pd->nr_ids++;
	}
	return found;
}

int nt_perfdata_event_add_ids(struct nt_perfdata *pd, unsigned int event,
			      struct nt_perfdata_cursor *ids)
{
	struct nt_perfdata_id *found;
	uint64_t id;

	while (ids->end - ids->p >= 8) {
		id = nt_perfdata_u64(ids);
		if (!id)
			continue;
		found = find_or_add(pd, id);
		if (!found)
			return -NT_PERFDATA_ENOMEM;
		found->event = event;
		pd->attr[event].nr_ids++;
	}
	return 0;
}

/* Add the entries of an ID_INDEX record. */
int nt_perfdata_event_index(struct nt_perfdata *pd, struct nt_perfdata_cursor *c)
{
	struct nt_perfdata_id *found;
	uint64_t id;

	while (c->end - c->p >= 32) {
		id = nt_perfdata_u64(c);
		found = id ? find_or_add(pd, id) : NULL;
		if (id && !found)
			return -NT_PERFDATA_ENOMEM;
		if (!found) {
			nt_perfdata_bytes(c, 24);
			continue;
		}
		found->idx = nt_perfdata_u64(c);
		found->cpu = nt_perfdata_u64(c);
		found->tid = nt_perfdata_u64(c);
	}
	return 0;
}

/* --------------------------------------------------------------- events -- */

/* The fields of perf_event_attr, in order */
static void unpack(struct nt_perfdata_event *e, struct nt_perfdata_cursor *c)
{
	e->type = nt_perfdata_u32(c);
	nt_perfdata_u32(c);			/* size */
	e->config = nt_perfdata_u64(c);
	nt_perfdata_u64(c);			/* sample_period */
	e->sample_type = nt_perfdata_u64(c);
	e->read_format = nt_perfdata_u64(c);
	e->flags = nt_perfdata_u64(c);
	nt_perfdata_u64(c);			/* wakeup_events, bp_type */
	e->config1 = nt_perfdata_u64(c);
	/* fields that an older perf did not know are 0 */
	e->config2 = nt_perfdata_u64(c);
	e->branch_sample_type = nt_perfdata_u64(c);
	e->regs_user = nt_perfdata_u64(c);
	nt_perfdata_u64(c);			/* sample_stack_user, clockid */
	e->regs_intr = nt_perfdata_u64(c);
}

/*
 * Add an attr, using its own size.  -NT_PERFDATA_EDAMAGED: the size is impossible, or there are too
 * many events.
 */
int nt_perfdata_event_add(struct nt_perfdata *pd, struct nt_perfdata_cursor *c)
{
	struct nt_perfdata_cursor in = *c;
	struct nt_perfdata_event *more;
	uint32_t size;

	nt_perfdata_u32(&in);
	size = nt_perfdata_u32(&in);
	if (!size)
		size = ATTR_VER0;
	if (in.bad || size < ATTR_VER0 || pd->nr_attrs == EVENTS_MAX)
		return -NT_PERFDATA_EDAMAGED;
	in.p = nt_perfdata_bytes(c, size);
	in.end = c->p;
	if (c->bad)
		return -NT_PERFDATA_EDAMAGED;
	more = realloc(pd->attr, (pd->nr_attrs + 1) * sizeof(*more));
	if (!more)
		return -NT_PERFDATA_ENOMEM;
	pd->attr = more;
	more += pd->nr_attrs++;
	memset(more, 0, sizeof(*more));
	unpack(more, &in);
	return 0;
}

void nt_perfdata_event_free(struct nt_perfdata *pd)
{
	free(pd->attr);
	free(pd->id);
}

/* --------------------------------------------------------------- public -- */

/* Copy to a caller's structure of another size; members that only the caller knows are 0. */
static void hand_out(void *to, size_t size, const void *from, size_t own)
{
	memcpy(to, from, size < own ? size : own);
	if (size > own)
		memset((uint8_t *)to + own, 0, size - own);
}

unsigned int nt_perfdata_events(const struct nt_perfdata *pd)
{
	return pd->nr_attrs;
}

int nt_perfdata_event_sized(const struct nt_perfdata *pd, unsigned int index,
			    struct nt_perfdata_event *event, size_t size)
{
	if (index >= pd->nr_attrs)
		return -NT_PERFDATA_EINVAL;
	hand_out(event, size, &pd->attr[index], sizeof(*event));
	return 0;
}

bool nt_perfdata_find_id_sized(const struct nt_perfdata *pd, uint64_t id,
			       struct nt_perfdata_id *found, size_t size)
{
	const struct nt_perfdata_id *own = nt_perfdata_event_find(pd, id);

	/* ID_INDEX also has IDs without an event. */
	if (!own || own->event < 0)
		return false;
	hand_out(found, size, own, sizeof(*own));
	return true;
}

bool nt_perfdata_next_id_sized(const struct nt_perfdata *pd, size_t *at, struct nt_perfdata_id *id,
			       size_t size)
{
	while (*at < pd->id_room) {
		const struct nt_perfdata_id *own = &pd->id[(*at)++];

		if (!own->id)
			continue;
		hand_out(id, size, own, sizeof(*own));
		return true;
	}
	return false;
}
