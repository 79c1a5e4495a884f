#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What a user gets besides the programs: make install, manual pages that name
# every command and option, completion in bash, a bar during long work.

. "$(dirname "$0")/lib.bash"
mix=$samples/mix

root=$scratch/root
make -s --no-print-directory -C "$top/tools-perf" out="$out" DESTDIR="$root" PREFIX=/usr \
	install >"$scratch/log" 2>&1
verdict $? 'make install'
sed 's/^/# /' "$scratch/log"
missing=0
for file in bin/ntrace lib/libntrace.so lib/pkgconfig/libntrace.pc include/ntrace/ntrace.h \
		lib/libntrace-ctr.so lib/pkgconfig/libntrace-ctr.pc include/ntrace/nt-ctr.h \
		lib/libntrace-tv.so lib/pkgconfig/libntrace-tv.pc include/ntrace/nt-tv.h \
		lib/libntrace-perfdata.so lib/pkgconfig/libntrace-perfdata.pc \
		include/ntrace/nt-perfdata.h share/man/man3/libntrace-perfdata.3 \
		share/man/man1/ntrace.1 share/man/man1/ntrace-fleet.1 bin/ntrace-fleet \
		lib/systemd/system/ntrace-collect.service lib/systemd/system/ntrace-collect.timer \
		share/man/man3/libntrace.3 \
		share/man/man3/libntrace-ctr.3 share/man/man3/libntrace-tv.3 \
		share/bash-completion/completions/ntrace share/zsh/site-functions/_ntrace \
		share/ntrace/ntrace-gdb.py; do
	[ -s "$root/usr/$file" ] || { echo "# missing: $file"; missing=1; }
done
verdict $missing 'everything is in its place'
messages=$("$ntrace" dump "$mix/L1.bin" | grep -c ' IndirectBranchHist ')
"$root/usr/bin/ntrace" stat "$mix/L1.bin" | grep -q "^IndirectBranchHist *$messages "
verdict $? 'the installed command works'

# manual pages
for page in ntrace.1 libntrace.3 libntrace-ctr.3 libntrace-tv.3 libntrace-perfdata.3; do
	if command -v groff >/dev/null; then
		groff -man -ww -Tutf8 "$top/Documentation/man/$page" >"$scratch/page" \
			2>"$scratch/warnings"
		[ -s "$scratch/page" ] && [ ! -s "$scratch/warnings" ]
		verdict $? "$page: groff has nothing to say"
		sed 's/^/# /' "$scratch/warnings"
	else
		verdict 0 "$page # SKIP no groff"
	fi
done
sed 's/\\-/-/g' "$top/Documentation/man/ntrace.1" >"$scratch/page"
missing=0
commands=$("$ntrace" --help | sed -n 's/^  \([a-z]*\) .*/\1/p')
[ "$(wc -w <<<"$commands")" -ge 5 ] || missing=1
for command in $commands; do
	grep -q "ntrace $command" "$scratch/page" ||
		{ echo "# not in ntrace.1: $command"; missing=1; }
	[ "$command" != tv ] || continue
	for option in $("$ntrace" "$command" --help | grep -o -- '--[a-z][a-z-]*' | sort -u); do
		case $option in --help|--usage) continue ;; esac
		grep -q -- "$option\>" "$scratch/page" ||
			{ echo "# not in ntrace.1: $command $option"; missing=1; }
	done
	# names, as in --format=text|lcov
	for value in $("$ntrace" "$command" --help |
		sed -nE 's/.* --[a-z-]+=([a-z0-9.-]+(\|[a-z0-9.-]+)+)( .*)?$/\1/p' | tr '|' ' '); do
		grep -qE -- "(^|[^a-z0-9-])$value($|[^a-z0-9-])" "$scratch/page" ||
			{ echo "# not in ntrace.1: $command ...=$value"; missing=1; }
	done
done
verdict $missing 'ntrace.1 has every command, option and value'

