// SPDX-License-Identifier: GPL-2.0-only
/*
 * Conversion of the user ABI to register values and back. These pure functions serve both to
 * validate events and to configure encoders.
 */
#include <linux/bitfield.h>
#include <linux/log2.h>

#include <asm/cpufeature.h>

#include "ntrace_pmu.h"

/* Does an event set bits outside of all known fields? */
bool ntrace_attr_has_unknown_bits(const struct perf_event_attr *attr)
{
	const u64 known = NTRACE_CONFIG_BTM | NTRACE_CONFIG_CONTEXTID | NTRACE_CONFIG_TIMESTAMP |
			  NTRACE_CONFIG_RETSTACK | NTRACE_CONFIG_SEQJUMP |
			  NTRACE_CONFIG_REPEATHIST | NTRACE_CONFIG_EXTADDR |
			  NTRACE_CONFIG_ALLJUMPS | NTRACE_CONFIG_STALL | NTRACE_CONFIG_MMODE |
			  NTRACE_CONFIG_SYNCMODE | NTRACE_CONFIG_SYNCMAX;

	return attr->config & ~known || attr->config1 ||
	       attr->config2 & ~NTRACE_CONFIG2_SINKID || attr->config3;
}

static bool ntrace_has_hypervisor(void)
{
	/* The constant is RISCV_ISA_EXT_h or RISCV_ISA_EXT_H, depending on the kernel. */
	return __riscv_isa_extension_available(NULL, 'h' - 'a');
}

/* The privileges that the harts have */
static u32 ntrace_all_privs(void)
{
	u32 privs = TR_TE_PRIV_U | TR_TE_PRIV_S | TR_TE_PRIV_M;

	return ntrace_has_hypervisor() ? privs | TR_TE_PRIV_VU | TR_TE_PRIV_VS : privs;
}

/*
 * The privileges that an event traces. Linux in HS mode is both the kernel and the hypervisor:
 * exclude_kernel decides, exclude_hv has no effect. Without the H extension there are no guests.
 */
u32 ntrace_attr_privs(const struct perf_event_attr *attr)
{
	u32 privs = 0;

	if (!attr->exclude_host) {
		privs |= attr->exclude_user ? 0 : TR_TE_PRIV_U;
		privs |= attr->exclude_kernel ? 0 : TR_TE_PRIV_S;
	}
	if (!attr->exclude_guest) {
		privs |= attr->exclude_user ? 0 : TR_TE_PRIV_VU;
		privs |= attr->exclude_kernel ? 0 : TR_TE_PRIV_VS;
	}
	if (ntrace_attr(attr, MMODE))
		privs |= TR_TE_PRIV_M;

	return privs & ntrace_all_privs();
}

/*
 * The privilege filter of an event, 0 for none. A filter may lack the privileges of guests. Then
 * guests are not traced, which exposes nothing.
 */
static u32 ntrace_attr_to_filter(const struct perf_event_attr *attr,
				 const struct ntrace_encoder *enc)
{
	u32 privs = ntrace_attr_privs(attr);

	return privs == ntrace_all_privs() ? 0 : privs & enc->caps.privs;
}

static u32 ntrace_attr_to_control(const struct perf_event_attr *attr,
				  const struct ntrace_encoder *enc, bool shared)
{
	bool btm = ntrace_attr(attr, BTM) || !(enc->caps.inst_modes & BIT(TR_TE_INST_MODE_HTM));

	return TR_CONTROL_ACTIVE | FIELD_PREP(TR_TE_CONTROL_FORMAT, TR_TE_FORMAT_NTRACE) |
	       FIELD_PREP(TR_TE_CONTROL_INST_MODE,
			  btm ? TR_TE_INST_MODE_BTM : TR_TE_INST_MODE_HTM) |
	       FIELD_PREP(TR_TE_CONTROL_CONTEXT, ntrace_attr(attr, CONTEXTID)) |
	       FIELD_PREP(TR_TE_CONTROL_STALL_ENA, ntrace_attr(attr, STALL)) |
	       FIELD_PREP(TR_TE_CONTROL_SYNC_MODE, ntrace_attr(attr, SYNCMODE)) |
	       FIELD_PREP(TR_TE_CONTROL_SYNC_MAX, ntrace_attr(attr, SYNCMAX)) |
	       (shared ? 0 : enc->caps.control & TR_TE_CONTROL_INHIBIT_SRC);
}

