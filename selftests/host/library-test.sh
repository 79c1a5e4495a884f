#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The libraries as others get them: what is installed, what they export, and that the
# example builds against libntrace and decodes.

. "$(dirname "$0")/lib.bash"
CC=${CC:-gcc}
util=$top/tools-perf/util
folder=$util/ntrace-decoder
towers=$samples/towers
mix=$samples/mix

root=$scratch/root
for part in decoder ctr tv perfdata; do
	make -s --no-print-directory -C "$util/ntrace-$part" O="$scratch/build" DESTDIR="$root" \
		PREFIX=/opt/nt CC="$CC" CFLAGS=-O1 install >"$scratch/log" 2>&1
	verdict $? "make install: ntrace-$part"
	sed 's/^/# /' "$scratch/log"
done
(cd "$root" && find . ! -type d | LC_ALL=C sort) >"$scratch/files"
LC_ALL=C sort >"$scratch/want" <<-END
	./opt/nt/include/ntrace/nt-ctr.h
	./opt/nt/include/ntrace/nt-enc.h
	./opt/nt/include/ntrace/nt-perfdata.h
	./opt/nt/include/ntrace/nt-tv.h
	./opt/nt/include/ntrace/ntrace.h
	$(for name in libntrace libntrace-ctr libntrace-perfdata libntrace-tv; do
		printf './opt/nt/lib/%s\n' $name.a $name.so $name.so.0 $name.so.0.1.0 \
			pkgconfig/$name.pc
	done)
END
diff "$scratch/want" "$scratch/files" | sed 's/^/# /'
cmp -s "$scratch/want" "$scratch/files"
verdict $? 'what is installed'

lib=$root/opt/nt/lib include=$root/opt/nt/include/ntrace

# functions PREFIX GREP-OPTION: names that begin so and that the preprocessed header declares,
# or with -v has whole
functions()
{
	tr '\n' ' ' <"$scratch/header" | sed 's/[;{}]/&\n/g' | grep -v 'typedef' |
		grep $2 'static inline' | grep -o "\<$1[a-z0-9_]* *(" | tr -d ' (' | sort -u
}

