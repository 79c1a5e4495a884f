#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What the command makes of unusual recordings, which records.py writes record by record: numbers
# and paths that are used again, records that were lost, damage, names that are no text.

. "$(dirname "$0")/records.bash"

# make DESCRIPTION <PYTHON: with the module's names
make()
{
	{ echo 'from records import *'; cat; } | python3 - >"$scratch/log" 2>&1
	verdict $? "$1"
	sed 's/^/# /' "$scratch/log"
}
# gives DESCRIPTION STATUS COMMAND... <EXPECTED: what it prints; messages are in $scratch/stderr
gives()
{
	local description=$1 want=$2 status=0
	shift 2

	cat >"$scratch/want"
	"$@" >"$scratch/got" 2>"$scratch/stderr" || status=$?
	diff "$scratch/want" "$scratch/got" | sed 's/^/# /'
	[ $status = "$want" ] && cmp -s "$scratch/want" "$scratch/got"
	verdict $? "$description"
}
bolt()		# ARGUMENT...: sorted
{
	local status=0

	"$ntrace" profile --format=bolt "$@" >"$scratch/bolt" || status=$?
	sort "$scratch/bolt"
	return $status
}

"${CC:-gcc}" -std=gnu11 -Wall -Wextra -o callprog "$top/selftests/host/callprog.c" &&
	printf '%s\n' '10000 main' nop 'call 10100' ret '10100 f' nop nop ret |
	./callprog >one.elf &&
	printf '%s\n' '10000 main' nop 'call 10100' ret '10100 f' 'jump 10108' nop ret |
	./callprog >two.elf &&
	printf '%s\n' '20000 main' nop 'call 20100' ret '20100 f' nop nop ret | ./callprog >high.elf
verdict $? 'programs'

# --- a program that is rebuilt while it is recorded -----------------------------------------
make 'two builds of one path' <<'END'
one, two = bytes([0x11] * 20), bytes([0x22] * 20)
for elf, id in ('one.elf', one), ('two.elf', two):
    place = 'ids/.build-id/%s/%s' % (id.hex()[:2], id.hex()[2:])
    os.makedirs(place)
    with_build_id(elf, place + '/elf', id)
r = Recording()
r.start('prog', 'one.elf', 100, 10, path='/build/prog', build_id=one)
r.start('prog', 'two.elf', 101, 20, path='/build/prog', build_id=two)
trace = stretch('one.elf', 100, 1000, ['10000', '10004', '10100', '10104', '10108'], 1500, '10008')
for i in range(3):
    trace += stretch('two.elf', 101, 2000 + 1000 * i, ['10000', '10004', '10100', '10108'],
                     2500 + 1000 * i, '10008')
r.trace(trace, 20000)
r.write('builds.data')
END
id1=ids/.build-id/11/11111111111111111111111111111111111111/elf
id2=ids/.build-id/22/22222222222222222222222222222222222222/elf
gives 'a profile of the first has nothing of the second' 0 \
	bolt --buildid-dir=ids --elf $id1 builds.data <<'END'
B 10004 10100 1 0
B 10108 10008 1 0
F 10000 10004 1
F 10100 10108 1
END
for choice in --tid=9 --cpu=7 --time=100,101; do
	"$ntrace" profile --elf $id1 --buildid-dir=ids $choice builds.data >got 2>stderr
	[ $? = 2 ] && [ ! -s got ] &&
		grep -q 'builds.data: nothing was executed in what was chosen of it (--cpu, --pid,' stderr
	verdict $? "a profile of nothing ($choice) is refused"
done
gives '... and the other way round' 0 bolt --buildid-dir=ids --elf $id2 builds.data <<'END'
B 10004 10100 3 0
B 10100 10108 3 0
B 10108 10008 3 0
F 10000 10004 3
F 10100 10100 3
F 10108 10108 3
END
gives '... branch by branch, too' 0 bolt --one-by-one --buildid-dir=ids --elf $id1 builds.data <<'END'
B 10004 10100 1 0
B 10108 10008 1 0
F 10000 10004 1
F 10100 10108 1
END
gives 'which of them is meant is asked for' 2 bolt --buildid-dir=ids builds.data </dev/null
grep -q '/build/prog build-id 1111' stderr && grep -q '/build/prog build-id 2222' stderr
verdict $? '... with build-ids'
"$ntrace" profile --format=pprof --buildid-dir=ids builds.data >builds.pb 2>stderr &&
	python3 "$top/selftests/host/pprof.py" files builds.pb | cut -d' ' -f1,2 | grep -v '^-' |
	sort >got &&
	printf '%s /build/prog\n' "$(printf '11%.0s' {1..20})" "$(printf '22%.0s' {1..20})" |
	cmp - got
verdict $? 'pprof has both'

# --- gdbserver ------------------------------------------------------------------------------
make 'recordings for gdbserver' <<'END'
one = ['10000', '10004', '10100', '10104', '10108']
# data begins in the page that the code ends in, and is a page further up in memory
add_headers('one.elf', 'data.elf', [(1, 6, 0x110c, 0x1210c, 16)])
r = Recording()
r.start('prog', 'data.elf', 100, 10)
r.trace(stretch('one.elf', 100, 1000, one, 1500, '10008') +
        stretch('one.elf', 100, 5000, ['10008', '10000', '10004', '10100', '10104'], 5500, '10108') +
        stretch('one.elf', 100, 9000, one, 9500, '10008'), 20000)
r.write('data.data')
END
cat >ask <<'END'
from records import *
import sys
answers, said, status = ask(sys.argv[1].split(), ['qSupported', '?'] +
                            [monitor(a[1:]) if a[0] == ':' else a for a in sys.argv[2:]] + ['k'])
for a in answers:
    print(a.decode().rstrip('\n'))
END
python3 ask '- data.data' m10000,4 | grep -qx 13000000
verdict $? 'gdbserver: code is where it was mapped, whatever else its last page has'
for at in 3:0.0000010-0.0000015 {5,8}:0.0000050-0.0000055 {10,12}:0.0000090-0.0000095; do
	python3 ask '- data.data' ":goto ${at%%:*}" :position | grep -o ', time [0-9.]*' |
		tail -n 1 |
		awk -v span="${at#*:}" '{ split(span, s, "-") } $3 >= s[1] && $3 <= s[2] { found = 1 }
			END { exit !found }'
	verdict $? "gdbserver: instruction ${at%%:*} is not in the pause of the thread"
done

# --- numbers that are used again ------------------------------------------------------------
make 'numbers of tasks that are used again' <<'END'
one = ['10000', '10004', '10100', '10104', '10108']
high = ['20000', '20004', '20100', '20104', '20108']
r = Recording()
r.start('one', 'one.elf', 200, 10)
r.exit(200, 200, 3000)
r.start('two', 'high.elf', 200, 4000)
r.exit(200, 200, 9000)
r.start('aaa', 'one.elf', 250, 10000)
r.fork(250, 300, 10003, parent=250)
r.exit(250, 300, 12000)
r.start('bbb', 'high.elf', 260, 13000)
r.fork(260, 300, 13003, parent=260)
trace = b''
for elf, tid, begin, list in (('one.elf', 200, 1000, one), ('one.elf', 200, 1600, one),
                              ('high.elf', 200, 5000, high), ('one.elf', 300, 10500, one),
                              ('one.elf', 300, 11100, one), ('one.elf', 300, 11600, one),
                              ('high.elf', 300, 14000, high)):
    trace += stretch(elf, tid, begin, list, begin + 300, list[0][0] + '0008')
