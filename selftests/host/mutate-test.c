// SPDX-License-Identifier: GPL-2.0-only
/*
 * Damaged input under AddressSanitizer and UndefinedBehaviorSanitizer: traces
 * with bytes changed, lost, repeated and cut off, with right and wrong
 * parameters, and damaged ELF files. Nothing may crash or hang, and whatever
 * comes out must still be what it claims to be: linear code up to each event.
 *
 * SEED and ROUNDS may be set in the environment.
 */
#include <string.h>

#include "cmocka-tap.h"
#include "linear.h"
#include "random.h"

/* Of one trace, so that a repetition count cannot make a test out of itself */
#define EVENTS_MAX	20000

struct sample {
	const char *folder, *elf, *trace;
	uint8_t retstack;
	bool timestamps;
	enum nt_profile profile;
	struct nt_image *image;
	uint8_t *bytes;
	size_t len;
};

static struct sample samples[] = {
	{ "towers", "towers.elf", "L0.bin", 0, false, NT_PROFILE_1_0, NULL, NULL, 0 },
	{ "towers", "towers.elf", "L2.bin", 0, false, NT_PROFILE_1_0, NULL, NULL, 0 },
	{ "towers", "towers.elf", "L4.bin", 3, false, NT_PROFILE_1_0, NULL, NULL, 0 },
	{ "mix", "mix.elf", "L4.bin", 2, false, NT_PROFILE_1_0, NULL, NULL, 0 },
	{ "rv32", "rv32.elf", "L3.bin", 1, false, NT_PROFILE_SIFIVE,
	  NULL, NULL, 0 },
	{ "rv32", "rv32.elf", "timed.bin", 1, true, NT_PROFILE_SIFIVE,
	  NULL, NULL, 0 },
};

#define NR_SAMPLES (sizeof(samples) / sizeof(samples[0]))

static void path_of(char *path, size_t size, const struct sample *c, const char *file)
{
	const char *out = getenv("out");

	snprintf(path, size, "%s/samples/%s/%s", out ? out : "build/host", c->folder, file);
}

static uint8_t *read_file(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	uint8_t *bytes;

	if (!f)
		print_error("cannot open %s (is $out set?)\n", path);
	assert_non_null(f);
	bytes = malloc(1 << 20);
	*len = fread(bytes, 1, 1 << 20, f);
	fclose(f);
	return bytes;
}

static int load(void **unused)
{
	size_t i;

	(void)unused;
	for (i = 0; i < NR_SAMPLES; i++) {
		struct sample *c = &samples[i];
		char path[4096];

		path_of(path, sizeof(path), c, c->trace);
		c->bytes = read_file(path, &c->len);
		c->image = nt_image_new();
		path_of(path, sizeof(path), c, c->elf);
		assert_int_equal(nt_image_add_elf(c->image, path, 0), 0);
	}
	return 0;
}

static int unload(void **unused)
{
	size_t i;

	(void)unused;
	for (i = 0; i < NR_SAMPLES; i++) {
		nt_image_free(samples[i].image);
		free(samples[i].bytes);
	}
	return 0;
}

/* ------------------------------------------------------------- damage --- */

static size_t cut(uint8_t *b, size_t len)
{
	size_t from = rnd(len), n = rnd(64) + 1;

	if (n > len - from)
		n = len - from;
	memmove(b + from, b + from + n, len - from - n);
	return len - n;
}

static size_t again(uint8_t *b, size_t len, size_t room)
{
	size_t from = rnd(len), to = rnd(len), n = rnd(64) + 1;

	if (n > len - from)
		n = len - from;
	if (n > room - len)
		return len;
	memmove(b + to + n, b + to, len - to);
	memmove(b + to, b + from, n);
	return len + n;
}

static size_t damage(uint8_t *b, size_t len, size_t room)
{
	unsigned int times = rnd(8);

	while (times-- && len > 1) {
		switch (rnd(8)) {
		case 0:
		case 1:
			b[rnd(len)] ^= 1u << rnd(8);
			break;
		case 2:
			b[rnd(len)] = rnd(256);
			break;
		case 3:
			b[rnd(len)] &= ~3;	/* fields flow together */
			break;
		case 4:
			len = cut(b, len);
			break;
		case 5:
			len = again(b, len, room);
			break;
		case 6:
			memset(b + rnd(len), rnd(2) ? 0 : 0xff, 1);
			break;
		default:
			len = 1 + rnd(len);
		}
	}
	return len;
}

static void wrong_params(struct nt_params *p)
{
	if (rnd(4))
		return;
	switch (rnd(9)) {
	case 0:
		p->extaddr = true;
		break;
	case 1:
		p->seqjump = true;
		break;
	case 2:
		p->alljumps = true;
		break;
	case 3:
		p->retstack = rnd(4);
		break;
	case 4:
		p->srcbits = rnd(13);
		p->src = (int32_t)rnd(1u << p->srcbits) - 1;
		break;
	case 5:
		p->timestamps = !p->timestamps;
		break;
	case 6:
		p->xlen ^= 32 | 64;
		break;
	case 7:
		p->profile = (enum nt_profile)rnd(3);
		break;
	default:
		p->isa = rnd(32);
		p->jvt = 0x80001000;
	}
}

/* ------------------------------------------------------------ checking --- */

