// SPDX-License-Identifier: GPL-2.0-only
/*
 * A QEMU plugin that counts what functions of the guest's kernel cost: calls, instructions until
 * they return (all of them, and those in modules), accesses of trace registers from modules.
 *
 *	-plugin ntrace-cost.so,out=FILE
 *
 * The guest says what it wants with hints, which do nothing elsewhere:
 *
 *	slti zero, a0, 0x54c	function a0 (0 to 15) is at address a1
 *	slti zero, a0, 0x54d	write a line for each: a0, function, calls, instructions, those in
 *				modules, register accesses; and `at` a0, function, an address,
 *				instructions, for each block of code that ran in it; begin anew
 *
 * Exact with -icount only, where one hart runs at a time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qemu-plugin-api.h"

#define HARTS		16
#define FUNCTIONS	16
#define HINT(imm)	((uint32_t)(imm) << 20 | 10 << 15 | 2 << 12 | 0x13)

/* Where Linux puts modules, and where the machine has its trace registers */
#define MODULES_START	0xffffffff00000000
#define MODULES_END	0xffffffff80000000
#define REGS_START	0xbf000000
#define REGS_END	0xbf100000

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

struct count {
	uint64_t insns, module, regs;
};

static struct hart {
	struct qemu_plugin_register *ra, *a0, *a1;
	struct count now;
	struct span {
		bool open;
		uint64_t ra;
		struct count begin;
	} span[FUNCTIONS];
} harts[HARTS];

static struct function {
	uint64_t at, calls;
	struct count sum;
} functions[FUNCTIONS];

static struct block {
	struct block *next;
	uint64_t at;
	uint64_t insns;
	uint64_t during[FUNCTIONS];	/* instructions that ran in this block during a function */
} *blocks;

static bool watching;
static FILE *out;

static uint64_t reg(struct qemu_plugin_register *handle)
{
	GByteArray *buf = g_byte_array_new();
	uint64_t value = 0;

	if (qemu_plugin_read_register(handle, buf))
		memcpy(&value, buf->data, buf->len < 8 ? buf->len : 8);
	g_byte_array_free(buf, TRUE);
	return value;
}

static struct qemu_plugin_register *find(GArray *all, const char *name)
{
	for (unsigned int i = 0; i < all->len; i++)
		if (!strcmp(g_array_index(all, qemu_plugin_reg_descriptor, i).name, name))
			return g_array_index(all, qemu_plugin_reg_descriptor, i).handle;
	fprintf(stderr, "ntrace-cost: no register %s\n", name);
	exit(1);
}

static void on_init(unsigned int vcpu, void *userdata)
{
	GArray *all = qemu_plugin_get_registers();

	(void)userdata;
	if (vcpu >= HARTS)
		exit(1);
	harts[vcpu].ra = find(all, "ra");
	harts[vcpu].a0 = find(all, "a0");
	harts[vcpu].a1 = find(all, "a1");
	g_array_free(all, TRUE);
}

static void close_span(struct hart *h, unsigned int i)
{
	struct span *s = &h->span[i];
	struct function *f = &functions[i];

	s->open = false;
	f->calls++;
	f->sum.insns += h->now.insns - s->begin.insns;
	f->sum.module += h->now.module - s->begin.module;
	f->sum.regs += h->now.regs - s->begin.regs;
}

/* A call and a return both begin a block. */
static void on_block(unsigned int vcpu, void *userdata)
{
	struct hart *h = &harts[vcpu];
	struct block *b = userdata;

	if (!watching)
		return;
	for (unsigned int i = 0; i < FUNCTIONS; i++) {
		struct span *s = &h->span[i];

		if (s->open && b->at == s->ra)
			close_span(h, i);
		if (!s->open && functions[i].at && b->at == functions[i].at)
			*s = (struct span){ true, reg(h->ra), h->now };
		if (s->open)
			b->during[i] += b->insns;
	}
	h->now.insns += b->insns;
	if (b->at >= MODULES_START && b->at < MODULES_END)
		h->now.module += b->insns;
}

static void on_access(unsigned int vcpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *userdata)
{
	const struct qemu_plugin_hwaddr *hw = qemu_plugin_get_hwaddr(info, vaddr);
	uint64_t at = hw ? qemu_plugin_hwaddr_phys_addr(hw) : 0;

	(void)userdata;
	harts[vcpu].now.regs += at >= REGS_START && at < REGS_END;
}

static void on_watch(unsigned int vcpu, void *userdata)
{
	uint64_t i = reg(harts[vcpu].a0);

	(void)userdata;
	if (i < FUNCTIONS)
		functions[i].at = reg(harts[vcpu].a1);
	watching = true;
}

static void report_blocks(uint64_t label)
{
	for (struct block *b = blocks; b; b = b->next) {
		for (unsigned int i = 0; i < FUNCTIONS; i++) {
			if (b->during[i])
				fprintf(out, "at %lu %u %016lx %lu\n", label, i, b->at,
					b->during[i]);
			b->during[i] = 0;
		}
	}
}

static void on_report(unsigned int vcpu, void *userdata)
{
	uint64_t label = reg(harts[vcpu].a0);

	(void)userdata;
	for (unsigned int i = 0; i < FUNCTIONS; i++) {
		struct function *f = &functions[i];

		if (f->at)
			fprintf(out, "%lu %u %lu %lu %lu %lu\n", label, i, f->calls, f->sum.insns,
				f->sum.module, f->sum.regs);
		f->calls = 0;
		f->sum = (struct count){ 0 };
	}
	report_blocks(label);
	fflush(out);
	for (unsigned int i = 0; i < HARTS; i++)
		for (unsigned int j = 0; j < FUNCTIONS; j++)
			harts[i].span[j].open = false;
}

static void on_translate(struct qemu_plugin_tb *tb, void *userdata)
{
	struct block *b = g_new0(struct block, 1);
	struct qemu_plugin_insn *insn;

	(void)userdata;
	b->at = qemu_plugin_tb_vaddr(tb);
	b->insns = qemu_plugin_tb_n_insns(tb);
	b->next = blocks;
	blocks = b;
	qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_tb_get_insn(tb, 0), on_block,
					       QEMU_PLUGIN_CB_R_REGS, b);
	for (size_t i = 0; i < b->insns; i++) {
		uint32_t code = 0;

		insn = qemu_plugin_tb_get_insn(tb, i);
		qemu_plugin_insn_data(insn, &code, sizeof(code));
		if (code == HINT(0x54c))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_watch,
							       QEMU_PLUGIN_CB_R_REGS, NULL);
		if (code == HINT(0x54d))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_report,
							       QEMU_PLUGIN_CB_R_REGS, NULL);
		if (b->at >= MODULES_START && b->at < MODULES_END)
			qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_PLUGIN_CB_NO_REGS,
							 QEMU_PLUGIN_MEM_RW, NULL);
	}
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info,
					   int argc, char **argv)
{
	(void)info;
	if (argc != 1 || strncmp(argv[0], "out=", 4)) {
		fprintf(stderr, "ntrace-cost: out=FILE is the option that is needed, and the only one\n");
		return -1;
	}
	out = fopen(argv[0] + 4, "w");
	if (!out) {
		perror(argv[0] + 4);
		return -1;
	}
	qemu_plugin_register_vcpu_init_cb(id, on_init, NULL);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate, NULL);
	return 0;
}
