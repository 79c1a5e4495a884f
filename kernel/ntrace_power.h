/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Clocks and power of components.
 */
#ifndef _NTRACE_POWER_H
#define _NTRACE_POWER_H

#include <linux/pm.h>
#include <linux/pm_qos.h>
#include <linux/types.h>

struct ntrace_component;

/**
 * struct ntrace_awake - harts that are kept out of idle states; at most one request is active
 * @one:	request to a CPU
 * @all:	request to all CPUs
 */
struct ntrace_awake {
	struct dev_pm_qos_request one;
	struct pm_qos_request all;
};

int ntrace_power_keep_awake(struct ntrace_awake *awake, int cpu);
void ntrace_power_let_sleep(struct ntrace_awake *awake);
int ntrace_power_init(struct device *dev);
bool ntrace_power_last(struct ntrace_component *comp);
int ntrace_power_get(struct ntrace_component *comp);
void ntrace_power_put(struct ntrace_component *comp);

extern const struct dev_pm_ops ntrace_power_ops;

#endif /* _NTRACE_POWER_H */
