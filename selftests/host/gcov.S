/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions with all that ntrace profile --format=gcc reads of debug information: lines with
 * discriminators, a function inlined, a copy of a function, two functions of one name. Each
 * instruction is 4 bytes.
 */
	.option norelax
	.option norvc
	.file	1 "code.c"
	.text
	.globl	_start
outer:
	.loc	1 11
	nop
round:
	.loc	1 12 0 discriminator 2
	nop
leaf_in_outer:
	.loc	1 4
	nop
	.loc	1 5
	nop
leaf_end:
	.loc	1 13
	nop
	bnez	a0, round
	.loc	1 14
	jalr	a1
	.loc	1 15
	beqz	a0, last
	.loc	1 16
	nop
	.loc	1 15
	nop
last:
	.loc	1 17
	ret
outer_end:
busy:
	.loc	1 31
	bnez	a0, busy
	.loc	1 32
	ret
busy_end:
never:
	.loc	1 41
	ret
never_end:
_start:
	.loc	1 51
	jal	outer
	.loc	1 52
	jal	outer
	.loc	1 53
	jal	copy
	.loc	1 54
	jal	idle
	.loc	1 55
	nop
start_end:
copy:
	.loc	1 11
	nop
	.loc	1 17
	ret
copy_end:
idle:
	.loc	1 71
	ret
idle_end:
text_end:

	/* gas takes one number at a time */
	.macro uleb128 number, others:vararg
	.uleb128 \number
	.ifnb \others
	uleb128 \others
	.endif
	.endm

	.section .debug_abbrev,"",@progbits
	/* a unit: name, comp_dir, stmt_list, low_pc, high_pc */
	uleb128 1, 0x11
	.byte	1
	uleb128 0x03, 0x08, 0x1b, 0x08, 0x10, 0x17, 0x11, 0x01, 0x12, 0x06, 0, 0
	/* a function: name, decl_line, low_pc, high_pc */
	uleb128 2, 0x2e
	.byte	1
	uleb128 0x03, 0x08, 0x3b, 0x0b, 0x11, 0x01, 0x12, 0x06, 0, 0
	/* one that was inlined: abstract_origin, low_pc, high_pc, call_line, GNU_discriminator */
	uleb128 3, 0x1d
	.byte	0
	uleb128 0x31, 0x13, 0x11, 0x01, 0x12, 0x06, 0x59, 0x0b, 0x2136, 0x0b, 0, 0
	/* one without code: name, decl_line, inline */
	uleb128 4, 0x2e
	.byte	0
	uleb128 0x03, 0x08, 0x3b, 0x0b, 0x20, 0x0b, 0, 0
	/* a copy: abstract_origin, linkage_name, low_pc, high_pc */
	uleb128 5, 0x2e
	.byte	0
	uleb128 0x31, 0x13, 0x6e, 0x08, 0x11, 0x01, 0x12, 0x06, 0, 0
	.byte	0

	.macro function name, line, low, high
	.uleb128 2
	.string	"\name"
	.byte	\line
	.8byte	\low
	.4byte	\high - \low
	.endm

	.section .debug_info,"",@progbits
info:
	.4byte	info_end - info_version
info_version:
	.2byte	4
	.4byte	0
	.byte	8
	.uleb128 1
	.string	"code.c"
	.string	"/"
	.4byte	0
	.8byte	outer
	.4byte	text_end - outer
leaf_die:
	.uleb128 4
	.string	"leaf"
	.byte	3, 1
outer_die:
	function outer, 10, outer, outer_end
	.uleb128 3
	.4byte	leaf_die - info
	.8byte	leaf_in_outer
	.4byte	leaf_end - leaf_in_outer
	.byte	12, 3
	.byte	0
	function far, 30, busy, busy_end
	.byte	0
	function never, 40, never, never_end
	.byte	0
	function main, 50, _start, start_end
	.byte	0
	.uleb128 5
	.4byte	outer_die - info
	.string	"outer.constprop.0"
	.8byte	copy
	.4byte	copy_end - copy
	function far, 70, idle, idle_end
	.byte	0
	.byte	0
info_end:
