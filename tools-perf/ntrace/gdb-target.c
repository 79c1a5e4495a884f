// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registers of a stub, from its target description: an XML file that may include others. Only <reg>
 * and <xi:include> matter.
 */
#include <stdlib.h>
#include <string.h>

#include "gdb.h"
#include "tv.h"

#define FILE_MAX_BYTES	(1u << 20)
#define FILES		32
#define REGS		8192u	/* register numbers */

struct reading {
	struct gdb *g;
	struct gdb_target *t;
	char (*names)[16];	/* names by number, below GDB_OF */
	unsigned int next;	/* number of the next register without one */
	unsigned int files;
};

/* Read a file of the description, in several packets. It contains no NUL. */
static char *read_file(struct gdb *g, const char *name)
{
	char *text = NULL;
	size_t len = 0;

	for (;;) {
		const char *reply;
		size_t n;

		gdb_packet(g, "qXfer:features:read:%s:%zx,ff0", name, len);
		reply = gdb_reply(g, &n);
		if (gdb_is_error(reply) || (*reply != 'l' && *reply != 'm'))
			gdb_nonsense(g, "a description of the registers", reply);
		if (len + n > FILE_MAX_BYTES || (*reply == 'm' && n == 1))
			gdb_nonsense(g, "a description that comes to an end", reply);
		text = realloc(text, len + n);
		if (!text)
			die("%s", nt_strerror(NT_ENOMEM));
		memcpy(text + len, reply + 1, n);
		len += n - 1;
		text[len] = '\0';
		if (*reply == 'l')
			return text;
	}
}

/* Find NAME="value" in the element that ends at `end'. */
static bool attribute(const char *element, const char *end, const char *name, char *value,
		      size_t size)
{
	size_t len = strlen(name);

	for (const char *p = element; p + len + 2 < end; p++) {
		const char *close;

		if (strncmp(p, name, len) || p[len] != '=' || (p[-1] != ' ' && p[-1] != '\n') ||
		    (p[len + 1] != '"' && p[len + 1] != '\''))
			continue;
		close = memchr(p + len + 2, p[len + 1], (size_t)(end - (p + len + 2)));
		if (!close || (size_t)(close - (p + len + 2)) >= size)
			return false;
		snprintf(value, size, "%.*s", (int)(close - (p + len + 2)), p + len + 2);
		return true;
	}
	return false;
}

static void name_register(struct reading *r, const char *name, uint16_t number)
{
	struct gdb_target *t = r->t;

	if (!strcmp(name, "fp"))
		name = "s0";
	if (!strcmp(name, "pc"))
		t->pc = number;
	if (!strcmp(name, "priv"))
		t->priv = number;
	for (unsigned int i = 0; i < GDB_OF; i++)
		if (!strcmp(name, r->names[i]))
			t->of[i] = number;
}

static void read_reg(struct reading *r, const char *element, const char *end)
{
	char name[32], number[16], bits[16];
	unsigned long n = r->next;

	if (!attribute(element, end, "name", name, sizeof(name)) ||
	    !attribute(element, end, "bitsize", bits, sizeof(bits)))
		return;
	if (attribute(element, end, "regnum", number, sizeof(number)))
		n = strtoul(number, NULL, 0);
	if (n >= REGS)
		return;
	r->t->bits[n] = (uint16_t)strtoul(bits, NULL, 0);
	if (n >= r->t->count)
		r->t->count = (uint16_t)(n + 1);
	r->next = (unsigned int)n + 1;
	name_register(r, name, (uint16_t)n);
}

static void read_description(struct reading *r, const char *name)
{
	char *text, *p;

	if (++r->files > FILES)
		gdb_nonsense(r->g, "fewer files of registers", name);
	text = read_file(r->g, name);
	for (p = text; (p = strchr(p, '<')); p++) {
		char *end = strncmp(p, "<!--", 4) ? strchr(p, '>') : strstr(p, "-->");
		char other[64];

		if (!end)
			break;
		if (!strncmp(p, "<reg ", 5))
			read_reg(r, p, end);
		else if (!strncmp(p, "<xi:include ", 12) &&
			 attribute(p, end, "href", other, sizeof(other)))
			read_description(r, other);
		p = end;
	}
	free(text);
}

struct gdb_target *gdb_target_new(struct gdb *g)
{
	struct gdb_target *t = calloc(1, sizeof(*t));
	struct reading r = { .g = g, .t = t };
	char buf[32];

	r.names = calloc(GDB_OF, sizeof(*r.names));
	if (!t || !r.names)
		die("%s", nt_strerror(NT_ENOMEM));
	t->bits = calloc(REGS, sizeof(*t->bits));
	t->of = malloc(GDB_OF * sizeof(*t->of));
	if (!t->bits || !t->of)
		die("%s", nt_strerror(NT_ENOMEM));
	memset(t->of, 0xff, GDB_OF * sizeof(*t->of));
	t->pc = t->priv = GDB_NONE;
	for (unsigned int i = 0; i < GDB_OF; i++)
		snprintf(r.names[i], sizeof(r.names[i]), "%s",
			 tv_reg_name((uint16_t)i, buf, sizeof(buf)));
	read_description(&r, "target.xml");
	free(r.names);
	if (t->pc == GDB_NONE)
		gdb_nonsense(g, "a target with a pc", "none");
	return t;
}

void gdb_target_free(struct gdb_target *t)
{
	if (!t)
		return;
	free(t->bits);
	free(t->of);
	free(t);
}
