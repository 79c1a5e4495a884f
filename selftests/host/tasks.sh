#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What is known of a task is freed behind its end, and not before its last trace is decoded: many
# short-lived processes take as much memory as ten, and each has its own trace.

. "$(dirname "$0")/lib.bash"
program=$samples/mix/mix.elf

for tool in tasksdata rusage; do
	"${CC:-gcc}" -O2 -std=gnu11 -Wall -Wextra -I"$top/tools-perf/util" \
		-I"$top/tools-perf/util/ntrace-decoder" -I"$top/uapi" -o "$scratch/$tool" \
		"$top/selftests/host/$tool.c" "$out/libntrace.a" -lelf || exit 1
done
"$ntrace" decode --elf "$program" "$samples/mix/L1.bin" 2>"$scratch/log" | grep -v '^#' |
	head -n 60 >"$scratch/pc"

# recording NAME PROCESSES IDS WINDOW [STRETCH]
recording()
{
	awk -v nr="$2" -v ids="$3" '{ pc[NR] = $1 }
		END {
			for (i = 0; i < nr; i++) {
				print "# start", pc[1], "SYNC=5"
				print "# context PRV=0 V=0 scontext=" sprintf("%x", 1000 + i % ids)
				for (k = 1; k < NR; k++)
					print pc[k]
				print "# stop", pc[NR], "EVCODE=4"
			}
		}' "$scratch/pc" >"$scratch/list"
	"$ntrace" encode --elf "$program" --pc "$scratch/list" -o "$scratch/$1.bin" \
		2>"$scratch/log" &&
		"$scratch/tasksdata" "$2" "$3" "$4" "$program" "$scratch/$1.bin" "${@:5}" \
			>"$scratch/$1.data"
}

# own NAME PROCESSES IDS: each process has its trace, one behind the other, under its name
own()
{
	"$ntrace" script "$scratch/$1.data" >"$scratch/lines" 2>"$scratch/stderr" &&
		awk '{ print $1, $2 }' "$scratch/lines" | uniq -c >"$scratch/got"
	awk -v each="$each" -v nr="$2" -v ids="$3" 'BEGIN {
		for (i = 0; i < nr; i++)
			printf "%7d p%d %d\n", each, i, 1000 + i % ids
	}' >"$scratch/want"
	cmp "$scratch/got" "$scratch/want"
	verdict $? "$4"
}

recording one 1 1 1
verdict $? 'recordings can be made'
"$ntrace" script "$scratch/one.data" >"$scratch/lines" 2>"$scratch/stderr"
each=$(wc -l <"$scratch/lines")
[ "$each" -gt 5 ]
verdict $? "a process has $each branches"

recording ten 10 10 1
recording many 10000 10000 1
recording batches 2000 2000 40
recording more 20000 20000 40
recording whole 2000 2000 2000
recording again 2000 100 40
recording mixed 5000 5000 40 2001
own ten 10 10 'ten processes'
own many 10000 10000 '10,000 processes'
own batches 2000 2000 'trace that is decoded behind the ends of forty processes'
own more 20000 20000 '... of 20,000'
own whole 2000 2000 'trace that is decoded behind the ends of all'
own again 2000 100 'IDs that are used again'
own mixed 5000 5000 'records that are not in the order of time'

# take NAME COMMAND...: the kilobytes that a command takes for a recording
take()
{
	kb=0
	"$scratch/rusage" "$scratch/usage" "$ntrace" "${@:2}" "$scratch/$1.data" >"$scratch/got" \
		2>"$scratch/stderr" && read -r _ kb _ <"$scratch/usage"
}

# grows_by LIMIT NAME MORE COMMAND...: a command takes at most LIMIT bytes more for the recording
# MORE than for NAME. On a busy machine, one run of many took 1.8 MB more than the others, so one
# pair of three has to be within the limit.
grows_by()
{
	for _ in 1 2 3; do
		take "$2" "${@:4}" && few=$kb && take "$3" "${@:4}" || return 1
		[ $(((kb - few) * 1024)) -gt "$1" ] || return 0
	done
	return 1
}

# What stays of the file are its windows, of 72 bytes, in an array that grows to twice its size.
# Nothing stays of a process that has ended, or of what its records told.
for command in 'script' 'script --insns' 'decode --output=branch' 'stat' 'calls' 'timeline' \
	       "profile --format=bolt --elf $program" 'profile --format=edges' \
	       "profile --format=llvm-profgen --one-by-one --elf $program"; do
	words=${command%% --elf*}
	# shellcheck disable=SC2086
	grows_by $((10000 * 2 * 72 + (2 << 20))) ten many $command
	verdict $? "$words: $kb KB for 10,000 windows and processes, $few KB for ten"
	# shellcheck disable=SC2086
	grows_by $((1 << 20)) batches more $command
	verdict $? "$words: $kb KB for 20,000 processes, $few KB for 2,000"
done
finish
