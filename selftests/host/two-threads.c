// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decoders side by side: two-threads ELF TRACE. Each of two threads decodes the
 * trace many times with objects of its own, and encodes beside it; the sums of
 * all branches have to be equal, and the thread sanitizer may have nothing to say.
 */
#include <pthread.h>
#include <stdio.h>

#include "ntrace.h"

static char **args;

struct work {
	pthread_t thread;
	uint64_t sum, branches, bytes;
	int error;
};

static bool count_bytes(void *ctx, const uint8_t *msg, unsigned int len)
{
	struct work *w = ctx;

	if (msg)
		w->bytes += len;
	return true;
}

/* What was decoded goes into an encoder, as a jump per branch */
static void add(struct work *w, struct nt_enc *enc, const struct nt_event *ev)
{
	struct nt_enc_op op = { .pc = ev->from, .len = 2, .type = NT_TYPE_IJUMP };

	if (ev->kind != NT_EV_BRANCH)
		return;
	w->sum = w->sum * 31 + (ev->from ^ ev->to);
	w->branches++;
	nt_enc_retire_op(enc, &op);
}

static int decode(struct work *w, struct nt_image *image, const uint8_t *trace, size_t size)
{
	struct nt_enc_config config = { .size = sizeof(config), .emit = count_bytes, .ctx = w };
	struct nt_event ev[64];
	struct nt_params params;
	struct nt_code *code;
	struct nt_flow *flow;
	struct nt_enc *enc;
	int i, n;

	nt_params_init(&params);
	if (nt_image_isa(image) && nt_isa_parse(nt_image_isa(image), &params))
		return 1;
	code = nt_code_new(&params, nt_image_read, image);
	flow = nt_flow_new(&params);
	enc = nt_enc_new(&params, &config);
	if (!code || !flow || !enc)
		return 1;
	nt_enc_start(enc, NT_SYNC_TRACE_ENABLE);
	nt_flow_set_code(flow, code, code);
	nt_flow_window(flow, trace, size, 0);
	while ((n = nt_flow_next(flow, ev, 64)) > 0)
		for (i = 0; i < n; i++)
			add(w, enc, &ev[i]);
	nt_enc_free(enc);
	nt_flow_free(flow);
	nt_code_free(code);
	return n;
}

static void *run(void *arg)
{
	struct nt_image *image = nt_image_new();
	static const unsigned int rounds = 5;
	struct work *w = arg;
	uint8_t trace[1 << 17];
	FILE *f = fopen(args[2], "rb");
	size_t size = f ? fread(trace, 1, sizeof(trace), f) : 0;
	unsigned int i;

	w->error = !size || !image || nt_image_add_elf(image, args[1], 0);
	for (i = 0; i < rounds && !w->error; i++)
		w->error = decode(w, image, trace, size);
	if (f)
		fclose(f);
	nt_image_free(image);
	return NULL;
}

int main(int argc, char **argv)
{
	struct work w[2] = { { .sum = 0 } };
	int i;

	args = argv;
	if (argc != 3)
		return 2;
	for (i = 0; i < 2; i++)
		if (pthread_create(&w[i].thread, NULL, run, &w[i]))
			return 2;
	for (i = 0; i < 2; i++)
		pthread_join(w[i].thread, NULL);
	printf("%llu branches, %llu bytes encoded\n", (unsigned long long)w[0].branches,
	       (unsigned long long)w[0].bytes);
	return w[0].error || w[1].error || !w[0].branches || w[0].sum != w[1].sum ||
	       w[0].bytes != w[1].bytes;
}