# complete WORD...: what bash would offer for the last one
complete_words()
(
	# shellcheck source=/dev/null
	. "$top/tools-perf/ntrace/ntrace.bash"
	COMP_WORDS=("$ntrace" "$@")
	COMP_CWORD=$#
	_ntrace
	printf '%s\n' "${COMPREPLY[@]}"
)

offers()	# DESCRIPTION WANTED WORD...
{
	local description=$1 want=$2
	shift 2

	complete_words "$@" >"$scratch/got" 2>"$scratch/stderr"
	grep -qxF -- "$want" "$scratch/got" && ! grep -v 'compopt' "$scratch/stderr"
	verdict $? "completion: $description"
}

cd "$scratch" || exit 1
touch trace.bin
offers 'commands' decode de
offers 'every command' encode ''
offers 'options' --retstack= decode --ret
offers 'options of one command' --repeathist encode --repe
offers 'values' branch decode --output = b
offers 'values after =' sifive decode --profile =
offers 'values of fleet' slurm fleet --engine = s
offers 'values of profile' bolt profile --format = b
offers 'values of calls' csv calls --format = c
offers "values of tv's commands" 34 tv verify --mlen = 3
offers 'values of a number' 3 decode --retstack = ''
offers 'a file where another command has values' trace.bin encode --output = tr
offers 'files' trace.bin decode tr
offers 'files after an option' trace.bin decode --elf tr
! complete_words decode --r | grep -q repeathist
verdict $? 'completion: no options of other commands'

# what zsh offers, with the installed file
zsh_offers()	# DESCRIPTION "WANTED..." COMMAND-LINE
{
	[ "$(PATH=$root/usr/bin:$PATH "$top/selftests/host/zsh-offers" "$root/usr/share/zsh/site-functions" "$3" |
		paste -sd' ')" = "$2" ]
	verdict $? "completion in zsh: $1"
}

if command -v zsh >/dev/null; then
	zsh_offers commands decode 'ntrace de'
	zsh_offers options '--raw --retstack' 'ntrace decode --r'
	zsh_offers 'values, as the help has them' 'csv json table' 'ntrace calls --format='
	zsh_offers "the commands of tv" 'dump from-elf stat verify' 'ntrace tv '
	zsh_offers "options of tv's commands" --against 'ntrace tv verify --ag'
	zsh_offers 'files' trace.bin 'ntrace decode tr'
	zsh_offers 'files after an option' trace.bin 'ntrace decode --elf=tr'
	zsh_offers 'an option without an argument before it' --snapshot 'ntrace record -S --sn'
else
	verdict 0 'completion in zsh # SKIP no zsh'
fi

# the bar, on a terminal that script(1) makes
for ((i = 0; i < 400; i++)); do cat "$mix/L1.bin"; done >"$scratch/long"
elf=$mix/mix.elf
# bar COMMAND-LINE: what a terminal shows while it runs
bar()
{
	script -qec "$1" /dev/null </dev/null >"$scratch/tty" 2>&1
}
if command -v script >/dev/null; then
	bar "$ntrace decode --output=insn --elf $elf $scratch/long >/dev/null"
	grep -q '\[#*\.*\] *[0-9]*%' "$scratch/tty"
	verdict $? 'long work has a bar on a terminal'
	tail -c 30 "$scratch/tty" | tr '\r' '\n' | grep -q '%'
	[ $? = 1 ]
	verdict $? 'which goes away in the end'
	bar "$ntrace decode --elf $elf $mix/L1.bin >$scratch/pcs"
	[ ! -s "$scratch/tty" ]
	verdict $? 'short work has none'
else
	verdict 0 'a bar # SKIP no script(1)'
fi
lines=$("$ntrace" decode --elf "$elf" "$scratch/long" 2>"$scratch/stderr" | wc -l)
[ ! -s "$scratch/stderr" ] && [ "$lines" -gt 80000000 ]
verdict $? 'no terminal, no bar'

finish
