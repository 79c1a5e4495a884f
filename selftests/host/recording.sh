#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What the command decodes of a perf.data is what it decodes of the trace in it: whatever form
# the file has, in which thread, and up to where it is damaged.

. "$(dirname "$0")/lib.bash"
mix=$samples/mix
program=$mix/mix.elf

build_recdata
verdict $? 'recordings can be made'
for kind in file pipe compressed partial switch orphan; do
	"$scratch/recdata" $kind "$program" "$mix/L1.bin" >"$scratch/$kind.data" ||
		verdict 1 "$kind.data"
done

# lines COMMAND...: to $scratch/got without remarks
lines()
{
	local status=0

	"$@" >"$scratch/all" 2>"$scratch/stderr" || status=$?
	grep -v '^#' "$scratch/all" >"$scratch/got"
	return $status
}

# same DESCRIPTION: $scratch/want is what $scratch/got is, and not nothing
same()
{
	[ -s "$scratch/want" ] && cmp "$scratch/got" "$scratch/want"
	verdict $? "$1"
}

for output in pc branch; do
	lines "$ntrace" decode --elf "$program" --output=$output "$mix/L1.bin"
	mv "$scratch/got" "$scratch/$output"
done
forms=(file pipe)
if "$ntrace" dump "$scratch/compressed.data" >"$scratch/log" 2>&1; then
	forms+=(compressed)
else
	grep -q 'built without zstd: build it with libzstd-dev' "$scratch/log"
	verdict $? 'without zstd a compressed file is refused in words'
fi
for kind in "${forms[@]}" switch; do
	# where windows meet, the sync message tells how many instructions came before: nobody's
	# there
	outputs='pc branch'
	[ $kind != switch ] || outputs=branch
	for output in $outputs; do
		lines "$ntrace" decode --output=$output "$scratch/$kind.data" &&
			[ -s "$scratch/$output" ] && cmp "$scratch/got" "$scratch/$output"
		verdict $? "$kind: decode --output=$output: $(wc -l <"$scratch/got") lines"
	done
	lines "$ntrace" script "$scratch/$kind.data" &&
		sed -nE 's/.*: branches: .* ([0-9a-f]+) [^ ]+ => ([0-9a-f]+) [^ ]+$/\1 \2/p' \
			"$scratch/got" |
		grep -v -e '^0 ' -e ' 0$' | cmp - <(cut -d' ' -f1,2 "$scratch/branch")
	verdict $? "$kind: script"
	"$ntrace" dump "$scratch/$kind.data" | grep -v '^#' >"$scratch/got"
	"$ntrace" dump "$mix/L1.bin" >"$scratch/want"
	same "$kind: dump"
	[ $kind != switch ] || continue
	"$ntrace" stat "$scratch/$kind.data" | sed 's/^windows /file    /' >"$scratch/got"
	"$ntrace" stat --elf "$program" "$mix/L1.bin" >"$scratch/want"
	same "$kind: stat"
	lines "$ntrace" script --insns "$scratch/$kind.data" &&
		sed -E 's/.*: instructions: ([0-9a-f]+) .*/\1/' "$scratch/got" | cmp - "$scratch/pc"
	verdict $? "$kind: script --insns"
	"$ntrace" profile --format=bolt --elf "$program" "$scratch/$kind.data" |
		sort >"$scratch/got"
	"$ntrace" profile --format=bolt --elf "$program" "$mix/L1.bin" | sort >"$scratch/want"
	same "$kind: profile"
done
# samples of the AUX area are decoded alike, compressed or not
"$ntrace" encode --elf "$program" --pc "$scratch/pc" --syncmode=2 --syncmax=6 -o \
	"$scratch/synced.bin" 2>"$scratch/log"
for kind in samples samples-compressed; do
	"$scratch/recdata" $kind "$program" "$scratch/synced.bin" >"$scratch/$kind.data" ||
		verdict 1 "$kind.data"
done
[[ " ${forms[*]} " != *' compressed '* ]] ||
	for command in dump script 'script --insns' stat "profile --format=bolt --elf $program"; do
		# shellcheck disable=SC2086
		"$ntrace" $command "$scratch/samples.data" >"$scratch/want" 2>"$scratch/said"
		status=$?
		# shellcheck disable=SC2086
		"$ntrace" $command "$scratch/samples-compressed.data" >"$scratch/got" \
			2>"$scratch/stderr"
		[ $? = $status ] && [ $status != 2 ] && [ "$(wc -l <"$scratch/want")" -ge 10 ] &&
			cmp "$scratch/got" "$scratch/want" &&
			diff "$scratch/stderr" "$scratch/said" >"$scratch/log"
		verdict $? "samples in compressed records: ${command%% --elf*}: $(wc -l <"$scratch/got") lines"
	done
