// SPDX-License-Identifier: GPL-2.0-only
/*
 * AUX area samples: bytes of the AUX area become part of another event's sample.
 *
 * perf's core has the functions for that, but exports them to no module; built into the kernel,
 * this file would be two calls. They are found by their names. Where that cannot be, there is no
 * AUX area sampling, and perf says so.
 */
#define pr_fmt(fmt) "ntrace: " fmt

#include <linux/err.h>
#include <linux/kprobes.h>
#include <linux/minmax.h>
#include <linux/printk.h>

#include "ntrace_sample.h"

static typeof(perf_output_copy_aux) *ntrace_output_copy_aux;
static typeof(perf_output_copy) *ntrace_output_copy;

/*
 * A probe that is never armed tells the address of what it would probe. A function may begin with
 * what ftrace patches, where no probe is allowed: then somewhere behind it.
 */
static void *ntrace_sample_find(const char *name)
{
	struct kprobe probe;
	unsigned int offset;
	void *found;
	int ret = -ENOENT;

	for (offset = 0; offset < 32; offset += 4) {
		probe = (struct kprobe){
			.symbol_name	= name,
			.offset		= offset,
			.flags		= KPROBE_FLAG_DISABLED,
		};
		ret = register_kprobe(&probe);
		if (ret)
			continue;
		found = (void *)probe.addr - offset;
		unregister_kprobe(&probe);

		return found;
	}

	pr_notice("no AUX area samples: %s() is not to be found (%pe)\n", name, ERR_PTR(ret));
	return NULL;
}

/**
 * ntrace_sample_init - can samples be taken?
 */
bool ntrace_sample_init(void)
{
	ntrace_output_copy_aux = ntrace_sample_find("perf_output_copy_aux");
	ntrace_output_copy = ntrace_sample_find("perf_output_copy");

	return ntrace_output_copy_aux && ntrace_output_copy;
}

/**
 * ntrace_sample_copy - the last bytes of an AUX area
 * @aux:	its transaction
 * @handle:	of the sample
 * @head:	where they end
 * @size:	how many
 *
 * Return: bytes copied
 */
long ntrace_sample_copy(struct perf_output_handle *aux, struct perf_output_handle *handle, u64 head,
			unsigned long size)
{
	return ntrace_output_copy_aux(aux, handle, head - size, head);
}

/**
 * ntrace_sample_idle - no trace: the core has made room for @size bytes, and nothing may stay
 *			undefined
 * @handle:	of the sample
 * @size:	how many
 *
 * Return: bytes written
 */
long ntrace_sample_idle(struct perf_output_handle *handle, unsigned long size)
{
	static const u8 idle[64] = { [0 ... 63] = 0xff };
	unsigned long left, n;

	for (left = size; left; left -= n) {
		n = min(left, sizeof(idle));
		if (ntrace_output_copy(handle, idle, n))
			break;
	}

	return size - left;
}
