// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/ctr: switches a hart's control transfer records on and off, around what a
 * test traces, and reads them. For a thread they are saved and restored with it; a
 * CPU's are begun and ended there, in an interrupt.
 *
 * sched_switch saves, before perf takes the thread's trace off the hart; the preempt
 * notifier restores, behind perf's. So both, records and trace, have it all.
 */
#include <linux/capability.h>
#include <linux/cleanup.h>
#include <linux/cpumask.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>

#include <asm/csr.h>

#include "ctr_test_csr.h"

struct ctr_test {
	struct mutex lock;
	struct task_struct *task;	/* whose records these are, or NULL */
	int cpu;			/* ... or the CPU's, or -1 */
	int last_cpu;
	u32 switches, moves;
	int ret;			/* of what ran on another CPU */
	struct preempt_notifier notifier;
	struct ctr_test_state state;
};

/* Whose records the hart makes */
static DEFINE_PER_CPU(struct ctr_test *, ctr_test_owner);
static struct tracepoint *sched_switch;

/* --- a thread's ---------------------------------------------------------------- */

static void ctr_test_switch(void *data, bool preempt, struct task_struct *prev,
			    struct task_struct *next, unsigned int prev_state)
{
	struct ctr_test *t = __this_cpu_read(ctr_test_owner);

	if (!t || t->task != prev)
		return;
	ctr_test_pause(0);
	ctr_test_save(&t->state);
	t->switches++;
	__this_cpu_write(ctr_test_owner, NULL);
}

static void ctr_test_sched_in(struct preempt_notifier *notifier, int cpu)
{
	struct ctr_test *t = container_of(notifier, struct ctr_test, notifier);
	unsigned long flags;

	/* a CPU's records are not a thread's, which then misses something: it is told */
	if (__this_cpu_read(ctr_test_owner)) {
		t->ret = -EBUSY;
		return;
	}
	t->moves += cpu != t->last_cpu;
	t->last_cpu = cpu;
	__this_cpu_write(ctr_test_owner, t);
	local_irq_save(flags);
	ctr_test_restore(&t->state);
	ctr_test_resume(t->state.ctl);
	local_irq_restore(flags);
}

static void ctr_test_sched_out(struct preempt_notifier *notifier, struct task_struct *next)
{
}

static struct preempt_ops ctr_test_preempt_ops = {
	.sched_in = ctr_test_sched_in,
	.sched_out = ctr_test_sched_out,
};

/* --- either's ------------------------------------------------------------------ */

/* On the hart, no interrupts */
static void ctr_test_begin(void *info)
{
	struct ctr_test *t = info;

	t->ret = -EBUSY;
	if (__this_cpu_read(ctr_test_owner))
		return;
	t->ret = ctr_test_set_depth(t->state.depth);
	if (t->ret)
		return;
	t->last_cpu = smp_processor_id();
	__this_cpu_write(ctr_test_owner, t);
	ctr_test_clear();
	ctr_test_start(t->state.ctl);
}

static void ctr_test_end(void *info)
{
	struct ctr_test *t = info;

	if (__this_cpu_read(ctr_test_owner) != t)
		return;
	ctr_test_stop(0);
	ctr_test_save(&t->state);
	__this_cpu_write(ctr_test_owner, NULL);
}

static int ctr_test_of_task(struct ctr_test *t)
{
	unsigned long flags;

	/* before records begin, so that it can be told about the first switch */
	preempt_notifier_init(&t->notifier, &ctr_test_preempt_ops);
	t->task = current;
	preempt_disable();
	preempt_notifier_register(&t->notifier);
	local_irq_save(flags);
	ctr_test_begin(t);
	local_irq_restore(flags);
	if (t->ret)
		preempt_notifier_unregister(&t->notifier);
	preempt_enable();
	if (t->ret)
		t->task = NULL;
	return t->ret;
}

static int ctr_test_of_cpu(struct ctr_test *t, int cpu)
{
	int ret = smp_call_function_single(cpu, ctr_test_begin, t, 1);

	if (!ret)
		ret = t->ret;
	if (!ret)
		t->cpu = cpu;
	return ret;
}

static void ctr_test_stop_all(struct ctr_test *t)
{
	unsigned long flags;

	if (t->task) {
		preempt_disable();
		local_irq_save(flags);
		ctr_test_end(t);
		local_irq_restore(flags);
		preempt_notifier_unregister(&t->notifier);
		preempt_enable();
		t->task = NULL;
	} else if (t->cpu >= 0) {
		/* of a CPU that has gone offline nothing is left */
		t->ret = smp_call_function_single(t->cpu, ctr_test_end, t, 1);
		t->cpu = -1;
	}
}

/* --- the file ------------------------------------------------------------------ */

static long ctr_test_ioctl_start(struct ctr_test *t, void __user *arg)
{
	struct ctr_test_start start;

	if (copy_from_user(&start, arg, sizeof(start)))
		return -EFAULT;
	if (t->task || t->cpu >= 0)
		return -EBUSY;
	if (start.cpu < -1 || start.cpu >= (int)nr_cpu_ids)
		return -EINVAL;
	t->state.ctl = start.ctl;
	t->state.depth = start.depth;
	t->switches = t->moves = 0;
	return start.cpu < 0 ? ctr_test_of_task(t) : ctr_test_of_cpu(t, start.cpu);
}

