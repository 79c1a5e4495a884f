#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# ntrace fleet: what simulated hosts have recorded of six programs becomes one sum, whose counts are
# those of the lists of what was executed: in spite of what arrives twice, cut or never, and of
# kills at any time. edges.py reads the sum without anything of ntrace's. SEED=N repeats a run.
# groups=all: 200 recordings, many kills, and how fast and how small it is. RECORDINGS=N makes so
# many.

. "$(dirname "$0")/lib.bash"
here=$(dirname "$0")
seed=${SEED:-$RANDOM}
RANDOM=$seed
echo "# SEED=$seed"
CC=${CC:-gcc}
all=
[ "${groups:-}" != all ] || all=1
recordings=${RECORDINGS:-${all:+200}} kills=${all:+40}
recordings=${recordings:-60} kills=${kills:-6}
exec 2>"$scratch/stderr"

. "$here/fleet.bash"

# --- all is well ------------------------------------------------------------------------------

new_spool whole
for ((r = 0; r < recordings; r++)); do send $r "$(host_of $r)"; done
fleet "$spool"
[ $? = 0 ] && [ ! -s "$scratch/said" ] &&
	[ "$(awk '$1 == "all" { print $2, $6, $7, $8 }' "$scratch/report")" = "$recordings 0 0 0" ]
verdict $? "$recordings recordings of 20 hosts"
mapfile -t everyone < <(seq 0 $((recordings - 1)))
is_truth 'merged' "${everyone[@]}"
cp "$spool/merged/sum.edges" "$scratch/sum"


# --- what goes wrong on the way ------------------------------------------------------------------

# Lost, doubled under other names and by other hosts, cut, and files that are nothing of ours
new_spool hard
echo h99 >>"$spool/hosts"
lost=() there=()
: >"$scratch/bad"
bad()	# FILE: is to be garbage
{
	echo "$1" >>"$scratch/bad"
}
for ((r = 0; r < recordings; r++)); do
	host=$(host_of $r)
	[ "$host" != h19 ] && ((r % 7 != 3)) || { lost+=($r); continue; }
	there+=($r)
	send $r "$host"
	((r % 5)) || cp "$scratch/rec/$r" "$spool/incoming/$host/again.$r"
	((r % 5 != 1)) || { mkdir -p "$spool/incoming/h00" &&
		cp "$scratch/rec/$r.edges" "$spool/incoming/h00/other.$r.edges"; }
done
for ((r = 0; r < recordings; r += 4)); do
	to=$spool/incoming/$(host_of $((r % 19)))
	case $((r / 4 % 3)) in
	0) from=$scratch/rec/$r to=$to/cut.$r.data ;;
	1) from=$scratch/rec/$r to=$to/$(sha256sum <"$scratch/rec/$r" | cut -d ' ' -f 1).cut.$r ;;
	2) from=$scratch/rec/$r.edges to=$to/cut.$r.edges ;;
	esac
	head -c -$((RANDOM % ($(stat -c %s "$from") - 1) + 1)) "$from" >"$to"
	bad "$to"
done
here_is=$spool/incoming/h01
long=$(printf '%0200d' 1)
echo 'no recording' >"$here_is/text" && bad "$here_is/text"
: >"$here_is/empty" && bad "$here_is/empty"
mkdir "$here_is/folder" && bad "$here_is/folder"
cp "$scratch/rec/0" "$here_is/$long" && bad "$here_is/$long"
cp "$scratch/prog/p0" "$here_is/program" && bad "$here_is/program"
ln -s "$scratch/rec/3" "$here_is/link" && bad "$here_is/link"
mkfifo "$here_is/pipe" && bad "$here_is/pipe"
cp "$scratch/sum" "$here_is/sum.edges" && bad "$here_is/sum.edges"
cp "$scratch/rec/1" "$spool/incoming/nobody" && bad "$spool/incoming/nobody"
cp "$scratch/rec/2.edges" "$here_is/changed.edges" && bad "$here_is/changed.edges"
printf '\xa5\x5a\xa5' | dd of="$here_is/changed.edges" bs=1 \
	seek=$(($(stat -c %s "$here_is/changed.edges") / 2)) conv=notrunc status=none
