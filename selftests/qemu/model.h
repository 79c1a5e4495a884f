/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Declarations that the files of the trace hardware model share.  Functions call only downwards:
 *
 *	plugin.c	options, installation, the life of harts
 *	mmio.c		the guest's loads and stores of registers
 *	topology.c	the components and their links
 *	scontext.c	the CSR that QEMU lacks
 *	retire.c	QEMU's callbacks -> retired instructions, traps
 *	encode.c	the encoder: gate, nt_enc_, FIFO
 *	rtl-bus.c	the guest's loads and stores of RTL registers
 *	rtl-feed.c	retired instructions -> ports of an RTL encoder
 *	rtl.c		the RTL: registers, clock, memory
 *	truth.c		the truth: its stream
 *	truth-loss.c	which parts of it were lost
 *	truth-gate.c	which instructions belong to it
 *	state.c		full state: everything that instructions change
 *	net.c		funnels, sinks, bridges: the path of trace after the encoders
 *	version0.c	registers of version 0
 *	te-regs.c	register file of an encoder		(pure)
 *	filter.c	filters and comparators of an encoder	(pure)
 *	tsunit.c	timestamp unit of encoder or funnel	(pure)
 *	funnel.c	funnel: registers, buffered messages	(pure)
 *	ramsink.c	RAM sink: registers and memory		(pure)
 *	bridge.c	bridge to an AMBA trace bus: registers	(pure)
 *	guest.c		registers, memory and clock of the guest
 */
#ifndef MODEL_H
#define MODEL_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "../../tools-perf/util/ntrace-decoder/ntrace.h"
#include "net.h"
#include "qemu-plugin-api.h"
#include "rtl/shim.h"
#include "te-regs.h"

#define MAX_HARTS	64
#define PAGE		0x1000u
#define REG_PAGES	256u		/* pages that hold the register blocks */
#define HART_STRIDE	0x2000u		/* without a topology: encoder, then sink */

enum priv {
	PRIV_U = 0,
	PRIV_S = 1,
	PRIV_M = 3,
};

/* Registers of a hart that the model reads or writes, by QEMU's names */
enum guest_reg {
	REG_PRIV,
	REG_PC,
	REG_SATP,
	REG_TP,
	REG_SSCRATCH,
	REG_TIME,
	REG_SEPC,
	REG_SCAUSE,
	REG_SSTATUS,
	REG_STVAL,
	REG_MEPC,
	REG_MCAUSE,
	REG_MSTATUS,
	REG_MTVAL,
	REG_GPR,			/* x0, then the rest */
	REG_COUNT = REG_GPR + 32,
};

struct options {
	uint64_t regs;			/* address of the register blocks */
	const char *ram;		/* file behind the guest's memory */
	uint64_t rambase;
	uint64_t dma_offset;		/* bus address of memory = physical address - this */
	const char *trace;		/* stand-alone: trace of hart %d into this file */
	const char *truth;		/* file of hart %d, or a command after '|' */
	const char *state;		/* file of hart %d for full state */
	bool state_user;		/* state of U mode only */
	const char *topology;		/* file with components and links */
	const char *rtl;		/* shared object with the RTL */
	bool wants_rtl;			/* the topology needs RTL */
	uint8_t rtl_gap;		/* idle cycles after a block that makes a message */
	bool rtl_pairs;			/* two blocks in one cycle */
	const char *sink_log;		/* log file of the sinks' writes to memory */
	const char *reg_log;		/* log file of all register accesses */
	int64_t pid_offset;		/* offset of pid in task_struct; <0 unknown */
	bool scontext;
	uint8_t scontext_bits;		/* at most 32 on RV64, by the debug specification */
	uint8_t scontext_harts;		/* number of harts with scontext_bits, from 0 on; 0: all */
	bool host_clock;
	bool version0;			/* registers of version 0, and messages like P550's */
	uint32_t fifo;			/* bytes between encoder and sink */
	uint32_t overflow_period, overflow_count;
	bool lose_suspend, lose_stop;	/* when an encoder loses power */
	bool lose_cluster;		/* shared components lose power when all harts have */
	bool power_domain;		/* all components are in a power domain */
	bool stall_any;			/* harts stall in code that is not traced, too */
	bool fifo_stuck;		/* no encoder becomes empty while its sink is full */
	uint32_t miss;			/* each so many register writes come without a callback */
	uint8_t icnt_bits, hist_bits, addr_bits;
	bool btype_1;
	/* stand-alone: register values that a driver would program */
	uint32_t control, features, ts_control, privileges;
	uint32_t comp_control;		/* 0: no comparator is in use */
	uint64_t comp_p, comp_s;
	struct te_ability te;
	struct funnel_ability funnel;
	struct ram_ability sink;
	struct bridge_ability bridge;
	uint32_t sram_size;		/* default size, if the topology gives none */
};

extern struct options opt;

