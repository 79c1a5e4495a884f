/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The trace encoder of one hart.
 */
#ifndef _NTRACE_ENCODER_H
#define _NTRACE_ENCODER_H

#include "ntrace_component.h"
#include "ntrace_filter.h"
#include "ntrace_regs.h"
#include "ntrace_timestamp.h"

/* Of messages as the specification has them */
#define NTRACE_PROFILE_1_0	"1.0"

/**
 * struct ntrace_encoder_caps - what the WARL fields of an encoder accept
 * @control:	bits of trTeControl: CONTEXT, STALL_ENA, INHIBIT_SRC
 * @wired:	bits of trTeControl that are 1 whatever is written, and do no harm: CONTEXT
 * @features:	bits of trTeInstFeatures: SEQUENTIAL_JUMP, REPEATED_HISTORY, ALL_JUMPS,
 *		EXTEND_ADDR_MSB
 * @inst_modes:	bit n: trTeInstMode n
 * @retstack:	bit n: trTeInstImplicitReturnMode n
 * @sync_modes:	bit n: trTeInstSyncMode n
 * @sync_max:	the largest trTeInstSyncMax
 * @filters:	how many filters match privilege
 * @filter_value: see struct ntrace_variant
 * @privs:	the privileges that they tell apart
 * @ranges:	how many ranges of addresses they can have besides
 * @latch:	a comparator can remember that trace was started, until it is stopped
 */
struct ntrace_encoder_caps {
	u32 control;
	u32 wired;
	u32 features;
	u8 inst_modes;
	u8 retstack;
	u8 sync_modes;
	u8 sync_max;
	u8 filters;
	bool filter_value;
	u8 privs;
	u8 ranges;
	bool latch;
};

/**
 * struct ntrace_encoder_config - register values of an event
 * @control:	trTeControl, without Enable and InstTracing
 * @features:	trTeInstFeatures
 * @ts_control:	trTsControl
 * @privs:	the privileges that filter 0 lets through, 0: no filter
 */
struct ntrace_encoder_config {
	u32 control;
	u32 features;
	u32 ts_control;
	u32 privs;
};

/**
 * struct ntrace_encoder - one encoder
 * @comp:	the component that it is
 * @hartid:	of the hart that it looks at
 * @profile:	see struct ntrace_variant
 * @addr_bits:	likewise
 * @caps:	what it can do
 * @ts:		its timestamp unit
 * @src_bits:	trTeSrcBits
 * @src_id:	trTeSrcID
 * @config:	what its registers hold, if @config_valid
 * @config_valid: see there
 * @ranges:	how many ranges of addresses its filters hold
 * @paused:	InstTracing stays 0
 * @started:	it is enabled, and InstTracing may change
 * @tracing:	InstTracing as it was written last
 */
struct ntrace_encoder {
	struct ntrace_component comp;
	u64 hartid;
	const char *profile;
	u8 addr_bits;
	struct ntrace_encoder_caps caps;
	struct ntrace_timestamp ts;
	u8 src_bits;
	u16 src_id;
	struct ntrace_encoder_config config;
	bool config_valid;
	unsigned int ranges;
	bool paused;
	bool started;
	u32 tracing;
};

static inline struct ntrace_encoder *to_ntrace_encoder(struct ntrace_component *comp)
{
	return container_of(comp, struct ntrace_encoder, comp);
}

extern const struct ntrace_component_type ntrace_encoder_type;

int ntrace_encoder_write_config(struct ntrace_encoder *enc,
				const struct ntrace_encoder_config *config,
				const struct ntrace_ranges *ranges);
void ntrace_encoder_pause(struct ntrace_encoder *enc, bool paused);
u32 ntrace_encoder_src_control(const struct ntrace_encoder *enc, bool shared);
u32 ntrace_encoder_src_features(const struct ntrace_encoder *enc);

/* What follows runs at every context switch: a call would cost more than what it is for. */

