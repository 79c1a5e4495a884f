#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# ntrace collect: what is counted here is what arrives, under its own SHA-256; budgets of bytes,
# disk and processor time hold; what cannot be sent waits. Recordings are made by recdata, as a host
# has no trace; lab/recorder.sh tests the recorder that it starts.

. "$(dirname "$0")/lib.bash"
exec 2>"$scratch/stderr"
mix=$samples/mix

build_recdata && cp "$mix/mix.elf" "$scratch/prog"
verdict $? 'recdata'
spool=$scratch/spool state=$scratch/state
"$ntrace" decode --elf "$mix/mix.elf" --no-marks "$mix/L1.bin" >"$scratch/pc"
for ((i = 0; i < 4; i++)); do
	head -n $((2000 * i + 1000)) "$scratch/pc" >"$scratch/list"
	"$ntrace" encode --elf "$mix/mix.elf" --pc "$scratch/list" -o "$scratch/trace" &&
		"$scratch/recdata" file "$scratch/prog" "$scratch/trace" >"$scratch/rec.$i" &&
		"$ntrace" profile --format=edges -o "$scratch/$i.edges" "$scratch/rec.$i" ||
		verdict 1 "recording $i"
done

# collect STATUS RECORDING OPTION...: what it says is in $scratch/said
collect()
{
	local want=$1 recording=$2 status=0
	shift 2

	from=${from_at:-$scratch/from}
	cp "$scratch/$recording" "$from"
	timeout "$hang" "$ntrace" collect --from="$from" --state="$state" --room=1M \
		--host=h07 "$@" "$spool" \
		>"$scratch/got" 2>"$scratch/said" || status=$?
	[ $status = "$want" ] && [ ! -s "$scratch/got" ]
}

arrived()	# FILE...: these, each under its SHA-256, and nothing else
{
	sha256sum "$@" | cut -d ' ' -f 1 | sort >"$scratch/want"
	(cd "$spool/incoming/h07" && sha256sum -- * |
		sed -n 's/^\([0-9a-f]*\)  \1\..*/\1/p' | sort) | cmp - "$scratch/want" &&
		[ -z "$(find "$spool" -name '.*')" ]
}

stayed()	# RECORDING: is where it was taken from
{
	cmp "$from" "$scratch/$1"
}

waiting()	# N: so many wait, and no recording
{
	[ "$(find "$state/outbox" -type f | wc -l)" = "$1" ] && [ ! -e "$state/recording" ]
}

mkdir -p "$spool/incoming"
collect 0 rec.0 && arrived "$scratch/0.edges" && waiting 0 && [ ! -e "$scratch/from" ] &&
	[ ! -s "$scratch/said" ]
verdict $? 'edges arrive, and nothing else'
[ "$(stat -c %a "$state" "$state/outbox" | paste -sd' ')" = '700 700' ]
verdict $? 'what waits is for no other eyes'
[ "$(cut -d ' ' -f 2 "$state/day")" = "$(stat -c %s "$scratch/0.edges")" ]
verdict $? 'bytes are charged to the day'

build_preload synced
verdict $? 'synced'
mv "$spool/incoming" "$spool/away"
collect 1 rec.1 && waiting 1 && grep -q 'it is sent the next time$' "$scratch/said"
verdict $? 'a spool that is not there: it waits'
mv "$spool/away" "$spool/incoming"
LD_PRELOAD=$scratch/synced.so SYNCED_SEEN=$scratch/synced collect 0 rec.2 &&
	arrived "$scratch"/{0,1,2}.edges && waiting 0
verdict $? '... and is sent the next time'
grep -q "^synced $state/outbox/" "$scratch/synced" &&
	grep -q "^synced $spool/incoming/" "$scratch/synced" &&
	! grep '^not-synced .*/\(outbox\|incoming\)/' "$scratch/synced"
verdict $? 'a file is on the disk before it has its name'

used=$(cut -d ' ' -f 2 "$state/day")
collect 0 rec.3 --day="$used" && grep -q 'nothing recorded: the bytes of today are used up' \
	"$scratch/said" && [ -e "$scratch/from" ]
verdict $? 'the budget of a day'
collect 0 rec.3 --day=$((used + 10)) && waiting 1 && arrived "$scratch"/{0,1,2}.edges
verdict $? 'what is beyond it waits'
collect 0 rec.0 --day=$((used + 10)) && grep -q 'used up' "$scratch/said" && waiting 1
verdict $? '... and until then nothing is recorded'
echo "2026-01-01 $used" >"$state/day"
collect 0 rec.0 && arrived "$scratch"/{0,1,2,3}.edges && waiting 0
verdict $? 'on another day it goes'
collect 0 rec.1 --room=4000000000K &&
	grep -q 'nothing recorded: the disk of --state' "$scratch/said" && [ -e "$scratch/from" ]