struct block;

/* An instruction of a translation block */
struct insn {
	struct nt_enc_op op;
	uint32_t bits;
	uint16_t index;
	bool context;			/* writes tp or satp: the task may change after it */
	struct block *block;
};

/* A translation block as QEMU executes it: linear code, at one address */
struct block {
	uint64_t pc;
	struct block *origin;		/* the block that QEMU's callbacks get */
	struct block *alias;		/* list of copies at other addresses */
	uint32_t n;
	bool partial;			/* QEMU may leave it early without a callback */
	bool context;			/* has an instruction with .context */
	bool xret;			/* its last instruction returns from a trap */
	bool wfi;			/* its last instruction waits */
	uint8_t *truth;			/* all groups, as if execution were sequential */
	uint16_t *truth_at;		/* offsets of the groups in truth, n + 1 of them */
	struct insn insn[];
};

/* Words of each vCPU that generated code accesses; the size must be a power of two */
struct score {
	uint64_t watch;			/* call back at each block */
	uint64_t armed;			/* call back at blocks that return from a trap */
	uint64_t done;			/* the block's last instruction was reached */
	uint64_t pad;
};

struct encode;
struct truth;
struct truth_gate;
struct losses;
struct state;
struct feed;
struct bus_cache;

struct hart {
	unsigned int index;
	atomic_flag lock;		/* protects all below from other harts' register accesses */

	struct te_regs te;
	struct component *comp;		/* its encoder, or NULL */

	struct qemu_plugin_register *reg[REG_COUNT];
	GByteArray *buf;
	uint64_t time_base, time_host;	/* guest time at a host time */
	uint64_t scontext;
	atomic_bool asleep;		/* without power, for lose_cluster */
	uint32_t stores;		/* to registers, if some are missed */

	struct score *score;
	enum priv priv;
	bool in_rom;			/* stand-alone: in QEMU's code before the program */
	bool priv_stale;		/* read priv at the next block */
	struct block *cur;		/* block in execution; NULL: unknown */
	uint32_t from;			/* first instruction of cur that is not accounted */
	struct block *keep;		/* copy of cur across a flush of translations */
	uint64_t next_pc;		/* pc of the next instruction to account */
	uint64_t retired;

	/* the block of which instructions are being accounted */
	const struct block *run;
	uint32_t run_at;		/* instruction that encode.c is at */
	uint32_t run_truth;		/* first instruction that truth.c has not written */

	struct encode *encode;
	struct truth *truth;
	struct losses *losses;		/* NULL without truth */
	struct truth_gate *gate;	/* likewise */
	struct state *state;
	struct feed *feed;		/* RTL only, like bus_cache */
	struct bus_cache *bus_cache;
};

extern struct hart *harts[MAX_HARTS];
extern unsigned int n_harts;

/* Yield at times: there may be more harts than host CPUs, so the owner may not be running. */
static inline void spin_lock(atomic_flag *lock)
{
	unsigned int tries = 0;

	while (atomic_flag_test_and_set_explicit(lock, memory_order_acquire))
		if (++tries % 256 == 0)
			sched_yield();
}

static inline void hart_lock(struct hart *h)
{
	spin_lock(&h->lock);
}

static inline void hart_unlock(struct hart *h)
{
	atomic_flag_clear_explicit(&h->lock, memory_order_release);
}

/* Lock a component other than an encoder. Lock upstream components first. */
static inline void comp_lock(struct component *c)
{
	spin_lock(&c->lock);
}

static inline void comp_unlock(struct component *c)
{
	atomic_flag_clear_explicit(&c->lock, memory_order_release);
}

/* guest.c: registers can be read only in callbacks for which QEMU permits it */
void guest_init_hart(struct hart *h);
uint64_t guest_reg(struct hart *h, enum guest_reg reg);
uint64_t guest_read_reg(struct hart *h, struct qemu_plugin_register *reg);
struct qemu_plugin_register *guest_find_reg(const char *name);
void guest_set_gpr(struct hart *h, unsigned int n, uint64_t value);
void guest_sync_time(struct hart *h);
uint64_t guest_time(struct hart *h);
uint64_t guest_core_clock(struct hart *h);
bool guest_map_ram(void);
uint8_t *guest_ram(uint64_t *size);
bool guest_read(uint64_t satp, uint64_t vaddr, void *buf, unsigned int len);

/* mmio.c */
void mmio_init(void);
void mmio_exit(void);
void mmio_show_status(struct component *c);
void mmio_lose_shared(struct hart *h);
void mmio_show_all(struct component *c);
void mmio_translate(struct qemu_plugin_insn *qi, const struct insn *insn);
void mmio_log(const struct component *c, const char *what, unsigned int offset, uint32_t value);

