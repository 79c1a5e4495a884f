# SPDX-License-Identifier: GPL-2.0-only
# What the tests share that write recordings with records.py: they run in the scratch folder.
# Sourced.

. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/../forms.bash"
command -v python3 >/dev/null || { echo "1..0 # SKIP no python3"; exit 4; }
export NTRACE=$ntrace SCRATCH=$scratch PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH=$top/selftests/host
cd "$scratch" || exit
