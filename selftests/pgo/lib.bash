# SPDX-License-Identifier: GPL-2.0-only
# What gcc and kernel here share: commands that are shown as the documentation has them, the guest,
# counts of a recording. Sourced, with $dir set.

page=$top/Documentation/trace/ntrace-pgo.rst
ntrace=$build/host/ntrace
# the recorder, in the guest
recorder='$PROJECT/build/guest/bin/ntrace'

# shown COMMAND: say it, then do it, in $dir
shown()
{
	local text=${1//"$build/host/"/}

	text=${text//"${sources:-none}"/\$sources}
	printf '$ %s\n' "$text" | tee -a "$dir/said"
	"$lab/enter" sh -c "cd $dir && $1" >>"$dir/log" 2>&1 ||
		{ tail -n 20 "$dir/log" >&2; die "failed, see $dir/log"; }
}

# guest OPTION... : runs $dir/guest.sh
guest()
{
	LAB_ROOTFS= "$lab/boot" --smp 1 --share "$dir" --log "$dir/console.log" --timeout 600 "$@" \
		--run "$dir/guest.sh" >"$dir/guest.out" 2>&1 </dev/null ||
		{ cat "$dir/guest.out" >&2; die "the guest failed"; }
}

# counted NAME RECORDING [OPTION...]: "NAME INSTRUCTIONS TAKEN", by a trace without losses
counted()
{
	LAB_ROOTFS= "$lab/enter" sh -c 'cd "$0" && exec "$@"' "$dir" "$ntrace" stat "${@:3}" \
		"$2" >"$dir/stat" 2>&1 ||
		{ tail -n 5 "$dir/stat" >&2; die "$1: trace was lost, its counts are not exact"; }
	awk -v name="$1" '/^instructions / { insns = $2 } /^taken transfers / { taken = $3 }
		END { print name, insns, taken; exit !(insns && taken) }' "$dir/stat"
}

# Each command is in the documentation, so what is there is what was run.
check_said()
{
	local line

	tr -s ' ' <"$page" >"$dir/documented"
	while read -r line; do
		grep -qF -- "${line#*\$ }" "$dir/documented" || die "not in $page: $line"
	done < <(tr -s ' ' <"$dir/said")
}
