#!/bin/sh
# RISC-V N-Trace recording and decoding
# SPDX-License-Identifier: GPL-2.0-only

# What perf records and decodes is compared with what its own workload is known to do, and
# one way of decoding with another.

pmu=/sys/bus/event_source/devices/ntrace

# Skip without trace encoders, or the permission to use them
[ -d $pmu ] || exit 2
[ "$(id -u)" = 0 ] || exit 2

shelldir=$(dirname "$0")
# shellcheck source=lib/perf_has_symbol.sh
. "${shelldir}"/lib/perf_has_symbol.sh

skip_test_missing_symbol brstack_bench

ok_cnt=0
skip_cnt=0
err_cnt=0

temp_dir=$(mktemp -d /tmp/perf-test-riscv-ntrace-sh.XXXXXXXXXX) || exit 1
data="${temp_dir}/perf.data"
insns="${temp_dir}/insns"
branches="${temp_dir}/branches"
stacks="${temp_dir}/stacks"
log="${temp_dir}/log"

cleanup()
{
	trap - EXIT TERM INT
	rm -rf "${temp_dir}"
}

trap_cleanup()
{
	cleanup
	exit 1
}

trap trap_cleanup EXIT TERM INT

# Encoders that can wait for the sink lose nothing, however slow this machine is.
event=ntrace//u
if grep -q '[1-9]' $pmu/caps/stall 2>/dev/null ; then
	event=ntrace/stall/u
fi

# Half of the argument, and one, are the rounds of the workload. In each third one it does not
# take a branch, behind which one of three calls is.
workload="perf test -w brstack 59"
expected_calls="30 bench 50 foo 80 bar"

record()
{
	# No time for build-ids: what runs is here when it is decoded.
	if ! perf record -B -N --no-bpf-event -o "${data}" "$@" >"${log}" 2>&1 ; then
		echo "perf record $* failed:"
		cat "${log}"
		return 1
	fi
}

script()
{
	perf script -i "${data}" "$@" 2>"${log}"
}

# compare WHAT EXPECTED FOUND
compare()
{
	if [ "$2" = "$3" ] ; then
		return 0
	fi
	echo "$1: expected $2, found $3"
	cat "${log}"
	return 1
}

no_errors()	# FILE
{
	compare "errors" 0 "$(grep -c 'instruction trace error' "$1")"
}

# calls FLAG FIELD: of the workload's functions, by the symbol in that field, the last or third
calls()
{
	awk -v flag="$1" -v field="$2" '
		$1 == flag { n[field == "last" ? $NF : $3]++ }
		END {
			print n["brstack_bench"] + 0, "bench", n["brstack_foo"] + 0, "foo",
			      n["brstack_bar"] + 0, "bar"
		}' "${branches}"
}

check_calls()
{
	script --itrace=cre -F ip,sym,addr,flags >"${branches}"
	no_errors "${branches}" &&
		compare "calls" "${expected_calls}" "$(calls call last)" &&
		compare "returns" "${expected_calls}" "$(calls return third)"
}

test_per_task()
{
	# shellcheck disable=SC2086 # the workload has arguments
	record -e ${event} -- ${workload} && check_calls
}

test_per_thread()
{
	# shellcheck disable=SC2086
	record --per-thread -e ${event} -- ${workload} && check_calls
}

test_system_wide()
{
	# shellcheck disable=SC2086
	record -a -e ${event} -- ${workload} && check_calls
}

# What is left when the workload ends has all of it.
test_snapshot()
{
	# shellcheck disable=SC2086
	record -Se -m,64K -e ${event} -- ${workload} && check_calls
}

test_filter()
{
	if [ "$(cat $pmu/nr_addr_filters 2>/dev/null || echo 0)" = 0 ] ; then
		echo "no comparators"
		return 2
	fi
	# shellcheck disable=SC2086
	record -e ${event} --filter "filter brstack_bench @ $(readlink -f "$(command -v perf)")" \
		-- ${workload} || return 1
	script --itrace=i0nse -F ip,sym,symoff >"${insns}"
	no_errors "${insns}" &&
		compare "functions" brstack_bench \
			"$(sed 's/.* \(.*\)+0x.*/\1/' "${insns}" | sort -u)" &&
		compare "times it began" 30 "$(grep -c 'brstack_bench+0x0$' "${insns}")"
}

# Each instruction is behind the one before it, or where the next of the branches goes. A trap
# out of what is traced is from an instruction that is not in the list, or comes later. If the
# trap repeats, a piece of the trace has no instruction. To awk 12e338 is a number, if it is not
# made a string.
cat > "${temp_dir}/insns.awk" << "_end_of_file_"
function low(address) {
	return value[substr(address, length(address) - 2)]
}

# In a page of 4096 bytes, or from its end to the next
function follows(to) {
	if (substr(ip, 1, length(ip) - 3) == substr(to, 1, length(to) - 3))
		return low(ip) + len == low(to)
	return low(ip) + len == low(to) + 4096
}

