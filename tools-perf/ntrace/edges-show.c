// SPDX-License-Identifier: GPL-2.0-only
/*
 * Print the content of files of edges for people: everything that would leave a host with them
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "edges.h"

struct row {
	const struct edges_file *file;
	uint64_t edges, count;	/* branches from this file */
};

static void print_hex(const uint8_t *p, size_t n)
{
	while (n--)
		printf("%02x", *p++);
}

/* The reader accepts characters that are not ASCII. */
static void print_name(const char *name)
{
	char *plain = utf8_plain(*name ? name : "-");

	fputs(plain, stdout);
	free(plain);
}

static void show_recording(const struct edges_recording *r)
{
	printf("recording ");
	print_hex(r->id, sizeof(r->id));
	printf(" host ");
	print_name(r->host);
	printf(" branches %" PRIu64 " losses %" PRIu64, r->branches, r->losses);
	if (r->kernel)
		printf(" left out: %" PRIu64 " of the kernel", r->kernel);
	if (r->others)
		printf("%s%" PRIu64 " of others' programs", r->kernel ? ", " : " left out: ",
		       r->others);
	printf("\n");
}

static void count_rows(struct edges_merge *m, const struct edges_part *part, struct row *row)
{
	struct edges_stream s;
	size_t i;

	for (i = 0; i < part->head.nr_files; i++)
		row[i].file = &part->head.file[i];
	edges_stream_open(&s, part);
	while (edges_stream_next(&s, &m->codec)) {
		if (s.e.kind != EDGES_BRANCH || !s.e.from)
			continue;
		row[edges_file_of(s.e.from) - 1].edges++;
		row[edges_file_of(s.e.from) - 1].count += s.e.count;
	}
}

static void show_files(struct edges_merge *m, const struct edges_part *part)
{
	struct row *row = calloc(part->head.nr_files + 1, sizeof(*row));
	size_t i;

	if (!row)
		die("%s", nt_strerror(NT_ENOMEM));
	count_rows(m, part, row);
	for (i = 0; i < part->head.nr_files; i++) {
		printf("  file ");
		print_hex(row[i].file->id, row[i].file->size);
		if (row[i].file->base)
			printf(" at %#" PRIx64, row[i].file->base);
		printf(" ");
		print_name(row[i].file->name);
		printf(" edges %" PRIu64 " branches %" PRIu64 "\n", row[i].edges, row[i].count);
	}
	free(row);
}

void edges_show(struct edges_merge *m)
{
	size_t i, k;

	for (i = 0; i < m->parts.nr; i++) {
		const struct edges_part *part = &m->parts.part[i];

		for (k = 0; k < part->head.nr_recordings; k++)
			show_recording(&part->head.recording[k]);
		printf("  %" PRIu64 " edges, %" PRIu64 " branches%s\n", part->totals.edges,
		       part->totals.branches, part->head.scaled ? ", weighted or capped" : "");
		show_files(m, part);
	}
}
