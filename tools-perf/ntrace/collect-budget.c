// SPDX-License-Identifier: GPL-2.0-only
/*
 * What may be spent: bytes in a day (of UTC), and the disk
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "collect.h"

static void today(char *text, size_t room)
{
	time_t now = time(NULL);
	struct tm tm;

	if (!gmtime_r(&now, &tm) || !strftime(text, room, "%Y-%m-%d", &tm))
		die("what day it is cannot be told");
}

void collect_budget_read(struct collect *c)
{
	char *path = collect_path(c, "day"), day[32], now[32];
	FILE *file = fopen(path, "re");
	uint64_t used;

	today(now, sizeof(now));
	c->used = 0;
	if (file && fscanf(file, "%31s %" SCNu64, day, &used) == 2 && !strcmp(day, now))
		c->used = used;
	if (file)
		fclose(file);
	else if (errno != ENOENT)
		die("%s: %s", path, strerror(errno));
	free(path);
}

void collect_budget_charge(struct collect *c, uint64_t bytes)
{
	char *path = collect_path(c, "day"), *beside = collect_path(c, "day.new"), now[32];
	FILE *file = fopen(beside, "we");

	today(now, sizeof(now));
	c->used += bytes;
	if (!file || fprintf(file, "%s %" PRIu64 "\n", now, c->used) < 0 || fflush(file) ||
	    fdatasync(fileno(file)) || fclose(file) || rename(beside, path))
		die("%s: %s", path, strerror(errno));
	free(path);
	free(beside);
}

const char *collect_budget_refuses(const struct collect *c)
{
	struct statvfs fs;
	uint64_t unused;

	if (c->used + collect_send_waiting(c) >= c->day)
		return "the bytes of today are used up (--day)";
	if (statvfs(c->state, &fs))
		die("%s: %s", c->state, strerror(errno));
	unused = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (unused < c->room || unused - c->room < c->largest)
		return "the disk of --state would have less than --room free with a recording of --largest";
	return NULL;
}
