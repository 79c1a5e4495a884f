# SPDX-License-Identifier: GPL-2.0-only
# Delete and copy directories below build/, which may have file systems mounted inside: a tree of
# Debian's had /proc mounted when an earlier version of setup-rootfs was interrupted. Sourced.

# mounts_below DIR: "TYPE MOUNTPOINT", a line each, the last mounted first
mounts_below()
{
	local dir point type

	dir=$(realpath -e -- "$1" 2>/dev/null) || return 0
	sed -E 's/^([^ ]+ ){4}([^ ]+) .* - ([^ ]+) .*/\3 \2/' /proc/self/mountinfo | tac |
		while read -r type point; do
			# a blank is \040 there
			point=$(printf '%b' "${point//\\/\\0}")
			[[ $point != "$dir"/* ]] || printf '%s %s\n' "$type" "$point"
		done
}

# clear_mounts DIR: unmount the kernel's own file systems inside, refuse others. Scripts have a
# mount namespace of their own, so this changes nobody else's mounts; but when a mount point is
# deleted here, the kernel detaches what is mounted on that directory elsewhere.
clear_mounts()
{
	local type point

	while read -r type point; do
		case $type in
		proc|sysfs|devtmpfs|devpts|tmpfs|mqueue|hugetlbfs|cgroup|cgroup2|securityfs|debugfs|tracefs)
			umount -- "$point" 2>/dev/null && continue ;;
		esac
		printf '%s: a file system (%s) is mounted on %s: run "umount %q", then repeat\n' \
			"${0##*/}" "$type" "$point" "$point" >&2
		return 1
	done < <(mounts_below "$1")
}

# delete_tree DIR...
delete_tree()
{
	local dir

	for dir; do
		clear_mounts "$dir" && rm -rf --one-file-system -- "$dir" || return
	done
}

# copy_tree FROM TO: TO must not exist
copy_tree()
{
	clear_mounts "$1" && mkdir "$2" && cp -ax --reflink=auto -- "$1/." "$2"
}
