// SPDX-License-Identifier: GPL-2.0-only
/*
 * Convert a received file to edges, a file for each recording. Its name contains the ID of the
 * recording, so that a recording that was sent twice exists once. A truncated or damaged file is
 * not counted: part of a recording would count again when the complete recording arrives.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fleet.h"
#include "perf-script.h"
#include "rec.h"

struct decoding {
	const struct fleet *f;
	const struct fleet_item *item;
	char *status;		/* text of the status file */
};

/* ----------------------------------------------------------------- leaves --- */

/* The name sorts by counts. Of several leaves of a recording, only the last one counts. */
static char *leaf_name(const uint8_t *id, const struct edges_totals *t)
{
	char hex[EDGES_SHA256_HEX], *name;

	edges_sha256_hex(id, hex);
	if (asprintf(&name, "%s-%016" PRIx64 "-%016" PRIx64 "-%08" PRIx32, hex, t->count, t->edges,
		     t->check) < 0)
		die("%s", nt_strerror(NT_ENOMEM));
	return name;
}

static void open_leaf(const struct decoding *d, struct edges_writer *w, const uint8_t *id)
{
	char *folder = fleet_path(d->f, "work/leaves/%02x/", id[0]);

	edges_write_open(w, folder);
	free(folder);
}

static void close_leaf(struct decoding *d, struct edges_writer *w, const uint8_t *id,
		       const struct edges_totals *t, const struct edges_missed *missed)
{
	char *name = leaf_name(id, t), *path = fleet_path(d->f, "work/leaves/%02x/%s", id[0], name);
	char *status;

	w->out.file.path = path;
	edges_write_close(w);
	if (asprintf(&status, "%sleaf %s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", d->status, name,
		     t->branches, missed->losses, missed->others) < 0)
		die("%s", nt_strerror(NT_ENOMEM));
	free(d->status);
	d->status = status;
	free(path);
	free(name);
}

/* ------------------------------------------------------------------ kinds --- */

/* If the name is the SHA-256 of the content, check that the file is complete. */
static void check_name(const struct fleet_item *item, const uint8_t *id)
{
	char hex[EDGES_SHA256_HEX];

	if (strspn(item->name, "0123456789abcdef") != EDGES_SHA256_HEX - 1)
		return;
	edges_sha256_hex(id, hex);
	if (strncmp(item->name, hex, EDGES_SHA256_HEX - 1))
		die("is damaged or cut: its SHA-256 is %s, and its name says another one", hex);
}

char *fleet_decode_symfs(const struct fleet *f, const char *host)
{
	char *path = fleet_path(f, "symfs/%s", host);

	if (access(path, X_OK)) {
		free(path);
		path = fleet_path(f, "symfs");
	}
	if (access(path, X_OK)) {
		free(path);
		return NULL;
	}
	return path;
}

