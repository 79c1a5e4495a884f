// SPDX-License-Identifier: GPL-2.0-only
/*
 * scontext at context switch: the TID, as the initial PID namespace knows it, of the task that
 * runs.
 *
 * sched_switch fires before perf takes the previous task's event off the hart, so the tail of the
 * switch belongs to the next task. With an event that traces the kernel this is visible, and it is
 * the rule.
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
static struct cpumask ntrace_context_cpus;	/* those that have the CSR */
static struct cpumask ntrace_context_probed;	/* those that were asked */

/* Who was switched to last, since there are users; not to be looked into */
static DEFINE_PER_CPU(const struct task_struct *, ntrace_context_task);

/*
 * The CSR may be missing, or closed by mstateen0.CONTEXT: then the instruction traps, and 0 comes
 * back.
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
 * Both halves of a pattern, so that neither a CSR wired to 0 nor one that reads as garbage passes.
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

/* Find out whether this hart has a scontext that holds any TID */
bool ntrace_context_cpu_online(unsigned int cpu)
{
	bool present;

	/* A switch must not come between the probe's writes. */
	scoped_guard(irqsave)
		present = ntrace_context_probe();

	cpumask_assign_cpu(cpu, &ntrace_context_cpus, present);
	/* Events that are open already were taken with this CPU, too. */
	if (!cpumask_test_and_set_cpu(cpu, &ntrace_context_probed) && !present &&
	    READ_ONCE(ntrace_context_users))
		pr_info("CPU %u has no scontext: contextid events are not traced there\n", cpu);

	return present;
}

/* May a hart have scontext? One that never was online may. */
bool ntrace_context_possible(int cpu)
{
	return cpumask_test_cpu(cpu, &ntrace_context_cpus) ||
	       !cpumask_test_cpu(cpu, &ntrace_context_probed);
}

/*
 * Write the TID of the task that runs on this hart, which has the CSR. Events of a cgroup are added
 * in the middle of a switch, when the previous task is still current: then the CSR has the next
 * one's already.
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
 * Have scontext kept up to date. The first user patches kernel text: not for atomic context.
 * Return: 0 or an error
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

/* No longer */
void ntrace_context_put(void)
{
	guard(mutex)(&ntrace_context_lock);
	if (--ntrace_context_users)
		return;

	tracepoint_probe_unregister(ntrace_sched_switch, ntrace_context_switch, NULL);
}

/*
 * Wait for probes that still run. Before their code goes. Nothing else waits: a grace period for
 * each event that is closed would be much.
 */
void ntrace_context_exit(void)
{
	tracepoint_synchronize_unregister();
}
