#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The lab itself: what goes wrong in the guest is reported, every way it can.

set -u
top=$(cd "$(dirname "$0")/../.." && pwd -P)
dir=$top/build/check/lab
rm -rf "$dir"
mkdir -p "$dir"

n=0 bad=0
check()		# DESCRIPTION CONDITION...
{
	local what=$1 kind=ok
	shift
	n=$((n + 1))
	"$@" || kind="not ok"
	echo "$kind $n - $what"
	[ "$kind" = ok ] && return
	bad=1
	sed 's/^/# /' "$dir/err"
}

# guest SCRIPTTEXT BOOTOPTION...: leaves $status, $dir/out, $dir/err
guest()
{
	echo "$1" >"$dir/script"
	shift
	status=0
	"$top/selftests/qemu/lab/boot" --no-plugin --driver "" --share "$dir/share" \
		--log "$dir/console.log" "$@" --run "$dir/script" >"$dir/out" 2>"$dir/err" || status=$?
}

says()		# WORDS
{
	grep -q "$1" "$dir/err"
}

echo 1..11
guest 'echo out; echo err >&2; echo file >/mnt/file; exit 7'
check "exit status of the script" [ "$status" = 7 ]
check "its standard output" [ "$(cat "$dir/out")" = out ]
check "its standard error" says '^err$'
check "the shared directory" [ "$(cat "$dir/share/file")" = file ]

guest 'sleep 100' --timeout 8
check "a hang is a time-out" [ "$status" = 124 ]
check "and is told" says 'did not finish within 8 s'

guest 'echo c >/proc/sysrq-trigger'
check "a panic is a failure" [ "$status" = 125 ]
check "and shows the console" says 'Kernel panic - not syncing: sysrq'

guest 'echo "WARNING: CPU: 0 PID: 1 at nowhere" >/dev/kmsg; exit 0'
check "a kernel warning fails the run" [ "$status" = 126 ]
check "and is shown" says 'at nowhere'

guest 'exit 0' --driver "$top/selftests/lab/lab.sh"
check "a driver that does not load is a failure" [ "$status" = 125 ]

exit $bad
