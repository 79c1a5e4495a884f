# SPDX-License-Identifier: GPL-2.0-only
# What scripts share that build a small kernel for the guest. Sourced behind common.sh, with $dir
# set: in_tree TARGET... runs make for the kernel in $dir/tree.

# The debug kernel's configuration without what makes it slow, to be laid over tinyconfig
small_config()
{
	sed '/^# what finds mistakes/,$d; /^CONFIG_/!d' "$top/selftests/qemu/lab/debug.config"
}

# kernel_configure FILE: tinyconfig with what FILE says; of an option that is twice there the last
# counts. Ends the script if the source refuses one.
kernel_configure()
{
	local line missing=

	in_tree tinyconfig
	awk -F = '/^CONFIG_/ { value[$1] = $0 } END { for (name in value) print value[name] }' \
		"$1" |
		LC_ALL=C sort >"$dir/config"
	cat "$dir/config" >>"$dir/tree/.config"
	in_tree olddefconfig
	while read -r line; do
		case $line in
		*=n) ! grep -q "^${line%n}" "$dir/tree/.config" ;;
		*) grep -qxF "$line" "$dir/tree/.config" ;;
		esac || missing+=" $line"
	done <"$dir/config"
	[ -z "$missing" ] || die "this source refuses:$missing"
}

# Where task_struct keeps its pid, for the model: GCC writes .dword, clang .quad.
kernel_pid_offset()
{
	local offset

	mkdir -p "$dir/offset"
	cat >"$dir/offset/offset.c" <<-END
		#include <linux/sched.h>
		const unsigned long pid_offset = offsetof(struct task_struct, pid);
	END
	echo 'obj-m := offset.o' >"$dir/offset/Kbuild"
	in_tree M="$dir/offset" offset.s
	offset=$(sed -n '/^pid_offset:/,$ s/^[[:space:]]*\.\(dword\|quad\)[[:space:]]*\([0-9]*\).*/\2/p' \
		"$dir/offset/offset.s")
	[[ $offset =~ ^[0-9]+$ ]] || die "cannot tell where the pid is"
	echo "$offset"
}

# kernel_build FILE: an image and modules, and for boot --kernel: vmlinux, release, pid_offset
kernel_build()
{
	kernel_configure "$1"
	in_tree Image modules
	ln -sfn tree/arch/riscv/boot/Image "$dir/vmlinux"
	cp "$dir/tree/include/config/kernel.release" "$dir/release"
	kernel_pid_offset >"$dir/pid_offset"
}
