// SPDX-License-Identifier: GPL-2.0-only
/*
 * How fast the tandem-verification codec and the shadow state are, in megabytes of CPU time each
 *	tv-bench TRACE...	(the first 64 MB of it)
 * Read: item by item. Write: the items read, again, which must be the same bytes. Apply: reading,
 * and the shadow state. Best of five runs.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../host/tv-write.h"
#include "bench.h"

#define MOST	(64u << 20)
#define RUNS	5

static const struct nt_tv_params rv64 = NT_TV_PARAMS_RV64;

/* As many whole items as there are; sum keeps the compiler from leaving it out */
static size_t read_all(const uint8_t *buf, size_t len, struct nt_tv_shadow *sh, uint64_t *sum)
{
	struct nt_tv_reader r;
	struct nt_tv_item it;
	size_t at = 0;
	int n;

	nt_tv_reader_init(&r, &rv64);
	while ((n = nt_tv_next(&r, buf + at, len - at, &it)) > 0) {
		at += n;
		*sum += it.value;
		if (sh && nt_tv_shadow_item(sh, &it) < 0)
			die("the shadow state refuses a group");
	}
	if (n < 0)
		die(nt_tv_strerror(n));
	return at;
}

/* Items of the first part, often, so that reading them is not in the time */
#define ITEMS	65536u

static double write_rate(const uint8_t *buf, size_t len)
{
	static struct nt_tv_item items[ITEMS];
	static uint8_t out[2u << 20];
	struct nt_tv_reader r;
	struct nt_tv_writer w;
	size_t n = 0, at = 0, rounds;
	double best = 0;
	int got = 1;

	nt_tv_reader_init(&r, &rv64);
	while (n < ITEMS && (got = nt_tv_next(&r, buf + at, len - at, &items[n])) > 0) {
		at += got;
		n++;
	}
	rounds = MOST / at + 1;
	for (int run = 0; run < RUNS; run++) {
		double t = now(CLOCK_THREAD_CPUTIME_ID);

		for (size_t k = 0; k < rounds; k++) {
			nt_tv_writer_init(&w, &rv64, out, sizeof(out), NULL, NULL);
			for (size_t i = 0; i < n; i++)
				write_item(&w, &items[i]);
		}
		t = at * rounds / (now(CLOCK_THREAD_CPUTIME_ID) - t) / 1e6;
		best = t > best ? t : best;
	}
	if (w.error || nt_tv_written(&w) != at || memcmp(out, buf, at))
		die("not written as it was read");
	return best;
}

static double read_rate(const uint8_t *buf, size_t len, bool apply, uint64_t *sum)
{
	double best = 0;

	for (int run = 0; run < RUNS; run++) {
		struct nt_tv_shadow *sh = apply ? nt_tv_shadow_new(&rv64, 65536) : NULL;
		double t = now(CLOCK_THREAD_CPUTIME_ID);
		size_t n = read_all(buf, len, sh, sum);

		t = n / (now(CLOCK_THREAD_CPUTIME_ID) - t) / 1e6;
		best = t > best ? t : best;
		nt_tv_shadow_free(sh);
	}
	return best;
}

int main(int argc, char **argv)
{
	uint8_t *buf = malloc(MOST);
	uint64_t sum = 0;

	for (int i = 1; buf && i < argc; i++) {
		FILE *f = fopen(argv[i], "rb");
		size_t len;

		if (!f)
			die(argv[i]);
		len = fread(buf, 1, MOST, f);
		fclose(f);
		if (!len)
			die("an empty trace");
		printf("%-28s read %5.0f MB/s  write %5.0f MB/s  read and apply %5.0f MB/s\n",
		       argv[i], read_rate(buf, len, false, &sum), write_rate(buf, len),
		       read_rate(buf, len, true, &sum));
	}
	return sum == 42;	/* hardly ever, but who knows that */
}
