// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Control transfer records: registers, their two layouts, access rights
 */
#include <stdlib.h>
#include <string.h>

#include "nt-ctr-int.h"

/* ----------------------------------------------- the two specifications -- */

/* Fields of control registers: ratified position, draft position (-1: none) */
static const struct field {
	const char *name, *draft_name;
	int8_t bit, draft;
	bool optional;
} fields[] = {
	{ "u",		"u",		0,  2,  false },
	{ "s",		"s",		1,  1,  false },
	{ "m",		"m",		2,  0,  false },
	{ "rasemu",	"rasemu",	7,  10, true },
	{ "ste",	"ste",		8,  9,  true },
	{ "mte",	"mte",		9,  8,  true },
	{ "bpfrz",	"bpfrz",	11, 11, false },
	{ "lcofifrz",	"lcofifrz",	12, 12, false },
	{ "excinh",	"excinh",	33, 33, true },
	{ "intrinh",	"intrinh",	34, 34, true },
	{ "tretinh",	"tretinh",	35, 35, true },
	{ "ntbren",	"ntbren",	36, 36, true },
	{ "tkbrinh",	"tkbrinh",	37, 37, true },
	{ NULL,		"eten",		38, 38, true },	/* CTL_ETEN */
	{ "indcallinh",	"indcallinh",	40, 40, true },
	{ "dircallinh",	"dircallinh",	41, 41, true },
	{ "indjmpinh",	"indjumpinh",	42, 42, true },
	{ "dirjmpinh",	"dirjumpinh",	43, 43, true },
	{ "corswapinh",	"corswapinh",	44, 44, true },
	{ "retinh",	"retinh",	45, 45, true },
	{ "indljmpinh",	"indojmpinh",	46, 46, true },
	{ "dirljmpinh",	"dirojmpinh",	47, 47, true },
};

#define FIELDS	(sizeof(fields) / sizeof(fields[0]))

#define DRAFT_CLR	(1ull << 7)
#define DRAFT_DEPTH	16	/* position; 4 bits, thermometer code */

/* All other differences of the layouts; UINT16_MAX: no such CSR */
static const struct layout {
	uint16_t sctl, sctlh, sstatus, sdepth, vsctl, vsctlh, mctl, mctlh, mstatus;
	uint8_t frozen;		/* bits of the status register */
	int8_t wrap;
	uint32_t wrptr;
	uint64_t stateen;	/* bit CTR in mstateen0 and hstateen0 */
} layouts[] = {
	{
		NT_CSR_SCTRCTL, UINT16_MAX, NT_CSR_SCTRSTATUS, NT_CSR_SCTRDEPTH,
		NT_CSR_VSCTRCTL, UINT16_MAX, NT_CSR_MCTRCTL, UINT16_MAX, UINT16_MAX,
		31, -1, 0x7fffffff, NT_STATEEN_CTR,
	}, {
		NT_CSR_DRAFT_SCTRCONTROL, NT_CSR_DRAFT_SCTRCONTROLH, NT_CSR_DRAFT_SCTRSTATUS,
		UINT16_MAX, NT_CSR_DRAFT_VSCTRCONTROL, NT_CSR_DRAFT_VSCTRCONTROLH,
		NT_CSR_DRAFT_MCTRCONTROL, NT_CSR_DRAFT_MCTRCONTROLH, NT_CSR_DRAFT_MCTRSTATUS,
		15, 14, 0xff, NT_STATEEN_DRAFT_CTR,
	},
};

static const struct layout *layout(const struct nt_ctr *c)
{
	return &layouts[ctr_is_draft(c)];
}

const char *nt_ctr_field_name(bool draft, unsigned int bit)
{
	size_t i;

	for (i = 0; i < FIELDS; i++)
		if ((unsigned int)(draft ? fields[i].draft : fields[i].bit) == bit)
			return draft ? fields[i].draft_name : fields[i].name;
	return NULL;
}

/* Convert from a layout to the ratified one, in which everything is stored, or back. */
static uint64_t convert(const struct nt_ctr *c, uint64_t value, bool back)
{
	uint64_t to = 0;
	size_t i;

	for (i = 0; i < FIELDS; i++) {
		int here = ctr_is_draft(c) ? fields[i].draft : fields[i].bit;

		if (value >> (back ? fields[i].bit : here) & 1)
			to |= 1ull << (back ? here : fields[i].bit);
	}
	return to;
}

