#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Random recordings (parts.py): with losses, damage and pauses, with threads that move between CPUs
# or end, divided at any time. ntrace profile and stat print in threads what one thread prints, and
# ntrace script prints what perf prints. SEED=N repeats a run.

. "$(dirname "$0")/records.bash"

"${CC:-gcc}" -std=gnu11 -Wall -Wextra -o callprog "$top/selftests/host/callprog.c" &&
	printf '%s\n' '10000 main' nop 'call 10100' 'jump 10000' '10100 f' nop nop ret |
	./callprog >one.elf &&
	printf '%s\n' '20000 main' nop 'call 20100' 'jump 20000' '20100 f' nop nop ret |
	./callprog >high.elf
verdict $? 'two programs'

# run OUT COMMAND...: what it prints, and its status
run()
{
	local out=$1 status=0
	shift

	"$ntrace" "$@" >"$out" 2>"$out.messages" || status=$?
	echo "status $status" >>"$out.messages"
}

seed=${SEED:-$RANDOM}
RANDOM=$seed
echo "# SEED=$seed"

# same: whatever the format and the number of threads
same()
{
	local choice threads

	for choice in 'profile --elf=one.elf --format=bolt' 'profile --format=edges' \
		'profile --elf=one.elf --format=bolt --tid=101,110,112,121,200' stat; do
		run one $choice r.data
		for threads in 2 3 7; do
			run many $choice --threads=$threads r.data
			cmp -s one many && cmp -s one.messages many.messages && continue
			echo "# $choice --threads=$threads:"
			diff one.messages many.messages | sed 's/^/# /'
			[ "$choice" = 'profile --format=edges' ] || diff one many | sed 's/^/# /'
			return 1
		done
	done
}

# counted_as_single OPTION...: counting gives what is decoded branch by branch
counted_as_single()
{
	local choice

	for choice in 'profile --elf=one.elf --format=bolt' stat; do
		run counted $choice "$@" r.data
		run single $choice --one-by-one "$@" r.data
		cmp -s counted single && cmp -s counted.messages single.messages && continue
		echo "# $choice $*:"
		diff counted.messages single.messages | sed 's/^/# /'
		diff counted single | sed 's/^/# /'
		return 1
	done
}

# Lines of transfers and losses of these times, FROM,TO in ns
within()
{
	awk -v intervals="$*" 'BEGIN { nr = split(intervals, interval, " ") }
	$0 !~ / tr (strt|end) / {
		at = $4
		gsub(/[.:]/, "", at)
		for (i = 1; i <= nr; i++) {
			split(interval[i], end, ",")
			if (at + 0 >= end[1] + 0 && at + 0 <= end[2] + 0) {
				print
				next
			}
		}
	}' | LC_ALL=C sort
}

# is_part FROM,TO...: in ns. What is printed of these times is a part of the whole, and counting
# gives the same there, too.
is_part()
{
	local when= in

	for in; do
		when+=" $(awk -F, '{ printf "%.9f,%.9f", $1 / 1e9, $2 / 1e9 }' <<<"$in")"
	done
	"$ntrace" script r.data 2>err | within "$@" >want
	"$ntrace" script --time="${when# }" r.data 2>err | within "$@" >got
	cmp -s want got && counted_as_single --time="${when# }" && return
	echo "# --time='${when# }'"
	diff want got | head -10 | sed 's/^/# /'
	return 1
}

# Where a byte of a time is wrong, what is in an interval depends on where decoding begins.
intervals()
{
	local from to next

	"$ntrace" script r.data 2>err |
		awk '/ => / && !/^#/ { gsub(/[.:]/, "", $4); print $4 + 0 }' | sort -n >times
	for _ in 1 2 3; do
		from=$(sed -n "$((RANDOM * RANDOM % $(wc -l <times) + 1))p" times)
		to=$((from + RANDOM * RANDOM % (RANDOM % 2 ? 100000 : 10000000)))
		next=$((to + RANDOM * RANDOM % 10000000))
		is_part $from,$to && is_part $from,$to $next,$((next + RANDOM * RANDOM % 1000000)) &&
			is_part $from,$to $((from / 2 + to / 2)),$next || return 1
	done
}