r.trace(trace, 30000, pid=200)
r.write('reuse.data')
END
threads()	# OPTIONS: names, how many instructions each has, and the code of the program there
{
	python3 ask "$1 reuse.data" qXfer:threads:read::0,1000 :position "$2" |
		sed -nE 's/.*name="([^"]*)".*/\1/p; s/.*: instruction 0 of ([0-9]*) .*/\1/p; s/^(13000000|E.*)$/\1/p'
}
gives 'gdbserver: a thread that has the number of another one is its own' 0 threads - m10000,4 \
	<<'END'
aaa 300
15
13000000
END
gives '... as is a process' 0 threads '--pid=200 -' m10000,4 <<'END'
one 200
10
13000000
END
gives '... whichever is asked for' 0 threads '--pid=260 -' m20000,4 <<'END'
bbb 300
5
13000000
END
gives 'gdbserver --cpu: the thread is the CPU' 0 threads '--cpu=0 -' :info <<'END'
CPU 0
35
END
"$ntrace" timeline --min=0 reuse.data >reuse.json 2>stderr
python3 - <<'END'
import json
last = 0
for e in json.load(open('reuse.json'))['traceEvents']:
    if e['ph'] == 'X' and e['ts'] < 3.5 and e['pid'] == 200:
        last = max(last, e['ts'] + e['dur'])
assert 1.6 < last < 3, last
END
verdict $? 'timeline: what a process did ends with it'

# --- time behind the end of a process -------------------------------------------------------
make 'a process that ends, and another one much later' <<'END'
one = ['10000', '10004', '10100', '10104', '10108']
r = Recording()
r.start('one', 'one.elf', 100, 10)
r.start('two', 'one.elf', 101, 20)
r.exit(100, 100, 1700)
r.trace(stretch('one.elf', 100, 1000, one, 1500, '10008') +
        stretch('one.elf', 101, 5000, one, 5500, '10008'), 20000)
r.write('end.data')
END
"$ntrace" profile --format=folded --value=time end.data |
	awk '{ n[substr($1, 1, 3)] += $NF } END { print n["one"], n["two"] }' >got
echo '700 500' | cmp - got
verdict $? 'folded: what is behind its end is no time of a process'
"$ntrace" calls --format=csv end.data |
	tr -d '"' | awk -F, '$1 == "main" { n = $10 } END { exit n != 1200 }'
verdict $? 'calls: ... neither'

# --- losses beside the trace ----------------------------------------------------------------
make 'recordings that lost events' <<'END'
one = ['10000', '10004', '10100', '10104', '10108']
for name, lost in (('lost', 2), ('samples', 13), ('whole', 0)):
    r = Recording()
    r.start('one', 'one.elf', 100, 10)
    if lost:
        r.lost(7, 900, lost)
    r.trace(stretch('one.elf', 100, 1000, one, 1500, '10008'), 20000)
    r.write(name + '.data')
