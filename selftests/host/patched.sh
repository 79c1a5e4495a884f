#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A random kernel that is patched while it is recorded (patched.py): ntrace script prints what ran,
# in order, and nothing else. Without a loss, that is all that ran. ntrace stat counts the same, and
# the same whether it counts branches or decodes them one by one. SEED=N repeats a run.

. "$(dirname "$0")/records.bash"

"${CC:-gcc}" -std=gnu11 -Wall -Wextra -o callprog "$top/selftests/host/callprog.c"
verdict $? 'an assembler'
seed=${SEED:-$RANDOM}
echo "# SEED=$seed"
recordings=40
[ "${groups:-}" != all ] || recordings=1000
# with which earlier versions printed wrong transfers without a loss, or counted others
known="37 40 51 63 65 81 102 107 151 1021 1033 2162"
known_syncs="98 99 107 112"

# is_right: r.data against r.want
is_right()
{
	local losses

	"$ntrace" script r.data >lines 2>stderr
	[ $? -lt 2 ] || return 1
	losses=$(grep -c '^# loss' lines)
	all=$((all + $(wc -l <r.want))) lost=$((lost + losses))
	sed -E -n 's/.* ([0-9a-f]{16}) .* => +([0-9a-f]{16}) .*/\1 \2/p' lines >got
	# lines of got, in order, are lines of want
	awk 'NR == FNR { want[++n] = $0; next }
		{
			do i++; while (i <= n && want[i] != $0)
			if (i > n) { print "# wrong: line " FNR ": " $0; exit 1 }
		}' r.want got || return 1
	[ $losses != 0 ] || cmp r.want got || return 1
	"$ntrace" stat r.data >counted 2>>stderr
	"$ntrace" stat --one-by-one r.data >single 2>>stderr
	grep -qx "losses  *$losses" counted && grep -qx "taken transfers  *$(wc -l <got)" counted &&
		cmp <(grep -E '^(instr|taken|losses)' counted) <(grep -E '^(instr|taken|losses)' single)
}

# all_are_right DESCRIPTION KIND SEED...
all_are_right()
{
	local description=$1 kind=$2 bad=0 kernel
	shift 2

	all=0 lost=0
	for kernel; do
		# shellcheck disable=SC2086
		python3 "$top/selftests/host/patched.py" $kernel r $kind && is_right >why 2>&1 && continue
		echo "# SEED=$kernel $kind:"
		head -n 5 why stderr | sed 's/^/# /'
		bad=1
	done
	verdict $bad "$# $description: $all transfers, $lost losses"
}

# shellcheck disable=SC2086
all_are_right 'kernels of earlier mistakes' '' $known
# shellcheck disable=SC2086
all_are_right '... with sync messages' syncs $known_syncs
# shellcheck disable=SC2046
all_are_right 'random kernels' flat $(seq $seed $((seed + recordings - 1)))
# shellcheck disable=SC2046
all_are_right '... with sync messages' syncs $(seq $seed $((seed + recordings / 2 - 1)))

finish
