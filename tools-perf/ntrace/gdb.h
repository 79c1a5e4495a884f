/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * GDB's remote serial protocol: the encoding of packets, and a client for stepping, registers and
 * memory. Errors of the connection or of the protocol end the command with a message.
 */
#ifndef NTRACE_GDB_H
#define NTRACE_GDB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gdb;

/* Address of the stub */
struct gdb_place {
	const char *name;	/* gdb:HOST:PORT, gdb:/SOCKET or gdb-pipe:COMMAND */
	bool any_address;	/* allow addresses other than loopback */
	unsigned int seconds;	/* timeout */
};

bool gdb_is_place(const char *name);
struct gdb *gdb_open(const struct gdb_place *place);
/* Detach, so that the target continues, or end the command of a pipe. */
void gdb_close(struct gdb *g);

/*
 * Packets are queued until a reply is requested, so that several need one round trip only. Replies
 * arrive in the order of packets. A reply is valid until the next one is requested.
 */
void __attribute__((format(printf, 2, 3))) gdb_packet(struct gdb *g, const char *fmt, ...);
const char *gdb_reply(struct gdb *g, size_t *len);

/* Is it an error reply, or an empty one for an unsupported packet? */
bool gdb_is_error(const char *reply);
/* Report a reply that violates the protocol. */
void __attribute__((noreturn)) gdb_nonsense(const struct gdb *g, const char *expected,
					     const char *got);

/* ----------------------------------------------------- a packet's bytes - */

unsigned int gdb_checksum(const char *text, size_t len);
/* Little-endian, as in registers and memory. Returns false if these are not hexadecimal digits. */
bool gdb_unhex(const char *text, size_t bytes, uint64_t *value);
/* The value of a hexadecimal digit; -1: not a digit */
int gdb_digit(char c);
/*
 * Parse a number in the format of addresses, and move *text past it. Returns false if there is
 * none, or if it is too long.
 */
bool gdb_number(const char **text, uint64_t *value);
/* Bytes that are escaped in a packet, as `}' and the byte ^ 0x20 */
bool gdb_is_special(char c);

/* Extracts packets from a stream of bytes. All zeros at first, except for body and room. */
struct gdb_taker {
	enum { GDB_BETWEEN, GDB_BODY, GDB_ESCAPED, GDB_FIRST, GDB_SECOND } state;
	char *body;		/* room + 1 bytes */
	size_t len, room;
	unsigned int sum, told;
};

enum gdb_taken {
	GDB_MORE,		/* nothing is complete yet */
	GDB_PACKET,		/* body contains a packet and a terminating 0 */
	GDB_BAD,		/* bad checksum, or too long */
	GDB_BREAK,		/* the interrupt byte */
	GDB_AGAIN,		/* request to send the last packet again */
};

int gdb_take(struct gdb_taker *t, char c);

/* ------------------------------------------------- the target's registers */

#define GDB_NONE	UINT16_MAX

struct gdb_target {
	uint16_t *bits;		/* of register n; 0: no such register */
	uint16_t count;
	uint16_t pc, priv;	/* register numbers, or GDB_NONE */
	uint16_t *of;		/* indexed by the debug specification's number, below GDB_OF */
};

#define GDB_OF	0x1040u		/* CSRs, integer and floating-point registers */

/* Read the target description of the stub. */
struct gdb_target *gdb_target_new(struct gdb *g);
void gdb_target_free(struct gdb_target *t);

#endif /* NTRACE_GDB_H */
