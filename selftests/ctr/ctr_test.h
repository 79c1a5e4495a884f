/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * /dev/ctr: a hart's control transfer records, for tests
 */
#ifndef CTR_TEST_H
#define CTR_TEST_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define CTR_TEST_DEPTH_MAX	256

struct ctr_test_entry {
	__u64 source, target, data;
};

struct ctr_test_start {
	__u64 ctl;		/* sctrctl */
	__u32 depth;		/* 16, 32, ... 256 */
	__s32 cpu;		/* all that it executes, or -1: what this thread does */
};

struct ctr_test_records {
	__u32 status;		/* sctrstatus */
	__u32 depth;
	__u32 switches;		/* how often the records were saved and restored */
	__u32 moves;		/* ... on another CPU */
	struct ctr_test_entry entry[CTR_TEST_DEPTH_MAX]; /* the youngest first */
};

/*
 * Records begin with an empty buffer, at the return from ctr_test_start() in the
 * kernel, and end before that from ctr_test_stop(); for a thread, they pause from
 * ctr_test_pause() to ctr_test_resume() while it is not running.
 *
 * A file can be used for one thread, or one CPU, at a time.
 */
#define CTR_TEST_START	_IOW('c', 1, struct ctr_test_start)
#define CTR_TEST_STOP	_IOR('c', 2, struct ctr_test_records)

/*
 * Accesses to registers, one behind the other on one hart, on which nobody has
 * records made: csr is a number, or 0 for SCTRCLR; value is written, or what was read.
 */
#define CTR_TEST_ACCESSES_MAX	64

struct ctr_test_access {
	__u32 csr;
	__u16 write;
	__u16 trapped;		/* there is none, or it is closed */
	__u64 value;
};

struct ctr_test_accesses {
	__u32 n;
	__u32 reserved;
	struct ctr_test_access access[CTR_TEST_ACCESSES_MAX];
};

#define CTR_TEST_ACCESS	_IOWR('c', 3, struct ctr_test_accesses)

#endif /* CTR_TEST_H */
