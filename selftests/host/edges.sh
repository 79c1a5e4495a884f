#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Edges and their sums: counts of recordings survive the file, a sum does not depend on order or
# grouping, what arrives twice counts once, damage is named and skipped; what leaves a host.
# edges.py reads the files without anything of ntrace's. SEED=N repeats a run.

. "$(dirname "$0")/lib.bash"
here=$(dirname "$0")
seed=${SEED:-$RANDOM}
RANDOM=$seed
echo "# SEED=$seed"
CC=${CC:-gcc}
mix=$samples/mix/mix.elf
exec 2>"$scratch/stderr"

build_recdata &&
	"$CC" -O2 -std=gnu11 -Wall -Wextra -o "$scratch/gen" "$top/selftests/host/edgesgen.c"
verdict $? 'recdata and edgesgen'

read_edges()
{
	python3 "$here/edges.py" "$@"
}

# --- of recordings and traces ----------------------------------------------------------

# the profile of a program by its edges, and directly
# same_profile DESCRIPTION EDGES PROGRAM FILE [OPTION...]
same_profile()
{
	local description=$1 edges=$2 program=$3 format bad=0
	shift 3

	for format in bolt autofdo llvm-profgen; do
		"$ntrace" profile --format=$format --elf "$program" "$@" >"$scratch/want"
		echo $? >>"$scratch/want"
		"$ntrace" profile --format=$format --elf "$program" "$edges" >"$scratch/got"
		echo $? >>"$scratch/got"
		[ "$(wc -l <"$scratch/want")" -gt 10 ] && cmp "$scratch/want" "$scratch/got" ||
			bad=1
	done
	verdict $bad "$description"
}

for level in 0 2; do
	"$ntrace" profile --format=edges --elf "$mix" -o "$scratch/raw" "$samples/mix/L$level.bin"
	same_profile "a raw trace, L$level: the same profile in each format" "$scratch/raw" "$mix" \
		"$samples/mix/L$level.bin"
done
# an ECALL, an interrupt that returns, and a pause
"$CC" -std=gnu11 -Wall -Wextra -o "$scratch/callprog" "$top/selftests/host/callprog.c" &&
	printf '%s\n' '1000 main' nop ecall nop 'jump 1000' '2000 handler' nop nop nop mret |
	"$scratch/callprog" >"$scratch/trap.elf"
printf '%s\n' 1000 2000 2004 2008 200c 1008 100c 1000 2000 2004 2008 200c 1000 2000 2004 2008 200c \
	1008 100c 1000 >"$scratch/list"
"$ntrace" encode --gaps=trap --elf "$scratch/trap.elf" --pc "$scratch/list" -o "$scratch/traps" &&
	"$ntrace" profile --format=edges --elf "$scratch/trap.elf" "$scratch/traps" >"$scratch/raw"
for format in bolt llvm-profgen; do
	"$ntrace" profile --format=$format --elf "$scratch/trap.elf" "$scratch/traps" \
		>"$scratch/want"
	"$ntrace" profile --format=$format --elf "$scratch/trap.elf" "$scratch/raw" |
		cmp - "$scratch/want" && [ "$(wc -l <"$scratch/want")" -ge 4 ] &&
		read_edges "$scratch/raw" | grep -q ' trap ' &&
		read_edges "$scratch/raw" | grep -q ' return '
	verdict $? "traps that return: $format"
done
cp "$mix" "$scratch/mix.elf"
# other content, so another file
{ cat "$mix"; echo; } >"$scratch/mix.elf.other"
"$ntrace" decode --elf "$mix" --no-marks "$samples/mix/L1.bin" >"$scratch/pc"
"$ntrace" encode --elf "$mix" --pc "$scratch/pc" --syncmode=2 --syncmax=6 -o "$scratch/synced"
cp "$scratch/synced" "$scratch/bad"
size=$(stat -c %s "$scratch/bad")
for ((i = 0; i < 5; i++)); do
	printf '\x5a\x02\x03' | dd of="$scratch/bad" bs=1 seek=$((RANDOM % (size - 3))) \
		conv=notrunc status=none
done
for kind in file remap exec switch owners orphan; do
	for trace in synced bad; do
		"$scratch/recdata" $kind "$scratch/mix.elf" "$scratch/$trace" \
			>"$scratch/$kind.$trace.data"
		"$ntrace" profile --format=edges "$scratch/$kind.$trace.data" \
			>"$scratch/$kind.$trace.edges"
		same_profile "$kind, $trace: the same profile" "$scratch/$kind.$trace.edges" \
			"$scratch/mix.elf" \
			"$scratch/$kind.$trace.data"
	done