END
for kind in 'lost 7 events' 'samples 7 samples'; do
	name=${kind%% *} what=${kind#* } bad=0
	for command in script stat decode dump calls 'timeline --min=0' 'profile --elf one.elf' \
			'profile --format=folded'; do
		status=0
		# shellcheck disable=SC2086
		"$ntrace" $command $name.data >got 2>stderr || status=$?
		[ $status = 1 ] && grep -q \
			"^ntrace: $name.data: $what were lost while it was recorded" stderr ||
			{ bad=1; echo "# $command: status $status"; }
		# shellcheck disable=SC2086
		"$ntrace" $command whole.data >got 2>stderr ||
			{ bad=1; echo "# $command: not whole"; }
	done
	verdict $bad "$what were lost: status 1"
	"$ntrace" script "$name.data" 2>stderr | grep -qx "# lost time 0.000000900 cpu 0: $what"
	verdict $? '... and script shows where'
done
make 'a damaged file' <<'END'
data = open('whole.data', 'rb').read()
r = Recording()
r.start('one', 'one.elf', 100, 10)
r.trace(stretch('one.elf', 100, 1000, ['10000', '10004', '10100', '10104', '10108'], 1500, '10008'), 20000)
r.comm(100, 100, 'late', 30000)
r.write('late.data')
data = open('late.data', 'rb').read()
open('cut.data', 'wb').write(data[:-5 - 24])
END
status=0
"$ntrace" timeline --min=0 cut.data >got 2>stderr || status=$?
[ $status = 1 ] && grep -q 'cut.data: at 0x.*: decoded up to there' stderr
verdict $? 'timeline of a damaged file: status 1'

# --- names that are no text -----------------------------------------------------------------
make 'names that are no text' <<'END'
one = ['10000', '10004', '10100', '10104', '10108']
r = Recording()
for tid, name in ((100, b'abcdefghijklmn\xc3'), (101, b'a\n# loss code 9'), (102, b'\xed\xa0\x80\x01')):
    r.start(name, 'one.elf', tid, 10)
r.trace(b''.join(stretch('one.elf', 100 + i, 1000 * (i + 1), one, 1000 * i + 1500, '10008')
                 for i in range(3)), 20000)
r.write('names.data')
END
"$ntrace" timeline --min=0 names.data >got 2>stderr && python3 -c '
import json
text = open("got", "rb").read().decode("utf-8")
names = {e["args"]["name"] for e in json.loads(text)["traceEvents"] if e["name"] == "thread_name"}
assert "abcdefghijklmn\ufffd" in names and "\ufffd\ufffd\ufffd\x01" in names, names'
verdict $? 'timeline is UTF-8'
"$ntrace" profile --format=pprof names.data >names.pb 2>stderr &&
	python3 "$top/selftests/host/pprof.py" labels names.pb >got &&
	grep -q "^task=abcdefghijklmn$(printf '\357\277\275') " got
verdict $? 'pprof is'
for pid in 100 101 102; do
	python3 ask "--pid=$pid - names.data" qXfer:threads:read::0,1000 |
		sed -n '/^[lm]<?xml/,$p' | sed '1s/^.//' |
		sed '/<\/threads>/q' >threads.xml
	python3 -c 'import xml.dom.minidom; print(xml.dom.minidom.parse("threads.xml").getElementsByTagName("thread")[0].getAttribute("name"))' >>names.txt 2>log || cat log
done
printf '%s\n' "abcdefghijklmn$(printf '\357\277\275') 100" 'a.# loss code 9 101' \
	"$(printf '\357\277\275%.0s' 1 2 3). 102" | cmp - names.txt
verdict $? "GDB's list of threads is"
"$ntrace" script names.data | grep -c '^# loss' >got
[ "$(cat got)" = 0 ] && "$ntrace" script names.data | grep -q '^ *a\.# loss code 9 *101 '
verdict $? 'script: a name makes no line'

# --- whose messages are ---------------------------------------------------------------------
"$ntrace" dump --tid=100 end.data >got 2>stderr
[ $? = 2 ] && [ ! -s got ] && grep -q "messages in a CPU's buffer are of all who ran there" stderr
verdict $? "dump --tid of a CPU's buffer is refused in words"
gives "stat --tid: messages of a CPU's buffer are left out" 0 "$ntrace" stat --tid=100 end.data \
	<<'END'
# without messages and bytes of CPUs' buffers, which are of all who ran there
instructions                        5
taken transfers                     2
losses                              0
END

# --- deep recursion -------------------------------------------------------------------------
printf '%s\n' '10000 main' 'call 10100' ret '10100 f' nop 'call 10100' ret | ./callprog >deep.elf
make 'calls in calls' <<'END'
r = Recording()
r.start('deep', 'deep.elf', 100, 10)
r.trace(stretch('deep.elf', 100, 1000, ['10000'] + ['10100', '10104'] * 3000, 9000, '10100'), 20000)
r.write('deep.data')
END
"$ntrace" profile --format=folded deep.data 2>stderr |
	awk -F';' 'NF > n { n = NF } END { print n - 1 }' >want
"$ntrace" profile --format=pprof deep.data >deep.pb 2>stderr &&
	python3 "$top/selftests/host/pprof.py" folded deep.pb >deep.stacks &&
	awk -F';' 'NF > n { n = NF } END { print n }' deep.stacks | cmp - want &&
	[ "$(cat want)" = 1024 ]
verdict $? 'stacks are cut at the same depth'
! grep -v '^main[; ]' deep.stacks &&
	! "$ntrace" profile --format=folded deep.data 2>stderr | grep -v '^[^;]*;main[; ]'
verdict $? '... in the middle: all begin in main'

# --- callgrind ------------------------------------------------------------------------------
printf '%s\n' '10000 main' nop ecall ret | ./callprog >ecall.elf
make 'a system call' <<'END'
r = Recording()
r.start('ecall', 'ecall.elf', 100, 10)
r.trace(encode('ecall.elf', ['# time 1000', '# start 10000 SYNC=5', '# context PRV=0 V=0 scontext=64', '10000',
                             '# time 1100', '# stop 10004 EVCODE=4', '# time 1500', '# start 10008 SYNC=5',
                             '10008', '# time 1600', '# stop 1000c EVCODE=4']), 20000)
r.write('ecall.data')
END
"$ntrace" profile --format=callgrind ecall.data >callgrind.out 2>stderr &&
	awk -F= '$1 == "cob" { cob = $2 } /^cfn=\[/ { n += cob == "???" } /^cfn=/ { cob = "" } END { exit !n }' callgrind.out
verdict $? 'callgrind: a system call is in no object'
if command -v callgrind_annotate >/dev/null; then
	callgrind_annotate callgrind.out >got 2>log && grep -q 'PROGRAM TOTALS' got
	verdict $? 'callgrind_annotate reads it'
else
	verdict 0 'callgrind_annotate # SKIP not installed'
fi

# --- the file that was recorded -------------------------------------------------------------
make 'a recording with a build-id, of a file that has none now' <<'END'
r = Recording()
r.start('one', 'one.elf', 100, 10, build_id=bytes([0x33] * 20))
r.trace(stretch('one.elf', 100, 1000, ['10000', '10004', '10100', '10104', '10108'], 1500, '10008'), 20000)
r.write('id.data')
END
"$ntrace" script id.data >got 2>stderr
[ $? = 1 ] && grep -q 'one.elf is not the file that was recorded' stderr
verdict $? 'a file without a build-id is not the one that had one'
bolt --elf one.elf id.data >got 2>stderr && grep -q '^B 10004 10100 1 0$' got
verdict $? '... unless it is given'

# --- the kernel -----------------------------------------------------------------------------
mkdir -p zeros.data/kcore_dir && cp end.data zeros.data/data
printf '%016x t %s\n' 0 first 0 second >zeros.data/kcore_dir/kallsyms
python3 - <<'END'
import struct
code = b'\x13\0\0\0' * 4
head = b'\x7fELF\1\1\1' + bytes(9) + struct.pack('<HHIIIIIHHHHHH', 4, 243, 1, 0, 52, 0, 0, 52, 32, 1, 0, 0, 0)
seg = struct.pack('<IIIIIIII', 1, 0x1000, 0xc0000000, 0, len(code), len(code), 7, 0x1000)
with open('zeros.data/kcore_dir/kcore', 'wb') as f:
    f.write(head + seg)
    f.seek(0x1000)
    f.write(code)
END
"$ntrace" script zeros.data >got 2>stderr && grep -q 'branches: .*call' got
verdict $? "a copy of an RV32 kernel's text"
"$ntrace" gdbserver --kernel-symbols=symbols.elf - zeros.data >got 2>stderr </dev/null
[ $? = 2 ] && grep -q 'has no symbols of the kernel' stderr
verdict $? 'symbols without addresses are none'

# --- code up to the end of a mapping --------------------------------------------------------------
# A run continues in the next file, without a branch. The last instruction, NOP, ends with zeros.
{ echo '10000 lib'; yes nop | head -n 1024; } | ./callprog >below.elf &&
	printf '%s\n' '11000 main' nop 'jump 10ff0' | ./callprog >above.elf &&
	{ echo '10000 lib'; yes nop | head -n 1024; printf '%s\n' '11000 main' nop 'jump 10ff0'; } |
	./callprog >joined.elf
verdict $? 'a file of code up to its end'
make 'two files that touch' <<'END'
r = Recording()
r.start('prog', 'above.elf', 100, 10)
for addr, size, offset in segments('below.elf'):
    r.mmap(100, addr, size, offset, os.path.abspath('below.elf'), 13)
rounds = ['10ff0', '10ff4', '10ff8', '10ffc', '11000', '11004'] * 100
r.trace(stretch('joined.elf', 100, 1000, rounds + ['10ff0'], 1500, '10ff4'), 20000)
r.write('touch.data')
END
"$ntrace" profile --format=bolt --elf above.elf touch.data >got 2>stderr
grep -qx 'F 11004 11004 100' got
verdict $? 'a run from one into the other: each time' got stderr

# --- messages without TSTAMP ------------------------------------------------------------------
# Their times are between those of the messages before and after them that have one, which may be
# in an interval that begins between the two.
make 'messages without TSTAMP' <<'END'
lines = ['# time 1000', '# start 10000 SYNC=5', '# context PRV=0 V=0 scontext=64']
for n in range(2000):
    lines += ['# time %d' % (1000 + 10000 * (n + 1)),
              '10000', '10004', '10100', '10104', '10108', '10008']
lines += ['# time 20002000', '# stop 10000 EVCODE=4']
for syncmax in 2, 6:
    trace = encode('one.elf', lines, ('htm', 'syncmode=1', 'syncmax=%d' % syncmax))
    for name, stamped in ('every', 1 << 20), ('some', 0), ('first', 40):
        r = Recording()
        r.start('prog', 'one.elf', 100, 10)
        r.trace(without_stamps(trace, stamped), 20003000)
        r.write('%s-%d.data' % (name, syncmax))
END
for name in {every,some,first}-{2,6}; do
	bad=0
	"$ntrace" script $name.data >whole 2>stderr
	for from in 0.0015 0.0052 0.0055 0.00565 0.0058 0.008; do
		to=$(awk -v from=$from 'BEGIN { print from + 0.001 }')
		awk -v from=$from -v to=$to '$4 + 0 >= from && $4 + 0 <= to' whole >want
		"$ntrace" script --time=$from,$to $name.data >got 2>>stderr
		cmp -s want got && [ "$(wc -l <got)" -ge 100 ] || bad=1
	done
	verdict $bad "intervals, $name messages have TSTAMP: $(wc -l <want) lines of $(wc -l <whole)" stderr
done

# --- a sink that was full --------------------------------------------------------------------
# The driver flags the loss that an Error message tells of. The next window of a shared sink may
# begin inside a message, so its first message is left out: that is another loss.
make 'windows with losses' <<'END'
there = ['10000', '10004', '10100', '10104', '10108']
lines = ['# time 30000', '# start 10000 SYNC=5', '# context PRV=0 V=0 scontext=64']
lines += ['10000', '10004', '10100', '10104', '10108', '10008'] * 200
lines += ['# time 40000', '# stop 10000 EVCODE=4']
options = 'htm', 'srcbits=1', 'src=0'
later = encode('one.elf', lines, options + ('syncmode=1', 'syncmax=1'))
overflow = bytes([8 << 2, 0, 2 << 2 | 1, 1 << 2 | 3])
first = stretch('one.elf', 100, 1000, there, 1500, '10008', options=options)
second = stretch('one.elf', 100, 10000, there, 11000, '10008', options=options)
for name, data, flags in (('none', first + second, 0), ('told', first + overflow + second, 0),
                          ('flag', first + second, 4), ('both', first + overflow + second, 4),
                          ('last', first + overflow, 4)):
    r = Recording(cpus=2)
    r.start('prog', 'one.elf', 100, 10)
    r.windows(0, [(data, 20000, 100, flags), (later, 50000, 100, 0)], shared=True)
    r.write('shared-%s.data' % name)
# The trace of a private sink's window ends before the message that says that it stops.
later = encode('one.elf', lines)
first = stretch('one.elf', 100, 1000, there, 1500, '10008')
second = stretch('one.elf', 100, 10000, there, 11000, '10008')
overflow = bytes([8 << 2, 0, 1 << 2 | 1, 1 << 2 | 3])
cut = b''.join(list(messages(second))[:-1])
for name, data in ('whole', first + overflow + second), ('cut', first + overflow + cut):
    r = Recording()
    r.start('prog', 'one.elf', 100, 10)
    r.windows(0, [(data, 20000, 100, 4), (later, 50000, 100, 0)])
    r.write('private-%s.data' % name)
END
for expected in shared-none:0:3 shared-told:1:3 shared-flag:1:3 shared-both:2:3 shared-last:1:2 \
	private-whole:1:3 private-cut:2:3; do
	IFS=: read -r name losses starts <<<"$expected"
	"$ntrace" script $name.data >got 2>stderr
	[ "$(grep -c '^# loss' got)" = $losses ] && [ "$(grep -c 'tr strt' got)" = $starts ]
	verdict $? "losses in a sink's window ($name): $losses" got stderr
done

# Two CPUs share a sink. The last messages of a window with trace of both are not in the file, or the
# window's AUX record was lost. Without the record, the window's place in the stream is unknown,
# because windows of the other buffer are later than the record before. The trace of each CPU is
# printed in order, and each CPU has a loss.
make 'a shared sink, of which something is missing' <<'END'
there = ['10000', '10004', '10100', '10104', '10108']
def part(number):
    return b''.join(stretch('one.elf', 100 + src, 10000 * number + 1000 * src, there,
                            10000 * number + 1000 * src + 500, '10008',
                            options=('htm', 'srcbits=1', 'src=%d' % src)) for src in (0, 1))
whole = [(part(n), 10000 * n + 2000, 100, 0) for n in range(1, 8)]
def lost(n):
    return whole[n][0], 0, 101, None
second = b''.join(list(messages(whole[1][0]))[:-2])
missing = len(whole[1][0]) - len(second)
for name, windows in (('nothing', (whole[1], whole[3], whole[5])),
                      ('bytes', ((second, 22000, 101, 0, missing), whole[3], whole[5])),
                      ('record', (lost(1), whole[3], whole[5])),
                      ('records', (whole[1], lost(3), lost(5), (part(8), 82000, 101, 0))),
                      ('end', (whole[1], whole[3], lost(5)))):
    r = Recording(cpus=2)
    r.start('prog', 'one.elf', 100, 10)
    r.start('prog', 'one.elf', 101, 20)
    r.windows(0, [whole[0], whole[2], whole[4], whole[6]], shared=True)
    r.windows(1, windows, shared=True)
    r.write('two-%s.data' % name)
# no start behind a loss that the flags alone tell of
later = list(messages(encode('one.elf', ['# time 30000', '# start 10000 SYNC=5'] + there * 9,
                             ('htm', 'srcbits=1', 'src=0'))))
r = Recording(cpus=2)
r.start('prog', 'one.elf', 100, 10)
overflow = bytes([8 << 2, 0, 2 << 2 | 1, 1 << 2 | 3])
r.windows(0, [(part(1) + overflow + part(2), 25000, 100, 4), (b''.join(later[1:]), 50000, 100, 0)],
          shared=True)
r.write('two-start.data')
END
# Each place where the window may belong is a loss.
for expected in nothing:0:0:14 bytes:1:1:13 record:1:3:9 records:1:5:8 end:1:3:10 start:2:0:2; do
	IFS=: read -r name first second starts <<<"$expected"
	"$ntrace" script two-$name.data >got 2>stderr
	bad=0
	for cpu in 0 1; do
		awk -v cpu=$cpu '!/^#/ && $3 == "[00" cpu "]" {
			if ($4 + 0 < last) exit 1; last = $4 + 0 }' got || bad=1
	done
	[ $bad = 0 ] && [ "$(grep -c '^# loss.* cpu 0 ' got)" = $first ] &&
		[ "$(grep -c '^# loss.* cpu 1 ' got)" = $second ] &&
		[ "$(grep -c 'tr strt' got)" = $starts ]
	verdict $? "a shared sink, missing: $name: losses of two CPUs: $first and $second" got stderr