/* skip: length of the spool's path, so that the digest does not depend on it */
static void digest_file(struct edges_sha256 *s, const char *path, size_t skip)
{
	struct stat st;
	char text[112];
	int n;

	/* follow links */
	if (stat(path, &st))
		return;
	/* the owner decides whether the program is reported */
	n = snprintf(text, sizeof(text), "%llx-%llx.%lx-%u", (unsigned long long)st.st_size,
		     (unsigned long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, st.st_uid);
	edges_sha256_add(s, path + skip, strlen(path + skip) + 1);
	edges_sha256_add(s, text, n + 1);
}

static int is_entry(const struct dirent *d)
{
	return strcmp(d->d_name, ".") && strcmp(d->d_name, "..");
}

/* Links to folders are not followed: they may lead anywhere, and in circles. */
static void digest_folder(struct edges_sha256 *s, const char *path, size_t skip)
{
	struct dirent **entry;
	int n = scandir(path, &entry, is_entry, alphasort), i;
	struct stat st;
	char *one;

	for (i = 0; i < n; i++) {
		if (asprintf(&one, "%s/%s", path, entry[i]->d_name) < 0)
			die("%s", nt_strerror(NT_ENOMEM));
		if (!lstat(one, &st) && S_ISDIR(st.st_mode))
			digest_folder(s, one, skip);
		else
			digest_file(s, one, skip);
		free(one);
		free(entry[i]);
	}
	if (n >= 0)
		free(entry);
}

void fleet_decode_digest(const struct fleet *f, const char *symfs, char hex[EDGES_SHA256_HEX])
{
	uint8_t digest[EDGES_SHA256];
	struct edges_sha256 s;

	edges_sha256_begin(&s);
	if (symfs)
		digest_folder(&s, symfs, strlen(f->spool));
	edges_sha256_end(&s, digest);
	edges_sha256_hex(digest, hex);
}

/* Remember the programs, because the file has to be decoded again when missing ones appear. */
static void note_programs(struct decoding *d, const char *hex)
{
	char *status;

	if (asprintf(&status, "%sprograms %s\n", d->status, hex) < 0)
		die("%s", nt_strerror(NT_ENOMEM));
	free(d->status);
	d->status = status;
}

static void take_recording(struct decoding *d, const uint8_t *id)
{
	struct edges_choice choice = d->f->choice;
	struct rec_options options = { .symfs = NULL };
	char *programs = fleet_decode_symfs(d->f, d->item->host), hex[EDGES_SHA256_HEX];
	struct edges_missed missed;
	struct edges_writer w;

	if (!perf_is_data(d->item->path))
		die("is neither a recording nor a file of edges");
	options.symfs = programs;
	/* before decoding, or else a program that appears meanwhile would not be noticed */
	fleet_decode_digest(d->f, programs, hex);
	choice.whole = true;
	open_leaf(d, &w, id);
	missed = edges_count_recording(&w, d->item->path, &options, &choice);
	close_leaf(d, &w, id, &w.totals, &missed);
	if (missed.losses || missed.others)
		note_programs(d, hex);
	free(programs);
}

static void take_part(struct decoding *d, const struct edges_part *part, FILE *file)
{
	const struct edges_recording *r = part->head.recording;
	struct edges_missed missed;
	struct edges_writer w;

	if (part->head.nr_recordings != 1 || part->head.scaled)
		die("has a sum: of that nobody can tell what counts twice; send edges of recordings as ntrace profile makes them");
	open_leaf(d, &w, r->id);
	edges_write_copy(&w, fileno(file), part->begin, part->end, part->totals.edges);
	missed = (struct edges_missed){ r->losses, r->others };
	close_leaf(d, &w, r->id, &part->totals, &missed);
}

static void take_edges(struct decoding *d)
{
	struct edges_parts parts = { .nr = 0 };
	struct edges_codec codec = { .zstd = NULL };
	FILE *file = fopen(d->item->path, "re");
	const char *wrong;
	size_t i;

	if (!file)
		die("%s", strerror(errno));
	wrong = edges_read_file(d->item->path, &parts, &codec);
	if (wrong)
		die("%s", wrong);
	if (!parts.nr)
		die("has no recording");
	for (i = 0; i < parts.nr; i++)
		take_part(d, &parts.part[i], file);
	fclose(file);
	edges_parts_free(&parts);
	edges_codec_free(&codec);
}

/*
 * Check the file again. It must not be a link, which the host may have created after the spool was
 * read.
 */
static void look(const struct fleet_item *item, struct stat *st)
{
	char *inside;

	if (lstat(item->path, st))
		die("%s", strerror(errno));
	if (S_ISDIR(st->st_mode)) {
		if (asprintf(&inside, "%s/data", item->path) < 0)
			die("%s", nt_strerror(NT_ENOMEM));
		if (lstat(inside, st))
			die("%s", strerror(errno));
		free(inside);
	}
	if (!S_ISREG(st->st_mode))
		die("is no regular file");
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

void fleet_decode(const struct fleet *f, struct fleet_item *item)
{
	struct decoding d = { .f = f, .item = item, .status = strdup("counted\n") };
	char *folder = fleet_path(f, "work/status/%s", item->host), *text;
	uint8_t id[EDGES_SHA256];
	struct stat before, after;

	if (mkdir(folder, 0777) && errno != EEXIST)
		die_machine("%s: %s", folder, strerror(errno));
	look(item, &before);
	edges_sha256_file(item->path, id);
	check_name(item, id);
	if (edges_is(item->path))
		take_edges(&d);
	else
		take_recording(&d, id);
	look(item, &after);
	if (!is_same(&before, &after))
		die("has changed while it was read");
	if (!d.status || asprintf(&text, "%send\n", d.status) < 0)
		die("%s", nt_strerror(NT_ENOMEM));
	fleet_spool_write(item->status, text, strlen(text));
	free(d.status);
	free(folder);
	free(text);
}
