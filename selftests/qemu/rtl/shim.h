/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the plugin sees of verilated trace hardware: librtl.so, which lab/build-rtl makes, exports
 * rtl_shim().  Plain C; one thread at a time.
 */
#ifndef SHIM_H
#define SHIM_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RTL_SHIM_VERSION	1
#define RTL_BLOCKS		2	/* retire in one cycle at most */
#define RTL_BLOCK_MAX		31	/* half-words of a block */
#define RTL_STORE_BYTES		64	/* of the bus to memory */

/* Why a block ends: ITYPE of the trace ingress port, 3 bits */
enum rtl_itype {
	RTL_LINEAR,
	RTL_EXCEPTION,			/* a trap: address is the instruction that did not retire */
	RTL_INTERRUPT,
	RTL_XRET,
	RTL_NOT_TAKEN,
	RTL_TAKEN,
	RTL_INDIRECT,
	RTL_DIRECT,
};

#define RTL_PRIV_DEBUG		6

/* Linear code */
struct rtl_block {
	uint64_t address;
	uint8_t halfwords;
	uint8_t itype;
};

/* What the hart's ports have in one cycle */
struct rtl_ports {
	struct rtl_block block[RTL_BLOCKS];
	uint64_t time, tval;
	uint32_t context;
	uint8_t priv;
};

/* The sink writes: of the 64 bytes those whose bit is set in strobe */
typedef void (*rtl_store_fn)(void *ctx, uint64_t address, const uint8_t *data, uint64_t strobe);

struct rtl;

struct rtl_shim {
	unsigned int version;
	struct rtl *(*create)(rtl_store_fn store, void *ctx);	/* comes out of reset */
	void (*destroy)(struct rtl *rtl);
	void (*cycle)(struct rtl *rtl, const struct rtl_ports *ports);
	/* both return false if that is a bus error */
	bool (*read)(struct rtl *rtl, uint32_t offset, uint32_t *value);
	bool (*write)(struct rtl *rtl, uint32_t offset, uint32_t value);
	bool (*backpressure)(const struct rtl *rtl);
};

__attribute__((visibility("default"))) const struct rtl_shim *rtl_shim(void);

#ifdef __cplusplus
}
#endif

#endif /* SHIM_H */
