// SPDX-License-Identifier: GPL-2.0-only
/*
 * The trace hardware of a RISC-V machine, as a TCG plugin for QEMU 11.1: for each hart an N-Trace
 * encoder and a RAM sink, the scontext CSR, and the truth (the retired instructions).
 *
 *	-plugin ntrace-plugin.so,ram=FILE,KEY=VALUE,...	Linux: the guest's driver programs it
 *	-plugin ntrace-plugin.so,trace=FILE,KEY=VALUE,...	stand-alone: traces from reset
 *
 * README in this folder explains all options. Unknown options are refused.
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
	.scontext_bits = 32,
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
		.ts = { .modes = 1 << TS_NONE | 1 << TS_INTERNAL_SYSTEM, .width = 56,
			.encoder = true },
		.stall = true,
		.extaddr = true,
		.retstack = 1 << 0 | 1 << 3,
		.syncmodes = 0xf,
		.srcbits = 12,
		.filter = { .filters = 4, .comps = 4, .comp_modes = 0xf, .privileges = 0x6b },
	},
	.funnel = {
		.impl = 0x00000801,	/* funnel, TCI 1.0 */
		.dis_inputs = 0xffff,
		.ts = { .width = 56 },
	},
	.sink = {
		.impl = 0x00002901,	/* SMEM, RAM sink, TCI 1.0 */
		.addrbits = 64,
		.width = 4,
	},
	.bridge = {
		.impl = 0x00000e01,	/* ATB bridge, TCI 1.0 */
	},
	.sram_size = 0x4000,
	.rtl_gap = 2,
	.rtl_pairs = true,
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
	unsigned int shift;	/* shift of a FIELD in its register */
} options[] = {
	{ "regs", U64, &opt.regs, .max = UINT64_MAX },
	{ "ram", STRING, &opt.ram },
	{ "dma_offset", U64, &opt.dma_offset, .max = UINT64_MAX },
	{ "rambase", U64, &opt.rambase, .max = UINT64_MAX },
	{ "trace", STRING, &opt.trace },
	{ "truth", STRING, &opt.truth },
	{ "state", STRING, &opt.state },
	{ "state_user", BOOL, &opt.state_user },
	{ "topology", STRING, &opt.topology },
	{ "rtl", STRING, &opt.rtl },
	{ "rtl_gap", U8, &opt.rtl_gap, .max = 100 },
	{ "rtl_pairs", BOOL, &opt.rtl_pairs },
	{ "sink_log", STRING, &opt.sink_log },
	{ "reg_log", STRING, &opt.reg_log },
	{ "pid_offset", U64, &opt.pid_offset, .max = 1 << 20 },
	{ "fifo", U32, &opt.fifo, .max = 1 << 20 },
	{ "impl", U32, &opt.te.impl, .max = UINT32_MAX },
	{ "sink_impl", U32, &opt.sink.impl, .max = UINT32_MAX },
	{ "funnel_impl", U32, &opt.funnel.impl, .max = UINT32_MAX },
	{ "bridge_impl", U32, &opt.bridge.impl, .max = UINT32_MAX },
	{ "input_fifo", BOOL, &opt.funnel.input_fifo },
	{ "dis_inputs", U32, &opt.funnel.dis_inputs, .max = 0xffff },
	{ "wp_ahead", U8, &opt.sink.late, .max = RAM_LATE_MAX },
	{ "live_data", BOOL, &opt.sink.live_data },
	{ "fixed_limit", BOOL, &opt.sink.fixed_limit },
	{ "wrap_sticks", BOOL, &opt.sink.wrap_sticks },
	{ "lazy", BOOL, &opt.sink.lazy },
	{ "format", U8, &opt.te.format, .max = 7 },
	{ "filters", U8, &opt.te.filter.filters, .max = TE_MAX_FILTERS },
	{ "comps", U8, &opt.te.filter.comps, .max = TE_MAX_COMPS },
	{ "comp_modes", U8, &opt.te.filter.comp_modes, .max = 0xf },
	{ "retstack_modes", U8, &opt.te.retstack, .max = 0xf },
	{ "sync_modes", U8, &opt.te.syncmodes, .max = 0xf },
	{ "srcbits_max", U8, &opt.te.srcbits, .max = 12 },
	{ "scontext_bits", U8, &opt.scontext_bits, .max = 32 },
	{ "scontext_harts", U8, &opt.scontext_harts, .max = MAX_HARTS },
	{ "scontext", BOOL, &opt.scontext, &opt.te.context },
	{ "ts_modes", U8, &opt.te.ts.modes, .max = 0x1f },
	{ "ts_prescale", U8, &opt.te.ts.prescale, .max = 3 },
	{ "ts_prescale_min", U8, &opt.te.ts.prescale_min, .max = 3 },
	{ "ts_width", U8, &opt.te.ts.width, .max = 63 },
	{ "ts_active", LATE, &opt.te.ts.active },
	{ "funnel_ts_modes", U8, &opt.funnel.ts.modes, .max = 0x17 },
	{ "funnel_ts_prescale", U8, &opt.funnel.ts.prescale, .max = 3 },
	{ "funnel_ts_prescale_min", U8, &opt.funnel.ts.prescale_min, .max = 3 },
	{ "funnel_ts_width", U8, &opt.funnel.ts.width, .max = 63 },
	{ "funnel_ts_active", LATE, &opt.funnel.ts.active },
	{ "can_stall", BOOL, &opt.te.stall },
	{ "can_extaddr", BOOL, &opt.te.extaddr },
	{ "can_seqjump", BOOL, &opt.te.seqjump },
	{ "can_alljumps", BOOL, &opt.te.alljumps },
	{ "width", U8, &opt.sink.width, .max = 64 },
	{ "addrbits", U8, &opt.sink.addrbits, .max = 64 },
	{ "stall_any", BOOL, &opt.stall_any },
	{ "fifo_stuck", BOOL, &opt.fifo_stuck },
	{ "miss", U32, &opt.miss, .max = UINT32_MAX },
	{ "icnt_bits", U8, &opt.icnt_bits, .max = 22 },
	{ "addr_bits", U8, &opt.addr_bits, .max = 63 },
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
	{ "active", LATE, &opt.te.active },
	{ "enable", LATE, &opt.te.enable },
	{ "empty", LATE, &opt.te.empty },
	{ "funnel_active", LATE, &opt.funnel.active },
	{ "funnel_enable", LATE, &opt.funnel.enable },
	{ "funnel_empty", LATE, &opt.funnel.empty },
	{ "sink_active", LATE, &opt.sink.active },
	{ "sink_enable", LATE, &opt.sink.enable },
	{ "sink_empty", LATE, &opt.sink.empty },
	{ "bridge_active", LATE, &opt.bridge.active },
	{ "bridge_enable", LATE, &opt.bridge.enable },
	{ "bridge_empty", LATE, &opt.bridge.empty },
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
		return parse_late(text, o->to);
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

/* Sets the option for all types of components */
static bool parse_active_polls(const char *text)
{
	if (!parse_late(text, &opt.te.active))
		return false;
	opt.funnel.active = opt.sink.active = opt.bridge.active = opt.te.active;
	return true;
}

static bool parse_enable_polls(const char *text)
{
	if (!parse_late(text, &opt.te.enable))
		return false;
	opt.funnel.enable = opt.sink.enable = opt.bridge.enable = opt.te.enable;
	return true;
}

static bool parse_flush_polls(const char *text)
{
	if (!parse_late(text, &opt.te.empty))
		return false;
	opt.funnel.empty = opt.sink.empty = opt.bridge.empty = opt.te.empty;
	return true;
}

struct type_bits {
	const char *type;
	uint32_t *bits;			/* indexed by register */
};

/* TYPE:OFFSET:MASK */
static bool parse_bits(const char *text, const struct type_bits *types, size_t n)
{
	unsigned int offset, mask;
	char comp[8], rest;

	if (sscanf(text, "%7[a-z]:%i:%i%c", comp, (int *)&offset, (int *)&mask, &rest) != 3 ||
	    offset >= PAGE || offset & 3)
		return false;
	for (; n; n--, types++) {
		if (strcmp(comp, types->type))
			continue;
		types->bits[offset / 4] |= mask;
		return true;
	}
	return false;
}

static bool parse_nostick(const char *text)
{
	static const struct type_bits types[] = {
		{ "te", opt.te.nostick },
		{ "funnel", opt.funnel.nostick },
		{ "sink", opt.sink.nostick },
		{ "bridge", opt.bridge.nostick },
	};

	return parse_bits(text, types, sizeof(types) / sizeof(types[0]));
}

static bool parse_stick(const char *text)
{
	static const struct type_bits types[] = {
		{ "te", opt.te.stick },
		{ "sink", opt.sink.stick },
	};

	return parse_bits(text, types, sizeof(types) / sizeof(types[0]));
}

/* Faults of single components, by name, because the components are known only later */
static struct {
	char name[16];
	struct fault fault;
} faults[16];
static unsigned int n_faults;

static struct fault *fault_of(const char *name)
{
	unsigned int i;

	for (i = 0; i < n_faults; i++)
		if (!strcmp(faults[i].name, name))
			return &faults[i].fault;
	if (n_faults == sizeof(faults) / sizeof(faults[0]))
		return NULL;
	g_strlcpy(faults[n_faults].name, name, sizeof(faults[0].name));
	return &faults[n_faults++].fault;
}

/* NAME:COUNT, at least 1 */
static struct fault *parse_fault(const char *text, uint64_t *count)
{
	const char *colon = strchr(text, ':');
	char name[16] = "";

	if (!colon || colon - text >= (long)sizeof(name) ||
	    !parse_number(colon + 1, UINT64_MAX, count) || !*count)
		return NULL;
	memcpy(name, text, colon - text);
	return fault_of(name);
}

/* ones=NAME:ACCESSES */
static bool parse_ones(const char *text)
{
	uint64_t count;
	struct fault *fault = parse_fault(text, &count);

	if (fault)
		fault->ones_after = count;
	return fault;
}

/* drop_enable=NAME:MESSAGES */
static bool parse_drop_enable(const char *text)
{
	uint64_t count;
	struct fault *fault = parse_fault(text, &count);

	if (fault)
		fault->enable_after = count;
	return fault;
}

/* stray=NAME:MESSAGES */
static bool parse_stray(const char *text)
{
	uint64_t count;
	struct fault *fault = parse_fault(text, &count);

	if (fault)
		fault->stray_after = count;
	return fault;
}

static void apply_faults(void)
{
	struct component *c;
	unsigned int i;

	for (i = 0; i < n_faults; i++) {
		c = topology_find(faults[i].name);
		if (!c)
			die("%s: no such component", faults[i].name);
		c->fault = faults[i].fault;
	}
}

/* version=0: defaults as in SiFive's P550, which other options may change */
static bool parse_version(const char *text)
{
	opt.version0 = !strcmp(text, "0");
	if (!opt.version0)
		return !strcmp(text, "1");
	opt.te.filter.filters = opt.te.filter.comps = 0;
	opt.te.context = false;
	opt.te.ts = (struct ts_ability){ .modes = 1 << TS_NONE | 1 << TS_SHARED, .width = 40,
					 .encoder = true };
	opt.funnel.ts = (struct ts_ability){ .modes = 1 << TS_NONE | 1 << TS_INTERNAL_SYSTEM,
					     .width = 40 };
	opt.sink.addrbits = 41;
	opt.sink.width = 8;
	return true;
}

/* memory=smem|sram|both */
static bool parse_memory(const char *text)
{
	bool both = !strcmp(text, "both"), smem = both || !strcmp(text, "smem");
	bool sram = both || !strcmp(text, "sram");

	opt.sink.impl &= ~(RAM_HAS_SRAM | RAM_HAS_SMEM);
	opt.sink.impl |= (smem ? RAM_HAS_SMEM : 0) | (sram ? RAM_HAS_SRAM : 0);
	return smem || sram;
}

static bool parse_sram(const char *text)
{
	uint64_t size;

	if (!parse_number(text, 1 << 24, &size) || size < 256 || size & (size - 1))
		return false;
	opt.sram_size = size;
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
	opt.ts_control = on ? TS_COUNT | TS_ENABLE | TS_INTERNAL_SYSTEM << TS_MODE_SHIFT : 0;
	return true;
}

static bool parse_ts(const char *text)
{
	bool on;

	if (!parse_bool(text, &on))
		return false;
	if (!on)
		opt.te.ts.modes = 0;
	return true;
}

static bool parse_btype(const char *text)
{
	opt.btype_1 = !strcmp(text, "1");
	return opt.btype_1 || !strcmp(text, "23");
}

/* Two addresses, START:END or START:STOP */
static bool parse_addresses(const char *text, uint32_t control)
{
	char *end;

	opt.comp_control = control;
	opt.comp_p = strtoull(text, &end, 0);
	return end != text && *end == ':' && parse_number(end + 1, UINT64_MAX, &opt.comp_s);
}

/* Instructions from START to below END */
static bool parse_range(const char *text)
{
	return parse_addresses(text, FN_GE << 4 | FN_LT << 8 | COMP_AND << 12);
}

/* From the instruction at START to the one at STOP */
static bool parse_start_stop(const char *text)
{
	return parse_addresses(text, FN_EQ << 4 | FN_EQ << 8 | COMP_LATCH << 12);
}

/* lose=suspend|stop|suspend+stop[+cluster] */
static bool parse_lose(const char *text)
{
	const char *cluster = strstr(text, "+cluster");
	size_t len = cluster && !cluster[8] ? (size_t)(cluster - text) : strlen(text);

	opt.lose_cluster = text[len];
	opt.lose_suspend = !strncmp(text, "suspend", 7);
	opt.lose_stop = len >= 4 && !strncmp(text + len - 4, "stop", 4);
	return (len == 7 && opt.lose_suspend) || (len == 4 && opt.lose_stop) ||
	       (len == 12 && !strncmp(text, "suspend+stop", 12));
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
	{ "active_polls", parse_active_polls },
	{ "enable_polls", parse_enable_polls },
	{ "flush_polls", parse_flush_polls },
	{ "nostick", parse_nostick },
	{ "stick", parse_stick },
	{ "ones", parse_ones },
	{ "drop_enable", parse_drop_enable },
	{ "stray", parse_stray },
	{ "version", parse_version },
	{ "memory", parse_memory },
	{ "sram", parse_sram },
	{ "modes", parse_modes },
	{ "clock", parse_clock },
	{ "mode", parse_mode },
	{ "retstack", parse_retstack },
	{ "timestamps", parse_timestamps },
	{ "ts", parse_ts },
	{ "btype", parse_btype },
	{ "range", parse_range },
	{ "start_stop", parse_start_stop },
	{ "overflow", parse_overflow },
	{ "lose", parse_lose },
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
	if (opt.trace && opt.topology)
		return complain("topology", "a stand-alone trace has none");
	if (opt.rtl && !opt.topology)
		return complain("rtl", "wants a topology of such hardware");
	if (opt.sink.width < 4 || opt.sink.width & (opt.sink.width - 1))
		return complain("width", "a power of two from 4 to 64");
	if (opt.regs % PAGE || !opt.te.syncmodes || opt.fifo < 512)
		return complain("regs, sync_modes, fifo", "unusable");
	return true;
}

/*
 * Harts
 */

/* Other harts may run until the process ends. Take their locks and never release them. */
static void on_exit_qemu(void *userdata)
{
	unsigned int i;

	(void)userdata;
	for (i = 0; i < n_harts; i++) {
		hart_lock(harts[i]);
		encode_exit(harts[i]);
		truth_exit(harts[i]);
		state_exit(harts[i]);
	}
	if (opt.rtl)
		rtl_exit();
	net_exit();
	mmio_exit();
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

/* Called for the first hart. QEMU creates the guest's memory before its harts. */
static void init_components(void)
{
	static bool done;

	if (done)
		return;
	done = true;
	if (opt.ram && !guest_map_ram())
		die("ram=%s: cannot map it", opt.ram);
	net_init();
	if (opt.ram)
		mmio_init();
	if (opt.rtl)
		rtl_init();
}

static void on_vcpu_init(unsigned int vcpu, void *userdata)
{
	struct hart *h = harts[vcpu];

	(void)userdata;
	guest_init_hart(h);
	init_components();
	retire_init_hart(h);
	encode_init_hart(h);
	if (opt.rtl) {
		feed_init_hart(h);
		rtl_init_bus(h);
	}
	truth_init_hart(h);
	state_init_hart(h);
}

static void build(void)
{
	unsigned int i;

	for (i = 0; i < n_harts; i++)
		harts[i] = new_hart(i);
	if (opt.topology)
		topology_read(opt.topology);
	else
		topology_default();
	if (opt.wants_rtl != !!opt.rtl)
		die("rtl: the topology and the options differ on whether the hardware is RTL");
	apply_faults();
	for (i = 0; i < n_harts; i++)
		te_init(&harts[i]->te, &opt.te);
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
	build();
	qemu_plugin_register_vcpu_init_cb(id, on_vcpu_init, NULL);
	qemu_plugin_register_atexit_cb(id, on_exit_qemu, NULL);
	retire_install(id);
	return 0;
}