# what is being written is not there yet
head -c 100 "$scratch/rec/3" >"$here_is/.3.data"
fleet "$spool"
[ $? = 1 ]
verdict $? 'lost, doubled, cut: exit status 1'
is_truth "${#lost[@]} of $recordings lost, others doubled and cut" "${there[@]}"
sort "$scratch/bad" >"$scratch/want"
sed -n 's/^garbage: \([^:]*\): .*/\1/p' "$scratch/report" | sort >"$scratch/got"
cmp "$scratch/got" "$scratch/want"
verdict $? "each of $(wc -l <"$scratch/want") files of garbage is named"
grep -q "/link: is no regular file\$" "$scratch/report" &&
	grep -q "/sum.edges: .*has a sum" "$scratch/report" &&
	grep -q "/text: is neither a recording nor a file of edges\$" "$scratch/report" &&
	grep -q '/changed.edges: is damaged' "$scratch/report" &&
	grep -q 'its name says another one$' "$scratch/report" &&
	grep -q '/cut[^ ]*data: .*the file ends' "$scratch/report"
verdict $? '... with the reason'
while read -r host; do
	[ -n "$(ls "$spool/incoming/$host" 2>/dev/null)" ] || echo "$host"
done <"$spool/hosts" >"$scratch/want"
sed -n 's/^sent nothing: //p' "$scratch/report" | cmp - "$scratch/want" &&
	[ "$(tail -n 2 "$scratch/want" | paste -sd' ')" = 'h19 h99' ]
verdict $? 'hosts that sent nothing are named'
doubled=$(for r in "${there[@]}"; do ((r % 5 > 1)) || echo; done | wc -l)
[ "$(awk '$1 == "all" { print $2, $6 }' "$scratch/report")" = "${#there[@]} $doubled" ] &&
	[ "$doubled" -gt 5 ]
verdict $? "$doubled files that arrived twice are reported"
for r in "${lost[@]}"; do send "$r" "$(host_of "$r")"; done
fleet "$spool"
[ $? = 1 ] && cmp "$spool/merged/sum.edges" "$scratch/sum"
verdict $? 'what was lost arrives after all: the same bytes as without any of that'
while read -r file; do rm -rf "$file"; done <"$scratch/bad"
sed -i /h99/d "$spool/hosts"
fleet "$spool"
[ $? = 0 ] && cmp "$spool/merged/sum.edges" "$scratch/sum"
verdict $? 'without the garbage all is well'
# a name that is used again
head -c 1000 "$scratch/rec/0" >"$spool/incoming/h00/0.data"
rm -f "$spool/incoming/h00/again.0"
fleet "$spool"
is_truth_at 1 $? 'a recording is replaced by a part of it' "${everyone[@]:1}"
cp "$scratch/rec/0" "$spool/incoming/h00/0.data"
fleet "$spool"
[ $? = 0 ] && cmp "$spool/merged/sum.edges" "$scratch/sum"
verdict $? '... and that by the whole again'

# --- killed
# ----------------------------------------------------------------------------------------

# processes NAME NUMBER: those whose parent it is, or whose group. Not every tree has a pgrep.
processes()
{
	cat /proc/[0-9]*/stat 2>/dev/null | awk -v name="$1" -v number="$2" '{
		pid = $1
		sub(/^.*\) /, "")
		if ($(name == "parent" ? 2 : 3) == number)
			print pid
	}'
}

# continue_young GROUP: what has just begun looks itself whether the command is there, and then says
# what it says to a file. A process whose parent was forking when the group was stopped appears only
# now, and is stopped, too.
continue_young()
{
	local process

	for process in $(processes group "$1"); do
		[[ $(readlink "/proc/$process/fd/2") == /memfd:said* ]] || kill -CONT "$process"
	done
}

new_spool killed
for ((r = 0; r < recordings; r++)); do send $r "$(host_of $r)"; done
wrong=0 began=0 ended=0
for ((i = 0; i < kills; i++)); do
	# half of the time the command alone: its processes go with it
	setsid timeout "$hang" "$ntrace" fleet --jobs=$((RANDOM % 3 + 1)) \
		"$spool" >"$scratch/report" 2>"$scratch/said" &
	group=$!
	sleep "0.$(printf '%03d' $((RANDOM % 700)))"
	if ((i % 2)); then
		kill -KILL -- -$group 2>>"$scratch/said"
	else
		# what is stopped does not end by itself: it goes with the command, or stays
		kill -STOP -- -$group
		# by its parent: one that is about to become ntrace has another name
		command=$(processes parent $group)
		[ -z "$command" ] || kill -KILL "$command"
		kill -CONT $group 2>>"$scratch/said"
	fi
	while kill -0 $group 2>>"$scratch/said"; do
		continue_young $group 2>>"$scratch/said"
		sleep 0.1
	done
	wait $group
	[ $? = 0 ] && ended=$((ended + 1)) || began=$((began + 1))
	looks=0
	while [ -n "$(processes group $group)" ] && [ $((looks += 1)) -lt 600 ]; do
		continue_young $group 2>>"$scratch/said"
		sleep 0.1
	done
	[ $looks -lt 600 ] || { kill -KILL -- -$group; wrong=1; }
	# a sum is there when it is whole
	[ ! -e "$spool/merged/sum.edges" ] || cmp "$spool/merged/sum.edges" "$scratch/sum" ||
		wrong=1
	[ $ended = 0 ] || { rm -rf "$spool/work/tree" "$spool/merged"; ended=0; }
