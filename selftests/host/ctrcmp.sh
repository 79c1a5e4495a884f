#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What compares control transfer records (ctr/ctrcmp.py) notices what differs.

. "$(dirname "$0")/lib.bash"
command -v python3 >/dev/null || { echo "1..0 # SKIP no python3"; exit 4; }

cd "$scratch" || exit
printf '0x1 16 calls\n0x1 16 next\n' >list
printf '%s\n' '# start 1' 'sctrstatus 1' '0 1001 2000 0 cond' \
	'# start 2' 'sctrstatus 3' '0 1001 2000 0 call' '1 1101 1104 0 cond' '2 1201 3000 0 ret' \
	>hardware
printf '%s\n' '# start 1' 'sctrstatus 1' '0 1001 2000 0 cond' \
	'# start 2' 'sctrstatus 2' '0 1001 2000 0 call' '1 1201 3000 0 ret' >good

kernel=ffffffff80001000
# where the harts began to trace and ended
echo 'b 1000 7' >none
printf '%s\n' 'b 1000 7' "e $kernel" "b ffffffff80001004 7" 'e 1010' 'b 2000 7' >onward
printf '%s\n' 'b 1000 7' "e $kernel" "b ffffffff80001008 7" "e $kernel" >one
printf '%s\n' 'b 1000 7' d >dropped

# compare STATUS DESCRIPTION STRETCHES SED-EXPRESSION: of a trace that is changed
compare()
{
	local status=0

	sed "$4" good >trace
	python3 "$top/selftests/ctr/ctrcmp.py" list hardware trace "$3" >out 2>&1 || status=$?
	[ "$status" = "$1" ]
	verdict $? "$2: $(tail -n 1 out)"
}
compare 0 'equal, but for the branch to the next instruction' none ''
compare 1 'another write pointer' none 's/^sctrstatus 2/sctrstatus 3/'
compare 1 'frozen' none 's/^sctrstatus 2/sctrstatus 80000002/'
compare 1 'no entries beside the branch' none '/call$/d; /ret$/d'
compare 1 'an entry less' none '/ret$/d'
compare 1 'an entry more' none '$a2 1301 4000 0 ret'
compare 1 'another entry' none 's/1201/1203/'
compare 1 'a start less' none '/start 2/,$d'
compare 1 'the branch in the trace, too' none 's/^1 1201.*/1 1101 1104 0 cond\n2 1201 3000 0 ret/'
compare 1 'a gap, and the recording has none' none 's/start 2/& gap/'
compare 0 'a gap, and the recording has one' one 's/start 2/& gap/'
compare 1 'two gaps, and the recording has one' one 's/start [12]/& gap/'
compare 1 'a gap, and the harts went on where they ended' onward 's/start 2/& gap/'
compare 1 'a loss, and the recording has a gap' one 's/start 2/& loss/'
compare 0 'a loss, and messages were dropped' dropped 's/start 2/& loss/'
finish
