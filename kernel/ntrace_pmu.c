// SPDX-License-Identifier: GPL-2.0-only
/*
 * The perf PMU "ntrace".
 *
 * One PMU for the module's lifetime; encoders and sinks come and go beneath it.
 */
#include <linux/cpuhotplug.h>
#include <linux/module.h>
#include <linux/perf_event.h>

#include "ntrace_addr.h"
#include "ntrace_bringup.h"
#include "ntrace_buffer.h"
#include "ntrace_compat.h"
#include "ntrace_context.h"
#include "ntrace_event.h"
#include "ntrace_path.h"
#include "ntrace_pm.h"
#include "ntrace_run.h"
#include "ntrace_sample.h"
#include "ntrace_sysfs.h"

static void ntrace_pmu_read(struct perf_event *event)
{
}

static struct pmu ntrace_pmu = {
	.module = THIS_MODULE,
	.capabilities = PERF_PMU_CAP_EXCLUSIVE | PERF_PMU_CAP_ITRACE | PERF_PMU_CAP_AUX_NO_SG |
			PERF_PMU_CAP_AUX_PAUSE,
	.attr_groups = ntrace_sysfs_groups,
	/*
	 * Per-task events need a context that is scheduled; the software context has no limit of
	 * events.
	 */
	.task_ctx_nr = perf_sw_context,
	.event_init = ntrace_event_init,
	.add = ntrace_run_add,
	.del = ntrace_run_del,
	.start = ntrace_run_start,
	.stop = ntrace_run_stop,
	.read = ntrace_pmu_read,
	.setup_aux = ntrace_buffer_setup,
	.free_aux = ntrace_buffer_free,
	.nr_addr_filters = TR_TE_NR_COMPS,	/* of which the encoders may have fewer */
	.addr_filters_validate = ntrace_addr_validate,
	.addr_filters_sync = ntrace_addr_sync,
};

/* Components */

static int ntrace_pmu_bound(struct ntrace_component *comp)
{
	int ret = ntrace_path_bound(comp) ?: ntrace_sysfs_bound(ntrace_pmu.dev, comp);

	if (!ret && comp->type == &ntrace_encoder_type)
		ntrace_addr_bound(&ntrace_pmu, to_ntrace_encoder(comp));

	return ret;
}

static void ntrace_pmu_unbound(struct ntrace_component *comp)
{
	ntrace_sysfs_unbound(ntrace_pmu.dev, comp);
	ntrace_path_give_up(comp);
	ntrace_run_evict();
	ntrace_path_gone(comp);
	if (comp->type == &ntrace_ramsink_type)
		ntrace_buffer_unbound(to_ntrace_ramsink(comp));
}

static const struct ntrace_component_listener ntrace_pmu_listener = {
	.bound		= ntrace_pmu_bound,
	.unbound	= ntrace_pmu_unbound,
};

/* Module */

static enum cpuhp_state ntrace_cpuhp_state;

static int __init ntrace_init(void)
{
	int ret;

	if (ntrace_sample_init())
		ntrace_pmu.snapshot_aux = ntrace_run_sample;
	ntrace_sysfs_init();
	ntrace_run_init();

	ret = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "perf/ntrace:online",
				ntrace_run_cpu_online, ntrace_run_cpu_offline);
	if (ret < 0)
		return ret;
	ntrace_cpuhp_state = ret;

	ret = perf_pmu_register(&ntrace_pmu, "ntrace", -1);
	if (ret)
		goto err_cpuhp;

	ret = ntrace_component_driver_register(ntrace_component_types, &ntrace_pmu_listener);
	if (ret)
		goto err_pmu;

	ret = ntrace_pm_register();
	if (ret)
		goto err_driver;

	ntrace_bringup_init();

	return 0;

err_driver:
	ntrace_component_driver_unregister();
err_pmu:
	perf_pmu_unregister(&ntrace_pmu);
err_cpuhp:
	cpuhp_remove_state(ntrace_cpuhp_state);
	return ret;
}
module_init(ntrace_init);

static void __exit ntrace_exit(void)
{
	ntrace_bringup_exit();
	ntrace_pm_unregister();
	ntrace_component_driver_unregister();
	perf_pmu_unregister(&ntrace_pmu);
	cpuhp_remove_state(ntrace_cpuhp_state);
	ntrace_context_exit();
}
module_exit(ntrace_exit);

MODULE_DESCRIPTION("RISC-V N-Trace for perf");
MODULE_LICENSE("GPL");
