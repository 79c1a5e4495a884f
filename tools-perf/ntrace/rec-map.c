// SPDX-License-Identifier: GPL-2.0-only
/*
 * Number -> pointer: a hash table, at most half full
 */
#include <stdlib.h>

#include "rec.h"

static struct rec_entry *place(struct rec_entry *entry, size_t room, int64_t key)
{
	size_t i = ((uint64_t)key * 0x9e3779b97f4a7c15ull >> 32) & (room - 1);

	while (entry[i].value && entry[i].key != key)
		i = (i + 1) & (room - 1);
	return &entry[i];
}

void *rec_map_find(const struct rec_map *map, int64_t key)
{
	return map->room ? place(map->entry, map->room, key)->value : NULL;
}

static void grow(struct rec_map *map)
{
	size_t room = map->room ? 2 * map->room : 64, i;
	struct rec_entry *entry = calloc(room, sizeof(*entry));

	if (!entry)
		die("%s", nt_strerror(NT_ENOMEM));
	for (i = 0; i < map->room; i++)
		if (map->entry[i].value)
			*place(entry, room, map->entry[i].key) = map->entry[i];
	free(map->entry);
	map->entry = entry;
	map->room = room;
}

void rec_map_set(struct rec_map *map, int64_t key, void *value)
{
	struct rec_entry *e;

	if (2 * map->used >= map->room)
		grow(map);
	e = place(map->entry, map->room, key);
	map->used += !e->value;
	*e = (struct rec_entry){ key, value };
}

/* Move up the entries that follow, so that a search does not end at the freed entry. */
static void close_up(struct rec_map *map, size_t at)
{
	struct rec_entry *e = map->entry;
	size_t i;

	for (i = (at + 1) & (map->room - 1); e[i].value; i = (i + 1) & (map->room - 1)) {
		const struct rec_entry moved = e[i];

		e[i].value = NULL;
		*place(e, map->room, moved.key) = moved;
	}
}

void *rec_map_remove(struct rec_map *map, int64_t key)
{
	struct rec_entry *e = map->room ? place(map->entry, map->room, key) : NULL;
	void *value = e ? e->value : NULL;

	if (!value)
		return NULL;
	e->value = NULL;
	map->used--;
	close_up(map, e - map->entry);
	return value;
}

void *rec_map_next(const struct rec_map *map, size_t *at)
{
	while (*at < map->room) {
		void *value = map->entry[(*at)++].value;

		if (value)
			return value;
	}
	return NULL;
}

void rec_map_free(struct rec_map *map)
{
	free(map->entry);
	*map = (struct rec_map){ .entry = NULL };
}