static u32 ntrace_attr_to_features(const struct perf_event_attr *attr,
				   const struct ntrace_encoder *enc)
{
	return enc->caps.always |
	       FIELD_PREP(TR_TE_FEATURES_SEQUENTIAL_JUMP, ntrace_attr(attr, SEQJUMP)) |
	       FIELD_PREP(TR_TE_FEATURES_IMPLICIT_RETURN, !!ntrace_attr(attr, RETSTACK)) |
	       FIELD_PREP(TR_TE_FEATURES_IMPLICIT_RETURN_MODE, ntrace_attr(attr, RETSTACK)) |
	       FIELD_PREP(TR_TE_FEATURES_REPEATED_HISTORY, ntrace_attr(attr, REPEATHIST)) |
	       FIELD_PREP(TR_TE_FEATURES_ALL_JUMPS, ntrace_attr(attr, ALLJUMPS)) |
	       FIELD_PREP(TR_TE_FEATURES_EXTEND_ADDR_MSB, ntrace_attr(attr, EXTADDR)) |
	       FIELD_PREP(TR_TE_FEATURES_SRC_BITS, enc->src_bits) |
	       FIELD_PREP(TR_TE_FEATURES_SRC_ID, enc->src_id);
}

static u32 ntrace_attr_to_ts_control(const struct perf_event_attr *attr,
				     const struct ntrace_encoder *enc)
{
	return enc->ts.control | FIELD_PREP(TR_TS_CONTROL_ENABLE, ntrace_attr(attr, TIMESTAMP));
}

/* Return: a term of the event that the encoder does not support, or NULL */
static const char *ntrace_attr_unsupported(const struct perf_event_attr *attr,
					   const struct ntrace_encoder *enc)
{
	const struct ntrace_encoder_caps *caps = &enc->caps;
	u32 features = ntrace_attr_to_features(attr, enc) & ~caps->features;

	if (ntrace_attr(attr, BTM) && !(caps->inst_modes & BIT(TR_TE_INST_MODE_BTM)))
		return "btm";
	if (ntrace_attr(attr, CONTEXTID) &&
	    !(caps->control & TR_TE_CONTROL_CONTEXT && ntrace_context_possible(enc->comp.cpu)))
		return "contextid";
	if (ntrace_attr(attr, TIMESTAMP) && enc->ts.mode == TR_TS_MODE_NONE)
		return "timestamp";
	if (!(caps->retstack & BIT(ntrace_attr(attr, RETSTACK))))
		return "retstack";
	if (features & TR_TE_FEATURES_SEQUENTIAL_JUMP)
		return "seqjump";
	if (features & TR_TE_FEATURES_REPEATED_HISTORY)
		return "repeathist";
	if (features & TR_TE_FEATURES_EXTEND_ADDR_MSB)
		return "extaddr";
	if (features & TR_TE_FEATURES_ALL_JUMPS)
		return "alljumps";
	if (ntrace_attr(attr, STALL) && !(caps->control & TR_TE_CONTROL_STALL_ENA))
		return "stall";
	if (ntrace_attr(attr, SYNCMODE) && !(caps->sync_modes & BIT(ntrace_attr(attr, SYNCMODE))))
		return "syncmode";
	if (ntrace_attr(attr, SYNCMAX) > caps->sync_max)
		return "syncmax";

	return NULL;
}