verdict $? 'the budget of disk'

head -c 2000 /dev/urandom >"$scratch/noise"
collect 2 noise && waiting 0 && arrived "$scratch"/{0,1,2,3}.edges && stayed noise &&
	grep -q '^ntrace: --from: .*/from is no recording: it has to be a perf.data' "$scratch/said"
verdict $? 'what is no recording is not sent, and stays'
head -c 300 "$scratch/rec.3" >"$scratch/cut"
collect 2 cut && waiting 0 && arrived "$scratch"/{0,1,2,3}.edges && stayed cut &&
	grep -q '^ntrace: .*/from: nothing of it is sent: it stays where it is$' "$scratch/said"
verdict $? '... nor one that is cut'
head -c 20000 "$scratch/rec.3" >"$state/recording"
mkdir -p "$state/recording.old/kcore_dir" && : >"$state/recording.old/kcore_dir/kcore"
collect 0 rec.0 && arrived "$scratch"/{0,1,2,3}.edges && waiting 0 &&
	[ ! -e "$state/recording.old" ]
verdict $? 'what a killed command left goes'
collect 0 rec.3 --send=recording && arrived "$scratch"/{0,1,2,3}.edges "$scratch/rec.3"
verdict $? '--send=recording'
# what is larger than a day may be would wait for ever
size=$(stat -c %s "$scratch/rec.3")
rm "$state/day"
collect 1 rec.3 --send=recording --day=$((size - 1)) && waiting 0 && stayed rec.3 &&
	grep -q '/from has .* more than may be sent in a day (--day)$' "$scratch/said" &&
	grep -q '/from: nothing of it is sent: it stays where it is$' "$scratch/said"
verdict $? 'a recording that is larger than a day may be stays'
size_3=$(stat -c %s "$scratch/3.edges")
collect 1 rec.3 --day=$((size_3 - 1)) && waiting 0 && stayed rec.3 && [ ! -e "$state/edges" ] &&
	grep -q 'it stays where it is$' "$scratch/said"
verdict $? '... and so does one whose edges are'
mv "$spool/incoming" "$spool/away"
collect 1 rec.3 --send=recording && waiting 1 && [ ! -e "$scratch/from" ]
mv "$spool/away" "$spool/incoming"
collect 1 rec.0 --day=$((size - 1)) && waiting 0 && grep -q 'dropped (--day)$' "$scratch/said" &&
	! grep -q 'nothing recorded' "$scratch/said"
verdict $? '... and one that waits is in nobody else'"'"'s way'
"$ntrace" fleet "$spool" >"$scratch/got"
[ "$(awk '$1 == "h07" { print $2, $6, $7 }' "$scratch/got")" = '4 1 0' ] &&
	cmp "$spool/merged/sum.edges" <("$ntrace" merge --flatten "$scratch"/[0-3].edges)
verdict $? 'ntrace fleet takes it all'

# another sender of the same name: what it has begun stays its, unless it is of yesterday or before
echo theirs >"$spool/incoming/h07/.ntrace.sending"
echo old >"$spool/incoming/h07/.ntrace.a1b2c3"
touch -d '3 days ago' "$spool/incoming/h07/.ntrace.a1b2c3"
collect 0 rec.3 && [ "$(cat "$spool/incoming/h07/.ntrace.sending")" = theirs ] &&
	[ ! -e "$spool/incoming/h07/.ntrace.a1b2c3" ]
verdict $? 'two senders of one name are not in the way of each other'
rm "$spool/incoming/h07/.ntrace.sending"
# what has not arrived is not of today
rm -rf "$state"
mkdir "$state"
blocked=$spool/incoming/h07/$(sha256sum <"$scratch/1.edges" | cut -d ' ' -f 1).edges
rm "$blocked"
mkdir "$blocked"
size=$(stat -c %s "$scratch/1.edges")
collect 1 rec.1 --day=$((size + 10)) && [ "$(cut -d ' ' -f 2 "$state/day")" = 0 ] &&
	collect 1 rec.1 --day=$((2 * size + 10)) && collect 1 rec.1 --day=$((2 * size + 10)) &&
	waiting 1
