// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace decode --output=ctr: the control transfer records that a hart's buffer would contain at
 * the end of the trace
 */
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "nt-ctr.h"

enum {
	OPT_CTRCTL = 0x300, OPT_VSCTRCTL, OPT_DEPTH, OPT_DRAFT, OPT_CYCLES,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "With --output=ctr:", 9 },
	{ "ctrctl", OPT_CTRCTL, "FIELD,...|NUMBER", 0,
	  "mctrctl: names of fields that are 1, as in u,ste,retinh; default u,s,m", 0 },
	{ "vsctrctl", OPT_VSCTRCTL, "FIELD,...|NUMBER", 0, "vsctrctl; default as --ctrctl", 0 },
	{ "depth", OPT_DEPTH, "N", 0, "entries, up to 16777216; default 256", 0 },
	{ "draft", OPT_DRAFT, NULL, 0, "as the draft v0.1.4 has it", 0 },
	{ "cycles-per-tick", OPT_CYCLES, "N", 0,
	  "CPU cycles between two timestamps that differ by 1, where the CPU's clock makes them; "
	  "without it records have no cycle counts", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct records *r = state->input;

	switch (key) {
	case OPT_CTRCTL:
		r->ctl = arg;
		break;
	case OPT_VSCTRCTL:
		r->vsctl = arg;
		break;
	case OPT_DEPTH:
		r->depth = parse_small(arg, "--depth", NT_CTR_DEPTH_MAX);
		if (!r->depth)
			argp_error(state, "--depth: a buffer needs at least one entry");
		break;
	case OPT_DRAFT:
		r->draft = true;
		break;
	case OPT_CYCLES:
		r->cycles_per_tick = parse_small(arg, "--cycles-per-tick", 1u << 20);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	if (!r->given)
		r->given = options[key - OPT_CTRCTL + 1].name;
	return 0;
}

const struct argp records_argp = { .options = options, .parser = parse };

/* ------------------------------------------------------- the registers -- */

static void __attribute__((noreturn)) no_field(const struct records *r, const char *word,
					       const char *option)
{
	const char *names[65], *near;
	unsigned int bit, n = 0;
	char *name = strndup(word, strcspn(word, ","));

	for (bit = 0; bit < 64; bit++) {
		const char *field = nt_ctr_field_name(r->draft, bit);

		if (field)
			names[n++] = field;
	}
	names[n] = NULL;
	near = name ? nearest_word(name, names) : NULL;
	if (near)
		die("--%s: no field `%s'; did you mean `%s'?", option, name, near);
	die("--%s: no field `%s'; ntrace(1) lists them", option, name ? name : "");
}

/* Parse "u,ste" or a number, according to the chosen layout */
static uint64_t parse_ctl(const struct records *r, const char *text, const char *option)
{
	uint64_t value;
	size_t bad;

	if (*text >= '0' && *text <= '9')
		return parse_number(text, option);
	if (nt_ctr_parse(r->draft, text, &value, &bad))
		no_field(r, text + bad, option);
	return value;
}

/* Registers have 64 bits, also on RV32: software there could not set the filters. */
static struct nt_ctr *new_buffer(const struct records *r, const struct input *in)
{
	uint64_t modes = parse_ctl(r, "u,s,m", "");
	uint64_t ctl = r->ctl ? parse_ctl(r, r->ctl, "ctrctl") : modes;
	uint64_t vsctl = r->vsctl ? parse_ctl(r, r->vsctl, "vsctrctl") : ctl;
	struct nt_ctr_params params;
	struct nt_ctr *ctr;

	if (!((ctl | vsctl) & modes))
		die("--ctrctl: no mode is enabled, so nothing is recorded; add u, s or m");
	nt_ctr_params_init(&params);
	params.flags = r->draft ? NT_CTR_DRAFT : 0;
	params.depth = r->depth ? r->depth : 256;
	params.depths = 0;
	params.code_xlen = in->params.xlen;
	params.cycles_per_tick = r->cycles_per_tick;
	ctr = nt_ctr_new(&params);
	if (!ctr)
		die("%s", nt_strerror(NT_ENOMEM));
	nt_ctr_write(ctr, NT_CTR_M, r->draft ? NT_CSR_DRAFT_MCTRCONTROL : NT_CSR_MCTRCTL, ctl);
	nt_ctr_write(ctr, NT_CTR_M, r->draft ? NT_CSR_DRAFT_VSCTRCONTROL : NT_CSR_VSCTRCTL, vsctl);
	return ctr;
}

/* -------------------------------------------------------------- running -- */

static void put_entries(const struct records *r, struct nt_ctr *ctr)
{
	uint32_t i, depth = nt_ctr_depth(ctr);
	struct nt_ctr_entry e;
	uint64_t status;
	char line[80];

	nt_ctr_read(ctr, NT_CTR_M, r->draft ? NT_CSR_DRAFT_MCTRSTATUS : NT_CSR_SCTRSTATUS, &status);
	out_str(r->draft ? "mctrstatus " : "sctrstatus ");
	out_hex(status);
	out_char('\n');
	for (i = 0; i < depth; i++) {
		if (!nt_ctr_entry(ctr, i, &e))
			continue;
		out_dec(i);
		out_char(' ');
		out_bytes(line, (size_t)nt_ctr_format(&e, line, sizeof(line)));
		out_char('\n');
	}
}

unsigned long records_decode(const struct records *r, struct input *in)
{
	struct nt_ctr *ctr = new_buffer(r, in);
	struct nt_code *code = input_code(in);
	struct nt_flow *flow;
	struct nt_event ev[256];
	unsigned long losses = 0;
	int i, n, err = 0;

	input_check_sources(in);
	input_say_begin(in);
	flow = input_flow(in, code, in->begin, in->size);
	while ((n = nt_flow_next(flow, ev, 256)) > 0) {
		int e = nt_ctr_events(ctr, code, ev, (unsigned int)n);

		err = err ? err : e;
		for (i = 0; i < n; i++) {
			losses += is_loss(&ev[i]);
			if (ev[i].kind == NT_EV_LOSS || ev[i].kind == NT_EV_NOTICE)
				out_trouble(&ev[i]);
		}
		input_progress(in, nt_flow_consumed(flow));
	}
	if (n < 0 || err)
		die("%s", nt_strerror(n < 0 ? n : err));
	put_entries(r, ctr);
	out_flush();
	out_free();
	progress_end();
	nt_flow_free(flow);
	nt_code_free(code);
	nt_ctr_free(ctr);
	return losses;
}
