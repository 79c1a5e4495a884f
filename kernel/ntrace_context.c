// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write scontext at each context switch: the TID of the running task in the initial PID namespace.
 *
 * sched_switch fires before perf removes the previous task's event from the hart. So the end of the
 * switch counts for the next task. This is intended, and visible in kernel traces.
 */
#define pr_fmt(fmt) "ntrace: " fmt

#include <linux/cleanup.h>
#include <linux/cpumask.h>
#include <linux/irqflags.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/threads.h>
#include <linux/tracepoint.h>

#include <asm/asm-extable.h>
#include <asm/csr.h>

#include "ntrace_pmu.h"

#define CSR_SCONTEXT	0x5a8

static DEFINE_MUTEX(ntrace_context_lock);
static unsigned int ntrace_context_users;
static struct tracepoint *ntrace_sched_switch;
static struct cpumask ntrace_context_cpus;	/* CPUs that have the CSR */
static struct cpumask ntrace_context_probed;	/* CPUs that were probed */

/* The last task switched to since there are users. Compare it only: it may have been freed. */
static DEFINE_PER_CPU(const struct task_struct *, ntrace_context_task);

/*
 * Write the CSR. Return: false when the instruction traps, because the CSR does not exist or
 * mstateen0.CONTEXT does not permit access
 */
static bool ntrace_context_try_write(unsigned long value, unsigned long *old)
{
	unsigned long ok = 0;

	asm volatile("1:	csrrw	%[old], %[csr], %[value]\n"
		     "	li	%[ok], 1\n"
		     "2:\n"
		     _ASM_EXTABLE(1b, 2b)
		     : [old] "=&r" (*old), [ok] "+r" (ok)
		     : [csr] "i" (CSR_SCONTEXT), [value] "r" (value)
		     : "memory");

	return ok;
}

/* Every bit of a TID: 15 on RV32, where 16 bits are recommended for the CSR, and 22 on RV64 */
#define NTRACE_CONTEXT_MASK	(PID_MAX_LIMIT - 1)

/*
 * Test two complementary patterns, so that neither a CSR wired to a constant nor one that reads as
 * garbage passes.
 */
static bool ntrace_context_probe(void)
{
	unsigned long before, first, second;

	return ntrace_context_try_write(0x5555aaaa, &before) &&
	       ntrace_context_try_write(0x2aaa5555, &first) &&
	       ntrace_context_try_write(before, &second) &&
	       !((first ^ 0x5555aaaa) & NTRACE_CONTEXT_MASK) &&
	       !((second ^ 0x2aaa5555) & NTRACE_CONTEXT_MASK);
}

/* Probe whether this hart has an scontext that can hold any TID */
bool ntrace_context_cpu_online(unsigned int cpu)
{
	bool present;

	/* No context switch may occur between the writes of the probe. */
	scoped_guard(irqsave)
		present = ntrace_context_probe();

	cpumask_assign_cpu(cpu, &ntrace_context_cpus, present);
	/*
	 * Events that are open already were accepted on the assumption that this CPU has the CSR.
	 */
	if (!cpumask_test_and_set_cpu(cpu, &ntrace_context_probed) && !present &&
	    READ_ONCE(ntrace_context_users))
		pr_info("CPU %u has no scontext: contextid events are not traced there\n", cpu);

	return present;
}

/* May a hart have scontext? This is unknown if it was never online. */
bool ntrace_context_possible(int cpu)
{
	return cpumask_test_cpu(cpu, &ntrace_context_cpus) ||
	       !cpumask_test_cpu(cpu, &ntrace_context_probed);
}

/*
 * Write the TID of the current task. This hart has the CSR. perf adds events of a cgroup in the
 * middle of a switch, when the previous task is still current. Then the CSR already holds the TID
 * of the next task.
 */
void ntrace_context_write_current(void)
{
	const struct task_struct *task = this_cpu_read(ntrace_context_task);

	if (!task || task == current)
		csr_write(CSR_SCONTEXT, task_pid_nr(current));
}

static void ntrace_context_switch(void *data, bool preempt, struct task_struct *prev,
				  struct task_struct *next, unsigned int prev_state)
{
	if (!cpumask_test_cpu(smp_processor_id(), &ntrace_context_cpus))
		return;

	this_cpu_write(ntrace_context_task, next);
	csr_write(CSR_SCONTEXT, task_pid_nr(next));
}

static void ntrace_context_match(struct tracepoint *tp, void *priv)
{
	struct tracepoint **found = priv;

	if (!strcmp(tp->name, "sched_switch"))
		*found = tp;
}

/*
 * Keep scontext up to date until ntrace_context_put(). Must not be called in atomic context: the
 * first user enables a tracepoint, which patches kernel text. Return: 0 or an error
 */
int ntrace_context_get(void)
{
	int ret, cpu;

	guard(mutex)(&ntrace_context_lock);
	if (ntrace_context_users++)
		return 0;

	for_each_possible_cpu(cpu)
		per_cpu(ntrace_context_task, cpu) = NULL;

	if (!ntrace_sched_switch)
		for_each_kernel_tracepoint(ntrace_context_match, &ntrace_sched_switch);

	ret = -ENOENT;
	if (ntrace_sched_switch)
		ret = tracepoint_probe_register(ntrace_sched_switch, ntrace_context_switch, NULL);
	if (ret)
		ntrace_context_users--;

	return ret;
}

void ntrace_context_put(void)
{
	guard(mutex)(&ntrace_context_lock);
	if (--ntrace_context_users)
		return;

	tracepoint_probe_unregister(ntrace_sched_switch, ntrace_context_switch, NULL);
}

/*
 * Wait for running tracepoint probes, before the module is unloaded. ntrace_context_put() does not
 * wait: a grace period for each closed event would be too slow.
 */
void ntrace_context_exit(void)
{
	tracepoint_synchronize_unregister();
}
