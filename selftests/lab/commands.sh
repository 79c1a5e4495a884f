#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Each command in the documentation runs exactly as it is written there, and its output is compared
# with what the harts did. selftests/documented/commands lists the commands. A command that is in
# the documentation but not in the list, or is in the list without a check, is a failure.

name=commands
. "$(dirname "$0")/lib.bash"

documented=$top/selftests/documented
share=$dir/run/share
plan() { python3 "$documented/plan.py" "$@"; }

plan lookup >"$dir/lookup"
ok $? "every command of the pages has a check" "$dir/lookup"
plan jobs >"$dir/jobs" && plan guest >"$dir/guest.sh"
ok $? "the list is understood"
guest run "$dir/guest.sh"
ok $? "the guest ran its commands" "$dir/run/guest.out"

# ---------------------------------------------------------------- programs without a system

bare()		# NAME OPTIONS: prog, trace.bin and truth.tv in a directory of that name
{
	mkdir -p "$dir/bare/$1"
	cp "$build/baremetal/tour.elf" "$dir/bare/$1/prog"
	cp "$build/guest/root/lib/riscv64-linux-gnu/libm.so.6" "$dir/bare/$1/libm.so"
	(cd "$dir/bare/$1" && "$lab/enter" timeout 900 qemu-system-riscv64 -M virt -m 128 \
		-cpu rv64 -bios none \
		-kernel "$PWD/prog" -display none -semihosting-config enable=on,target=native \
		-plugin "$build/host/ntrace-plugin.so,trace=$PWD/%d.nt,truth=$PWD/truth.%d,mode=htm,$2" \
		</dev/null >qemu.out 2>&1 && mv 0.nt trace.bin && [ -s truth.0 ])
}

"$lab/enter" make -s --no-print-directory -C selftests/qemu/baremetal >"$dir/make.out" 2>&1 &&
	bare plain retstack=0 && bare retstack retstack=3
ok $? "bare-metal programs" "$dir/make.out" "$dir/bare/plain/qemu.out"

# ------------------------------------------------------------------- what the checks share

# here COMMAND...: in the tree where this perf runs, in the entry's directory
here()
{
	"$lab/enter" env HOME="$share/home" PAGER=cat PERF_EXEC_PATH="$build/perf-x86_64" \
		PYTHONPATH="$documented/python" \
		PATH="$build/perf-x86_64:$build/host:/usr/sbin:/usr/bin:/sbin:/bin" \
		bash -o pipefail -c 'cd "$1" && shift && "$@"' here "$where" "$@"
}

# The hart of CPU 0, where everything ran
stream()
{
	case $how in
	bare) echo "$where/truth.0" ;;
	*) echo "$dir/run/truth.$(awk '$1 == 0 { print $2 }' "$dir/run/console.harts").zst" ;;
	esac
}

segment()
{
	[ "$how" = bare ] || echo --segment "$recording"
}

# The truth as text, once for each recording
truth()
{
	local file=$where/truth.$recording.txt

	# shellcheck disable=SC2046
	[ -s "$file" ] || "$lab/enter" "$build/host/truthlist" $(segment) "$(stream)" >"$file" ||
		return
	echo "$file"
}

# judge WHAT [KEY=VALUE...]: check.py, with what it always wants
judge()
{
	local what=$1
	shift

	python3 "$documented/check.py" "$what" out="$out" elf="$where/prog" truth="$(truth)" \
		command="$command" "$@"
}

# against_truth OPTION...: truthcmp with a list on standard input
against_truth()
{
	# shellcheck disable=SC2046
	"$lab/enter" "$build/host/truthcmp" --truth "0=$(stream)" $(segment) "$@"
}

# ---------------------------------------------------------------------------- the checks

# The file decodes to what ran, on every CPU
check_recording()
{
	# a file in which nothing is equals a hart on which nothing ran
	[[ " $* " == *' --require '* ]] || set -- "$@" --require insns=1000,branches=100
	cp -r "$where/perf.data" "$share/$entry.data" && mkdir -p "$share/debug" &&
		cp -rn "$share/home/.debug/." "$share/debug/" &&
		compare run "$entry" "$entry" b "$@"
	local status=$?

	cat "$dir/run/$entry.b.out" "$dir/run/$entry.b.err" 2>/dev/null
	return $status
}

# ... of which only the end, or some of it, was kept
check_part()
{
	# shellcheck disable=SC2046
	here sh -c 'perf script --itrace=i1ie -F cpu,tid,event,ip | grep -a -v "cpu-clock"' \
		>"$where/list" &&
		"$lab/enter" "$build/host/truthpart" --segment "$entry" \
			$("$lab/truths" "$dir/run") "$@" <"$where/list"
}

check_branches()
{
	judge branches >"$where/list" || { tail -n 1 "$where/list"; return 1; }
	against_truth --branches "$@" <"$where/list"
}

check_insns()
{
	judge insns >"$where/list" || { tail -n 1 "$where/list"; return 1; }
	against_truth <"$where/list"
}

check_decoded()
{
	against_truth --format ntrace --require insns=100000 "$@" <"$out"
}

check_branch-head() { judge branch-head "$@"; }

# perf report: what functions have themselves, by truthtv; with what they call, by check.py
check_shares()
{
	judge own-shares >"$where/list" || { tail -n 1 "$where/list"; return 1; }
	# shellcheck disable=SC2046
	tail -n +2 "$where/list" | "$lab/enter" "$build/host/truthtv" --truth "0=$(stream)" \
		$(segment) \
		--most "$1" $(head -n 1 "$where/list") && judge callees bound="$1"
}

