#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Tables of the documentation that programs write are as they would write them.

. "$(dirname "$0")/lib.bash"

current()	# WHAT PROGRAM
{
	local difference

	difference=$("$top/selftests/$2" --check)
	verdict $? "$1 (selftests/$2 writes it)"
	[ -z "$difference" ] || sed 's/^/# /' <<<"$difference"
}

# Documentation/requirements.rst names the tests that there are, and no others.
current "the table of requirements is current" requirements
# Documentation/ctr.rst has the fields of CTR's control registers as the library has.
current "the table of fields is the library's" ctr/fields
finish
