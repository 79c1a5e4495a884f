#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Documentation/requirements.rst names the tests that there are, and no others.

top=${top:-$(cd "$(dirname "$0")/../.." && pwd -P)}
echo 1..1
if difference=$("$top/selftests/requirements" --check); then
	echo "ok 1 - the table of requirements is current"
else
	echo "not ok 1 - the table of requirements is current (selftests/requirements writes it)"
	sed 's/^/# /' <<<"$difference"
	exit 1
fi
