# SPDX-License-Identifier: GPL-2.0-only
# Nothing that a command starts, mounts or writes to a temporary directory outlives the
# command, however the command ends. Sourced by bash scripts, which call contain "$@" before they
# do anything else.
#
# contain runs the script once more, in process and mount namespaces of its own:
#
#	supervisor	this process. It waits for the script, and dies with its parent, if that
#			is make or a contained script: a shell may end before what it started.
#	init		process 1 of the namespace. It ends when the script has ended, or when
#			the supervisor is gone. The kernel then kills every process of the
#			namespace, and the mounts go with the last one.
#	script		"$0" "$@", where contain returns at once.
#
# The supervisor alone holds the write end of a pipe. init reads from the pipe, and end of file
# means that the supervisor is gone. This works for SIGKILL, at any moment.
#
# TMPDIR is a directory below build/tmp that the supervisor removes. What a killed supervisor left
# there is removed by the next command.
#
# Without root, unprivileged user namespaces serve. Where the system allows neither, the script
# itself is ended, but not what it started.
#
# The lab enters namespaces hundreds of times: bash's own commands are used where they suffice.

contain_top=$(cd "${BASH_SOURCE[0]%/*}/.." && pwd -P)

# contain [--always] ARGUMENT...: the script's own arguments. A script that was started by a
# contained one is contained already. With --always it gets namespaces of its own nevertheless: then
# it can be killed alone, and its mounts are not seen by others.
contain()
{
	local always=

	[ "${1:-}" != --always ] || { always=1; shift; }
	if contain_inside; then
		[ -n "$always" ] && [ "${CONTAIN_SCRIPT:-}" != $$ ] || return 0
	fi
	if [ "${CONTAIN_SUPERVISOR:-}" != $$ ] && { [ -n "${CONTAIN_MAKE:-}" ] ||
		contain_inside; }; then
		export CONTAIN_SUPERVISOR=$$ CONTAIN_PARENT=$PPID
		exec setpriv --pdeathsig KILL "$BASH" "$0" "$@"
	fi
	# Did the parent die before its death became a signal? The Makefile says who make is.
	[ "${CONTAIN_PARENT:-$PPID}" = $PPID ] || exit 137
	[ -z "${CONTAIN_MAKE:-}" ] || kill -0 "$CONTAIN_MAKE" 2>/dev/null || exit 137
	unset CONTAIN_SUPERVISOR CONTAIN_PARENT CONTAIN_MAKE
	contain_supervise "$0" "$@"
}

# Is this a namespace of contain's? Then process 1 runs this file.
contain_inside()
{
	local words

	[ -z "${CONTAIN_NOWHERE:-}" ] || return 0
	[ -r /proc/1/cmdline ] && mapfile -d '' -t words </proc/1/cmdline &&
		[ "${words[1]:-}" = "$contain_top/selftests/contain.sh" ]
}

# Sets contain_how: the command that gives namespaces to another one
contain_namespaces()
{
	contain_how=(unshare --mount --propagation private --pid --fork --mount-proc)
	[ $EUID = 0 ] || contain_how+=(--user --map-current-user)
	contain_inside || "${contain_how[@]}" true 2>/dev/null ||
		contain_how=(env CONTAIN_NOWHERE=1)
}

# Sets contain_tmp: the directory for temporary files, unless there is one already. A lock says that
# its supervisor lives. Directories of dead ones are removed.
contain_tmpdir()
{
	local dir=$contain_top/build/tmp old all

	[[ ${TMPDIR:-} != "$dir"/* || ! -d $TMPDIR ]] || return 0
	mkdir -p "$dir" && exec {all}<"$dir" && flock "$all" || return
	for old in "$dir"/*; do
		[ ! -d "$old" ] || ! flock -n "$old" true || rm -rf --one-file-system "$old"
	done
	# Others look for dead directories as soon as they have the lock of all.
	contain_tmp=$(mktemp -d "$dir/XXXXXX") && exec {contain_lock}<"$contain_tmp" &&
		flock "$contain_lock" && exec {all}<&- && export TMPDIR=$contain_tmp
}

contain_supervise()	# SCRIPT ARGUMENT...
{
	local both watch contain_how contain_life contain_child contain_tmp= contain_lock

	set +eE
	contain_namespaces
	contain_tmpdir || exit
	# A pipe, both ends in one descriptor, then each in its own
	exec {both}<> <(:)
	exec {watch}<"/proc/self/fd/$both" {contain_life}>"/proc/self/fd/$both" {both}<&-
	trap 'contain_end 129' HUP
	trap 'contain_end 130' INT
	trap 'contain_end 143' TERM
	(
		exec {contain_life}>&-
		[ -z "$contain_tmp" ] || exec {contain_lock}<&-
		exec "${contain_how[@]}" "$BASH" "$contain_top/selftests/contain.sh" "$watch" "$@"
	) <&0 &
	contain_child=$!
	exec {watch}<&-
	wait "$contain_child"
	contain_end $?
}

contain_end()	# STATUS
{
	trap '' HUP INT TERM
	exec {contain_life}>&-
	wait "$contain_child" 2>/dev/null
	[ -z "$contain_tmp" ] || rm -rf --one-file-system "$contain_tmp"
	exit "$1"
}

contain_init()	# WATCH SCRIPT ARGUMENT...
{
	local watch=$1 script ended status

	shift
	# bash starts background jobs with SIGINT ignored
	(
		exec {watch}<&-
		CONTAIN_SCRIPT=$BASHPID exec env --default-signal=INT,QUIT "$BASH" "$@"
	) <&0 &
	script=$!
	{ read -r -u "$watch" || :; } &
	wait -n -p ended
	status=$?
	if [ "$ended" != "$script" ]; then
		kill "$script" 2>/dev/null
		status=137
	fi
	exit $status
}

# The supervisor runs this file as init.
[ "${BASH_SOURCE[0]}" != "$0" ] || contain_init "$@"