done

# --- a stop and a start at one place --------------------------------------------------------
make 'trace that stops for 9 and for 12 ms, with another event meanwhile and without' <<'END'
for name, gap in ('short', 9000000), ('long', 12000000):
    for meanwhile in False, True:
        lines = ['# time 1000', '# start 10000 SYNC=5', '# context PRV=0 V=0 scontext=64', '10000',
                 '10004', '# time 2000', '# stop 10100 EVCODE=4', '# time %d' % (2000 + gap),
                 '# start 10100 SYNC=5', '# context PRV=0 V=0 scontext=64', '10100', '10104', '10108',
                 '# time %d' % (3000 + gap), '# stop 10008 EVCODE=4']
        r = Recording()
        r.start('prog', 'one.elf', 100, 10)
        if meanwhile:
            r.comm(101, 101, 'other', 1000 + gap)
        r.windows(0, [(encode('one.elf', lines), 20000000, 100, 0)])
        r.write('%s-%d.data' % (name, meanwhile))
END
for name in short long; do
	gives "... $name: another event makes no difference" 0 "$ntrace" script $name-1.data \
		< <("$ntrace" script $name-0.data)
done
[ "$("$ntrace" script short-0.data | grep -c 'tr end\|tr strt')" = 2 ] &&
	[ "$("$ntrace" script long-0.data | grep -c 'tr end\|tr strt')" = 4 ]
