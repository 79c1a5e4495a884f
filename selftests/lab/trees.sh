#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Trees below build/ with mounts inside, as an earlier version could leave behind: they must be
# deleted and copied without the content of the mounts, or the command must refuse with an
# explanation.

name=trees
. "$(dirname "$0")/lib.bash"

project=$dir/project
tree=$project/build/rootfs
log=$dir/log

# A project without anything built, and a tree with /proc in it
prepare()
{
	mkdir -p "$project" "$dir/precious"
	(cd "$top" && tar -c --exclude=./build --exclude=./.git -f - .) | tar -x -f - -C "$project"
	mkdir -p "$tree/proc" "$tree/dev/shm" "$tree/a b" "$tree/etc"
	echo 1 >"$tree/etc/file"
	echo keep >"$dir/precious/file"
	mount -t proc proc "$tree/proc" && mount -t tmpfs tmpfs "$tree/dev/shm" &&
		echo 2 >"$tree/dev/shm/file"
}

mounted()
{
	grep -c " $project/build/" /proc/self/mountinfo
}

prepare && [ "$(mounted)" = 2 ]
ok $? "a tree with two file systems inside"

# setup-tree's copy
(copy_tree "$tree" "$dir/copy") >"$log" 2>&1 && [ "$(cat "$dir/copy/etc/file")" = 1 ] &&
	[ -d "$dir/copy/proc" ] && [ -z "$(ls -A "$dir/copy/proc" "$dir/copy/dev/shm" | grep -v :)" ]
ok $? "copied without what is mounted" "$log"

umount "$tree/proc" "$tree/dev/shm" 2>/dev/null
mount -t proc proc "$tree/proc" && mount --bind "$dir/precious" "$tree/a b"
status=0
make -s -C "$project" distclean >"$log" 2>&1 || status=$?
[ $status != 0 ] && grep -qF "mounted on $tree/a b: run \"umount $tree/a\\ b\"" "$log"
ok $? "make distclean refuses while a directory of someone's is mounted inside, and says how to unmount" "$log"
[ "$(cat "$dir/precious/file")" = keep ] && [ "$(cat "$tree/etc/file")" = 1 ]
ok $? "... and has deleted nothing"

umount "$tree/a b"
make -s -C "$project" distclean >"$log" 2>&1 && [ ! -e "$project/build" ] && [ "$(mounted)" = 0 ]
ok $? "make distclean with /proc mounted inside: the tree is gone, and the mount" "$log"
[ -e /proc/self/mountinfo ] && [ "$(cat "$dir/precious/file")" = keep ]
ok $? "... and nothing else"

# mmdebstrap cannot unmount what another process uses: its namespace ends all the same
mkdir -p "$dir/made/proc"
bash -c '. "$0/common.sh"; private sh -c "mount -t proc proc \$0 && grep -q \$0 /proc/self/mountinfo" "$1"' \
	"$lab" "$dir/made/proc" >"$log" 2>&1 && ! grep -q "$dir/made" /proc/self/mountinfo
ok $? "what private leaves mounted is mounted nowhere else" "$log"
finish
