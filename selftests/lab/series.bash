# SPDX-License-Identifier: GPL-2.0-only
# What tests share that build a kernel with what make series makes. Sourced behind lib.bash.

. "$lab/kernel.bash"

for tool in git cc perl; do
	command -v $tool >/dev/null || { echo "1..0 # SKIP no $tool"; exit 4; }
done
export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=Nobody GIT_AUTHOR_EMAIL=nobody@localhost \
	GIT_COMMITTER_NAME=Nobody GIT_COMMITTER_EMAIL=nobody@localhost HOME=$dir

# whole_source 6.12|newest: it is at $whole; where the others are to be
whole_source()
{
	tree=$dir/tree-$1 src=$dir/linux-$1 changed=$dir/changed-$1 whole=$build/linux-whole
	[ "$1" = 6.12 ] || whole+=-$1
	"$lab/setup-whole-source" "$1"
}

# $src, to be built: what changes of the source is in $changed
source_tree()
{
	mkdir "$src" "$changed" "$changed.work" &&
		mount -t overlay overlay -o \
			"lowerdir=$whole,upperdir=$changed,workdir=$changed.work" "$src" || return
	# enter's namespace is one that has this
	unset LAB_INSIDE
	lab_inside
}

# $tree: of the source, the files that the series wants, and the series
git_tree()
{
	mkdir "$tree" && "$top/series/make" --files | tar -c -f - -C "$whole" -T - |
		tar -x -f - -C "$tree" &&
		git -C "$tree" init -q -b master && git -C "$tree" add -A -f &&
		git -C "$tree" commit -q -m "Linux" && "$top/series/make" "$tree"
}

# apply COMMIT [FROM]: its files, or those since FROM, in $src. With dates of now, so that make sees
# them.
apply()
{
	local from=${2:-$1^}

	[ -z "$(git -C "$tree" diff --diff-filter=D --name-only "$from" "$1")" ] &&
		git -C "$tree" diff --name-only -z "$from" "$1" >"$dir/names" &&
		xargs -0 git -C "$tree" archive --format=tar "$1" -- <"$dir/names" |
		tar -x -m -f - -C "$src"
}

leave_source()
{
	umount "$src" || { echo "Bail out! $src stays mounted"; exit 1; }
	delete_tree "$changed" "$changed.work"
}
