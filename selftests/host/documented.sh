#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The list of documented commands and the pages have the same commands (lab/commands runs them), and
# what compares them finds a command that is missing on either side. The checks refuse output that
# is not true.

. "$(dirname "$0")/lib.bash"
documented=$top/selftests/documented

command -v python3 >/dev/null || { echo "1..0 # SKIP no python3"; exit 4; }

python3 "$documented/plan.py" lookup >"$scratch/log" 2>&1
verdict $? "every command of the pages has a check"
sed 's/^/# /' "$scratch/log"

# --- the list against pages of a copy, one thing changed at a time

copy=$scratch/copy
fresh()
{
	rm -rf "$copy"
	mkdir -p "$copy/tools-perf"
	cp -R "$top/Documentation" "$top/README.md" "$copy/"
	cp -R "$top/tools-perf/Documentation" "$copy/tools-perf/"
	cp -R "$top/selftests" "$copy/selftests"
}

# finds WORDS DESCRIPTION
finds()
{
	! python3 "$copy/selftests/documented/plan.py" lookup >"$scratch/log" 2>&1 &&
		[ "$(wc -l <"$scratch/log")" = 1 ] && grep -q -- "$1" "$scratch/log"
	verdict $? "$2"
}

fresh
printf '\n    perf report --sort=dso\n' >>"$copy/README.md"
finds 'README.md: no check of this command: perf report --sort=dso' "a new command in Markdown"
fresh
printf '\nAnd ``perf record -e ntrace//u -- date``.\n' >>"$copy/Documentation/trace/ntrace.rst"
finds 'ntrace.rst: no check of this command: perf record -e ntrace//u -- date' \
	"a new command in a sentence"
fresh
printf '.EX\nntrace dump \\-\\-srcbits=2 x.bin\n.EE\n' >>"$copy/Documentation/man/ntrace.1"
finds 'ntrace.1: no check of this command: ntrace dump --srcbits=2 x.bin' \
	"a new command in a man page"
fresh
printf '= README.md\n$ perf nosuch -x\n\thost prog\n\tcheck insns\n' \
	>>"$copy/selftests/documented/commands"
finds 'README.md: not a command of this page: perf nosuch -x' "an entry without a command"
fresh
sed -i '/^\tcheck branches --types$/{x;s/^/x/;/^x$/{x;d};x}' "$copy/selftests/documented/commands"
finds 'runs, and nobody looks at what it prints' "an entry without a check"
fresh
sed -i 's/^\tby lab\/graft.sh.*/\tby lab\/nosuch.sh graft/' "$copy/selftests/documented/commands"
finds 'no selftests/lab/nosuch.sh' "a test that is not there"

# --- the checks: a program of ten instructions that is in no file, and what they would be told

cat >"$scratch/truth" <<'END'
b 1000 7
i 1000 1002 4501 none
i 1002 1010 00e000ef call
i 1010 1012 0505 none
i 1012 1006 8082 ret
i 1006 1000 bfed jump
i 1000 1002 4501 none
e 1002
END
python3 - "$scratch/elf" <<'END'
import struct, sys
names = b"\0main\0leaf\0"
symbols = struct.pack("<IBBHQQ", 0, 0, 0, 0, 0, 0) + \
    struct.pack("<IBBHQQ", 1, 18, 0, 1, 0x1000, 8) + struct.pack("<IBBHQQ", 6, 18, 0, 1, 0x1010, 4)
head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 2, 243, 1, 0x1000, 0, 64, 0, 64, 56, 0, 64, 3, 0)
at = 64 + 3 * 64
sections = struct.pack("<IIQQQQIIQQ", *[0] * 10) + \
    struct.pack("<IIQQQQIIQQ", 0, 2, 0, 0, at, len(symbols), 2, 1, 8, 24) + \
    struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, at + len(symbols), len(names), 0, 0, 1, 0)
open(sys.argv[1], "wb").write(head + sections + symbols + names)
END

# judges 0|1 DESCRIPTION WHAT [KEY=VALUE...] <OUTPUT
judges()
{
	local want=$1 description=$2 what=$3 status=0
	shift 3

	cat >"$scratch/out"
	python3 "$documented/check.py" "$what" out="$scratch/out" truth="$scratch/truth" \
		elf="$scratch/elf" least=1 "$@" >"$scratch/log" 2>&1 || status=$?
	[ $status = "$want" ]
	verdict $? "$what: $description"
}

judges 0 "symbols that are right" branches <<<'  call  1002 main => 1010 leaf'
judges 1 "a symbol that is elsewhere" branches <<<'  call  1002 leaf => 1010 leaf'
judges 1 "an offset that is not" branches <<<'  call  1002 main+0x4 => 1010 leaf+0x0'
judges 1 "no flags" branches <<<'    1002 main => 1010 leaf'
judges 1 "a local label" insns <<<'  1002 .L0'
judges 1 "time that goes backwards" insns \
	<<<"$(printf 'prog 7 2.000000: 1000 main\nprog 7 1.999999: 1002 main')"
judges 1 "another task" insns <<<'date 7 2.000000: 1000 main'
judges 0 "the first branches" branch-head \
	<<<"$(printf '  call  1002 main => 1010 leaf\n  return  1012 leaf => 1006 main')"
judges 1 "a branch left out" branch-head \
	<<<"$(printf '  call  1002 main => 1010 leaf\n  jmp  1006 main => 1000 main')"
rows()		# MAIN LEAF
{
	printf "# Samples: 1K of event 'instructions:u'\n"
	printf '   %s%%   1.00%%  prog  prog  [.] main\n   %s%%   1.00%%  prog  prog  [.] leaf\n' \
		"$1" "$2"
}
judges 0 "shares that are right" callees <<<"$(rows 100.00 34.00)"
judges 1 "shares that are not" callees <<<"$(rows 100.00 55.00)"
finish
