// SPDX-License-Identifier: GPL-2.0-only
/* Gate of the encoder, FIFO, feeding nt_enc_ */

#include "model.h"

void encode_init_hart(struct hart *h)
{
	(void)h;
}

uint64_t encode_time(struct hart *h)
{
	if (!(h->te.ts_control & TE_TS_COUNT))
		return h->te.ts_counter;
	return guest_time(h) & ((1ull << TE_TS_WIDTH) - 1);
}

void encode_drain(struct hart *h)
{
	(void)h;
}

void encode_scontext(struct hart *h)
{
	(void)h;
}

void encode_regs(struct hart *h, unsigned int todo)
{
	if (todo & TE_DO_FLUSH)
		te_set_empty(&h->te, true);
}
