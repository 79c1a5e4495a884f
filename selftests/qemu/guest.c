// SPDX-License-Identifier: GPL-2.0-only
/* Registers, memory and clock of the guest */

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "model.h"

#define TIME_HZ		10000000ull	/* the virt machine's timebase */
#define NS_PER_TICK	(1000000000ull / TIME_HZ)

/*
 * Registers
 */

static const char * const reg_name[REG_COUNT] = {
	[REG_PRIV] = "priv", [REG_PC] = "pc", [REG_SATP] = "satp", [REG_TP] = "tp",
	[REG_SSCRATCH] = "sscratch", [REG_TIME] = "time",
	[REG_SEPC] = "sepc", [REG_SCAUSE] = "scause",
	[REG_SSTATUS] = "sstatus", [REG_STVAL] = "stval",
	[REG_MEPC] = "mepc", [REG_MCAUSE] = "mcause",
	[REG_MSTATUS] = "mstatus", [REG_MTVAL] = "mtval",
	"zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "fp", "s1", "a0", "a1", "a2", "a3",
	"a4", "a5", "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11",
	"t3", "t4", "t5", "t6",
};

static struct qemu_plugin_register *find_reg(const GArray *all, const char *name)
{
	guint i;

	for (i = 0; i < all->len; i++) {
		const qemu_plugin_reg_descriptor *d =
			&g_array_index(all, qemu_plugin_reg_descriptor, i);

		if (!strcmp(d->name, name))
			return d->handle;
	}
	return NULL;
}

void guest_init_hart(struct hart *h)
{
	GArray *all = qemu_plugin_get_registers();
	unsigned int i;

	for (i = 0; i < REG_COUNT; i++)
		h->reg[i] = find_reg(all, reg_name[i]);
	g_array_free(all, TRUE);
	if (!h->reg[REG_PRIV] || !h->reg[REG_PC] || !h->reg[REG_GPR])
		die("this CPU model shows no privilege mode, no pc or no integer registers");
	h->buf = g_byte_array_sized_new(16);
}

/* Only to be called in vcpu_init callbacks */
struct qemu_plugin_register *guest_find_reg(const char *name)
{
	GArray *all = qemu_plugin_get_registers();
	struct qemu_plugin_register *reg = find_reg(all, name);

	g_array_free(all, TRUE);
	return reg;
}

uint64_t guest_reg(struct hart *h, enum guest_reg reg)
{
	return h->reg[reg] ? guest_read_reg(h, h->reg[reg]) : 0;
}

uint64_t guest_read_reg(struct hart *h, struct qemu_plugin_register *reg)
{
	uint64_t value = 0;

	g_byte_array_set_size(h->buf, 0);
	if (!qemu_plugin_read_register(reg, h->buf))
		return 0;
	memcpy(&value, h->buf->data, h->buf->len < 8 ? h->buf->len : 8);
	return value;
}

void guest_set_gpr(struct hart *h, unsigned int n, uint64_t value)
{
	if (!n)
		return;
	g_byte_array_set_size(h->buf, 0);
	g_byte_array_append(h->buf, (const guint8 *)&value, sizeof(value));
	qemu_plugin_write_register(h->reg[REG_GPR + n], h->buf);
}

/*
 * Time: QEMU's `time` follows the host's monotonic clock, so it is enough to read the CSR once.
 * With -icount it does not: then clock=csr reads the CSR each time.
 */
static uint64_t host_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* Only to be called where registers can be read */
void guest_sync_time(struct hart *h)
{
	uint64_t before, after;
	unsigned int tries;

	if (h->time_host)
		return;
	/* read both clocks close together, because the difference is used from now on */
	for (tries = 0; tries < 100; tries++) {
		before = host_ns();
		h->time_base = guest_reg(h, REG_TIME);
		after = host_ns();
		if (after - before < 5 * NS_PER_TICK)
			break;
	}
	if (h->time_base)
		h->time_host = after;
}

uint64_t guest_time(struct hart *h)
{
	if (!opt.host_clock)
		return guest_reg(h, REG_TIME);
	if (!h->time_host)
		return 0;
	return h->time_base + (host_ns() - h->time_host) / NS_PER_TICK;
}

/* The clock of a core is 100 times as fast. */
uint64_t guest_core_clock(struct hart *h)
{
	if (!opt.host_clock)
		return guest_reg(h, REG_TIME) * NS_PER_TICK;
	if (!h->time_host)
		return 0;
	return h->time_base * NS_PER_TICK + (host_ns() - h->time_host);
}

/*
 * Memory
 */

static uint8_t *ram;
static uint64_t ram_size;

bool guest_map_ram(void)
{
	struct stat st;
	void *map;
	int fd;

	if (ram)
		return true;
	fd = open(opt.ram, O_RDWR | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return false;
	map = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return false;
	ram = map;
	ram_size = st.st_size;
	return true;
}

uint8_t *guest_ram(uint64_t *size)
{
	*size = ram_size;
	return ram;
}

static bool read_phys(uint64_t addr, void *buf, unsigned int len)
{
	uint64_t at = addr - opt.rambase;

	if (!ram || addr < opt.rambase || at + len > ram_size)
		return false;
	memcpy(buf, ram + at, len);
	return true;
}

/* Walk the page tables here, because QEMU's debug access depends on the current privilege */
bool guest_read(uint64_t satp, uint64_t vaddr, void *buf, unsigned int len)
{
	unsigned int mode = satp >> 60, level;
	uint64_t table = (satp & 0xfffffffffffull) << 12, pte, low;

	if (!mode)
		return read_phys(vaddr, buf, len);
	if (mode < 8 || mode > 10)
		return false;
	for (level = mode - 8 + 2; ; level--) {
		unsigned int shift = 12 + 9 * level;

		if (!read_phys(table + (vaddr >> shift & 0x1ff) * 8, &pte, 8) || !(pte & 1))
			return false;
		low = (1ull << shift) - 1;
		table = (pte >> 10 & 0xfffffffffffull) << 12;
		if (pte & 0xe)
			return read_phys((table & ~low) | (vaddr & low), buf, len);
		if (!level)
			return false;
	}
}
