/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of the trace hardware model share.
 *
 *	plugin.c	options, installation, the life of harts
 *	te-regs.c	register file of an encoder		(pure)
 *	ramsink.c	RAM sink: registers and memory		(pure)
 *	mmio.c		the guest's loads and stores of registers
 *	scontext.c	the CSR that QEMU lacks
 *	retire.c	what QEMU tells -> instructions retired, traps
 *	encode.c	gate of the encoder, FIFO, feeding nt_enc_
 *	truth.c		gate and stream of the truth
 *	guest.c		registers, memory and clock of the guest
 */
#ifndef MODEL_H
#define MODEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "qemu-plugin-api.h"
#include "ramsink.h"
#include "te-regs.h"

#define MAX_HARTS	64
#define PAGE		0x1000u
#define HART_STRIDE	0x2000u		/* encoder, then sink */

enum priv {
	PRIV_U = 0,
	PRIV_S = 1,
	PRIV_M = 3,
};

/* Registers of a hart that the model reads or writes, by QEMU's names */
enum guest_reg {
	REG_PRIV,
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
	const char *trace;		/* stand-alone: trace of hart %d into this file */
	const char *truth;
	int64_t pid_offset;		/* of pid in task_struct; <0 unknown */
	bool scontext;
	bool host_clock;
	bool junk;			/* reset leaves junk in undefined registers */
	unsigned int fifo;		/* bytes between encoder and sink */
	unsigned int overflow_period, overflow_count;
	/* stand-alone: what a driver would have programmed */
	uint32_t te_control, te_features, te_ts;
	unsigned int privileges;	/* stand-alone: mask of what is traced */
	struct te_ability te;
	struct ram_ability sink;
};

extern struct options opt;

struct hart;

/*
 * An instruction and a translation block as QEMU executes it
 */
struct insn {
	uint64_t pc;
	uint32_t bits;
	uint8_t len;
	uint8_t flags;
#define INSN_CONTEXT	(1 << 0)	/* writes tp or satp: whose the next ones are may change */
#define INSN_XRET	(1 << 1)	/* mret, sret: privilege may change */
	uint16_t index;			/* in its block */
	struct block *block;
};

struct block {
	uint64_t pc;
	uint32_t n;
	bool partial;			/* QEMU may leave it early without telling */
	bool context;			/* has an INSN_CONTEXT */
	bool xret;			/* ends with an INSN_XRET */
	const uint8_t *truth;		/* its groups as if all were sequential, see truth.c */
	const uint16_t *truth_at;	/* n + 1 offsets into that */
	struct insn insn[];
};

/* Per vCPU words that generated code reads or writes by itself */
struct score {
	uint64_t watch;			/* call back at each block */
	uint64_t armed;			/* call back at blocks that return from a trap */
	uint64_t done;			/* the block's last instruction was reached */
	uint64_t pad;
};

struct trap {
	bool interrupt;
	uint64_t from, to;		/* from: did not retire */
	const struct insn *insn;	/* the culprit, if known */
	enum priv priv;			/* after */
};

struct encode;
struct truth;

struct hart {
	unsigned int index;
	atomic_flag lock;		/* everything below against other harts' register accesses */

	struct te_regs te;
	struct ram_sink sink;
	uint32_t *te_page, *sink_page;	/* the registers as the guest sees them; NULL stand-alone */

	struct qemu_plugin_register *reg[REG_COUNT];
	GByteArray *buf;
	uint64_t time_base, time_host;	/* guest time at a host time */
	uint64_t scontext;

	struct score *score;
	enum priv priv;			/* valid while watched */
	struct block *cur;		/* running now, NULL unknown */
	uint32_t from;			/* its first instruction not yet accounted for */
	struct block *keep;		/* copy of cur over a flush of translations */
	bool priv_stale;		/* a trap return retires: read priv at the next block */

	struct encode *encode;
	struct truth *truth;
	uint64_t retired;
};

extern struct hart *harts[MAX_HARTS];
extern unsigned int n_harts;

static inline void hart_lock(struct hart *h)
{
	while (atomic_flag_test_and_set_explicit(&h->lock, memory_order_acquire))
		;
}

static inline void hart_unlock(struct hart *h)
{
	atomic_flag_clear_explicit(&h->lock, memory_order_release);
}

/* guest.c */
void guest_init_hart(struct hart *h);
uint64_t guest_reg(struct hart *h, enum guest_reg reg);
void guest_set_gpr(struct hart *h, unsigned int n, uint64_t value);
uint64_t guest_time(struct hart *h);
bool guest_map_ram(void);
uint8_t *guest_ram(uint64_t *size);
bool guest_read(uint64_t satp, uint64_t vaddr, void *buf, unsigned int len);

/* mmio.c */
void mmio_init_hart(struct hart *h);
void mmio_translate(struct qemu_plugin_insn *qi, const struct insn *insn);
void mmio_show_sink(struct hart *h);
void mmio_show_te(struct hart *h);

/* scontext.c */
bool scontext_translate(struct qemu_plugin_insn *qi, const struct insn *insn);

/* retire.c */
void retire_install(qemu_plugin_id_t id);
void retire_init_hart(struct hart *h);
void retire_now(struct hart *h, const struct insn *last, uint64_t next_pc);
void retire_rewatch(struct hart *h);

/* encode.c */
void encode_init_hart(struct hart *h);
void encode_regs(struct hart *h, unsigned int todo);
void encode_drain(struct hart *h);
void encode_scontext(struct hart *h);
uint64_t encode_time(struct hart *h);

/* truth.c */
void truth_init_hart(struct hart *h);

#define die(...) do { \
	fprintf(stderr, "ntrace model: " __VA_ARGS__); \
	fputc('\n', stderr); \
	exit(1); \
} while (0)

#endif /* MODEL_H */
