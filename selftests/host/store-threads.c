// SPDX-License-Identifier: GPL-2.0-only
/*
 * Eight threads, one store: store-threads ELF TRACE. Some threads share an address space, others
 * have one of their own, with what is mapped in small pieces; all decode the same trace many
 * times, while one of them says now and then that its code has changed, and another asks for
 * figures. Some address spaces map files of their own, which are more than the store may hold. All
 * have to see the same branches, and the thread sanitizer may have nothing to say.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "nt-code.h"

#define THREADS	8
#define ROUNDS	12
#define PIECE	256
#define FILES_FROM	100

static uint8_t trace[1 << 24];
static size_t size;
static struct nt_params params;
static struct nt_store *store;
static struct nt_image *image;
static struct nt_code *common;

struct work {
	pthread_t thread;
	unsigned int number;
	uint64_t sum, branches, insns;
	int error;
};

/*
 * A piece of the image is a file, and the eighth of each is the process's own memory. Spaces from
 * FILES_FROM on share no file with others.
 */
static int map_piece(void *ctx, uint64_t space, uint64_t addr, struct nt_mapping *m)
{
	(void)ctx;
	m->start = addr & ~(uint64_t)(PIECE - 1);
	m->end = m->start + PIECE;
	m->file = addr / PIECE % 8 ? 1 + addr / PIECE : 0;
	if (m->file && space >= FILES_FROM)
		m->file += space << 32;
	return 0;
}

static int read_image(void *ctx, uint64_t space, uint64_t addr, void *buf, size_t len)
{
	return nt_image_read(ctx, space, addr, buf, len);
}

static int decode(struct work *w, struct nt_code *code)
{
	struct nt_flow *flow = nt_flow_new(&params);
	struct nt_event ev[256];
	int n = -NT_ENOMEM, i, batches = 0;

	w->sum = w->branches = w->insns = 0;
	if (!flow)
		return n;
	nt_flow_set_code(flow, code, code);
	nt_flow_window(flow, trace, size, 0);
	while ((n = nt_flow_next(flow, ev, 256)) > 0) {
		for (i = 0; i < n; i++) {
			w->insns += ev[i].insns;
			if (ev[i].kind != NT_EV_BRANCH)
				continue;
			w->branches++;
			w->sum = w->sum * 31 + (ev[i].from ^ ev[i].to << 7);
		}
		if (w->number == 0 && batches++ % 8 == 0)
			nt_code_invalidate(code, ev[0].from, ev[0].from + 100);
		if (w->number == 1) {
			struct nt_code_stats stats = { .size = sizeof(stats) };

			nt_store_get_stats(store, &stats);
		}
	}
	nt_flow_free(flow);
	return n;
}

static uint64_t space_of(const struct work *w, unsigned int round)
{
	return w->number > 5 ? FILES_FROM + w->number * ROUNDS + round : w->number;
}

static void *run(void *arg)
{
	struct work *w = arg;
	struct nt_code *own = NULL;
	unsigned int i;

	for (i = 0; i < ROUNDS && !w->error; i++) {
		if (w->number > 3)
			own = nt_store_code(store, space_of(w, i), read_image, map_piece, image);
		w->error = decode(w, own ? own : common);
		nt_code_free(own);
	}
	return NULL;
}

static int open_all(char **argv)
{
	FILE *f = fopen(argv[2], "rb");

	if (!f)
		return -1;
	size = fread(trace, 1, sizeof(trace), f);
	fclose(f);
	nt_params_init(&params);
	image = nt_image_new();
	if (!image || nt_image_add_elf(image, argv[1], 0))
		return -1;
	if (nt_image_isa(image))
		nt_isa_parse(nt_image_isa(image), &params);
	store = nt_store_new(&params, 1);
	common = nt_store_code(store, 0, read_image, map_piece, image);
	return common ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct work w[THREADS] = { { .number = 0 } };
	unsigned int i;

	if (argc != 3 || open_all(argv))
		return EXIT_FAILURE;
	for (i = 0; i < THREADS; i++) {
		w[i].number = i;
		if (pthread_create(&w[i].thread, NULL, run, &w[i]))
			return EXIT_FAILURE;
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(w[i].thread, NULL);
	for (i = 0; i < THREADS; i++) {
		if (w[i].error || w[i].sum != w[0].sum || w[i].branches != w[0].branches ||
		    w[i].insns != w[0].insns || !w[i].branches) {
			printf("thread %u: error %d, %llu branches, sum %llx\n", i, w[i].error,
			       (unsigned long long)w[i].branches, (unsigned long long)w[i].sum);
			return EXIT_FAILURE;
		}
	}
	printf("%llu branches, %u evictions\n", (unsigned long long)w[0].branches,
	       store->generation);
	if (!store->generation)
		return EXIT_FAILURE;
	nt_code_free(common);
	nt_store_free(store);
	nt_image_free(image);
	return EXIT_SUCCESS;
}
