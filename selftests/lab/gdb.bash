# SPDX-License-Identifier: GPL-2.0-only
# What tests that drive stock GDB share: its trees, a server, GDB on it. Sourced behind lib.bash.

# stock GDB, of three releases of Debian in make check-all
releases=trixie
[ "${groups:-}" != all ] || releases+=" bookworm forky"

setup_gdb()
{
	local release

	for release in $releases; do
		"$lab/setup-gdb" $release 2>"$dir/setup-$release"
		ok $? "GDB of $release" "$dir/setup-$release"
	done
}

# serving ARGUMENT...: a server on a free port, $port, until GDB goes
serving()
{
	# before the server begins: what the one before said names another port
	: >"$dir/server"
	timeout 900 "$lab/enter" "$build/host/ntrace" gdbserver --listen=0 "$@" >"$dir/server" \
		2>&1 </dev/null &
	server=$!
	port=
	while [ -z "$port" ] && kill -0 $server 2>/dev/null; do
		port=$(sed -n 's/.*listening on 127.0.0.1:\([0-9]*\);.*/\1/p' "$dir/server")
		[ -n "$port" ] || sleep 0.1
	done
}

# gdb RELEASE ARGUMENT...
gdb()
{
	local release=$1
	shift

	LAB_ROOTFS=$build/rootfs-gdb-$release timeout 900 "$lab/enter" "${variables[@]}" \
		gdb-multiarch -nx -batch -ex 'set confirm off' -ex 'set width 0' "$@" </dev/null
}
