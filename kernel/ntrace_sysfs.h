/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The PMU's files: format/, caps/, sinks/ and a link to each CPU's encoder.
 */
#ifndef _NTRACE_SYSFS_H
#define _NTRACE_SYSFS_H

#include "ntrace_component.h"

extern const struct attribute_group *ntrace_sysfs_groups[];

void ntrace_sysfs_init(void);
int ntrace_sysfs_bound(struct device *pmu, struct ntrace_component *comp);
void ntrace_sysfs_unbound(struct device *pmu, struct ntrace_component *comp);

#endif /* _NTRACE_SYSFS_H */
