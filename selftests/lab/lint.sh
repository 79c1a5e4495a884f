#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Coding style, sparse, device tree schemas.

exec "$(dirname "$0")/../lint"
