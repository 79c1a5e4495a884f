// SPDX-License-Identifier: GPL-2.0-only
/*
 * Do with the library's buffer what csrrun did with a hart's: csrcmp <LINES
 *
 * Prints what is read differently, then how many reads there were; fails when
 * something differs.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "nt-ctr.h"

/* QEMU's entries have room for MISP and cycles, although it never puts any there. */
static struct nt_ctr *new_buffer(void)
{
	struct nt_ctr_params params;

	nt_ctr_params_init(&params);
	return nt_ctr_new(&params);
}

int main(void)
{
	unsigned long line = 0, reads = 0, wrong = 0;
	struct nt_ctr *ctr = new_buffer();
	char text[128];

	while (ctr && fgets(text, sizeof(text), stdin)) {
		uint64_t value, found;
		unsigned int csr;
		char what;

		line++;
		what = text[0];
		if (what == 'n') {
			nt_ctr_free(ctr);
			ctr = new_buffer();
		} else if (what == 'c') {
			nt_ctr_clear(ctr, NT_CTR_S);
		} else if (sscanf(text + 1, "%x %" SCNx64, &csr, &value) != 2) {
			printf("line %lu: not understood\n", line);
			return 2;
		} else if (what == 't') {
			/* there is no access below that the library refuses */
			if (wrong++ < 10)
				printf("line %lu: CSR %#x: hardware traps\n", line, csr);
		} else if (what == 'w') {
			nt_ctr_write(ctr, NT_CTR_S, csr, value);
		} else {
			reads++;
			if (nt_ctr_read(ctr, NT_CTR_S, csr, &found) || found != value) {
				if (wrong++ < 10)
					printf("line %lu: CSR %#x: hardware %#" PRIx64
					       ", library %#" PRIx64 "\n", line, csr, value, found);
			}
		}
	}
	printf("%lu reads, %lu different\n", reads, wrong);
	nt_ctr_free(ctr);
	return wrong || !reads;
}