done
verdict $wrong "killed $began of $kills times: no sum, or the whole one"
fleet "$spool"
[ $? = 0 ] && cmp "$spool/merged/sum.edges" "$scratch/sum" &&
	[ -z "$(find "$spool" -name '.ntrace.*')" ]
verdict $? '... and in the end the same bytes; nothing is left over'
for stage in status leaves; do
	find "$spool/work/$stage" -type f | shuf -n 7 --random-source=<(yes "$seed") | xargs rm
done
rm "$spool/merged/sum.edges"
fleet "$spool"
[ $? = 0 ] && cmp "$spool/merged/sum.edges" "$scratch/sum"
verdict $? 'what was made in part is made whole'
leaf=$(find "$spool/work/leaves" -type f | shuf -n 1 --random-source=<(yes "$seed"))
printf '\xa5\x5a\xa5' | dd of="$leaf" bs=1 seek=40 conv=notrunc status=none
rm "$spool"/work/tree/*
fleet "$spool"
[ $? = 2 ] && grep -q 'has been damaged after it was made, and is removed' "$scratch/said" &&
	fleet "$spool" &&
	cmp "$spool/merged/sum.edges" "$scratch/sum"
verdict $? 'damage on the disk is reported, and mended by the next run'

# --- any order
# -------------------------------------------------------------------------------------

same=0 rounds=${all:+20}
rounds=${rounds:-4}
for ((round = 0; round < rounds; round++)); do
	spool=$scratch/spool.order
	rm -rf "$spool"
	mkdir -p "$spool"/incoming/{a,b,c,d}
	mapfile -t order < <(seq 0 $((recordings - 1)) | shuf --random-source=<(yes "$seed.$round"))
	n=$((RANDOM % recordings))
	status=0
	for ((i = 0; i < recordings; i++)); do
		# one of the hosts may have sent nothing yet, or all
		((i != n)) || fleet "$spool" || [ $? = 1 ] || [ ! -e "$spool/merged/sum.edges" ] ||
			status=1
		host=(a b c d)
		ln "$scratch/rec/${order[i]}.edges" "$spool/incoming/${host[RANDOM % 4]}/$RANDOM.$i"
	done
	fleet --jobs=$((RANDOM % 4 + 1)) "$spool" || [ $? = 1 ] || status=1
	cmp "$spool/merged/sum.edges" "$scratch/sum" && [ $status = 0 ] && same=$((same + 1))
done
[ $same = $rounds ]
verdict $? "$same of $rounds orders, hosts, names and numbers of processes: the same bytes"

# --- profiles, options, other names
# -------------------------------------------------------------------

spool=$scratch/spool.whole
fleet --elf="$scratch/prog/p0" --elf="$scratch/prog/p1" --format=bolt "$spool" &&
	"$ntrace" profile --format=bolt --elf "$scratch/prog/p1" "$scratch/sum" |
	cmp - "$spool/merged/p1.bolt" &&
	[ "$(wc -l <"$spool/merged/p0.bolt")" -gt 20 ]
verdict $? 'profiles of programs'
# one that did not run: the others, and the report, are made all the same
rm "$spool"/merged/*.bolt
fleet --elf="$scratch/prog/p0" --elf="$samples/towers/towers.elf" --elf="$scratch/prog/p1" \
	--format=bolt "$spool"
[ $? = 2 ] && [ "$(row all 2)" = "$recordings" ] &&
	[ "$(cd "$spool/merged" && echo *.bolt)" = 'p0.bolt p1.bolt' ] &&
	grep -q "/sum.edges: has no edges of .*/towers.elf, which has another build-id, but of:" \
		"$scratch/said" && grep -q 'p1$' "$scratch/said" &&
	grep -q "^ntrace: $spool/merged/towers.elf.bolt: not made" "$scratch/said"
