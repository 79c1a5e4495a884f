# SPDX-License-Identifier: GPL-2.0-only
# What a command takes, for bench/perf and bench/sessions: $dir is for files.

"$lab/enter" gcc -O2 -o "$dir/rusage" "$top/selftests/host/rusage.c"

# measure COMMAND [STATUS]: $ms of processor time, $kb resident, $own of it; its output in $out.
# STATUS is another exit status than 0 that is right.
out=$dir/out
measure()
{
	local status=0

	"$lab/enter" "$dir/rusage" "$dir/rusage.out" bash -c '
		"${@:3}" >"$2" 2>"$1.err" &
		own=0 now=0
		while [ -e /proc/$!/status ]; do
			now=$(sed -n "s/^RssAnon:[^0-9]*\([0-9]*\).*/\1/p" /proc/$!/status)
			[ "${now:-0}" -le $own ] || own=$now
			sleep 0.05
		done 2>/dev/null
		echo $own >"$1"
		wait $!' measure "$dir/own" "$out" $1 || status=$?
	[ $status = 0 ] || [ $status = "${2:-0}" ] ||
		{ cat "$dir/own.err" >&2; die "failed: $1"; }
	read -r ms kb _ <"$dir/rusage.out"
	own=$(cat "$dir/own")
}

report_head()
{
	printf '%-32s %6s %8s %7s %18s %9s %6s\n' command MB seconds ms/MB rate 'MB in all' own
}

report()	# WHAT MB UNITS WORD
{
	awk -v what="$1" -v mb="$2" -v n="$3" -v word="$4" -v ms="$ms" -v kb="$kb" -v own="$own" \
		'BEGIN {
		printf "%-32s %6.1f %8.2f %7.1f %8.1f M %s/s %7.1f %6.1f\n", what, mb, ms / 1000,
			ms / mb, n / ms / 1000, word, kb / 1024, own / 1024 }'
}
