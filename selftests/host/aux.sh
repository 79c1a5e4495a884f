#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The KUnit tests of the driver's AUX arithmetic and sink states, without a kernel: Debian's has no
# KUnit.

. "$(dirname "$0")/lib.bash"
kernel=$top/kernel

# What a source includes from the kernel is in kunit.h.
for header in $(sed -n 's/^#include <\(.*\)>$/\1/p' \
	"$kernel"/ntrace_{aux.c,aux.h,regs.h,version0.h,aux_test.c} |
	sort -u); do
	mkdir -p "$scratch/include/${header%/*}"
	: >"$scratch/include/$header"
done

CC=${CC:-gcc}
flags=(-std=gnu11 -O1 -g -Wall -Wextra -Werror -Wno-sign-compare
	-include "$top/selftests/host/kunit.h" -idirafter "$scratch/include")
sanitizers=-fsanitize=address,undefined
echo 'int main(void) { return 0; }' | "$CC" -x c $sanitizers -o "$scratch/try" - 2>/dev/null ||
	sanitizers=
if ! "$CC" "${flags[@]}" $sanitizers -o "$scratch/aux" "$kernel/ntrace_aux.c" \
	"$kernel/ntrace_aux_test.c" 2>"$scratch/log"; then
	sed 's/^/# /' "$scratch/log"
	verdict 1 "the tests compile without a kernel"
	finish
fi
# no end of a test frees what kunit_kcalloc() gave it
ASAN_OPTIONS=detect_leaks=0 "$scratch/aux"
