#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# ntrace profile --format=gcc: the counts of lines, discriminators, inlined functions and targets of
# indirect calls are those of a program whose every instruction is known. gcov.py reads the file.

. "$(dirname "$0")/lib.bash"
here=$top/selftests/host
command -v python3 >/dev/null || { echo "1..0 # SKIP no python3"; exit 4; }
"$ntrace" profile --format=gcc --elf "$samples/mix/mix.elf" "$samples/mix/L1.bin" >"$scratch/got" \
	2>"$scratch/stderr"
! grep -q 'built without libdw' "$scratch/stderr" ||
	{ echo "1..0 # SKIP this ntrace was built without libdw"; exit 4; }

. "$here/gcov.bash"
"$ntrace" encode --elf "$scratch/prog" --pc "$scratch/list" -o "$scratch/trace" &&
	"$ntrace" profile --format=gcc --elf "$scratch/prog" "$scratch/trace" >"$scratch/gcov" \
		2>"$scratch/stderr" &&
	python3 "$here/gcov.py" "$scratch/gcov" | sort >"$scratch/got"
verdict $? 'a profile'
sort >"$scratch/want" <<'END'
far 1 3
far 2 2
far head 2
main 1 1
main 2 1
main 3 1
main 4 1
main 5 1
main head 1
outer 1 3
outer 2.2 4
outer 3 4
outer 4 2 far=2
outer 5 2
outer 6 0
outer 7 3
outer head 3
outer/2.3:leaf 1 4
outer/2.3:leaf 2 4
END
diff "$scratch/want" "$scratch/got" | sed 's/^/# /'
cmp "$scratch/want" "$scratch/got"
verdict $? 'each count: lines, discriminators, what was inlined, targets, a copy of a function'
grep -qx 'ntrace: 1 functions left out that have the name of a busier one: GCC knows functions by name' "$scratch/stderr"
verdict $? 'of two functions with one name the busier one, and a word about it'

# The other compiler's reader of the same counts, which knows the copy by its own name
profgen=$(find_tool llvm-profgen)
if [ -n "$profgen" ]; then
	"$ntrace" profile --format=llvm-profgen --elf "$scratch/prog" "$scratch/trace" \
		>"$scratch/ranges" &&
		"$profgen" --binary="$scratch/prog" --unsymbolized-profile="$scratch/ranges" \
			--use-offset=0 --format=text --output="$scratch/text" >"$scratch/log" 2>&1
	awk -F: '/^[^ ]/ { name = $1; next }
		/^ [0-9.]*: [a-z]*:[0-9]*$/ { leaf = "/" $1 ":" $2; gsub(" ", "", leaf); next }
		/^ [^ ]/ { leaf = "" }
		{ gsub(/^ *|:/, ""); print name leaf, $0 }' "$scratch/text" |
		sort >"$scratch/got"
	sort >"$scratch/want" <<-'END'
	far 1 3
	far 2 2
	main 1 1 outer1
	main 2 1 outer1
	main 3 1 outer.constprop.01
	main 4 1
	main 5 1
	outer 1 2
	outer 2.1 4
	outer 3 4
	outer 4 2
	outer 5 2
	outer 6 0
	outer 7 2
	outer.constprop.0 1 1
	outer.constprop.0 7 1
	outer/2:leaf 1 4
	outer/2:leaf 2 4
	END
	cmp "$scratch/want" "$scratch/got"
	verdict $? 'llvm-profgen reads each count of the lines'
else
	verdict 0 'llvm-profgen # SKIP not installed (19 or later)'
fi

# an address that the program was moved by, and the counts that a file of edges has
"$ntrace" encode --elf "$scratch/prog@0x100000" --pc <(sed 's/^2/12/' "$scratch/list") -o \
	"$scratch/moved" &&
	"$ntrace" profile --format=gcc --elf "$scratch/prog@0x100000" "$scratch/moved" \
		2>"$scratch/stderr" |
	cmp - "$scratch/gcov"
verdict $? 'a program that was moved: the same'
"$ntrace" profile --format=edges --elf "$scratch/prog" -o "$scratch/edges" "$scratch/trace" &&
	"$ntrace" profile --format=gcc --elf "$scratch/prog" -o "$scratch/got" "$scratch/edges" \
		2>"$scratch/stderr" &&
	cmp "$scratch/gcov" "$scratch/got"
verdict $? 'of edges: the same'

refuses()	# DESCRIPTION WORDS ARGUMENT...
{
	local description=$1 words=$2 status=0
	shift 2

	"$ntrace" profile --format=gcc "$@" >"$scratch/stdout" 2>"$scratch/stderr" </dev/null ||
		status=$?
	[ $status = 2 ] && [ ! -s "$scratch/stdout" ] && grep -qF -- "$words" "$scratch/stderr"
	verdict $? "refused: $description"
}
refuses 'no program' 'no program given' "$scratch/trace"
refuses 'no file of a program' 'wants a program as --elf' --raw "$scratch/prog@0x20000" \
	"$scratch/trace"
refuses 'a program without lines' 'has no line numbers' --elf "$samples/mix/mix.elf" \
	"$samples/mix/L1.bin"
finish
