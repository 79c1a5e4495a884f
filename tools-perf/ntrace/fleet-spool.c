// SPDX-License-Identifier: GPL-2.0-only
/*
 * The folder of a fleet. Hosts write only below incoming/. Results are in work/, which may be
 * removed at any time: it is made again.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fleet.h"

/* The name of the status file is longer, and must also fit */
#define NAME_LONGEST	180
#define STATUS_LONGEST	(1 << 24)

char *fleet_path(const struct fleet *f, const char *fmt, ...)
{
	char *rest, *path;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&rest, fmt, ap);
	va_end(ap);
	if (n < 0 || asprintf(&path, "%s/%s", f->spool, rest) < 0)
		die("%s", nt_strerror(NT_ENOMEM));
	free(rest);
	return path;
}

static char *copy(const char *s)
{
	char *to = strdup(s);

	if (!to)
		die("%s", nt_strerror(NT_ENOMEM));
	return to;
}

/* ---------------------------------------------------------------- folders --- */

static void make_folder(const char *path)
{
	struct stat st;

	if (mkdir(path, 0777) && errno != EEXIST)
		die("%s: cannot make the folder: %s", path, strerror(errno));
	if (stat(path, &st) || !S_ISDIR(st.st_mode))
		die("%s: is no folder", path);
}

static void make_folders(const struct fleet *f)
{
	static const char *const names[] = {
		"incoming", "work", "work/leaves", "work/tree", "work/status", "work/slurm",
		"merged",
	};
	size_t i;
	char *path;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		path = fleet_path(f, "%s", names[i]);
		make_folder(path);
		free(path);
	}
	for (i = 0; i < 256; i++) {
		path = fleet_path(f, "work/leaves/%02zx", i);
		make_folder(path);
		free(path);
	}
}

/* The lock is released when the process ends, for whatever reason. */
static void lock_spool(struct fleet *f)
{
	char *path = fleet_path(f, "work/lock");
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);

	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		if (errno == EWOULDBLOCK)
			die("%s: another ntrace fleet works here: wait for it, or see --report",
			    f->spool);
		die("%s: %s", path, strerror(errno));
	}
	f->lock = fd;
	free(path);
}

/* Counts made with different options cannot be added up. */
static void check_choice(const struct fleet *f)
{
	char *path = fleet_path(f, "work/choice"), want[64], have[64] = "";
	FILE *file = fopen(path, "re");

	snprintf(want, sizeof(want), "kernel %d others %d\n", f->choice.kernel, f->choice.others);
	if (file) {
		if (!fgets(have, sizeof(have), file))
			*have = '\0';
		fclose(file);
	}
	if (*have && strcmp(have, want))
		die("%s: what is there was counted with other options (%.*s, now %.*s): give the same --kernel and --others, or remove %s/work",
		    path, (int)strcspn(have, "\n"), have, (int)strcspn(want, "\n"), want, f->spool);
	if (!*have)
		fleet_spool_write(path, want, strlen(want));
	free(path);
}

