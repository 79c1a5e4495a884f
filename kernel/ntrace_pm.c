// SPDX-License-Identifier: GPL-2.0-only
/*
 * Power management. A hart in a deep idle state, or a system that is suspended, may take the state
 * of trace components with it. So tracing stops before, publishing what there is, and begins anew
 * afterwards, with components that are reset if they forgot what they were.
 */
#include <linux/cpu_pm.h>
#include <linux/notifier.h>
#include <linux/smp.h>
#include <linux/suspend.h>

#include "ntrace_pm.h"
#include "ntrace_run.h"

/* The hart's own: with interrupts off, on that hart */
static int ntrace_pm_idle(struct notifier_block *nb, unsigned long action, void *data)
{
	switch (action) {
	case CPU_PM_ENTER:
		ntrace_run_sleep(NTRACE_ASLEEP_IDLE);
		break;
	case CPU_PM_ENTER_FAILED:
	case CPU_PM_EXIT:
		ntrace_run_wake(NTRACE_ASLEEP_IDLE);
		break;
	}

	return NOTIFY_OK;
}

static struct notifier_block ntrace_pm_idle_block = {
	.notifier_call = ntrace_pm_idle,
};

/* Before tasks are frozen, and after they are thawed */
static int ntrace_pm_system(struct notifier_block *nb, unsigned long action, void *data)
{
	switch (action) {
	case PM_SUSPEND_PREPARE:
	case PM_HIBERNATION_PREPARE:
		ntrace_run_suspend(true);
		break;
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
		ntrace_run_suspend(false);
		break;
	}

	return NOTIFY_OK;
}

static struct notifier_block ntrace_pm_system_block = {
	.notifier_call = ntrace_pm_system,
};

/**
 * ntrace_pm_register - be told from now on
 */
int ntrace_pm_register(void)
{
	int ret;

	ret = cpu_pm_register_notifier(&ntrace_pm_idle_block);
	if (ret)
		return ret;

	ret = register_pm_notifier(&ntrace_pm_system_block);
	if (ret)
		cpu_pm_unregister_notifier(&ntrace_pm_idle_block);

	return ret;
}

/**
 * ntrace_pm_unregister - no longer
 */
void ntrace_pm_unregister(void)
{
	unregister_pm_notifier(&ntrace_pm_system_block);
	cpu_pm_unregister_notifier(&ntrace_pm_idle_block);
}
