// SPDX-License-Identifier: GPL-2.0-only
/*
 * A workload of a compressor's kind: finds repeats through hash chains, codes what is left with an
 * adaptive binary range coder, expands it again and compares. REPEAT says how often.
 */

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifndef REPEAT
#define REPEAT 7
#endif

#define SIZE	32768
#define HASHES	4096
#define REACH	4096
#define LONGEST	66
#define CHAIN	12

static uint8_t input[SIZE], packed[2 * SIZE], output[SIZE];
static int32_t heads[HASHES];
static int32_t before[SIZE];
static uint16_t literals[256], lengths[64], distances[4096], kind;

static uint32_t seed = 1;

static unsigned int next_random(void)
{
	seed = seed * 1664525 + 1013904223;
	return seed >> 16;
}

/* Words of a small vocabulary, the frequent ones more often */
static void make_input(void)
{
	static const char *const words[] = {
		"the ", "of ", "trace ", "a ", "branch ", "message ", "returns ", "count ",
		"address ", "history ", "decoder ", "sync, ", "until ", "there.\n", "0x", "is ",
	};
	unsigned int at = 0;

	while (at < SIZE) {
		unsigned int n = next_random() & 15 & next_random();
		const char *w = words[n];

		while (*w && at < SIZE)
			input[at++] = *w++;
		if (!(next_random() & 7) && at < SIZE)
			input[at++] = next_random();
	}
}

/* ---- range coder */

struct coder {
	uint32_t low, range, code;
	uint8_t *at;
};

static void encode_bit(struct coder *c, uint16_t *p, unsigned int bit)
{
	uint32_t bound = (c->range >> 12) * *p;

	if (bit) {
		c->low += bound;
		c->range -= bound;
		*p -= *p >> 5;
	} else {
		c->range = bound;
		*p += (4096 - *p) >> 5;
	}
	while ((c->low ^ (c->low + c->range)) < 1u << 24 ||
	       (c->range < 1u << 16 && ((c->range = -c->low & 0xffff), 1))) {
		*c->at++ = c->low >> 24;
		c->low <<= 8;
		c->range <<= 8;
	}
}

static unsigned int decode_bit(struct coder *c, uint16_t *p)
{
	uint32_t bound = (c->range >> 12) * *p;
	unsigned int bit = c->code - c->low >= bound;

	if (bit) {
		c->low += bound;
		c->range -= bound;
		*p -= *p >> 5;
	} else {
		c->range = bound;
		*p += (4096 - *p) >> 5;
	}
	while ((c->low ^ (c->low + c->range)) < 1u << 24 ||
	       (c->range < 1u << 16 && ((c->range = -c->low & 0xffff), 1))) {
		c->code = c->code << 8 | *c->at++;
		c->low <<= 8;
		c->range <<= 8;
	}
	return bit;
}

static void encode_tree(struct coder *c, uint16_t *tree, unsigned int bits, unsigned int value)
{
	unsigned int node = 1;

	while (bits--) {
		unsigned int bit = value >> bits & 1;

		encode_bit(c, &tree[node], bit);
		node = node << 1 | bit;
	}
}

static unsigned int decode_tree(struct coder *c, uint16_t *tree, unsigned int bits)
{
	unsigned int node = 1, n;

	for (n = 0; n < bits; n++)
		node = node << 1 | decode_bit(c, &tree[node]);
	return node - (1u << bits);
}

static void fill(uint16_t *p, unsigned int n)
{
	while (n--)
		*p++ = 2048;
}

static void reset_models(void)
{
	fill(literals, 256);
	fill(lengths, 64);
	fill(distances, 4096);
	kind = 2048;
}

/* ---- repeats */

static unsigned int hash(const uint8_t *p)
{
	return (p[0] << 16 ^ p[1] << 8 ^ p[2]) * 2654435761u >> 20;
}

static unsigned int same(const uint8_t *a, const uint8_t *b, unsigned int max)
{
	unsigned int n = 0;

	while (n < max && a[n] == b[n])
		n++;
	return n;
}

static unsigned int find(unsigned int at, unsigned int *distance)
{
	unsigned int max = SIZE - at < LONGEST ? SIZE - at : LONGEST, best = 0, tries;
	int32_t from = heads[hash(input + at)];

	for (tries = 0; tries < CHAIN && from >= 0 && at - from < REACH; tries++) {
		unsigned int n = same(input + from, input + at, max);

		if (n > best) {
			best = n;
			*distance = at - from;
		}
		from = before[from];
	}
	return best;
}

static void remember(unsigned int at)
{
	unsigned int h = hash(input + at);

	before[at] = heads[h];
	heads[h] = at;
}

static size_t squeeze(void)
{
	struct coder c = { .range = UINT32_MAX, .at = packed };
	unsigned int at = 0, n, distance = 0;

	memset(heads, 0xff, sizeof(heads));
	reset_models();
	while (at < SIZE) {
		n = at + 3 <= SIZE ? find(at, &distance) : 0;
		encode_bit(&c, &kind, n >= 3);
		if (n >= 3) {
			encode_tree(&c, lengths, 6, n - 3);
			encode_tree(&c, distances, 12, distance);
		} else {
			n = 1;
			encode_tree(&c, literals, 8, input[at]);
		}
		for (; n; n--, at++)
			if (at + 3 <= SIZE)
				remember(at);
	}
	for (n = 0; n < 4; n++, c.low <<= 8)
		*c.at++ = c.low >> 24;
	return c.at - packed;
}

static void expand(void)
{
	struct coder c = { .range = UINT32_MAX, .at = packed };
	unsigned int at = 0, n, distance;

	reset_models();
	for (n = 0; n < 4; n++)
		c.code = c.code << 8 | *c.at++;
	while (at < SIZE) {
		if (!decode_bit(&c, &kind)) {
			output[at++] = decode_tree(&c, literals, 8);
			continue;
		}
		n = decode_tree(&c, lengths, 6) + 3;
		distance = decode_tree(&c, distances, 12);
		for (; n && at < SIZE; n--, at++)
			output[at] = output[at - distance];
	}
}

int main(void)
{
	size_t size = 0;
	int i;

	for (i = 0; i < REPEAT; i++) {
		make_input();
		size += squeeze();
		expand();
		if (memcmp(input, output, SIZE)) {
			printf("squeeze: differs\n");
			return 1;
		}
	}
	printf("squeeze: %d to %lu\n", REPEAT * SIZE, (unsigned long)size);
	return 0;
}
