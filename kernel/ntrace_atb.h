/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The bridge to an AMBA trace bus, where CoreSight components take over.
 */
#ifndef _NTRACE_ATB_H
#define _NTRACE_ATB_H

#include <linux/spinlock.h>

#include "ntrace_component.h"

/**
 * struct ntrace_atb - one bridge
 * @comp:	the component that it is
 * @id:		the trace source that it is on the bus
 * @lock:	for @users; interrupts off
 * @users:	paths that are enabled
 */
struct ntrace_atb {
	struct ntrace_component comp;
	u8 id;
	raw_spinlock_t lock;
	unsigned int users;
};

static inline struct ntrace_atb *to_ntrace_atb(struct ntrace_component *comp)
{
	return container_of(comp, struct ntrace_atb, comp);
}

extern const struct ntrace_component_type ntrace_atb_type;

#endif /* _NTRACE_ATB_H */
