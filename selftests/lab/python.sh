#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Python scripts (perf script -s) must get the same data as perf script prints: database tables,
# calls with their returns, call chains, single events, errors and context switches.

name=python
. "$(dirname "$0")/lib.bash"

share=$dir/run/share
log=$dir/log

cat >"$dir/record.sh" <<'END'
cd /mnt; status=0
record="perf --buildid-dir /mnt/debug record --switch-events"
recording 1; $record -e ntrace/stall/u -o user.data -- threads || status=1
recording 2; $record --kcore -e ntrace// -o kernel.data -- ls / || status=1
exit $status
END
guest run "$dir/record.sh"
ok $? "recordings" "$dir/run/guest.out"
compare run 1 user b --require tasks=5,migrations=1
ok $? "what perf script prints is what ran: $(figures)" "$out" "$err"

# what is no message, in the middle of one CPU's trace
"$top/selftests/lab/perfdata.py" trace 20000 "$(printf '55%.0s' {1..300})" \
	"$share/user.data" "$share/bad.data"

# script FILE MODE LETTERS FIELDS LEAST: as many of what is counted third, at least
script()
{
	local file=$1 mode=$2 letters=$3 fields=$4 least=$5 status

	host_perf run script -i "$share/$file.data" --itrace="$letters" -F "$fields" \
		--show-switch-events --show-task-events >"$dir/$file.$mode.txt" 2>"$log.err"
	host_perf run script -i "$share/$file.data" --itrace="$letters" \
		-s "$top/selftests/lab/python.py" "$mode" "$dir/$file.$mode.txt" >"$log" \
		2>>"$log.err"
	[[ $(tail -n 1 "$log") = 'right: '* ]] &&
		[ "$(tail -n 1 "$log" | cut -d, -f3 | awk '{ print $1 }')" -ge "$least" ]
	status=$?
	ok $status "$file, $mode: $(tail -n 1 "$log")" "$log" "$log.err"
}
branch=comm,tid,cpu,event,ip,addr,flags,insnlen
stacks=comm,tid,cpu,event,ip,sym,brstack
script user calls be $branch 1000
script kernel calls be $branch 1000
grep -q ', [1-9][0-9]* traps' "$log"
ok $? "kernel: traps among them" "$log"
script bad calls be $branch 1000
script user chains i997ieg64 $stacks 1000
script kernel chains i997ieg64 $stacks 1000
script kernel plain i997ieg64l16 $stacks 1000
script bad plain i997ieg64l16 $stacks 1000
finish
