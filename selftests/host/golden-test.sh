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
#	dump|pc|insn|branch|block|ctr [EXIT]	expected lines, up to an empty one, and
#					exit status (0 if not given)
#	# ...				a remark

set -u
top=${top:-$(cd "$(dirname "$0")/../.." && pwd -P)}
out=${out:-$top/build/host}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
number=0 failed=0 rebase=

[ "${1:-}" = --rebase ] && { rebase=1; shift; }
[ $# -gt 0 ] || set -- "$top"/selftests/golden/*.txt

# bytes HEX...: as binary
bytes()
{
	local hex="$*"

	hex=${hex//[^0-9a-fA-F]/}
	# shellcheck disable=SC2059
	printf "$(sed 's/../\\x&/g' <<<"$hex")"
}

# run KIND: what the command prints for this case; sets status
run()
{
	status=0
	if [ "$1" = dump ]; then
		"$out/ntrace" dump "${options[@]}" "$scratch/trace" || status=$?
	else
		"$out/ntrace" decode "${options[@]}" "${images[@]}" --output="$1" \
			"$scratch/trace" >"$scratch/lines" || status=$?
		# the text of instructions is Capstone's, if it is there
		sed "$([ "$1" != insn ] || echo 's/ - .*//')" "$scratch/lines"
	fi
}

# check KIND EXIT: against the expected lines in $scratch/want
check()
{
	run "$1" >"$scratch/got"
	number=$((number + 1))
	if [ "$status" = "$2" ] && cmp -s "$scratch/got" "$scratch/want"; then
		echo "ok $number - $name: $1"
		return
	fi
	failed=1
	echo "not ok $number - $name: $1"
	[ "$status" = "$2" ] || echo "# exit status $status, not $2"
	diff "$scratch/want" "$scratch/got" | sed 's/^/# /'
}

# keep TEXT: the rebased file is the old one with other expected lines
keep()
{
	[ -n "$rebase" ] && printf '%s\n' "$1" >>"$scratch/rebased"
}

begin_case()
{
	name=$1
	options=() images=()
	: >"$scratch/trace"
}

# code ADDR BYTE...
code()
{
	local addr=$1 file=$scratch/code.${#images[@]}

	shift
	bytes "$@" >"$file"
	images+=(--raw "$file@0x$addr")
}

expected()	# KIND EXIT, from stdin
{
	local text

	: >"$scratch/want"
	while IFS= read -r text && [ -n "$text" ]; do
		printf '%s\n' "$text" >>"$scratch/want"
	done
	if [ -n "$rebase" ]; then
		run "$1" >>"$scratch/rebased"
		keep ''
	else
		check "$1" "$2"
	fi
}

for file; do
	: >"$scratch/rebased"
	while IFS= read -r line; do
		keep "$line"
		# shellcheck disable=SC2086
		case $line in
		''|'#'*) ;;
		'case '*) begin_case "$(basename "$file" .txt): ${line#case }" ;;
		'options '*) read -ra options <<<"${line#options }" ;;
		'at '*) code ${line#at } ;;
		'trace '*) bytes ${line#trace } >>"$scratch/trace" ;;
		dump*|pc*|insn*|branch*|block*|ctr*)
			read -r kind exit <<<"$line"
			expected "$kind" "${exit:-0}" ;;
		*) echo "Bail out! $file: cannot read \`$line'"; exit 1 ;;
		esac
	done <"$file"
	[ -z "$rebase" ] || cp "$scratch/rebased" "$file"
done
[ -n "$rebase" ] || echo "1..$number"
exit $failed