# Losses have other words in perf, which has less room for them.
form()
{
	same_form | sed -E 's/^(# loss .* code [0-9]+: ).*/\1/; s/^(# loss time 0)\.0+ /\1 /' |
		LC_ALL=C sort
}
perf=$top/build/perf-x86_64/perf
export HOME=$scratch PERF_CONFIG=$top/selftests/lab/exact.perfconfig
as_perf()
{
	"$ntrace" script r.data 2>err | form >want
	"$perf" script -i r.data --ns --itrace=be \
		-F comm,tid,cpu,time,event,ip,sym,symoff,addr,flags 2>err | form >got
	diff -a want got | head -20 | sed 's/^/# /'
	cmp -s want got && [ -s got ]
}

for ((i = 0; i < ${ROUNDS:-16}; i++)); do
	python3 "$top/selftests/host/parts.py" $((seed + i)) r.data && same &&
		grep -q 'status [01]' one.messages
	verdict $? "a random recording, seed $((seed + i))"
	if [ -x "$perf" ] && "$perf" version >/dev/null 2>&1; then
		as_perf
		verdict $? '... perf prints the same'
	fi
	counted_as_single && python3 "$top/selftests/host/parts.py" $((seed + i)) r.data intact &&
		intervals
	verdict $? '... the same branch by branch, and at some times'
done

# --- what one part must know of those before it ----------------------------------------------
printf '%s\n' '7f00000000010000 main' nop 'call 7f00000000010100' 'jump 7f00000000010000' \
	'7f00000000010100 f' nop nop ret | ./callprog >far.elf &&
python3 - >log 2>&1 <<'END'
import os
import struct
from records import Recording, encode, messages, segments

MS = 1000000
LOOP = [0x10000, 0x10004, 0x10100, 0x10104, 0x10108, 0x10008]


def context(tid):
    return ['# context PRV=0 V=0 scontext=%x' % tid]


