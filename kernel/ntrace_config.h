/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From perf_event_attr to register values, and from these to what a reader needs to know.
 */
#ifndef _NTRACE_CONFIG_H
#define _NTRACE_CONFIG_H

#include <linux/bitfield.h>
#include <linux/perf_event.h>

#include <uapi/linux/ntrace.h>

#include "ntrace_encoder.h"

#define ntrace_attr(_attr, _field)	FIELD_GET(NTRACE_CONFIG_##_field, (_attr)->config)
#define ntrace_attr_sinkid(_attr)	FIELD_GET(NTRACE_CONFIG2_SINKID, (_attr)->config2)

/**
 * struct ntrace_field - a term
 * @name:	its file in format/
 * @word:	of perf_event_attr, as it is called there
 * @mask:	its bits
 */
struct ntrace_field {
	const char *name;
	const char *word;
	u64 mask;
};

#define NTRACE_NR_FIELDS	13

extern const struct ntrace_field ntrace_fields[NTRACE_NR_FIELDS];

bool ntrace_attr_has_unknown_bits(const struct perf_event_attr *attr);
u32 ntrace_attr_privs(const struct perf_event_attr *attr);
int ntrace_attr_to_config(const struct perf_event_attr *attr, const struct ntrace_encoder *enc,
			  bool shared, struct ntrace_encoder_config *config);
u64 ntrace_config_to_hw_id(const struct ntrace_encoder_config *config,
			   const struct ntrace_encoder *enc, bool shared);

#endif /* _NTRACE_CONFIG_H */
