# SPDX-License-Identifier: GPL-2.0-only
# The program of gcov.S and a list of what it executed: what host/gcov.sh and host/coverage.sh
# share. Sourced behind lib.bash.

need_compiler
"${compiler[@]}" -march=rv64imac -mabi=lp64 -nostdlib -static -Wl,-Ttext=0x20000 -Wl,--no-relax \
	-o "$scratch/prog" "$top/selftests/host/gcov.S"
verdict $? 'a program'

# at NUMBER...: addresses of instructions, by their numbers from 20000 on
at()
{
	local number

	for number; do
		printf '%x\n' $((0x20000 + 4 * number))
	done
}
# outer: 0, 1-5 round, 6 call, 7 beqz over 8 and 9, 10 ret; far: 11, which may jump to itself, 12;
# never: 13; main: 14-18; its copy of outer: 19-20; the other far: 21
round='1 2 3 4 5'
# shellcheck disable=SC2086
at 14 0 $round $round $round 6 11 11 12 7 10 15 0 $round 6 11 12 7 10 16 19 20 17 21 18 \
	>"$scratch/list"
