// SPDX-License-Identifier: GPL-2.0-only
/*
 * A tree of calls, and what ran in each
 */
#include <stdlib.h>
#include <string.h>

#include "stacks.h"

static uint64_t mix(uint64_t h, uint64_t value)
{
	h = (h ^ value) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

static size_t hash_node(const struct stacks_node *parent, const struct calls_function *function,
			uint64_t site, bool called)
{
	return mix(mix(mix((uintptr_t)parent, (uintptr_t)function), site), called);
}

static size_t hash_leaf(const struct stacks_node *node, uint64_t place, uint32_t insns,
			uint32_t label)
{
	return mix(mix(mix((uintptr_t)node, place), insns), label);
}

static void *new_buckets(size_t room)
{
	void *buckets = calloc(room, sizeof(void *));

	if (!buckets)
		die("%s", nt_strerror(NT_ENOMEM));
	return buckets;
}

static void grow_nodes(struct stacks *s)
{
	size_t i, at;

	if (s->nr_nodes < s->node_room)
		return;
	s->node_room = s->node_room ? 2 * s->node_room : 1024;
	free(s->node_bucket);
	s->node_bucket = new_buckets(s->node_room);
	for (i = 0; i < s->nr_nodes; i++) {
		struct stacks_node *n = s->node[i];

		at = hash_node(n->parent, n->function, n->site, n->called) & (s->node_room - 1);
		n->next = s->node_bucket[at];
		s->node_bucket[at] = n;
	}
}

static void grow_leaves(struct stacks *s)
{
	size_t i, at;

	if (s->nr_leaves < s->leaf_room)
		return;
	s->leaf_room = s->leaf_room ? 2 * s->leaf_room : 4096;
	free(s->leaf_bucket);
	s->leaf_bucket = new_buckets(s->leaf_room);
	for (i = 0; i < s->nr_leaves; i++) {
		struct stacks_leaf *l = s->leaf[i];

		at = hash_leaf(l->node, l->place, l->insns, l->label) & (s->leaf_room - 1);
		l->next = s->leaf_bucket[at];
		s->leaf_bucket[at] = l;
	}
}

struct stacks_node *stacks_enter(struct stacks *s, struct stacks_node *parent,
				 const struct calls_function *function, uint64_t site, bool called)
{
	struct stacks_node *n;
	size_t at;

	grow_nodes(s);
	at = hash_node(parent, function, site, called) & (s->node_room - 1);
	for (n = s->node_bucket[at]; n; n = n->next)
		if (n->parent == parent && n->function == function && n->site == site &&
		    n->called == called)
			return n;
	n = calloc(1, sizeof(*n));
	if (!n)
		die("%s", nt_strerror(NT_ENOMEM));
	*n = (struct stacks_node){
		.parent = parent, .next = s->node_bucket[at], .function = function, .site = site,
		.called = called, .number = (uint32_t)s->nr_nodes,
		.depth = parent ? parent->depth + 1 : 1,
	};
	n->middle = n->depth == STACKS_DEPTH / 2 + 1 ? n : parent ? parent->middle : NULL;
	s->node_bucket[at] = n;
	s->node = array_room(s->node, s->nr_nodes, sizeof(*s->node));
	s->node[s->nr_nodes++] = n;
	return n;
}

static bool same_label(const struct stacks_label *a, const struct stacks_label *b)
{
	return a->pid == b->pid && a->tid == b->tid && a->cpu == b->cpu &&
	       !strcmp(a->comm, b->comm);
}

static uint32_t *place_label(const struct stacks *s, const struct stacks_label *label)
{
	size_t h = mix(mix(mix(0, label->pid), label->tid), label->cpu), i;
	const char *p;

	for (p = label->comm; *p; p++)
		h = mix(h, *p);
	for (i = h & (s->label_room - 1); s->label_number[i]; i = (i + 1) & (s->label_room - 1))
		if (same_label(&s->label[s->label_number[i] - 1], label))
			break;
	return &s->label_number[i];
}

/* The table is at most half full. */
static void grow_labels(struct stacks *s)
{
	size_t i;

	if (2 * s->nr_labels < s->label_room)
		return;
	s->label_room = s->label_room ? 2 * s->label_room : 64;
	free(s->label_number);
	s->label_number = calloc(s->label_room, sizeof(*s->label_number));
	if (!s->label_number)
		die("%s", nt_strerror(NT_ENOMEM));
	for (i = 0; i < s->nr_labels; i++)
		*place_label(s, &s->label[i]) = (uint32_t)i + 1;
}

static uint32_t find_label(struct stacks *s, const struct stacks_label *label)
{
	size_t i = s->last_label;
	uint32_t *number;

	if (i < s->nr_labels && same_label(&s->label[i], label))
		return (uint32_t)i;
	grow_labels(s);
	number = place_label(s, label);
	if (!*number) {
		s->label = array_room(s->label, s->nr_labels, sizeof(*s->label));
		s->label[s->nr_labels++] = *label;
		*number = (uint32_t)s->nr_labels;
	}
	s->last_label = *number - 1;
	return *number - 1;
}

struct stacks_leaf *stacks_run(struct stacks *s, const struct stacks_node *node, uint64_t place,
			       uint32_t insns, const struct stacks_label *label)
{
	uint32_t number = find_label(s, label);
	struct stacks_leaf *l;
	size_t at;

	grow_leaves(s);
	at = hash_leaf(node, place, insns, number) & (s->leaf_room - 1);
	for (l = s->leaf_bucket[at]; l; l = l->next)
		if (l->node == node && l->place == place && l->insns == insns && l->label == number)
			break;
	if (!l) {
		l = calloc(1, sizeof(*l));
		if (!l)
			die("%s", nt_strerror(NT_ENOMEM));
		*l = (struct stacks_leaf){
			s->leaf_bucket[at], node, place, insns, number, 0, 0, 0
		};
		s->leaf_bucket[at] = l;
		s->leaf = array_room(s->leaf, s->nr_leaves, sizeof(*s->leaf));
		s->leaf[s->nr_leaves++] = l;
	}
	l->runs++;
	return l;
}

void stacks_free(struct stacks *s)
{
	while (s->nr_nodes)
		free(s->node[--s->nr_nodes]);
	while (s->nr_leaves)
		free(s->leaf[--s->nr_leaves]);
	free(s->node);
	free(s->leaf);
	free(s->label);
	free(s->label_number);
	free(s->node_bucket);
	free(s->leaf_bucket);
}