static long ctr_test_ioctl_stop(struct ctr_test *t, struct ctr_test_records __user *arg)
{
	if (t->task ? t->task != current : t->cpu < 0)
		return -EINVAL;
	ctr_test_stop_all(t);
	if (t->ret)
		return t->ret;
	if (put_user(t->state.status, &arg->status) || put_user(t->state.depth, &arg->depth) ||
	    put_user(t->switches, &arg->switches) || put_user(t->moves, &arg->moves) ||
	    copy_to_user(arg->entry, t->state.entry,
			 t->state.depth * sizeof(t->state.entry[0])))
		return -EFAULT;
	return 0;
}

static int ctr_test_do_accesses(struct ctr_test_accesses *a)
{
	unsigned long flags, select;
	int ret = -EBUSY;
	u32 i;

	local_irq_save(flags);
	if (!__this_cpu_read(ctr_test_owner)) {
		select = csr_read(CSR_SISELECT);
		for (i = 0, ret = 0; i < a->n && !ret; i++)
			ret = ctr_test_access(&a->access[i]);
		csr_write(CSR_SISELECT, select);
		ctr_test_stop(0);
	}
	local_irq_restore(flags);
	return ret;
}

static long ctr_test_ioctl_access(void __user *arg)
{
	struct ctr_test_accesses *a = memdup_user(arg, sizeof(*a));
	long ret;

	if (IS_ERR(a))
		return PTR_ERR(a);
	ret = a->n > CTR_TEST_ACCESSES_MAX ? -EINVAL : ctr_test_do_accesses(a);
	if (!ret && copy_to_user(arg, a, sizeof(*a)))
		ret = -EFAULT;
	kfree(a);
	return ret;
}

static long ctr_test_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct ctr_test *t = file->private_data;

	guard(mutex)(&t->lock);
	switch (cmd) {
	case CTR_TEST_START:
		return ctr_test_ioctl_start(t, (void __user *)arg);
	case CTR_TEST_STOP:
		return ctr_test_ioctl_stop(t, (void __user *)arg);
	case CTR_TEST_ACCESS:
		return ctr_test_ioctl_access((void __user *)arg);
	default:
		return -ENOTTY;
	}
}

static int ctr_test_open(struct inode *inode, struct file *file)
{
	struct ctr_test *t;

	/* records of the kernel tell where it is */
	if (!perfmon_capable())
		return -EPERM;
	t = kzalloc(sizeof(*t), GFP_KERNEL);
	if (!t)
		return -ENOMEM;
	mutex_init(&t->lock);
	t->cpu = -1;
	file->private_data = t;
	return 0;
}

/* At every close, also at the thread's end: nobody else can take its notifier away. */
static int ctr_test_flush(struct file *file, fl_owner_t id)
{
	struct ctr_test *t = file->private_data;

	guard(mutex)(&t->lock);
	if (t->task == current)
		ctr_test_stop_all(t);
	return 0;
}

static int ctr_test_release(struct inode *inode, struct file *file)
{
	struct ctr_test *t = file->private_data;

	if (t->cpu >= 0)
		ctr_test_stop_all(t);
	kfree(t);
	return 0;
}

static const struct file_operations ctr_test_fops = {
	.owner = THIS_MODULE,
	.open = ctr_test_open,
	.flush = ctr_test_flush,
	.release = ctr_test_release,
	.unlocked_ioctl = ctr_test_ioctl,
};

static struct miscdevice ctr_test_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "ctr",
	.fops = &ctr_test_fops,
};

/* --- the module ---------------------------------------------------------------- */

static void ctr_test_match(struct tracepoint *tp, void *priv)
{
	if (!strcmp(tp->name, "sched_switch"))
		sched_switch = tp;
}

static int __init ctr_test_init(void)
{
	int ret;

	if (!ctr_test_present()) {
		pr_err("ctr_test: this hart has no control transfer records, or the firmware keeps them closed\n");
		return -ENODEV;
	}
	for_each_kernel_tracepoint(ctr_test_match, NULL);
	if (!sched_switch)
		return -ENOENT;
	/* before others that look at who is going to run: the records are of who did */
	ret = tracepoint_probe_register_prio(sched_switch, ctr_test_switch, NULL,
					     TRACEPOINT_DEFAULT_PRIO + 10);
	if (ret)
		return ret;
	/* patches the kernel's text: now, not while it is traced */
	preempt_notifier_inc();
	ret = misc_register(&ctr_test_device);
	if (ret) {
		preempt_notifier_dec();
		tracepoint_probe_unregister(sched_switch, ctr_test_switch, NULL);
	}
	return ret;
}

static void __exit ctr_test_exit(void)
{
	misc_deregister(&ctr_test_device);
	preempt_notifier_dec();
	tracepoint_probe_unregister(sched_switch, ctr_test_switch, NULL);
	tracepoint_synchronize_unregister();
}

module_init(ctr_test_init);
module_exit(ctr_test_exit);

MODULE_DESCRIPTION("Control transfer records, for tests");
MODULE_LICENSE("GPL");
