// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tree of sums. The set of recordings determines the tree, and the name of a sum is a digest of
 * its inputs. So all processes plan the same sums, and find those that exist.
 *
 * Inputs are sorted by arrival. The boundaries of groups depend on names, not on positions. So new
 * files change one or two groups at the end, late ones change one or two in the middle, and all
 * other sums stay. The total does not depend on the grouping.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fleet.h"

#define ID	((size_t)2 * EDGES_SHA256)

/* One in FLEET_BEGINS names begins a group, unless a group would have fewer than FLEET_LEAST */
#define FLEET_BEGINS	16
#define FLEET_LEAST	2

/* ----------------------------------------------------------------- leaves --- */

/* Sort by name, and by arrival if names are equal. */
static int compare_leaves(const void *a, const void *b)
{
	const struct fleet_leaf *const *x = a, *const *y = b;
	int order = strcmp((*x)->name, (*y)->name);

	return order ? order : (*x)->order < (*y)->order ? -1 : (*x)->order > (*y)->order;
}

/* Sort by time, and by name if times are equal. */
static int compare_times(const void *a, const void *b)
{
	const struct fleet_leaf *const *x = a, *const *y = b;

	if ((*x)->time != (*y)->time)
		return (*x)->time < (*y)->time ? -1 : 1;
	return strcmp((*x)->name, (*y)->name);
}

static struct fleet_leaf **gather(const struct fleet *f, size_t *nr)
{
	struct fleet_leaf **all = NULL;
	size_t i, k;

	*nr = 0;
	for (i = 0; i < f->nr_items; i++)
		for (k = 0; k < f->item[i].nr_leaves; k++) {
			all = array_room(all, *nr, sizeof(*all));
			all[*nr] = &f->item[i].leaf[k];
			all[*nr]->order = *nr;
			all[*nr]->time = f->item[i].time;
			(*nr)++;
		}
	if (*nr)
		qsort(all, *nr, sizeof(*all), compare_leaves);
	return all;
}

/* Of several counts of a recording, choose the largest. It sorts last, and may exist twice. */
static void choose_leaves(struct fleet *f)
{
	size_t nr, i, k, last;
	struct fleet_leaf **all = gather(f, &nr);

	free(f->leaf);
	f->leaf = calloc(nr + 1, sizeof(*f->leaf));
	if (!f->leaf)
		die("%s", nt_strerror(NT_ENOMEM));
	for (f->nr_leaves = i = 0; i < nr; i = last) {
		for (last = i + 1; last < nr && !strncmp(all[i]->name, all[last]->name, ID); last++)
			;
		for (k = i; k < last; k++)
			all[k]->twice = true;
		for (k = last - 1; k > i && !strcmp(all[k - 1]->name, all[last - 1]->name);)
			k--;
		all[k]->twice = false;
		f->leaf[f->nr_leaves++] = all[k];
	}
	free(all);
	if (f->nr_leaves)
		qsort(f->leaf, f->nr_leaves, sizeof(*f->leaf), compare_times);
}

/* ------------------------------------------------------------------- tree --- */

static char *node_path(const struct fleet *f, char *const *from, size_t nr)
{
	uint8_t digest[EDGES_SHA256];
	struct edges_sha256 s;
	char hex[EDGES_SHA256_HEX];
	size_t i;

	edges_sha256_begin(&s);
	for (i = 0; i < nr; i++)
		edges_sha256_add(&s, last_part(from[i]), strlen(last_part(from[i])) + 1);
	edges_sha256_end(&s, digest);
	edges_sha256_hex(digest, hex);
	return fleet_path(f, "work/tree/%s", hex);
}

static char *add_node(const struct fleet *f, struct fleet_plan *plan, char *const *from, size_t nr)
{
	struct fleet_node *node;

	plan->node = array_room(plan->node, plan->nr, sizeof(*plan->node));
	node = &plan->node[plan->nr++];
	*node = (struct fleet_node){ .nr_from = nr, .level = plan->levels };
	node->from = calloc(nr, sizeof(*node->from));
	if (!node->from)
		die("%s", nt_strerror(NT_ENOMEM));
	memcpy(node->from, from, nr * sizeof(*from));
	node->path = node_path(f, from, nr);
	return strdup(node->path);
}

/*
 * The CRC of a name is as good as random, and independent of other names. So groups begin at the
 * same names when files are added.
 */
static bool begins_group(const char *path)
{
	const char *name = last_part(path);

	return edges_crc(0, name, strlen(name)) % FLEET_BEGINS == 0;
}

