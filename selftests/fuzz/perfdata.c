// SPDX-License-Identifier: GPL-2.0-only
/*
 * The reader of perf.data: of any bytes it gives records that are in them, the same ones again
 * after rewinding, and then comes to an end.
 */
#include "nt-perfdata.h"

#include "fuzz.h"

/* FNV-1a */
static uint64_t mix(uint64_t sum, const void *p, size_t len)
{
	const uint8_t *b = p;

	while (len--)
		sum = (sum ^ *b++) * 0x100000001b3ull;
	return sum;
}

static void check_inside(const struct nt_perfdata_record *rec, const void *p, size_t len)
{
	const uint8_t *b = p;

	MUST(b >= rec->data && b <= rec->data + rec->len &&
	     len <= (size_t)(rec->data + rec->len - b));
}

static void check_text(const struct nt_perfdata_record *rec, const char *text)
{
	check_inside(rec, text, strlen(text) + 1);
}

static void check_trace(struct nt_perfdata *pd, const struct nt_perfdata_record *rec, size_t size)
{
	uint8_t byte;

	MUST(rec->auxtrace.there <= rec->auxtrace.size && rec->auxtrace.at <= size);
	MUST(rec->auxtrace.there <= size - rec->auxtrace.at);
	if (rec->auxtrace.there)
		MUST(nt_perfdata_read(pd, rec->file, rec->auxtrace.at + rec->auxtrace.there - 1,
				      &byte, 1) == 1);
}

static void check_record(struct nt_perfdata *pd, const struct nt_perfdata_record *rec, size_t size)
{
	MUST(rec->len >= 8 && rec->offset < size && rec->event < (int)nt_perfdata_events(pd));
	switch (rec->type) {
	case NT_PERFDATA_MMAP:
	case NT_PERFDATA_MMAP2:
		check_text(rec, rec->mmap.name);
		MUST(rec->mmap.build_id.size <= NT_PERFDATA_BUILD_ID_MAX);
		break;
	case NT_PERFDATA_COMM:
		check_text(rec, rec->comm.name);
		break;
	case NT_PERFDATA_KSYMBOL:
		check_text(rec, rec->ksymbol.name);
		break;
	case NT_PERFDATA_TEXT_POKE:
		check_inside(rec, rec->text_poke.bytes,
			     rec->text_poke.old_len + rec->text_poke.new_len);
		break;
	case NT_PERFDATA_NAMESPACES:
		check_inside(rec, rec->namespaces.links, 16 * rec->namespaces.nr);
		break;
	case NT_PERFDATA_AUXTRACE_INFO:
		check_inside(rec, rec->auxtrace_info.priv, 8 * rec->auxtrace_info.words);
		break;
	case NT_PERFDATA_AUXTRACE_ERROR:
		check_text(rec, rec->auxtrace_error.message);
		break;
	case NT_PERFDATA_SAMPLE:
		MUST(rec->aux_sample.size <= rec->len);
		MUST(!rec->aux_sample.size || (rec->aux_sample.at >= rec->offset + 8 &&
		     rec->aux_sample.at - rec->offset <= rec->len - rec->aux_sample.size));
		break;
	case NT_PERFDATA_AUXTRACE:
		check_trace(pd, rec, size);
		break;
	}
}

/* All records in one number; the last word is how it ended */
static uint64_t read_all(struct nt_perfdata *pd, size_t size)
{
	uint64_t sum = 0xcbf29ce484222325ull, last = 0;
	struct nt_perfdata_record rec;
	int ret;

	while ((ret = nt_perfdata_next(pd, &rec)) > 0) {
		MUST(rec.offset >= last);
		last = rec.offset;
		check_record(pd, &rec, size);
		sum = mix(sum, rec.data, rec.len);
		sum = mix(sum, &rec.time, sizeof(rec.time));
		sum = mix(sum, &rec.event, sizeof(rec.event));
	}
	MUST(!ret || *nt_perfdata_message(pd));
	if (ret == -NT_PERFDATA_EDAMAGED)
		MUST(!nt_perfdata_next(pd, &rec));
	return mix(sum, &ret, sizeof(ret));
}

static void read_header(struct nt_perfdata *pd)
{
	struct nt_perfdata_file_id id;
	struct nt_perfdata_event e;
	struct nt_perfdata_id one, found;
	const char *text;
	size_t i, n = 0;

	for (i = 0; nt_perfdata_event(pd, i, &e) == 0; i++)
		;
	MUST(i == nt_perfdata_events(pd));
	for (i = 0; nt_perfdata_next_id(pd, &i, &one); n++)
		MUST(nt_perfdata_find_id(pd, one.id, &found) == (one.event >= 0));
	for (i = 0; nt_perfdata_file_id(pd, i, &id) > 0; i++)
		n += strlen(id.name) + id.build_id.size;
	for (i = 0; i < 32; i++)
		if (nt_perfdata_string(pd, i, 0, &text) > 0)
			n += strlen(text);
	MUST(n < SIZE_MAX);
}

/* A second reader of the same, in step with the first one */
static void read_by_two(struct nt_perfdata *pd, size_t size, uint64_t sum)
{
	struct nt_perfdata *again = nt_perfdata_new();

	MUST(again);
	MUST(!nt_perfdata_open_again(again, pd));
	MUST(!nt_perfdata_rewind(pd) && read_all(pd, size) == sum);
	MUST(read_all(again, size) == sum);
	nt_perfdata_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nt_perfdata *pd = nt_perfdata_new();
	uint64_t sum;

	MUST(pd);
	if (!nt_perfdata_open_memory(pd, data, size)) {
		sum = read_all(pd, size);
		read_header(pd);
		read_by_two(pd, size, sum);
	} else {
		MUST(*nt_perfdata_message(pd));
	}
	nt_perfdata_free(pd);
	return 0;
}
