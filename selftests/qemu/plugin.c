// SPDX-License-Identifier: GPL-2.0-only
/*
 * The trace hardware of a RISC-V machine, as a TCG plugin for QEMU 11.1: per hart an N-Trace
 * encoder and a RAM sink, the scontext CSR, and the truth about what retired.
 *
 *	-plugin ntrace-plugin.so,ram=FILE,KEY=VALUE,...	Linux: the guest's driver programs it
 *	-plugin ntrace-plugin.so,trace=FILE,KEY=VALUE,...	stand-alone: traces from reset
 *
 * README in this folder explains all options; an unknown one is refused.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

struct hart *harts[MAX_HARTS];
unsigned int n_harts;

struct options opt = {
	.regs = 0xbf000000,
	.rambase = 0x80000000,
	.pid_offset = -1,
	.scontext = true,
	.host_clock = true,
	.fifo = 1024,
	.privileges = 1 << PRIV_U | 1 << PRIV_S | 1 << PRIV_M,
	.control = TE_MODE_HTM << TE_INST_MODE_SHIFT | 3 << TE_SYNC_MODE_SHIFT |
		   8 << TE_SYNC_MAX_SHIFT,
	.te = {
		.impl = 0x00010101,	/* N-Trace 1.0, encoder, TCI 1.0 */
		.format = 1,
		.btm = true,
		.htm = true,
		.context = true,
		.timestamp = true,
		.stall = true,
		.extaddr = true,
		.retstack = 1 << 0 | 1 << 3,
		.syncmodes = 0xf,
		.srcbits = 12,
		.filters = 4,
		.privileges = 0x6b,
	},
	.sink = {
		.impl = 0x00002901,	/* SMEM, RAM sink, TCI 1.0 */
		.addrbits = 64,
		.width = 4,
	},
};

/*
 * Options
 */

enum kind { U64, U32, U8, BOOL, STRING, LATE, FIELD };

static const struct option {
	const char *name;
	enum kind kind;
	void *to, *too;
	uint64_t max;
	unsigned int shift;	/* FIELD of a register */
} options[] = {
	{ "regs", U64, &opt.regs, .max = UINT64_MAX },
	{ "ram", STRING, &opt.ram },
	{ "rambase", U64, &opt.rambase, .max = UINT64_MAX },
	{ "trace", STRING, &opt.trace },
	{ "truth", STRING, &opt.truth },
	{ "pid_offset", U64, &opt.pid_offset, .max = 1 << 20 },
	{ "fifo", U32, &opt.fifo, .max = 1 << 20 },
	{ "impl", U32, &opt.te.impl, .max = UINT32_MAX },
	{ "sink_impl", U32, &opt.sink.impl, .max = UINT32_MAX },
	{ "format", U8, &opt.te.format, .max = 7 },
	{ "filters", U8, &opt.te.filters, .max = TE_MAX_FILTERS },
	{ "retstack_modes", U8, &opt.te.retstack, .max = 0xf },
	{ "sync_modes", U8, &opt.te.syncmodes, .max = 0xf },
	{ "srcbits_max", U8, &opt.te.srcbits, .max = 12 },
	{ "scontext", BOOL, &opt.scontext, &opt.te.context },
	{ "ts", BOOL, &opt.te.timestamp },
	{ "can_stall", BOOL, &opt.te.stall },
	{ "can_extaddr", BOOL, &opt.te.extaddr },
	{ "can_seqjump", BOOL, &opt.te.seqjump },
	{ "can_alljumps", BOOL, &opt.te.alljumps },
	{ "width", U8, &opt.sink.width, .max = 64 },
	{ "addrbits", U8, &opt.sink.addrbits, .max = 64 },
	{ "fifo_stuck", BOOL, &opt.fifo_stuck },
	{ "icnt_bits", U8, &opt.icnt_bits, .max = 22 },
	{ "hist_bits", U8, &opt.hist_bits, .max = 32 },
	{ "privileges", U32, &opt.privileges, .max = 0xff },
	{ "context", FIELD, &opt.control, .max = 1, .shift = 9 },
	{ "stall", FIELD, &opt.control, .max = 1, .shift = 13 },
	{ "inhibit_src", FIELD, &opt.control, .max = 1, .shift = 15 },
	{ "syncmode", FIELD, &opt.control, .max = 3, .shift = TE_SYNC_MODE_SHIFT },
	{ "syncmax", FIELD, &opt.control, .max = 15, .shift = TE_SYNC_MAX_SHIFT },
	{ "extaddr", FIELD, &opt.features, .max = 1, .shift = 10 },
	{ "seqjump", FIELD, &opt.features, .max = 1, .shift = 2 },
	{ "alljumps", FIELD, &opt.features, .max = 1, .shift = 9 },
	{ "src", FIELD, &opt.features, .max = 0xfff, .shift = TE_SRC_ID_SHIFT },
	{ "srcbits", FIELD, &opt.features, .max = 12, .shift = TE_SRC_BITS_SHIFT },
	{ "flush_polls", LATE, &opt.te.empty, &opt.sink.empty },
	{ "active_polls", LATE, &opt.te.active, &opt.sink.active },
	{ "enable_polls", LATE, &opt.te.enable, &opt.sink.enable },
	{ "active", LATE, &opt.te.active },
	{ "enable", LATE, &opt.te.enable },
	{ "empty", LATE, &opt.te.empty },
	{ "sink_active", LATE, &opt.sink.active },
	{ "sink_enable", LATE, &opt.sink.enable },
	{ "sink_empty", LATE, &opt.sink.empty },
};

