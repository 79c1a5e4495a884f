// SPDX-License-Identifier: GPL-2.0-only
/*
 * SHA-256 (FIPS 180-4): the ID of a recording, the same that sha256sum prints
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "edges.h"

static const uint32_t k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5,
	0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
	0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
	0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
	0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
	0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5,
	0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
	0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t ror(uint32_t x, unsigned int n)
{
	return x >> n | x << (32 - n);
}

static uint32_t load(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void expand(uint32_t w[64], const uint8_t *p)
{
	unsigned int i;

	for (i = 0; i < 16; i++)
		w[i] = load(p + 4 * i);
	for (; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];

		w[i] = w[i - 16] + (ror(a, 7) ^ ror(a, 18) ^ a >> 3) + w[i - 7] +
		       (ror(b, 17) ^ ror(b, 19) ^ b >> 10);
	}
}

static void add_block(uint32_t state[8], const uint8_t *p)
{
	uint32_t w[64], v[8], t1, t2;
	unsigned int i;

	expand(w, p);
	memcpy(v, state, sizeof(v));
	for (i = 0; i < 64; i++) {
		t1 = v[7] + (ror(v[4], 6) ^ ror(v[4], 11) ^ ror(v[4], 25)) +
		     ((v[4] & v[5]) ^ (~v[4] & v[6])) + k[i] + w[i];
		t2 = (ror(v[0], 2) ^ ror(v[0], 13) ^ ror(v[0], 22)) +
		     ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
		memmove(v + 1, v, 7 * sizeof(*v));
		v[4] += t1;
		v[0] = t1 + t2;
	}
	for (i = 0; i < 8; i++)
		state[i] += v[i];
}

void edges_sha256_begin(struct edges_sha256 *s)
{
	*s = (struct edges_sha256){ .state = {
		0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
		0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
	} };
}

void edges_sha256_add(struct edges_sha256 *s, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;
	size_t have = s->len % 64, n;

	s->len += len;
	while (len) {
		if (!have && len >= 64) {
			add_block(s->state, p);
			n = 64;
		} else {
			n = len < 64 - have ? len : 64 - have;
			memcpy(s->block + have, p, n);
			have = (have + n) % 64;
			if (!have)
				add_block(s->state, s->block);
		}
		p += n;
		len -= n;
	}
}

void edges_sha256_end(struct edges_sha256 *s, uint8_t digest[EDGES_SHA256])
{
	static const uint8_t pad[64] = { 0x80 };
	uint64_t bits = 8 * s->len;
	uint8_t size[8];
	unsigned int i;

	for (i = 0; i < 8; i++)
		size[i] = (uint8_t)(bits >> (56 - 8 * i));
	edges_sha256_add(s, pad, 1 + (119 - s->len % 64) % 64);
	edges_sha256_add(s, size, sizeof(size));
	for (i = 0; i < EDGES_SHA256; i++)
		digest[i] = (uint8_t)(s->state[i / 4] >> (24 - 8 * (i % 4)));
}

void edges_sha256_hex(const uint8_t digest[EDGES_SHA256], char hex[EDGES_SHA256_HEX])
{
	size_t i;

	for (i = 0; i < EDGES_SHA256; i++)
		sprintf(hex + 2 * i, "%02x", digest[i]);
}

void edges_sha256_file(const char *path, uint8_t digest[EDGES_SHA256])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), inside;
	struct edges_sha256 s;
	uint8_t buf[1 << 16];
	struct stat st;
	ssize_t n;

	if (fd >= 0 && !fstat(fd, &st) && S_ISDIR(st.st_mode)) {
		inside = openat(fd, "data", O_RDONLY | O_CLOEXEC);
		close(fd);
		fd = inside;
	}
	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	edges_sha256_begin(&s);
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		edges_sha256_add(&s, buf, n);
	if (n < 0)
		die("%s: %s", path, strerror(errno));
	edges_sha256_end(&s, digest);
	close(fd);
}
