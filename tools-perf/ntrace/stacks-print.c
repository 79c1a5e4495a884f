// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stacks as text: folded for flame graphs, and in the format of callgrind
 */
#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "stacks.h"

/* --------------------------------------------------------------- folded --- */

struct folded {
	char *text;
	uint64_t value;
};

/* A buffer for one line at a time */
struct text {
	char *p;
	size_t len, room;
};

static void put_name(struct text *t, const char *name)
{
	size_t len = strlen(name);

	if (t->room - t->len < len + 2) {
		t->room = 2 * t->room + len + 2;
		t->p = realloc(t->p, t->room);
		if (!t->p)
			die("%s", nt_strerror(NT_ENOMEM));
	}
	for (; *name; name++)
		t->p[t->len++] = *name == ';' ? ':' : utf8_is_control(*name) ? '?' : *name;
	t->p[t->len] = '\0';
}

static void put_stack(struct text *t, const struct stacks_node *n)
{
	const struct stacks_node *below[STACKS_DEPTH], *leaf = n;
	size_t nr = 0;

	for (; n; n = stacks_called(leaf, n)->parent)
		below[nr++] = n;
	while (nr--) {
		t->p[t->len++] = ';';
		put_name(t, below[nr]->function->name);
	}
}

static void make_text(struct text *t, const struct stacks *s, const struct stacks_leaf *l)
{
	t->len = 0;
	if (s->flat) {
		put_name(t, l->node->function->name);
		return;
	}
	put_name(t, *s->label[l->label].comm ? s->label[l->label].comm : "[unknown]");
	put_stack(t, l->node);
}

static int compare_folded(const void *a, const void *b)
{
	return strcmp(((const struct folded *)a)->text, ((const struct folded *)b)->text);
}

static int compare_stacks(const void *a, const void *b)
{
	const struct stacks_leaf *x = *(struct stacks_leaf *const *)a;
	const struct stacks_leaf *y = *(struct stacks_leaf *const *)b;

	if (x->node != y->node)
		return x->node->number < y->node->number ? -1 : 1;
	return x->label < y->label ? -1 : x->label > y->label;
}

static uint64_t value_of(const struct stacks_leaf *l, enum stacks_value value)
{
	return value == STACKS_TIME ? l->time : value == STACKS_BRANCHES ? l->branches :
					       l->runs * l->insns;
}

/*
 * Stacks with the same text are added up: deep recursions that differ only in the omitted middle.
 */
static struct folded *add_text(void **tree, const struct text *t)
{
	const struct folded wanted = { .text = t->p };
	struct folded **found = tfind(&wanted, tree, compare_folded), *own;

	if (found)
		return *found;
	own = calloc(1, sizeof(*own));
	if (own)
		own->text = strdup(t->p);
	if (!own || !own->text || !tsearch(own, tree, compare_folded))
		die("%s", nt_strerror(NT_ENOMEM));
	return own;
}

static void put_folded(const void *at, VISIT visit, int depth)
{
	const struct folded *f = *(struct folded *const *)at;

	(void)depth;
	if (visit == postorder || visit == leaf)
		printf("%s %" PRIu64 "\n", f->text, f->value);
}

static void free_folded(void *p)
{
	struct folded *f = p;

	free(f->text);
	free(f);
}

void stacks_print_folded(const struct stacks *s, enum stacks_value value)
{
	const struct stacks_leaf *last = NULL;
	struct text text = { .p = NULL };
	struct folded *to = NULL;
	void *tree = NULL;
	size_t i;

	if (s->nr_leaves)
		qsort(s->leaf, s->nr_leaves, sizeof(*s->leaf), compare_stacks);
	for (i = 0; i < s->nr_leaves; i++) {
		const struct stacks_leaf *l = s->leaf[i];

		if (!value_of(l, value))
			continue;
		if (!last || compare_stacks(&last, &l)) {
			make_text(&text, s, l);
			to = add_text(&tree, &text);
		}
		to->value += value_of(l, value);
		last = l;
	}
	twalk(tree, put_folded);
	tdestroy(tree, free_folded);
	free(text.p);
}

/* ------------------------------------------------------------ callgrind --- */

/* The cost of an instruction of a function, or of the calls from there */
struct cost {
	const struct calls_function *function, *callee;
	uint64_t addr;
	uint64_t calls, insns, time;
};

struct costs {
	struct cost *list;
	size_t n;
	bool time;
	const struct stacks_file *file;	/* of the function */
	const char *source;		/* the source that lines refer to */
};

static void add_cost(struct costs *c, struct cost cost)
{
	c->list = array_room(c->list, c->n, sizeof(*c->list));
	c->list[c->n++] = cost;
}

static void take_own(void *ctx, const struct stacks_leaf *leaf, const struct stacks_file *f,
		     uint64_t addr, const uint64_t value[3])
{
	(void)f;
	add_cost(ctx, (struct cost){ leaf->node->function, NULL, addr, 0, value[STACKS_INSNS],
				     value[STACKS_TIME] });
}

/* Sort by names, so that the same trace always results in the same text. */
static int compare_functions(const struct calls_function *a, const struct calls_function *b)
{
	int order = strcmp(a->file, b->file);

	if (!order && a->start != b->start)
		order = a->start < b->start ? -1 : 1;
	if (!order)
		order = strcmp(a->name, b->name);
	/* of two builds, the one that ran first */
	return order || a->build == b->build ? order : a->number < b->number ? -1 : 1;
}

