/* SPDX-License-Identifier: GPL-2.0-only */
/* STRAIGHT half-words in which nothing branches: see common.h */
	.text
	.option	rvc
	.globl	straight
	.type	straight, @function
straight:
	.rept	40000
	c.addi	a0, 1
	.endr
	ret
	.size	straight, . - straight

	.section .note.GNU-stack, "", @progbits
