#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# debian/ says what is there: one version, all symbols of the libraries, a package for each file
# that make install installs, tools for each package that a build wants. lab/deb builds and installs
# them.

. "$(dirname "$0")/lib.bash"
debian=$top/debian
lab=$top/selftests/qemu/lab

version=$(sed -n 's/^.define LIBNTRACE_VERSION_[MP][^0-9]*//p' \
	"$top/tools-perf/util/ntrace-decoder/ntrace.h" |
	paste -sd.)
[ "$(sed -n '1s/^ntrace (\(.*\)) .*/\1/p' "$debian/changelog")" = "$version" ]
verdict $? 'the changelog has the version of the library'
[ "$(sed -n 's/^.define LIBNTRACE_TV_VERSION_[MP][^0-9]*//p' \
	"$top/tools-perf/util/ntrace-tv/nt-tv.h" | paste -sd.)" = "$version" ]
verdict $? '... which is that of libntrace-tv, too'

# exported LIBRARY: as a symbols file has it
exported()
{
	nm -D --defined-only "$out/$1.so" |
		awk '$2 ~ /^[TDRBVA]$/ { sub(/@@?/, "@", $3); print $3 }' |
		sed 's/^\([A-Z].*\)@.*/\1@\1/; s/^\(LIB[A-Z_0-9.]*\)$/\1@\1/' | LC_ALL=C sort -u
}

for library in libntrace libntrace-ctr libntrace-perfdata libntrace-tv; do
	exported $library >"$scratch/has"
	sed -n "/^$library\.so\.0 /,/^lib/{s/^ \([^ ]*\) .*/\1/p}" "$debian/libntrace0.symbols" |
		LC_ALL=C sort >"$scratch/want"
	[ -s "$scratch/has" ] && cmp -s "$scratch/has" "$scratch/want"
	verdict $? "$library: the symbols file has what is exported, $(wc -l <"$scratch/has") symbols"
	diff "$scratch/want" "$scratch/has" | sed 's/^/# /'
done

root=$scratch/root
make -s --no-print-directory -C "$top/tools-perf" out="$out" DESTDIR="$root" PREFIX=/usr \
	LIBDIR=/usr/lib/riscv64-linux-gnu ZSHDIR=/usr/share/zsh/vendor-completions install \
	>"$scratch/log" 2>&1
verdict $? 'make install'
sed 's/^/# /' "$scratch/log"
cd "$root" || exit 1
find . ! -type d | sed 's,^\./,,' | LC_ALL=C sort >"$scratch/installed"
# each pattern of a package, and what it takes: a folder as a whole
for list in "$debian"/{libntrace0,libntrace-dev,ntrace-tools}.{install,manpages}; do
	[ -e "$list" ] || continue
	while read -r pattern _; do
		for found in ${pattern#debian/tmp/}; do
			find "$found" ! -type d 2>/dev/null ||
				echo "nothing is $pattern of ${list##*/}"
		done
	done <"$list"
done | LC_ALL=C sort >"$scratch/packed"
cmp -s "$scratch/installed" "$scratch/packed"
verdict $? "each of $(wc -l <"$scratch/installed") files is in one package"
diff "$scratch/installed" "$scratch/packed" | sed 's/^/# /'
cd "$scratch" || exit 1

# what dkms does with it
sed "s/#MODULE_VERSION#/$version/" "$debian/ntrace-dkms.dkms" >dkms.conf
(
	# shellcheck source=/dev/null
	. ./dkms.conf
	[ "$PACKAGE_NAME-$PACKAGE_VERSION" = "ntrace-$version" ] &&
		grep -qx "obj-m += ${BUILT_MODULE_NAME[0]}.o" \
			"$top/${BUILT_MODULE_LOCATION[0]}/Kbuild"
)
verdict $? 'dkms.conf names the module that kernel/Kbuild makes'
missing=0
for file in Kbuild kernel/Kbuild uapi/linux/ntrace.h; do
	grep -q "^${file%%/*} " "$debian/ntrace-dkms.install" ||
		{ echo "# not in ntrace-dkms: $file"; missing=1; }
done
verdict $missing 'ntrace-dkms has what the module is made of'

# what a build wants is in the lab's lists, or comes with build-essential
missing=0
sed 's/#.*//; s/:riscv64$//; /^$/d' "$lab/packages" "$lab/packages-deb" | sort -u >lists
wanted=$(sed -n '/^Build-Depends:/,/^$/p' "$debian/control" |
	sed -n 's/^ \([a-z0-9.+-]*\).*/\1/p' | grep -v '^debhelper-compat$')
for package in $wanted; do
	case $package in pkgconf) package=pkg-config ;; esac
	grep -qx "$package" lists || { echo "# in no list: $package"; missing=1; }
done
[ "$(wc -w <<<"$wanted")" -ge 10 ] || missing=1
verdict $missing "all of $(wc -w <<<"$wanted") packages that a build wants are in the lab"

finish
