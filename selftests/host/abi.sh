#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A program built with older headers runs with today's libraries, and one built with the headers of
# a later version, whose structures are larger, runs with today's, and the other way round.

. "$(dirname "$0")/lib.bash"
CC=${CC:-gcc}
util=$top/tools-perf/util
first=$top/selftests/host/abi/0.1
mix=$samples/mix

# later FILE...: every structure that may grow has grown
later()
{
	perl -0pi -e 's/(\nstruct (?:nt_msg|nt_insn|nt_event|nt_edge|nt_run|nt_params|nt_code_stats|nt_counts_stats|nt_mapping|nt_enc_config|nt_ctr_params) \{\n.*?)\n\};/$1\n\tuint64_t later[3];\n};/gs' "$@"
}

# build NAME SOURCES [CFLAG...]: the libraries
build()
{
	local name=$1 from=$2 lib

	for lib in ntrace-decoder ntrace-ctr; do
		make -s --no-print-directory -C "$from/$lib" O="$scratch/$name" CC="$CC" \
			CFLAGS="-O1 -g" >>"$scratch/log" 2>&1 || return
	done
}

# client NAME HEADERS... [-DLATER]
client()
{
	"$CC" -Wall -Wextra -Werror -g "${@:2}" "$top/selftests/host/abi/client.c" \
		-L"$scratch/today" -lntrace-ctr -lntrace -lelf -o "$scratch/$1" 2>>"$scratch/log"
}

run()		# CLIENT LIBRARIES
{
	LD_LIBRARY_PATH=$scratch/$2 "$scratch/$1" "$mix/mix.elf" "$mix/L1.bin" \
		>"$scratch/got.$1.$2" 2>&1
}

mkdir -p "$scratch/util"
cp -r "$util/ntrace-decoder" "$util/ntrace-ctr" "$scratch/util/"
cp "$top/tools-perf/library.mk" "$scratch/"
later "$scratch"/util/ntrace-decoder/ntrace.h "$scratch"/util/ntrace-decoder/nt-enc.h \
	"$scratch"/util/ntrace-ctr/nt-ctr.h
[ "$(grep -c 'uint64_t later\[3\];' "$scratch"/util/*/*.h | awk -F: '{ n += $2 } END { print n }')" = 11 ]
verdict $? 'a later version: eleven structures have grown'

: >"$scratch/log"
build today "$util" && build later "$scratch/util"
verdict $? 'libraries of today, and of later'
client old -I"$first" && client now -I"$util/ntrace-decoder" -I"$util/ntrace-ctr" &&
	client new -I"$scratch/util/ntrace-decoder" -I"$scratch/util/ntrace-ctr" -DLATER
verdict $? 'clients of the first version, of today and of later'
sed 's/^/# /' "$scratch/log" | head -n 20

run now today && [ "$(wc -l <"$scratch/got.now.today")" -ge 10 ] &&
	! grep -q ' insns 0 ' "$scratch/got.now.today"
verdict $? 'today with today'
for pair in 'old today' 'old later' 'now later' 'new today'; do
	read -r client libraries <<<"$pair"
	run "$client" "$libraries" && cmp "$scratch/got.now.today" "$scratch/got.$client.$libraries"
	verdict $? "client of ${client/old/the first version}, libraries of $libraries"
	[ ! -s "$scratch/got.$client.$libraries" ] || diff "$scratch/got.now.today" \
		"$scratch/got.$client.$libraries" | head -n 10 | sed 's/^/# /'
done

finish
