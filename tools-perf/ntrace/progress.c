// SPDX-License-Identifier: GPL-2.0-only
/*
 * A progress bar on stderr, for work that takes longer than a moment. It is not shown if stderr is
 * not a terminal, or if stdout is a terminal, too.
 */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"

#define WIDTH		50
#define FIRST_MS	700
#define EVERY_MS	100
#define LOOK		256	/* number of calls before the clock is read again */

static unsigned int calls;
static uint64_t due;		/* when to draw next, in ms; 0: not started */
static bool drawn, never;

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ull + t.tv_nsec / 1000000;
}

static void draw(uint64_t done, uint64_t total)
{
	unsigned int n = done * WIDTH / total, i;
	char bar[WIDTH + 1];

	for (i = 0; i < WIDTH; i++)
		bar[i] = i < n ? '#' : '.';
	bar[WIDTH] = '\0';
	fprintf(stderr, "\r[%s] %3u%%", bar, (unsigned int)(done * 100 / total));
	fflush(stderr);
	drawn = true;
}

void progress(uint64_t done, uint64_t total)
{
	uint64_t now;

	if (never || calls++ % LOOK || !total || done > total)
		return;
	now = now_ms();
	if (!due) {
		never = !isatty(STDERR_FILENO) || isatty(STDOUT_FILENO);
		due = now + FIRST_MS;
	} else if (now >= due) {
		draw(done, total);
		due = now + EVERY_MS;
	}
}

void progress_end(void)
{
	if (drawn)
		fprintf(stderr, "\r%*s\r", WIDTH + 7, "");
	drawn = false;
}
