// SPDX-License-Identifier: GPL-2.0-only
/*
 * What there is of each host, and what is wrong
 */
#include <string.h>

#include "fleet.h"

struct row {
	uint64_t recordings, bytes, branches, losses, twice, garbage, waiting;
};

static void add_item(struct row *row, const struct fleet_item *item)
{
	size_t i;

	row->bytes += item->size;
	row->garbage += item->state == FLEET_GARBAGE;
	row->waiting += item->state == FLEET_WAITING;
	for (i = 0; i < item->nr_leaves; i++) {
		if (item->leaf[i].twice) {
			row->twice++;
			continue;
		}
		row->recordings++;
		row->branches += item->leaf[i].branches;
		row->losses += item->leaf[i].losses;
	}
}

static void add_row(struct row *sum, const struct row *row)
{
	sum->recordings += row->recordings;
	sum->bytes += row->bytes;
	sum->branches += row->branches;
	sum->losses += row->losses;
	sum->twice += row->twice;
	sum->garbage += row->garbage;
	sum->waiting += row->waiting;
}

static void print_row(const char *name, const struct row *row)
{
	printf("%-20s %10" PRIu64 " %14" PRIu64 " %16" PRIu64 " %8" PRIu64 " %6" PRIu64 " %8" PRIu64
	       " %8" PRIu64 "\n", name, row->recordings, row->bytes, row->branches, row->losses,
	       row->twice, row->garbage, row->waiting);
}

/* Items are in the order of hosts. */
static const struct fleet_item *print_host(const struct fleet *f, const char *host,
					   const struct fleet_item *item, struct row *sum,
					   size_t *silent)
{
	const struct fleet_item *end = f->item + f->nr_items;
	struct row row = { 0 };

	while (item < end && strcmp(item->host, host) < 0)
		item++;
	*silent += item == end || strcmp(item->host, host);
	for (; item < end && !strcmp(item->host, host); item++)
		add_item(&row, item);
	print_row(host, &row);
	add_row(sum, &row);
	return item;
}

static void print_garbage(const struct fleet *f)
{
	size_t i;

	for (i = 0; i < f->nr_items; i++)
		if (f->item[i].state == FLEET_GARBAGE)
			printf("garbage: %s: %s\n", f->item[i].path, f->item[i].reason);
}

/* Both are sorted. */
static void print_silent(const struct fleet *f)
{
	const struct fleet_item *item = f->item, *end = item + f->nr_items;
	size_t i;

	for (i = 0; i < f->nr_hosts; i++) {
		while (item < end && strcmp(item->host, f->host[i]) < 0)
			item++;
		if (item == end || strcmp(item->host, f->host[i]))
			printf("sent nothing: %s\n", f->host[i]);
	}
}

bool fleet_report(struct fleet *f)
{
	const struct fleet_item *item = f->item;
	struct row sum = { 0 };
	size_t i, silent = 0;

	printf("%-20s %10s %14s %16s %8s %6s %8s %8s\n", "host", "recordings", "bytes", "branches",
	       "losses", "twice", "garbage", "waiting");
	/* what is in no host's folder comes first, as of a host `-' */
	if (f->nr_items && !strcmp(item->host, "-"))
		item = print_host(f, "-", item, &sum, &(size_t){ 0 });
	for (i = 0; i < f->nr_hosts; i++)
		item = print_host(f, f->host[i], item, &sum, &silent);
	print_row("all", &sum);
	print_garbage(f);
	print_silent(f);
	return !sum.losses && !sum.garbage && !sum.waiting && !silent;
}
