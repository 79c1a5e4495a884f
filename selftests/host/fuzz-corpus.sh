#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What the fuzzer found worth keeping (selftests/fuzz/corpus) does no harm.

. "$(dirname "$0")/lib.bash"
fuzz=$top/selftests/fuzz

for target in message flow tv image; do
	files=("$fuzz/corpus/$target"/*)
	${CC:-gcc} -std=gnu11 -D_GNU_SOURCE -I"$top/tools-perf/util/ntrace-decoder" \
		-o "$scratch/$target" "$fuzz/replay.c" "$fuzz/$target.c" \
		"$out/libntrace.a" -lelf &&
		count=$("$scratch/$target" "${files[@]}") && [ "$count" = ${#files[@]} ]
	verdict $? "$target: all of ${#files[@]} inputs"
done
finish
