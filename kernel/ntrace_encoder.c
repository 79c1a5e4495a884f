// SPDX-License-Identifier: GPL-2.0-only
/*
 * Trace encoder: discovery of its capabilities (WARL fields), configuration, start and stop.
 */
#include <linux/bitfield.h>
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/log2.h>
#include <linux/of.h>
#include <linux/property.h>

#include "ntrace_component.h"
#include "ntrace_version0.h"

/*
 * Filters and comparators of an encoder. An instruction is traced if any filter matches; a filter
 * matches if all of its conditions are true. So each address range has its own filter, with the
 * privileges of the event, and its own comparator:
 *
 *	filter i: privilege and comparator i        comparator i: address >= low and address < high
 */

/* Discovery */

/*
 * Count the filters that match privilege, and how many of them, from 0 on, take a comparator, too.
 */
static void ntrace_filter_probe_filters(struct ntrace_encoder *enc)
{
	struct ntrace_component *comp = &enc->comp;
	u32 match = TR_TE_FILTER_ENABLE | TR_TE_FILTER_MATCH_PRIVILEGE;
	u32 mask, privs, both;
	int i;

	if (!ntrace_has_register(comp, TR_TE_INST_FILTERS))
		return;
	mask = ntrace_write_back(comp, TR_TE_INST_FILTERS, TR_TE_INST_FILTERS_MASK) &
	       TR_TE_INST_FILTERS_MASK;
	ntrace_write(comp, TR_TE_INST_FILTERS, 0);

	for (i = 0; i < TR_TE_NR_FILTERS; i++) {
		if (!(mask & BIT(i)) || !ntrace_has_register(comp, TR_TE_FILTER_CONTROL(i)))
			continue;

		privs = ntrace_write_back(comp, TR_TE_FILTER_MATCH_INST(i),
					  TR_TE_FILTER_CHOICE_PRIVILEGE) &
			TR_TE_FILTER_CHOICE_PRIVILEGE;
		if ((ntrace_write_back(comp, TR_TE_FILTER_CONTROL(i), match) & match) == match) {
			enc->caps.filters++;
			if (i == 0)
				enc->caps.privs = privs;
			both = match | TR_TE_FILTER_MATCH_COMP1 |
			       FIELD_PREP(TR_TE_FILTER_COMP1, i % TR_TE_NR_COMPS);
			if (i == enc->caps.ranges && i < TR_TE_NR_COMPS &&
			    privs == enc->caps.privs &&
			    ntrace_write_back(comp, TR_TE_FILTER_CONTROL(i), both) == both)
				enc->caps.ranges++;
		}
		ntrace_write(comp, TR_TE_FILTER_CONTROL(i), 0);
		ntrace_write(comp, TR_TE_FILTER_MATCH_INST(i), 0);
	}
}

static bool ntrace_filter_write64(struct ntrace_component *comp, u32 low, u64 value)
{
	/* The next register is the high half. RV32 does not need it. */
	bool high = ntrace_write_back(comp, low + 4, upper_32_bits(value)) == upper_32_bits(value);

	return ntrace_write_back(comp, low, lower_32_bits(value)) == lower_32_bits(value) &&
	       (high || IS_ENABLED(CONFIG_32BIT));
}

/* A comparator is only usable if it can hold kernel addresses. */
static bool ntrace_filter_probe_comp(struct ntrace_component *comp, int j)
{
	static const struct ntrace_ranges range;
	u32 control = ntrace_ranges_comp_control(&range);
	bool ok;

	if (!ntrace_has_register(comp, TR_TE_COMP_CONTROL(j)))
		return false;
	ok = ntrace_filter_write64(comp, TR_TE_COMP_P_MATCH_LOW(j), U64_MAX - 1) &&
	     ntrace_filter_write64(comp, TR_TE_COMP_S_MATCH_LOW(j), U64_MAX - 1) &&
	     ntrace_write_back(comp, TR_TE_COMP_CONTROL(j), control) == control;
	ntrace_write(comp, TR_TE_COMP_CONTROL(j), 0);
	ntrace_filter_write64(comp, TR_TE_COMP_P_MATCH_LOW(j), 0);
	ntrace_filter_write64(comp, TR_TE_COMP_S_MATCH_LOW(j), 0);

	return ok;
}

