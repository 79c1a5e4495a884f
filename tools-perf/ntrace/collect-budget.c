// SPDX-License-Identifier: GPL-2.0-only
/*
 * The budget: bytes per day (UTC), and disk space
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "collect.h"

/* The current date, in UTC */
static void today(char *text, size_t room)
{
	time_t now = time(NULL);
	struct tm tm;

	if (!gmtime_r(&now, &tm) || !strftime(text, room, "%Y-%m-%d", &tm))
		die("what day it is cannot be told");
}

void collect_budget_read(struct collect *c)
{
	char *path = collect_path(c, "day"), day[sizeof(c->today)];
	FILE *file = fopen(path, "re");
	uint64_t used;

	if (!file && errno != ENOENT)
		die("%s: %s", path, strerror(errno));
	today(c->today, sizeof(c->today));
	c->used = 0;
	if (file && fscanf(file, "%31s %" SCNu64, day, &used) == 2 && !strcmp(day, c->today))
		c->used = used;
	if (file)
		fclose(file);
	free(path);
}

static void write_day(const struct collect *c)
{
	char *path = collect_path(c, "day"), *beside = collect_path(c, "day.new");
	FILE *file = fopen(beside, "we");

	if (!file || fprintf(file, "%s %" PRIu64 "\n", c->today, c->used) < 0 || fflush(file) ||
	    fdatasync(fileno(file)) || fclose(file) || rename(beside, path))
		die("%s: %s", path, strerror(errno));
	free(path);
	free(beside);
}

void collect_budget_charge(struct collect *c, uint64_t bytes)
{
	char now[sizeof(c->today)];

	/* recording takes time, and a new day may have begun */
	today(now, sizeof(now));
	if (strcmp(now, c->today))
		c->used = 0;
	strcpy(c->today, now);
	c->used += bytes;
	write_day(c);
}

void collect_budget_give_back(struct collect *c, uint64_t bytes)
{
	c->used -= bytes;
	write_day(c);
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
