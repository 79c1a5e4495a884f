#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What the command makes of unusual recordings, which records.py writes record by record: numbers and
# paths that are used again, records that were lost, damage, names that are no text.

. "$(dirname "$0")/lib.bash"
command -v python3 >/dev/null || { echo "1..0 # SKIP no python3"; exit 4; }
export NTRACE=$ntrace SCRATCH=$scratch PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH=$top/selftests/host
cd "$scratch" || exit

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
	printf '%s\n' '10000 main' nop 'call 10100' ret '10100 f' nop nop ret | ./callprog >one.elf &&
	printf '%s\n' '10000 main' nop 'call 10100' ret '10100 f' 'jump 10108' nop ret | ./callprog >two.elf &&
	printf '%s\n' '20000 main' nop 'call 20100' ret '20100 f' nop nop ret | ./callprog >high.elf
verdict $? 'programs'

# --- a program that is built anew while it is recorded -------------------------------------
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
gives '... and the other way round' 0 bolt --buildid-dir=ids --elf $id2 builds.data <<'END'
B 10004 10100 3 0
B 10100 10108 3 0
B 10108 10008 3 0
F 10000 10004 3
F 10100 10100 3
F 10108 10108 3
END
gives '... branch by branch, too' 0 bolt --time=0, --buildid-dir=ids --elf $id1 builds.data <<'END'
B 10004 10100 1 0
B 10108 10008 1 0
F 10000 10004 1
F 10100 10108 1
END
gives 'which of them is meant is asked for' 2 bolt --buildid-dir=ids builds.data </dev/null
grep -q '/build/prog build-id 1111' stderr && grep -q '/build/prog build-id 2222' stderr
verdict $? '... with build-ids'
"$ntrace" profile --format=pprof --buildid-dir=ids builds.data >builds.pb 2>stderr &&
	python3 "$top/selftests/host/pprof.py" files builds.pb | cut -d' ' -f1,2 | grep -v '^-' | sort >got &&
	printf '%s /build/prog\n' "$(printf '11%.0s' {1..20})" "$(printf '22%.0s' {1..20})" | cmp - got
verdict $? 'pprof has both'

finish