static bool ntrace_filter_probe_latch(struct ntrace_component *comp)
{
	static const struct ntrace_ranges ranges[] = {
		{ .nr = 1, .latch = true },
		{ .nr = 1, .latch = true, .low = { NTRACE_NEVER } },
	};
	bool ok = true;
	u32 control;
	int i;

	for (i = 0; i < ARRAY_SIZE(ranges); i++) {
		control = ntrace_ranges_comp_control(&ranges[i]);
		ok = ok && ntrace_write_back(comp, TR_TE_COMP_CONTROL(0), control) == control;
	}
	ntrace_write(comp, TR_TE_COMP_CONTROL(0), 0);

	return ok;
}

static void ntrace_filter_probe(struct ntrace_encoder *enc)
{
	unsigned int j;

	if (enc->caps.filter_value) {
		enc->caps.filters = 1;
		enc->caps.privs = TR_TE_PRIV_U | TR_TE_PRIV_S | TR_TE_PRIV_M;
		return;
	}
	ntrace_filter_probe_filters(enc);
	for (j = 0; j < enc->caps.ranges; j++)
		if (!ntrace_filter_probe_comp(&enc->comp, j))
			break;
	enc->caps.ranges = j;
	enc->caps.latch = enc->caps.ranges && ntrace_filter_probe_latch(&enc->comp);
}

/* Configuration. Operands are written before the controls that enable the comparison. */

static bool ntrace_filter_write_comp(struct ntrace_component *comp,
				     const struct ntrace_ranges *ranges, int j)
{
	u32 control = ntrace_ranges_comp_control(ranges);

	/* Control last: writing it resets the latch. */
	ntrace_write(comp, TR_TE_COMP_CONTROL(j), 0);
	return ntrace_filter_write64(comp, TR_TE_COMP_P_MATCH_LOW(j), ranges->low[j]) &&
	       ntrace_filter_write64(comp, TR_TE_COMP_S_MATCH_LOW(j), ranges->high[j]) &&
	       ntrace_write_back(comp, TR_TE_COMP_CONTROL(j), control) == control;
}

static bool ntrace_filter_write_one(struct ntrace_component *comp, u32 privs, bool range, int i)
{
	u32 match = TR_TE_FILTER_ENABLE;

	if (privs)
		match |= TR_TE_FILTER_MATCH_PRIVILEGE;
	if (range)
		match |= TR_TE_FILTER_MATCH_COMP1 | FIELD_PREP(TR_TE_FILTER_COMP1, i);

	return ntrace_write_back(comp, TR_TE_FILTER_MATCH_INST(i), privs) == privs &&
	       ntrace_write_back(comp, TR_TE_FILTER_CONTROL(i), match) == match;
}

/* The filter of tt-dfd: it compares with one privilege, instead of a mask of privileges. */
static bool ntrace_filter_write_value(struct ntrace_component *comp, u32 privs)
{
	u32 match = privs ? TR_TE_FILTER_ENABLE | TR_TE_FILTER_MATCH_PRIVILEGE : 0;
	u32 priv = privs ? __ffs(privs) : 0;

	return ntrace_write_back(comp, TR_TE_TT_FILTER_MATCH_INST, priv) == priv &&
	       ntrace_write_back(comp, TR_TE_TT_FILTER_CONTROL, match) == match &&
	       ntrace_write_back(comp, TR_TE_INST_FILTERS, !!privs) == !!privs;
}

/*
 * Write the filters of an event. @privs of 0: all privileges. Return: whether the encoder kept them
 */
static bool ntrace_filter_write(struct ntrace_encoder *enc, u32 privs,
				const struct ntrace_ranges *ranges)
{
	struct ntrace_component *comp = &enc->comp;
	unsigned int nr = ranges->nr ?: !!privs, i;
	u32 select = GENMASK(nr, 0) >> 1;

	if (!enc->caps.filters || ranges->nr > enc->caps.ranges)
		return !nr;
	if (enc->caps.filter_value)
		return ntrace_filter_write_value(comp, privs);

	/* Filters that are not selected have no effect, so do not write them. */
	for (i = 0; i < nr; i++) {
		if (ranges->nr && !ntrace_filter_write_comp(comp, ranges, i))
			return false;
		if (!ntrace_filter_write_one(comp, privs, ranges->nr, i))
			return false;
	}

	return ntrace_write_back(comp, TR_TE_INST_FILTERS, select) == select;
}

/* The encoder */

#define NTRACE_BASE_CONTROL \
	(TR_CONTROL_ACTIVE | FIELD_PREP(TR_TE_CONTROL_FORMAT, TR_TE_FORMAT_NTRACE))

