/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * As much of the kernel and of KUnit as a leaf of the driver and its tests need, to run them
 * without a kernel. Included before everything else; the headers that the sources name are empty.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;

#define U64_MAX			UINT64_MAX

#define SZ_1K			(1 << 10)
#define SZ_2K			(2 * SZ_1K)
#define SZ_4K			(4 * SZ_1K)
#define SZ_8K			(8 * SZ_1K)
#define SZ_16K			(16 * SZ_1K)
#define SZ_32K			(32 * SZ_1K)
#define SZ_64K			(64 * SZ_1K)
#define SZ_128K			(128 * SZ_1K)
#define SZ_256K			(256 * SZ_1K)
#define SZ_512K			(512 * SZ_1K)
#define SZ_1M			(1 << 20)
#define SZ_4M			(4 * SZ_1M)
#define SZ_256M			(256 * SZ_1M)
#define NSEC_PER_USEC		1000L
#define NSEC_PER_MSEC		1000000L
#define NSEC_PER_SEC		1000000000L

#define BIT(n)			(1UL << (n))
#define BIT_ULL(n)		(1ULL << (n))
#define GENMASK(high, low)	(~0UL >> (63 - (high)) & ~0UL << (low))
#define FIELD_PREP(mask, value)	((__typeof__(mask))(value) << __builtin_ctzl(mask) & (mask))
#define FIELD_GET(mask, value)	(((value) & (mask)) >> __builtin_ctzl(mask))
#define upper_32_bits(x)	((u32)((u64)(x) >> 32))
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define min(a, b)		((a) < (b) ? (a) : (b))
#define max(a, b)		((a) > (b) ? (a) : (b))
#define min_t(type, a, b)	min((type)(a), (type)(b))
#define max_t(type, a, b)	max((type)(a), (type)(b))
#define clamp(x, low, high)	min(max(x, low), high)
#define ALIGN_DOWN(x, a)	((x) & ~((__typeof__(x))(a) - 1))
#define ALIGN(x, a)		ALIGN_DOWN((x) + (a) - 1, a)
#define div64_u64(a, b)		((u64)(a) / (u64)(b))

#define EXPORT_SYMBOL_IF_KUNIT(symbol)	_Static_assert(1, "")
#define MODULE_DESCRIPTION(text)	_Static_assert(1, "")
#define MODULE_IMPORT_NS(name)		_Static_assert(1, "")
#define MODULE_LICENSE(text)		_Static_assert(1, "")

struct kunit {
	unsigned int failures, expectations;
};

struct kunit_case {
	void (*run)(struct kunit *test);
	const char *name;
};

struct kunit_suite {
	const char *name;
	struct kunit_case *test_cases;
};

#define KUNIT_CASE(function)		{ function, #function }
#define GFP_KERNEL			0
#define kunit_kcalloc(test, n, size, gfp)	calloc(n, size)

static inline bool kunit_expect(struct kunit *test, bool ok, const char *file, int line,
				const char *what, u64 left, u64 right)
{
	test->expectations++;
	if (!ok && test->failures++ < 5)
		printf("# %s:%d: expected %s: %#llx, %#llx\n", file, line, what,
		       (unsigned long long)left, (unsigned long long)right);
	return ok;
}

#define KUNIT_COMPARE(test, a, op, b) ({							\
	__typeof__(a) _a = (a);									\
	__typeof__(b) _b = (b);									\
	kunit_expect(test, _a op _b, __FILE__, __LINE__, #a " " #op " " #b, (u64)_a, (u64)_b);	\
})

#define KUNIT_EXPECT_EQ(test, a, b)	KUNIT_COMPARE(test, a, ==, b)
#define KUNIT_EXPECT_LE(test, a, b)	KUNIT_COMPARE(test, a, <=, b)
#define KUNIT_EXPECT_LT(test, a, b)	KUNIT_COMPARE(test, a, <, b)
#define KUNIT_EXPECT_GE(test, a, b)	KUNIT_COMPARE(test, a, >=, b)
#define KUNIT_EXPECT_GT(test, a, b)	KUNIT_COMPARE(test, a, >, b)
#define KUNIT_EXPECT_TRUE(test, a)	KUNIT_COMPARE(test, !!(a), ==, 1)
#define KUNIT_EXPECT_NOT_NULL(test, p)	KUNIT_EXPECT_TRUE(test, p)
#define KUNIT_EXPECT_FALSE(test, a)	KUNIT_COMPARE(test, !!(a), ==, 0)
#define KUNIT_ASSERT(compared)		do { if (!(compared)) abort(); } while (0)
#define KUNIT_ASSERT_EQ(test, a, b)	KUNIT_ASSERT(KUNIT_EXPECT_EQ(test, a, b))
#define KUNIT_ASSERT_LT(test, a, b)	KUNIT_ASSERT(KUNIT_EXPECT_LT(test, a, b))
#define KUNIT_ASSERT_GT(test, a, b)	KUNIT_ASSERT(KUNIT_EXPECT_GT(test, a, b))
#define KUNIT_ASSERT_NOT_NULL(test, p)	KUNIT_ASSERT(KUNIT_EXPECT_TRUE(test, p))

/* Lines as the host's tests print them */
static inline int kunit_run(const struct kunit_suite *suite)
{
	unsigned int i, failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; suite->test_cases[i].run; i++) {
		struct kunit test = { 0 };

		suite->test_cases[i].run(&test);
		printf("%sok %u - %s: %u expectations\n", test.failures ? "not " : "", i + 1,
		       suite->test_cases[i].name, test.expectations);
		failed += !!test.failures || !test.expectations;
	}
	printf("1..%u\n", i);

	return !!failed;
}

#define kunit_test_suite(suite)		int main(void) { return kunit_run(&(suite)); }
