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
	"$ntrace" stat --time=0%-100% r.data >single 2>>stderr
	grep -qx "losses  *$losses" counted && grep -qx "taken transfers  *$(wc -l <got)" counted &&
		cmp <(grep -E '^(instr|taken|losses)' counted) <(grep -E '^(instr|taken|losses)' single)
}

all=0 lost=0 bad=0
for ((n = 0; n < recordings; n++)); do
	python3 "$top/selftests/host/patched.py" $((seed + n)) r && is_right >why 2>&1 && continue
	echo "# SEED=$((seed + n)):"
	head -n 5 why stderr | sed 's/^/# /'
	bad=1
done
verdict $bad "$recordings kernels: $all transfers, $lost losses"

finish