done
same_profile 'remap: of the other file' "$scratch/remap.synced.edges" "$scratch/mix.elf.other" \
	"$scratch/remap.synced.data"

# the recording's name is what sha256sum says; and what is in it
id=$(sha256sum "$scratch/remap.synced.data" | cut -d ' ' -f 1)
"$ntrace" merge --show "$scratch/remap.synced.edges" >"$scratch/show"
branches=$(read_edges "$scratch/remap.synced.edges" |
	awk '$3 == "branch" { n += $4 } END { print n }')
grep -q "^recording $id host [^ ]* branches $branches losses 0\$" "$scratch/show" &&
	grep -q "^  file $(sha256sum "$scratch/mix.elf" | cut -d ' ' -f 1) mix.elf edges [1-9][0-9]* branches" "$scratch/show" &&
	[ "$(awk '$1 == "file" { n += $NF } END { print n }' "$scratch/show")" = "$branches" ]
verdict $? "--show: recording, programs, $branches branches"
"$ntrace" profile --format=edges "$scratch/remap.bad.data" 2>&1 >"$scratch/lossy" |
	grep -q '^ntrace: [1-9][0-9]* losses$' &&
	! "$ntrace" profile --format=edges "$scratch/remap.bad.data" >"$scratch/lossy" &&
	"$ntrace" merge --show "$scratch/lossy" | grep -q ' losses [1-9]'
verdict $? 'losses are reported, and kept'

# the sum of several recordings is that of their profiles
"$ntrace" profile --format=edges -o "$scratch/several" "$scratch"/{file,remap,switch}.synced.data &&
	same_profile 'several recordings' "$scratch/several" "$scratch/mix.elf" \
		"$scratch"/{file,remap,switch}.synced.data

# Twenty recordings, some submitted twice, some cut on their way and sent again: counts are those of
# the lists of what each executed.
mkdir "$scratch/rec"
lines=$(wc -l <"$scratch/pc")
for ((i = 0; i < 20; i++)); do
	sed -n "$((i * lines / 20 + 1)),$(((i + 1) * lines / 20))p" "$scratch/pc" >"$scratch/list"
	"$ntrace" encode --elf "$mix" --pc "$scratch/list" -o "$scratch/trace" &&
		"$scratch/recdata" file "$scratch/mix.elf" "$scratch/trace" >"$scratch/rec/data" &&
		"$ntrace" profile --format=edges "$scratch/rec/data" >"$scratch/rec/$i.edges" &&
		"$ntrace" decode --output=branch "$scratch/rec/data"
	((i % 5)) || head -c $((RANDOM % 300 + 1)) "$scratch/rec/$i.edges" \
		>"$scratch/rec/$i.cut.edges"
	((i % 3)) || cp "$scratch/rec/$i.edges" "$scratch/rec/$i.again.edges"
done | awk '!/^#/ { n[$1 " " $2]++ } END { for (e in n) print "B", e, n[e], 0 }' |
	sort >"$scratch/want"