/* ----------------------------------------------------------------- life -- */

static uint64_t implemented(const struct nt_ctr_params *p)
{
	uint64_t all = 0, needed = 0;
	size_t i;

	for (i = 0; i < FIELDS; i++) {
		uint64_t bit = 1ull << fields[i].bit;

		if (!(p->flags & NT_CTR_DRAFT) && !fields[i].name)
			continue;
		all |= bit;
		if (!fields[i].optional)
			needed |= bit;
	}
	if (p->flags & NT_CTR_NO_SSCOFPMF)
		needed &= ~NT_CTRCTL_LCOFIFRZ;
	return p->fields ? (p->fields & all) | needed : all;
}

static bool params_ok(const struct nt_ctr_params *p)
{
	const uint32_t flags = NT_CTR_DRAFT | NT_CTR_NO_MISP | NT_CTR_NO_TYPE | NT_CTR_NO_CC |
			       NT_CTR_NO_SSCOFPMF | NT_CTR_NO_H;
	unsigned int i;

	if (p->flags & ~flags || !p->depth ||
	    p->depth > NT_CTR_DEPTH_MAX || p->depths > 0x1f || p->cce_bits > 4 ||
	    (p->xlen != 32 && p->xlen != 64) ||
	    (p->code_xlen && p->code_xlen != 32 && p->code_xlen != 64))
		return false;
	for (i = 0; p->depths && i < 5; i++)
		if (p->depths >> i & 1 && p->depth == 16u << i)
			return true;
	return !p->depths;
}

/* No caller's structure is larger: otherwise, `size` was never set. */
#define SIZE_MAX_TAKEN	4096

bool ctr_take(void *to, size_t known, const void *from, size_t size, size_t least)
{
	const uint8_t *byte = from;
	size_t i;

	if (size < least || size > SIZE_MAX_TAKEN)
		return false;
	for (i = known; i < size; i++)
		if (byte[i])
			return false;
	memset(to, 0, known);
	memcpy(to, from, size < known ? size : known);
	return true;
}

/* Size of the first version */
#define PARAMS_LEAST	(offsetof(struct nt_ctr_params, fields) + sizeof(uint64_t))

struct nt_ctr *nt_ctr_new(const struct nt_ctr_params *params)
{
	struct nt_ctr_params p;
	struct nt_ctr *c;
	uint32_t room;

	if (!ctr_take(&p, sizeof(p), params, params->size, PARAMS_LEAST) || !params_ok(&p))
		return NULL;
	room = p.depths ? 16u << (31 - __builtin_clz(p.depths)) : p.depth;
	c = calloc(1, sizeof(*c) + (size_t)room * sizeof(c->entries[0]));
	if (!c)
		return NULL;
	c->path = nt_path_new();
	if (!c->path) {
		free(c);
		return NULL;
	}
	c->params = p;
	if (!c->params.code_xlen)
		c->params.code_xlen = c->params.xlen;
	c->room = room;
	c->depth = p.depth;
	c->fields = implemented(&p);
	c->mstateen = c->hstateen = NT_STATEEN_CTR | NT_STATEEN_CSRIND;
	c->mselect = c->select = c->vsselect = 0;
	c->target_mask = p.flags & NT_CTR_NO_MISP ? ~NT_CTRTARGET_MISP : UINT64_MAX;
	if (!(p.flags & NT_CTR_NO_TYPE))
		c->data_mask |= NT_CTRDATA_TYPE;
	if (!(p.flags & NT_CTR_NO_CC))
		c->data_mask |= NT_CTRDATA_CCV |
				((1ull << (12 + p.cce_bits)) - 1) << 16;
	ctr_refresh(c);
	return c;
}

void nt_ctr_free(struct nt_ctr *c)
{
	if (c)
		nt_path_free(c->path);
	free(c);
}

void ctr_zero(struct nt_ctr *c, uint32_t to)
{
	memset(c->entries, 0, (size_t)to * sizeof(c->entries[0]));
}

bool nt_ctr_entry(struct nt_ctr *c, uint32_t i, struct nt_ctr_entry *entry)
{
	ctr_settle(c, NULL);
	*entry = i < c->depth ? *ctr_at(c, i) : (struct nt_ctr_entry){ 0 };
	return entry->source & NT_CTRSOURCE_V;
}