static int compare_costs(const void *a, const void *b)
{
	const struct cost *x = a, *y = b;
	int order = compare_functions(x->function, y->function);

	if (order)
		return order;
	if (!x->callee != !y->callee)
		return x->callee ? 1 : -1;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->callee ? compare_functions(x->callee, y->callee) : 0;
}

static void merge_costs(struct costs *c)
{
	size_t i, n = 0;

	if (c->n)
		qsort(c->list, c->n, sizeof(*c->list), compare_costs);
	for (i = 0; i < c->n; i++) {
		if (!n || compare_costs(&c->list[n - 1], &c->list[i])) {
			c->list[n++] = c->list[i];
			continue;
		}
		c->list[n - 1].calls += c->list[i].calls;
		c->list[n - 1].insns += c->list[i].insns;
		c->list[n - 1].time += c->list[i].time;
	}
	c->n = n;
}

static void put_source(const char *key, const char *source)
{
	printf("%s=%s\n", key, source ? source : "???");
}

/* Functions of a recording contain the name of their file. */
static const char *object_of(struct stacks_files *files, const struct calls_function *fn)
{
	const struct calls *c = &files->feed->calls;
	const struct stacks_file *f = stacks_file_get(files, fn);

	if (*fn->file)
		return fn->file;
	return fn != c->untraced && fn != c->syscall && stacks_file_has(f, fn->start) ?
	       f->path : NULL;
}

/* Lines of inlined functions are in other sources. */
static void put_cost(struct costs *c, const struct cost *cost)
{
	const char *source = c->source;
	unsigned int line = stacks_file_line(c->file, cost->addr, &source);

	if (line && source != c->source && (!c->source || strcmp(source, c->source)))
		put_source("fi", source);
	c->source = line ? source : c->source;
	if (cost->callee)
		return;
	printf("%#" PRIx64 " %u %" PRIu64, cost->addr, line, cost->insns);
	if (c->time)
		printf(" %" PRIu64, cost->time);
	printf("\n");
}

static void put_call(struct costs *c, struct stacks_files *files, const struct cost *cost)
{
	struct stacks_file *to = stacks_file_get(files, cost->callee);
	uint64_t addr = stacks_file_address(to, cost->callee->start);
	const char *source = NULL, *here;
	unsigned int line = stacks_file_line(to, addr, &source);

	put_cost(c, cost);
	/* without a source, callgrind would assume that of the caller */
	put_source("cob", object_of(files, cost->callee));
	put_source("cfi", line ? source : NULL);
	printf("cfn=%s\ncalls=%" PRIu64 " %#" PRIx64 " %u\n", cost->callee->name, cost->calls, addr,
	       line);
	printf("%#" PRIx64 " %u %" PRIu64, cost->addr, stacks_file_line(c->file, cost->addr, &here),
	       cost->insns);
	if (c->time)
		printf(" %" PRIu64, cost->time);
	printf("\n");
}

static void put_function(struct costs *c, struct stacks_files *files,
			 const struct calls_function *fn)
{
	const char *source = NULL;

	c->file = stacks_file_get(files, fn);
	if (!stacks_file_line(c->file, stacks_file_address(c->file, fn->start), &source))
		source = NULL;
	c->source = source;
	printf("\n");
	put_source("ob", object_of(files, fn));
	put_source("fl", source);
	printf("fn=%s\n", fn->name);
}

static const char *time_event(const char *unit)
{
	return !unit ? "" : strcmp(unit, "ns") ? " Ticks" : " Ns";
}

void stacks_print_callgrind(const struct stacks *s, struct stacks_files *files,
			    const char *time_unit)
{
	struct costs c = { .time = time_unit };
	const struct stacks_file *from;
	uint64_t insns = 0, time = 0;
	size_t i;

	stacks_each(s, files, take_own, &c);
	for (i = 0; i < c.n; i++) {
		insns += c.list[i].insns;
		time += c.list[i].time;
	}
	for (i = 0; i < s->nr_nodes; i++) {
		const struct stacks_node *n = s->node[i];

		/* the end of the trace is not a call */
		if (!n->parent || (!s->flat && !n->insns && !n->time))
			continue;
		from = stacks_file_get(files, n->parent->function);
		add_cost(&c, (struct cost){ n->parent->function, n->function,
					    stacks_file_address(from, n->site), n->calls, n->insns,
					    n->time });
	}
	merge_costs(&c);
	printf("# callgrind format\nversion: 1\ncreator: ntrace " NTRACE_VERSION "\n"
	       "positions: instr line\nevents: Ir%s\nsummary: %" PRIu64, time_event(time_unit),
	       insns);
	if (c.time)
		printf(" %" PRIu64, time);
	printf("\n");
	for (i = 0; i < c.n; i++) {
		if (!i || c.list[i - 1].function != c.list[i].function)
			put_function(&c, files, c.list[i].function);
		if (c.list[i].callee)
			put_call(&c, files, &c.list[i]);
		else
			put_cost(&c, &c.list[i]);
	}
	free(c.list);
}