/* Bits of trTeControl that hardware changes by itself */
#define NTRACE_STATUS                                                        \
	(TR_CONTROL_ENABLE | TR_TE_CONTROL_INST_TRACING | TR_CONTROL_EMPTY | \
	 TR_TE_CONTROL_STALL_OR_OVERFLOW)

/* Discovery: write a field and read it back, while Enable is 0 */

static u32 ntrace_encoder_try(struct ntrace_encoder *enc, u32 control)
{
	return ntrace_write_back(&enc->comp, TR_TE_CONTROL, NTRACE_BASE_CONTROL | control);
}

/* Refuse E-Trace encoders: they have the same compatible, but use another protocol. */
static int ntrace_encoder_probe_format(struct ntrace_encoder *enc)
{
	struct ntrace_component *comp = &enc->comp;
	u32 control = ntrace_encoder_try(enc, 0);
	u32 format = FIELD_GET(TR_TE_CONTROL_FORMAT, control);
	u32 major = FIELD_GET(TR_TE_IMPL_PROTOCOL_MAJOR, comp->impl);

	if (format == TR_TE_FORMAT_ETRACE) {
		ntrace_log(err, comp,
			   " is an E-Trace encoder, only N-Trace is supported (Impl 0x%08x)",
			   comp->impl);
		return -ENODEV;
	}
	if (format != TR_TE_FORMAT_NTRACE) {
		ntrace_log(err, comp,
			   " has trace format %u, only N-Trace is supported (Impl 0x%08x)", format,
			   comp->impl);
		return -ENODEV;
	}
	if (major != 1) {
		ntrace_log(err, comp, ": N-Trace protocol %u.%u is not supported (Impl 0x%08x)",
			   major, (u32)FIELD_GET(TR_TE_IMPL_PROTOCOL_MINOR, comp->impl),
			   comp->impl);
		return -ENODEV;
	}

	return 0;
}

static int ntrace_encoder_probe_modes(struct ntrace_encoder *enc)
{
	static const u8 modes[] = { TR_TE_INST_MODE_HTM, TR_TE_INST_MODE_BTM };
	u32 control = 0;
	int i;

	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		control = ntrace_encoder_try(enc, FIELD_PREP(TR_TE_CONTROL_INST_MODE, modes[i]));
		if (FIELD_GET(TR_TE_CONTROL_INST_MODE, control) == modes[i])
			enc->caps.inst_modes |= BIT(modes[i]);
	}

	if (enc->caps.inst_modes)
		return 0;

	ntrace_log(err, &enc->comp, " accepts neither HTM nor BTM (Control 0x%08x)", control);
	return -ENODEV;
}

static void ntrace_encoder_probe_control(struct ntrace_encoder *enc,
					 const struct ntrace_variant *variant)
{
	struct ntrace_encoder_caps *caps = &enc->caps;
	u32 bits = TR_TE_CONTROL_CONTEXT;
	u32 mode;

	if (!variant || !variant->src_bits)
		bits |= TR_TE_CONTROL_INHIBIT_SRC;

	/* The specification does not say whether a stalled hart takes traps. */
	if (variant && variant->can_stall)
		bits |= TR_TE_CONTROL_STALL_ENA;
	caps->control = ntrace_encoder_try(enc, bits) & bits;

	for (mode = 0; mode <= FIELD_MAX(TR_TE_CONTROL_SYNC_MODE); mode++)
		if (FIELD_GET(TR_TE_CONTROL_SYNC_MODE,
			      ntrace_encoder_try(enc, FIELD_PREP(TR_TE_CONTROL_SYNC_MODE, mode))) ==
		    mode)
			caps->sync_modes |= BIT(mode);

	caps->sync_max =
		FIELD_GET(TR_TE_CONTROL_SYNC_MAX, ntrace_encoder_try(enc, TR_TE_CONTROL_SYNC_MAX));
	/* Unrequested Ownership messages are harmless: the decoder knows them by their TCODE. */
	caps->wired = ntrace_encoder_try(enc, 0) & TR_TE_CONTROL_CONTEXT;
}

static void ntrace_encoder_probe_features(struct ntrace_encoder *enc)
{
	struct ntrace_component *comp = &enc->comp;
	u32 bits = TR_TE_FEATURES_SEQUENTIAL_JUMP | TR_TE_FEATURES_REPEATED_HISTORY |
		   TR_TE_FEATURES_ALL_JUMPS | TR_TE_FEATURES_EXTEND_ADDR_MSB;
	u32 mode, value;

	enc->caps.features = ntrace_write_back(comp, TR_TE_INST_FEATURES, bits) & bits;
	enc->caps.retstack = BIT(0);
	for (mode = 1; mode <= FIELD_MAX(TR_TE_FEATURES_IMPLICIT_RETURN_MODE); mode++) {
		value = TR_TE_FEATURES_IMPLICIT_RETURN |
			FIELD_PREP(TR_TE_FEATURES_IMPLICIT_RETURN_MODE, mode);
		if ((ntrace_write_back(comp, TR_TE_INST_FEATURES, value) & value) == value)
			enc->caps.retstack |= BIT(mode);
	}
	ntrace_write(comp, TR_TE_INST_FEATURES, 0);
}