verdict $? '... of which one cannot be made: why is said, and all else is made'
ln -s "$ntrace" "$scratch/ntrace-fleet"
find "$spool" -type f | LC_ALL=C sort | xargs -d '\n' sha256sum >"$scratch/want"
"$scratch/ntrace-fleet" --report "$spool" >"$scratch/got" &&
	find "$spool" -type f | LC_ALL=C sort | xargs -d '\n' sha256sum | cmp - "$scratch/want" &&
	[ "$(awk '$1 == "all" { print $2, $8 }' "$scratch/got")" = "$recordings 0" ]
verdict $? 'ntrace-fleet --report changes nothing'
new_spool report
send 0 h00
fleet --report "$spool"
[ $? = 1 ] && [ "$(awk '$1 == "all" { print $2, $8 }' "$scratch/report")" = '0 1' ] &&
	[ ! -e "$spool/work" ]
verdict $? '... also before the first run'
new_spool stray
send 0 h00
cp "$scratch/rec/1" "$spool/incoming/zzz"
echo h00 >"$spool/hosts"
fleet "$spool"
[ $? = 1 ] && [ "$(awk '$1 == "all" { print $2, $7 }' "$scratch/report")" = '1 1' ] &&
	grep -q "^garbage: $spool/incoming/zzz: is in no host's folder" "$scratch/report"
verdict $? "a file in no host's folder is garbage, whatever its name"
# as the documentation has it
documented()
{
	PATH=$out:$PATH "$@" >"$scratch/report"
}
new_spool documented
for r in 0 6; do send $r h00; done
cp "$scratch/prog/p0" "$scratch/prog.0"
documented ntrace fleet "$spool"
is_truth_at 1 $? 'ntrace fleet' 0 6
(cd "$scratch" && cp prog.0 "$spool/prog" && cd "$spool" &&
	documented ntrace fleet --elf=prog --format=autofdo "$spool")
"$ntrace" profile --format=autofdo --elf "$spool/prog" "$scratch/rec/0" "$scratch/rec/6" |
	cmp - "$spool/merged/prog.autofdo" &&
	[ "$(wc -l <"$spool/merged/prog.autofdo")" -gt 10 ] &&
	documented ntrace fleet --report "$spool"
[ $? = 1 ] && [ "$(awk '$1 == "all" { print $2 }' "$scratch/report")" = 2 ]
verdict $? 'the commands of the documentation'
# programs of a host that are not here
new_spool symfs
mv "$scratch/prog" "$scratch/moved"
for r in 0 3; do send $r h00; done
mkdir -p "$spool/symfs/h00$scratch"
cp -R "$scratch/moved" "$spool/symfs/h00$scratch/prog"
fleet --others "$spool"
status=$?
mv "$scratch/moved" "$scratch/prog"
[ "$(awk '$1 == "all" { print $2, $5 }' "$scratch/report")" = '2 0' ]
verdict $? "a host's programs, in symfs/: no losses"
is_truth_at 1 $status "a host's programs, in symfs/" 0 3
# Whose a program was is what its file says in symfs/, whatever has that name here.
if [ "$(id -u)" = 0 ]; then
	new_spool owners
	echo h00 >"$spool/hosts"
	send 0 h00
	mkdir -p "$spool/symfs/h00$scratch"
	mv "$scratch/prog" "$scratch/moved"
	cp -R "$scratch/moved" "$spool/symfs/h00$scratch/prog"
	mkdir "$scratch/prog"
	: >"$scratch/prog/p0"
	chown 12345 "$scratch/prog/p0"
	fleet "$spool"
	is_truth_at 0 $? "a program of root's, and here a file of another's" 0
	chown 0 "$scratch/prog/p0"
	chown 12345 "$spool/symfs/h00$scratch/prog/p0"
	touch "$spool/symfs/h00$scratch/prog/p0"
	rm -r "$spool/work"
	fleet "$spool"
	[ $? = 1 ] && grep -q '^left out: [1-9][0-9]* transfers of programs that are neither' "$scratch/report" &&
		grep -qx 'left out: everything that 1 hosts sent' "$scratch/report" &&
		[ "$(row h00 5)" = 0 ]
	verdict $? "a program of another's, and here a file of root's: left out, and reported"
	chown 0 "$spool/symfs/h00$scratch/prog/p0"
	fleet "$spool"
	is_truth_at 0 $? "... and counted when it is root's" 0
	rm -r "$scratch/prog"
	mv "$scratch/moved" "$scratch/prog"