# library NAME HEADER PREFIX LIBS: its soname, its symbols, its memory, its pkg-config
declare -A flags
library()
{
	local name=$1 header=$2 prefix=$3 want="-I$include -L$lib $4" version

	version=${name^^}
	version=${version//-/_}_0
	readelf -dW "$lib/$name.so" | grep -q "SONAME.*\[$name\.so\.0\]"
	verdict $? "$name: soname"

	# names and versions that the library has, names that the header declares
	nm -D --defined-only "$lib/$name.so" | awk '$2 == "T" { print $3 }' | sort >"$scratch/has"
	! grep -v "@@$version" "$scratch/has" && [ -s "$scratch/has" ]
	verdict $? "$name: symbols have versions"
	"$CC" -E -P -x c "$include/$header" >"$scratch/header"
	functions "$prefix" -e >"$scratch/inline"
	functions "$prefix" -v | grep -vxFf "$scratch/inline" >"$scratch/want"
	sed 's/@.*//' "$scratch/has" | diff "$scratch/want" - >"$scratch/diff"
	verdict $? "$name: exported is what the header declares"
	sed 's/^/# /' "$scratch/diff"

	# tables of pointers are .data.rel.ro
	size -A "$lib/$name.a" >"$scratch/sizes"
	grep -q '^\.text' "$scratch/sizes" &&
		! awk '/^\.(data|bss|tdata|tbss|sdata|sbss)/ && !/^\.data\.rel\.ro/ && $2 > 0' \
			"$scratch/sizes" | grep . | sed 's/^/# /' | grep .
	verdict $? "$name: no global state"

	if command -v pkg-config >/dev/null; then
		# paths are the final ones; here everything is still under $root
		flags[$name]=$(PKG_CONFIG_LIBDIR=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root \
			pkg-config --cflags --libs $name)
		[ "${flags[$name]% }" = "$want" ]
		verdict $? "pkg-config --cflags --libs $name: ${flags[$name]}"
	else
		grep -qx 'prefix=/opt/nt' "$lib/pkgconfig/$name.pc" &&
			grep -q 'Version: 0\.1\.0' "$lib/pkgconfig/$name.pc"
		verdict $? "$name.pc (no pkg-config here to read it)"
		flags[$name]=$want
	fi
}

library libntrace ntrace.h nt_ '-lntrace'
library libntrace-ctr nt-ctr.h nt_ctr_ '-lntrace-ctr -lntrace'
library libntrace-tv nt-tv.h nt_tv_ '-lntrace-tv'
library libntrace-perfdata nt-perfdata.h nt_perfdata_ '-lntrace-perfdata'

[ "$(wc -l <"$folder/example.c")" -le 60 ]
verdict $? 'the example has at most 60 lines'
"$out/ntrace" decode --no-marks --elf "$towers/towers.elf" --output=branch "$towers/L1.bin" |
	grep -v '^# note' >"$scratch/want"
# shellcheck disable=SC2086
"$CC" -Wall -Wextra -Werror "$folder/example.c" ${flags[libntrace]} -o "$scratch/shared" &&
	LD_LIBRARY_PATH=$lib "$scratch/shared" "$towers/towers.elf" "$towers/L1.bin" \
		>"$scratch/got" && [ -s "$scratch/got" ] && cmp "$scratch/got" "$scratch/want"
verdict $? 'the example decodes, libntrace.so'
"$CC" -I"$include" "$folder/example.c" "$lib/libntrace.a" -lelf -o "$scratch/static" &&
	"$scratch/static" "$towers/towers.elf" "$towers/L1.bin" >"$scratch/got" &&
	cmp "$scratch/got" "$scratch/want"
verdict $? 'the example decodes, libntrace.a'

# cplusplus LIBRARY HEADER STATEMENTS: a program in C++ that includes nothing else
cplusplus()
{
	local name=$1 header=$2

	if ! command -v g++ >/dev/null; then
		verdict 0 "$header is C++ too # SKIP no g++"
		return
	fi
	printf '#include <%s>\nint main() { %s }\n' "$header" "$3" >"$scratch/user.cc"
	# shellcheck disable=SC2086
	g++ -Wall -Wextra -Werror "$scratch/user.cc" ${flags[$name]} -o "$scratch/user" &&
		LD_LIBRARY_PATH=$lib "$scratch/user"
	verdict $? "$header is C++ too"
}

cplusplus libntrace ntrace.h \
	'struct nt_params p; nt_params_init(&p); return nt_params_check(&p);'
cplusplus libntrace-ctr nt-ctr.h \
	'struct nt_ctr_params p; nt_ctr_params_init(&p); nt_ctr_free(nt_ctr_new(&p));'
cplusplus libntrace-tv nt-tv.h \
	'nt_tv_params p = NT_TV_PARAMS_RV64; nt_tv_reader r; return nt_tv_reader_init(&r, &p);'
cplusplus libntrace-perfdata nt-perfdata.h \
	'nt_perfdata *pd = nt_perfdata_new(); nt_perfdata_free(pd); return !pd;'

# The sanitizer does not start where addresses are too random
sanitized=" with the thread sanitizer"
thread_flags=(-std=gnu11 -D_GNU_SOURCE -DLIMIT_LEAST=16384u -I"$folder" -g -pthread)
sources=("$folder"/nt-*.c)
run=(setarch -R)
printf 'int main(void) { return 0; }\n' >"$scratch/empty.c"
"${run[@]}" true 2>/dev/null || run=()
if "$CC" -fsanitize=thread "$scratch/empty.c" -o "$scratch/empty" 2>/dev/null &&
	"${run[@]}" "$scratch/empty" 2>/dev/null; then
	thread_flags+=(-O1 -fsanitize=thread)
else
	sanitized=" (no thread sanitizer here)"
fi

# threads PROGRAM DESCRIPTION
threads()
{
	"$CC" "${thread_flags[@]}" "$top/selftests/host/$1.c" "${sources[@]}" -lelf \
		-o "$scratch/threads" &&
		"${run[@]}" "$scratch/threads" "$mix/mix.elf" "$mix/L1.bin" >"$scratch/got" 2>&1
	verdict $? "$2$sanitized"
	sed 's/^/# /' "$scratch/got" | head -n 20
}

threads two-threads 'two decoders in two threads'
threads store-threads 'eight threads, one store of code'

finish
