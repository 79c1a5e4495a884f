#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Documentation/ctr.rst has the fields of CTR's control registers as the library has.

top=${top:-$(cd "$(dirname "$0")/../.." && pwd -P)}
echo 1..1
if difference=$("$top/selftests/ctr/fields" --check); then
	echo "ok 1 - the table of fields is the library's"
else
	echo "not ok 1 - the table of fields is the library's (selftests/ctr/fields writes it)"
	sed 's/^/# /' <<<"$difference"
	exit 1
fi