void fleet_spool_open(struct fleet *f, bool lock)
{
	struct stat st;

	if (stat(f->spool, &st))
		die("%s: %s", f->spool, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		die("%s: is no folder, in which hosts have a folder each below incoming/",
		    f->spool);
	if (!lock)
		return;
	make_folders(f);
	lock_spool(f);
	check_choice(f);
}

/* ------------------------------------------------------------------ files --- */

static void write_all(int fd, const char *path, const char *text, size_t len)
{
	ssize_t n;

	while (len) {
		n = write(fd, text, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			die_machine("%s: %s", path, n ? strerror(errno) : "cannot be written");
		text += n;
		len -= n;
	}
}

void fleet_spool_write(const char *path, const char *text, size_t len)
{
	const char *slash = strrchr(path, '/');
	char *beside;
	int fd;

	if (asprintf(&beside, "%.*s/.ntrace.XXXXXX", slash ? (int)(slash - path) : 1,
		     slash ? path : ".") < 0)
		die("%s", nt_strerror(NT_ENOMEM));
	fd = mkostemp(beside, O_CLOEXEC);
	if (fd < 0)
		die_machine("%s: %s", beside, strerror(errno));
	write_all(fd, beside, text, len);
	/* on the disk before it gets its final name */
	if (fchmod(fd, 0644) || fdatasync(fd) || close(fd) || rename(beside, path))
		die_machine("%s: %s", path, strerror(errno));
	free(beside);
}

/* NULL: the file does not exist */
static char *read_text(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	char *text = NULL;
	ssize_t n = 0, got = 1;

	if (fd < 0 && errno == ENOENT)
		return NULL;
	if (fd < 0 || fstat(fd, &st))
		die("%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_size > STATUS_LONGEST)
		die("%s: is no text that ntrace fleet wrote", path);
	text = malloc(st.st_size + 1);
	if (!text)
		die("%s", nt_strerror(NT_ENOMEM));
	while (n < st.st_size && got > 0) {
		got = read(fd, text + n, st.st_size - n);
		n += got > 0 ? got : 0;
	}
	text[n] = '\0';
	close(fd);
	return text;
}

/* --------------------------------------------------------------- statuses --- */

static void forget_status(struct fleet_item *item)
{
	while (item->nr_leaves)
		free(item->leaf[--item->nr_leaves].name);
	free(item->leaf);
	item->leaf = NULL;
	free(item->reason);
	free(item->programs);
	item->reason = item->programs = NULL;
	item->state = FLEET_WAITING;
}

static bool is_leaf_name(const char *name)
{
	return strspn(name, "0123456789abcdef-") == strlen(name) && strlen(name) == 64 + 3 * 17 - 8;
}

/* Parse "leaf NAME BRANCHES LOSSES OTHERS" */
static bool add_leaf(const struct fleet *f, struct fleet_item *item, const char *line)
{
	struct fleet_leaf leaf = { .name = NULL };
	char name[128], *path;
	bool there;

	if (sscanf(line, "leaf %127s %" SCNu64 " %" SCNu64 " %" SCNu64, name, &leaf.branches,
		   &leaf.losses, &leaf.others) != 4 || !is_leaf_name(name))
		return false;
	path = fleet_path(f, "work/leaves/%.2s/%s", name, name);
	there = !access(path, F_OK);
	free(path);
	if (!there)
		return false;
	leaf.name = copy(name);
	item->leaf = array_room(item->leaf, item->nr_leaves, sizeof(leaf));
	item->leaf[item->nr_leaves++] = leaf;
	return true;
}

/* Parse "garbage REASON" or "later REASON" */
static bool read_reason(struct fleet_item *item, const char *line)
{
	if (strncmp(line, "garbage ", 8) && strncmp(line, "later ", 6))
		return false;
	item->state = *line == 'g' ? FLEET_GARBAGE : FLEET_PUT_OFF;
	item->reason = copy(strchr(line, ' ') + 1);
	return true;
}

/* Parse "programs DIGEST", or a leaf */
static bool read_line(const struct fleet *f, struct fleet_item *item, const char *line)
{
	if (strncmp(line, "programs ", 9))
		return add_leaf(f, item, line);
	free(item->programs);
	item->programs = copy(line + 9);
	return true;
}

/* If a leaf is missing, the status is ignored, and the file is decoded again. */
void fleet_spool_read_status(const struct fleet *f, struct fleet_item *item)
{
	char *text, *line, *rest;
	bool known, why;

	if (!item->status)
		return;
	forget_status(item);
	text = read_text(item->status);
	if (!text)
		return;
	line = strtok_r(text, "\n", &rest);
	why = line && read_reason(item, line);
	known = line && !strcmp(line, "counted");
	while (known && (line = strtok_r(NULL, "\n", &rest)) && strcmp(line, "end"))
		known = read_line(f, item, line);
	if (known && line)
		item->state = FLEET_COUNTED;
	else if (!why)
		forget_status(item);
	free(text);
}

void fleet_spool_mark(struct fleet_item *item, enum fleet_state state, const char *reason)
{
	char *line = utf8_plain(reason), *text;

	if (asprintf(&text, "%s %s\n", state == FLEET_GARBAGE ? "garbage" : "later", line) < 0)
		die("%s", nt_strerror(NT_ENOMEM));
	fleet_spool_write(item->status, text, strlen(text));
	forget_status(item);
	item->state = state;
	item->reason = line;
	free(text);
}

/* ---------------------------------------------------------------- reading --- */

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_names(char **name, size_t nr)
{
	while (nr)
		free(name[--nr]);
	free(name);
}

/*
 * List the names in a folder, sorted. With hidden, includes temporary files of ntrace. Returns 0,
 * or an errno and no names.
 */
static int try_list(const char *path, char ***names, size_t *nr, bool hidden)
{
	DIR *dir = opendir(path);
	struct dirent *d;
	char **name = NULL;
	int err;

	*names = NULL;
	*nr = 0;
	if (!dir)
		return errno == ENOENT ? 0 : errno;
	for (errno = 0; (d = readdir(dir)); errno = 0) {
		if (*d->d_name == '.' && (!hidden || strncmp(d->d_name, ".ntrace.", 8)))
			continue;
		name = array_room(name, *nr, sizeof(*name));
		name[(*nr)++] = copy(d->d_name);
	}
	err = errno;
	closedir(dir);
	if (err) {
		free_names(name, *nr);
		*nr = 0;
		return err;
	}
	if (*nr)
		qsort(name, *nr, sizeof(*name), compare_names);
	*names = name;
	return 0;
}

/* try_list(), but ends the command on errors */
static char **list(const char *path, size_t *nr, bool hidden)
{
	char **name;
	int err = try_list(path, &name, nr, hidden);

	if (err)
		die("%s: %s", path, strerror(err));
	return name;
}

/* Handle a file that cannot be examined. It is garbage only if it does not exist. */
static const char *not_seen(struct fleet_item *item, const char *not_there)
{
	if (errno == ENOENT || errno == ENOTDIR)
		return not_there;
	item->state = FLEET_PUT_OFF;
	return strerror(errno);
}

/*
 * Returns NULL, or an error text. Links are refused, or else hosts could choose other files to be
 * read.
 */
static const char *find_data(const struct fleet *f, struct fleet_item *item, struct stat *st)
{
	const char *wrong = NULL;
	char *inside;

	if (lstat(item->path, st))
		return not_seen(item, "has gone");
	if (S_ISDIR(st->st_mode)) {
		inside = fleet_path(f, "incoming/%s/%s/data", item->host, item->name);
		wrong = lstat(inside, st) ? not_seen(item, "is a folder without `data'") : NULL;
		free(inside);
	}
	return wrong || S_ISREG(st->st_mode) ? wrong : "is no regular file";
}

/*
 * Determine the state of an item. The name of its status file contains size and time, so that a
 * replaced file gets a new status.
 */
static void look_at(const struct fleet *f, struct fleet_item *item)
{
	struct stat st;
	const char *wrong;

	item->state = FLEET_GARBAGE;
	wrong = find_data(f, item, &st);
	if (strlen(item->name) > NAME_LONGEST || strlen(item->host) > NAME_LONGEST)
		wrong = "its name is too long: at most 180 bytes";
	if (wrong) {
		item->reason = copy(wrong);
		return;
	}
	item->state = FLEET_WAITING;
	item->size = st.st_size;
	item->time = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
	item->status = fleet_path(f, "work/status/%s/%s@%llx-%llx.%lx", item->host, item->name,
				  (unsigned long long)st.st_size,
				  (unsigned long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

static struct fleet_item *add_item(struct fleet *f, const char *host, const char *name)
{
	struct fleet_item *item;

	f->item = array_room(f->item, f->nr_items, sizeof(*f->item));
	item = &f->item[f->nr_items++];
	*item = (struct fleet_item){ .host = copy(host), .name = copy(name) };
	item->path = *name ? fleet_path(f, "incoming/%s/%s", host, name) :
		     fleet_path(f, "incoming/%s", host);
	return item;
}

static void add_stray(struct fleet *f, const char *name)
{
	struct fleet_item *item = add_item(f, name, "");

	item->stray = true;
	item->state = FLEET_GARBAGE;
	item->reason = copy("is in no host's folder: move it to incoming/HOST/");
	f->nr_strays++;
}

/* Skip a folder that the host has made unreadable. Other hosts are counted nevertheless. */
static void add_closed(struct fleet *f, const char *host, int err)
{
	struct fleet_item *item = add_item(f, host, "");

	item->state = FLEET_PUT_OFF;
	item->reason = copy(strerror(err));
}

/* Digest of the programs of the current host */
struct programs {
	char hex[EDGES_SHA256_HEX];
	bool known;
};

/* Decode files with losses again if the programs have changed. */
static void check_programs(const struct fleet *f, struct fleet_item *item, struct programs *now)
{
	char *symfs;

	if (!item->programs)
		return;
	if (!now->known) {
		symfs = fleet_decode_symfs(f, item->host);
		fleet_decode_digest(f, symfs, now->hex);
		now->known = true;
		free(symfs);
	}
	if (strcmp(item->programs, now->hex))
		forget_status(item);
}

static void read_host(struct fleet *f, const char *host, const char *path)
{
	struct programs now = { .known = false };
	struct fleet_item *item;
	char **name;
	size_t i, nr;
	int err = try_list(path, &name, &nr, false);

	if (err)
		add_closed(f, host, err);
	for (i = 0; i < nr; i++) {
		item = add_item(f, host, name[i]);
		look_at(f, item);
		if (item->reason)
			continue;
		fleet_spool_read_status(f, item);
		check_programs(f, item, &now);
	}
	free_names(name, nr);
}

static bool is_folder(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISDIR(st.st_mode);
}

static void add_host(struct fleet *f, const char *host)
{
	f->host = array_room(f->host, f->nr_hosts, sizeof(*f->host));
	f->host[f->nr_hosts++] = copy(host);
}

/* Read the optional list of expected hosts. */
static void read_expected(struct fleet *f)
{
	char *path = fleet_path(f, "hosts"), *text = read_text(path), *line, *rest;

	for (line = text ? strtok_r(text, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest)) {
		line[strcspn(line, " \t\r")] = '\0';
		if (!*line || *line == '#')
			continue;
		if (strchr(line, '/') || *line == '.')
			die("%s: `%s' is no name of a host, of which each line has one", path,
			    line);
		add_host(f, line);
	}
	free(text);
	free(path);
}

static void settle_hosts(struct fleet *f)
{
	size_t i, n = 0;

	if (f->nr_hosts)
		qsort(f->host, f->nr_hosts, sizeof(*f->host), compare_names);
	for (i = 0; i < f->nr_hosts; i++) {
		if (n && !strcmp(f->host[n - 1], f->host[i]))
			free(f->host[i]);
		else
			f->host[n++] = f->host[i];
	}
	f->nr_hosts = n;
}

void fleet_spool_read(struct fleet *f)
{
	char *path = fleet_path(f, "incoming"), **name, **stray = NULL;
	size_t i, nr, nr_strays = 0;

	fleet_spool_free(f);
	read_expected(f);
	name = list(path, &nr, false);
	for (i = 0; i < nr; i++) {
		char *folder = fleet_path(f, "incoming/%s", name[i]);

		if (is_folder(folder)) {
			read_host(f, name[i], folder);
			add_host(f, name[i]);
		} else {
			stray = array_room(stray, nr_strays, sizeof(*stray));
			stray[nr_strays++] = name[i];
		}
		free(folder);
	}
	for (i = 0; i < nr_strays; i++)
		add_stray(f, stray[i]);
	settle_hosts(f);
	free(stray);
	free_names(name, nr);
	free(path);
}

void fleet_spool_free(struct fleet *f)
{
	struct fleet_item *item;

	while (f->nr_items) {
		item = &f->item[--f->nr_items];
		forget_status(item);
		free(item->host);
		free(item->name);
		free(item->path);
		free(item->status);
	}
	free(f->item);
	free_names(f->host, f->nr_hosts);
	free(f->leaf);
	f->item = NULL;
	f->host = NULL;
	f->leaf = NULL;
	f->nr_hosts = f->nr_leaves = f->nr_strays = 0;
}

/* --------------------------------------------------------------- cleaning --- */

static bool is_among(char *const *name, size_t nr, const char *one)
{
	return nr && bsearch(&one, name, nr, sizeof(*name), compare_names);
}

/*
 * Remove temporary files of killed processes from a folder. With all, remove everything except for
 * the names to keep.
 */
static void clean_folder(const char *path, char *const *keep, size_t nr_keep, bool all)
{
	size_t i, nr;
	char **name = list(path, &nr, true), *one;

	for (i = 0; i < nr; i++) {
		if (*name[i] != '.' && (!all || is_among(keep, nr_keep, name[i])))
			continue;
		if (asprintf(&one, "%s/%s", path, name[i]) < 0)
			die("%s", nt_strerror(NT_ENOMEM));
		if (unlink(one) && errno != ENOENT)
			warn("%s: cannot be removed: %s", one, strerror(errno));
		free(one);
	}
	free_names(name, nr);
}

/* Clean the statuses of each host. Items are in the same order. */
static void clean_statuses(struct fleet *f)
{
	char *path = fleet_path(f, "work/status"), **host, **keep = NULL, *dir;
	size_t i, k = 0, nr, n, end = f->nr_items - f->nr_strays;

	host = list(path, &nr, false);
	for (i = 0; i < nr; i++) {
		while (k < end && strcmp(f->item[k].host, host[i]) < 0)
			k++;
		for (n = 0; k < end && !strcmp(f->item[k].host, host[i]); k++) {
			if (!f->item[k].status)
				continue;
			keep = array_room(keep, n, sizeof(*keep));
			keep[n++] = strrchr(f->item[k].status, '/') + 1;
		}
		if (n)
			qsort(keep, n, sizeof(*keep), compare_names);
		dir = fleet_path(f, "work/status/%s", host[i]);
		clean_folder(dir, keep, n, true);
		free(dir);
		free(keep);
		keep = NULL;
	}
	free_names(host, nr);
	free(path);
}

/* Try files again that the previous run had put off. */
static void take_up(struct fleet *f)
{
	size_t i;

	for (i = 0; i < f->nr_items; i++) {
		if (f->item[i].state != FLEET_PUT_OFF || !f->item[i].status)
			continue;
		if (unlink(f->item[i].status) && errno != ENOENT)
			die("%s: cannot be removed: %s", f->item[i].status, strerror(errno));
		forget_status(&f->item[i]);
	}
}

void fleet_spool_clean(struct fleet *f)
{
	static const char *const folders[] = { "work", "work/tree", "merged" };
	char *path, **keep = NULL;
	size_t i, k, nr = 0;

	take_up(f);
	for (i = 0; i < f->nr_items; i++)
		for (k = 0; k < f->item[i].nr_leaves; k++) {
			keep = array_room(keep, nr, sizeof(*keep));
			keep[nr++] = f->item[i].leaf[k].name;
		}
	if (nr)
		qsort(keep, nr, sizeof(*keep), compare_names);
	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		path = fleet_path(f, "%s", folders[i]);
		clean_folder(path, NULL, 0, false);
		free(path);
	}
	for (i = 0; i < 256; i++) {
		path = fleet_path(f, "work/leaves/%02zx", i);
		clean_folder(path, keep, nr, true);
		free(path);
	}
	free(keep);
	clean_statuses(f);
}

void fleet_spool_keep(const struct fleet *f, const char *folder, char **keep, size_t nr)
{
	char *path = fleet_path(f, "%s", folder);

	if (nr)
		qsort(keep, nr, sizeof(*keep), compare_names);
	clean_folder(path, keep, nr, true);
	free(path);
}