static bool complain(const char *arg, const char *why)
{
	fprintf(stderr, "ntrace model: %s: %s\n", arg, why);
	return false;
}

static bool parse_number(const char *text, uint64_t max, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 0);
	return !errno && end != text && !*end && *value <= max;
}

static bool parse_bool(const char *text, bool *value)
{
	*value = !strcmp(text, "1") || !strcmp(text, "on") || !strcmp(text, "true");
	return *value || !strcmp(text, "0") || !strcmp(text, "off") || !strcmp(text, "false");
}

static bool parse_late(const char *text, struct late_bit_delay *value)
{
	uint64_t polls;

	if (!strcmp(text, "never")) {
		value->polls = LATE_NEVER;
		return true;
	}
	if (!parse_number(text, 1 << 30, &polls))
		return false;
	value->polls = polls;
	return true;
}

static bool store(const struct option *o, const char *text)
{
	uint64_t number;

	switch (o->kind) {
	case STRING:
		*(const char **)o->to = text;
		return *text;
	case BOOL:
		if (!parse_bool(text, o->to))
			return false;
		if (o->too)
			*(bool *)o->too = *(bool *)o->to;
		return true;
	case LATE:
		if (!parse_late(text, o->to))
			return false;
		if (o->too)
			*(struct late_bit_delay *)o->too = *(struct late_bit_delay *)o->to;
		return true;
	default:
		break;
	}
	if (!parse_number(text, o->max, &number))
		return false;
	if (o->kind == FIELD)
		*(uint32_t *)o->to = (*(uint32_t *)o->to & ~(o->max << o->shift)) |
				     number << o->shift;
	else if (o->kind == U64)
		*(uint64_t *)o->to = number;
	else if (o->kind == U32)
		*(uint32_t *)o->to = number;
	else
		*(uint8_t *)o->to = number;
	return true;
}

/* nostick=te|sink:OFFSET:MASK */
static bool parse_nostick(const char *text)
{
	unsigned int offset, mask;
	char comp[8];

	if (sscanf(text, "%4[a-z]:%i:%i", comp, (int *)&offset, (int *)&mask) != 3 ||
	    offset >= PAGE || offset & 3)
		return false;
	if (!strcmp(comp, "te"))
		opt.te.nostick[offset / 4] |= mask;
	else if (!strcmp(comp, "sink"))
		opt.sink.nostick[offset / 4] |= mask;
	else
		return false;
	return true;
}

static bool parse_modes(const char *text)
{
	opt.te.btm = strstr(text, "btm");
	opt.te.htm = strstr(text, "htm");
	return opt.te.btm || opt.te.htm;
}

static bool parse_clock(const char *text)
{
	opt.host_clock = !strcmp(text, "host");
	return opt.host_clock || !strcmp(text, "csr");
}

static bool parse_mode(const char *text)
{
	unsigned int mode = !strcmp(text, "btm") ? TE_MODE_BTM : TE_MODE_HTM;

	opt.control = (opt.control & ~TE_INST_MODE) | mode << TE_INST_MODE_SHIFT;
	return mode == TE_MODE_BTM || !strcmp(text, "htm");
}

static bool parse_retstack(const char *text)
{
	unsigned int mode = text[0] - '0';

	if (mode > 3 || text[1])
		return false;
	opt.features = (opt.features & ~(TE_IMPLICIT_RETURN | TE_RETURN_MODE)) |
		       (mode ? TE_IMPLICIT_RETURN | mode << TE_RETURN_MODE_SHIFT : 0);
	return true;
}

