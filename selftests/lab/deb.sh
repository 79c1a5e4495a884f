#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Debian packages (only in make check-all; host/packages checks debian/). Two builds in different
# directories must give identical files. The packages are installed in a pristine Debian for
# riscv64, which is booted, and in one for amd64, as README says. They must work, upgrade, and leave
# nothing behind when purged. The installed perf for amd64 must decode the recordings of the
# installed driver and perf correctly.
# PARTS="twice install" in the environment selects parts.

name=deb
. "$(dirname "$0")/lib.bash"
[ "${groups:-}" = all ] || {
	echo "1..0 # SKIP make check-all builds and installs packages"
	exit 4
}

log=$dir/log
share=$dir/run/share
version=$(sed -n '1s/^ntrace (\(.*\)) .*/\1/p' "$top/debian/changelog")
newer=$version+1
names="libntrace-dev libntrace0 ntrace-dkms ntrace-recorder ntrace-tools perf-ntrace"

# --- the packages ------------------------------------------------------------------

"$lab/build-deb" >"$log" 2>&1
ok $? "packages are built, lintian has nothing to say" "$log"
for arch in amd64 riscv64; do
	(cd "$build/deb" && ls ./*_"$arch".deb | sed 's,./\([a-z0-9-]*\)_.*,\1,') >"$dir/built"
	[ "$(paste -sd' ' "$dir/built")" = "$(tr ' ' '\n' <<<"$names" |
		if [ $arch = amd64 ]; then grep -v -e dkms -e recorder; else cat; fi |
		paste -sd' ')" ]
	ok $? "$arch: $(paste -sd' ' "$dir/built")" "$dir/built"
done

dpkg-deb -f "$build"/deb/ntrace-recorder_*_riscv64.deb Built-Using >"$log" 2>&1 &&
	grep -qE '^(glibc|cross-toolchain-base) \(= [0-9][^ ]*\)$' "$log"
ok $? "the static recorder names its libc: $(cat "$log")" "$log"

# In another place, with another umask, by another clock: only the date of the sources is the same.
twice()
{
	local copy=$dir/elsewhere/a-longer-name tree

	mkdir -p "$copy/build"
	git -C "$top" ls-files -z |
		tar -c -f - -C "$top" --ignore-failed-read --null -T - 2>/dev/null |
		tar -x -f - -C "$copy"
	cp "$build/rootfs.apt.conf" "$copy/build/"
	for tree in rootfs rootfs-deb; do
		mkdir "$copy/build/$tree" && mount --bind "$build/$tree" "$copy/build/$tree" ||
			return
	done
	(umask 077 && SOURCE_DATE_EPOCH=$(git -C "$top" log -1 --format=%ct) TZ=Asia/Tokyo \
		"$copy/selftests/qemu/lab/build-deb") &&
		cmp "$copy/build/deb/sums" "$build/deb/sums"
}

wants()		# PART
{
	[[ " ${PARTS:-twice install} " == *" $1 "* ]]
}

if wants twice; then
	twice >"$log" 2>&1
	ok $? "a second time, elsewhere: the same $(wc -l <"$build/deb/sums") files" "$log"
	for tree in rootfs rootfs-deb; do umount "$dir/elsewhere/a-longer-name/build/$tree"; done
	delete_tree "$dir/elsewhere"
fi
wants install || finish

# newer PACKAGE.deb DIRECTORY: a package of the next version, which is this one under another number
newer()
{
	local tree

	tree=$(mktemp -d)
	dpkg-deb -R "$1" "$tree" || return
	[ ! -d "$tree/usr/src/ntrace-$version" ] ||
		mv "$tree/usr/src/ntrace-$version" "$tree/usr/src/ntrace-$newer"
	find "$tree/DEBIAN" "$tree/usr/src" -type f \( -path '*/DEBIAN/*' -o -name dkms.conf \
		\) -exec \
		sed -i "s/\<${version//./\\.}\>/$newer/g" {} + 2>/dev/null || :
	sed -i '/dkms\.conf$/d' "$tree/DEBIAN/md5sums"
	dpkg-deb --root-owner-group -b "$tree" "$2" >/dev/null || return
	rm -r "$tree"
}

mkdir -p "$share/debs" "$share/newer" "$dir/amd64/debs" "$dir/amd64/newer"
"$lab/setup-debian" >"$log" 2>&1 && "$lab/setup-debian-amd64" >>"$log" 2>&1
ok $? "a pristine Debian for each architecture" "$log"
cp "$build"/deb/*_riscv64.deb "$share/debs"
cp "$build"/deb/*_amd64.deb "$dir/amd64/debs"
cp -r "$top/debian/tests" "$build/debian/repo" "$share"
cp -r "$top/debian/tests" "$build/debian-amd64/repo" "$dir/amd64"
for where in "$share" "$dir/amd64"; do
	for deb in "$where"/debs/*.deb; do newer "$deb" "$where/newer" ||
		ok 1 "another version of $deb"; done
	# where the test of the library looks for its example
	mkdir -p "$where/tools-perf/util/ntrace-decoder" "$where/debian"
	cp "$top/tools-perf/util/ntrace-decoder/example.c" "$where/tools-perf/util/ntrace-decoder"
	mv "$where/tests" "$where/debian"
done

# What both trees are told to do, by a file in /mnt. Without packages' own lists, caches and logs,
# and what dkms and man-db make for all packages.
cat >"$share/tree.sh" <<'END'
set -eu
cd /mnt
step=$1
files()
{
	find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /mnt -o -path /run -o -path /tmp \
		-o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/cache -o -path /var/log \) -prune -o \
		-printf '%p %y %m\n' | LC_ALL=C sort
}
packages()
{
	dpkg-query -W -f '${Package}\n' | LC_ALL=C sort
}
get="apt-get -o Dpkg::Use-Pty=0 -q -y"
case $step in
install)
	echo 'deb [trusted=yes] file:/mnt/repo ./' >/etc/apt/sources.list
	rm -f /etc/apt/sources.list.d/*
	apt-get -q update
	packages >before.packages
	files >before.list
	cd debs
	$get install ./*.deb ;;
upgrade)
	cd newer
	$get install ./*.deb
	for p in $2; do
		[ "$(dpkg-query -W -f '${Version}' "$p")" = "$3" ] || { echo "$p is not of $3"; exit 1; }
	done ;;
beside)
	$get install linux-perf
	perf --version | tee /tmp/own
	perf-ntrace --version | grep ntrace
	if grep ntrace /tmp/own; then exit 1; fi
	if perf script -i $2 >/tmp/script 2>&1; then exit 1; fi
	grep 'failed to process type: 70' /tmp/script
	perf-ntrace --buildid-dir debug script -i $2 --itrace=b -F ip,addr >/tmp/branches
	[ -s /tmp/branches ]
	$get purge linux-perf ;;
purge)
	$get purge $2
	$get autopurge
	# what else came with them, and stays as others recommend it, has caches and links of its own
	others=$(packages | comm -13 before.packages -)
	[ -z "$others" ] || $get purge $others
	files >after.list
	cat /var/lib/dpkg/info/*.list | LC_ALL=C sort -u >owned.list
	! dpkg -l $2 2>/dev/null | grep '^[a-z][a-zA-Z] ' | grep -v '^un' ;;
tests)
	# as debian/tests/control has it
	$get install gcc libc6-dev pkgconf
	apt-mark -q auto gcc libc6-dev pkgconf
	for t in $2; do
		mkdir -p /tmp/$t
		AUTOPKGTEST_TMP=/tmp/$t debian/tests/$t || { echo "test $t failed: $?"; exit 1; }
	done ;;
esac
END
cp "$share/tree.sh" "$dir/amd64"

# left WHERE: files that were not there before the packages were, and are of no package. What
# netbase and tzdata, which others depend on, write in /etc is not ours.
left()
{
	comm -13 "$1/before.list" "$1/after.list" | sed -E 's/ [a-z] [0-7]+$//' | LC_ALL=C sort |
		comm -23 - "$1/owned.list" |
		grep -vx -e /etc/hosts -e /etc/localtime -e /etc/timezone
}

# --- amd64 ----------------------------------------------------------------------------

tree=$dir/tree
mkdir -p "$tree"
tar -x -p -f "$build/debian-amd64/tree.tar" -C "$tree"
amd64_names="libntrace-dev libntrace0 ntrace-tools perf-ntrace"

on_amd64()	# DESCRIPTION ARGUMENT...
{
	other_tree "$tree" "$dir/amd64" sh /mnt/tree.sh "${@:2}" >"$log" 2>&1
	ok $? "amd64: $1" "$log"
}

on_amd64 "apt installs them" install
on_amd64 "tests of the installed packages" tests "command library perf"

# --- riscv64 --------------------------------------------------------------------------

disk=$dir/disk.img
cp --sparse=always "$build/debian/disk.img" "$disk"
mkdir -p "$share/bin"
cp "$build"/guest/bin/{prog,recording} "$share/bin"

# in_guest DESCRIPTION GROUP COMMAND [BOOT OPTION...]: boot from the disk, run it there
in_guest()
{
	local description=$1 group=$2

	{
		echo '. "$PROJECT/selftests/qemu/lab/debian-mount"'
		echo 'status=0'
		echo "in_debian sh -c '$3' || status=\$?"
		echo 'leave_debian; exit $status'
	} >"$dir/guest.sh"
	guest "$group" "$dir/guest.sh" --driver "" --timeout 3600 --share "$share" \
		--qemu-arg -drive \
		--qemu-arg "file=$disk,format=raw,if=virtio,cache=unsafe" "${@:4}"
	ok $? "riscv64: $description" "$dir/$group/guest.out"
}

in_guest "apt installs them, and DKMS builds the driver" install \
	'sh /mnt/tree.sh install && dkms status >/tmp/dkms && cat /tmp/dkms && grep -q "^ntrace/.*: installed" /tmp/dkms' --no-plugin
in_guest "tests of the installed packages" tests \
	'sh /mnt/tree.sh tests "command library perf"' --no-plugin
in_guest "the installed driver and recorders record" run \
	'sh /mnt/tree.sh tests record && /mnt/bin/recording 1 && cd /mnt &&
	perf-ntrace --buildid-dir /mnt/debug record -e ntrace//u -o prog.data -- bin/prog'
in_guest "a newer version" upgrade "sh /mnt/tree.sh upgrade \"$names\" $newer && dkms status &&
	dkms status >/tmp/dkms && grep -q \"^ntrace/$newer, .*: installed\" /tmp/dkms && ! grep \"^ntrace/$version,\" /tmp/dkms &&
	[ \"\$(find /lib/modules -name \"ntrace*.ko*\" | wc -l)\" = 1 ]" --no-plugin
in_guest "removed and purged" purge "sh /mnt/tree.sh purge \"$names\"" --no-plugin
left "$share" >"$dir/left"
[ -s "$share/before.list" ] && [ ! -s "$dir/left" ]
ok $? "riscv64: nothing is left behind" "$dir/left"

# --- what was recorded there is decoded here, with what is installed here
# ---------------------------

cp -r "$share/prog.data" "$share/debug" "$dir/amd64"
other_tree "$tree" "$dir/amd64" perf-ntrace --buildid-dir /mnt/debug script -i /mnt/prog.data \
	--itrace=be \
	-F cpu,tid,event,ip,addr,flags >"$dir/branches" 2>"$log" &&
	"$lab/enter" sh -c 'list=$1; shift; exec "$@" <"$list"' sh "$dir/branches" \
		"$build/host/truthcmp" \
		--branches --types --tid --segment 1 $("$lab/truths" "$dir/run") >"$dir/verdict" \
		2>>"$log"
ok $? "recorded on riscv64, decoded on amd64: what ran: $(head -n 1 "$dir/verdict")" \
	"$dir/verdict" "$log"
lines=$(wc -l <"$dir/branches")
other_tree "$tree" "$dir/amd64" ntrace script --buildid-dir=/mnt/debug /mnt/prog.data \
	>"$dir/script" 2>"$log"
[ "$lines" -gt 100000 ] && [ "$(wc -l <"$dir/script")" = "$(grep -vc -e ' error' "$dir/branches")" ]
ok $? "ntrace-tools decodes as many branches: $lines" "$log"

on_amd64 "beside Debian's own perf, which does not decode" beside prog.data
on_amd64 "a newer version" upgrade "$amd64_names" "$newer"
on_amd64 "removed and purged" purge "$amd64_names"
left "$dir/amd64" >"$dir/left"
[ -s "$dir/amd64/before.list" ] && [ ! -s "$dir/left" ]
ok $? "amd64: nothing is left behind" "$dir/left"
rm -f "$disk" "$dir/branches" "$dir/script"
delete_tree "$tree"
finish
