// SPDX-License-Identifier: GPL-2.0-only
/*
 * The time of events, in a trace that SiFive's E31 made (CAPTURES=DIR/e31_timestamp), is the time
 * that SiFive's decoder gave to their messages; message_tics.txt.xz has a line for each: number
 * from 1 on, time.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmocka-tap.h"
#include "ntrace.h"

#define MESSAGES_MAX	4096
#define BYTES_MAX	65536

struct message {
	uint64_t offset, time;
};

static struct message messages[MESSAGES_MAX];
static unsigned int nr_messages;
static uint8_t bytes[BYTES_MAX];
static size_t len;

static const char *path(const char *file)
{
	static char text[4096];
	const char *dir = getenv("CAPTURES");

	snprintf(text, sizeof(text), "%s/e31_timestamp/%s", dir ? dir : "../shared/captures", file);
	return text;
}

static void read_trace(void)
{
	FILE *f = fopen(path("timestamp.rtd"), "rb");

	assert_non_null(f);
	len = fread(bytes, 1, BYTES_MAX, f);
	fclose(f);
	assert_in_range(len, 1, BYTES_MAX - 1);
}

/* Where messages begin, by the message layer; their times, by SiFive */
static void read_messages(const struct nt_params *p)
{
	char command[4200];
	unsigned int number, wanted = 0;
	uint64_t time;
	size_t at = 0;
	FILE *f;

	while (at < len && nr_messages < MESSAGES_MAX) {
		struct nt_msg m;
		int ret = nt_msg_decode(p, bytes + at, len - at, &m);

		if (ret <= 0)
			break;
		messages[nr_messages++].offset = at + m.idle;
		at += ret;
	}
	snprintf(command, sizeof(command), "xz -dc '%s'", path("message_tics.txt.xz"));
	f = popen(command, "r");
	assert_non_null(f);
	while (fscanf(f, "%u %" SCNu64, &number, &time) == 2) {
		assert_int_equal(number, ++wanted);
		assert_true(number <= nr_messages);
		messages[number - 1].time = time;
	}
	pclose(f);
	assert_int_equal(wanted, nr_messages);
}

static const struct message *message_at(uint64_t offset)
{
	unsigned int n;

	for (n = 0; n < nr_messages; n++)
		if (messages[n].offset == offset)
			return &messages[n];
	return NULL;
}

static void R124_times_of_events(void **state)
{
	unsigned int timed = 0, of_messages = 0, max;
	struct nt_image *image = nt_image_new();
	struct nt_params p;
	struct nt_code *code;
	struct nt_flow *flow;
	struct nt_event ev[256];
	uint64_t last = UINT64_MAX;
	int i, n;

	(void)state;
	nt_params_init(&p);
	p.xlen = 32;
	p.profile = NT_PROFILE_SIFIVE;
	p.timestamps = true;
	read_trace();
	read_messages(&p);
	assert_int_equal(nt_image_add_elf(image, path("timestamp.elf"), 0), 0);
	code = nt_code_new(&p, nt_image_read, image);
	for (max = 1; max <= 256; max += 255) {
		flow = nt_flow_new(&p);
		nt_flow_set_code(flow, code, code);
		nt_flow_window(flow, bytes, len, 0);
		while ((n = nt_flow_next(flow, ev, max)) > 0)
			for (i = 0; i < n; i++) {
				const struct message *m = message_at(ev[i].offset);

				/* the last message is cut: it has no time */
				if (!m)
					continue;
				assert_true(ev[i].flags & NT_EVF_TIME);
				assert_true(ev[i].time == m->time);
				timed++;
				of_messages += ev[i].offset != last;
				last = ev[i].offset;
			}
		nt_flow_free(flow);
	}
	/* all but ResourceFull, which are nearly all */
	assert_true(of_messages / 2 >= 20);
	print_message("# %u messages; %u events of %u messages have their time\n", nr_messages,
		      timed / 2, of_messages / 2);
	nt_code_free(code);
	nt_image_free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(R124_times_of_events),
	};

	if (access(path("timestamp.rtd"), R_OK)) {
		puts("1..0 # SKIP no traces of others' encoders: captures-test says where from");
		return 4;
	}

	return RUN_TAP(tests);
}
