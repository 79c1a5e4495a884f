/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Backports for older kernels, and functions that the kernel does not export to modules. Not needed
 * in a kernel tree.
 */
#ifndef _NTRACE_COMPAT_H
#define _NTRACE_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/perf_event.h>
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

/* AUX pause and resume: new in 6.13, and backported to some older kernels */
#ifdef PERF_EF_PAUSE
static inline bool ntrace_aux_paused(const struct perf_event *event)
{
	return READ_ONCE(event->hw.aux_paused);
}
#else
#define PERF_EF_PAUSE		0
#define PERF_EF_RESUME		0
#define PERF_PMU_CAP_AUX_PAUSE	0

static inline bool ntrace_aux_paused(const struct perf_event *event)
{
	return false;
}
#endif

/*
 * perf_allow_kernel() lost its argument in 6.15, and in some older kernels: Debian's 6.12.107 has
 * the argument, 6.12.117 does not. So test its type, not the version of the kernel.
 */
static inline int ntrace_allow_kernel(struct perf_event_attr *attr)
{
	int (*with_attr)(struct perf_event_attr *attr);
	int (*without)(void);

	with_attr = __builtin_choose_expr(__same_type(&perf_allow_kernel, with_attr),
					  &perf_allow_kernel, NULL);
	without = __builtin_choose_expr(__same_type(&perf_allow_kernel, without),
					&perf_allow_kernel, NULL);
	return with_attr ? with_attr(attr) : without();
}

/* perf's functions for AUX area samples; only usable if ntrace_sample_init() returned true */
bool ntrace_sample_init(void);
unsigned int ntrace_output_copy(struct perf_output_handle *handle, const void *buf,
				unsigned int len);
long ntrace_output_copy_aux(struct perf_output_handle *aux, struct perf_output_handle *handle,
			    unsigned long from, unsigned long to);

#endif /* _NTRACE_COMPAT_H */
