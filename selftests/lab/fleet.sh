#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# ntrace fleet --engine=slurm with three nodes on this machine (make check-all): the sum of
# recordings of 20 simulated hosts must be the same as without Slurm, and agree with the truth. This
# must also hold when a node and the command are killed, and when submissions are duplicated and
# truncated.

name=fleet
. "$(dirname "$0")/lib.bash"

if [ "${groups:-}" != all ]; then
	echo '1..0 # SKIP in make check-all only'
	exit 4
fi
"$lab/setup-tree" slurm >"$dir/setup" 2>&1 || {
	ok 1 'a tree with Slurm' "$dir/setup"
	finish
}
mkdir -p "$dir/tmp"
export LAB_ROOTFS=$build/rootfs-slurm TMPDIR=$dir/tmp
exec timeout 3000 "$lab/enter" env SEED="${SEED:-$RANDOM}" RECORDINGS="${RECORDINGS:-200}" \
	out="$build/host" top="$top" \
	selftests/lab/fleet-cluster "$dir/cluster" selftests/lab/fleet-nodes "$dir/cluster"