uint32_t nt_ctr_depth(const struct nt_ctr *c)
{
	return c->depth;
}

/* ------------------------------------------------------------- contents -- */

/* The encoding of the depth: i of 16 << i; -1: none */
static int depth_code(const struct nt_ctr *c)
{
	int i;

	for (i = 0; i < 5; i++)
		if (c->depth == 16u << i)
			return i;
	return -1;
}

static void set_depth(struct nt_ctr *c, unsigned int code)
{
	if (!(c->params.depths >> code & 1) || code > 4)
		return;
	c->depth = 16u << code;
	c->wrptr %= c->depth;
}

static uint64_t read_ctl(const struct nt_ctr *c, bool vs, bool m)
{
	uint64_t value = vs ? c->vsctl : c->ctl;
	int depth = depth_code(c);

	if (!m)
		value &= ~(NT_CTRCTL_M | NT_CTRCTL_MTE);
	value = convert(c, value, true);
	if (ctr_is_draft(c) && depth >= 0)
		value |= (uint64_t)((1 << depth) - 1) << DRAFT_DEPTH;
	return value;
}

static void write_ctl(struct nt_ctr *c, uint64_t value, bool vs, bool m)
{
	uint64_t fixed = ~c->fields, *reg = vs ? &c->vsctl : &c->ctl;

	/* sctrctl's M and MTE ignore writes (R145), vsctrctl does not have them */
	if (!m)
		fixed |= NT_CTRCTL_M | NT_CTRCTL_MTE;
	*reg = (*reg & fixed) | (convert(c, value, false) & ~fixed);
	ctr_restart_cycles(c);
	if (!ctr_is_draft(c))
		return;
	if (!vs)	/* the number of bits set is the exponent */
		set_depth(c, (unsigned int)__builtin_popcountll(value >> DRAFT_DEPTH & 15));
	if (value & DRAFT_CLR) {
		ctr_zero(c, c->depth);
		c->wrptr = 0;
		c->frozen = c->wrap = false;
	}
}

static uint64_t read_status(const struct nt_ctr *c)
{
	const struct layout *l = layout(c);

	return (c->wrptr & l->wrptr) | (uint64_t)c->frozen << l->frozen |
	       (l->wrap < 0 ? 0 : (uint64_t)c->wrap << l->wrap);
}

static void write_status(struct nt_ctr *c, uint64_t value)
{
	const struct layout *l = layout(c);

	c->wrptr = (uint32_t)(value & l->wrptr) % c->depth;
	c->frozen = value >> l->frozen & 1;
	if (l->wrap >= 0)
		c->wrap = value >> l->wrap & 1;
}

/* ireg, ireg2 or ireg3 of logical entry i */
static uint64_t *entry_register(struct nt_ctr *c, uint32_t i, unsigned int which)
{
	struct nt_ctr_entry *e = ctr_at(c, i);

	return which == 1 ? &e->source : which == 2 ? &e->target : &e->data;
}

/* --------------------------------------------------------------- access -- */

enum what {
	NOTHING, MCTL, SCTL, VSCTL, STATUS, DEPTH, SELECT, IREG, MSTATEEN, HSTATEEN,
};

/* The object of a CSR access */
struct access {
	enum what what;
	bool high;		/* RV32's upper half */
	unsigned int which;	/* IREG: 1 to 3; 4 reads 0 */
	uint32_t *select;
};

static bool indirect(struct nt_ctr *c, unsigned int csr, bool v, struct access *a)
{
	static const uint8_t which[] = { 0, 1, 2, 3, 0, 4, 4, 4 };
	unsigned int reg = csr & 7;

	switch (csr & ~7u) {
	case NT_CSR_SISELECT:
		a->select = v ? &c->vsselect : &c->select;
		break;
	case NT_CSR_VSISELECT:
		a->select = &c->vsselect;
		break;
	case NT_CSR_MISELECT:
		a->select = &c->mselect;
		break;
	default:
		return false;
	}
	a->what = reg ? IREG : SELECT;
	a->which = which[reg];
	return !reg || a->which;
}

