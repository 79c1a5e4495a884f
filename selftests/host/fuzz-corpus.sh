#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What the fuzzer found worth keeping (selftests/fuzz) does no harm, under
# AddressSanitizer and UndefinedBehaviorSanitizer.

. "$(dirname "$0")/lib.bash"
fuzz=$top/selftests/fuzz
util=$top/tools-perf/util
# as fuzz/run has it: small tables and low limits
flags=(-std=gnu11 -D_GNU_SOURCE -DMEMO_BITS=4 -DMEMO_MISSES=8u -DEDGE_BITS=3 -DICNT_MAX=4096ll \
	-DHIST_REACH=2048ll
	-DWORK_PER_BYTE=64 -DSERVE_CHUNK=32u -O1 -g
	-fsanitize=address,undefined -fno-sanitize-recover=all
	-I"$util/ntrace-decoder" -I"$util/ntrace-ctr" -I"$util/ntrace-tv" -I"$util/ntrace-perfdata")
libs=(-lelf)
if pkg-config --exists libzstd 2>/dev/null; then
	flags+=(-DHAVE_ZSTD)
	libs+=(-lzstd)
fi

CC=${CC:-gcc}
if ! echo 'int main(void) { return 0; }' |
	"$CC" -x c -fsanitize=address,undefined -o "$scratch/try" - 2>"$scratch/log"; then
	echo "1..0 # SKIP $CC has no sanitizers: $(head -1 "$scratch/log")"
	exit 0
fi

library()
{
	local file

	for file in "$util"/ntrace-{decoder,ctr,tv,perfdata}/nt-*.c; do
		"$CC" "${flags[@]}" -c -o "$scratch/$(basename "$file" .c).o" "$file" || return
	done
}

replay()	# TARGET
{
	mkdir "$scratch/$1.inputs"
	tar -xJf "$fuzz/corpus/$1.tar.xz" -C "$scratch/$1.inputs" || return
	find "$scratch/$1.inputs" -type f >"$scratch/list"
	find "$fuzz/regressions" -name "$1-*" >>"$scratch/list"
	inputs=$(wc -l <"$scratch/list")
	[ "$inputs" -gt 0 ] || return
	sources=()
	for part in $(sed -n "s/^$1 //p" "$fuzz/parts"); do
		sources+=("$top/tools-perf/ntrace/$part.c")
	done
	"$CC" "${flags[@]}" -o "$scratch/$1" "$fuzz/replay.c" "$fuzz/$1.c" \
		${sources[@]+"${sources[@]}"} "$scratch"/nt-*.o "${libs[@]}" -lpthread &&
		xargs "$scratch/$1" <"$scratch/list" >"$scratch/counts" &&
		[ "$(awk '{ n += $1 } END { print n }' "$scratch/counts")" = "$inputs" ]
}

library
verdict $? "the libraries build with sanitizers"
for target in $(cat "$fuzz/targets"); do
	replay "$target"
	verdict $? "$target: $inputs inputs"
done
finish
