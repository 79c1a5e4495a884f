// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace dump: a line per message: offset, SRC, name, fields
 */
#include <inttypes.h>
#include <string.h>

#include "rec.h"

static void print_message(const struct input *in, size_t at, const struct nt_msg *msg)
{
	char text[256];

	nt_msg_format(msg, text, sizeof(text));
	if (in->params.srcbits)
		printf("0x%08zx %u %s\n", at, msg->src, text);
	else
		printf("0x%08zx - %s\n", at, text);
}

/*
 * Print the message or the bad bytes at `at`, and count bad ones. Returns their length, or 0 if
 * more data are needed to tell.
 */
static size_t dump_one(const struct input *in, size_t at, unsigned long *bad)
{
	size_t left = in->size - at;
	struct nt_msg msg;
	int ret = nt_msg_decode(&in->params, in->trace + at, left, &msg);

	if (ret > 0) {
		if (in->params.src < 0 || msg.src == in->params.src)
			print_message(in, at + msg.idle, &msg);
		return ret;
	}
	if (!ret && msg.idle)
		return msg.idle;
	if (!in->ended && (!ret || (msg.skip == left && left < BAD_MAX)))
		return 0;
	if (!ret) {
		msg.skip = left;
		ret = -NT_ECUT;
	}
	printf("# 0x%08zx: %s, skipped %zu\n", at + msg.idle, nt_strerror(ret),
	       msg.skip - msg.idle);
	++*bad;
	return msg.skip;
}

int cmd_dump(int argc, char **argv)
{
	static const char doc[] = "Print the messages of an N-Trace file, or of a perf.data.";
	struct rec_options options;
	struct input in;
	unsigned long bad = 0;
	size_t at = 0, n;
	int status;

	input_init(&in);
	in.live = true;
	if (rec_parse_either(doc, argc, argv, &in, &options)) {
		status = rec_dump(in.file, &options);
		rec_options_free(&options);
		input_free(&in);
		return status;
	}
	input_open(&in);
	if (in.params.src >= 0)
		input_check_sources(&in);
	while (at < in.size || input_more(&in)) {
		n = dump_one(&in, at, &bad);
		if (!n)
			input_more(&in);
		at += n;
		input_progress(&in, at);
	}
	progress_end();
	if (bad)
		diagnose(&in);
	input_free(&in);
	out_done();
	return bad ? EXIT_LOSSES : EXIT_WHOLE;
}
