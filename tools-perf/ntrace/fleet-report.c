// SPDX-License-Identifier: GPL-2.0-only
/*
 * Print a line for each host, and report problems
 */
#include <stdlib.h>
#include <string.h>

#include "fleet.h"

struct row {
	uint64_t recordings, bytes, branches, losses, twice, garbage, waiting;
	uint64_t others;
	size_t nothing;		/* hosts that sent only transfers that were skipped */
};

static void add_item(struct row *row, const struct fleet_item *item)
{
	size_t i;

	row->bytes += item->size;
	row->garbage += item->state == FLEET_GARBAGE;
	row->waiting += item->state == FLEET_WAITING || item->state == FLEET_PUT_OFF;
	for (i = 0; i < item->nr_leaves; i++) {
		if (item->leaf[i].twice) {
			row->twice++;
			continue;
		}
		row->recordings++;
		edges_saturate(&row->branches, item->leaf[i].branches);
		edges_saturate(&row->losses, item->leaf[i].losses);
		edges_saturate(&row->others, item->leaf[i].others);
	}
}

static void add_row(struct row *sum, const struct row *row)
{
	sum->recordings += row->recordings;
	sum->bytes += row->bytes;
	edges_saturate(&sum->branches, row->branches);
	edges_saturate(&sum->losses, row->losses);
	edges_saturate(&sum->others, row->others);
	sum->nothing += !row->branches && row->others;
	sum->twice += row->twice;
	sum->garbage += row->garbage;
	sum->waiting += row->waiting;
}

/* Hosts choose their names, so a name must not break the line. */
static void print_row(const char *host, const struct row *row)
{
	char *name = utf8_plain(host);

	printf("%-20s %10" PRIu64 " %14" PRIu64 " %16" PRIu64 " %8" PRIu64 " %6" PRIu64 " %8" PRIu64
	       " %8" PRIu64 "\n", name, row->recordings, row->bytes, row->branches, row->losses,
	       row->twice, row->garbage, row->waiting);
	free(name);
}

/* Strays come after the items of hosts. */
static const struct fleet_item *end_of_hosts(const struct fleet *f)
{
	return f->item + f->nr_items - f->nr_strays;
}

/* Items are sorted by host. */
static const struct fleet_item *print_host(const struct fleet *f, const char *host,
					   const struct fleet_item *item, struct row *sum)
{
	const struct fleet_item *end = end_of_hosts(f);
	struct row row = { 0 };

	while (item < end && strcmp(item->host, host) < 0)
		item++;
	for (; item < end && !strcmp(item->host, host); item++)
		add_item(&row, item);
	print_row(host, &row);
	add_row(sum, &row);
	return item;
}

/* Print items outside of host folders under the host `-'. */
static void print_strays(const struct fleet *f, struct row *sum)
{
	const struct fleet_item *item = end_of_hosts(f);
	struct row row = { 0 };

	if (!f->nr_strays)
		return;
	for (; item < f->item + f->nr_items; item++)
		add_item(&row, item);
	print_row("-", &row);
	add_row(sum, &row);
}

static void print_reasons(const struct fleet *f, enum fleet_state state, const char *what)
{
	char *path, *reason;
	size_t i;

	for (i = 0; i < f->nr_items; i++) {
		if (f->item[i].state != state)
			continue;
		path = utf8_plain(f->item[i].path);
		reason = utf8_plain(f->item[i].reason);
		printf("%s: %s: %s\n", what, path, reason);
		free(path);
		free(reason);
	}
}

/* Print hosts that sent nothing. Both lists are sorted. Returns the number of these hosts. */
static size_t print_silent(const struct fleet *f)
{
	const struct fleet_item *item = f->item, *end = end_of_hosts(f);
	size_t i, silent = 0;
	char *name;

	for (i = 0; i < f->nr_hosts; i++) {
		while (item < end && strcmp(item->host, f->host[i]) < 0)
			item++;
		if (item != end && !strcmp(item->host, f->host[i]))
			continue;
		name = utf8_plain(f->host[i]);
		printf("sent nothing: %s\n", name);
		free(name);
		silent++;
	}
	return silent;
}

static void print_others(const struct row *sum)
{
	if (sum->others)
		printf("left out: %" PRIu64 " transfers of programs that are neither root's nor yours, see --others\n",
		       sum->others);
	if (sum->nothing)
		printf("left out: everything that %zu hosts sent\n", sum->nothing);
}

bool fleet_report(struct fleet *f)
{
	const struct fleet_item *item = f->item;
	struct row sum = { 0 };
	size_t i, silent;

	printf("%-20s %10s %14s %16s %8s %6s %8s %8s\n", "host", "recordings", "bytes", "branches",
	       "losses", "twice", "garbage", "waiting");
	print_strays(f, &sum);
	for (i = 0; i < f->nr_hosts; i++)
		item = print_host(f, f->host[i], item, &sum);
	print_row("all", &sum);
	print_others(&sum);
	print_reasons(f, FLEET_GARBAGE, "garbage");
	print_reasons(f, FLEET_PUT_OFF, "not counted");
	silent = print_silent(f);
	if (f->saturated)
		warn("%s: %zu sums have counts that are more than a count can be, and are the most that it can: look for a host whose counts cannot be",
		     f->spool, f->saturated);
	return !sum.losses && !sum.garbage && !sum.waiting && !sum.nothing && !silent &&
	       !f->saturated;
}