# Two threads are interrupted at the same instruction: where one stopped the other one resumes.
awk 'function at(name, tid) { print "# stop", $1, "EVCODE=4"; print "# start", $1, "SYNC=5"
			      print "# context PRV=0 V=0 scontext=" tid }
	NR == 1 { print "# start", $1, "SYNC=5"; print "# context PRV=0 V=0 scontext=64" }
	NR == 2000 { at("", "65") } NR == 3000 { at("", "65") } NR == 4000 { at("", "64") }
	NR <= 5000' "$scratch/pc" >"$scratch/list"
"$ntrace" encode --elf "$program" --pc "$scratch/list" -o "$scratch/owners.bin" 2>"$scratch/log" &&
	"$scratch/recdata" owners "$program" "$scratch/owners.bin" >"$scratch/owners.data" &&
	"$ntrace" script "$scratch/owners.data" 2>>"$scratch/log" |
	sed -nE 's/.* ([0-9]+) \[001\].*: (tr strt|tr end) +([0-9a-f]+) [^=]*=> ([0-9a-f]+) .*/\1 \2 \3 \4/p' >"$scratch/got"
awk 'NR == 1 { print "100 tr strt 0", $1 }
	NR == 2000 { print "100 tr end", $1, 0; print "101 tr strt 0", $1 }
	NR == 4000 { print "101 tr end", $1, 0; print "100 tr strt 0", $1 }' "$scratch/pc" \
		>"$scratch/want"
head -n 5 "$scratch/got" | cmp - "$scratch/want" >>"$scratch/log"
verdict $? 'a thread resumes where another one stopped: both ends are shown'
sed 's/^/# /' "$scratch/log"
cat "$scratch/pipe.data" | "$ntrace" script - >"$scratch/got"
"$ntrace" script "$scratch/file.data" >"$scratch/want"
same 'script reads a pipe'

# who: the second thread has what comes behind the switch, and nothing else
"$ntrace" script "$scratch/switch.data" | awk '{ print $2 }' | uniq | tr '\n' ' ' >"$scratch/got"
[ "$(cat "$scratch/got")" = '100 101 ' ]
verdict $? "switch: one thread behind the other"
for tid in 100 101; do
	"$ntrace" script "$scratch/switch.data" | awk -v tid=$tid '$2 == tid' >"$scratch/want"
	"$ntrace" script --tid=$tid "$scratch/switch.data" >"$scratch/got"
	same "switch: --tid=$tid: $(wc -l <"$scratch/want") lines"
done
for none in --tid=99 --pid=101 --cpu=0,2-3 --comm=no,-; do
	"$ntrace" script $none "$scratch/switch.data" >"$scratch/got" && [ ! -s "$scratch/got" ]
	verdict $? "$none: nothing"
done
"$ntrace" script "$scratch/switch.data" >"$scratch/want"
name=$(awk 'NR == 1 { print $1 }' "$scratch/want")
for all in '--cpu=0-1 --pid=100' --tid=101,100,7 --pid=1,100 "--comm=$name" "--comms=no,$name" \
	--time=0%-100% \
		'--time=0,0.0000025 0.0000025,0.1'; do
	IFS= read -ra options <<<"$all"
	[[ $all != '--cpu'* ]] || read -ra options <<<"$all"
	"$ntrace" script "${options[@]}" "$scratch/switch.data" >"$scratch/got"
	same "$all: everything"
done
# times of this trace are those of its AUX records: 2000 and 3000 ns
for when in 0.000002,0.0000025:100 0.0000025,:101 ,0.000002999:100 ,0.000001: \
	0.000003001,0.000004: \
		60%-100%:101 99.5%/1:100 0%-99%:100 0.1%/1000:101 '0%-1%,99.999999%-100%:101' \
		'0.000001,0.000001 0.000003,0.000004:101'; do
	"$ntrace" script "$scratch/switch.data" |
		awk -v tid="${when#*:}" '$2 == tid' >"$scratch/want"
	"$ntrace" script --time="${when%:*}" "$scratch/switch.data" | cmp - "$scratch/want"
	verdict $? "--time=${when%:*}: $(wc -l <"$scratch/want") lines"