shuf -e --random-source=<(yes "$seed") "$scratch"/rec/*.edges |
	xargs "$ntrace" merge --flatten -o "$scratch/all" 2>"$scratch/said"
[ "$(grep -c ': left out$' "$scratch/said")" = 4 ] &&
	[ "$("$ntrace" merge --show "$scratch/all" | grep -c ^recording)" = 20 ] &&
	"$ntrace" profile --format=bolt --elf "$scratch/mix.elf" "$scratch/all" | grep ^B | sort |
	cmp - "$scratch/want" && [ -s "$scratch/want" ]
verdict $? "20 recordings, 7 of them twice, 4 cut once: each of $(wc -l <"$scratch/want") branches"

# what is someone else's stays here, unless asked for
if [ "$(id -u)" = 0 ]; then
	chown 12345 "$scratch/mix.elf.other"
	"$ntrace" profile --format=edges -o "$scratch/mine" "$scratch/remap.synced.data" \
		2>"$scratch/said"
	"$ntrace" profile --format=edges --others -o "$scratch/all" "$scratch/remap.synced.data"
	chown 0 "$scratch/mix.elf.other"
	grep -q "transfers of others' programs, or of code in no file, left out\$" \
		"$scratch/said" &&
		! grep -qa mix.elf.other "$scratch/mine" &&
		! read_edges "$scratch/mine" |
		grep -q "$(sha256sum <"$scratch/mix.elf.other" | cut -c1-64)" &&
		read_edges "$scratch/all" |
		grep -q "$(sha256sum <"$scratch/mix.elf.other" | cut -c1-64)" &&
		"$ntrace" merge --show "$scratch/mine" |
		grep -q "left out: [1-9][0-9]* of others' programs" &&
		same_profile "others' programs are left out: of one's own, the same" \
			"$scratch/mine" "$scratch/mix.elf" "$scratch/remap.synced.data"
	verdict $? "others' programs are written on request only"
else
	verdict 0 "others' programs # SKIP wants root"
fi

# --- sums -----------------------------------------------------------------------------

mkdir "$scratch/in"
for ((i = 1; i <= 30; i++)); do
	echo "$scratch/in/$i" host$((i % 4)) "r$i" $((i % 7)) $((RANDOM % 8000 + 1)) $((i % 3 + 1))
done | "$scratch/gen"
"$ntrace" merge --flatten -o "$scratch/sum" "$scratch"/in/* &&
	"$ntrace" merge -o "$scratch/kept" "$scratch"/in/*
verdict $? '30 files'
read_edges "$scratch"/in/* >"$scratch/want"
read_edges "$scratch/sum" | cmp - "$scratch/want" &&
	read_edges "$scratch/kept" | cmp - "$scratch/want" && [ -s "$scratch/want" ]
verdict $? "the sum is that of all $(wc -l <"$scratch/want") edges"
[ "$("$ntrace" merge --show "$scratch/sum" | sed -n '31p')" = \
	"  $(wc -l <"$scratch/want") edges, $(awk '$3 == "branch" { n += $4 } END { printf "%.0f\n", n }' "$scratch/want") branches" ]
verdict $? '... and the totals are'

# random orders, some twice, in two groups; one of them arrives again, with something of the other
same=0
for ((round = 0; round < 20; round++)); do
	mapfile -t files < <(printf '%s\n' "$scratch"/in/* |
		shuf --random-source=<(yes "$seed.$round"))
	n=$((RANDOM % 28 + 1))
	"$ntrace" merge -o "$scratch/g1" "${files[@]:0:n}" "${files[0]}" &&
		"$ntrace" merge -o "$scratch/g2" "${files[@]:n}" &&
		"$ntrace" merge -o "$scratch/got" "$scratch/g2" "${files[RANDOM % 30]}" \
			"$scratch/g1" &&
		cmp "$scratch/kept" "$scratch/got" &&
		"$ntrace" merge -o "$scratch/g3" "$scratch/g1" "${files[29]}" &&
		"$ntrace" merge --flatten "$scratch/g3" "$scratch/g2" "$scratch/g1" |
		cmp "$scratch/sum" - && same=$((same + 1))
done
[ $same = 20 ]
verdict $? "$same of 20 random orders and groups: the same bytes"

# sums: what is whole in another one counts once, what is not cannot be taken apart
"$ntrace" merge --flatten -o "$scratch/a" "$scratch"/in/{1,2,3} &&
	"$ntrace" merge --flatten -o "$scratch/b" "$scratch"/in/{4,5} &&
	"$ntrace" merge --flatten -o "$scratch/c" "$scratch"/in/{3,4}
verdict $? 'sums of some'
read_edges "$scratch"/in/{1,2,3,4,5} >"$scratch/want"
"$ntrace" merge --flatten "$scratch/b" "$scratch/in/2" "$scratch/a" "$scratch/in/4" "$scratch/a" \
	>"$scratch/got" &&
	read_edges "$scratch/got" | cmp - "$scratch/want"
verdict $? 'a recording that is in a sum, too, counts once'
"$ntrace" merge --flatten "$scratch/a" "$scratch/c" >"$scratch/got" 2>"$scratch/said"
[ $? = 2 ] && grep -q "^ntrace: the recording 72330* is in a sum of .*/[ac], and in another one of .*/[ac]: it cannot be taken out" "$scratch/said"
verdict $? 'refused: sums that overlap'

# two counts of one recording: that which has more, whichever comes first
printf '%s\n' "$scratch/less host0 twice 1 1000 1" "$scratch/more host0 twice 2 1500 1" |
	"$scratch/gen"
