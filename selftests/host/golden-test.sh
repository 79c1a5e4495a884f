#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Golden files (selftests/golden): bytes in, the command's lines out.
#	golden-test.sh [--rebase] [FILE...]
# --rebase writes what the command prints now into the files: read the diff.
#
# A file is a list of cases:
#	case WORDS			begins one
#	options OPTION...		for the command
#	at ADDR BYTE...			code, in hexadecimal
#	trace BYTE...			may be repeated
#	dump|pc|insn|branch|block|ctr|marks [EXIT]	expected lines, up to an empty one, and
#					exit status (0 if not given); marks is pc with its
#					lines `# start' and so on, which the others lack
#	# ...				a remark
# Whole traces are also encoded again from what decode prints of them.
#
# The cases are shared among the processors. A process costs more here than what it computes, so
# the script starts none but the command.

set -u
top=${top:-$(cd "$(dirname "$0")/../.." && pwd -P)}
out=${out:-$top/build/host}
ntrace=$out/ntrace
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
rebase=

[ "${1:-}" = --rebase ] && { rebase=1; shift; }
[ $# -gt 0 ] || set -- "$top"/selftests/golden/*.txt

# bytes HEX...: as binary
bytes()
{
	local hex="$*" text=
	local -i i

	hex=${hex//[^0-9a-fA-F]/}
	for ((i = 0; i < ${#hex}; i += 2)); do
		text+="\\x${hex:i:2}"
	done
	# shellcheck disable=SC2059
	printf "$text"
}

# read_lines ARRAY FILE: with their line ends, so that one that lacks its own differs
read_lines()
{
	mapfile "$1" <"$2"
}

# same ARRAY ARRAY
same()
{
	local -n one=$1 other=$2
	local -i i

	[ ${#one[@]} = ${#other[@]} ] || return 1
	for ((i = 0; i < ${#one[@]}; i++)); do
		[ "${one[i]}" = "${other[i]}" ] || return 1
	done
}

# differ ARRAY ARRAY DESCRIPTION: the verdict and what differs
differ()
{
	local -n one=$1 other=$2

	echo "not ok - $3"
	printf %s "${one[@]}" >"$work/want"
	printf %s "${other[@]}" >"$work/got"
	diff "$work/want" "$work/got" | sed 's/^/# /'
}

# run KIND: what the command prints for this case, to array got; sets status
run()
{
	status=0
	case $1 in
	dump) "$ntrace" dump "${options[@]}" "$work/trace" ;;
	marks) "$ntrace" decode "${options[@]}" "${images[@]}" "$work/trace" ;;
	*) "$ntrace" decode "${options[@]}" "${images[@]}" --output="$1" --no-marks "$work/trace" ;;
	esac >"$work/lines" || status=$?
	read_lines got "$work/lines"
	# the text of instructions is Capstone's, if it is there
	[ "$1" != insn ] || without_text
}

without_text()
{
	local -i i

	for ((i = 0; i < ${#got[@]}; i++)); do
		[[ ${got[i]} != *' - '* ]] || got[i]=${got[i]%%' - '*}$'\n'
	done
}

# check KIND EXIT: against the expected lines in array want
check()
{
	run "$1"
	if [ "$status" = "$2" ] && same want got; then
		echo "ok - $name: $1"
		return
	fi
	differ want got "$name: $1"
	[ "$status" = "$2" ] || echo "# exit status $status, not $2"
}

# where no message ended the trace, encode may have to: what a sync message told needs one
any_stop()	# ARRAY ARRAY: the list and what came of it
{
	local -n before=$1 after=$2
	local -i i

	for ((i = 0; i < ${#after[@]}; i++)); do
		[ "${after[i]}" != "${before[i]-}" ] && [[ ${before[i]-} == '# stop '* ]] &&
			[ "${after[i]}" = "${before[i]%$'\n'} EVCODE=4"$'\n' ] &&
			after[i]=${before[i]}
	done
}

# same_again KIND EXIT: what encode makes of the list of a whole trace decodes to the same list.
# Notes tell of messages that encode does not make, and other profiles it does not know.
same_again()
{
	local -a params=() list=() lines
	local option line

	[ "$2$again" = 0 ] && [ "$1" != dump ] && [ "$1" != ctr ] &&
		[[ " ${options[*]}" != *' --profile='* ]] || return
	again=yes
	for option in "${options[@]}"; do
		[[ $option == --@(not-taken|htm|btm|wrapped) ]] || params+=("$option")
	done
	params+=("${images[@]}")
	"$ntrace" decode "${options[@]}" "${images[@]}" "$work/trace" >"$work/lines"
	read_lines lines "$work/lines"
	for line in "${lines[@]}"; do
		[[ $line == '# note'* ]] || list+=("$line")
	done
	printf %s "${list[@]}" >"$work/list"
	: >"$work/lines"
	"$ntrace" encode "${params[@]}" --btm --pc "$work/list" -o "$work/again" &&
		"$ntrace" decode "${params[@]}" --btm "$work/again" >"$work/lines"
	read_lines got "$work/lines"
	any_stop list got
	if [ ${#got[@]} -gt 0 ] && same list got; then
		echo "ok - $name: decode, encode, decode"
		return
	fi
	differ list got "$name: decode, encode, decode"
}

# keep TEXT: the rebased file is the old one with other expected lines
keep()
{
	[ -z "$rebase" ] || printf '%s\n' "$1" >>"$work/rebased"
}

begin_case()
{
	name=$1 again=
	case=$((case + 1))
	options=() images=()
	mine || return
	: >"$work/trace"
}

# Is this case for this worker? --rebase has one, which takes all.
mine()
{
	[ -n "$rebase" ] || [ $((case % workers)) = "$worker" ]
}

# code ADDR BYTE...
code()
{
	local addr=$1 file=$work/code.${#images[@]}

	shift
	bytes "$@" >"$file"
	images+=(--raw "$file@0x$addr")
}

expected()	# KIND EXIT, from stdin
{
	local text

	want=()
	while IFS= read -r text && [ -n "$text" ]; do
		want+=("$text"$'\n')
	done
	mine || return
	if [ -n "$rebase" ]; then
		run "$1"
		printf %s "${got[@]}" >>"$work/rebased"
		keep ''
	else
		check "$1" "$2" >>"$scratch/verdicts.$case"
		same_again "$1" "$2" >>"$scratch/verdicts.$case"
	fi
}

# work WORKER FILE...
work()
{
	local worker=$1 work=$scratch/$1 file line kind exit name again
	local -i case=0 status
	local -a options images want got

	shift
	mkdir "$work"
	for file; do
		: >"$work/rebased"
		while IFS= read -r line; do
			keep "$line"
			# shellcheck disable=SC2086
			case $line in
			''|'#'*) ;;
			'case '*)
				name=${file##*/}
				begin_case "${name%.txt}: ${line#case }" ;;
			'options '*) read -ra options <<<"${line#options }" ;;
			'at '*) ! mine || code ${line#at } ;;
			'trace '*) ! mine || bytes ${line#trace } >>"$work/trace" ;;
			dump*|pc*|insn*|branch*|block*|ctr*|marks*)
				read -r kind exit <<<"$line"
				expected "$kind" "${exit:-0}" ;;
			*) echo "Bail out! $file: cannot read \`$line'"; return 1 ;;
			esac
		done <"$file"
		[ -z "$rebase" ] || cp "$work/rebased" "$file"
	done
	echo "$case" >"$work/cases"
}

# Each worker's verdicts, numbered in the order of the cases
report()	# WORKERS
{
	local number=0 failed=0 cases=0 i line

	for ((i = 0; i < $1; i++)); do
		read -r cases <"$scratch/$i/cases" || exit 1
	done
	for ((i = 1; i <= cases; i++)); do
		[ -e "$scratch/verdicts.$i" ] || continue	# it expects nothing
		while IFS= read -r line; do
			case $line in
			'ok - '*) line="ok $((++number)) ${line#ok }" ;;
			'not ok - '*) failed=1 line="not ok $((++number)) ${line#not ok }" ;;
			esac
			printf '%s\n' "$line"
		done <"$scratch/verdicts.$i"
	done
	echo "1..$number"
	exit $failed
}

if [ -n "$rebase" ]; then
	work 0 "$@"
	exit
fi
workers=$(nproc)
for ((worker = 0; worker < workers; worker++)); do
	work $worker "$@" &
done
wait
report "$workers"
