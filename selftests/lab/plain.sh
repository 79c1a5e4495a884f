#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The output of perf inject --itrace --strip must be readable by perfs without N-Trace support,
# those of Debian 12 (6.1) and 13 (6.12), and by programs that make profiles: llvm-profgen,
# create_gcov, perf2bolt. They must see the same samples as our perf. README has a table of the
# commands of those perfs that can read the recording itself and the plain file: the test checks
# each of its lines.

name=plain
. "$(dirname "$0")/lib.bash"

share=$dir/run/share
log=$dir/log
program=$build/guest/bin/qsort

# stock 12|13 COMMAND...: in the tree with that Debian's perf; $dir is /mnt
stock()
{
	other_tree "$build/stock-$1" "$dir" "${@:2}"
}

# Addresses only: versions differ in what they print behind them.
entries()
{
	sed 's,/P/[^ ]*,,g; s/  */ /g; s/ $//'
}

cat >"$dir/record.sh" <<'END'
cd /mnt
recording 1; perf --buildid-dir /mnt/debug record -e ntrace//u -o user.data -- qsort
END
guest run "$dir/record.sh"
ok $? "recorded" "$dir/run/guest.out"
compare run 1 user s --require samples=200
ok $? "what ran, and what it had been called from: $(figures)" "$out" "$err"
[ "$(figure tasks)" = 1 ]
ok $? "no instruction of another task" "$out"
host_perf run inject --itrace=i1000il --strip -i "$share/user.data" -o "$dir/plain.data" 2>"$log"
ok $? "injected" "$log"
[ "$(host_perf run report -D -i "$dir/plain.data" 2>/dev/null | grep -a -c -e PERF_RECORD_AUX)" \
	= 0 ] &&
	[ "$(stat -c %s "$dir/plain.data")" -gt 100000 ]
ok $? "no trace in the file" "$log"

# Where trace ended and went on is no branch of the program's, and not in the file.
host_perf run script -i "$share/user.data" --itrace=i1000il200 -F tid,time,ip,brstack 2>"$log" |
	entries |
	own_branches 64 >"$dir/here"
ok $? "entries that are no branches are among those of the trace" "$log"
cp "$program" "$dir/qsort"
cp -a "$share/debug" "$dir/debug"

# What a command prints that has read the file
declare -A prints=(
	[evlist]='^ntrace//u$'
	[buildid-list]='^[0-9a-f]{40} .*/qsort$'
	["report --header-only"]='^# event : name = ntrace//u'
	["report -D"]='PERF_RECORD_(SAMPLE|AUX)\b'
	[script]=' instructions:u'
	[report]='[0-9]% .*\[\.\] bits'
	["report --branch-history"]='[0-9]% .*\[\.\] bits'
	[annotate]='Percent'
	[diff]='[0-9]% .*\[\.\] bits'
	["data convert --to-json"]='Converted and wrote .* \([1-9][0-9]* samples\)'
)

# stock_says RELEASE FILE COMMAND COLUMN: what happens is what the column says. With "yes" the
# command succeeds. Otherwise it prints the words in quotes, or is killed by a signal ("crashes"),
# and has not read the file.
stock_says()
{
	local release=$1 file=$2 command=$3 column=$4 words status=0 has=0

	read -r -a words <<<"$command"
	case $command in
	diff)	words+=("/mnt/$file" "/mnt/$file") ;;
	data*)	rm -f "$dir/json"; words+=(/mnt/json -i "/mnt/$file") ;;
	*)	words+=(-i "/mnt/$file") ;;
	esac
	stock "$release" perf --buildid-dir /mnt/debug "${words[@]}" >"$dir/printed" 2>&1 \
		</dev/null || status=$?
	[ -n "${prints[$command]:-}" ] && grep -a -q -E -e "${prints[$command]}" "$dir/printed" ||
		has=1
	case $column in
	yes)	[ $status = 0 ] && [ $has = 0 ] ;;
	crashes) [ $status -gt 128 ] && [ $has = 1 ] ;;
	*'`'*'`'*) column=${column#*\`}
		[ $has = 1 ] && grep -a -q -F -e "${column%%\`*}" "$dir/printed" ;;
	*)	! : ;;
	esac
	ok $? "perf $command of Debian $release, $file: $4" "$dir/printed"
}