"$ntrace" merge "$scratch/less" "$scratch/more" 2>"$scratch/said" | cmp - "$scratch/more" &&
	"$ntrace" merge "$scratch/more" "$scratch/less" | cmp - "$scratch/more" &&
	grep -q "/less: has other counts of a recording than .*/more, which has more: left out\$" \
		"$scratch/said"
verdict $? 'two counts of one recording: that with more counts'

# ... of which one is in a sum already
"$ntrace" merge --flatten -o "$scratch/got" "$scratch/less" "$scratch/in/2" &&
	"$ntrace" merge --flatten "$scratch/got" "$scratch/more" 2>"$scratch/said" |
	cmp - "$scratch/got" &&
	grep -q "/more: has other counts of a recording than the sum in .*/got, which they cannot be taken out of: left out\$" \
		"$scratch/said" &&
	"$ntrace" merge --flatten "$scratch/got" "$scratch/less" 2>"$scratch/said" |
	cmp - "$scratch/got" && [ ! -s "$scratch/said" ]
verdict $? '... of which one is in a sum: that stays, and a word about it'

# more files than are read at a time
mkdir "$scratch/many"
for ((i = 1; i <= 1100; i++)); do
	echo "$scratch/many/$i" host$((i % 3)) "m$i" $((i % 9)) 20 1
done | "$scratch/gen"
"$ntrace" merge --flatten "$scratch"/many/* >"$scratch/got" &&
	read_edges "$scratch/got" >"$scratch/sums" &&
	read_edges "$scratch"/many/* | cmp - "$scratch/sums"
verdict $? '1,100 files'
# --- as the documentation has it ----------------------------------------------------------

mkdir "$scratch/doc"
"$scratch/recdata" file "$scratch/mix.elf" "$scratch/synced" >"$scratch/doc/perf.data"
cp "$scratch/mix.elf" "$scratch/doc/prog"
cp "$scratch/remap.synced.edges" "$scratch/doc/b.edges"
documented()
{
	(cd "$scratch/doc" && PATH=$out:$PATH && "$@") >"$scratch/got"
}
documented ntrace profile --format=edges -o a.edges perf.data &&
	documented ntrace merge --show a.edges &&
	grep -q "host .* branches $(read_edges "$scratch/doc/a.edges" | awk '{ n += $3 == "branch" ? $4 : 0 } END { print n }') losses 0\$" "$scratch/got" &&
	documented ntrace merge -o all.edges a.edges b.edges &&
	documented ntrace merge --flatten -o sum.edges all.edges &&
	cp "$scratch/doc/sum.edges" "$scratch/want" &&
	documented ntrace merge --flatten -o sum.edges a.edges b.edges &&
	cmp "$scratch/doc/sum.edges" "$scratch/want" &&
	read_edges "$scratch"/doc/{a,b}.edges | cmp - <(read_edges "$scratch/want") &&
	documented ntrace profile --elf prog all.edges &&
	"$ntrace" profile --elf "$scratch/mix.elf" "$scratch/doc/perf.data" \
		"$scratch/remap.synced.data" | cmp - "$scratch/got"
verdict $? 'the commands of the documentation'

# what another host says of another program
echo "$scratch/absurd evil absurd 7 2 1" | COUNT=18446744073709551614 "$scratch/gen"
"$ntrace" merge --flatten -o "$scratch/got" "$scratch/doc/a.edges" "$scratch/absurd" &&
	"$ntrace" profile --elf "$mix" "$scratch/doc/a.edges" >"$scratch/want" &&
	"$ntrace" profile --elf "$mix" "$scratch/got" | cmp - "$scratch/want" &&
	[ -s "$scratch/want" ]
verdict $? 'counts of another program that cannot be'

# files that are empty or cut, beside whole ones
: >"$scratch/empty"
head -c 5 "$scratch/doc/a.edges" >"$scratch/cut"
"$ntrace" profile --elf "$mix" "$scratch/doc/a.edges" >"$scratch/want"
for order in "$scratch/empty $scratch/cut $scratch/doc/a.edges" \
	"$scratch/doc/a.edges $scratch/cut $scratch/empty"; do
	# shellcheck disable=SC2086
	"$ntrace" profile --elf "$mix" $order >"$scratch/got" 2>"$scratch/said"
	[ $? = 1 ] && cmp "$scratch/want" "$scratch/got" &&
		[ "$(grep -c '/empty: .*: left out$\|/cut: .*: left out$' "$scratch/said")" = 2 ]
	verdict $? "files that are empty or cut are named and left out: ${order##*/} last"
