/* SPDX-License-Identifier: GPL-2.0-only */
/* Names for addresses, to show where a difference is. */
#ifndef SYMS_H
#define SYMS_H

#include <stddef.h>
#include <stdint.h>

struct syms;

struct syms *syms_new(void);

/* Function symbols of `FILE[@BIAS]`, a 64-bit little-endian ELF; exits with 2 if it is none. */
void syms_add_elf(struct syms *s, const char *spec);

/* Lines `address type name`, as of /proc/kallsyms or nm */
void syms_add_list(struct syms *s, const char *path);

/* "name+0xoffset" into buf, "" when unknown */
const char *syms_name(struct syms *s, uint64_t addr, char *buf, size_t size);

#endif
