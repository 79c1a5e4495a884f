/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A loop over several lines whose parts are around its body, as clang puts them, a loop on one line,
 * and code of the line 0 in the middle of a line. Each instruction is 4 bytes.
 */
	.option norelax
	.option norvc
	.file	1 "code.c"
	.text
	.globl	_start
_start:
	.loc	1 10
	nop
	.loc	1 11
	nop
test:
	beqz	a0, end
	.loc	1 12
	nop
	.loc	1 0
	j	step
step:
	.loc	1 11
	nop
	j	test
end:
	.loc	1 13
	beqz	a0, other
	nop
	j	both
other:
	.loc	1 0
	nop
both:
	.loc	1 13
	nop
round:
	.loc	1 14
	nop
	bnez	a0, round
	.loc	1 15
	nop
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
	.byte	0
	uleb128 0x03, 0x08, 0x3b, 0x0b, 0x11, 0x01, 0x12, 0x06, 0, 0
	.byte	0

	.section .debug_info,"",@progbits
	.4byte	info_end - info_version
info_version:
	.2byte	4
	.4byte	0
	.byte	8
	.uleb128 1
	.string	"code.c"
	.string	"/"
	.4byte	0
	.8byte	_start
	.4byte	text_end - _start
	.uleb128 2
	.string	"main"
	.byte	10
	.8byte	_start
	.4byte	text_end - _start
	.byte	0
info_end:
