# SPDX-License-Identifier: GPL-2.0-only
# What the host's shell tests share: where things are, a scratch folder, TAP.
# Sourced. A test ends with finish.

set -u
top=${top:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)}
out=${out:-$top/build/host}
ntrace=$out/ntrace
captures=$top/selftests/captures
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
number=0 failed=0

verdict()	# STATUS DESCRIPTION
{
	number=$((number + 1))
	if [ "$1" = 0 ]; then
		echo "ok $number - $2"
	else
		echo "not ok $number - $2"
		failed=1
	fi
}

finish()
{
	echo "1..$number"
	exit $failed
}
