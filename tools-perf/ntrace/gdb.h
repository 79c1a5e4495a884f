/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * GDB's remote serial protocol: how packets are written, and a client, what a debugger says to a
 * stub, in as far as stepping, registers and memory go.  Whatever is wrong with the connection
 * or with what comes over it ends the command, in words.
 */
#ifndef NTRACE_GDB_H
#define NTRACE_GDB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gdb;

/* Where the stub is */
struct gdb_place {
	const char *name;	/* gdb:HOST:PORT, gdb:/SOCKET or gdb-pipe:COMMAND */
	bool any_address;	/* not only this machine's own */
	unsigned int seconds;	/* the longest silence */
};

bool gdb_is_place(const char *name);
struct gdb *gdb_open(const struct gdb_place *place);
/* Detaches, so that the target runs on; ends the command of a pipe. */
void gdb_close(struct gdb *g);

/*
 * Packets are kept until a reply is asked for, so that several cost one round trip.
 * Replies come in the packets' order, each to be taken before the next; what it
 * points to is good until then.
 */
void __attribute__((format(printf, 2, 3))) gdb_packet(struct gdb *g, const char *fmt, ...);
const char *gdb_reply(struct gdb *g, size_t *len);

/* Only the reply that something isn't known, or went wrong */
bool gdb_is_error(const char *reply);
/* Not the protocol: the words say what was wrong. */
void __attribute__((noreturn)) gdb_nonsense(const struct gdb *g, const char *expected,
					     const char *got);

/* ----------------------------------------------------- a packet's bytes - */

unsigned int gdb_checksum(const char *text, size_t len);
/* Little endian, as registers and memory are. False: these are no hexadecimal digits. */
bool gdb_unhex(const char *text, size_t bytes, uint64_t *value);
/* The value of a hexadecimal digit; -1: it is none */
int gdb_digit(char c);
/*
 * A number as addresses are written; *text goes behind it. False: there is none, or it is too long.
 */
bool gdb_number(const char **text, uint64_t *value);
/* A byte that is escaped in a packet: as `}' and itself ^ 0x20 */
bool gdb_is_special(char c);

/* Packets out of a stream of bytes, one by one; 0 at first, but for body and room. */
struct gdb_taker {
	enum { GDB_BETWEEN, GDB_BODY, GDB_ESCAPED, GDB_FIRST, GDB_SECOND } state;
	char *body;		/* room + 1 bytes */
	size_t len, room;
	unsigned int sum, told;
};

enum gdb_taken {
	GDB_MORE,		/* nothing is complete */
	GDB_PACKET,		/* body has one, and a 0 behind it */
	GDB_BAD,		/* the checksum was wrong, or it was too long */
	GDB_BREAK,		/* the byte that interrupts */
	GDB_AGAIN,		/* the other side asks for the last one again */
};

int gdb_take(struct gdb_taker *t, char c);

/* ------------------------------------------------- the target's registers */

#define GDB_NONE	UINT16_MAX

struct gdb_target {
	uint16_t *bits;		/* of register n; 0: there is none */
	uint16_t count;
	uint16_t pc, priv;	/* numbers, or GDB_NONE */
	uint16_t *of;		/* by the debug specification's number; below GDB_OF */
};

#define GDB_OF	0x1040u		/* CSRs, integer and floating-point registers */

/* Read from the stub what registers it has. */
struct gdb_target *gdb_target_new(struct gdb *g);
void gdb_target_free(struct gdb_target *t);

#endif /* NTRACE_GDB_H */
