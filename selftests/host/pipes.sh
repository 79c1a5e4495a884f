#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Where pipefail is set, no reader of a pipe ends at its first match: what still writes would end by
# SIGPIPE, on a busy machine only, and the pipeline fail although the match is there.

. "$(dirname "$0")/lib.bash"

# early [SELFTESTS]: each line of a script with pipefail that has such a reader
early()
{
	local in=${1:-$top/selftests}

	{ grep -rlIE '^set .*pipefail' "$in"; grep -rlI '^\. .*/lib\.bash"' "$in/lab"; } | sort -u |
		xargs awk -v in_="$in/" '
			{ line = $0; sub(/^[[:space:]]*#.*/, "", line) }
			(behind ? "|" : "") line ~ /\|[[:space:]]*([a-z_]+ )?grep (-[a-zA-Z-]+ )*-[a-zA-Z]*q/ {
				sub(in_, "", FILENAME); print FILENAME ":" FNR ": " $0; found = 1
			}
			{ behind = line ~ /[^|]\|[[:space:]]*$/ }
			END { exit found }' >"$scratch/found"
}

early
verdict $? "no reader of a pipe ends before its writer where pipefail is set"
sed 's/^/# /' "$scratch/found"

# finds LINE DESCRIPTION: in a copy of a test, which has LINE in addition
finds()
{
	rm -rf "$scratch/copy"
	mkdir -p "$scratch/copy/lab"
	cp "$top/selftests/lab/"{lib.bash,power.sh} "$scratch/copy/lab/"
	printf "$1\n" >>"$scratch/copy/lab/power.sh"
	! early "$scratch/copy" && [ "$(wc -l <"$scratch/found")" = 1 ]
	verdict $? "found: $2"
}

finds 'host_perf run report 2>&1 | grep -q hostname' "grep -q"
finds 'host_perf run report |\n\tgrep -qE hostname' "one on a line of its own"
finish
