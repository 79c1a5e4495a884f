// SPDX-License-Identifier: GPL-2.0-only
/*
 * Output of trace_event JSON, without buffering
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "timeline.h"

/* Thread IDs are below this number. It is added for the kernel's side of a thread. */
#define KERNEL_TRACK	(1 << 23)

static const char *separator = "";

void json_string(const char *text)
{
	char *made;
	const char *s = utf8_text(text, &made);

	putchar('"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else if ((unsigned char)*s < ' ')
			printf("\\u%04x", *s);
		else
			putchar(*s);
	}
	putchar('"');
	free(made);
}

/* In microseconds, as the format requires, without rounding */
static void put_time(const char *name, uint64_t ns)
{
	printf(",\"%s\":%" PRIu64 ".%03u", name, ns / 1000, (unsigned int)(ns % 1000));
}

static int number(const struct track *track)
{
	return track->kernel ? track->tid + KERNEL_TRACK : track->tid;
}

static void head(const struct track *track, char phase, const char *name, const char *category)
{
	printf("%s{\"ph\":\"%c\",\"pid\":%d,\"tid\":%d,\"name\":", separator, phase, track->pid,
	       number(track));
	separator = ",\n";
	json_string(name);
	if (category) {
		printf(",\"cat\":");
		json_string(category);
	}
}

void json_begin(void)
{
	separator = "";
	printf("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
}

void json_track(const struct track *track)
{
	char name[64];

	snprintf(name, sizeof(name), "%s%s", track->thread, track->kernel ? " (kernel)" : "");
	head(track, 'M', "thread_name", NULL);
	printf(",\"args\":{\"name\":");
	json_string(name);
	printf("}}");
	/* show user space above the kernel */
	head(track, 'M', "thread_sort_index", NULL);
	printf(",\"args\":{\"sort_index\":%d}}", 2 * track->tid + track->kernel);
}

void json_slice(const struct track *track, const char *name, const char *category,
		uint64_t start, uint64_t end)
{
	head(track, 'X', name, category);
	put_time("ts", start);
	put_time("dur", end - start);
	putchar('}');
}

void json_instant(const struct track *track, const char *name, const char *category, uint64_t time)
{
	head(track, 'i', name, category);
	put_time("ts", time);
	printf(",\"s\":\"t\"}");
}

void json_end(void)
{
	printf("\n]}\n");
}