static bool parse_timestamps(const char *text)
{
	bool on;

	if (!parse_bool(text, &on))
		return false;
	opt.ts_control = on ? TE_TS_COUNT | TE_TS_ENABLE | TE_TS_INTERNAL << TE_TS_MODE_SHIFT : 0;
	return true;
}

static bool parse_btype(const char *text)
{
	opt.btype_1 = !strcmp(text, "1");
	return opt.btype_1 || !strcmp(text, "23");
}

/* overflow=PERIOD/COUNT */
static bool parse_overflow(const char *text)
{
	char rest;

	return sscanf(text, "%u/%u%c", &opt.overflow_period, &opt.overflow_count, &rest) == 2;
}

static const struct {
	const char *name;
	bool (*parse)(const char *text);
} special_options[] = {
	{ "nostick", parse_nostick },
	{ "modes", parse_modes },
	{ "clock", parse_clock },
	{ "mode", parse_mode },
	{ "retstack", parse_retstack },
	{ "timestamps", parse_timestamps },
	{ "btype", parse_btype },
	{ "overflow", parse_overflow },
};

static bool parse_option(char *arg)
{
	char *text = strchr(arg, '=');
	unsigned int i;
	size_t len;

	if (!text)
		return complain(arg, "not KEY=VALUE");
	len = text++ - arg;
	for (i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (strlen(options[i].name) == len && !memcmp(options[i].name, arg, len))
			return store(&options[i], text) || complain(arg, "bad value");
	for (i = 0; i < sizeof(special_options) / sizeof(special_options[0]); i++)
		if (strlen(special_options[i].name) == len &&
		    !memcmp(special_options[i].name, arg, len))
			return special_options[i].parse(text) || complain(arg, "bad value");
	return complain(arg, "unknown option");
}

static bool check_options(void)
{
	if (!opt.ram && !opt.trace)
		return complain("ram=FILE or trace=FILE", "one of them is needed");
	if (opt.ram && opt.trace)
		return complain("ram, trace", "either a driver's trace or a stand-alone one");
	if (opt.sink.width < 4 || opt.sink.width & (opt.sink.width - 1))
		return complain("width", "a power of two from 4 to 64");
	if (opt.regs % PAGE || !opt.te.syncmodes || opt.fifo < 512)
		return complain("regs, sync_modes, fifo", "unusable");
	return true;
}

/*
 * Harts
 */

/* Other harts may run on until the process ends: the locks keep them out for good */
static void on_exit_qemu(void *userdata)
{
	unsigned int i;

	(void)userdata;
	for (i = 0; i < n_harts; i++) {
		hart_lock(harts[i]);
		encode_exit(harts[i]);
		truth_exit(harts[i]);
	}
}

static struct hart *new_hart(unsigned int index)
{
	struct hart *h = calloc(1, sizeof(*h));

	if (!h)
		die("out of memory");
	h->index = index;
	atomic_flag_clear(&h->lock);
	return h;
}

static void on_vcpu_init(unsigned int vcpu, void *userdata)
{
	struct hart *h = harts[vcpu];
	uint64_t size;
	uint8_t *ram;

	(void)userdata;
	guest_init_hart(h);
	if (opt.ram && !guest_map_ram())
		die("ram=%s: cannot map it", opt.ram);
	ram = guest_ram(&size);
	te_init(&h->te, &opt.te);
	ram_init(&h->sink, &opt.sink, ram, opt.rambase, size);
	retire_init_hart(h);
	encode_init_hart(h);
	truth_init_hart(h);
	if (opt.ram)
		mmio_init_hart(h);
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info,
					   int argc, char **argv)
{
	int i;

	for (i = 0; i < argc; i++)
		if (!parse_option(argv[i]))
			return 1;
	if (!check_options())
		return 1;
	if (!info->system_emulation || strcmp(info->target_name, "riscv64") ||
	    info->system.max_vcpus > MAX_HARTS)
		return !complain(info->target_name, "only riscv64 system emulation, 64 harts");

	n_harts = info->system.max_vcpus;
	for (i = 0; i < (int)n_harts; i++)
		harts[i] = new_hart(i);
	qemu_plugin_register_vcpu_init_cb(id, on_vcpu_init, NULL);
	qemu_plugin_register_atexit_cb(id, on_exit_qemu, NULL);
	retire_install(id);
	return 0;
}