/*
 * Give each encoder a unique source ID, in a field of the same width for all, so that several
 * streams can share a sink. An encoder with its own sink omits SRC if it can.
 */
static void ntrace_encoder_probe_source(struct ntrace_encoder *enc, u32 always)
{
	u32 bits = always ?: clamp(order_base_2(nr_cpu_ids), 1, TR_TE_SRC_BITS_MAX);
	u32 value = FIELD_PREP(TR_TE_FEATURES_SRC_BITS, bits) |
		    FIELD_PREP(TR_TE_FEATURES_SRC_ID, enc->comp.cpu & GENMASK(bits - 1, 0));

	value = ntrace_write_back(&enc->comp, TR_TE_INST_FEATURES, value);
	enc->src_bits = always ?: min_t(u32, FIELD_GET(TR_TE_FEATURES_SRC_BITS, value),
					TR_TE_SRC_BITS_MAX);
	enc->src_id = FIELD_GET(TR_TE_FEATURES_SRC_ID, value);
	ntrace_write(&enc->comp, TR_TE_INST_FEATURES, 0);
}

static u64 ntrace_encoder_hartid(struct device *dev)
{
	struct device_node *np __free(device_node) = of_parse_phandle(dev->of_node, "cpus", 0);
	u64 hartid = 0;
	u32 low;

	if (of_property_read_u64(np, "reg", &hartid) && !of_property_read_u32(np, "reg", &low))
		hartid = low;

	return hartid;
}

static int ntrace_encoder_probe_version1(struct ntrace_encoder *enc,
					 const struct ntrace_variant *variant)
{
	int ret = ntrace_encoder_probe_format(enc) ?: ntrace_encoder_probe_modes(enc);

	if (ret)
		return ret;

	enc->lost = TR_TE_CONTROL_STALL_OR_OVERFLOW;
	enc->enable = TR_CONTROL_ENABLE;
	enc->caps.filter_value = variant && variant->filter_value;
	ntrace_encoder_probe_control(enc, variant);
	ntrace_encoder_probe_features(enc);
	ntrace_encoder_probe_source(enc, variant ? variant->src_bits : 0);
	ntrace_filter_probe(enc);

	return 0;
}

static int ntrace_encoder_probe(struct ntrace_component *comp)
{
	const struct ntrace_variant *variant = device_get_match_data(comp->dev);
	struct ntrace_encoder *enc = to_ntrace_encoder(comp);
	int ret;

	if (comp->cpu < 0) {
		ntrace_log(err, comp, ": no `cpus`, so its CPU is unknown");
		return -ENODEV;
	}

	ret = comp->version0 ? ntrace_version0_probe_encoder(enc) :
			       ntrace_encoder_probe_version1(enc, variant);
	if (ret)
		return ret;

	enc->hartid = ntrace_encoder_hartid(comp->dev);
	enc->profile = variant && variant->profile ? variant->profile : NTRACE_PROFILE_1_0;
	enc->addr_bits = variant ? variant->addr_bits : 0;
	ntrace_timestamp_probe(comp, &enc->ts);

	return 0;
}

/*
 * Clear all registers that may be undefined after reset. ntrace_encoder_write_config() sets only
 * some of them.
 */
static int ntrace_encoder_reset(struct ntrace_component *comp)
{
	static const u32 zeroed[] = {
		TR_TE_INST_FEATURES,	    TR_TE_INST_FILTERS,	    TR_TE_DATA_CONTROL,
		TR_TE_DATA_FILTERS,	    TR_TE_TRIG_DBG_CONTROL, TR_TE_TRIG_EXT_IN_CONTROL,
		TR_TE_TRIG_EXT_OUT_CONTROL, TR_TS_CONTROL,
	};
	struct ntrace_encoder *enc = to_ntrace_encoder(comp);
	int i;

	ntrace_write(comp, TR_TE_CONTROL, TR_CONTROL_ACTIVE);
	for (i = 0; i < ARRAY_SIZE(zeroed); i++)
		if ((!comp->version0 || zeroed[i] == TR_TS_CONTROL) &&
		    ntrace_has_register(comp, zeroed[i]))
			ntrace_write(comp, zeroed[i], 0);

	/* Does nothing at the first reset. At a later one, restart the counter. */
	ntrace_timestamp_run(comp, &enc->ts);
	enc->config_valid = false;
	enc->started = false;

	return 0;
}