def rounds(nr, begin, end):
    lines = []
    for k in range(nr):
        lines += ['%x' % a for a in LOOP] + ['# time %d' % (begin + (end - begin) * k // nr)]
    return lines


def run(tid, begin, end, other=None):
    """From begin to end; another thread follows without a stop"""
    lines = ['# time %d' % begin, '# start 10000 SYNC=5'] + context(tid) + rounds(20, begin, end)
    if other:
        lines += ['10000', '10004', '10100', '# time %d' % end] + context(other)
        lines += ['10104', '10108', '10008'] + rounds(3, end, end)
    return lines + ['# time %d' % end, '# stop 10000 EVCODE=4']


def window(tid, begin, end, other=None, closed=None):
    return encode('one.elf', run(tid, begin, end, other)), closed or end + MS // 10, tid, 0


def every_ms(tid, last):
    return [window(tid, k * MS + 100, k * MS + 500) for k in range(1, last)]


def others(r, first_exit):
    for i in range(200):
        r.start('other', 'one.elf', 1000 + i, 30 + i)
    for i in range(200):
        r.exit(1000 + i, 1000 + i, first_exit + i * 150000)


# a task runs on after its EXIT, while many others end
r = Recording(cpus=2)
r.start('prog', 'one.elf', 100, 10)
r.start('prog', 'one.elf', 300, 20)
others(r, 3 * MS)
r.exit(100, 100, 2 * MS)
r.windows(0, [window(100, a, b, closed=c) for a, b, c in (
    (100, MS - 100, MS), (5 * MS, 10 * MS, 10 * MS), (20 * MS + 100, 20 * MS + 100, 30 * MS),
    (45 * MS, 47 * MS, 47 * MS), (60 * MS, 65 * MS, 65 * MS))])
r.windows(1, every_ms(300, 70))
r.write('exit.data')
# a number is used again without a FORK; its first thread was left in the middle of a run
r = Recording(cpus=2)


def begin(pid, time):
    r.comm(pid, pid, 'prog', time)
    for addr, size, offset in segments('one.elf'):
        r.mmap(pid, addr, size, offset, os.path.abspath('one.elf'), time + 1)


for pid in 100, 200, 300:
    begin(pid, 10 + pid)
others(r, 37 * MS)
r.exit(100, 100, 36 * MS)
begin(100, 75 * MS)
r.windows(0, [window(100, MS, 9 * MS, 200), window(200, 25 * MS, 30 * MS),
              window(100, 80 * MS, 85 * MS)])
r.windows(1, every_ms(300, 80))
r.write('again.data')
# two files of one name; neither is there
r = Recording()
for pid, letter in (100, b'a'), (200, b'b'):
    r.start('prog', 'one.elf', pid, pid, path='/nowhere/one.elf', build_id=letter * 20)
r.windows(0, every_ms(100, 35) + [window(200, k * MS + 100, k * MS + 500) for k in range(36, 70)])
r.write('names.data')
# late in the recording, the event's parameters have an unknown version
r = Recording()
r.start('prog', 'one.elf', 100, 10, path='/nowhere/one.elf')
r.windows(0, every_ms(100, 300))
r.unknown_terms(290, 9)
r.unknown_terms(20, 7)
r.write('terms.data')


class OfTask(Recording):
    def record(self, type, misc, body, *a, **k):
        if type == 69:	# all buffers follow a task
            body = body[:8] + b''.join(body[i:i + 24] + struct.pack('<Q', 100)
                                       for i in range(8, len(body), 32))
        super().record(type, misc, body, *a, **k)


# a task that only trace names
r = OfTask(cpus=2)
r.start('prog', 'one.elf', 100, 10)
first = encode('one.elf', run(500, MS, 2 * MS) + run(100, 3 * MS, 4 * MS))
r.windows(0, [(first, 5 * MS, 100, 0), window(100, 26 * MS, 27 * MS, closed=28 * MS),
              (encode('one.elf', run(500, 45 * MS, 46 * MS)), 47 * MS, 100, 0)], kernel=True)
r.windows(1, every_ms(100, 70), kernel=True)
r.write('named.data')
# the leader of a process has ended; one of its threads makes another one
def thread(r, tid, parent, time):
    r.record(7, 0, struct.pack('<iiiiQ', 100, 100, tid, parent, time), 100, parent, time)


r = Recording(cpus=2)
r.start('prog', 'one.elf', 100, 10)
thread(r, 101, 100, 15)
r.start('prog', 'one.elf', 300, 20)
others(r, 3 * MS)
r.exit(100, 100, 2 * MS)
thread(r, 102, 101, 60 * MS)
r.windows(0, [window(101, 100, MS - 100)] + every_ms(300, 60) +
          [window(tid, at * MS + 100, at * MS + 500) for tid, at in ((101, 65), (102, 70), (101, 72))])
r.windows(1, every_ms(300, 80))
r.write('leader.data')
# of the parts, one goes on behind another, and ends the command
r = Recording()
r.start('prog', 'one.elf', 100, 10)
r.start('prog', 'one.elf', 200, 20, path='/nowhere/two.elf', build_id=b'b' * 20)
r.windows(0, [window(200 if 130 <= k < 180 else 100, k * MS + 100, k * MS + 500)
              for k in range(1, 300)])
r.unknown_terms(290, 9)
r.write('words.data')
# the first of a thread in a part is a loss with an address
base = 0x7f00000000000000
r = Recording(cpus=2)
r.start('prog', 'far.elf', 100, 10)
r.start('prog', 'one.elf', 200, 20)
loop = ['%x' % (base + a) for a in LOOP]
data = encode('far.elf', ['# time %d' % MS, '# start %s SYNC=5' % loop[0]] + context(100) + loop * 50 +
              ['# time %d' % (30 * MS)] + loop * 3 +
              ['# time %d' % (40 * MS), '# stop %s EVCODE=4' % loop[0]])
parts = list(messages(data))
[m for m in parts if len(m) > 6][1][1] ^= 0x10
r.windows(0, [(b''.join(parts), 40 * MS + 10, 100, 0)])
r.windows(1, every_ms(200, 45))
r.write('loss.data')


def stretch(begin, end, nr=400, last=None):
    run = ['# start 10000 SYNC=5'] + context(100)
    for k in range(nr):
        run += ['%x' % a for a in LOOP] + ['# time %d' % (begin + (end - begin) * k // nr)]
    return ['# time %d' % begin] + run[:last] + ['# time %d' % end, '# stop 10000 EVCODE=4']


# a shared sink: what a funnel held came a window later
shared = ('htm', 'srcbits=1', 'src=0')
r = Recording(cpus=2)
r.start('prog', 'one.elf', 100, 10)
early = encode('one.elf', stretch(MS, 2 * MS) + stretch(3 * MS, 4 * MS), shared)
r.windows(0, [(early, 5 * MS, 100, 0),
              (encode('one.elf', stretch(4200000, 4900000) + stretch(7 * MS, 7100000) +
                      stretch(9 * MS, 10 * MS), shared), 10000100, 100, 0)], shared=True)
r.write('late.data')
# a message reports the loss that the window's flag reports
r = Recording()
r.start('prog', 'one.elf', 100, 10)
data = encode('one.elf', stretch(3 * MS, 4 * MS, 40)[:-1] +
              ['# stop 10000', '# start 10000 SYNC=7'] + stretch(4 * MS, 5 * MS, 40)[2:] +
              stretch(6 * MS, 7 * MS))
parts = list(messages(data))
at = [i for i, m in enumerate(parts) if m[0] >> 2 == 9 and m[1] >> 2 & 15 == 7][0]
parts.insert(at, bytes([8 << 2, 1, 5 << 2 | 3]))	# Error, with a TSTAMP of 5
r.windows(0, [window(100, MS, 2 * MS, closed=2000100), (b''.join(parts), 7000100, 100, 4)])
r.write('partial.data')
END
verdict $? 'recordings where the beginning of a part depends on others' log
for name in exit again names terms named leader words loss; do
	cp $name.data r.data && same
	verdict $? "... $name"
done
cp late.data r.data && is_part 4200000,4950000 9300000,9500000
verdict $? 'two intervals of a shared sink, of which a funnel held something back'
cp partial.data r.data && is_part 6500000,8000000
verdict $? 'a loss before an interval is not reported again'
"$ntrace" script leader.data 2>err | awk '{ print $1, $2 }' | LC_ALL=C sort -u >got
printf '%s\n' 'prog 101' 'prog 102' 'prog 300' | cmp - got
verdict $? 'threads keep their number when the leader of their process has ended' got

python3 "$top/selftests/host/parts.py" 7 r.data
verdict $? 'a recording of many windows'
# The threads must be there: they are asked for, and cannot be started.
cat >none.c <<'END'
#include <errno.h>
#include <pthread.h>
int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *arg)
{
	return (void)t, (void)a, (void)f, (void)arg, EAGAIN;
}
END
"${CC:-gcc}" -shared -fPIC -o none.so none.c
LD_PRELOAD=$PWD/none.so "$ntrace" profile --threads=3 --elf one.elf r.data >out 2>err
[ $? = 2 ] && grep -q '^ntrace: cannot start thread 2 of 3: .*; --threads asks for fewer$' err
verdict $? 'a recording is divided between as many threads as asked for'
for choice in --threads=1 '--threads=3 --time=0,1'; do
	LD_PRELOAD=$PWD/none.so "$ntrace" profile $choice --elf one.elf r.data >out 2>err
	[ $? != 2 ] && [ -s out ]
	verdict $? "$choice takes one thread"
done
finish
