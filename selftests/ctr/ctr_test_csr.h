/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CTR_TEST_CSR_H
#define CTR_TEST_CSR_H

#include "ctr_test.h"

/* What a hart's buffer holds, while it is somebody else's */
struct ctr_test_state {
	u64 ctl;
	u32 status, depth;
	struct ctr_test_entry entry[CTR_TEST_DEPTH_MAX];
};

/*
 * All four write sctrctl and return. Their names are what a reader of the trace
 * knows the points in time by; nothing else changes sctrctl.
 */
void ctr_test_start(u64 ctl);
void ctr_test_stop(u64 zero);
void ctr_test_pause(u64 zero);
void ctr_test_resume(u64 ctl);

bool ctr_test_present(void);
int ctr_test_set_depth(u32 depth);
void ctr_test_clear(void);
int ctr_test_access(struct ctr_test_access *access);
void ctr_test_save(struct ctr_test_state *state);
void ctr_test_restore(const struct ctr_test_state *state);

#endif /* CTR_TEST_CSR_H */