static size_t group_length(char *const *from, size_t nr)
{
	size_t n = 1;

	while (n < nr && n < FLEET_WIDTH && (n < FLEET_LEAST || !begins_group(from[n])))
		n++;
	return n;
}

/*
 * Add a level. from: paths of its inputs, replaced by those of its nodes. Returns the number of
 * nodes.
 */
static size_t add_level(const struct fleet *f, struct fleet_plan *plan, char **from, size_t nr)
{
	size_t i, n, to = 0;

	plan->levels++;
	for (i = 0; i < nr; i += n) {
		n = group_length(from + i, nr - i);
		from[to] = add_node(f, plan, from + i, n);
		if (!from[to++])
			die("%s", nt_strerror(NT_ENOMEM));
	}
	return to;
}

size_t fleet_plan_steps(size_t n)
{
	return (n + FLEET_BEGINS / 2 - 1) / (FLEET_BEGINS / 2);
}

void fleet_plan_make(struct fleet *f, struct fleet_plan *plan)
{
	size_t i, nr;
	char **from;

	*plan = (struct fleet_plan){ .nr = 0 };
	choose_leaves(f);
	if (!f->nr_leaves)
		return;
	from = calloc(f->nr_leaves, sizeof(*from));
	if (!from)
		die("%s", nt_strerror(NT_ENOMEM));
	for (i = 0; i < f->nr_leaves; i++)
		from[i] = fleet_path(f, "work/leaves/%.2s/%s", f->leaf[i]->name,
				     f->leaf[i]->name);
	nr = f->nr_leaves;
	do
		nr = add_level(f, plan, from, nr);
	while (nr > 1);
	free(from[0]);
	free(from);
}

void fleet_plan_free(struct fleet_plan *plan)
{
	struct fleet_node *node;

	while (plan->nr) {
		node = &plan->node[--plan->nr];
		while (node->nr_from)
			free(node->from[--node->nr_from]);
		free(node->from);
		free(node->path);
	}
	free(plan->node);
}

/* ------------------------------------------------------------------- sums --- */

/* Remove a damaged file, so that it is made again. */
static void add(struct edges_merge *m, const char *path)
{
	edges_merge_add(m, path);
	if (!m->skipped)
		return;
	if (unlink(path))
		die_machine("%s: cannot be removed: %s", path, strerror(errno));
	die_machine("%s: has been damaged after it was made, and is removed: run ntrace fleet again",
		    path);
}

/* Kept next to the sum, so that every run warns. */
static char *saturated_path(const char *path)
{
	char *beside;

	if (asprintf(&beside, "%s.saturated", path) < 0)
		die("%s", nt_strerror(NT_ENOMEM));
	return beside;
}

static void mark_saturated(const char *path)
{
	char *beside = saturated_path(path);

	fleet_spool_write(beside, "", 0);
	free(beside);
}

size_t fleet_plan_saturated(const struct fleet_plan *plan)
{
	size_t i, n = 0;
	char *beside;

	for (i = 0; i < plan->nr; i++) {
		beside = saturated_path(plan->node[i].path);
		n += !access(beside, F_OK);
		free(beside);
	}
	return n;
}

void fleet_plan_merge(const struct fleet_node *node)
{
	struct edges_merge m = { .skipped = 0 };
	struct edges_writer w;
	size_t i;

	for (i = 0; i < node->nr_from; i++)
		add(&m, node->from[i]);
	edges_merge_settle(&m);
	edges_write_open(&w, node->path);
	edges_merge_sum(&m, &w);
	/* before the sum appears, because an existing sum is not made again */
	if (m.saturated)
		mark_saturated(node->path);
	edges_write_close(&w);
	edges_merge_free(&m);
}

void fleet_plan_publish(const struct fleet *f, const struct fleet_plan *plan)
{
	char *to = fleet_path(f, "merged/sum.edges"), **keep = calloc(2 * plan->nr, sizeof(*keep));
	size_t i;

	if (!keep)
		die("%s", nt_strerror(NT_ENOMEM));
	outfile_copy(plan->node[plan->nr - 1].path, to);
	for (i = 0; i < plan->nr; i++) {
		keep[2 * i] = strdup(last_part(plan->node[i].path));
		keep[2 * i + 1] = saturated_path(last_part(plan->node[i].path));
		if (!keep[2 * i])
			die("%s", nt_strerror(NT_ENOMEM));
	}
	fleet_spool_keep(f, "work/tree", keep, 2 * plan->nr);
	for (i = 0; i < 2 * plan->nr; i++)
		free(keep[i]);
	free(keep);
	free(to);
}