/* Configuration */

/* The features of version 0 are always on. */
static bool ntrace_encoder_write_features(struct ntrace_encoder *enc, u32 features)
{
	return enc->comp.version0 ||
	       ntrace_write_back(&enc->comp, TR_TE_INST_FEATURES, features) == features;
}

/*
 * Write the configuration of an event. The encoder must be disabled and empty. Return: 0, or -EIO
 * when the encoder does not keep the combination, although it accepted each value alone
 */
int ntrace_encoder_write_config(struct ntrace_encoder *enc,
				const struct ntrace_encoder_config *config,
				const struct ntrace_ranges *ranges)
{
	struct ntrace_component *comp = &enc->comp;
	u32 want = comp->version0 ? ntrace_version0_te_control(config->control) : config->control;
	/* The synchronisation period may be hardwired. Decoding does not depend on it. */
	u32 any = enc->caps.wired | TR_TE_CONTROL_SYNC_MAX |
		  (comp->version0 ? TR0_TE_SYNC_MAX_MESSAGES : TR_TE_CONTROL_SYNC_MODE);
	u32 control;

	if (comp->failed)
		return -EIO;

	enc->config_valid = false;
	control = ntrace_write_back(comp, TR_TE_CONTROL, want) & ~(NTRACE_STATUS | enc->lost);

	if ((control ^ want) & ~any || !ntrace_encoder_write_features(enc, config->features) ||
	    !ntrace_filter_write(enc, config->privs, ranges)) {
		ntrace_component_complain(comp, "its configuration to be kept", control);
		return -EIO;
	}

	if (enc->ts.mode != TR_TS_MODE_NONE)
		ntrace_write(comp, TR_TS_CONTROL, config->ts_control);
	enc->control = want;
	enc->config = *config;
	enc->ranges = ranges->nr;
	enc->config_valid = true;

	return 0;
}

/* Start and stop */

/*
 * Pause or resume tracing, and change nothing else. This may interrupt any other function for this
 * encoder on its hart. While @enc->started is set, the encoder is enabled and stays so.
 */
void ntrace_encoder_pause(struct ntrace_encoder *enc, bool paused)
{
	WRITE_ONCE(enc->paused, paused);
	if (READ_ONCE(enc->started))
		ntrace_encoder_trace(enc);
}

/* sysfs */

NTRACE_ATTR(encoder, hartid, "%llu", this->hartid);
NTRACE_ATTR(encoder, srcid, "%u", this->src_id);
NTRACE_ATTR(encoder, srcbits, "%u", this->src_bits);
NTRACE_ATTR(encoder, addrbits, "%u", this->addr_bits);
NTRACE_ATTR(encoder, profile, "%s", this->profile);
NTRACE_ATTR(encoder, ts_mode, "%u", this->ts.mode);
NTRACE_ATTR(encoder, ts_width, "%u", this->ts.width);
NTRACE_ATTR(encoder, ts_prescale, "%u", this->ts.prescale);
NTRACE_ATTR(encoder, ts_freq, "%lu", this->ts.tracks_time ? riscv_timebase : 0);
NTRACE_ATTR(encoder, ts_clock, "%s", this->ts.tracks_time ? "time" : "none");

static const struct attribute_group ntrace_encoder_group = {
	.attrs	= (struct attribute *[]) {
		&dev_attr_hartid.attr,
		&dev_attr_srcid.attr,
		&dev_attr_srcbits.attr,
		&dev_attr_addrbits.attr,
		&dev_attr_profile.attr,
		&dev_attr_ts_mode.attr,
		&dev_attr_ts_width.attr,
		&dev_attr_ts_prescale.attr,
		&dev_attr_ts_freq.attr,
		&dev_attr_ts_clock.attr,
		NULL
	},
};

const struct ntrace_component_type ntrace_encoder_type = {
	.name		= "encoder",
	.id		= TR_COMP_ENCODER,
	.size		= sizeof(struct ntrace_encoder),
	.reset		= ntrace_encoder_reset,
	.probe		= ntrace_encoder_probe,
	.group		= &ntrace_encoder_group,
};