verdict $? 'what could not be sent does not use the day up'
rmdir "$blocked"
collect 0 rec.1 --day=$((2 * size + 10)) && waiting 0 &&
	[ "$(cut -d ' ' -f 2 "$state/day")" = "$size" ] && cmp "$blocked" "$scratch/1.edges"
verdict $? '... and is sent when it can be'
# midnight comes while it records
"${CC:-gcc}" -O1 -shared -fPIC -Wall -Wextra -o "$scratch/midnight.so" "$(dirname "$0")/midnight.c"
verdict $? 'midnight'
rm -rf "$state"
mkdir "$state"
echo "2026-03-01 5000000" >"$state/day"
export LD_PRELOAD=$scratch/midnight.so
collect 0 rec.2
verdict $? 'a recording over midnight'
unset LD_PRELOAD
[ "$(cat "$state/day")" = "2026-03-02 $(stat -c %s "$scratch/2.edges")" ]
verdict $? '... is charged to the new day alone'
rm -rf "$state"
export TZ=:/tmp
collect 0 rec.2 && [ ! -s "$scratch/said" ]
verdict $? 'a time zone that is no file, and a new state folder'
unset TZ

# a recording on another file system, and one that a link leads to
elsewhere=$(mktemp -d -p /dev/shm 2>/dev/null) || elsewhere=
trap 'rm -rf "$scratch" "$elsewhere"' EXIT
rm -rf "$spool/incoming/h07"
if [ -n "$elsewhere" ] && [ "$(stat -c %d "$elsewhere")" != "$(stat -c %d "$scratch")" ]; then
	from_at=$elsewhere/from
	collect 0 rec.1 && [ ! -e "$from" ] && collect 0 rec.2 --send=recording &&
		arrived "$scratch/1.edges" "$scratch/rec.2" && waiting 0 && [ ! -e "$from" ]
	verdict $? 'recordings on another file system'
else
	verdict 0 'recordings on another file system # SKIP /dev/shm is none'
fi
rm -rf "$spool/incoming/h07"
cp "$scratch/rec.3" "$scratch/target"
ln -s target "$scratch/link"
from_at=$scratch/link
collect 0 rec.3 --send=recording && arrived "$scratch/rec.3" && [ ! -L "$from" ] &&
	cmp "$scratch/target" "$scratch/rec.3"
verdict $? 'of a link, the link goes'
from_at=

if [ "${groups:-}" = all ]; then
	# a recording of several times what is decoded in a second
	sed 's/16 << 20/512 << 20/' "$top/selftests/host/recdata.c" >"$scratch/recdata.c"
	"${CC:-gcc}" -O2 -std=gnu11 -I"$top/selftests/host" -I"$top/tools-perf/util" \
		-I"$top/tools-perf/util/ntrace-decoder" \
		-I"$top/uapi" -o "$scratch/recdata" "$scratch/recdata.c" "$out/libntrace.a" -lelf
	for ((i = 0; i < 6000; i++)); do cat "$mix/L1.bin"; done >"$scratch/trace"
	"$scratch/recdata" file "$scratch/prog" "$scratch/trace" >"$scratch/large"
	collect 2 large --cpu=1 && grep -q 'not counted in 1 s of processor time (--cpu)$' \
		"$scratch/said" && waiting 0 && stayed large
	verdict $? 'the budget of processor time'
fi

# refuses DESCRIPTION WORDS OPTION...
refuses()
{
	local description=$1 words=$2
	shift 2

	collect 2 rec.0 "$@" && grep -qF -- "$words" "$scratch/said" && [ -e "$scratch/from" ]
	verdict $? "refused: $description"
}
refuses 'a recording that is not there' 'No such file' --from="$scratch/nowhere"
mkfifo "$scratch/fifo"
refuses 'a pipe for a recording' 'is no recording' --from="$scratch/fifo"
mkdir "$scratch/folder"
cp "$scratch/rec.3" "$scratch/folder/data"
refuses 'to send a folder' 'is a folder, which is not sent' --from="$scratch/folder" \
	--send=recording
cmp "$scratch/folder/data" "$scratch/rec.3"
verdict $? '... it stays'
refuses 'a host outside' 'is no name of a folder' --host=../x
refuses 'no bytes' 'is no number of bytes' --day=many
refuses 'bytes with too much behind' 'is no number of bytes' --largest=5MB
refuses 'no time' '0 seconds are too few' --cpu=0
refuses 'something else to send' 'is none of edges, recording' --send=all
refuses "the kernel's recording" 'which is not sent' --send=recording --kernel
exec {lock}<"$state/lock"
flock $lock
refuses 'a second command' 'another ntrace collect works there'
exec {lock}<&-
finish