verdict $? '... 9 ms are a pause, 12 ms are not'

# --- a kernel that is patched ----------------------------------------------------------------
k=ffffffff80001
printf '%s\n' "${k}000 first" nop nop nop "jump ${k}030" "${k}020 now" nop ret \
	"${k}030 then" nop ret \
	"${k}040 rest" nop nop ret "${k}050 cold" nop ret \
	"${k}080 handler" nop nop mret |
	./callprog >text.start &&
	printf '%s\n' "${k}000 first" nop "jump ${k}020" "${k}020 now" nop ret \
		"${k}040 rest" nop nop ret "${k}050 cold" ret \
		"${k}080 handler" nop nop mret |
	./callprog >text.end &&
	for way in "start nop" "end jump ${k}020"; do
		read -r copy insn <<<"$way"
		printf '%s\n' "${k}000 first" nop "$insn" nop "jump ${k}030" "${k}020 now" \
			"call ${k}0a0" nop ret \
			"${k}030 then" nop ret "${k}040 rest" nop nop ret \
			"${k}080 handler" nop nop mret "${k}0a0 helper" ret |
			./callprog >calls.$copy || break
	done && ! cmp -s calls.start calls.end &&
	for way in "start nop" "end jump ${k}020"; do
		read -r copy insn <<<"$way"
		printf '%s\n' "${k}000 first" nop nop "$insn" nop "jump ${k}030" "${k}020 now" nop ret \
			"${k}030 then" nop ret "${k}040 rest" nop nop ret "${k}080 handler" nop nop mret |
			./callprog >late.$copy || break
	done && ! cmp -s late.start late.end &&
	for way in "start nop" "end jump ${k}008"; do
		read -r copy insn <<<"$way"
		{
			printf '%s\n' "${k}000 first" nop "$insn" "jump ${k}100" "${k}100 chain"
			for ((at = 0x104; at <= 0x1a0; at += 4)); do
				printf 'jump ffffffff80001%03x\n' $at
			done
			echo ret
		} | ./callprog >chain.$copy || break
	done && ! cmp -s chain.start chain.end
verdict $? 'two texts of a kernel, four times'
jumps()		# FROM TO: a chain of jumps, the last of which leads to TO
{
	local at

	for ((at = $1 + 4; at <= $2; at += 4)); do
		printf 'jump ffffffff8000%04x\n' $at
	done
}
for way in start end; do
	# a batch of events ends inside of the message that does not fit
	{
		echo "${k}010 first"; jumps 0x1010 0x119c; echo ret
		echo "${k}200 chain"; jumps 0x1200 0x138c
		[ $way = start ] && echo nop || echo "jump ${k}398"
		printf '%s\n' nop nop ret
	} | ./callprog >inside.$way &&
		# ResourceFull messages fit both
		{
			echo "${k}000 first"; echo nop
			[ $way = start ] && echo nop || echo "jump ${k}200"
			for ((n = 0; n < 40; n++)); do echo skip; done
			printf '%s\n' nop ret "${k}200 now"
			for ((n = 0; n < 40; n++)); do echo skip; done
			printf '%s\n' nop nop nop ret
		} | ./callprog >full.$way &&
		# what ran fits neither, and the other copy leads to where there is no code
		{
			echo "${k}000 first"; echo nop
			[ $way = start ] && echo nop || echo "jump ${k}f00"
			printf '%s\n' nop nop ret
		} | ./callprog >neither.$way &&
		# counting ends inside of a message
		{
			echo "${k}010 first"; jumps 0x1010 0x105c; echo ret
			echo "ffffffff80002000 chain"; jumps 0x2000 0x23ec
			[ $way = start ] && echo nop || echo "jump ffffffff800023f4"
			jumps 0x23f0 0x24e0; echo ret
		} | ./callprog >many.$way || break
done && printf '%s\n' "${k}000 first" nop "jump ${k}020" "${k}020 now" nop nop nop ret |
	./callprog >neither.real
verdict $? '... and four more'
make 'a kernel that is patched, twice' <<'END'
import shutil

def kernel(elf, begin, *ways):
    at = ['ffffffff80001' + a for w in ways for a in w.split()]
    return stretch(elf, 100, begin, at, begin + 600, 'ffffffff80001000', prv=1)

before, after = '000 004 008 00c 030 034 040 044 048', '000 004 020 024 040 044 048'
r = Recording()
r.fork(100, 100, 10)
r.comm(100, 100, 'prog', 11)
r.trace(kernel('text.start', 1000, before, before) + kernel('text.end', 3000, after, after, after) +
        kernel('text.start', 5000, before), 20000)
r.write('patched')
# what ran in the window before is no longer mapped when the kernel's other text is found
one, two = '10000 10004 10100 10104 10108'.split(), '10000 10004 10100 10108'.split()
r = Recording()
r.start('prog', 'one.elf', 100, 10)
for addr, size, offset in segments('two.elf'):
    r.mmap(100, addr, size, offset, os.path.abspath('two.elf'), 3000)
r.trace(stretch('one.elf', 100, 1000, one, 1500, '10008') + kernel('text.start', 2000, before) +
        stretch('two.elf', 100, 4000, two, 4500, '10008') + kernel('text.end', 5000, after) +
        stretch('two.elf', 100, 6000, two, 6500, '10008') + kernel('text.start', 7000, before), 20000)
r.write('replaced')
interrupted = lambda frm, to: ['# interrupt ffffffff80001%s ffffffff80001080' % frm] + \
    ['ffffffff80001' + a for a in ('080', '084', '088', to)]