/* v: VS-mode, in which supervisor registers are the virtual ones (R182) */
static bool find(struct nt_ctr *c, unsigned int csr, bool v, struct access *a)
{
	const struct layout *l = layout(c);

	*a = (struct access){ NOTHING, false, 0, NULL };
	if (indirect(c, csr, v, a))
		return true;
	a->high = csr == l->sctlh || csr == l->vsctlh || csr == l->mctlh;
	if (a->high && c->params.xlen != 32)
		return false;
	if (csr == l->sctl || csr == l->sctlh)
		a->what = v ? VSCTL : SCTL;
	else if (csr == l->vsctl || csr == l->vsctlh)
		a->what = VSCTL;
	else if (csr == l->mctl || csr == l->mctlh)
		a->what = MCTL;
	else if (csr == l->sstatus || csr == l->mstatus)
		a->what = STATUS;
	else if (csr == l->sdepth)
		a->what = DEPTH;
	else if (csr == NT_CSR_MSTATEEN0)
		a->what = MSTATEEN;
	else if (csr == NT_CSR_HSTATEEN0)
		a->what = HSTATEEN;
	return a->what != NOTHING && csr != UINT16_MAX;
}

static bool selects_entry(const struct nt_ctr *c, const struct access *a)
{
	/* the ratified miselect does not select entries (R183) */
	if (a->select == &c->mselect && !ctr_is_draft(c))
		return false;
	return *a->select >= 0x200 && *a->select <= 0x2ff;
}

/* Check the privilege in the CSR number, as for every CSR. */
static int by_privilege(const struct nt_ctr *c, unsigned int mode, unsigned int csr)
{
	unsigned int needs = csr >> 8 & 3;
	bool no_h = c->params.flags & NT_CTR_NO_H;

	if (needs == 2 && no_h)
		return NT_CTR_ILLEGAL;
	switch (mode) {
	case NT_CTR_M:
		return 0;
	case NT_CTR_S:
		return needs == 3 ? NT_CTR_ILLEGAL : 0;
	case NT_CTR_U:
		return NT_CTR_ILLEGAL;
	case NT_CTR_VS:
		return needs == 3 ? NT_CTR_ILLEGAL : needs == 2 ? NT_CTR_VIRTUAL : 0;
	default:
		return needs == 3 ? NT_CTR_ILLEGAL : NT_CTR_VIRTUAL;
	}
}

/* Bits of the state-enable registers that an access requires */
static uint64_t wanted_enables(const struct nt_ctr *c, const struct access *a)
{
	switch (a->what) {
	case SCTL:
	case VSCTL:
	case STATUS:
	case DEPTH:
		return NT_STATEEN_CTR;
	case SELECT:
		return NT_STATEEN_CSRIND;
	case IREG:
		return NT_STATEEN_CSRIND | (selects_entry(c, a) ? NT_STATEEN_CTR : 0);
	default:
		return 0;
	}
}

/* In this order: what M-mode forbids is illegal, whatever the hypervisor allows (R177). */
static int may(const struct nt_ctr *c, unsigned int mode, unsigned int csr, const struct access *a)
{
	uint64_t wanted = wanted_enables(c, a);
	bool v = mode == NT_CTR_VS || mode == NT_CTR_VU;
	int ret = by_privilege(c, mode, csr);

	if (ret == NT_CTR_ILLEGAL)
		return ret;
	if (mode != NT_CTR_M && wanted & ~c->mstateen)
		return NT_CTR_ILLEGAL;
	if (ret)
		return ret;
	if (v && (wanted & ~c->hstateen || a->what == DEPTH))
		return NT_CTR_VIRTUAL;
	if (a->what == IREG && !selects_entry(c, a))
		return NT_CTR_ILLEGAL;
	return 0;
}

static bool is_mode(const struct nt_ctr *c, unsigned int mode)
{
	bool h = !(c->params.flags & NT_CTR_NO_H);

	return mode == NT_CTR_U || mode == NT_CTR_S || mode == NT_CTR_M ||
	       (h && (mode == NT_CTR_VU || mode == NT_CTR_VS));
}

static int begin_access(struct nt_ctr *c, unsigned int mode, unsigned int csr, struct access *a)
{
	if (!is_mode(c, mode))
		return -NT_EINVAL;
	ctr_settle(c, NULL);
	if (!find(c, csr, mode == NT_CTR_VS, a))
		return NT_CTR_ILLEGAL;
	return may(c, mode, csr, a);
}

