#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A command that is killed at a random moment must not leave a process, a mount, or a file outside
# build/ behind. ROUNDS=N kills N commands (default 4); SEED=N repeats a run.
#
# The commands run in an overlay of the root file system. Its upper layer then has all files that
# were written outside build/. Processes are found by their root directory. The last command creates
# its own Debian tree, from the network.

# alone: the commands that it kills write to build/check, too

name=killed
. "$(dirname "$0")/lib.bash"
seed=${SEED:-$((($(date +%s%N) / 1000) % 1000000000))}
RANDOM=$((seed % 32768))
echo "# SEED=$seed"

layers=$dir/layers
root=$dir/root
fresh=$dir/fresh
mkdir -p "$layers" "$root" "$fresh"

# --- where the commands run -------------------------------------------------------

overlay()
{
	mount -t tmpfs tmpfs "$layers" && mkdir "$layers/upper" "$layers/work" &&
		mount -t overlay -o "lowerdir=/,upperdir=$layers/upper,workdir=$layers/work" \
			overlay "$root" &&
		mount --bind "$build" "$root$build" && mount -t proc proc "$root/proc" &&
		mount --rbind /sys "$root/sys" && mount --rbind /dev "$root/dev" &&
		mount -t tmpfs tmpfs "$root/dev/shm" || return
	# may be a link into /run
	cp --remove-destination "$(realpath /etc/resolv.conf)" "$root/etc/resolv.conf" &&
		find "$layers/upper" | sort >"$layers/before"
}
overlay 2>"$dir/overlay.err" || { echo "1..0 # SKIP no overlay of /: $(tail -n 1 "$dir/overlay.err")"; exit 4; }

# The project, without what was made of it
(cd "$top" && tar -c --exclude=./build --exclude=./.git -f - .) | tar -x -f - -C "$fresh"

# processes: those of the commands, but for zombies
processes()
{
	local p

	for p in /proc/[0-9]*; do
		[ "$(readlink "$p/root" 2>/dev/null)" != "$root" ] || echo "${p#/proc/}"
	done
}

# What there may be outside build/ when a command is gone: nothing new.
mounts=$(cut -d' ' -f2- /proc/self/mountinfo)
remains()
{
	local p

	for p in $(processes); do
		echo "process $p: $(tr '\0' ' ' <"/proc/$p/cmdline" | cut -c1-120)"
	done
	diff <(echo "$mounts") <(cut -d' ' -f2- /proc/self/mountinfo) | sed -n 's/^[<>]/mount &/p'
	find "$layers/upper" | sort | comm -13 "$layers/before" - | sed "s,^$layers/upper,file ,"
	find "$root/dev/shm" -mindepth 1
}

# The kernel ends the processes of a namespace one by one. A minute is for a busy machine.
nothing_remains()
{
	local i

	for i in $(seq 600); do
		[ -n "$(processes)" ] || break
		sleep 0.1
	done
	remains >"$dir/remains"
	[ ! -s "$dir/remains" ]
}

# --- commands and deaths -----------------------------------------------------------

# start DIRECTORY COMMAND...: in a process group of its own, with SIGINT as a terminal has it; sets
# $pid
start()
{
	env --default-signal=INT,QUIT setsid chroot "$root" sh -c 'cd "$0" && exec "$@"' "$@" \
		>"$dir/out" 2>&1 </dev/null &
	pid=$!
}

# end HOW: after it, $pid has been waited for
end()
{
	local all

	case $1 in
	KILL|TERM) kill -s "$1" "$pid" ;;
	INT) kill -s INT -- "-$pid" ;;
	# what the kernel does when it is out of memory
	part)
		mapfile -t all < <(processes)
		[ ${#all[@]} = 0 ] || kill -s KILL "${all[RANDOM % ${#all[@]}]}"
		sleep 0.5
		kill -s TERM "$pid" ;;
	esac 2>/dev/null
	wait "$pid" 2>/dev/null
}

# killed MILLISECONDS HOW DIRECTORY COMMAND...
killed()
{
	local ms=$1 how=$2 at

	shift 2
	start "$@"
	at=$((ms / 1000)).$(printf %03d $((ms % 1000)))
	sleep "$at"
	end "$how"
	nothing_remains
	ok $? "${*:2} ($how after $at s): no process, mount or file is left" "$dir/remains" \
		"$dir/out"
}

# Build first: the duration of a demo must not include the build
start "$top" make lab
wait "$pid"
ok $? "make lab, where nobody kills it" "$dir/out"
began=${EPOCHREALTIME/./}
start "$top" make demo
wait "$pid"
status=$?
took=$(((${EPOCHREALTIME/./} - began) / 1000))
grep -q '^  verdict  *equal' "$dir/out" || status=1
ok $status "make demo, where nobody kills it" "$dir/out"
nothing_remains
ok $? "make demo ($took ms): no process, mount or file is left" "$dir/remains"

cat >"$dir/guest.sh" <<'END'
while :; do qsort >/dev/null; done
END
boot=(selftests/qemu/lab/boot --share "$dir/share" --log "$dir/console.log" --run "$dir/guest.sh")
deaths=(KILL TERM INT part)
commands=('make demo' "${boot[*]}" 'selftests/run lab/filter' 'make demo')
for ((i = 0; i < ${ROUNDS:-4}; i++)); do
	# every other one early, when namespaces, directories and locks are made
	most=$((i % 2 ? took < 60000 ? took : 60000 : 1500))
	killed $((RANDOM * most / 32768)) "${deaths[(i + i / 4) % 4]}" "$top" ${commands[i % 4]}
done

killed $((1000 + RANDOM * 20000 / 32768)) "${deaths[RANDOM % 4]}" "$fresh" make lab
start "$fresh" make distclean
wait "$pid"
[ $? = 0 ] && [ ! -e "$fresh/build" ] && nothing_remains
ok $? "make distclean behind that" "$dir/remains" "$dir/out"

finish
