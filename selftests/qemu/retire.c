// SPDX-License-Identifier: GPL-2.0-only
/* What QEMU tells about translation and execution -> instructions retired, traps */

#include <stdlib.h>
#include <string.h>

#include "model.h"

static struct qemu_plugin_scoreboard *board;

void retire_init_hart(struct hart *h)
{
	h->score = qemu_plugin_scoreboard_find(board, h->index);
}

void retire_now(struct hart *h, const struct insn *last, uint64_t next_pc)
{
	(void)h;
	(void)last;
	(void)next_pc;
}

static struct block *new_block(struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb), i;
	struct block *b = calloc(1, sizeof(*b) + n * sizeof(b->insn[0]));

	if (!b)
		die("out of memory");
	b->pc = qemu_plugin_tb_vaddr(tb);
	b->n = n;
	for (i = 0; i < n; i++) {
		struct qemu_plugin_insn *qi = qemu_plugin_tb_get_insn(tb, i);
		struct insn *insn = &b->insn[i];

		insn->pc = qemu_plugin_insn_vaddr(qi);
		insn->len = qemu_plugin_insn_size(qi);
		qemu_plugin_insn_data(qi, &insn->bits, sizeof(insn->bits));
		insn->index = i;
		insn->block = b;
	}
	return b;
}

static void on_translate(struct qemu_plugin_tb *tb, void *userdata)
{
	struct block *b = new_block(tb);
	uint32_t i;

	(void)userdata;
	for (i = 0; i < b->n; i++) {
		struct qemu_plugin_insn *qi = qemu_plugin_tb_get_insn(tb, i);

		if (!scontext_translate(qi, &b->insn[i]))
			mmio_translate(qi, &b->insn[i]);
	}
}

void retire_install(qemu_plugin_id_t id)
{
	board = qemu_plugin_scoreboard_new(sizeof(struct score));
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate, NULL);
}
