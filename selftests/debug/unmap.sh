#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# machines: funnel2
# The AUX area is unmapped while trace is on its way there; check-debug asks for a million times.
exec event-test "unmapped again" "${UNMAPS:-1000000}"
