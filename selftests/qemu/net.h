/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The network of trace components and links from the encoders to the sinks.
 *
 * Each component has a lock; an encoder uses its hart's. Locks are taken from the encoder's side to
 * the sink's: hart_lock() first, then those of the funnels on the path, then the sink's.
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

/* Faults of a component */
struct fault {
	uint64_t ones_after;		/* accesses until all registers read as ones. 0: never */
	uint64_t enable_after;		/* messages (or parts of them) until Enable falls */
	uint64_t stray_after;		/* likewise, until a sink's WP leaves its window */
	bool dead;
};

struct component {
	enum comp_type type;
	unsigned int number;		/* of an encoder: index of its hart */
	char name[16];
	uint64_t addr;
	uint32_t *page;			/* registers as the guest sees them; NULL stand-alone */
	uint32_t *shown;		/* the same, as the model wrote them */
	atomic_flag lock;		/* protects all below; an encoder uses its hart's */
	struct hart *hart;
	union {
		struct funnel funnel;
		struct ram_sink sink;
		struct bridge bridge;
	};
	struct fault fault;
	bool unpowered;
	uint64_t accesses, passed;
	uint64_t log_from, log_to;	/* range of writes not logged yet */

	/* fixed */
	struct link out[MAX_OUTPUTS];
	unsigned int n_out;
	struct component *in[FUNNEL_INPUTS];
	unsigned int n_in;
	uint64_t region, region_size;
	uint32_t sram_size;
	bool logged;			/* sink_log: last logged as enabled */
	uint32_t v0_control, v0_ts;	/* bits that exist in version 0 only */
};

#define MAX_COMPONENTS	160

extern struct component *components[MAX_COMPONENTS];
extern unsigned int n_components;

/* net.c: messages and time */
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

/* topology.c: components and links */
void topology_read(const char *file);
void topology_default(void);
struct component *topology_find(const char *name);

#endif /* NET_H */