else
	verdict 0 "others' programs # SKIP wants root"
fi
# a shared folder whose files have to have names
build_preload no-tmpfile
verdict $? 'no-tmpfile'
new_spool nfs
for ((r = 0; r < recordings; r += 3)); do send $r "$(host_of $r)"; done
LD_PRELOAD=$scratch/no-tmpfile.so fleet "$spool"
cp "$spool/merged/sum.edges" "$scratch/nfs.sum"
left=$(find "$spool" -name '.ntrace.*')
rm -rf "$spool/work" "$spool/merged"
fleet "$spool"
[ -z "$left" ] && cmp "$spool/merged/sum.edges" "$scratch/nfs.sum"
verdict $? 'without files that have no name: the same bytes'
NO_TMPFILE_SEEN=$scratch/seen LD_PRELOAD=$scratch/no-tmpfile.so \
	"$ntrace" merge -o "$scratch/got" "$scratch/sum" && [ -s "$scratch/seen" ] &&
	cmp "$scratch/got" <("$ntrace" merge "$scratch/sum")
verdict $? '... by ntrace merge, too'

# --- faults of this machine
# ---------------------------------------------------------------------------

# What this machine could not do for a while is nobody's garbage, and is done by the next run.
new_spool descriptors
rm "$spool/hosts"
for r in 0 1 2 3; do send $r h00; done
for ((limit = 6; limit < 12; limit++)); do
	(ulimit -n $limit && fleet --jobs=1 "$spool")
	cat "$scratch/report" "$scratch/said"
done >"$scratch/got"
grep -q 'Too many open files' "$scratch/got" && ! grep -q '^garbage' "$scratch/got" &&
	fleet "$spool"
verdict $? 'too few files may be open: no garbage, and the next run takes all'
is_truth '... all of it' 0 1 2 3
new_spool memory
rm "$spool/hosts"
for r in 0 1 2 3; do send $r h00; done
# how much it takes to begin with depends on the libraries
for limit in 8000 10000 12000 16000 20000 24000; do
	(ulimit -v $limit && fleet --jobs=1 "$spool")
	cat "$scratch/report" "$scratch/said"
done >"$scratch/got"
grep -q '[Oo]ut of memory\|Cannot allocate memory' "$scratch/got" &&
	! grep -q '^garbage' "$scratch/got" && fleet "$spool"
verdict $? 'too little memory: no garbage, and the next run takes all'
is_truth '... all of it' 0 1 2 3
# files and folders that who runs the command may not read: for root, too, without these
# capabilities
unprivileged=()
[ "$(id -u)" != 0 ] || unprivileged=(setpriv --bounding-set=-dac_override,-dac_read_search)
fleet_unprivileged()
{
	timeout "$hang" "${unprivileged[@]}" "$ntrace" fleet "$@" >"$scratch/report" \
		2>"$scratch/said"
}
new_spool permission
rm "$spool/hosts"
for r in 0 3 6 9; do send $r h0$r; done
chmod 0 "$spool/incoming/h03" "$spool/incoming/h06/6.data"
if "${unprivileged[@]}" test -x "$ntrace" &&
	! "${unprivileged[@]}" cat "$spool/incoming/h06/6.data" >"$scratch/got"; then
	fleet_unprivileged "$spool"
	is_truth_at 1 $? 'what may not be read stops nobody else' 0 9
	sed -n 's/^not counted: \([^:]*\): \(.*\)/\1 \2/p' "$scratch/report" >"$scratch/got"
	printf '%s %s\n' "$spool/incoming/h03" 'Permission denied' "$spool/incoming/h06/6.data" \
		'Permission denied' | cmp - "$scratch/got" &&
		! grep -q '^garbage\|^sent nothing' "$scratch/report" &&
		[ "$(row h03 8) $(row h06 8) $(row all 2 7 8)" = '1 1 2 0 2' ]
	verdict $? '... it is reported, and waits'
	chmod 755 "$spool/incoming/h03"
	chmod 644 "$spool/incoming/h06/6.data"
	fleet_unprivileged "$spool"
	is_truth_at 0 $? '... and counts when it may be read' 0 3 6 9