# flamegraph.py: as many per cent in the boxes of its file
check_flames()
{
	local out=$where/stacks.json

	check_shares "$1"
}

check_records() { judge records "$@"; }
check_samples() { judge samples "$@"; }
check_profile() { judge profile "$@"; }

check_timeline()
{
	# without bounds it has everything; that the branches it is made of are true is another
	# entry
	here sh -c 'ntrace timeline --min=0 --depth=512 perf.data >full.json' &&
		judge timeline full="$where/full.json"
}

# Calls and returns are those among the branches
check_calls()
{
	judge calls lines="$where/lines.txt"
}

# The bytes in the AUX area, which the file has behind its AUXTRACE records
check_messages()
{
	trace && judge messages trace="$where/trace.bin" "$@"
}

check_stat()
{
	judge stat trace="$where/trace.bin"
}

trace()
{
	[ -s "$where/trace.bin" ] ||
		python3 "$documented/check.py" trace out="$where/perf.data" >"$where/trace.bin"
}

# perf archive: the file that ran is in it, byte by byte
check_archive()
{
	"$lab/enter" tar xOf "$where/perf.data.tar.bz2" --wildcards '*/prog/*/elf' |
		cmp - "$where/prog" &&
		echo "true: the archive has the program"
}

check_says()
{
	grep -q -e "$*" "$out" && echo "true: $*"
}

check_database()
{
	judge database db="$where/pt.db" kind="$1"
}

# No errors; and there are some when trace is damaged: 64 bytes of it are another's
check_silent()
{
	[ ! -s "$out" ] && [ ! -s "$err" ] && [ "$(cat "$where/status.$entry")" = 0 ] || return
	cp "$where/perf.data" "$where/damaged.data" &&
		python3 "$documented/check.py" damage out="$where/damaged.data" &&
		here bash -c "${run/perf script/perf script -i damaged.data}" \
			>"$where/damaged.out" 2>/dev/null
	grep -q 'instruction trace error' "$where/damaged.out" &&
		rm "$where/damaged.data" "$where/damaged.out" &&
		echo "true: no errors, and some in damaged trace"
}

check_is()
{
	[ "$(cat "$out")" = "$*" ] && echo "true: $*"
}

# All of these lines, and no others but what the kernel gives every driver
check_lines()
{
	local found

	found=$(grep -vx -e bind -e unbind -e uevent -e module "$out" | sort | xargs)
	[ "$found" = "$(printf '%s\n' "$@" | sort | xargs)" ] ||
		{ echo "expected $*, shown $found"; return 1; }
	echo "true: $*"
}

# A sink for each hart, as the machine is, each with a number of its own
check_sinks()
{
	local hart sink

	for hart in 0 1; do
		sink=$(printf 'bf%06x.trace' $((0x1000 + hart * 0x2000)))
		grep -q "$sink" "$out" || { echo "no $sink"; return 1; }
	done
	[ "$(wc -l <"$out")" = 2 ] && [ "$(sed 's/.*://' "$out" | sort -u | wc -l)" = 2 ] &&
		echo "true: two sinks"
}

# The same of both sinks
check_each()
{
	[ "$(wc -l <"$out")" = 2 ] && [ "$(sed 's/.*://' "$out" | sort -u)" = "$1" ] &&
		echo "true: twice $1"
}

# The log has that the module was loaded, and nothing that cannot be used
check_quiet()
{
	grep -q 'ntrace: loading' "$out" &&
		! grep -v -e 'ntrace: loading' -e 'ntrace: module verification' "$out" &&
		echo "true: nothing to complain about"
}

check_hartid()
{
	[ "$(cat "$out")" = "$(awk '$1 == 0 { print $2 }' "$dir/run/console.harts")" ] &&
		echo "true: $(cat "$out")"
}

check_sink()
{
	[ "$(cat "$out")" = "$(printf 'bf%06x.trace' $((0x1000 + 0x2000 * $(awk '$1 == 0 { print $2 }' "$dir/run/console.harts"))))" ] &&
		echo "true: $(cat "$out")"
}

# ------------------------------------------------------------------------------- the jobs

n=0
while IFS=$'\t' read -r -u 3 entry page command how job recording before run check; do
	case $how in
	guest|host) where=$share/$job ;;
	bare) where=$dir/bare/$job ;;
	by) ok 0 "${page##*/}: $command # by ${check%% *}"; continue ;;
	*) continue ;;
	esac
	n=$((n + 1))
	out=$where/out.$entry err=$where/err.$entry log=$where/log.$entry
	if [ "$how" != guest ]; then
		here bash -o pipefail -c "$before; $run" >"$out" 2>"$err" </dev/null
		echo $? >"$where/status.$entry"
		# a command that writes a file of its own printed that
		[[ $run != *' >'* ]] || [[ $run == *'&&'* ]] || out=$where/${run##*>}
	fi
	# shellcheck disable=SC2086
	[ "$(cat "$where/status.$entry" 2>/dev/null)" = 0 ] &&
		"check_${check%% *}" $(set -f; [[ $check != *' '* ]] || echo ${check#* }) \
			>"$log" 2>&1
	ok $? "${page##*/}: $command: $(tail -n 1 "$log" 2>/dev/null | cut -c1-100)" "$log" "$err"
	rm -f "$where/list"
done 3<"$dir/jobs"
[ "$n" -ge 55 ]
ok $? "$n commands ran"
[ $failures != 0 ] || rm -rf "$dir/run" "$dir/bare"
finish