all_jumps, implicit_return = 1 << 9, 1 << 3 | 3 << 6
cases = (('before', 'text', 'start', '000 004', '008 00c 030 034 040 044 048', ('htm',), 0),
         ('after', 'text', 'end', '000 004', '020 024 040 044 048', ('htm',), 0),
         ('btm', 'text', 'end', '000 004', '020 024 040 044 048', ('btm',), 0),
         ('stacked', 'calls', 'start', '000 004 008 00c 030', '034 040 044 048', ('htm', 'retstack=3'),
          implicit_return),
         # one fits
         ('apart', 'text', 'end', '000 004 020 024 040', '044 048', ('htm',), 0),
         ('jumps', 'text', 'end', '000 004', '020 024 040 044 048', ('htm', 'alljumps'), all_jumps),
         ('returns', 'calls', 'start', '000 004 008 00c 030', '034 040 044 048', ('htm', 'retstack=0'), 0))
# branches before it, so that these are counted
rounds = {'start': (before + ' ') * 20, 'end': (after + ' ') * 20}
cases += tuple((name + '-late', elf, copy, rounds[copy] + way, *rest)
               for name, elf, copy, way, *rest in cases[:4])
for name, elf, copy, way, back, options, features in cases:
    at = ['ffffffff80001' + a for a in way.split()]
    back = back.split()
    at += interrupted(back[0], back[0]) + ['ffffffff80001' + a for a in back[1:]]
    r = Recording()
    r.fork(100, 100, 10)
    r.comm(100, 100, 'prog', 11)
    r.trace(stretch(elf + '.' + copy, 100, 1000, at, 1600, 'ffffffff80001000', prv=1, options=options), 20000,
            mode=3 if options[0] == 'btm' else 6, features=features)
    r.write(name)
# more jumps without a message than are decoded at once: what tells that both copies fit comes late
for times in 1, 2, 5, 20:
    at = ['ffffffff80001%03x' % a for a in (0, 4, 8, *range(0x100, 0x1a4, 4))] * times
    r = Recording()
    r.fork(100, 100, 10)
    r.comm(100, 100, 'prog', 11)
    r.trace(stretch('chain.start', 100, 1000, at, 1600, 'ffffffff80001000', prv=1), 20000, mode=6)
    r.write('chain-%d' % times)
chains = ['chain-%d.data' % times for times in (1, 2, 5, 20)]

# sync messages: one without an event, which was used, one inside of what was patched, one before a
# record, and one where both copies agree
def other_nop(text, new):   # the second NOP is another one
    shutil.copy('late.start', new + '.start')
    with open(text, 'rb') as f:
        text = bytearray(f.read())
    at = text.index(bytes.fromhex('13000000' * 2)) + 4
    text[at:at + 4] = bytes.fromhex('13001000')
    with open(new + '.end', 'wb') as f:
        f.write(text)
other_nop('late.end', 'wide')
other_nop('late.start', 'same')
syncs = {
    'late1': ('late.end', '030 034 040 044 sync:048 048 000 004 008 int 020 024 040 044 048', 2, 0),
    'wide1': ('wide.end', '000 004 sync:008 008 int 020 024 040 044 048', None, 0),
    'late2': ('late.start', '000 004 008 00c 010 030 034 sync:040 time:1300 040 044 time:1500 '
              '048 040 044 048', None, 1400),
    'same1': ('same.start', '000 004 008 00c 010 030 034 sync:040 040 044 048', None, 0),
}
for name, (elf, way, stamped, record) in syncs.items():
    at = []
    for a in way.split():
        kind, _, value = a.partition(':')
        at += ['# sync ffffffff80001%s SYNC=2' % value] if kind == 'sync' else \
            ['# time ' + value] if kind == 'time' else \
            interrupted('020', '')[:-1] if kind == 'int' else ['ffffffff80001' + a]
    data = one_context(stretch(elf, 100, 1000, at, 1600, 'ffffffff80001000', prv=1))
    r = Recording()
    r.fork(100, 100, 10)
    r.comm(100, 100, 'prog', 11)
    r.trace(data if stamped is None else without_stamps(data, stamped), 20000, mode=6)
    if record:
        r.comm(101, 101, 'other', record)
    r.write(name)

# decoded again with the other copy: name, and stretches of text, first address, addresses
def low(*ranges):
    return ['ffffffff8000%04x' % a for r in ranges for a in r]
first, chain = range(0x1010, 0x11a0, 4), [*range(0x1200, 0x1390, 4), 0x1398]
again = {
    'inside': [('inside.end', first, first, chain, first), ('inside.end', first)],
    'inside2': [('inside.end', first, first, first, first, chain, first, first),
                ('inside.end', first)],
    'full': [('full.start', range(0x1000, 0x10b0, 4)),
             ('full.end', *[[0x1000, 0x1004, *range(0x1200, 0x12b0, 4)]] * 3),
             ('full.start', range(0x1000, 0x10b0, 4))],
    'neither': [('neither.start', range(0x1000, 0x1014, 4)),
                ('neither.real', [0x1000, 0x1004, *range(0x1020, 0x1030, 4)]),
                ('neither.start', range(0x1000, 0x1014, 4))],
}
for k in range(8, 21):
    part = range(0x1010 + 4 * (20 - k), 0x1060, 4)
    shorter = [*range(0x2000, 0x23f0, 4), *range(0x23f4, 0x24e4, 4)]
    again['many%d' % k] = [('many.start', part, range(0x2000, 0x24e4, 4), part),
                           ('many.end', part, shorter, part)]
for name, stretches in again.items():
    r = Recording()
    r.fork(100, 100, 10)
    r.comm(100, 100, 'prog', 11)
    data = b''
    for i, (elf, *ranges) in enumerate(stretches):
        data += stretch(elf, 100, 1000 + 1000 * i, low(*ranges), 1600 + 1000 * i, low(ranges[0])[0],
                        prv=1)
    r.trace(data, 20000)
    r.write(name)
for name in ['once.data', 'patched.data', 'replaced.data'] + chains + \
        [c[0] + '.data' for c in cases] + [name + '.data' for name in [*again, *syncs]]:
    for copy, folder in ('start', 'kcore_dir'), ('end', 'kcore_dir__4294967295'):
        if name != 'once.data' or copy == 'start':
            os.makedirs(name + '/' + folder, exist_ok=True)
            text = 'calls.' if name.split('.')[0] in ('stacked', 'returns', 'stacked-late') else \
                'chain.' if name in chains else \
                name[:-5].strip('0123456789') + '.' if name[:-5] in [*again, *syncs] else 'text.'
            shutil.copy(text + copy, name + '/' + folder + '/kcore')
    shutil.copy('patched' if name == 'once.data' else name[:-5], name + '/data')
    with open(name + '/kcore_dir/kallsyms', 'w') as f:
        for a, s in ('000', 'first'), ('020', 'now'), ('030', 'then'), ('040', 'rest'), ('080', 'handler'), ('0a0', 'helper'):
            f.write('ffffffff80001%s t %s\n' % (a, s))
END
"$ntrace" script patched.data >lines 2>stderr &&
	sed -E -n 's/.* [0-9a-f]+ ([a-z]+\+0x[0-9a-f]+) => +[0-9a-f]+ ([a-z]+\+0x[0-9a-f]+).*/\1 \2/p' lines >got