else
	verdict 0 'what may not be read # SKIP no setpriv that drops capabilities'
fi
# programs that come later
new_spool later
rm "$spool/hosts"
for r in 0 2; do send $r h00; done
mv "$scratch/prog" "$scratch/moved"
mkdir -p "$spool/symfs/h00/etc"
echo something >"$spool/symfs/h00/etc/other"
fleet --others "$spool"
before=$?/$(row all 5)
fleet --others "$spool"
before=$before/$?/$(row all 5)
(cd "$spool" && fleet --report .)
before=$before/$(row all 8)
mkdir -p "$spool/symfs/h00$scratch"
cp -R "$scratch/moved" "$spool/symfs/h00$scratch/prog"
fleet --report "$spool"
waits=$(row all 8)
fleet --others "$spool"
status=$?
mv "$scratch/moved" "$scratch/prog"
[ "$before" = 1/1/1/1/0 ] && [ "$waits" = 1 ]
verdict $? 'a program comes to symfs/ later: its recordings wait'
is_truth_at 0 $status '... and are counted again' 0 2
[ -n "$(find "$spool/work/leaves" -type f)" ] && cp "$spool/merged/sum.edges" "$scratch/got" &&
	rm -r "$spool/work" && fleet --others "$spool" &&
	cmp "$scratch/got" "$spool/merged/sum.edges"
verdict $? '... the same bytes as if it had been there'

# --- bad hosts, odd names
# -----------------------------------------------------------------------------

"$CC" -O2 -std=gnu11 -Wall -Wextra -o "$scratch/edgesgen" "$here/edgesgen.c"
verdict $? 'edgesgen'
# What comes later makes few sums new, be it sent last, before all others, or among them.
new_spool more
rm "$spool/hosts"
mkdir -p "$spool/incoming/h00" "$scratch/made"
for ((i = 0; i < 300; i++)); do echo "$scratch/made/$i.edges h00 r$i $i 20 1"; done |
	"$scratch/edgesgen"
