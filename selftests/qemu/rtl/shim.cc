// SPDX-License-Identifier: GPL-2.0-only
// Verilator's class behind the functions of shim.h, and nothing else

#include <cstdio>
#include <cstdlib>

#include "Vtop.h"
#include "shim.h"
#include "verilated.h"

#define MAX_WAIT	1000		// cycles until the bus answers

struct rtl {
	VerilatedContext context;
	Vtop top{&context};
	rtl_store_fn store;
	void *ctx;
};

static void tick(rtl *r)
{
	Vtop &t = r->top;

	t.clk = 0;
	t.eval();
	t.clk = 1;
	t.eval();
	if (t.mem_write && t.reset_n)
		r->store(r->ctx, t.mem_address,
			 reinterpret_cast<const uint8_t *>(t.mem_data.data()), t.mem_strobe);
}

// Ports keep what they have, but nothing retires
static void idle(rtl *r)
{
	r->top.halfwords = 0;
	r->top.itype = 0;
	tick(r);
}

static void cycle(rtl *r, const rtl_ports *in)
{
	Vtop &t = r->top;

	t.halfwords = t.itype = 0;
	for (int i = 0; i < RTL_BLOCKS; i++) {
		t.halfwords |= in->block[i].halfwords << 5 * i;
		t.itype |= in->block[i].itype << 3 * i;
		t.address[2 * i] = in->block[i].address;
		t.address[2 * i + 1] = in->block[i].address >> 32;
	}
	t.timestamp = in->time;
	t.tval = in->tval;
	t.context_ = in->context;
	t.priv = in->priv;
	tick(r);
}

static bool transfer(rtl *r, uint32_t offset)
{
	Vtop &t = r->top;
	bool ok;
	int n = 0;

	t.paddr = offset;
	t.psel = 1;
	t.penable = 0;
	idle(r);
	t.penable = 1;
	do {
		idle(r);
		if (++n == MAX_WAIT) {
			fprintf(stderr, "rtl: no answer to an access at 0x%x\n", offset);
			exit(1);
		}
	} while (!t.pready);
	ok = !t.pslverr;
	t.psel = t.penable = t.pwrite = 0;
	return ok;
}

static bool read(rtl *r, uint32_t offset, uint32_t *value)
{
	bool ok;

	r->top.pwrite = 0;
	ok = transfer(r, offset);
	*value = r->top.prdata;
	idle(r);
	return ok;
}

static bool write(rtl *r, uint32_t offset, uint32_t value)
{
	bool ok;

	r->top.pwrite = 1;
	r->top.pwdata = value;
	ok = transfer(r, offset);
	idle(r);
	return ok;
}

static rtl *create(rtl_store_fn store, void *ctx)
{
	rtl *r = new rtl;
	int i;

	r->store = store;
	r->ctx = ctx;
	r->top.reset_n = 0;
	r->top.priv = 3;
	for (i = 0; i < 20; i++)
		idle(r);
	r->top.reset_n = 1;
	for (i = 0; i < 4; i++)
		idle(r);
	return r;
}

static void destroy(rtl *r)
{
	r->top.final();
	delete r;
}

static bool backpressure(const rtl *r)
{
	return r->top.backpressure;
}

const struct rtl_shim *rtl_shim(void)
{
	static const struct rtl_shim shim = {
		RTL_SHIM_VERSION, create, destroy, cycle, read, write, backpressure,
	};

	return &shim;
}
