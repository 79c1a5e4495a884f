#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The test bed itself: all kinds of failures in the guest must be reported.

name=lab
. "$(dirname "$0")/lib.bash"

# run SCRIPTTEXT BOOTOPTION...: leaves $status, $dir/out, $dir/err
run()
{
	echo "$1" >"$dir/script"
	shift
	status=0
	"$lab/boot" --no-plugin --driver "" --share "$dir/share" --log "$dir/console.log" \
		"$@" --run "$dir/script" >"$dir/out" 2>"$dir/err" </dev/null || status=$?
}

check()		# DESCRIPTION CONDITION...
{
	local what=$1 status=0

	shift
	"$@" || status=$?
	ok $status "$what" "$dir/err"
}

says()		# WORDS
{
	grep -q "$1" "$dir/err"
}

run 'echo out; echo err >&2; echo file >/mnt/file; exit 7'
check "exit status of the script" [ "$status" = 7 ]
check "its standard output" [ "$(cat "$dir/out")" = out ]
check "its standard error" says '^err$'
check "the shared directory" [ "$(cat "$dir/share/file")" = file ]

SEED=43 ROUNDS=1 "$top/selftests/run" host/property-test >"$dir/out" 2>"$dir/err"
check "a host test by chance begins with SEED" grep -qx '# SEED=43' "$dir/out"
check "and does ROUNDS" grep -q '^# 1 traces' "$dir/out"

run 'sleep 100' --timeout 10
check "a hang is a time-out" [ "$status" = 124 ]
check "and is told" says 'did not finish within 10 s'
check "with what each hart did" says '^boot: CPU#1, priv [SMU], pc [0-9a-f]*, '

run 'echo c >/proc/sysrq-trigger'
check "a panic is a failure" [ "$status" = 125 ]
check "and shows the console" says 'Kernel panic - not syncing: sysrq'

run 'echo "WARNING: CPU: 0 PID: 1 at nowhere" >/dev/kmsg; exit 0'
check "a kernel warning fails the run" [ "$status" = 126 ]
check "and is shown" says 'at nowhere'

run 'exit 0' --driver "$top/selftests/lab/lab.sh"
check "a driver that does not load is a failure" [ "$status" = 125 ]

finish
