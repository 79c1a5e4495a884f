/* SPDX-License-Identifier: GPL-2.0-only */
/* cmocka, with what it wants included before it, printing TAP */
#ifndef SELFTESTS_CMOCKA_TAP_H
#define SELFTESTS_CMOCKA_TAP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define RUN_TAP(tests)							\
	(cmocka_set_message_output(CM_OUTPUT_TAP),			\
	 cmocka_run_group_tests(tests, NULL, NULL))

#endif /* SELFTESTS_CMOCKA_TAP_H */
