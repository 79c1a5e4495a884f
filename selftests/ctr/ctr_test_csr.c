// SPDX-License-Identifier: GPL-2.0-only
/*
 * The registers of Ssctr, as far as S-mode uses them
 */
#include <linux/errno.h>
#include <linux/log2.h>
#include <linux/types.h>

#include <asm/asm-extable.h>
#include <asm/csr.h>

#include "ctr_test_csr.h"

#define CSR_SCTRCTL	0x14e
#define CSR_SCTRSTATUS	0x14f
#define CSR_SCTRSELECT	0x150	/* siselect */
#define CSR_SCTRSOURCE	0x151	/* sireg, with an entry selected */
#define CSR_SCTRTARGET	0x152
#define CSR_SCTRDATA	0x153
#define CSR_SCTRDEPTH	0x15f
#define SELECT_ENTRIES	0x200

/* Nothing between the write and the return: that is the point in the trace. */
#define WRITE_SCTRCTL(name)			\
	asm(".pushsection .text\n"		\
	    ".balign 4\n"			\
	    ".globl " #name "\n"		\
	    ".type " #name ", @function\n"	\
	    #name ":\n"				\
	    "	csrw	0x14e, a0\n"		\
	    "	ret\n"				\
	    ".size " #name ", . - " #name "\n"	\
	    ".popsection\n")

WRITE_SCTRCTL(ctr_test_start);
WRITE_SCTRCTL(ctr_test_stop);
WRITE_SCTRCTL(ctr_test_pause);
WRITE_SCTRCTL(ctr_test_resume);

/* Missing, or closed by the firmware, it traps. */
bool ctr_test_present(void)
{
	unsigned long value, ok = 0;

	asm volatile("1:	csrr	%[value], %[csr]\n"
		     "	li	%[ok], 1\n"
		     "2:\n"
		     _ASM_EXTABLE(1b, 2b)
		     : [value] "=r" (value), [ok] "+r" (ok)
		     : [csr] "i" (CSR_SCTRCTL)
		     : "memory");
	return ok;
}

int ctr_test_set_depth(u32 depth)
{
	unsigned long code;

	if (depth < 16 || depth > CTR_TEST_DEPTH_MAX || !is_power_of_2(depth))
		return -EINVAL;
	code = ilog2(depth) - 4;
	csr_write(CSR_SCTRDEPTH, code);
	return csr_read(CSR_SCTRDEPTH) == code ? 0 : -EOPNOTSUPP;
}

void ctr_test_clear(void)
{
	asm volatile(".word 0x10400073" : : : "memory");	/* sctrclr */
	csr_write(CSR_SCTRSTATUS, 0);
}

/* One that hardware does not have traps: the access is marked, and goes on. */
#define ACCESS(number)							\
	case number:							\
		if (access->write)					\
			asm volatile("1:	csrw	%[csr], %[value]\n"	\
				     "	li	%[ok], 1\n"		\
				     "2:\n"				\
				     _ASM_EXTABLE(1b, 2b)		\
				     : [ok] "+r" (ok)			\
				     : [csr] "i" (number), [value] "r" (access->value)); \
		else							\
			asm volatile("1:	csrr	%[value], %[csr]\n"	\
				     "	li	%[ok], 1\n"		\
				     "2:\n"				\
				     _ASM_EXTABLE(1b, 2b)		\
				     : [ok] "+r" (ok), [value] "=&r" (value) \
				     : [csr] "i" (number));		\
		break

/* A mode that is enabled would have records of the accesses themselves. */
int ctr_test_access(struct ctr_test_access *access)
{
	unsigned long ok = 0, value = 0;

	if (access->csr == CSR_SCTRCTL && access->write && access->value & 3)
		return -EINVAL;
	switch (access->csr) {
	ACCESS(CSR_SCTRCTL);
	ACCESS(CSR_SCTRSTATUS);
	ACCESS(CSR_SCTRSELECT);
	ACCESS(CSR_SCTRSOURCE);
	ACCESS(CSR_SCTRTARGET);
	ACCESS(CSR_SCTRDATA);
	ACCESS(CSR_SCTRDATA + 2);	/* sireg4 to sireg6 */
	ACCESS(CSR_SCTRDATA + 3);
	ACCESS(CSR_SCTRDATA + 4);
	ACCESS(CSR_SCTRDEPTH);
	case 0:
		asm volatile(".word 0x10400073" : : : "memory");
		return 0;
	default:
		return -EINVAL;
	}
	if (!access->write)
		access->value = value;
	access->trapped = !ok;
	return 0;
}

/* Recording is off. */
void ctr_test_save(struct ctr_test_state *state)
{
	unsigned long select = csr_read(CSR_SCTRSELECT);
	u32 i;

	state->status = csr_read(CSR_SCTRSTATUS);
	for (i = 0; i < state->depth; i++) {
		csr_write(CSR_SCTRSELECT, SELECT_ENTRIES + i);
		state->entry[i].source = csr_read(CSR_SCTRSOURCE);
		state->entry[i].target = csr_read(CSR_SCTRTARGET);
		state->entry[i].data = csr_read(CSR_SCTRDATA);
	}
	csr_write(CSR_SCTRSELECT, select);
}

/* The status first: it says where entries are (R184). */
void ctr_test_restore(const struct ctr_test_state *state)
{
	unsigned long select = csr_read(CSR_SCTRSELECT);
	u32 i;

	ctr_test_set_depth(state->depth);
	ctr_test_clear();
	csr_write(CSR_SCTRSTATUS, state->status);
	for (i = 0; i < state->depth; i++) {
		csr_write(CSR_SCTRSELECT, SELECT_ENTRIES + i);
		csr_write(CSR_SCTRSOURCE, state->entry[i].source);
		csr_write(CSR_SCTRTARGET, state->entry[i].target);
		csr_write(CSR_SCTRDATA, state->entry[i].data);
	}
	csr_write(CSR_SCTRSELECT, select);
}
