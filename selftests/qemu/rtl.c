// SPDX-License-Identifier: GPL-2.0-only
/*
 * Open RTL instead of the model's encoder, funnel and sink: a shared object that lab/build-rtl
 * builds.  The RTL has no free-running clock: retired blocks and register accesses advance it by
 * cycles.
 */

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

/* Offsets in the RTL's address space */
#define RTL_ENCODER		0x2000u
#define RTL_ENCODER_STRIDE	0x9000u
#define RTL_FUNNEL		0x4000u
#define RTL_SINK		0x5000u
#define RTL_CLUSTER_FUSE	0x7ff8u
#define  RTL_CORE_ENABLE	(1u << 16)

static const struct rtl_shim *shim;
static struct rtl *rtl;
static atomic_flag lock = ATOMIC_FLAG_INIT;
static uint64_t cycles;

/* A byte outside of memory is lost, like on a bus. */
static void store(void *ctx, uint64_t address, const uint8_t *data, uint64_t strobe)
{
	uint64_t size, at = address - opt.rambase;
	uint8_t *ram = guest_ram(&size);
	unsigned int i;

	(void)ctx;
	for (i = 0; i < RTL_STORE_BYTES; i++)
		if (strobe >> i & 1 && address + i >= opt.rambase && at + i < size)
			ram[at + i] = data[i];
	net_log_store(topology_find("sink0"), address, RTL_STORE_BYTES);
}

void rtl_cycle(const struct rtl_ports *ports)
{
	spin_lock(&lock);
	shim->cycle(rtl, ports);
	cycles++;
	atomic_flag_clear_explicit(&lock, memory_order_release);
}

/* Would the hart have to wait? */
bool rtl_waits(void)
{
	return shim->backpressure(rtl);
}

static uint32_t place(const struct component *c)
{
	switch (c->type) {
	case COMP_ENCODER:
		return RTL_ENCODER + c->number * RTL_ENCODER_STRIDE;
	case COMP_FUNNEL:
		return RTL_FUNNEL;
	default:
		return RTL_SINK;
	}
}

/* rtl_read() and rtl_write() return false on a bus error: there is no such register */
bool rtl_read(const struct component *c, unsigned int offset, uint32_t *value)
{
	bool ok;

	spin_lock(&lock);
	ok = shim->read(rtl, place(c) + offset, value);
	atomic_flag_clear_explicit(&lock, memory_order_release);
	return ok;
}

bool rtl_write(const struct component *c, unsigned int offset, uint32_t value)
{
	bool ok;

	spin_lock(&lock);
	ok = shim->write(rtl, place(c) + offset, value);
	atomic_flag_clear_explicit(&lock, memory_order_release);
	return ok;
}

/* Update the log of the sinks' writes */
void rtl_sink_control(struct component *c, uint32_t value)
{
	bool before = c->sink.enable.is;
	uint32_t start = 0, start_high = 0, limit = 0, limit_high = 0;

	c->sink.enable.is = value & RAM_ENABLE;
	if (before || !c->sink.enable.is || !opt.sink_log)
		return;
	rtl_read(c, RAM_START_LOW, &start);
	rtl_read(c, RAM_START_HIGH, &start_high);
	rtl_read(c, RAM_LIMIT_LOW, &limit);
	rtl_read(c, RAM_LIMIT_HIGH, &limit_high);
	c->sink.start = start | (uint64_t)start_high << 32;
	c->sink.limit = limit | (uint64_t)limit_high << 32;
	c->sink.control = value & RAM_MODE_SMEM;
	net_log_enable(c, 0);
}

/* This RTL has one encoder, one funnel and one sink. */
static void check_components(void)
{
	unsigned int i;

	for (i = 0; i < n_components; i++)
		if (components[i]->number || components[i]->type == COMP_BRIDGE)
			die("%s: the RTL has encoder0, funnel0 and sink0", components[i]->name);
	if (n_components != 3 || n_harts != 1)
		die("rtl: one hart, with encoder0, funnel0 and sink0");
}

void rtl_init(void)
{
	const struct rtl_shim *(*get)(void);
	void *so;

	check_components();
	so = dlopen(opt.rtl, RTLD_NOW | RTLD_LOCAL);
	if (!so)
		die("rtl: %s", dlerror());
	get = (const struct rtl_shim *(*)(void))dlsym(so, "rtl_shim");
	if (!get || get()->version != RTL_SHIM_VERSION)
		die("rtl: %s is not of this model: run lab/build-rtl", opt.rtl);
	shim = get();
	rtl = shim->create(store, NULL);
	/* normally done by firmware: enable the cores of the cluster */
	if (!shim->write(rtl, RTL_CLUSTER_FUSE, RTL_CORE_ENABLE))
		die("rtl: no register that enables the cores");
}

void rtl_exit(void)
{
	shim->destroy(rtl);
	fprintf(stderr, "ntrace model: rtl: %llu cycles\n", (unsigned long long)cycles);
}