function next_branch(    line, word, i) {
	source = target = ""
	if ((getline line < branches) > 0) {
		for (i = split(line, word); i > 0 && word[i] != "=>"; i--)
			;
		source = word[i - 1] ""
		target = word[i + 1] ""
	}
}

function wrong(what) {
	print "instruction " NR " at " $1 ", behind " ip ": " what
	failed = 1
	exit 1
}

BEGIN {
	for (i = 0; i < 4096; i++)
		value[sprintf("%03x", i)] = i
	next_branch()
}

# The trace ends at the last instruction, or before the next one.
function ends() {
	return target == "0" && (source == ip || follows(source))
}

# Trace goes on here, or where the last instruction was: then it ran in this piece only. There may
# be pieces without an instruction before.
function begins(    start, empty) {
	while (NR == 1 || ends()) {
		if (target == "0")
			next_branch()
		if (source != "0")
			wrong("no piece begins, the next branch is from " source)
		start = target
		pieces++
		next_branch()
		if (start == here)
			return 1
		empty = target == "0" && source == start
		if (!empty && !(alone && start == ip))
			wrong("trace goes on at " start)
		if (empty)
			ip = start
	}
	return 0
}

function follow() {
	if (source == ip) {
		if (target != here)
			wrong("the branch there goes to " target)
		next_branch()
	} else if (!follows(here)) {
		wrong("no branch goes there, the next is from " source)
	}
}

{
	here = $1 ""
	alone = begins()
	if (!alone)
		follow()
	ip = here
	len = $3
}

END {
	if (failed)
		exit 1
	print NR " instructions in " pieces " pieces"
	exit NR < 1000
}
_end_of_file_

test_insns()
{
	record --per-thread -e ${event} -- true || return 1
	script --itrace=be -F ip,addr,flags >"${branches}"
	no_errors "${branches}" || return 1
	# That is enough, and perf stops there.
	script --itrace=i0ns -F ip,insnlen | head -n 20000 >"${insns}"
	awk -v branches="${branches}" -f "${temp_dir}/insns.awk" "${insns}"
}

# A branch stack is the last of the branches.
cat > "${temp_dir}/stacks.awk" << "_end_of_file_"
$1 ~ /^branches/ {
	for (i = NF; i > 0 && $i != "=>"; i--)
		;
	branch[++nr] = "0x" $(i - 1) "/0x" $(i + 1)
}

$1 ~ /^instructions/ {
	at = nr
	for (i = 2; i <= NF; i++) {
		if (split($i, part, "/") < 2)
			continue
		if (part[1] "/" part[2] != branch[at] "") {
			print "line " NR ": expected " branch[at] ", found " $i
			failed = 1
			exit 1
		}
		at--
	}
	entries += nr - at
	if (nr - at != (nr < 16 ? nr : 16)) {
		print "line " NR ": " nr - at " entries, after " nr " branches"
		failed = 1
		exit 1
	}
	samples++
}

END {
	print samples + 0 " samples with " entries + 0 " entries"
	exit failed || entries < 100
}
_end_of_file_

test_stacks()
{
	script --itrace=bi97il16 -F event,ip,addr,flags,brstack | head -n 5000 >"${stacks}"
	awk -f "${temp_dir}/stacks.awk" "${stacks}"
}

# perf inject writes the samples that perf script decodes.
test_inject()
{
	script --itrace=i997i -F tid,time,ip >"${insns}"
	if [ "$(wc -l <"${insns}")" -lt 10 ] ; then
		echo "$(wc -l <"${insns}") samples only"
		return 1
	fi
	perf inject --itrace=i997il16 --strip -i "${data}" -o "${data}.plain" >"${log}" 2>&1 &&
		perf script -i "${data}.plain" -F tid,time,ip 2>"${log}" | cmp "${insns}" - &&
		perf script -i "${data}.plain" -F brstack 2>"${log}" | grep -q '/0x'
}

run()	# FUNCTION DESCRIPTION
{
	echo "--- Test $2 ---"
	ret=0
	"$1" || ret=$?
	case ${ret} in
	0)
		echo "OK"
		ok_cnt=$((ok_cnt + 1))
		;;
	2)
		echo "SKIP"
		skip_cnt=$((skip_cnt + 1))
		;;
	*)
		echo "FAILED"
		err_cnt=$((err_cnt + 1))
		;;
	esac
}

run test_per_task "a task: calls and returns"
run test_per_thread "a thread: calls and returns"
run test_system_wide "all CPUs: calls and returns"
run test_snapshot "a snapshot: calls and returns"
run test_filter "an address filter: one function"
run test_insns "instructions: each follows the one before it, or a branch"
# of the same recording
run test_stacks "branch stacks: the last branches"
run test_inject "perf inject: the same samples"

cleanup

echo "--- ${ok_cnt} passed, ${skip_cnt} skipped, ${err_cnt} failed ---"
[ ${err_cnt} -eq 0 ] || exit 1
[ ${ok_cnt} -gt 0 ] || exit 2
exit 0