static inline bool ntrace_encoder_is_set(const struct ntrace_encoder *enc,
					 const struct ntrace_encoder_config *config,
					 const struct ntrace_ranges *ranges)
{
	const struct ntrace_encoder_config *now = &enc->config;

	/* A latch has to be set to its beginning. */
	return enc->config_valid && !ranges->nr && !enc->ranges &&
	       now->control == config->control && now->features == config->features &&
	       now->ts_control == config->ts_control && now->privs == config->privs;
}

/**
 * ntrace_encoder_configure - write what an event wants, unless it is there already
 * @enc:	the encoder, not enabled and empty
 * @config:	the registers
 * @ranges:	the addresses
 *
 * Return: as ntrace_encoder_write_config()
 */
static inline int ntrace_encoder_configure(struct ntrace_encoder *enc,
					   const struct ntrace_encoder_config *config,
					   const struct ntrace_ranges *ranges)
{
	if (!enc->comp.failed && ntrace_encoder_is_set(enc, config, ranges))
		return 0;

	return ntrace_encoder_write_config(enc, config, ranges);
}

/* Write InstTracing. A pause may come in between, and must have the last word. */
static inline void ntrace_encoder_trace(struct ntrace_encoder *enc)
{
	bool paused;

	do {
		paused = READ_ONCE(enc->paused);
		enc->tracing = paused ? 0 : TR_TE_CONTROL_INST_TRACING;
		ntrace_write(&enc->comp, TR_TE_CONTROL,
			     enc->config.control | TR_CONTROL_ENABLE | enc->tracing);
	} while (paused != READ_ONCE(enc->paused));
}

/**
 * ntrace_encoder_start - enable it, and let it trace
 * @enc: the encoder
 *
 * InstTracing may not be written before Enable reads 1.
 */
static inline int ntrace_encoder_start(struct ntrace_encoder *enc)
{
	int ret;

	ntrace_write(&enc->comp, TR_TE_CONTROL, enc->config.control | TR_CONTROL_ENABLE);
	ret = ntrace_wait(&enc->comp, TR_CONTROL_ENABLE, TR_CONTROL_ENABLE, "Enable=1");
	if (ret)
		return ret;

	WRITE_ONCE(enc->started, true);
	ntrace_encoder_trace(enc);

	return 0;
}

/**
 * ntrace_encoder_stop - clear Enable, do not wait
 * @enc: the encoder
 *
 * The sticky overflow bit is written 0 and so stays as it is. InstTracing stays as it is, too: from
 * here on a pause does not change it.
 */
static inline void ntrace_encoder_stop(struct ntrace_encoder *enc)
{
	WRITE_ONCE(enc->started, false);
	ntrace_write(&enc->comp, TR_TE_CONTROL, enc->config.control | enc->tracing);
}

/**
 * ntrace_encoder_fell - has it stopped by itself?
 * @enc:	the encoder, enabled
 * @overflow:	set as by ntrace_path_stop_encoder(): the next write may clear what tells
 *
 * What it should have traced since is lost. A sink that is nearly full may clear InstTracing.
 */
static inline bool ntrace_encoder_fell(struct ntrace_encoder *enc, bool *overflow)
{
	u32 control, tracing;

	do {
		tracing = READ_ONCE(enc->tracing);
		control = ntrace_read(&enc->comp, TR_TE_CONTROL);
	} while (tracing != READ_ONCE(enc->tracing));

	*overflow |= !!(control & TR_TE_CONTROL_STALL_OR_OVERFLOW);
	if (control & TR_CONTROL_ENABLE)
		return tracing & ~control;

	ntrace_component_complain(&enc->comp, "Enable to stay 1", control);
	return true;
}

/**
 * ntrace_encoder_stopped - is it off, and everything that it had on its way?
 * @control: trTeControl
 */
static inline bool ntrace_encoder_stopped(u32 control)
{
	return (control & (TR_CONTROL_ENABLE | TR_CONTROL_EMPTY)) == TR_CONTROL_EMPTY;
}

#endif /* _NTRACE_ENCODER_H */