done
"$ntrace" stat "$scratch/switch.data" | grep -q '^bits per instruction' &&
	! "$ntrace" stat --time=0.0000025, "$scratch/switch.data" | grep -q '^bits per instruction'
verdict $? 'stat --time: no bits per instruction, as bytes are of whole windows'
status=0
for cpus in 65536 4294967296 18446744073709551616 0-65536 1-0 0, 0-, -1 +1 x; do
	"$ntrace" script --cpu="$cpus" "$scratch/switch.data" >"$scratch/got" 2>"$scratch/stderr"
	[ $? = 2 ] && grep -q "^ntrace: --cpu: .$cpus. is no list of CPUs" "$scratch/stderr" ||
		status=1
done
verdict $status '--cpu: what is no list is refused'
status=0
for when in , x 1 5,4 1,2,3 "1,2 " 10%,x 20%-10% 101% 60%/2 10%/0 5%- 5%/x 1%2 ""; do
	"$ntrace" script --time="$when" "$scratch/switch.data" >"$scratch/got" 2>"$scratch/stderr"
	[ $? = 2 ] && grep -q "^ntrace: --time: .$when. is not FROM,TO" "$scratch/stderr" ||
		status=1
done
verdict $status '--time: what is no interval is refused'
"$ntrace" decode "$scratch/switch.data" | grep '^# task' >"$scratch/got"
printf '# task 100/%d cpu 1\n' 100 101 | cmp - "$scratch/got"
verdict $? 'decode tells whose it is'

# losses
lines "$ntrace" script "$scratch/partial.data"
[ $? = 1 ] && grep -q '^# loss .* code 2: trace lost: the sink was full' "$scratch/all"
verdict $? 'a window that lost trace'
"$ntrace" stat "$scratch/partial.data" 2>"$scratch/stderr" | grep -q '^losses  *1$'
verdict $? 'stat counts it'
lines "$ntrace" decode --output=branch "$scratch/orphan.data"
[ $? = 1 ] && cmp "$scratch/got" "$scratch/branch" &&
	grep -q '^# loss code 2: AUX record lost for 0x' "$scratch/all"
verdict $? 'trace without its AUX record'
cp "$program" "$scratch/gone.elf"
"$scratch/recdata" file "$scratch/gone.elf" "$mix/L1.bin" >"$scratch/gone.data"
rm "$scratch/gone.elf"
lines "$ntrace" script "$scratch/gone.data"
[ $? = 1 ] && grep -q "code 3: no code in $scratch/gone.elf" "$scratch/all" &&
	grep -q "^ntrace: cannot find $scratch/gone.elf: " "$scratch/stderr"
verdict $? 'a program that is missing is named'
mkdir -p "$scratch/fs$scratch"
cp "$program" "$scratch/fs$scratch/gone.elf"
lines "$ntrace" decode --symfs "$scratch/fs" "$scratch/gone.data" &&
	cmp "$scratch/got" "$scratch/pc"
verdict $? '--symfs'

# several recordings add up, whichever comes first
for files in 'file pipe' 'pipe file'; do
	set -- $files
	"$ntrace" profile --format=bolt --elf "$program" "$scratch/$1.data" "$scratch/$2.data" |
		sort >"$scratch/got"
	"$ntrace" profile --format=bolt --elf "$program" "$scratch/file.data" | sort |
		awk '{ if ($1 == "B") $4 *= 2; else $NF *= 2; print }' >"$scratch/want"
	same "profile of two recordings: $files"
done
"$ntrace" profile --elf "$program" "$scratch/file.data" "$mix/L1.bin" >"$scratch/got" \
	2>"$scratch/stderr"
[ $? = 2 ] && grep -q 'L1.bin: several files have to be recordings' "$scratch/stderr"
verdict $? 'a recording and a raw trace are refused in words'

