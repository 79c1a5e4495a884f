/* SPDX-License-Identifier: GPL-2.0-only */
/* die() of the command, for tests of its parts: included once in a program */
#ifndef SELFTESTS_DIE_H
#define SELFTESTS_DIE_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void __attribute__((noreturn)) die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	abort();
}

#endif
