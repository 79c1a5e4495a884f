#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# truthpart takes pieces of the truth, and nothing else.
#	usage: truthpart.sh [DIRECTORY OF BINARIES]

set -u
bin=${1:-${out:-$(cd "$(dirname "$0")/../.." && pwd)/build/host}}
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 2

count=0 failed=0
# expect STATUS NAME [OPTION...]: truthpart's verdict about the list `part`
expect()
{
	local want=$1 name=$2 got=0
	shift 2
	"$bin/truthpart" --segment 1 --truth 0=truth.0 "$@" <part >log 2>&1 || got=$?
	count=$((count + 1))
	if [ "$got" = "$want" ]; then
		echo "ok $count - $name"
	else
		failed=$((failed + 1))
		echo "not ok $count - $name"
		head -5 log | sed 's/^/# /'
	fi
}

"$bin/truthgen" -f perf-insn -h 1 -n 40000 . >list 2>log || sed 's/^/# /' log
lines=$(wc -l <list)
half=$((lines / 2))

cp list part
expect 0 "all of it" --last --pieces 1
tail -n 9000 list >part
expect 0 "the end" --last --pieces 1
expect 1 "too little" --insns 1000000
head -n $half list | tail -n 5000 >part
expect 0 "a piece of the middle" --pieces 1
expect 1 "a piece of the middle is not the end" --last
{ head -n 6000 list; tail -n 6000 list; } >part
expect 0 "two pieces" --last --pieces 2
expect 1 "two are not one" --pieces 1
{ tail -n 6000 list; head -n 6000 list; } >part
expect 1 "two pieces in the wrong order"
tail -n 9000 list | awk 'NR == 4500 { sub(/[0-9a-f]+ *$/, "deadbeee") } 1' >part
expect 1 "an instruction that never ran" --last
tail -n 9000 list | awk 'NR != 4500' >part
expect 1 "an instruction is missing" --last --pieces 1
error=" instruction trace error type 1 time 1.0 cpu 0 pid 1 tid 1 ip 0x1 code 4: trace and code do not fit"
tail -n 9000 list | awk -v error="$error" '1; NR == 4500 { print error }' >part
expect 1 "an error that the decoder reported" --last --pieces 1
expect 0 "... that was expected" --last --pieces 1 --errors 1
{ cat list; echo "$error"; echo "$error"; } >part
expect 1 "one error more than expected, at the end" --last --pieces 1 --errors 1
tail -n 9000 list | sed '4500s/.*/  100 [000]  branches:u:   jcc  10000 => 20000/' >part
expect 2 "a branch among the instructions"
{ head -n 6000 list; echo "$error"; head -n 9000 list |
	tail -n 2000; echo "$error"; tail -n 6000 list; } >part
expect 0 "losses, each reported" --reported --errors 2
{ head -n 6000 list; echo "$error"; head -n 9000 list | tail -n 2000; tail -n 6000 list; } >part
expect 1 "one that is not" --reported --errors 2
{ head -n 6000 list; echo "$error"; tail -n 6000 list; head -n 9000 list | tail -n 2000; } >part
expect 1 "... at the end" --reported --errors 2
{ tail -n 6000 list; echo "$error"; head -n 6000 list; } >part
expect 1 "pieces in the wrong order, with a report between them" --reported --errors 2

# A loop runs twice. A piece of its second run is one piece, although thousands of instructions are
# alike in the first run, behind which other code follows.
"$bin/truthgen" -f perf-insn -h 1 -n 1000 -c 3000 . >list 2>log || sed 's/^/# /' log
tail -n 15100 list >part
expect 0 "the second run of a loop, in one piece" --last --pieces 1
head -n -50 part >middle
mv middle part
expect 0 "... without the end" --pieces 1
echo "1..$count"
[ $failed = 0 ]
