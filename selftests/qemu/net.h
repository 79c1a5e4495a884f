/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is between the encoders and the end of the way of trace: components, and the links between
 * them.
 *
 * A component but an encoder has a lock of its own, which is taken from the encoder's side to the
 * sink's: hart_lock() first, then those of the funnels on the way, then the sink's.
 */
#ifndef NET_H
#define NET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "bridge.h"
#include "funnel.h"
#include "ramsink.h"

#define MAX_OUTPUTS	2

enum comp_type { COMP_ENCODER, COMP_FUNNEL, COMP_SINK, COMP_BRIDGE };

struct hart;
struct component;

struct link {
	struct component *to;
	unsigned int input;
};

/* What a broken component does, and when */
struct fault {
	uint64_t ones_after;		/* accesses; then all registers read ones. 0: never */
	uint64_t enable_after;		/* messages, or what of them comes at once; then Enable falls */
	uint64_t stray_after;		/* likewise; then a sink's WP is not in its window */
	bool dead;
};

struct component {
	enum comp_type type;
	unsigned int number;		/* the hart's, if it is an encoder */
	char name[16];
	uint64_t addr;
	uint32_t *page;			/* registers as the guest sees them; NULL stand-alone */
	atomic_flag lock;		/* of all below; an encoder has its hart's */
	struct hart *hart;
	union {
		struct funnel funnel;
		struct ram_sink sink;
		struct bridge bridge;
	};
	struct fault fault;
	bool unpowered;
	uint64_t accesses, passed;
	uint64_t log_from, log_to;	/* what the sink wrote and is not in the log */

	/* fixed */
	struct link out[MAX_OUTPUTS];
	unsigned int n_out;
	struct component *in[FUNNEL_INPUTS];
	unsigned int n_in;
	uint64_t region, region_size;
	uint32_t sram_size;
	bool logged;			/* sink_log: enabled last */
	uint32_t v0_control, v0_ts;	/* bits that only version 0 has */
};

#define MAX_COMPONENTS	160

extern struct component *components[MAX_COMPONENTS];
extern unsigned int n_components;

/* net.c: what flows */
unsigned int net_send(struct component *from, const uint8_t *buf, unsigned int len);
void net_settle(struct component *from);
uint64_t net_room(const struct component *from);
uint64_t net_time(struct hart *h, struct component *c);
void net_pull(struct component *c);
void net_init(void);
void net_exit(void);
void net_log_enable(struct component *sink, uint64_t time);
void net_log_disable(struct component *sink, uint64_t time);
void net_log_store(struct component *sink, uint64_t at, unsigned int len);

/* topology.c: what there is */
void topology_read(const char *file);
void topology_default(void);
struct component *topology_find(const char *name);

#endif /* NET_H */
