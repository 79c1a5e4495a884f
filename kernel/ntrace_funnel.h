/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The funnel: several streams become one, a message at a time.
 */
#ifndef _NTRACE_FUNNEL_H
#define _NTRACE_FUNNEL_H

#include <linux/spinlock.h>

#include "ntrace_component.h"
#include "ntrace_regs.h"
#include "ntrace_timestamp.h"

/**
 * struct ntrace_funnel - one funnel
 * @comp:	the component that it is
 * @ts:		its timestamp unit, which others may share
 * @can_disable: inputs that can be disabled
 * @lock:	for all below; taken with interrupts off, within a sink's
 * @users:	paths that are enabled
 * @dis_input:	what trFunnelDisInput holds
 */
struct ntrace_funnel {
	struct ntrace_component comp;
	struct ntrace_timestamp ts;
	u32 can_disable;
	raw_spinlock_t lock;
	unsigned int users;
	u32 dis_input;
};

static inline struct ntrace_funnel *to_ntrace_funnel(struct ntrace_component *comp)
{
	return container_of(comp, struct ntrace_funnel, comp);
}

extern const struct ntrace_component_type ntrace_funnel_type;

void ntrace_funnel_wake(struct ntrace_funnel *funnel);
int ntrace_funnel_join(struct ntrace_funnel *funnel, unsigned int input);
int ntrace_funnel_leave(struct ntrace_funnel *funnel);

#endif /* _NTRACE_FUNNEL_H */
