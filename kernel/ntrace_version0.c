// SPDX-License-Identifier: GPL-2.0-only
/*
 * Discovery of components of version 0. The device tree tells their type, because their registers
 * do not. A funnel has a built-in sink that writes to system memory: the driver treats it as a RAM
 * sink that encoders share.
 *
 * Not yet tested on real hardware.
 */
#include <linux/bitfield.h>
#include <linux/dma-mapping.h>
#include <linux/log2.h>

#include "ntrace_component.h"
#include "ntrace_version0.h"

/* Encoders */

static u32 ntrace_version0_try(struct ntrace_encoder *enc, u32 control)
{
	return ntrace_write_back(&enc->comp, TR_TE_CONTROL,
				 TR_CONTROL_ACTIVE | FIELD_PREP(TR0_SINK, TR0_SINK_FUNNEL) |
				 FIELD_PREP(TR_TE_CONTROL_FORMAT, TR_TE_FORMAT_NTRACE) | control);
}

static bool ntrace_version0_has_mode(struct ntrace_encoder *enc, u32 mode)
{
	u32 control = ntrace_version0_try(enc, FIELD_PREP(TR_TE_CONTROL_INST_MODE, mode));

	return FIELD_GET(TR_TE_CONTROL_INST_MODE, control) == mode;
}

/* Find out the capabilities of an encoder */
int ntrace_version0_probe_encoder(struct ntrace_encoder *enc)
{
	struct ntrace_encoder_caps *caps = &enc->caps;
	struct ntrace_component *comp = &enc->comp;
	u32 control = ntrace_version0_try(enc, 0);

	if (!(comp->impl & TR0_IMPL_TO_FUNNEL) ||
	    FIELD_GET(TR0_SINK, control) != TR0_SINK_FUNNEL ||
	    FIELD_GET(TR_TE_CONTROL_FORMAT, control) != TR_TE_FORMAT_NTRACE) {
		ntrace_log(err, comp,
			   " does not send N-Trace to a funnel (Impl 0x%08x, Control 0x%08x)",
			   comp->impl, control);
		return -ENODEV;
	}

	if (ntrace_version0_has_mode(enc, TR0_TE_INST_MODE_HTM_SYNC))
		caps->inst_modes |= BIT(TR_TE_INST_MODE_HTM);
	if (ntrace_version0_has_mode(enc, TR_TE_INST_MODE_BTM))
		caps->inst_modes |= BIT(TR_TE_INST_MODE_BTM);
	if (!caps->inst_modes) {
		ntrace_log(err, comp, " accepts neither HTM nor BTM");
		return -ENODEV;
	}

	caps->control = ntrace_version0_try(enc, TR_TE_CONTROL_INHIBIT_SRC) &
			TR_TE_CONTROL_INHIBIT_SRC;
	caps->sync_modes = BIT(0) | BIT(TR_TE_SYNC_MESSAGES) | BIT(TR_TE_SYNC_ICNT);
	caps->sync_max = FIELD_MAX(TR_TE_CONTROL_SYNC_MAX);
	/* The call counter is always on. */
	caps->always = TR_TE_FEATURES_IMPLICIT_RETURN |
		       FIELD_PREP(TR_TE_FEATURES_IMPLICIT_RETURN_MODE, TR_TE_RETURN_COUNTER);
	caps->retstack = BIT(0) | BIT(TR_TE_RETURN_COUNTER);
	enc->src_bits = FIELD_GET(TR0_TE_IMPL_SRC_BITS, comp->impl);
	enc->src_id = FIELD_GET(TR0_TE_IMPL_SRC_ID, comp->impl) & (BIT(enc->src_bits) - 1);
	enc->lost = TR_TE_CONTROL_STALL_OR_OVERFLOW | TR0_SINK_ERROR;
	enc->enable = TR_CONTROL_ENABLE | TR_TE_CONTROL_INST_TRACING | TR0_SINK_ERROR;

	return 0;
}

/*
 * The encoder is off and reports lost trace. Clear the bits, so that it does not report the loss
 * again. Some bits are cleared by writing 0, others by writing 1.
 */
void ntrace_version0_clear_lost(struct ntrace_encoder *enc)
{
	if (ntrace_write_back(&enc->comp, TR_TE_CONTROL, enc->control) & enc->lost)
		ntrace_write(&enc->comp, TR_TE_CONTROL, enc->control | enc->lost);
}

/* Sinks */

/* Write all ones to a register, and then 0. Return: which ones it kept */
static u32 ntrace_version0_ones(struct ntrace_component *comp, u32 offset)
{
	u32 kept = ntrace_write_back(comp, offset, U32_MAX);

	ntrace_write(comp, offset, 0);

	return kept;
}

/* Find out the capabilities of a funnel's sink */
int ntrace_version0_probe_sink(struct ntrace_ramsink *sink)
{
	struct ntrace_component *comp = &sink->comp;
	u32 control = ntrace_read(comp, TR_RAM_CONTROL);
	u64 base = (u64)ntrace_version0_ones(comp, TR_RAM_START_HIGH) << 32;
	u32 limit = ntrace_version0_ones(comp, TR_RAM_LIMIT_LOW);
	u32 wp = ntrace_version0_ones(comp, TR0_WP) & TR_RAM_WP_LOW_ADDR;
	u32 unit = sizeof(u32) << FIELD_GET(TR0_IMPL_WIDTH, comp->impl);
	int ret;

	base |= ntrace_version0_ones(comp, TR_RAM_START_LOW);
	if (!(comp->impl & TR0_IMPL_SYSTEM_MEMORY) ||
	    (control ^ sink->control) & (TR0_SINK | TR0_STOP_ON_WRAP) ||
	    !is_power_of_2((base | (unit - 1)) + 1) || limit != -unit ||
	    (wp | (unit - 1)) != U32_MAX) {
		dev_err(comp->dev,
			"trace funnel at %pa has no sink that can be used (Impl 0x%08x, Control 0x%08x, of all ones base 0x%llx, limit 0x%x, WP 0x%x)\n",
			&comp->start, comp->impl, control, base, limit, wp);
		return -EOPNOTSUPP;
	}

	sink->align = unit;
	sink->addr_bits = fls64(base);
	/* A window in the AUX area could cross a 4 GiB boundary. A bounce buffer does not. */
	sink->copied = true;
	ret = dma_set_mask_and_coherent(comp->dev, DMA_BIT_MASK(sink->addr_bits));
	if (ret)
		dev_err(comp->dev, "trace funnel at %pa: no memory within its %u address bits\n",
			&comp->start, sink->addr_bits);
	else
		ntrace_timestamp_probe(comp, &sink->ts);

	return ret;
}
