/* SPDX-License-Identifier: GPL-2.0-only */
/* ntrace tv: what its files share */
#ifndef NTRACE_TV_H
#define NTRACE_TV_H

#include <stddef.h>

#include "cmd.h"

/*
 * Name of a register: ABI names, CSR names, "customc000"; in buf if it is none
 * of a table.
 */
const char *tv_reg_name(uint16_t reg, char *buf, size_t size);

#endif /* NTRACE_TV_H */