/* version0.c */
uint32_t v0_read(const struct component *c, unsigned int offset);
void v0_was_read(struct component *c, unsigned int offset);
unsigned int v0_write_encoder(struct component *c, unsigned int offset, uint32_t value);
bool v0_write_funnel(struct hart *h, struct component *c, unsigned int offset, uint32_t value);
uint32_t v0_src(const struct hart *h);
uint32_t v0_src_bits(const struct hart *h);
bool v0_has_timestamps(const struct hart *h);

/* rtl-bus.c */
void rtl_init_bus(struct hart *h);
void rtl_translate(struct qemu_plugin_insn *qi, const struct insn *insn);

/* rtl-feed.c */
void feed_init_hart(struct hart *h);
bool feed_insn(struct hart *h, const struct nt_enc_op *op);
void feed_time(struct hart *h);
void feed_trap(struct hart *h, uint64_t pc, bool interrupt);
void feed_debug(struct hart *h);
void feed_context(struct hart *h);
void feed_settle(struct hart *h);
void feed_control(struct hart *h);

/* rtl.c */
void rtl_init(void);
void rtl_exit(void);
void rtl_cycle(const struct rtl_ports *ports);
bool rtl_waits(void);
bool rtl_read(const struct component *c, unsigned int offset, uint32_t *value);
bool rtl_write(const struct component *c, unsigned int offset, uint32_t value);
void rtl_sink_control(struct component *c, uint32_t value);

/* scontext.c */
bool scontext_translate(struct qemu_plugin_insn *qi, const struct insn *insn);

/* retire.c */
void retire_install(qemu_plugin_id_t id);
void retire_init_hart(struct hart *h);
void retire_until(struct hart *h, const struct insn *last);
void retire_rewatch(struct hart *h);

/* encode.c */
void encode_init_hart(struct hart *h);
void encode_regs(struct hart *h, unsigned int todo);
void encode_open(struct hart *h);
void encode_close(struct hart *h, uint8_t evcode);
bool encode_insn(struct hart *h, const struct nt_enc_op *op);
void encode_trap(struct hart *h, uint64_t from, bool interrupt, bool new_priv);
void encode_priv(struct hart *h);
void encode_scontext(struct hart *h);
bool encode_stalls(struct hart *h);
void encode_fault(struct hart *h);
void encode_power_loss(struct hart *h);
bool encode_passes(const struct hart *h, enum priv priv);
bool encode_wants_all(const struct hart *h);
bool encode_drain_one(struct hart *h);
uint64_t encode_time(struct hart *h);
void encode_exit(struct hart *h);

/* truth.c */
void truth_init_hart(struct hart *h);
void truth_translate(struct block *b);
unsigned int truth_translate_size(const struct block *b);
void truth_translate_cut(struct qemu_plugin_insn *qi, const struct insn *insn);
void truth_gate(struct hart *h);
void truth_groups(struct hart *h, const struct block *b, uint32_t from, uint32_t to,
		  uint64_t next_pc);
void truth_trap(struct hart *h, uint64_t to, const struct insn *insn);
void truth_debug(struct hart *h);
uint64_t truth_insns(struct hart *h);
uint64_t truth_pc(const struct hart *h);
bool truth_is_open(const struct hart *h);
unsigned int truth_drop(struct hart *h, unsigned int at, uint64_t unreported);
unsigned int truth_restart(struct hart *h, unsigned int at, uint64_t pc);
void truth_drop_begins(struct hart *h, unsigned int at);
unsigned int truth_hold(struct hart *h);
void truth_release(struct hart *h);
bool truth_holds_too_much(const struct hart *h);
void truth_exit(struct hart *h);

/* truth-loss.c */
void loss_init_hart(struct hart *h);
void loss_begin(struct hart *h);
void loss_message(struct hart *h, const uint8_t *msg, unsigned int len);
void loss_refused(struct hart *h);
void loss_taken(struct hart *h, unsigned int bytes);
void loss_wait(struct hart *h);
void loss_gone(struct hart *h);
bool loss_goes_on(const struct hart *h);

/* state.c */
void state_init_hart(struct hart *h);
void state_translate(struct qemu_plugin_insn *qi, const struct insn *insn);
void state_discontinuity(struct hart *h, enum qemu_plugin_discon_type type, uint64_t from,
			 uint64_t to);
void state_exit(struct hart *h);

/* truth-gate.c */
void truth_init_gate(struct hart *h);
void truth_regs(struct hart *h, unsigned int offset);
bool truth_passes(const struct hart *h, enum priv priv);
bool truth_passes_insn(struct hart *h, uint64_t pc);
bool truth_by_address(const struct hart *h);
bool truth_wants_all(const struct hart *h);

/* Exit immediately: exit() would call on_exit_qemu(), which takes the locks of all harts. */
#define die(...) do { \
	fprintf(stderr, "ntrace model: " __VA_ARGS__); \
	fputc('\n', stderr); \
	_exit(1); \
} while (0)

#endif /* MODEL_H */
