#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Each pause in a test is in selftests/pauses, with what it is for: no verdict may depend on how
# long something takes. What waits for something gives it a minute.

. "$(dirname "$0")/lib.bash"

command -v python3 >/dev/null || { echo "1..0 # SKIP no python3"; exit 4; }

lookup()	# [SELFTESTS]
{
	python3 "$top/selftests/host/pauses.py" "${1:-$top/selftests}" >"$scratch/log" 2>&1
}

lookup
verdict $? "$(tail -n 1 "$scratch/log")"
sed '/ pauses, /d; s/^/# /' "$scratch/log"

# finds WORDS DESCRIPTION: in a copy, which was changed
copy=$scratch/copy
fresh()
{
	rm -rf "$copy"
	mkdir -p "$copy/qemu/lab"
	cp -R "$top"/selftests/{debug,guest,host,lab,pauses} "$copy/"
	cp "$top"/selftests/qemu/lab/{boot,init} "$copy/qemu/lab/"
}

finds()
{
	! lookup "$copy" && [ "$(head -n 1 "$scratch/log")" = "$1" ]
	verdict $? "$2"
}

fresh
echo 'qsort && sleep 2' >>"$copy/lab/samples.sh"
finds 'lab/samples.sh: 1 times in the test, 0 in the list: qsort && sleep 2' "another pause"
fresh
printf '\tusleep(20);\n' >>"$copy/guest/event-cycle.c"
finds 'guest/event-cycle.c: 1 times in the test, 0 in the list: usleep(20);' "one of a program"
fresh
echo 'sleep 0.1' >>"$copy/guest/full.sh"
finds 'guest/full.sh: 3 times in the test, 2 in the list: sleep 0.1' "one more of them"
fresh
sed -i '/^sleep 0.5$/d' "$copy/lab/shutdown.sh"
finds 'lab/shutdown.sh: 0 times in the test, 1 in the list: sleep 0.5' "a pause that has gone"
fresh
sed -i 's/^load lab\/shutdown.sh/slow lab\/shutdown.sh/' "$copy/pauses"
finds 'slow: no such kind' "a kind that there is not"
fresh
sed -i '/all sinks are on before/d' "$copy/pauses"
finds 'lab/shutdown.sh: no reason: sleep 0.5' "no reason"
line()		# FILE: of its pause of 0.1 s
{
	grep -n -m 1 'sleep 0.1$' "$copy/$1" | cut -d: -f1
}
fresh
sed -i 's/seq 600/seq 100/' "$copy/guest/lib"
finds "guest/lib:$(line guest/lib): waits for nothing, or less than a minute: sleep 0.1" \
	"a wait of ten seconds"
finish
