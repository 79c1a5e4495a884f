# SPDX-License-Identifier: GPL-2.0-only
# What the host's shell tests share: where things are, a scratch folder, TAP.
# Sourced. A test ends with finish.

set -u
top=${top:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)}
out=${out:-$top/build/host}
ntrace=$out/ntrace
samples=$out/samples
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
number=0 failed=0
# After so many seconds a command is one that never ends. However busy the machine is, what ends by
# itself takes a small part of that, and no other verdict depends on it.
export hang=600

# A tool that a tree lacks ends the test; behind a pipe or in $(...) nobody would see that it is
# missing.
command_not_found_handle()
{
	echo "Bail out! no command $1 here" >&2
	kill -TERM $$
}

verdict()	# STATUS DESCRIPTION
{
	number=$((number + 1))
	if [ "$1" = 0 ]; then
		echo "ok $number - $2"
	else
		echo "not ok $number - $2"
		failed=1
	fi
}

# compiler: whichever knows RISC-V; without one the test ends here
need_compiler()
{
	if command -v riscv64-linux-gnu-gcc >/dev/null; then
		compiler=(riscv64-linux-gnu-gcc)
	elif command -v clang >/dev/null && command -v ld.lld >/dev/null; then
		compiler=(clang --target=riscv64-linux-gnu -fuse-ld=lld)
	else
		echo "1..0 # SKIP no compiler for riscv64"
		exit 4
	fi
}

# Build $scratch/recdata, which makes a perf.data from a program and a trace of it.
build_recdata()
{
	"${CC:-gcc}" -O2 -std=gnu11 -Wall -Wextra -I"$top/tools-perf/util" \
		-I"$top/tools-perf/util/ntrace-decoder" -I"$top/uapi" -o "$scratch/recdata" \
		"$top/selftests/host/recdata.c" "$out/libntrace.a" -lelf
}

# build_preload NAME: $scratch/NAME.so, for LD_PRELOAD
build_preload()
{
	"${CC:-gcc}" -O1 -shared -fPIC -Wall -Wextra -o "$scratch/$1.so" \
		"$top/selftests/host/$1.c" -ldl
}

# encode LIST OPTION...: to $scratch/trace
encode()
{
	local list=$1
	shift

	"$ntrace" encode "$@" --pc "$list" -o "$scratch/trace"
}

# identity DESCRIPTION ENCODE-ONLY-OPTIONS OPTION... -- DECODE-ONLY-OPTION... TRACE: what encode
# makes of decode's lines decodes to the same lines: instructions, starts, stops, traps, contexts,
# time
identity()
{
	local description=$1 only=$2 params=()
	shift 2

	while [ "$1" != -- ]; do
		params+=("$1")
		shift
	done
	shift
	# notes are of messages that encode does not make
	"$ntrace" decode "${params[@]}" "$@" | grep -v '^# note' >"$scratch/first" &&
		encode "$scratch/first" $only "${params[@]}" &&
		"$ntrace" decode "${params[@]}" "$scratch/trace" >"$scratch/second" &&
		grep -q '^# start' "$scratch/first" && cmp "$scratch/first" "$scratch/second"
	verdict $? "decode, encode, decode: $description"
}

# find_tool NAME: where it is, of LLVM 19 or later
find_tool()
{
	local dir tool version

	for dir in ${PATH//:/ } /usr/lib/llvm-*/bin; do
		for tool in "$dir/$1" "$dir/$1"-[0-9]*; do
			version=$("$tool" --version 2>/dev/null |
				sed -n 's/.*LLVM version \([0-9]*\).*/\1/p')
			[ "${version:-0}" -lt 19 ] || { echo "$tool"; return; }
		done
	done
}

# have_captures: skip the test unless $captures has traces of others' encoders
have_captures()
{
	[ ! -d "$captures" ] || return 0
	echo "1..0 # SKIP no traces of others' encoders in ${CAPTURES_NAME:-$captures}: get them from" \
		"riscv-non-isa/tg-nexus-trace and sifive/trace-decoder-tests, and set CAPTURES=DIR"
	exit 4
}

finish()
{
	echo "1..$number"
	exit $failed
}
