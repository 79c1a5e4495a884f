#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Every command in the documentation runs, page by page, as it stands there. Those that are
# not for a guest are named, with the reason, and looked up elsewhere in the tests.

name=commands
. "$(dirname "$0")/lib.bash"

pages=(README.md tools-perf/Documentation/perf-riscv-ntrace.txt
	Documentation/trace/ntrace.rst Documentation/admin-guide/perf/ntrace.rst)

# commands PAGE: lines of literal text that begin with a command
commands()
{
	sed -nE 's/^(\t|    )((perf|cat|ls|grep|dmesg|echo|tar|make|ntrace) .*)$/\2/p; s/^[0-9]\. `((make|perf|tools-perf)[^`]*)`.*/\1/p' "$top/$1" |
		sed -E 's/ +(#|\((there|here)\)).*//'
}

# elsewhere COMMAND: prints why it is not run here
elsewhere()
{
	case $1 in
	make*) echo "this machine's: Makefile, host/install" ;;
	tools-perf/graft*) echo "this machine's: lab/graft" ;;
	'perf archive'|tar\ *) echo "wants bash and a second machine" ;;
	*'ntrace/@'*) echo "wants a sink that all CPUs reach: lab/topologies" ;;
	*export-to-sqlite.py*) echo "wants a perf with Python, which the guest has none of: lab/python" ;;
	*ntrace-ctr.so*) echo "with the filter's path: lab/ctr" ;;
	*) return 1 ;;
	esac
}

# What the pages take for granted: a program, a process. Without a terminal report prints all.
{
	cat <<-'END'
	mkdir -p /tmp/commands; cd /tmp/commands || exit 1
	cp $(command -v qsort) prog
	export HOME=/tmp/commands PAGER=cat
	n=0
	END
	for page in "${pages[@]}"; do
		while read -r line; do
			elsewhere "$line" >/dev/null && continue
			line=${line/-p PID/-p \$PID}
			case $line in
			*"-p \$PID"*) echo 'while :; do :; done & PID=$!' ;;
			esac
			# a filter's names are of some program: ours has others
			line=${line//filter main/filter up} line=${line/start load/start bits} line=${line/stop draw/stop up}
			printf 'n=$((n + 1)); { %s; } >out.$n 2>err.$n </dev/null; echo "$? $n" >>status\n' "$line"
			case $line in
			*"-p \$PID"*) echo 'kill $PID' ;;
			esac
		done < <(commands "$page")
	done
	echo 'cp status out.* err.* /mnt; exit 0'
} >"$dir/guest.sh"
guest run "$dir/guest.sh" --timeout 400
ok $? "the guest ran them" "$dir/run/guest.out"
share=$dir/run/share

n=0
for page in "${pages[@]}"; do
	while read -r line; do
		if why=$(elsewhere "$line"); then
			ok 0 "${page##*/}: $line # SKIP $why"
			continue
		fi
		n=$((n + 1))
		grep -q "^0 $n\$" "$share/status" &&
			{ [ -s "$share/out.$n" ] || [ -s "$share/err.$n" ] || [[ $line == *@(itrace=e|inject*) ]]; } &&
			! grep -q -i -e 'failed' -e 'not supported' "$share/err.$n"
		ok $? "${page##*/}: $line" "$share/err.$n"
	done < <(commands "$page")
done
[ "$n" -gt 30 ]
ok $? "$n commands were found"
finish
