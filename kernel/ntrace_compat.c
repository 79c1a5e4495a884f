// SPDX-License-Identifier: GPL-2.0-only
/*
 * What only a module outside of the kernel's tree needs.
 *
 * AUX area samples: bytes of the AUX area become part of another event's sample.
 *
 * perf's core has the functions for that, but exports them to no module; built into the kernel,
 * this file would be two calls. They are found by their names. Where that cannot be, there is no
 * AUX area sampling, and perf says so.
 */
#define pr_fmt(fmt) "ntrace: " fmt

#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "ntrace_compat.h"

/* How far away a function of the same file may be */
#define NTRACE_NEAR	SZ_32K

static typeof(perf_output_copy_aux) *ntrace_sample_copy_aux;
static typeof(perf_output_copy) *ntrace_sample_copy;

/*
 * Is it the function that this address is in? Fills in where that one begins, and how long it is.
 *
 * Not by a kprobe, which would tell an address at once: its page stays in kallsyms as a module, and
 * perf cannot copy kcore then.
 */
static bool ntrace_sample_is(const char *name, unsigned long addr, unsigned long *begin,
			     unsigned long *size)
{
	char text[KSYM_SYMBOL_LEN], *plus;
	unsigned long offset;

	sprint_symbol(text, addr);
	plus = strchr(text, '+');
	if (!plus || sscanf(plus, "+0x%lx/0x%lx", &offset, size) != 2 || offset >= *size) {
		*size = 0;
		return false;
	}
	*begin = addr - offset;
	*plus = 0;

	return !strcmp(text, name);
}

/* They are in the same file as one that is exported. */
static void *ntrace_sample_find(const char *name)
{
	const unsigned long near = (unsigned long)perf_aux_output_end;
	unsigned long begin, size, addr;

	for (addr = near; addr < near + NTRACE_NEAR; addr = begin + size)
		if (ntrace_sample_is(name, addr, &begin, &size))
			return (void *)begin;
		else if (!size)
			break;

	for (addr = near; addr > near - NTRACE_NEAR; addr = begin - 1)
		if (ntrace_sample_is(name, addr, &begin, &size))
			return (void *)begin;
		else if (!size)
			break;

	pr_notice("no AUX area samples: %s() is not to be found\n", name);
	return NULL;
}

/* Can samples be taken? */
bool ntrace_sample_init(void)
{
	ntrace_sample_copy_aux = ntrace_sample_find("perf_output_copy_aux");
	ntrace_sample_copy = ntrace_sample_find("perf_output_copy");

	return ntrace_sample_copy_aux && ntrace_sample_copy;
}

unsigned int ntrace_output_copy(struct perf_output_handle *handle, const void *buf,
				unsigned int len)
{
	return ntrace_sample_copy(handle, buf, len);
}

long ntrace_output_copy_aux(struct perf_output_handle *aux, struct perf_output_handle *handle,
			    unsigned long from, unsigned long to)
{
	return ntrace_sample_copy_aux(aux, handle, from, to);
}