cp "$share/user.data" "$dir/recording.data"
for release in 12 13; do "$lab/setup-stock" $release; done
sed -n '/^## A perf without the graft/,/^## Parts and tests/p' "$top/README.md" |
	sed -n 's/^| \(recording\|plain\) | \(.*\) | \(.*\) | \(.*\) |$/\1\t\2\t\3\t\4/p' \
		>"$dir/table"
tried=0
while IFS=$'\t' read -r file commands on12 on13; do
	while read -r command; do
		stock_says 12 "$file.data" "$command" "$on12"
		stock_says 13 "$file.data" "$command" "$on13"
		tried=$((tried + 1))
	done < <(grep -o '`[^`]*`' <<<"$commands" | tr -d '`')
done <"$dir/table"
[ $tried -ge 15 ]
ok $? "README's table: $tried commands" "$dir/table"

for release in 12 13; do
	version=$(stock $release perf --version)
	stock $release perf script -i /mnt/plain.data -F tid,time,ip,brstack 2>"$log" | entries |
		sed 's/^ *//' >"$dir/there"
	[ "$(wc -l <"$dir/here")" -gt 1000 ] && cmp "$dir/here" "$dir/there" >>"$log" 2>&1
	ok $? "$version: the same $(wc -l <"$dir/there") samples and branch stacks" "$log" \
		"$dir/there"
	stock $release perf --buildid-dir /mnt/debug report -i /mnt/plain.data \
		--stdio --sort comm,dso,sym -g none \
		--no-branch-stack >"$dir/report" 2>"$log"
	grep -q '% *qsort *qsort *\[\.\] bits' "$dir/report" &&
		grep -q "of event 'instructions" "$dir/report"
	ok $? "$version: report names task, file and function" "$log" "$dir/report"
	stock $release perf buildid-list -i /mnt/plain.data >"$log" 2>&1
	id=$("$lab/enter" readelf -n "$program" | sed -n 's/.*Build ID: //p')
	[ -n "$id" ] && grep -q "$id .*/qsort" "$log"
	ok $? "$version: build-ids" "$log"
done

# What is in their profiles is what is in the stacks, branch by branch.
"$lab/enter" readelf -sW "$program" >"$dir/symbols"
# counted TITLE KIND PROFILE
counted()
{
	local figures status=0

	figures=$("$top/selftests/lab/stackcounts.py" "$2" "$dir/here" "$3" "$dir/symbols" 2>&1) ||
		status=$?
	ok $status "... $1: $(tail -n 1 <<<"$figures")" "$log" "$3"
}

stock 13 llvm-profgen-22 --binary=/mnt/qsort --perfdata=/mnt/plain.data --format=text \
	--output=/mnt/profgen >"$log" 2>&1 && grep -q '^bits:[0-9]' "$dir/profgen" &&
	grep -q '^main:[0-9]' "$dir/profgen"
ok $? "llvm-profgen" "$log" "$dir/profgen"
stock 13 llvm-profgen-22 --binary=/mnt/qsort --perfdata=/mnt/plain.data --skip-symbolization \
	--output=/mnt/unsymbolized >"$log" 2>&1
ok $? "llvm-profgen --skip-symbolization" "$log"
counted "its counts are those of the samples" llvm "$dir/unsymbolized"
# Debian's is too old for the debug information that there is: that it reads samples is what counts.
stock 13 create_gcov --binary=/mnt/qsort --profile=/mnt/plain.data --gcov=/mnt/gcov \
	--gcov_version=2 \
	--logtostderr >"$log" 2>&1
ok $? "create_gcov" "$log"
samples=$(sed -n 's/.* \([0-9]*\) SAMPLE events, \([0-9]*\) of these were mapped.*/\1 \2/p' "$log")
[ "${samples% *}" = "$(wc -l <"$dir/here")" ] && [ "${samples#* }" -gt $((${samples% *} * 9 / 10)) ]
ok $? "... samples, and how many are of files: $samples" "$log"
stock 13 perf2bolt-22 /mnt/qsort -p /mnt/plain.data -o /mnt/fdata >"$log" 2>&1 &&
	grep -q '^1 bits/1 [0-9a-f]* 1 [a-z_0-9]*/*[0-9]* [0-9a-f]* ' "$dir/fdata"
ok $? "perf2bolt: $(sed -n 's/^PERF2BOLT: read //p' "$log")" "$log" "$dir/fdata"
counted "its counts are those of the samples" bolt "$dir/fdata"
finish
