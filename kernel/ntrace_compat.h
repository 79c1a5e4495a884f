/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What newer kernels have, for older ones. Not needed within a kernel tree.
 */
#ifndef _NTRACE_COMPAT_H
#define _NTRACE_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *timer),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

#endif /* _NTRACE_COMPAT_H */
