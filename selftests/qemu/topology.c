// SPDX-License-Identifier: GPL-2.0-only
/*
 * The components and their links: from a file that lab/topology makes, together with the device
 * tree; without a file, an encoder and a sink for each hart.
 *
 *	node NAME ADDRESS [region=ADDRESS+SIZE] [sram=SIZE] [memory=...] [pool=...]
 *	link NAME NAME INPUT
 *
 * The model ignores lines that begin with another word.
 */

#include <stdlib.h>
#include <string.h>

#include "model.h"

struct component *components[MAX_COMPONENTS];
unsigned int n_components;

static const struct {
	const char *name;
	enum comp_type type;
} type_names[] = {
	{ "encoder", COMP_ENCODER },
	{ "funnel", COMP_FUNNEL },
	{ "sink", COMP_SINK },
	{ "bridge", COMP_BRIDGE },
};

struct component *topology_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < n_components; i++)
		if (!strcmp(components[i]->name, name))
			return components[i];
	return NULL;
}

static bool parse_name(struct component *c, const char *name)
{
	unsigned int i;
	size_t len;
	char *end;

	for (i = 0; i < sizeof(type_names) / sizeof(type_names[0]); i++) {
		len = strlen(type_names[i].name);
		if (strncmp(name, type_names[i].name, len) || !g_ascii_isdigit(name[len]))
			continue;
		c->type = type_names[i].type;
		c->number = strtoul(name + len, &end, 10);
		g_strlcpy(c->name, name, sizeof(c->name));
		return !*end && strlen(name) < sizeof(c->name);
	}
	return false;
}

static struct component *add_node(const char *name, uint64_t addr)
{
	struct component *c = g_new0(struct component, 1);

	if (n_components == MAX_COMPONENTS || !parse_name(c, name) || topology_find(name))
		die("topology: node %s", name);
	c->addr = addr;
	c->sram_size = opt.sram_size;
	atomic_flag_clear(&c->lock);
	/* ignore encoders of harts that this machine does not have */
	if (c->type == COMP_ENCODER && c->number < n_harts) {
		c->hart = harts[c->number];
		c->hart->comp = c;
	}
	components[n_components++] = c;
	return c;
}

static void add_link(const char *from, const char *to, unsigned int input)
{
	struct component *a = topology_find(from), *b = topology_find(to);

	if (!a || !b || a->n_out == MAX_OUTPUTS || b->n_in == FUNNEL_INPUTS || input != b->n_in ||
	    b->type == COMP_ENCODER || (b->n_in && b->type != COMP_FUNNEL) ||
	    (a->n_out && a->type != COMP_ENCODER))
		die("topology: link %s %s %u", from, to, input);
	a->out[a->n_out++] = (struct link){ b, input };
	b->in[b->n_in++] = a;
}

static bool parse_attribute(struct component *c, const char *text)
{
	char rest;

	if (sscanf(text, "region=%" G_GINT64_MODIFIER "i+%" G_GINT64_MODIFIER "i%c",
		   (gint64 *)&c->region, (gint64 *)&c->region_size, &rest) == 2)
		return c->region_size;
	/* For the device tree only: the model's sink can write anywhere. */
	if (g_str_has_prefix(text, "memory=") || g_str_has_prefix(text, "pool="))
		return true;
	return sscanf(text, "sram=%i%c", (int *)&c->sram_size, &rest) == 1 &&
	       c->sram_size >= 256 && !(c->sram_size & (c->sram_size - 1));
}

static void parse_node(char **word, unsigned int n)
{
	struct component *c = add_node(word[1], g_ascii_strtoull(word[2], NULL, 0));
	unsigned int i;

	for (i = 3; i < n; i++)
		if (!parse_attribute(c, word[i]))
			die("topology: %s %s", word[1], word[i]);
}

static void parse_line(char *line)
{
	char **word = g_strsplit_set(g_strstrip(line), " \t", 0);
	unsigned int n = g_strv_length(word);

	if (n >= 3 && !strcmp(word[0], "node"))
		parse_node(word, n);
	else if (n == 4 && !strcmp(word[0], "link"))
		add_link(word[1], word[2], strtoul(word[3], NULL, 10));
	else if (n == 2 && !strcmp(word[0], "power") && !strcmp(word[1], "domain"))
		opt.power_domain = true;
	else if (n == 2 && !strcmp(word[0], "rtl") && !strcmp(word[1], "tt-dfd"))
		opt.wants_rtl = true;
	g_strfreev(word);
}

void topology_read(const char *file)
{
	char *text, **line;
	unsigned int i;

	if (!g_file_get_contents(file, &text, NULL, NULL))
		die("topology: cannot read %s", file);
	line = g_strsplit(text, "\n", 0);
	for (i = 0; line[i]; i++)
		parse_line(line[i]);
	g_strfreev(line);
	g_free(text);
}

void topology_default(void)
{
	unsigned int i;
	char encoder[24], sink[24];

	for (i = 0; i < n_harts; i++) {
		snprintf(encoder, sizeof(encoder), "encoder%u", i);
		snprintf(sink, sizeof(sink), "sink%u", i);
		add_node(encoder, opt.regs + i * HART_STRIDE);
		add_node(sink, opt.regs + i * HART_STRIDE + PAGE);
		add_link(encoder, sink, 0);
	}
}
