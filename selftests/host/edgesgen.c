// SPDX-License-Identifier: GPL-2.0-only
/*
 * A file of edges by hand, as Documentation/trace/ntrace-edges.rst describes it and nothing else,
 * for tests of ntrace merge: edgesgen <LINES, each "FILE HOST RECORDING SEED EDGES FILES"
 *
 * RECORDING is what the recording's number begins with, SEED makes the edges: the same ones are the
 * same. They are of FILES programs, each at one of five places: so files of different seeds have
 * a fifth of their edges in common. With COUNT=N in the environment each has that count.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK	65000

static uint64_t state;
static uint8_t raw[1 << 20];
static size_t len;
static uint32_t check;		/* of the part */
static uint64_t fixed;		/* count of each edge; 0: another one of each */

static uint64_t draw(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return state >> 33;
}

static uint32_t crc32(uint32_t crc, const uint8_t *p, size_t n)
{
	static uint32_t table[256];
	uint32_t i, j;

	for (i = 0; !table[255] && i < 256; i++) {
		uint32_t c = i;

		for (j = 0; j < 8; j++)
			c = c & 1 ? 0xedb88320 ^ c >> 1 : c >> 1;
		table[i] = c;
	}
	crc = ~crc;
	while (n--)
		crc = table[(crc ^ *p++) & 255] ^ crc >> 8;
	return ~crc;
}

static void put(uint64_t value)
{
	do {
		raw[len++] = (value & 127) | (value > 127) << 7;
	} while (value >>= 7);
}

static void put_bytes(const void *p, size_t n)
{
	memcpy(raw + len, p, n);
	len += n;
}

static void put_text(const char *s)
{
	put(strlen(s));
	put_bytes(s, strlen(s));
}

/* Stored as it is */
static uint32_t block(char type)
{
	uint8_t head[13] = { type };
	uint32_t n = len, sum, all;

	memcpy(head + 1, &n, 4);
	memcpy(head + 5, &n, 4);
	sum = crc32(crc32(0, head, 9), raw, len);
	memcpy(head + 9, &sum, 4);
	fwrite(head, 1, 13, stdout);
	fwrite(raw, 1, len, stdout);
	all = crc32(0, raw, len);
	len = 0;
	return all;
}

static void edges_block(void)
{
	uint32_t of = block('E');

	check = crc32(check, (uint8_t *)&of, 4);
}

/* What an edge adds to its place, and how often it was taken */
static uint64_t draw_edge(uint64_t *count)
{
	uint64_t at = draw() % 5 * 2;

	*count = draw() % 4 ? draw() % 100 + 1 : draw() * 10 + 1;
	if (fixed)
		*count = fixed;
	return at;
}

/* All counts that will be drawn */
static uint64_t count_all(uint64_t edges)
{
	uint64_t before = state, counts = 0, count;

	while (edges--) {
		draw_edge(&count);
		counts += count;
	}
	state = before;
	return counts;
}

static void head(const char *host, const char *recording, unsigned int files, uint64_t branches)
{
	uint8_t id[32] = { 0 }, build_id[20] = { 0 };
	unsigned int i;

	memcpy(id, recording, strnlen(recording, 32));
	put(0);
	put(1);
	put_bytes(id, 32);
	put_text(host);
	put(branches);
	put(0);
	put(0);
	put(0);
	put(files);
	for (i = 0; i < files; i++) {
		char name[32];

		build_id[0] = i >> 8;
		build_id[1] = i;
		build_id[19] = 1;
		put(20);
		put_bytes(build_id, 20);
		put(0);
		sprintf(name, "prog%u", i);
		put_text(name);
	}
	check = block('H');
}

static void make(const char *host, const char *recording, uint64_t edges, uint64_t files)
{
	uint64_t i, last = 0, count, counts = count_all(edges), of_one = edges / files + 1;

	fwrite("NTEDGES\n\1", 1, 9, stdout);
	head(host, recording, files, counts);
	for (i = 0; i < edges; i++) {
		uint64_t at = (i % of_one) * 10 + draw_edge(&count);
		uint64_t from = (i / of_one + 1) << 40 | (0x10000 + at);
		int64_t to = (int64_t)(at * 7 % 4096) - 2048;

		if (len > BLOCK) {
			edges_block();
			last = 0;
		}
		put((from - last) << 3);
		put((uint64_t)to << 1 ^ (uint64_t)(to >> 63));
		put(count);
		last = from;
	}
	if (len)
		edges_block();
	put(edges);
	put(counts);
	put(counts);
	put(check);
	block('S');
	put(1);
	put(edges);
	block('T');
}

int main(void)
{
	char file[4096], host[64], recording[64];
	uint64_t seed, edges, files;

	fixed = getenv("COUNT") ? strtoull(getenv("COUNT"), NULL, 0) : 0;
	while (scanf("%4095s %63s %63s %" SCNu64 " %" SCNu64 " %" SCNu64, file, host, recording,
		     &seed, &edges, &files) == 6) {
		if (!freopen(file, "w", stdout))
			return 1;
		state = seed * 77777 + 1;
		draw();
		make(host, recording, edges, files);
	}
	return fflush(stdout) || ferror(stdout);
}