verdict $? 'a kernel that is patched is decoded' stderr
before='first+0xc then+0x0,then+0x4 rest+0x0,rest+0x8 first+0x0'
after='first+0x4 now+0x0,now+0x4 rest+0x0,rest+0x8 first+0x0'
tr , '\n' <<<"$before,$before,$after,$after,$after,$before" >want
diff want got | sed 's/^/# /'
cmp -s want got
verdict $? '... before, meanwhile, and when it is as before: what ran'
[ "$(grep -c 'the kernel was patched while recording' stderr)" = 2 ] &&
	grep -qx 'ntrace: the kernel was patched while recording: 0xffffffff80001004..0xffffffff80001010 in first differs between start and end' stderr
verdict $? '... and where, in words, but nothing of what never ran'
"$ntrace" profile --format=edges patched.data >got 2>stderr
grep -qx 'ntrace: 18 transfers of the kernel left out' stderr
verdict $? '... each counted once'
before_user='main+0x4 f+0x0,f+0x8 main+0x8'
after_user='main+0x4 f+0x0,f+0x0 f+0x8,f+0x8 main+0x8'
tr , '\n' <<<"$before_user,$before,$after_user,$after,$after_user,$before" >want
"$ntrace" script replaced.data >lines 2>stderr
verdict $? 'user code was replaced before the kernel was patched' stderr
sed -E -n 's/.* [0-9a-f]+ ([a-z]+\+0x[0-9a-f]+).* => +[0-9a-f]+ ([a-z]+\+0x[0-9a-f]+).*/\1 \2/p' lines >got
diff want got | sed 's/^/# /'
cmp -s want got
verdict $? '... all of it is decoded once'
"$ntrace" stat replaced.data >got 2>stderr && grep -qx 'taken transfers  *17' got
verdict $? '... and counted once' got stderr
# Each address is an instruction. All jumps and returns are taken transfers, and no "skip" is.
for case in inside:501:501 inside2:801:801 full:226:8 \
	many8:657:656 many13:677:676 many16:689:688 many20:705:704; do
	IFS=: read -r name insns taken <<<$case
	for how in "" --one-by-one --time=0%-100%; do
		# shellcheck disable=SC2086
		"$ntrace" stat $how $name.data >got 2>stderr &&
			grep -qx "instructions  *$insns" got &&
			grep -qx "taken transfers  *$taken" got
		verdict $? "decoded again, $name $how: $insns instructions, $taken transfers" \
			got stderr
	done
done
failures=0
for name in many{8..20}; do "$ntrace" stat $name.data >got 2>&1 || failures=$((failures + 1)); done
[ $failures = 0 ]
verdict $? '... wherever counting ends' got
"$ntrace" script neither.data >lines 2>stderr
[ $? = 1 ] && [ "$(grep -c '^# loss' lines)" = 1 ] &&
	[ "$(grep -c 'rst+0x10 => .* first+0x0' lines)" = 2 ] &&
	[ "$(grep -c '=>' lines)" = 5 ]
verdict $? 'what fits neither copy is one loss, and what follows is decoded' lines stderr
# An interrupt right behind the patched instruction fits both copies. It fits one of them where a
# return or a direct jump is reported.
for name in before after btm stacked; do
	"$ntrace" script $name.data >lines 2>stderr
	[ $? = 1 ] && [ "$(grep -c '^# loss' lines)" = 1 ] &&
		grep -q "^# loss .* ip 0x${k}004 .*: patched here, both copies of the kernel fit: AUX" lines
	verdict $? "an interrupt behind what was patched, $name: a loss" lines stderr
	sed -E -n 's/.* [0-9a-f]+ ([[a-z]+\S*) => +[0-9a-f]+ ([[a-z]+\S*).*/\1 \2/p' lines >got
	case $name in
	before) on_from=first+0x8 on='first+0xc then+0x0,then+0x4 rest+0x0' ;;
	stacked) on_from=then+0x4 on='then+0x4 rest+0x0' ;;
	*) on_from=now+0x0 on='now+0x4 rest+0x0' ;;
	esac
	tr , '\n' <<<"[unknown] first+0x0,[unknown] handler+0x0,handler+0x8 $on_from,$on,rest+0x8 first+0x0,first+0x0 [unknown]" >want
	diff want got | sed 's/^/# /'
	cmp -s want got
	verdict $? '... and what is around it is right'
done
for name in before after btm stacked; do
	losses=$("$ntrace" script $name-late.data 2>/dev/null | grep -c '^# loss')
	for how in "" --one-by-one --time=0%-100%; do
		# shellcheck disable=SC2086
		"$ntrace" stat $how $name-late.data >got$how 2>stderr
		[ $? = 1 ] && [ $losses -ge 1 ] && grep -qx "losses  *$losses" got$how
		verdict $? "... nor is it passed over where branches are counted, $name $how" got$how stderr
	done
	cmp -s <(grep -E '^(instructions|taken)' got) <(grep -E '^(instructions|taken)' got$how)
	verdict $? "... and the totals are the same, $name: $(sed -n 's/^instructions  *//p' got), losses: $losses"
done
for times in 1 2 5 20; do
	"$ntrace" stat chain-$times.data >got 2>stderr
	[ $? = 1 ] && grep -qx "losses  *$times" got &&
		[ "$("$ntrace" script chain-$times.data 2>stderr | grep -c '^# loss .* ip 0xffffffff80001004 .*: patched here')" = $times ]
	verdict $? "... nor is it passed over in a long message, $times times" got stderr
done
for name in late1 wide1; do
	"$ntrace" script $name.data >lines 2>stderr
	[ $? = 1 ] && ! grep -q 'first+0xc => ' lines &&
		[ "$(grep -c '^# loss .*: patched here, both copies of the kernel fit' lines)" = 1 ]
	verdict $? "... nor is it passed over where a sync message is near, $name" lines stderr
done
"$ntrace" script late2.data >lines 2>stderr && [ "$(grep -c '=>' lines)" = 6 ]
verdict $? '... one copy fits up to a sync message, and another record follows: nothing is lost' \
	lines stderr
"$ntrace" script same1.data >lines 2>stderr && [ "$(grep -c '=>' lines)" = 5 ]
verdict $? '... both copies fit on the same path up to a sync message: nothing is lost' lines stderr
for name in apart jumps returns; do
	"$ntrace" script $name.data >lines 2>stderr && grep -q 'hw int .* handler' lines
	verdict $? "... one copy fits, $name: nothing is lost" lines stderr
done
"$ntrace" script once.data >got 2>stderr
[ $? = 1 ] && grep -q '^# loss' got
verdict $? 'with one copy of its text, what does not fit is lost'

# --- what is refused, and how ---------------------------------------------------------------
says()		# DESCRIPTION WORDS COMMAND...
{
	local description=$1 words=$2 status=0
	shift 2

	"$ntrace" "$@" >got 2>stderr || status=$?
	[ $status = 2 ] && grep -qF -- "$words" stderr
	verdict $? "$description"
}
{ printf 2ELIFREP; tail -c +9 end.data; } >big.data
for command in script stat decode dump calls timeline profile 'profile --elf one.elf' \
	'profile --format=pprof' \
		coverage 'gdbserver -'; do
	# shellcheck disable=SC2086
	says "a big-endian file: $command" 'was recorded on a big-endian machine' $command \
		big.data </dev/null
