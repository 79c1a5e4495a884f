#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Random recordings (parts.py): with losses, damage and pauses, with threads that move between CPUs or
# end, divided at any time. ntrace profile and stat print in threads what one thread prints, and
# ntrace script prints what perf prints. SEED=N repeats a run.

. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/../forms.bash"
command -v python3 >/dev/null || { echo "1..0 # SKIP no python3"; exit 4; }
export NTRACE=$ntrace SCRATCH=$scratch PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH=$top/selftests/host
cd "$scratch" || exit

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
	grep -q 'status [01]' one.messages
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
	python3 "$top/selftests/host/parts.py" $((seed + i)) r.data && same
	verdict $? "a random recording, seed $((seed + i))"
	if [ -x "$perf" ] && "$perf" version >/dev/null 2>&1; then
		as_perf
		verdict $? '... perf prints the same'
	fi
done

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
