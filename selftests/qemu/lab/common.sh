# SPDX-License-Identifier: GPL-2.0-only
# What every script of the lab needs to know: where things are, how to say
# something, how to fail. Sourced, never run. Whoever sources it is contained: nothing that
# the script starts or mounts outlives it. contain_always=--always: with namespaces of its own.

. "${BASH_SOURCE[0]%/*}/../../contain.sh"
contain ${contain_always:-} "$@"

set -Eeuo pipefail
# No silent death: say which command stopped the script. The lab's own scripts
# have said so already.
trap 'case $BASH_COMMAND in
	*\$lab/*|"\"\$@\"") ;;
	*) echo "${0##*/}: line $LINENO: failed: $BASH_COMMAND" >&2 ;;
	esac' ERR

lab=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
top=$(cd "$lab/../../.." && pwd -P)
build=$top/build
# Another tree than the usual one, see setup-tree
rootfs=${LAB_ROOTFS:-$build/rootfs}
. "$lab/trees.sh"

# Progress goes to stderr: stdout belongs to what a script is asked for. Time
# counts from the first script of a run.
export LAB_START=${LAB_START:-$EPOCHSECONDS}
say()
{
	printf '[%4ds] %s\n' "$((EPOCHSECONDS - LAB_START))" "$*" >&2
}

die()
{
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

need_root()
{
	[ "$(id -u)" = 0 ] || die "needs root: it installs packages, mounts and enters a tree of its own"
}

# need_tool COMMAND PACKAGE: installs the package when the command is missing
need_tool()
{
	command -v "$1" >/dev/null && return
	need_root
	say "installing $2 (for $1)"
	apt_install "$2" 2>/dev/null || { apt-get update -qq && apt_install "$2"; } >&2 ||
		die "cannot install $2, which has $1"
}

apt_install()
{
	local log

	log=$(DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$1" \
		2>&1) ||
		{ printf '%s\n' "$log" | grep '^[EW]:' || :; return 1; }
}

# need_space MIB DIR
need_space()
{
	local free

	mkdir -p "$2"
	free=$(df -Pm "$2" | awk 'NR == 2 { print $4 }')
	[ "$free" -ge "$1" ] || die "needs $1 MiB free in $2, has $free"
}

# private COMMAND...: in namespaces of its own, so that no mount and no process outlives the command
private()
{
	unshare --mount --propagation private --pid --fork --kill-child --mount-proc "$@"
}

# A stamp is a hash of what a product was made from; a product whose stamp
# says something else is made again.
stamp_of()
{
	cat "$@" | sha256sum | cut -c1-16
}

fresh()		# STAMPFILE KEY
{
	[ "$(cat "$1" 2>/dev/null)" = "$2" ]
}

# Only one setup at a time, also when two targets run side by side.
lock()		# NAME
{
	mkdir -p "$build"
	exec {lab_lock}>"$build/.$1.lock"
	flock -n "$lab_lock" || { say "waiting for another $1"; flock "$lab_lock"; }
}

# What a mirror calls Debian 13. While a mirror is written, one name may have indices that do not
# fit their Release file, and the other may be whole. Whoever uses a name checks the code name.
debian_names='trixie stable'
