// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stacks in the format of pprof: a protocol buffer, compressed by gzip. Messages and their fields:
 *
 *	Profile		1 sample type, 2 sample, 3 mapping, 4 location, 5 function, 6 string,
 *			14 default sample type
 *	ValueType	1 type, 2 unit
 *	Sample		1 locations, the innermost first, 2 values, 3 label
 *	Label		1 key, 2 string, 3 number
 *	Mapping		1 id, 2 start, 3 limit, 4 offset, 5 file, 6 build-id, 7 has functions,
 *			8 has sources, 9 has lines
 *	Location	1 id, 2 mapping, 3 address, 4 line
 *	Line		1 function, 2 line
 *	Function	1 id, 2 name, 3 name for the linker, 4 source
 */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

#include "stacks.h"

struct message {
	uint8_t *p;
	size_t len, room;
};

/* A numbered location or string */
struct numbered {
	const char *text;
	const struct calls_function *function;
	uint64_t addr;
	uint64_t number;
};

/* A stack that is deeper than the limit. Stacks that differ only in the omitted middle are one. */
struct deep {
	struct message list;		/* locations */
	uint32_t label;
	uint64_t value[3];
};

struct pprof {
	const struct stacks *s;
	struct stacks_files *files;
	struct message out;
	void *strings, *locations;
	uint64_t nr_strings, nr_locations;
	bool *has_function;		/* indexed by number */
	uint64_t *caller;		/* locations, by number of the called node; or 0 */
	void *deep_tree;
	struct deep **deep;		/* in the order of their creation */
	size_t nr_deep;
	bool time;
	const char *host;
	char (*hex)[2 * NT_PERFDATA_BUILD_ID_MAX + 1];	/* build-ids of files */
};

/* ------------------------------------------------------------- messages --- */

static void put_byte(struct message *m, uint8_t byte)
{
	if (m->len == m->room) {
		m->room = m->room ? 2 * m->room : 256;
		m->p = realloc(m->p, m->room);
		if (!m->p)
			die("%s", nt_strerror(NT_ENOMEM));
	}
	m->p[m->len++] = byte;
}

static void put_varint(struct message *m, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		put_byte(m, (uint8_t)(value | 0x80));
	put_byte(m, (uint8_t)value);
}

static void put_field(struct message *m, unsigned int field, uint64_t value)
{
	if (!value)
		return;
	put_varint(m, field << 3);
	put_varint(m, value);
}

static void put_bytes(struct message *m, unsigned int field, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;

	put_varint(m, field << 3 | 2);
	put_varint(m, len);
	while (len--)
		put_byte(m, *p++);
}

/* Frees the content of `inner'. */
static void put_message(struct message *m, unsigned int field, struct message *inner)
{
	put_bytes(m, field, inner->p, inner->len);
	free(inner->p);
	*inner = (struct message){ .p = NULL };
}

/* --------------------------------------------------------------- tables --- */

