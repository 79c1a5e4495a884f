#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What the fuzzer found worth keeping (selftests/fuzz/corpus) does no harm.

set -u
top=${top:-$(cd "$(dirname "$0")/../.." && pwd -P)}
out=${out:-$top/build/host}
fuzz=$top/selftests/fuzz
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
number=0 failed=0

for target in message flow tv image; do
	number=$((number + 1))
	files=("$fuzz/corpus/$target"/*)
	if ${CC:-gcc} -std=gnu11 -D_GNU_SOURCE -I"$top/tools-perf/util/ntrace-decoder" \
			-o "$scratch/$target" "$fuzz/replay.c" "$fuzz/$target.c" \
			"$out/libntrace.a" -lelf &&
			count=$("$scratch/$target" "${files[@]}") && [ "$count" = ${#files[@]} ]; then
		echo "ok $number - $target: $count inputs"
	else
		echo "not ok $number - $target"
		failed=1
	fi
done
echo "1..$number"
exit $failed