printf "$scratch/made/%d.edges h00 %s 7 20 1\n" 300 '!first' 301 zlast 302 r15x | "$scratch/edgesgen"
come()	# NUMBER TIME
{
	cp "$scratch/made/$1.edges" "$spool/incoming/h00/"
	touch -d "@$2" "$spool/incoming/h00/$1.edges"
}
sums()
{
	find "$spool/work/tree" -type f -printf '%f %i %T@\n' | LC_ALL=C sort
}
for ((i = 0; i < 300; i++)); do come $i $((1700000000 + 10 * i)); done
fleet "$spool"
sums >"$scratch/want"
most=0
for came in 300:1699999999 301:1700003000 302:1700001501; do
	come ${came%:*} ${came#*:}
	fleet "$spool" || most=1000
	sums >"$scratch/got"
	new=$(LC_ALL=C comm -13 "$scratch/want" "$scratch/got" | wc -l)
	[ "$new" -le $most ] || most=$new
	cp "$scratch/got" "$scratch/want"
done
[ "$(wc -l <"$scratch/want")" -ge 15 ] && [ $most -ge 2 ] && [ $most -le 8 ] &&
	[ "$(row all 2)" = 303 ] &&
	cmp "$spool/merged/sum.edges" <("$ntrace" merge --flatten "$scratch"/made/*.edges)
verdict $? "a recording more: $most of $(wc -l <"$scratch/want") sums are made, the others are kept"
new_spool saturated
rm "$spool/hosts"
for i in 1 2 3; do
	mkdir -p "$spool/incoming/h$i"
	echo "$spool/incoming/h$i/a.edges h$i r$i 1 1 1"
done | COUNT=$(((1 << 62) * 2 - 5)) "$scratch/edgesgen"
fleet "$spool"
[ $? = 1 ] && grep -q 'more than a count can be' "$scratch/said" &&
	[ "$(row all 4)" = 18446744073709551615 ]
verdict $? 'counts that are more than a count can be: reported, and as much as it can'
fleet "$spool"
[ $? = 1 ] && grep -q 'more than a count can be' "$scratch/said"
verdict $? '... also by a run that finds the sum'
"$ntrace" fleet --report "$spool" >"$scratch/report" 2>"$scratch/said"
[ $? = 1 ] && grep -q 'more than a count can be' "$scratch/said"
verdict $? '... and by --report'
new_spool forged
printf '%s\n' h00 >"$spool/hosts"
send 0 h00
forged=$'x: fine\nall                       9999      0                0        0      0        0        0\n\e[2J\xc2\x9b2J\x9b2J'
echo nonsense >"$spool/incoming/h00/$forged"
mkdir "$spool/incoming/h$forged"
cp "$scratch/rec/3" "$spool/incoming/h$forged/3.data"
fleet "$spool"
[ $? = 1 ] && [ "$(grep -c '^all ' "$scratch/report")" = 1 ] && [ "$(row all 2 7)" = '2 1' ] &&
	[ "$(tr -d '\n' <"$scratch/report" | LC_ALL=C grep -c $'[\x01-\x1f\x7f]\|\xc2[\x80-\x9f]\|\x9b')" = 0 ]
verdict $? 'names with control characters: one line each'
new_spool odd
rm "$spool/hosts"
for host in +rack1 - h00; do mkdir -p "$spool/incoming/$host"; done
cp "$scratch/rec/0" "$spool/incoming/+rack1/a.data"
cp "$scratch/rec/3" "$spool/incoming/-/b.data"
cp "$scratch/rec/6" "$spool/incoming/h00/c.data"
cp "$scratch/rec/9" "$spool/incoming/#notes"
cp "$scratch/rec/9" "$spool/incoming/hidden"
fleet "$spool"
is_truth_at 1 $? 'hosts called +rack1 and -, and strays' 0 3 6
[ "$(row +rack1 2 7) $(row h00 2 7) $(row all 2 7)" = '1 0 1 0 3 2' ] &&
	! grep -q '^sent nothing' "$scratch/report" &&
	sed -n 's/^garbage: \([^:]*\): .*/\1/p' "$scratch/report" |
	cmp - <(printf '%s\n' "$spool"/incoming/{'#notes',hidden})
verdict $? '... each has a row, and the strays are named'
find "$spool/work/status" -type f -printf '%p %i\n' | LC_ALL=C sort >"$scratch/want"
fleet "$spool"
find "$spool/work/status" -type f -printf '%p %i\n' | LC_ALL=C sort | cmp - "$scratch/want" &&
	[ "$(wc -l <"$scratch/want")" = 3 ]
verdict $? '... and a second run decodes none of them again'
# whichever way memory is given out: what comes first counts
new_spool twice
rm "$spool/hosts"
mkdir -p "$spool"/incoming/{h00,h01}
"$ntrace" merge -o "$spool/incoming/h00/all.edges" "$scratch"/rec/{?,[1-4]?}.edges
for ((i = 0; i < 50; i++)); do cp "$scratch/rec/$i.edges" "$spool/incoming/h01/"; done
fleet "$spool"
for ((i = 0; i < 3; i++)); do
	fleet --report "$spool"
	echo "$(row h00 2 6) $(row h01 2 6)"
done | sort -u >"$scratch/got"
[ "$(cat "$scratch/got")" = '50 0 0 50' ]
verdict $? 'what arrives twice counts for the first, by host and name'
# A queue that never gets empty is waited for, and that can be ended.
mkdir "$scratch/slurm" "$scratch/spool.slurm"
for tool in sbatch scancel; do printf '#!/bin/sh\n' >"$scratch/slurm/$tool"; done
# a command that ignores it is killed
printf '#!/bin/sh\necho 1\necho >>"$0.asked"\nkill -TERM $PPID\n[ $(wc -l <"$0.asked") -lt 5 ] || kill -KILL $PPID\n' >"$scratch/slurm/squeue"
chmod +x "$scratch"/slurm/*
mkdir -p "$scratch/spool.slurm/incoming/h00"
cp "$scratch/rec/0" "$scratch/spool.slurm/incoming/h00/"
PATH=$scratch/slurm:$PATH fleet --engine=slurm "$scratch/spool.slurm"
[ $? = 2 ] && grep -q 'waiting for jobs of an earlier command' "$scratch/said" &&
	grep -q 'ended by signal 15' "$scratch/said"
verdict $? 'waiting for old jobs ends with SIGTERM'

# --- how fast, and how small
# -----------------------------------------------------------------------------

# usage ARGUMENT...: $ms of processor time, $kb of memory
usage()
{
	"$scratch/rusage" "$scratch/usage" "$ntrace" "$@" >"$scratch/got" &&
		read -r ms kb _ <"$scratch/usage"
}

if [ -n "$all" ]; then
	for tool in edgesgen rusage; do
		"$CC" -O2 -std=gnu11 -Wall -Wextra -o "$scratch/$tool" "$here/$tool.c" ||
			verdict 1 "$tool"
	done
	mkdir "$scratch/million"
	for ((i = 0; i < 20; i++)); do echo "$scratch/million/$i h$i r$i $i 1000000 10"; done |
		"$scratch/edgesgen"
	usage merge --flatten -o "$scratch/got.sum" "$scratch"/million/*
	[ $((20 * 1000000 / ms)) -ge 10000 ]
	verdict $? "merged on one core: $((20 * 1000 / ms)) million edges a second"
	# a file of its own name and recording each; what is in memory does not depend on their
	# lengths
	rm -r "$scratch/million"
	mkdir "$scratch/million"
	for ((i = 0; i < 1000; i++)); do
		echo "$scratch/million/$i h$i r$i $((i % 50)) 1000000 10"
	done | "$scratch/edgesgen"
	usage merge --flatten -o "$scratch/got.sum" "$scratch"/million/*
	[ "$kb" -le $((256 << 10)) ]
	verdict $? "1,000 files of a million edges: $kb KB, $((1000 * 1000 / ms)) million edges a second"
	rm -r "$scratch/million"
fi

# --- what is refused
# ------------------------------------------------------------------------------------

# refuses DESCRIPTION WORDS ARGUMENT...
refuses()
{
	local description=$1 words=$2
	shift 2

	fleet "$@"
	[ $? = 2 ] && grep -qF -- "$words" "$scratch/said"
	verdict $? "refused: $description"
}
spool=$scratch/spool.whole
refuses 'no spool' 'no spool given' --jobs=1
refuses 'a folder that is not there' 'No such file' "$scratch/nowhere"
refuses 'two spools' 'one spool at a time' "$spool" "$spool"
refuses 'a format without a program' '--format wants a program' --format=bolt "$spool"
refuses 'another format' 'is none of llvm-profgen' --format=edges --elf=x "$spool"
refuses 'another engine' 'is none of local, slurm' --engine=make "$spool"
mkdir -p "$scratch/other"
refuses 'two programs of one name' 'have the same name' --elf="$scratch/prog/p0" \
	--elf="$scratch/other/p0" "$spool"
refuses 'no processes' '0 is too few' --jobs=0 "$spool"
refuses 'no task' 'is not STAGE.INDEX.OF' --task=1.2.2 "$spool"
refuses 'other options than before' 'was counted with other options' --kernel "$spool"
refuses 'a program that did not run' 'not made' --elf="$samples/towers/towers.elf" \
	"$scratch/spool.symfs" --others
# a sum names all its recordings, for which it has 64 MiB: by long names of hosts two have more
for i in 1 2; do
	python3 - $i >"$scratch/long.$i" <<-END
		import sys
		sys.path.insert(0, '$here')
		edges = __import__('edges-move')
		head = edges.put(0) + edges.put(1) + b'$i' * 32
		head += edges.put(33 << 20) + b'h' * (33 << 20) + edges.put(0) * 5
		out = sys.stdout.buffer
		out.write(b'NTEDGES\n\1' + edges.block(b'H', head))
		out.write(edges.block(b'S', edges.put(0) * 3 + edges.put(edges.zlib.crc32(head))))
		out.write(edges.block(b'T', edges.put(1) + edges.put(0)))
	END
done
"$ntrace" merge --flatten -o "$scratch/got" "$scratch"/long.[12] 2>"$scratch/said"
[ $? = 2 ] && grep -q '^ntrace: 2 recordings and 0 files are too many .*: make a sum of some' \
	"$scratch/said" && "$ntrace" merge -o "$scratch/got" "$scratch"/long.[12]
verdict $? 'refused: more recordings than a sum may have, with what to do'
exec {lock}<"$spool/work/lock"
flock $lock
refuses 'a second command' 'another ntrace fleet works here' "$spool"
exec {lock}<&-
mkdir "$scratch/nothing"
refuses '--report of a folder that is no spool' 'nothing has been sent' --report "$scratch/nothing"
refuses 'an empty spool' 'nothing to merge' "$scratch/nothing"
refuses '--report of an empty spool' 'nothing has been sent' --report "$scratch/nothing"
echo ../etc >"$scratch/nothing/hosts"
refuses 'a host outside' 'is no name of a host' "$scratch/nothing"
finish