done

# --- weights and caps ---------------------------------------------------------------------

"$ntrace" merge --flatten --weight=host1=3 --weight=0 --weight=host2=1 "$scratch"/in/* \
	>"$scratch/got"
read_edges --host=host0=0/1 --host=host1=3/1 --host=host3=0/1 "$scratch"/in/* >"$scratch/want"
read_edges "$scratch/got" | cmp - "$scratch/want" && [ -s "$scratch/want" ]
verdict $? '--weight: one host three times, one once, others not'
total=$(read_edges "$scratch"/in/{2,6,10} | awk '{ n += $4 } END { printf "%.0f\n", n }')
cap=$((total / 7))
"$ntrace" merge --flatten --cap=host2=$cap "$scratch"/in/{10,2,6,1} >"$scratch/got"
read_edges --host=host2=$cap/"$total" "$scratch"/in/{1,2,6,10} >"$scratch/want"
read_edges "$scratch/got" | cmp - "$scratch/want" && [ -s "$scratch/want" ]
verdict $? '--cap: a host counts as a seventh'
"$ntrace" merge --flatten --cap=$((total + 1)) "$scratch"/in/{10,2,6} |
	cmp - <("$ntrace" merge --flatten "$scratch"/in/{2,6,10})
verdict $? '... a cap that is not reached changes nothing'
"$ntrace" merge --flatten "$scratch/got" "$scratch/in/3" >"$scratch/sums" 2>"$scratch/said"
[ $? = 2 ] && grep -q 'its counts are weighted or capped: merge what it was made from$' \
	"$scratch/said"
verdict $? 'refused: a sum with a weighted one'
# a host without a name, as --show has it
"$ntrace" merge --flatten --weight=-=3 -o "$scratch/got" "$scratch/raw" 2>"$scratch/said" &&
	[ ! -s "$scratch/said" ] &&
	read_edges "$scratch/raw" | awk '{ $4 *= 3; print }' | cmp - <(read_edges "$scratch/got")
verdict $? '--weight of the host without a name'
# counts of one, which as parts of one are nothing or one
for ((i = 0; i < 40; i++)); do echo "$scratch/small$i small$i small$i 1 1000 2"; done |
	COUNT=1 "$scratch/gen"
same=
for cap in 0 1 499 500 501 999 1000; do
	"$ntrace" merge --flatten --cap=$cap -o "$scratch/got" "$scratch/small0" &&
		same+=" $(read_edges "$scratch/got" | awk '{ n += $4 } END { print n + 0 }')"
done
[ "$same" = ' 0 1 499 500 501 999 1000' ]
verdict $? "--cap: so many branches, of counts of one:$same"
"$ntrace" merge --flatten --cap=100 -o "$scratch/got" "$scratch"/small* &&
	read_edges "$scratch/got" | awk '{ n += $4; max = $4 > max ? $4 : max }
		END { print n, NR, max; exit !(n == 4000 && NR > 900 && max < 20) }' >"$scratch/sums"
verdict $? "... of 40 hosts that ran the same, not the same ones: $(cat "$scratch/sums")"
"$ntrace" merge --flatten --cap=1000 -o "$scratch/got" "$scratch/doc/a.edges" &&
	"$ntrace" profile --elf "$mix" "$scratch/got" >"$scratch/sums" 2>"$scratch/said" &&
	grep -q '^ntrace: [1-9][0-9]* runs left out: their counts are rounded, as those of weights and caps are, and do not fit together$' "$scratch/said"
verdict $? '... a profile of it: what was rounded is no loss, and a word about it'
"$ntrace" merge --flatten --weight=host1=2 "$scratch/a" >"$scratch/sums" 2>"$scratch/said"
[ $? = 2 ] && grep -q 'has a sum of several hosts, which weights and caps cannot tell apart' \
	"$scratch/said"
verdict $? 'refused: weights of a sum of several hosts'

"$ntrace" merge --flatten --weight=host1=3 --cap=host9=5 --weight=hots1=2 "$scratch"/in/{1,2} \
	>"$scratch/sums" 2>"$scratch/said"
[ $? = 0 ] && sed -n 's/^ntrace: \(--[a-z]*: `[^ ]*\) .*/\1/p' "$scratch/said" |
	cmp - <(printf '%s\n' "--weight: \`hots1'" "--cap: \`host9'")