/* Follow one trace; true when it ended by itself */
static bool follow(const struct sample *c, const struct nt_params *p, const uint8_t *b,
		   size_t len)
{
	struct linear l = { .code = nt_code_new(p, nt_image_read, c->image) };
	struct nt_flow *flow = nt_flow_new(p);
	unsigned int max = 1 + rnd(256), total = 0;
	struct nt_event ev[256];
	int i, n;

	l.mask = p->xlen == 32 ? UINT32_MAX : UINT64_MAX;
	assert_non_null(l.code);
	assert_non_null(flow);
	nt_flow_set_code(flow, l.code, l.code);
	nt_flow_window(flow, b, len, 0);
	if (!rnd(10))
		nt_flow_skip_partial(flow);
	while ((n = nt_flow_next(flow, ev, max)) > 0 && total < EVENTS_MAX) {
		for (i = 0; i < n; i++) {
			const char *wrong = linear_event(&l, &ev[i]);

			if (wrong)
				fail_msg("event %u, kind %u, %" PRIx64 " to %" PRIx64 ": %s",
					 total + i, ev[i].kind, ev[i].from, ev[i].to, wrong);
			assert_true(ev[i].offset <= len);
			assert_in_range(ev[i].kind, NT_EV_BRANCH, NT_EV_NOTICE);
		}
		total += n;
		if (!rnd(50))
			nt_code_invalidate(l.code, rnd(1ull << 32), 0);
		if (!rnd(50))
			nt_flow_set_code(flow, l.code, l.code);
	}
	assert_true(n >= 0);
	if (!n)
		assert_int_equal(nt_flow_consumed(flow), len);
	nt_flow_free(flow);
	nt_code_free(l.code);
	return !n;
}

static void dump(const struct nt_params *p, const uint8_t *b, size_t len)
{
	size_t at = 0;

	while (at < len) {
		char text[64];
		struct nt_msg m;
		int n = nt_msg_decode(p, b + at, len - at, &m);

		if (!n)
			break;
		if (n > 0)
			nt_msg_format(&m, text, sizeof(text));
		else
			assert_in_range(m.skip, 1, len - at);
		at += n > 0 ? (size_t)n : m.skip;
		assert_true(at <= len);
	}
}

static void R70_damaged_traces(void **unused)
{
	unsigned long i, n = rounds(3000), whole = 0;

	(void)unused;
	for (i = 0; i < n; i++) {
		const struct sample *c = &samples[rnd(NR_SAMPLES)];
		size_t room = c->len + 512, len = c->len;
		struct nt_params p;
		uint8_t *b = malloc(room), *exact;

		nt_params_init(&p);
		p.xlen = nt_image_xlen(c->image);
		p.retstack = c->retstack;
		p.timestamps = c->timestamps;
		p.profile = c->profile;
		wrong_params(&p);
		memcpy(b, c->bytes, len);
		len = damage(b, len, room);
		/* so that the sanitizer sees a read beyond the end */
		exact = malloc(len);
		memcpy(exact, b, len);
		dump(&p, exact, len);
		whole += follow(c, &p, exact, len);
		free(exact);
		free(b);
	}
	print_message("# %lu traces, %lu followed to their end\n", n, whole);
}

static void random_bytes(void **unused)
{
	unsigned long i, n = rounds(3000) / 2;

	(void)unused;
	for (i = 0; i < n; i++) {
		size_t len = 1 + rnd(300), at;
		uint8_t *b = malloc(len);
		struct nt_params p;

		nt_params_init(&p);
		wrong_params(&p);
		for (at = 0; at < len; at++)
			b[at] = rnd(256);
		dump(&p, b, len);
		follow(&samples[rnd(NR_SAMPLES)], &p, b, len);
		free(b);
	}
}

static void damaged_elf_files(void **unused)
{
	unsigned long i, n = rounds(3000) / 10;
	const char *dir = getenv("TMPDIR");
	char name[4096];
	int fd;

	(void)unused;
	snprintf(name, sizeof(name), "%s/ntrace-mutate-XXXXXX", dir ? dir : "/tmp");
	fd = mkstemp(name);
	assert_true(fd >= 0);
	for (i = 0; i < n; i++) {
		const struct sample *c = &samples[rnd(NR_SAMPLES)];
		struct nt_image *image = nt_image_new();
		char path[4096];
		uint8_t *b, buf[64];
		size_t len, k;

		path_of(path, sizeof(path), c, c->elf);
		b = read_file(path, &len);
		for (k = rnd(20); k; k--)
			b[rnd(rnd(2) ? len : 64 + 56 * 4)] = rnd(256);
		if (!rnd(10))
			len = rnd(len);
		/* the end of it is where the attributes and sections are */
		for (k = rnd(10); k && len > 5000; k--)
			b[len - 1 - rnd(5000)] = rnd(256);
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_true(pwrite(fd, b, len, 0) == (ssize_t)len);
		if (!nt_image_add_elf(image, name, rnd(2) ? 0 : rnd(UINT64_MAX)))
			for (k = 0; k < 20; k++)
				nt_image_read(image, 0, 0x80000000 + rnd(0x3000), buf, rnd(64));
		if (nt_image_isa(image)) {
			struct nt_params p;

			nt_isa_parse(nt_image_isa(image), &p);
		}
		nt_image_free(image);
		free(b);
	}
	close(fd);
	unlink(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(R70_damaged_traces),
		cmocka_unit_test(random_bytes),
		cmocka_unit_test(damaged_elf_files),
	};

	rnd_begin();
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, load, unload);
}