/* Move the CTR bit between the layouts. */
static uint64_t stateen_value(const struct nt_ctr *c, uint64_t value)
{
	return (value & NT_STATEEN_CSRIND) | (value & NT_STATEEN_CTR ? layout(c)->stateen : 0);
}

static uint64_t stateen_bits(const struct nt_ctr *c, uint64_t value)
{
	return (value & NT_STATEEN_CSRIND) | (value & layout(c)->stateen ? NT_STATEEN_CTR : 0);
}

static uint64_t get(struct nt_ctr *c, const struct access *a)
{
	uint32_t i;

	switch (a->what) {
	case MCTL:
	case SCTL:
	case VSCTL:
		return read_ctl(c, a->what == VSCTL, a->what == MCTL) >> (a->high ? 32 : 0);
	case STATUS:
		return read_status(c);
	case DEPTH:
		return depth_code(c) < 0 ? 7 : (uint64_t)depth_code(c);
	case SELECT:
		return *a->select;
	case MSTATEEN:
		return stateen_value(c, c->mstateen);
	case HSTATEEN:	/* limited to what M-mode allows */
		return stateen_value(c, c->hstateen & c->mstateen);
	case IREG:
		i = *a->select - 0x200;
		/* entries from the depth on read 0 (R154) */
		return a->which < 4 && i < c->depth ? *entry_register(c, i, a->which) : 0;
	default:
		return 0;
	}
}

static void put_entry(struct nt_ctr *c, const struct access *a, uint64_t value)
{
	uint32_t i = *a->select - 0x200;

	if (a->which > 3 || i >= c->depth)
		return;
	if (a->which == 2)
		value &= c->target_mask;
	if (a->which == 3)
		value &= c->data_mask;
	*entry_register(c, i, a->which) = value;
}

static void put(struct nt_ctr *c, const struct access *a, uint64_t value)
{
	switch (a->what) {
	case MCTL:
	case SCTL:
	case VSCTL:
		if (c->params.xlen == 32) {
			uint64_t old = read_ctl(c, a->what == VSCTL, a->what == MCTL);

			value = a->high ? value << 32 | (uint32_t)old :
					  (old >> 32) << 32 | (uint32_t)value;
		}
		write_ctl(c, value, a->what == VSCTL, a->what == MCTL);
		break;
	case STATUS:
		write_status(c, value);
		break;
	case DEPTH:
		set_depth(c, value & 7);
		break;
	case SELECT:
		*a->select = (uint32_t)value;
		break;
	case MSTATEEN:
		c->mstateen = stateen_bits(c, value);
		break;
	case HSTATEEN:
		c->hstateen = stateen_bits(c, value) & c->mstateen;
		break;
	case IREG:
		put_entry(c, a, value);
		break;
	default:
		break;
	}
}

int nt_ctr_read(struct nt_ctr *c, unsigned int mode, unsigned int csr, uint64_t *value)
{
	struct access a;
	int ret = begin_access(c, mode, csr, &a);

	*value = ret ? 0 : get(c, &a);
	if (c->params.xlen == 32)
		*value = (uint32_t)*value;
	return ret;
}

int nt_ctr_write(struct nt_ctr *c, unsigned int mode, unsigned int csr, uint64_t value)
{
	struct access a;
	int ret = begin_access(c, mode, csr, &a);

	if (ret)
		return ret;
	if (c->params.xlen == 32)
		value = (uint32_t)value;
	put(c, &a, value);
	ctr_refresh(c);
	return 0;
}

int nt_ctr_clear(struct nt_ctr *c, unsigned int mode)
{
	if (!is_mode(c, mode))
		return -NT_EINVAL;
	ctr_settle(c, NULL);
	if (ctr_is_draft(c) || mode == NT_CTR_U)
		return NT_CTR_ILLEGAL;
	if (mode != NT_CTR_M && !(c->mstateen & NT_STATEEN_CTR))
		return NT_CTR_ILLEGAL;
	if (mode == NT_CTR_VU || (mode == NT_CTR_VS && !(c->hstateen & NT_STATEEN_CTR)))
		return NT_CTR_VIRTUAL;
	/* for all depths; WRPTR and FROZEN are not cleared (R161) */
	ctr_zero(c, c->room);
	ctr_restart_cycles(c);
	return 0;
}
