#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# libntrace as others get it: what is installed, what it exports, and that the
# example builds against it and decodes.

. "$(dirname "$0")/lib.bash"
CC=${CC:-gcc}
folder=$top/tools-perf/util/ntrace-decoder
towers=$samples/towers
mix=$samples/mix

root=$scratch/root
make -s --no-print-directory -C "$folder" O="$scratch/build" DESTDIR="$root" PREFIX=/opt/nt \
	CC="$CC" CFLAGS=-O1 install >"$scratch/log" 2>&1
verdict $? 'make install'
sed 's/^/# /' "$scratch/log"
(cd "$root" && find . ! -type d | LC_ALL=C sort) >"$scratch/files"
LC_ALL=C sort >"$scratch/want" <<-END
	./opt/nt/include/ntrace/nt-ctr.h
	./opt/nt/include/ntrace/nt-enc.h
	./opt/nt/include/ntrace/nt-tv.h
	./opt/nt/include/ntrace/ntrace.h
	./opt/nt/lib/libntrace.a
	./opt/nt/lib/libntrace.so
	./opt/nt/lib/libntrace.so.0
	./opt/nt/lib/libntrace.so.0.1.0
	./opt/nt/lib/pkgconfig/libntrace.pc
END
diff "$scratch/want" "$scratch/files" | sed 's/^/# /'
cmp -s "$scratch/want" "$scratch/files"
verdict $? 'what is installed'

lib=$root/opt/nt/lib include=$root/opt/nt/include/ntrace
readelf -dW "$lib/libntrace.so" | grep -q 'SONAME.*\[libntrace\.so\.0\]'
verdict $? 'soname'

# names and versions that the library has, names that the header declares
nm -D --defined-only "$lib/libntrace.so" | awk '$2 == "T" { print $3 }' | sort >"$scratch/has"
! grep -v '@@LIBNTRACE_0' "$scratch/has" && [ -s "$scratch/has" ]
verdict $? 'symbols have versions'
"$CC" -E -P -x c "$include/ntrace.h" | tr '\n' ' ' | sed 's/[;{}]/&\n/g' |
	grep -v 'static inline\|typedef' | grep -o '\<nt_[a-z0-9_]* *(' | tr -d ' (' |
	sort -u >"$scratch/declared"
"$CC" -E -P -x c "$include/ntrace.h" | tr '\n' ' ' | sed 's/[;{}]/&\n/g' |
	grep 'static inline' | grep -o '\<nt_[a-z0-9_]* *(' | tr -d ' (' | sort -u >"$scratch/inline"
grep -vxFf "$scratch/inline" "$scratch/declared" >"$scratch/want"
sed 's/@.*//' "$scratch/has" | diff "$scratch/want" - >"$scratch/diff"
verdict $? 'exported is what the header declares'
sed 's/^/# /' "$scratch/diff"

# tables of pointers are .data.rel.ro
size -A "$lib/libntrace.a" >"$scratch/sizes"
grep -q '^\.text' "$scratch/sizes" &&
	! awk '/^\.(data|bss|tdata|tbss|sdata|sbss)/ && !/^\.data\.rel\.ro/ && $2 > 0' \
		"$scratch/sizes" | grep . | sed 's/^/# /' | grep .
verdict $? 'no global state'

if command -v pkg-config >/dev/null; then
	# paths are the final ones; here everything is still under $root
	flags=$(PKG_CONFIG_LIBDIR=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root \
		pkg-config --cflags --libs libntrace)
	[ "$flags" = "-I$include -L$lib -lntrace" ] ||
		[ "$flags" = "-I$include -L$lib -lntrace " ]
	verdict $? "pkg-config: $flags"
else
	grep -qx 'prefix=/opt/nt' "$lib/pkgconfig/libntrace.pc" &&
		grep -q 'Version: 0\.1\.0' "$lib/pkgconfig/libntrace.pc"
	verdict $? 'libntrace.pc (no pkg-config here to read it)'
	flags="-I$include -L$lib -lntrace"
fi

[ "$(wc -l <"$folder/example.c")" -le 60 ]
verdict $? 'the example has at most 60 lines'
"$out/ntrace" decode --no-marks --elf "$towers/towers.elf" --output=branch "$towers/L1.bin" |
	grep -v '^# note' >"$scratch/want"
# shellcheck disable=SC2086
"$CC" -Wall -Wextra -Werror "$folder/example.c" $flags -o "$scratch/shared" &&
	LD_LIBRARY_PATH=$lib "$scratch/shared" "$towers/towers.elf" "$towers/L1.bin" \
		>"$scratch/got" && [ -s "$scratch/got" ] && cmp "$scratch/got" "$scratch/want"
verdict $? 'the example decodes, libntrace.so'
"$CC" -I"$include" "$folder/example.c" "$lib/libntrace.a" -lelf -o "$scratch/static" &&
	"$scratch/static" "$towers/towers.elf" "$towers/L1.bin" >"$scratch/got" &&
	cmp "$scratch/got" "$scratch/want"
verdict $? 'the example decodes, libntrace.a'
printf '#include <ntrace.h>\nint main() { struct nt_params p; nt_params_init(&p); }\n' \
	>"$scratch/user.cc"
if command -v g++ >/dev/null; then
	g++ -Wall -Wextra -Werror -I"$include" "$scratch/user.cc" "$lib/libntrace.a" -lelf \
		-o "$scratch/user"
	verdict $? 'the header is C++ too'
else
	verdict 0 'the header is C++ too # SKIP no g++'
fi

# The sanitizer does not start where addresses are too random
sanitized=" with the thread sanitizer"
thread_flags=(-std=gnu11 -D_GNU_SOURCE -I"$folder" -g -pthread)
sources=("$top/selftests/host/two-threads.c" "$folder"/nt-*.c)
run=(setarch -R)
printf 'int main(void) { return 0; }\n' >"$scratch/empty.c"
"${run[@]}" true 2>/dev/null || run=()
if "$CC" -fsanitize=thread "$scratch/empty.c" -o "$scratch/empty" 2>/dev/null &&
	"${run[@]}" "$scratch/empty" 2>/dev/null; then
	thread_flags+=(-O1 -fsanitize=thread)
else
	sanitized=" (no thread sanitizer here)"
fi
"$CC" "${thread_flags[@]}" "${sources[@]}" -lelf -o "$scratch/threads" &&
	"${run[@]}" "$scratch/threads" "$mix/mix.elf" "$mix/L1.bin" \
		>"$scratch/got" 2>&1
verdict $? "two decoders in two threads$sanitized"
sed 's/^/# /' "$scratch/got" | head -n 20

finish