/* The same for the choice of privileges. Return: a description, or NULL */
static const char *ntrace_attr_unfiltered(const struct perf_event_attr *attr,
					  const struct ntrace_encoder *enc)
{
	u32 native = TR_TE_PRIV_U | TR_TE_PRIV_S | TR_TE_PRIV_M;
	u32 privs = ntrace_attr_privs(attr);

	if (privs == ntrace_all_privs())
		return NULL;
	if (!enc->caps.filters)
		return "leaving out anything, machine mode included: it has no filters";
	if (enc->caps.filter_value && !is_power_of_2(privs & enc->caps.privs))
		return "this choice of privileges: its filter passes one of them at a time";
	if (privs & native & ~enc->caps.privs || !(privs & enc->caps.privs))
		return "this choice of privileges: its filters do not have them";

	return NULL;
}

/*
 * Compute the register values of an encoder for an event. @shared: other encoders use the same
 * sink. Return: 0, or -EOPNOTSUPP, with a message, when the encoder does not support the event
 */
int ntrace_attr_to_config(const struct perf_event_attr *attr, const struct ntrace_encoder *enc,
			  bool shared, struct ntrace_encoder_config *config)
{
	const char *what;

	what = ntrace_attr_unsupported(attr, enc) ?: ntrace_attr_unfiltered(attr, enc);
	if (what) {
		ntrace_log(info_ratelimited, &enc->comp, " does not support %s", what);
		return -EOPNOTSUPP;
	}

	*config = (struct ntrace_encoder_config) {
		.control	= ntrace_attr_to_control(attr, enc, shared),
		.features	= ntrace_attr_to_features(attr, enc),
		.ts_control	= ntrace_attr_to_ts_control(attr, enc),
		.privs		= ntrace_attr_to_filter(attr, enc),
	};

	return 0;
}

/* What the decoder needs to know: the value of PERF_RECORD_AUX_OUTPUT_HW_ID */
u64 ntrace_config_to_hw_id(const struct ntrace_encoder_config *config,
			   const struct ntrace_encoder *enc, bool shared)
{
	u32 privs = config->privs ?: ntrace_all_privs();
	bool src = !(config->control & TR_TE_CONTROL_INHIBIT_SRC);
	bool deviates = strcmp(enc->profile, NTRACE_PROFILE_1_0);

	return FIELD_PREP(NTRACE_HW_ID_VERSION,
			  deviates ? NTRACE_HW_ID_VERSION_2 : NTRACE_HW_ID_VERSION_1) |
	       FIELD_PREP(NTRACE_HW_ID_INSTMODE,
			  FIELD_GET(TR_TE_CONTROL_INST_MODE, config->control)) |
	       FIELD_PREP(NTRACE_HW_ID_CONTEXT, FIELD_GET(TR_TE_CONTROL_CONTEXT, config->control)) |
	       FIELD_PREP(NTRACE_HW_ID_FEATURES,
			  FIELD_GET(TR_TE_FEATURES_PROTOCOL, config->features)) |
	       FIELD_PREP(NTRACE_HW_ID_SRCBITS,
			  src ? FIELD_GET(TR_TE_FEATURES_SRC_BITS, config->features) : 0) |
	       FIELD_PREP(NTRACE_HW_ID_TIMESTAMP,
			  FIELD_GET(TR_TS_CONTROL_ENABLE, config->ts_control)) |
	       FIELD_PREP(NTRACE_HW_ID_PRIV_U, !!(privs & (TR_TE_PRIV_U | TR_TE_PRIV_VU))) |
	       FIELD_PREP(NTRACE_HW_ID_PRIV_S, !!(privs & (TR_TE_PRIV_S | TR_TE_PRIV_VS))) |
	       FIELD_PREP(NTRACE_HW_ID_PRIV_M, !!(privs & TR_TE_PRIV_M)) |
	       FIELD_PREP(NTRACE_HW_ID_SRCID, enc->src_id) |
	       FIELD_PREP(NTRACE_HW_ID_TSPRESCALE, enc->ts.prescale) |
	       FIELD_PREP(NTRACE_HW_ID_PRIVATE, !shared);
}