static int compare_numbered(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;

	if (x->text || y->text)
		return strcmp(x->text, y->text);
	if (x->function != y->function)
		return x->function->number < y->function->number ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Get the number of a location or string. *new: it was added */
static uint64_t number_of(void **tree, uint64_t *nr, const struct numbered *wanted, bool *new)
{
	struct numbered **found = tfind(wanted, tree, compare_numbered), *own;

	*new = !found;
	if (found)
		return (*found)->number;
	own = malloc(sizeof(*own));
	if (!own)
		die("%s", nt_strerror(NT_ENOMEM));
	*own = *wanted;
	own->number = (*nr)++;
	if (!tsearch(own, tree, compare_numbered))
		die("%s", nt_strerror(NT_ENOMEM));
	return own->number;
}

static uint64_t string(struct pprof *p, const char *text)
{
	const struct numbered wanted = { .text = text };
	bool new;
	uint64_t number = number_of(&p->strings, &p->nr_strings, &wanted, &new);
	char *made;

	if (!new)
		return number;
	text = utf8_text(text, &made);
	put_bytes(&p->out, 6, text, strlen(text));
	free(made);
	return number;
}

/* Give each file an address range of its own, because the addresses of files overlap. */
static uint64_t whole_address(const struct stacks_file *f, uint64_t addr)
{
	return f->nr_segments ? ((uint64_t)(f->number - 1) << 40) + addr : addr;
}

static void add_function(struct pprof *p, const struct calls_function *fn,
			 const struct stacks_file *f)
{
	struct message m = { .p = NULL };
	const char *source = "";

	if (p->has_function[fn->number])
		return;
	p->has_function[fn->number] = true;
	stacks_file_line(f, stacks_file_address(f, fn->start), &source);
	put_field(&m, 1, fn->number + 1);
	put_field(&m, 2, string(p, fn->name));
	put_field(&m, 3, string(p, fn->name));
	put_field(&m, 4, string(p, source));
	put_message(&p->out, 5, &m);
}

static uint64_t location(struct pprof *p, const struct calls_function *fn,
			 const struct stacks_file *f, uint64_t addr)
{
	const struct numbered wanted = { .function = fn, .addr = addr };
	struct message m = { .p = NULL }, line = { .p = NULL };
	const char *source;
	bool new;
	uint64_t id = number_of(&p->locations, &p->nr_locations, &wanted, &new);

	if (!new)
		return id;
	add_function(p, fn, f);
	put_field(&line, 1, fn->number + 1);
	put_field(&line, 2, stacks_file_line(f, addr, &source));
	put_field(&m, 1, id);
	put_field(&m, 2, f->number);
	put_field(&m, 3, whole_address(f, addr));
	put_message(&m, 4, &line);
	put_message(&p->out, 4, &m);
	return id;
}

/* -------------------------------------------------------------- samples --- */

static void put_text_label(struct pprof *p, struct message *sample, const char *key,
			   const char *text)
{
	struct message m = { .p = NULL };

	put_field(&m, 1, string(p, key));
	put_field(&m, 2, string(p, text));
	put_message(sample, 3, &m);
}

static void put_number_label(struct pprof *p, struct message *sample, const char *key, int number)
{
	struct message m = { .p = NULL };

	if (number < 0)
		return;
	put_field(&m, 1, string(p, key));
	put_field(&m, 3, (uint64_t)number);
	put_message(sample, 3, &m);
}

/* The location of a call, cached because each leaf further in needs it */
static uint64_t caller_of(struct pprof *p, const struct stacks_node *n)
{
	const struct calls_function *fn = n->parent->function;
	uint64_t *id = &p->caller[n->number];
	const struct stacks_file *f;

	if (!*id) {
		f = stacks_file_get(p->files, fn);
		*id = location(p, fn, f, stacks_file_address(f, n->site));
	}
	return *id;
}

/* Frees `locations'. */
static void put_sample(struct pprof *p, struct message *locations, uint32_t number,
		       const uint64_t value[3])
{
	const struct stacks_label *label = &p->s->label[number];
	struct message sample = { .p = NULL }, list = { .p = NULL };

	put_message(&sample, 1, locations);
	put_varint(&list, value[STACKS_INSNS]);
	put_varint(&list, value[STACKS_BRANCHES]);
	if (p->time)
		put_varint(&list, value[STACKS_TIME]);
	put_message(&sample, 2, &list);
	if (!p->s->flat)
		put_text_label(p, &sample, "task", *label->comm ? label->comm : "[unknown]");
	put_number_label(p, &sample, "pid", label->pid);
	put_number_label(p, &sample, "tid", label->tid);
	put_number_label(p, &sample, "cpu", label->cpu);
	if (*p->host)
		put_text_label(p, &sample, "host", p->host);
	put_message(&p->out, 2, &sample);
}

static int compare_deep(const void *a, const void *b)
{
	const struct deep *x = a, *y = b;

	if (x->label != y->label)
		return x->label < y->label ? -1 : 1;
	if (x->list.len != y->list.len)
		return x->list.len < y->list.len ? -1 : 1;
	return memcmp(x->list.p, y->list.p, x->list.len);
}

/* Frees `locations'. */
static void add_deep(struct pprof *p, struct message *locations, uint32_t label,
		     const uint64_t value[3])
{
	struct deep *own = calloc(1, sizeof(*own)), **found;
	size_t i;

	if (!own)
		die("%s", nt_strerror(NT_ENOMEM));
	own->list = *locations;
	own->label = label;
	found = tsearch(own, &p->deep_tree, compare_deep);
	if (!found)
		die("%s", nt_strerror(NT_ENOMEM));
	for (i = 0; i < 3; i++)
		(*found)->value[i] += value[i];
	if (*found != own) {
		free(own->list.p);
		free(own);
		return;
	}
	p->deep = array_room(p->deep, p->nr_deep, sizeof(*p->deep));
	p->deep[p->nr_deep++] = own;
}

static void put_deep(struct pprof *p)
{
	size_t i;

	for (i = 0; i < p->nr_deep; i++)
		put_sample(p, &p->deep[i]->list, p->deep[i]->label, p->deep[i]->value);
	tdestroy(p->deep_tree, free);
	free(p->deep);
}

static void take(void *ctx, const struct stacks_leaf *leaf, const struct stacks_file *f,
		 uint64_t addr, const uint64_t value[3])
{
	const struct stacks_node *node = leaf->node, *n;
	struct message list = { .p = NULL };
	struct pprof *p = ctx;

	if (!value[STACKS_INSNS] && !value[STACKS_BRANCHES] && !(p->time && value[STACKS_TIME]))
		return;
	put_varint(&list, location(p, node->function, f, addr));
	for (n = stacks_called(node, node); n->parent; n = stacks_called(node, n->parent))
		put_varint(&list, caller_of(p, n));
	if (node->depth > STACKS_DEPTH)
		add_deep(p, &list, leaf->label, value);
	else
		put_sample(p, &list, leaf->label, value);
}

/* ------------------------------------------------------------- profiles --- */

static void put_type(struct pprof *p, const char *type, const char *unit)
{
	struct message m = { .p = NULL };

	put_field(&m, 1, string(p, type));
	put_field(&m, 2, string(p, unit));
	put_message(&p->out, 1, &m);
}

static void put_mapping(struct pprof *p, const struct stacks_file *f)
{
	const struct rec_segment *first = f->segment, *last = f->segment + f->nr_segments;
	struct message m = { .p = NULL };
	unsigned int i;

	for (i = 0; i < f->id.size; i++)
		sprintf(p->hex[f->number - 1] + 2 * i, "%02x", f->id.data[i]);
	put_field(&m, 1, f->number);
	if (f->nr_segments) {
		put_field(&m, 2, whole_address(f, first->addr));
		put_field(&m, 3, whole_address(f, last[-1].addr + last[-1].size));
		put_field(&m, 4, first->offset);
	} else {
		put_field(&m, 3, UINT64_MAX);
	}
	put_field(&m, 5, string(p, *f->name ? f->name : f->path ? f->path : "[unknown]"));
	put_field(&m, 6, string(p, f->id.size ? p->hex[f->number - 1] : ""));
	put_field(&m, 7, 1);
	put_field(&m, 8, f->lines.nr_rows != 0);
	put_field(&m, 9, f->lines.nr_rows != 0);
	put_message(&p->out, 3, &m);
}

/* pprof takes the first mapping for the program. */
static void put_mappings(struct pprof *p, bool files)
{
	const struct stacks_file *f;
	uint32_t number;

	for (number = 1; number <= p->files->nr; number++)
		for (f = p->files->list; f; f = f->next)
			if (f->number == number && files == !!f->path)
				put_mapping(p, f);
}

#ifdef HAVE_ZLIB
static void write_out(const struct message *m)
{
	z_stream z = { .next_in = m->p, .avail_in = 0 };
	static uint8_t buf[1 << 16];
	size_t left = m->len;
	int ret;

	/* + 16: gzip format, without a time */
	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		die("%s", nt_strerror(NT_ENOMEM));
	do {
		if (!z.avail_in && left) {
			z.avail_in = left < 1u << 30 ? (unsigned int)left : 1u << 30;
			left -= z.avail_in;
		}
		z.next_out = buf;
		z.avail_out = sizeof(buf);
		ret = deflate(&z, left ? Z_NO_FLUSH : Z_FINISH);
		fwrite(buf, 1, sizeof(buf) - z.avail_out, stdout);
	} while (ret != Z_STREAM_END);
	deflateEnd(&z);
}
#else
/* pprof also reads uncompressed files. */
static void write_out(const struct message *m)
{
	fwrite(m->p, 1, m->len, stdout);
}
#endif

void stacks_print_pprof(const struct stacks *s, struct stacks_files *files, const char *time_unit,
			const char *host)
{
	struct pprof p = {
		.s = s, .files = files, .time = time_unit, .host = host, .nr_locations = 1
	};
	uint32_t functions = 0;
	size_t i;

	for (i = 0; i < s->nr_nodes; i++)
		if (s->node[i]->function->number >= functions)
			functions = s->node[i]->function->number + 1;
	p.has_function = calloc(functions + 1, sizeof(*p.has_function));
	p.caller = calloc(s->nr_nodes + 1, sizeof(*p.caller));
	if (!p.has_function || !p.caller)
		die("%s", nt_strerror(NT_ENOMEM));
	string(&p, "");
	put_type(&p, "instructions", "count");
	put_type(&p, "branches", "count");
	/* pprof shows values with an unknown unit as plain numbers */
	if (time_unit)
		put_type(&p, "time", strcmp(time_unit, "ns") ? time_unit : "nanoseconds");
	stacks_each(s, files, take, &p);
	put_deep(&p);
	p.hex = calloc(files->nr + 1, sizeof(*p.hex));
	if (!p.hex)
		die("%s", nt_strerror(NT_ENOMEM));
	put_mappings(&p, true);
	put_mappings(&p, false);
	put_field(&p.out, 14, string(&p, "instructions"));
	write_out(&p.out);
	tdestroy(p.strings, free);
	tdestroy(p.locations, free);
	free(p.has_function);
	free(p.caller);
	free(p.hex);
	free(p.out.p);
}
