// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace record --switch-output: names of complete files, and the number of files that are kept
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "capture.h"
#include "cmd.h"

/* The name that perf uses: FILE.YYYYmmddHHMMSScc, in hundredths of a second */
static char *name_at(const char *path, uint64_t hundredths)
{
	time_t seconds = hundredths / 100;
	struct tm tm;
	char stamp[32];
	char *name;

	if (!localtime_r(&seconds, &tm) || !strftime(stamp, sizeof(stamp), "%Y%m%d%H%M%S", &tm) ||
	    asprintf(&name, "%s.%s%02u", path, stamp, (unsigned int)(hundredths % 100)) < 0)
		die("%s", nt_strerror(NT_ENOMEM));
	return name;
}

/* Returns a name that does not exist yet. */
static char *free_name(const char *path)
{
	struct timespec now;
	struct stat st;
	uint64_t at;
	char *name;

	clock_gettime(CLOCK_REALTIME, &now);
	at = (uint64_t)now.tv_sec * 100 + now.tv_nsec / 10000000;
	while (name = name_at(path, at++), !lstat(name, &st))
		free(name);
	return name;
}

static void remove_oldest(struct capture *c, char **place)
{
	if (!*place)
		return;
	if (c->o.kcore)
		capture_file_remove_folder(*place);
	else if (unlink(*place) && errno != ENOENT)
		warn("%s: cannot be removed: %s", *place, strerror(errno));
	free(*place);
}

/* Remove the oldest file when the number of files has reached its limit. */
static void keep(struct capture *c, const char *name)
{
	struct capture_names *names = &c->files;
	char **place;

	if (!names->name)
		names->name = calloc(c->o.switch_files, sizeof(*names->name));
	if (!names->name)
		die("%s", nt_strerror(NT_ENOMEM));
	place = &names->name[names->nr % c->o.switch_files];
	remove_oldest(c, place);
	*place = strdup(name);
	if (!*place)
		die("%s", nt_strerror(NT_ENOMEM));
}

void capture_switch_name(struct capture *c)
{
	char *name = free_name(c->file.path);

	if (rename(c->file.path, name))
		die("%s: cannot become %s: %s", c->file.path, name, strerror(errno));
	free(c->file.path);
	c->file.path = name;
	if (c->o.switch_files)
		keep(c, name);
	c->files.nr++;
}
