/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A buffer of control transfer records: declarations for recording, registers and events
 */
#ifndef NTRACE_NT_CTR_INT_H
#define NTRACE_NT_CTR_INT_H

#include "nt-ctr.h"

/* The draft's master enable of external traps; WPRI in the ratified specification */
#define CTL_ETEN	(1ull << 38)

/* A transfer whose mode and time depend on the next event */
struct ctr_pending {
	bool is;
	struct nt_ctr_transfer transfer;
	uint64_t offset;	/* of its message */
};

struct nt_ctr {
	struct nt_ctr_params params;
	uint64_t fields;	/* implemented fields of the control registers */
	uint64_t ctl, vsctl;	/* in the ratified layout, whatever the actual one */
	uint64_t mstateen, hstateen; /* in the ratified layout, too */
	uint32_t mselect, select, vsselect;
	uint64_t target_mask, data_mask; /* implemented bits of entries */

	uint32_t depth, wrptr;	/* wrptr < depth, always */
	uint32_t room;		/* maximum depth */
	bool frozen, wrap;

	/* cycles since the last record, and whether they are known */
	uint64_t cycles, last_time;
	bool exact;

	/* the flow that nt_ctr_events() follows */
	uint8_t mode;
	bool owned;		/* mode comes from Ownership messages */
	struct nt_path *path;	/* up to the event */
	struct ctr_pending pending;
	/* sets of types of BRANCH events: recorded unchanged; without effect */
	uint32_t plain, idle;
	bool walks;		/* branches not taken are recorded */

	struct nt_ctr_entry entries[];
};

/*
 * Copy a caller's structure of `size` bytes into the known layout. False: it is smaller than the
 * first version's `least` bytes, or unknown members are not 0.
 */
bool ctr_take(void *to, size_t known, const void *from, size_t size, size_t least);

static inline bool ctr_is_draft(const struct nt_ctr *c)
{
	return c->params.flags & NT_CTR_DRAFT;
}

static inline void ctr_advance(struct nt_ctr *c)
{
	if (++c->wrptr == c->depth) {
		c->wrptr = 0;
		c->wrap = true;
	}
}

/* Logical entry i of fewer than depth */
static inline struct nt_ctr_entry *ctr_at(struct nt_ctr *c, uint32_t i)
{
	return &c->entries[c->wrptr > i ? c->wrptr - i - 1 : c->wrptr + c->depth - i - 1];
}

bool ctr_enabled(const struct nt_ctr *c, unsigned int mode);
/* Control or state has changed: recompute `plain` and `idle`. */
void ctr_refresh(struct nt_ctr *c);
/* Complete the pending transfer; next may be NULL. */
void ctr_settle(struct nt_ctr *c, const struct nt_event *next);
/* Restart the cycle counter; the next record cannot have its value. */
void ctr_restart_cycles(struct nt_ctr *c);
/* Clear the physical entries from 0 up to `to`, exclusive. */
void ctr_zero(struct nt_ctr *c, uint32_t to);

#endif /* NTRACE_NT_CTR_INT_H */