# Where nothing else happens, branches are counted as edges. The result is the same one by one, and
# if an interval has everything.
# counted DESCRIPTION ELF FILE...
counted()
{
	local format said= status=0 told=0 bad=0 how

	for format in llvm-profgen autofdo bolt; do
		"$ntrace" profile --format=$format --elf "${@:2}" >"$scratch/got" \
			2>"$scratch/stderr" || status=$?
		for how in --one-by-one --time=0,; do
			"$ntrace" profile --format=$format $how --elf "${@:2}" >"$scratch/want" \
				2>"$scratch/said" || told=$?
			cmp "$scratch/got" "$scratch/want" &&
				cmp "$scratch/stderr" "$scratch/said" || bad=1
			[ $status = $told ] && [ $status != 2 ] && [ -s "$scratch/got" ] || bad=1
		done
		said="$said $(wc -l <"$scratch/got")"
	done
	verdict $bad "$1: counted, or branch by branch:$said lines"
}
seed=${SEED:-$RANDOM}
RANDOM=$seed
echo "# SEED=$seed"
cp "$program" "$scratch/mix.elf"
cp "$program" "$scratch/mix.elf.other"
size=$(stat -c %s "$scratch/synced.bin")
# An instruction that is mostly reached from the one before: files meet there.
run=$("$ntrace" profile --format=bolt --elf "$program" "$mix/L1.bin" | sort -n -k 4 |
	sed -n 's/^F \([^ ]*\) .*/\1/p' | tail -n 1)
below=below@$(sort -u "$scratch/pc" | grep -A1 "^$run\$" | tail -n 1)
for damage in 0 5; do
	cp "$scratch/synced.bin" "$scratch/trace.bin"
	for ((i = 0; i < damage; i++)); do
		printf '\x5a\x02\x03' |
			dd of="$scratch/trace.bin" bs=1 seek=$((RANDOM % (size - 3))) conv=notrunc \
				status=none
	done
	for kind in file partial switch orphan owners remap exec fork $below; do
		"$scratch/recdata" $kind "$scratch/mix.elf" "$scratch/trace.bin" \
			>"$scratch/$kind.count" &&
			counted "$kind, damaged in $damage places" "$scratch/mix.elf" \
				"$scratch/$kind.count"
	done
	for kind in remap exec $below; do
		counted "$kind, damaged in $damage places, the other file" \
			"$scratch/mix.elf.other" "$scratch/$kind.count"
	done
	counted "several files, damaged in $damage places" "$scratch/mix.elf" \
		"$scratch"/{switch,remap,fork}.count
done
# Of what was mapped one after the other each has its part.
branches()	# ELF FILE: how often which was taken, in it
{
	"$ntrace" profile --format=bolt --elf "$@" 2>>"$scratch/log" | grep '^B'
}
for kind in remap exec; do
	"$scratch/recdata" $kind "$scratch/mix.elf" "$mix/L1.bin" >"$scratch/$kind.count"
	branches "$scratch/mix.elf" "$scratch/$kind.count" >"$scratch/first"
	branches "$scratch/mix.elf.other" "$scratch/$kind.count" >"$scratch/second"
	branches "$program" "$mix/L1.bin" >"$scratch/whole"
	[ -s "$scratch/first" ] && [ -s "$scratch/second" ] &&
		! cmp -s "$scratch/first" "$scratch/second" &&
		awk '{ n[$2 " " $3] += $4 } END { for (b in n) print "B", b, n[b], 0 }' \
			"$scratch/first" "$scratch/second" |
		sort | cmp - <(sort "$scratch/whole")
	verdict $? "$kind: $(wc -l <"$scratch/first") branches before, $(wc -l <"$scratch/second") behind"
done

# damage: what was before it, and where it is
size=$(stat -c %s "$scratch/file.data")
for cut in 100 1000 $((size / 2)); do
	head -c $((size - cut)) "$scratch/file.data" >"$scratch/cut.data"
	lines "$ntrace" decode "$scratch/cut.data"
	[ $? = 1 ] && [ -s "$scratch/got" ] && cmp -n "$(($(stat -c %s "$scratch/got") / 2))" \
		"$scratch/got" "$scratch/pc" &&
		grep -q 'cut.data: at 0x[0-9a-f]*: the file ends in trace' "$scratch/stderr"
	verdict $? "cut by $cut bytes: $(wc -l <"$scratch/got") instructions"
	"$ntrace" script "$scratch/cut.data" >"$scratch/got" 2>/dev/null
	[ $? = 1 ] && [ "$(grep -c branches: "$scratch/got")" -gt 1000 ] &&
		tail -n 1 "$scratch/got" | grep -q '^# loss .* bytes not in the file at'
	verdict $? "... the loss comes behind the $(grep -c branches: "$scratch/got") branches before it"
	"$ntrace" profile --elf="$program" "$scratch/cut.data" >"$scratch/got" 2>"$scratch/stderr"
	[ $? = 1 ] && [ -s "$scratch/got" ] && ! grep 'left out' "$scratch/stderr"
	verdict $? "... and a profile knows where each run ended"
done
finish
