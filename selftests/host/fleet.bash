# SPDX-License-Identifier: GPL-2.0-only
# Recordings of twenty simulated hosts and of six programs, with a known truth: what host/fleet.sh
# and lab/fleet.sh share. Sourced behind lib.bash, with $recordings set: how many.

build_recdata
verdict $? 'recdata'

# Six programs: of two sources, and of other content each
mkdir "$scratch/prog" "$scratch/rec"
id=()
for ((i = 0; i < 6; i++)); do
	name=$([ $((i % 2)) = 0 ] && echo mix || echo towers)
	{ cat "$samples/$name/$name.elf"; printf '%*s' "$i" ''; } >"$scratch/prog/p$i"
	id[i]=$(sha256sum <"$scratch/prog/p$i" | cut -d ' ' -f 1)
	[ -s "$scratch/$name.pc" ] ||
		"$ntrace" decode --elf "$samples/$name/$name.elf" --no-marks \
			"$samples/$name/L1.bin" >"$scratch/$name.pc"
done

# One recording for each number, of its own length, and what was taken in it
for ((r = 0; r < recordings; r++)); do
	program=$scratch/prog/p$((r % 6))
	list=$scratch/$([ $((r % 2)) = 0 ] && echo mix || echo towers).pc
	tail -n +$((RANDOM % 2000 + 1)) "$list" | head -n $((1000 + 10 * r)) >"$scratch/list"
	"$ntrace" encode --elf "$program" --pc "$scratch/list" -o "$scratch/trace" &&
		"$scratch/recdata" file "$program" "$scratch/trace" >"$scratch/rec/$r" &&
		"$ntrace" decode --output=branch --elf "$program" "$scratch/trace" |
		awk -v id="${id[r % 6]}" '!/^#/ { print id "+" $1, id "+" $2 }' \
			>"$scratch/rec/$r.taken" ||
		verdict 1 "recording $r"
done
[ "$(sha256sum "$scratch"/rec/*[0-9] | cut -d ' ' -f 1 | sort -u | wc -l)" = "$recordings" ]
verdict $? "$recordings recordings, no two alike"

# truth R...: what the sum of these has to have
truth()
{
	local r

	for r; do cat "$scratch/rec/$r.taken"; done |
		awk '{ n[$0]++ } END { for (e in n) print e, "branch", n[e] }' | LC_ALL=C sort
}

# what a sum has of branches that were taken
counts()
{
	python3 "$top/selftests/host/edges.py" "$1" |
		awk '$3 == "branch" && $1 != "-" && $2 != "-"' | LC_ALL=C sort
}

for ((r = 0; r < recordings; r++)); do
	"$ntrace" profile --format=edges -o "$scratch/rec/$r.edges" "$scratch/rec/$r" ||
		verdict 1 "edges of recording $r"
done

# send R HOST: as it is, by the number of its content, or counted on the host
send()
{
	local to=$spool/incoming/$2

	mkdir -p "$to"
	case $(($1 % 3)) in
	0) cp "$scratch/rec/$1" "$to/$1.data" ;;
	1) cp "$scratch/rec/$1" "$to/$(sha256sum <"$scratch/rec/$1" | cut -d ' ' -f 1).data" ;;
	2) cp "$scratch/rec/$1.edges" "$to/" ;;
	esac
}

new_spool()
{
	spool=$scratch/spool.$1
	mkdir -p "$spool"
	for ((i = 0; i < 20; i++)); do printf 'h%02d\n' $i; done >"$spool/hosts"
}

fleet()		# to $scratch/report; its status
{
	timeout "$hang" "$ntrace" fleet "$@" >"$scratch/report" 2>"$scratch/said"
}

# row HOST COLUMN...: these columns of the report
row()
{
	local host=$1
	shift

	awk -v host="$host" -v columns="$*" \
		'$1 == host { n = split(columns, c, " "); for (i = 1; i <= n; i++) printf "%s%s", $c[i], i < n ? " " : "\n" }' "$scratch/report"
}

# is_truth DESCRIPTION R...
is_truth()
{
	local description=$1
	shift

	truth "$@" >"$scratch/want"
	counts "$spool/merged/sum.edges" >"$scratch/got"
	[ -s "$scratch/want" ] && cmp "$scratch/got" "$scratch/want"
	verdict $? "$description: the truth's $(wc -l <"$scratch/want") branches"
}

# is_truth_at WANTED STATUS DESCRIPTION R...: what the command's exit status was, too
is_truth_at()
{
	[ "$1" = "$2" ] || verdict 1 "$3: exit status $2, not $1"
	shift 2
	is_truth "$@"
}

host_of()
{
	printf 'h%02d' $(($1 % 20))
}