done
for command in 'calls --elf one.elf' 'decode --elf one.elf' 'profile --elf one.elf' stat dump; do
	# shellcheck disable=SC2086
	says "a perf.data from a pipe: $command" 'ntrace script reads it from a pipe' $command - \
		< <(cat end.data)
done
for command in calls decode profile coverage; do
	says "a perf.data from a pipe: $command" 'only ntrace script reads one from a pipe' \
		$command - < <(cat end.data)
done
says 'a perf.data from a pipe: timeline' 'ntrace script reads it from a pipe' timeline - \
	< <(cat end.data)
"$ntrace" script end.data >want
cat end.data | "$ntrace" script - | cmp - want
verdict $? '... which it does'
says 'no such function' "no function \`nosuch' was executed" calls --function=nosuch end.data
says 'a parameter for raw traces' 'parameters are for raw traces' stat --work-per-byte=5 end.data

# --- counts that are as large as can be -----------------------------------------------------
"$ntrace" profile --format=edges -o reuse.edges reuse.data 2>stderr &&
	"$ntrace" merge --flatten --weight=2 -o twice.edges reuse.edges 2>stderr
verdict $? 'counts of a recording'
"$ntrace" merge --flatten --weight=18446744073709551615 -o most.edges reuse.edges 2>stderr
[ $? = 1 ] && grep -q '^ntrace: [1-9][0-9]* sums are more than a count can be' stderr
verdict $? 'a sum that is more than a count can be: status 1'
says 'a profile of such counts is refused' 'add up to more than can be counted' profile \
	--elf one.elf most.edges
"$ntrace" profile --format=bolt --elf one.elf twice.edges >got 2>stderr &&
	grep -q '^B 10004 10100 ' got
verdict $? '... not of others'

# --- a task that becomes another -------------------------------------------------------------
printf '%s\n' '10000 main' nop 'call 10100' nop ret '10100 f' nop 'jump 10110' \
	'10110 tail' nop ret | ./callprog >old.elf &&
	printf '%s\n' '10000 other' nop nop nop 'call 10100' nop ret '10100 g' nop ret \
		'10110 never' nop ret | ./callprog >new.elf
verdict $? 'programs'
make 'recordings of tasks that become others' <<'END'
def mapped(r, elf, pid, time):
    for addr, size, offset in segments(elf):
        r.mmap(pid, addr, size, offset, os.path.abspath(elf), time)

one = ['10000', '10004', '10100', '10104', '10108']
r = Recording()
r.comm(100, 100, 'oldprog', 0, exec=False)
mapped(r, 'old.elf', 100, 0)
r.comm(100, 100, 'newprog', 2000)
mapped(r, 'new.elf', 100, 2100)
r.exit(100, 100, 9000)
r.trace(stretch('old.elf', 100, 1000, ['10000', '10004', '10100', '10104'], 1500, '10110') +
        stretch('new.elf', 100, 3000, ['10000', '10004', '10008', '1000c', '10100', '10104'], 3500, '10010'),
        20000)
r.write('exec.data')
r = Recording()
r.comm(100, 100, 'multi', 0, exec=False)
mapped(r, 'one.elf', 100, 0)
r.fork(200, 200, 10)
r.comm(200, 200, 'one', 11)
mapped(r, 'one.elf', 200, 12)
r.exit(200, 200, 3000)
r.fork(100, 200, 4000, parent=100)
r.exit(100, 100, 9000)
r.trace(stretch('one.elf', 200, 1000, one, 1500, '10008') + stretch('one.elf', 200, 5000, one, 5500, '10008') +
        stretch('one.elf', 100, 6000, one, 6500, '10008') + stretch('one.elf', 200, 7000, one, 7500, '10008'),
        20000, pid=200)
r.write('number.data')
r = Recording()
r.comm(100, 100, 'prog', 0, exec=False)
mapped(r, 'one.elf', 100, 0)
r.exit(100, 100, 90000000)
r.trace(stretch('one.elf', 100, 1000000, one[:4], 31000000, '10108'), 80000000)
r.write('behind.data')
r = Recording()
r.start('one', 'one.elf', 100, 10)
r.trace(stretch('one.elf', 100, 1000, one, 1500, '10008'), 20000, more=1 << 33)
r.write('huge.data')
END
# short FILE OPTION...: task, time, ways
short()
{
	local status=0

	"$ntrace" script "$@" >lines || status=$?
	same_form <lines | awk '{ sub(/branches: /, ""); sub(/ \[000\]/, ""); print }'
	return $status
}
gives 'more bytes than any buffer has are a loss' 1 short huge.data <<'END'
# loss time 0.000000000 cpu 0 pid -1 tid -1 ip 0 code 6: 0x200000015 bytes at 0: no buffer is so large
END
gives 'a stop is of the program that stopped' 0 short exec.data <<'END'
oldprog 100 0.000001000: tr strt 0 [unknown] => 10000 main+0x0
oldprog 100 0.000001250: call 10004 main+0x4 => 10100 f+0x0
oldprog 100 0.000001500: jmp 10104 f+0x4 => 10110 tail+0x0
oldprog 100 0.000001500: tr end 10110 tail+0x0 => 0 [unknown]
newprog 100 0.000003000: tr strt 0 [unknown] => 10000 other+0x0
newprog 100 0.000003333: call 1000c other+0xc => 10100 g+0x0
newprog 100 0.000003500: return 10104 g+0x4 => 10010 other+0x10
newprog 100 0.000003500: tr end 10010 other+0x10 => 0 [unknown]
END

# --- perf says the same ----------------------------------------------------------------------
perf=$top/build/perf-x86_64/perf
if [ -x "$perf" ] && "$perf" version >/dev/null 2>&1; then
	export HOME=$scratch PERF_CONFIG=$top/selftests/lab/exact.perfconfig
	# Not: what perf refuses or asks build-ids about, names with line feeds, records that perf
	# counts elsewhere, a loss at time 0, a kernel without mappings (lab/text has one with).
	for file in *.data; do
		case $file in builds.data|cut.data|huge.data|id.data|lost.data|names.data|once.data|samples.data) continue ;; esac
		[ ! -e $file/kcore_dir__4294967295 ] || continue
		status=0
		"$ntrace" script "$file" >lines 2>stderr || status=$?
		[ $status -le 1 ] || continue
		same_form <lines >want
		"$perf" script -i "$file" --ns --itrace=be \
			-F comm,tid,cpu,time,event,ip,sym,symoff,addr,flags 2>stderr |
			same_form >got
		diff -a want got | head -20 | sed 's/^/# /'
		cmp -s want got && [ -s got ]
		verdict $? "$file: perf prints the same"
	done
else
	echo '# no perf with ntrace that runs here'
fi
finish