verdict $? 'a warning of a weight, or a cap, for a host that is in no file'
printf '%s\n' "$scratch/control $(printf 'h\xc2\x9b2J') control 1 10 1" | "$scratch/gen"
"$ntrace" merge --show "$scratch/control" >"$scratch/show" &&
	grep -q '^recording .* host h.*2J branches' "$scratch/show" &&
	! LC_ALL=C grep -q $'\xc2\x9b' "$scratch/show"
verdict $? '--show: a name with a control character beyond ASCII'

# --- damage -------------------------------------------------------------------------------

# Cut anywhere, any byte changed, something behind it: each is named, and the sum is that of the
# others.
mkdir "$scratch/damaged"
python3 - "$scratch/in/3" "$scratch/damaged" "$RANDOM" <<-'END'
	import random, sys
	data = open(sys.argv[1], 'rb').read()
	random.seed(int(sys.argv[3]))
	size = len(data)
	for cut in {0, 5, 9, 15, size - 16, size - 1, size // 2} | {random.randrange(size) for i in range(40)}:
	    open(f'{sys.argv[2]}/cut.{cut}', 'wb').write(data[:cut])
	for at in set(range(40)) | {random.randrange(size) for i in range(100)} | set(range(size - 40, size)):
	    byte = data[at] ^ random.randrange(1, 256)
	    open(f'{sys.argv[2]}/changed.{at}', 'wb').write(data[:at] + bytes((byte,)) + data[at + 1:])
	open(f'{sys.argv[2]}/behind', 'wb').write(data + b'\n')
END
"$ntrace" merge --flatten "$scratch"/in/{1,2} >"$scratch/want"
"$ntrace" merge --flatten "$scratch/in/1" "$scratch"/damaged/* "$scratch/in/2" >"$scratch/got" \
	2>"$scratch/said"
[ $? = 1 ] && cmp "$scratch/got" "$scratch/want" &&
	sed -n 's/^ntrace: \(.*\): is \(damaged\|cut\|no file of edges\|of a version\|compressed\).*: left out$/\1/p' "$scratch/said" |
	sort | cmp - <(printf '%s\n' "$scratch"/damaged/* | sort)
verdict $? "$(wc -l <"$scratch/said") files that are damaged anywhere: named, and nothing of them counts"
cp "$scratch/damaged/behind" "$scratch/cut"
"$ntrace" merge "$scratch/cut" >"$scratch/got" 2>"$scratch/said"
[ $? = 2 ] && [ ! -s "$scratch/got" ] && grep -q 'nothing to merge' "$scratch/said"
verdict $? 'refused: nothing but damaged files'
cp "$scratch/sum" "$scratch/target"
"$ntrace" merge -o "$scratch/target" "$scratch/cut"
cmp "$scratch/sum" "$scratch/target" &&
	"$ntrace" merge --flatten -o "$scratch/target" "$scratch/in/1" "$scratch/target" &&
	cmp "$scratch/sum" "$scratch/target"
verdict $? 'the output is replaced when it is whole, be it input, too'

# --- outputs that are no plain files ------------------------------------------------------

ln -s real "$scratch/link" && mkfifo "$scratch/fifo" && echo old >"$scratch/real"
cat "$scratch/fifo" >"$scratch/got" &
"$ntrace" merge --flatten -o "$scratch/fifo" "$scratch/in/1" && wait $! &&
	"$ntrace" merge --flatten -o "$scratch/link" "$scratch/in/1" &&
	"$ntrace" merge --flatten "$scratch/in/1" >"$scratch/want" &&
	[ -p "$scratch/fifo" ] && [ -L "$scratch/link" ] && cmp "$scratch/got" "$scratch/want" &&
	cmp "$scratch/real" "$scratch/want"
verdict $? 'a FIFO and a link stay what they are'
if mknod "$scratch/null" c 1 3 2>"$scratch/said"; then
	"$ntrace" merge --flatten -o "$scratch/null" "$scratch/in/1" && [ -c "$scratch/null" ]
	verdict $? 'a device stays one'
fi
mkdir "$scratch/folder"
status=0
"$ntrace" merge -o "$scratch/folder" "$scratch/in/1" 2>"$scratch/said" || status=$?
[ $status = 2 ] && grep -q 'folder: is a folder' "$scratch/said" &&
	! ls "$scratch" | grep '^folder\.'
verdict $? 'refused: a folder as output, and nothing is left beside it'

# exec keeps the number of the process, which the name of a file beside the output ends with
sh -c 'echo stale >"$1.$$"; exec "$2" merge --flatten -o "$1" "$3"' sh "$scratch/fresh" "$ntrace" \
	"$scratch/in/1" &&
	cmp "$scratch/fresh" "$scratch/want"
verdict $? 'what a killed command left beside a new output does not replace that'

# --- a kernel that moved itself -----------------------------------------------------------

printf '%s\n' '20000 _text' nop 'call 20100' ret '20100 f' nop nop ret |
	"$scratch/callprog" >"$scratch/vmlinux"
printf '%s\n' 20000 20004 20100 20104 20108 >"$scratch/list"
"$ntrace" encode --elf "$scratch/vmlinux" --pc "$scratch/list" -o "$scratch/trace" &&
	"$ntrace" profile --format=edges --elf "$scratch/vmlinux" -o "$scratch/kernel.0" \
		"$scratch/trace" &&
	"$ntrace" profile --format=bolt --elf "$scratch/vmlinux" "$scratch/kernel.0" \
		>"$scratch/want"
verdict $? 'counts of a kernel'
for by in 200000 1000; do
	PYTHONDONTWRITEBYTECODE=1 python3 "$here/edges-move.py" "$scratch/kernel.0" 20000 $by \
		>"$scratch/kernel.$by" &&
		"$ntrace" profile --format=bolt --elf "$scratch/vmlinux" "$scratch/kernel.$by" |
		cmp - "$scratch/want"
	verdict $? "... that lay 0x$by higher"
done
sed 's/_text/_head/g' "$scratch/vmlinux" >"$scratch/nameless"
PYTHONDONTWRITEBYTECODE=1 python3 "$here/edges-move.py" \
	<("$ntrace" profile --format=edges --elf "$scratch/nameless" "$scratch/trace") 20000 1000 \
	>"$scratch/kernel.moved"
status=0
"$ntrace" profile --elf "$scratch/nameless" "$scratch/kernel.moved" >"$scratch/got" \
	2>"$scratch/said" || status=$?
[ $status = 2 ] && grep -q 'has no symbol _text' "$scratch/said"
verdict $? 'refused: a kernel that moved, and a file without its symbols'

# --- what is refused ---------------------------------------------------------------------

# refuses DESCRIPTION WORDS COMMAND...
refuses()
{
	local description=$1 words=$2 status=0
	shift 2

	"$ntrace" "$@" >"$scratch/got" 2>"$scratch/said" </dev/null || status=$?
	[ $status = 2 ] && [ ! -s "$scratch/got" ] && grep -qF -- "$words" "$scratch/said"
	verdict $? "refused: $description"
}
refuses 'parts of a recording' 'edges are of whole recordings' profile --format=edges --time=0,1 \
	"$scratch/file.synced.data"
refuses 'edges of edges' 'wants recordings, or a raw trace' profile --format=edges --elf "$mix" \
	"$scratch/sum"
refuses 'no program' 'has counts of several programs: give the one that is meant as --elf=FILE' \
	profile "$scratch/sum"
refuses 'another program' 'which has another build-id, but of:' profile --elf "$mix" "$scratch/sum"
refuses 'edges and a recording' 'is no file of edges' profile --elf "$mix" "$scratch/sum" \
	"$scratch/file.synced.data"
refuses 'a choice of processes' '--pid is for a perf.data; a sum of counts does not tell' profile \
	--pid=3 --elf "$mix" "$scratch/sum"
refuses 'a recording and edges' 'is no file of edges' profile --elf "$mix" \
	"$scratch/file.synced.data" "$scratch/sum"
refuses 'a weight without a sum' 'they want --flatten' merge --weight=2 "$scratch/sum"
refuses 'two weights of a host' 'is given twice' merge --flatten --weight=a=2 --weight=a=3 \
	"$scratch/sum"
refuses 'two caps of all others' 'is given twice' merge --flatten --cap=2 --cap=a=1 --cap=3 \
	"$scratch/sum"
refuses 'no files' 'no file of edges given' merge
refuses '--kernel of another format' 'are for --format=edges' profile --kernel --elf "$mix" \
	"$scratch/raw"

finish
