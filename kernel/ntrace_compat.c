// SPDX-License-Identifier: GPL-2.0-only
/*
 * Code that only an out-of-tree module needs: AUX area sampling.
 *
 * AUX area samples copy bytes of the AUX area into another event's sample. perf's core has two
 * functions for this, but does not export them to modules. This file finds them by their names. If
 * that fails, there is no AUX area sampling, and perf reports that.
 */
#define pr_fmt(fmt) "ntrace: " fmt

#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "ntrace_compat.h"

/* Maximum distance between two functions of the same file, in bytes */
#define NTRACE_NEAR	SZ_32K

static typeof(perf_output_copy_aux) *ntrace_sample_copy_aux;
static typeof(perf_output_copy) *ntrace_sample_copy;

/*
 * Is @addr in the function @name? Sets @begin and @size of the function that @addr is in; a size of
 * 0 means that there is none.
 *
 * A kprobe would give the address of a function at once. But its page stays in kallsyms as a
 * module, and then perf cannot copy kcore.
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

/* Search around an exported function of the same file */
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

/* Find the functions of perf's core. Return: whether AUX area sampling is possible */
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
