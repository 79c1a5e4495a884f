#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Each mistake of selftests/mutants/list can still be made in the driver's sources, and the test
# that finds it is there (make mutants makes them). What make mutants-user makes by itself depends on
# what the sources say, and not on where.

. "$(dirname "$0")/lib.bash"

command -v python3 >/dev/null || { echo "1..0 # SKIP no python3"; exit 4; }

lookup()	# [TOP]
{
	python3 "${1:-$top}/selftests/mutants/mutants.py" --lookup >"$scratch/log" 2>&1
}

lookup
verdict $? "$(tail -n 1 "$scratch/log")"
sed '/ mutants, /d; s/^/# /' "$scratch/log"

# finds WORDS DESCRIPTION: in a copy, which was changed
copy=$scratch/copy
fresh()
{
	rm -rf "$copy"
	mkdir -p "$copy/selftests"
	cp -R "$top/kernel" "$copy/"
	cp -R "$top/selftests/mutants" "$top/selftests/guest" "$copy/selftests/"
}

finds()
{
	! lookup "$copy" && grep -q -- "$1" "$scratch/log"
	verdict $? "$2"
}

fresh
sed -i 's/case NTRACE_SINK_STOP/case NTRACE_SINK_HALT/' "$copy/kernel/ntrace_aux.h"
finds '^sink-stop-off: kernel/ntrace_aux.h has 0 times:$' "a line that has changed"
fresh
echo 'u64 left = mark - min(used, mark);' | sed 's/^/\t/' >>"$copy/kernel/ntrace_aux.h"
finds '^period-used: kernel/ntrace_aux.h has 2 times:$' "a line that is there twice"
fresh
sed -i 's/(ntrace_aux_test_row)/(ntrace_aux_test_rows)/' "$copy/kernel/ntrace_aux_test.c"
finds '^row-period: no case ntrace_aux_test_row$' "a case of KUnit that has gone"
fresh
sed -i "s/events with different/events of different/" "$copy/selftests/guest/event-test.c"
finds '^config-privs: no test of event-test is called events with different terms$' \
	"a test of the guest that has gone"

user()		# TOP OPTION...
{
	python3 "$1/selftests/mutants/user.py" "${@:2}" >"$scratch/log" 2>&1
}

user "$top" --lookup
verdict $? "$(tail -n 1 "$scratch/log")"
sed '/ mutants /d; s/^/# /' "$scratch/log"

fresh
cp -R "$top/tools-perf" "$copy/"
user "$copy" --list && cp "$scratch/log" "$scratch/list" &&
	sed -i '1a\
\
/* a comment with if (a < 1) in it */' "$copy"/tools-perf/util/ntrace-decoder/*.c \
		"$copy"/tools-perf/ntrace/*.c &&
	user "$copy" --list && [ "$(wc -l <"$scratch/list")" -gt 150 ] &&
	cmp "$scratch/list" "$scratch/log"
verdict $? "the same mistakes in sources whose lines have moved"

printf 'tools-perf/ntrace/input.c parse_number() less\n\tif (errno)\nbecause nobody looks\n' \
	>"$scratch/reasons"
! REASONS=$scratch/reasons user "$top" --lookup &&
	grep -q '^tools-perf/ntrace/input.c parse_number() less 1: no such' "$scratch/log"
verdict $? "a reason for a mistake that cannot be made"
finish
