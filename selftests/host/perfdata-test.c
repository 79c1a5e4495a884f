// SPDX-License-Identifier: GPL-2.0-only
/*
 * The reader of perf.data: every record and feature that it knows, in files, pipes, folders and
 * compressed; every way in which a file can be damaged, with the place that is told.
 */
#include "cmocka-tap.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nt-perfdata.h"
#include "perfdata-make.h"

static struct make m;

static struct nt_perfdata *reader(void)
{
	struct nt_perfdata *pd = nt_perfdata_new();

	assert_non_null(pd);
	return pd;
}

static struct nt_perfdata *open_made(void)
{
	struct nt_perfdata *pd = reader();

	if (nt_perfdata_open_memory(pd, m.bytes, m.len))
		fail_msg("%s", nt_perfdata_message(pd));
	return pd;
}

/* The next record is of this type. */
static void expect(struct nt_perfdata *pd, struct nt_perfdata_record *rec, uint32_t type)
{
	int ret = nt_perfdata_next(pd, rec);

	if (ret != 1)
		fail_msg("%d: %s", ret, nt_perfdata_message(pd));
	assert_int_equal(rec->type, type);
}

static void expect_end(struct nt_perfdata *pd)
{
	struct nt_perfdata_record rec;
	int ret = nt_perfdata_next(pd, &rec);

	if (ret)
		fail_msg("%d, type %u: %s", ret, rec.type, nt_perfdata_message(pd));
}

/* -------------------------------------------------------------- records -- */

static void mmap2(void **state)
{
	static const uint8_t id[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
				      11, 12, 13, 14, 15, 16, 17, 18, 19, 20 };
	struct nt_perfdata_record rec;
	struct nt_perfdata *pd;
	struct header h;

	(void)state;
	h = put_header(&m);
	put_mmap2(&m);
	put_features(&m, &h, 0, NULL);
	pd = open_made();
	expect(pd, &rec, NT_PERFDATA_MMAP2);
	assert_int_equal(rec.offset, h.data);
	assert_int_equal(rec.has, NT_PERFDATA_HAS_TID | NT_PERFDATA_HAS_TIME |
				  NT_PERFDATA_HAS_CPU | NT_PERFDATA_HAS_ID);
	assert_int_equal(rec.pid, 100);
	assert_int_equal(rec.tid, 101);
	assert_int_equal(rec.time, 1000);
	assert_int_equal(rec.cpu, 1);
	assert_int_equal(rec.id, ID_DUMMY);
	assert_int_equal(rec.event, 1);
	assert_int_equal(rec.mmap.pid, 100);
	assert_int_equal(rec.mmap.tid, 101);
	assert_int_equal(rec.mmap.start, 0x10000);
	assert_int_equal(rec.mmap.len, 0x3000);
	assert_int_equal(rec.mmap.pgoff, 0x1000);
	assert_int_equal(rec.mmap.prot, 5);
	assert_int_equal(rec.mmap.flags, 2);
	assert_int_equal(rec.mmap.build_id.size, 20);
	assert_memory_equal(rec.mmap.build_id.data, id, 20);
	assert_string_equal(rec.mmap.name, "/usr/bin/prog");
	expect_end(pd);
	expect_end(pd);
	nt_perfdata_free(pd);
}

/* All that are taken apart, one of each */
static void put_all(struct make *f)
{
	begin(f, 1, 1);			/* MMAP */
	put32(f, (uint32_t)-1);
	put32(f, 0);
	put64(f, 0xffffffff80000000);
	put64(f, 0x1000000);
	put64(f, 0xffffffff80000000);
	put_text(f, "[kernel.kallsyms]_text", 8);
	end_with(f, 0, 0, 0, 0, 0);
	begin(f, 10, 2);		/* MMAP2 without build-id */
	put32(f, 7);
	put32(f, 8);
	put64(f, 0x20000);
	put64(f, 0x1000);
	put64(f, 0);
	put32(f, 0x103);
	put32(f, 0x2);
	put64(f, 12345);
	put64(f, 6);
	put32(f, 7);
	put32(f, 0x12);
	put_text(f, "//anon", 8);
	end_with(f, 7, 8, 5, 2, ID_DUMMY);
	begin(f, 2, 0);			/* LOST */
	put64(f, ID_TRACE);
	put64(f, 17);
	end_with(f, 7, 8, 6, 2, ID_TRACE);
	put_comm(f, "prog");
	begin(f, 7, 0);			/* FORK */
	put32(f, 20);
	put32(f, 10);
	put32(f, 21);
	put32(f, 11);
	put64(f, 777);
	end_with(f, 10, 11, 777, 0, ID_DUMMY);
	begin(f, 4, 0);			/* EXIT */
	put32(f, 20);
	put32(f, 10);
	put32(f, 21);
	put32(f, 11);
	put64(f, 778);
	end_with(f, 20, 21, 778, 0, ID_DUMMY);
	put_aux(f, 0x1000, 0x200, 4, 900);
	begin(f, 12, 0);		/* ITRACE_START */
	put32(f, 30);
	put32(f, 31);
	end_with(f, 30, 31, 901, 1, ID_TRACE);
	begin(f, 13, 0);		/* LOST_SAMPLES */
	put64(f, 3);
	end_with(f, 0, 0, 0, 0, ID_TRACE);
	begin(f, 14, 1 << 13);		/* SWITCH */
	end_with(f, 40, 41, 902, 1, ID_TRACE);
	begin(f, 15, 0);		/* SWITCH_CPU_WIDE */
	put32(f, 50);
	put32(f, 51);
	end_with(f, 40, 41, 903, 1, ID_TRACE);
	begin(f, 16, 0);		/* NAMESPACES */
	put32(f, 60);
	put32(f, 61);
	put64(f, 2);
	put64(f, 1);
	put64(f, 2);
	put64(f, 3);
	put64(f, 4);
	end_with(f, 60, 61, 904, 1, ID_DUMMY);
	begin(f, 17, 0);		/* KSYMBOL */
	put64(f, 0xffffffff01000000);
	put32(f, 0x80);
	put16(f, 1);
	put16(f, 0);
	put_text(f, "bpf_prog", 8);
	end_with(f, 0, 0, 905, 1, ID_DUMMY);
	begin(f, 20, 0);		/* TEXT_POKE */
	put64(f, 0xffffffff80001000);
	put16(f, 4);
	put16(f, 4);
	put(f, "oldinewi", 8);
	put32(f, 0);
	end_with(f, 0, 0, 906, 1, ID_DUMMY);
	begin(f, 21, 0);		/* AUX_OUTPUT_HW_ID */
	put64(f, 0x1234567890);
	end_with(f, 30, 31, 899, 1, ID_TRACE);
	begin(f, 9, 2);			/* SAMPLE */
	put64(f, ID_DUMMY);
	put32(f, 70);
	put32(f, 71);
	put64(f, 907);
	put32(f, 3);
	put32(f, 0);
	end(f);
	put_id_index(f);
	begin(f, 70, 0);		/* AUXTRACE_INFO */
	put32(f, 0x4e54);
	put32(f, 0);
	put64(f, 1);
	put64(f, 2);
	end(f);
	put_auxtrace(f, 0x1000, 24);
	begin(f, 72, 0);		/* AUXTRACE_ERROR */
	put32(f, 1);
	put32(f, 5);
	put32(f, 1);
	put32(f, 30);
	put32(f, 31);
	put32(f, 1);
	put64(f, 0x10004);
	put64(f, 908);
	put_text(f, "bad", 64);
	while ((f->len - f->record) % 8)
		put(f, "", 1);
	end(f);
	begin(f, 79, 0);		/* TIME_CONV */
	put64(f, 10);
	put64(f, 20);
	put64(f, 30);
	put64(f, 40);
	put64(f, 50);
	put(f, "\1\0ntrace", 8);
	end(f);
	begin(f, 68, 0);		/* FINISHED_ROUND */
	end(f);
}

static void first_half(struct nt_perfdata *pd)
{
	struct nt_perfdata_record rec;

	expect(pd, &rec, NT_PERFDATA_MMAP);
	assert_int_equal(rec.has, NT_PERFDATA_HAS_TID | NT_PERFDATA_HAS_CPU | NT_PERFDATA_HAS_ID);
	assert_int_equal(rec.event, 0);
	assert_int_equal(rec.mmap.pid, -1);
	assert_true(rec.mmap.start == 0xffffffff80000000 && rec.mmap.pgoff == rec.mmap.start);
	assert_int_equal(rec.mmap.prot, 4);
	assert_string_equal(rec.mmap.name, "[kernel.kallsyms]_text");
	expect(pd, &rec, NT_PERFDATA_MMAP2);
	assert_int_equal(rec.mmap.build_id.size, 0);
	assert_int_equal(rec.mmap.maj, 0x103);
	assert_int_equal(rec.mmap.min, 2);
	assert_int_equal(rec.mmap.ino, 12345);
	assert_int_equal(rec.mmap.ino_generation, 6);
	assert_int_equal(rec.mmap.prot, 7);
	assert_int_equal(rec.mmap.flags, 0x12);
	assert_string_equal(rec.mmap.name, "//anon");
	expect(pd, &rec, NT_PERFDATA_LOST);
	assert_int_equal(rec.lost.id, ID_TRACE);
	assert_int_equal(rec.lost.lost, 17);
	expect(pd, &rec, NT_PERFDATA_COMM);
	assert_int_equal(rec.misc, NT_PERFDATA_MISC_COMM_EXEC);
	assert_int_equal(rec.comm.pid, 100);
	assert_int_equal(rec.comm.tid, 101);
	assert_string_equal(rec.comm.name, "prog");
	expect(pd, &rec, NT_PERFDATA_FORK);
	assert_int_equal(rec.task.pid, 20);
	assert_int_equal(rec.task.ppid, 10);
	assert_int_equal(rec.task.tid, 21);
	assert_int_equal(rec.task.ptid, 11);
	assert_int_equal(rec.task.time, 777);
	expect(pd, &rec, NT_PERFDATA_EXIT);
	assert_int_equal(rec.task.time, 778);
	assert_int_equal(rec.tid, 21);
	expect(pd, &rec, NT_PERFDATA_AUX);
	assert_int_equal(rec.aux.offset, 0x1000);
	assert_int_equal(rec.aux.size, 0x200);
	assert_int_equal(rec.aux.flags, NT_PERFDATA_AUX_PARTIAL);
	assert_int_equal(rec.event, 0);
	expect(pd, &rec, NT_PERFDATA_ITRACE_START);
	assert_int_equal(rec.itrace_start.pid, 30);
	assert_int_equal(rec.itrace_start.tid, 31);
	expect(pd, &rec, NT_PERFDATA_LOST_SAMPLES);
	assert_int_equal(rec.lost.lost, 3);
	expect(pd, &rec, NT_PERFDATA_SWITCH);
	assert_int_equal(rec.misc, NT_PERFDATA_MISC_SWITCH_OUT);
	assert_int_equal(rec.tid, 41);
}

static void second_half(struct nt_perfdata *pd)
{
	struct nt_perfdata_record rec;
	uint64_t link;
	uint8_t trace[24];
	unsigned int i;

	expect(pd, &rec, NT_PERFDATA_SWITCH_CPU_WIDE);
	assert_int_equal(rec.other.pid, 50);
	assert_int_equal(rec.other.tid, 51);
	expect(pd, &rec, NT_PERFDATA_NAMESPACES);
	assert_int_equal(rec.namespaces.pid, 60);
	assert_int_equal(rec.namespaces.nr, 2);
	memcpy(&link, rec.namespaces.links + 24, 8);
	assert_int_equal(link, 4);
	expect(pd, &rec, NT_PERFDATA_KSYMBOL);
	assert_true(rec.ksymbol.addr == 0xffffffff01000000);
	assert_int_equal(rec.ksymbol.len, 0x80);
	assert_string_equal(rec.ksymbol.name, "bpf_prog");
	expect(pd, &rec, NT_PERFDATA_TEXT_POKE);
	assert_int_equal(rec.text_poke.old_len, 4);
	assert_memory_equal(rec.text_poke.bytes, "oldinewi", 8);
	expect(pd, &rec, NT_PERFDATA_AUX_OUTPUT_HW_ID);
	assert_int_equal(rec.hw_id, 0x1234567890);
	expect(pd, &rec, NT_PERFDATA_SAMPLE);
	assert_int_equal(rec.id, ID_DUMMY);
	assert_int_equal(rec.tid, 71);
	assert_int_equal(rec.time, 907);
	assert_int_equal(rec.cpu, 3);
	assert_int_equal(rec.event, 1);
	expect(pd, &rec, NT_PERFDATA_ID_INDEX);
	expect(pd, &rec, NT_PERFDATA_AUXTRACE_INFO);
	assert_int_equal(rec.auxtrace_info.type, 0x4e54);
	assert_int_equal(rec.auxtrace_info.words, 2);
	assert_int_equal(rec.auxtrace_info.priv[8], 2);
	expect(pd, &rec, NT_PERFDATA_AUXTRACE);
	assert_int_equal(rec.auxtrace.size, 24);
	assert_int_equal(rec.auxtrace.there, 24);
	assert_int_equal(rec.auxtrace.offset, 0x1000);
	assert_int_equal(rec.auxtrace.reference, 0xabc);
	assert_int_equal(rec.auxtrace.idx, 3);
	assert_int_equal(rec.auxtrace.tid, -1);
	assert_int_equal(rec.auxtrace.cpu, 1);
	assert_int_equal(nt_perfdata_read(pd, rec.file, rec.auxtrace.at, trace, 24), 24);
	for (i = 0; i < 24; i++)
		assert_int_equal(trace[i], i);
	expect(pd, &rec, NT_PERFDATA_AUXTRACE_ERROR);
	assert_int_equal(rec.auxtrace_error.code, 5);
	assert_int_equal(rec.auxtrace_error.tid, 31);
	assert_int_equal(rec.auxtrace_error.ip, 0x10004);
	assert_int_equal(rec.auxtrace_error.time, 908);
	assert_string_equal(rec.auxtrace_error.message, "bad");
	expect(pd, &rec, NT_PERFDATA_TIME_CONV);
	assert_int_equal(rec.time_conv.shift, 10);
	assert_int_equal(rec.time_conv.mult, 20);
	assert_int_equal(rec.time_conv.zero, 30);
	assert_int_equal(rec.time_conv.cycles, 40);
	assert_int_equal(rec.time_conv.mask, 50);
	assert_true(rec.time_conv.zero_valid && !rec.time_conv.short_counter);
	assert_memory_equal(rec.time_conv.reserved, "ntrace", 6);
	expect(pd, &rec, NT_PERFDATA_FINISHED_ROUND);
	expect_end(pd);
}

static void make_all(void)
{
	struct header h = put_header(&m);

	put_all(&m);
	put_features(&m, &h, 0, NULL);
}

static void all_records(void **state)
{
	struct nt_perfdata *pd;

	(void)state;
	make_all();
	pd = open_made();
	first_half(pd);
	second_half(pd);
	/* and once more */
	assert_int_equal(nt_perfdata_rewind(pd), 0);
	first_half(pd);
	second_half(pd);
	nt_perfdata_free(pd);
}

/* Two readers of the same bytes do not disturb each other. */
static void read_again(void **state)
{
	struct nt_perfdata_record rec;
	struct nt_perfdata *pd, *again = reader();

	(void)state;
	make_all();
	pd = open_made();
	first_half(pd);
	assert_int_equal(nt_perfdata_open_again(again, pd), -NT_PERFDATA_EINVAL);
	second_half(pd);
	assert_int_equal(nt_perfdata_open_again(again, pd), 0);
	assert_int_equal(nt_perfdata_open_again(again, pd), -NT_PERFDATA_EINVAL);
	first_half(again);
	assert_int_equal(nt_perfdata_next(pd, &rec), 0);
	assert_int_equal(nt_perfdata_rewind(pd), 0);
	first_half(pd);
	second_half(again);
	second_half(pd);
	assert_int_equal(nt_perfdata_rewind(again), 0);
	nt_perfdata_free(pd);
	first_half(again);
	second_half(again);
	nt_perfdata_free(again);
}

static void events(void **state)
{
	struct nt_perfdata_event e;
	struct nt_perfdata_id id;
	struct nt_perfdata_record rec;
	struct nt_perfdata *pd;
	size_t at = 0, n = 0;

	(void)state;
	make_all();
	pd = open_made();
	assert_int_equal(nt_perfdata_events(pd), 2);
	assert_int_equal(nt_perfdata_event(pd, 2, &e), -NT_PERFDATA_EINVAL);
	assert_int_equal(nt_perfdata_event(pd, 0, &e), 0);
	assert_int_equal(e.type, PMU_TYPE);
	assert_int_equal(e.config, 0x2e);
	assert_int_equal(e.config1, 0x11);
	assert_int_equal(e.config2, 0x22);
	assert_int_equal(e.sample_type, SAMPLE_TYPE);
	assert_int_equal(e.flags, NT_PERFDATA_SAMPLE_ID_ALL | NT_PERFDATA_EXCLUDE_KERNEL);
	assert_int_equal(e.nr_ids, 1);
	assert_true(nt_perfdata_find_id(pd, ID_TRACE, &id));
	assert_int_equal(id.event, 0);
	assert_int_equal(id.idx, -1);
	assert_false(nt_perfdata_find_id(pd, 999, &id));
	while (nt_perfdata_next(pd, &rec) > 0)
		;
	assert_true(nt_perfdata_find_id(pd, ID_TRACE, &id));
	assert_int_equal(id.idx, 3);
	assert_int_equal(id.cpu, 1);
	assert_int_equal(id.tid, -1);
	while (nt_perfdata_next_id(pd, &at, &id))
		n += id.id;
	assert_int_equal(n, ID_TRACE + ID_DUMMY);
	nt_perfdata_free(pd);
}

/* An index may tell of an ID that no event has: nothing is of that ID. */
static void index_of_no_event(void **state)
{
	struct nt_perfdata_record rec;
	struct nt_perfdata_id id;
	struct nt_perfdata *pd;
	struct header h;
	size_t at = 0;

	(void)state;
	h = put_header(&m);
	begin(&m, 69, 0);		/* ID_INDEX */
	put64(&m, 1);
	put64(&m, 999);
	put64(&m, 3);
	put64(&m, 1);
	put64(&m, (uint64_t)-1);
	end(&m);
	put_features(&m, &h, 0, NULL);
	pd = open_made();
	expect(pd, &rec, NT_PERFDATA_ID_INDEX);
	expect_end(pd);
	assert_false(nt_perfdata_find_id(pd, 999, &id));
	while (nt_perfdata_next_id(pd, &at, &id) && id.id != 999)
		;
	assert_int_equal(id.id, 999);
	assert_int_equal(id.event, -1);
	assert_int_equal(id.idx, 3);
	nt_perfdata_free(pd);
}

/* ------------------------------------------------------------- features -- */

static void put_file_id(struct make *f, uint16_t misc, const char *name, bool sized)
{
	begin(f, 67, misc | (sized ? 1 << 15 : 0));
	put32(f, (uint32_t)-1);
	put(f, "ABCDEFGHIJKLMNOPQRST", 20);
	put32(f, sized ? 16 : 0);
	put_text(f, name, 64);
	end(f);
}

static void feature(struct make *f, unsigned int nr)
{
	switch (nr) {
	case NT_PERFDATA_FEAT_BUILD_ID:
		put_file_id(f, 2, "/bin/ls", false);
		put_file_id(f, 1, "[kernel.kallsyms]", true);
		break;
	case NT_PERFDATA_FEAT_HOSTNAME:
		put_string(f, "board");
		break;
	case NT_PERFDATA_FEAT_ARCH:
		put_string(f, "riscv64");
		break;
	case NT_PERFDATA_FEAT_CMDLINE:
		put32(f, 2);
		put_string(f, "perf");
		put_string(f, "record");
		break;
	}
}

#define FEATURES	(1ull << NT_PERFDATA_FEAT_BUILD_ID | 1ull << NT_PERFDATA_FEAT_HOSTNAME | \
			 1ull << NT_PERFDATA_FEAT_ARCH | 1ull << NT_PERFDATA_FEAT_CMDLINE)

static void check_features(struct nt_perfdata *pd)
{
	struct nt_perfdata_file_id id;
	const char *text;

	assert_int_equal(nt_perfdata_string(pd, NT_PERFDATA_FEAT_HOSTNAME, 0, &text), 1);
	assert_string_equal(text, "board");
	assert_int_equal(nt_perfdata_string(pd, NT_PERFDATA_FEAT_HOSTNAME, 1, &text), 0);
	assert_int_equal(nt_perfdata_string(pd, NT_PERFDATA_FEAT_ARCH, 0, &text), 1);
	assert_string_equal(text, "riscv64");
	assert_int_equal(nt_perfdata_string(pd, NT_PERFDATA_FEAT_CPUID, 0, &text), 0);
	assert_int_equal(nt_perfdata_string(pd, NT_PERFDATA_FEAT_CMDLINE, 1, &text), 1);
	assert_string_equal(text, "record");
	assert_int_equal(nt_perfdata_string(pd, NT_PERFDATA_FEAT_CMDLINE, 2, &text), 0);
	assert_int_equal(nt_perfdata_file_id(pd, 1, &id), 1);
	assert_string_equal(id.name, "[kernel.kallsyms]");
	assert_int_equal(id.misc & NT_PERFDATA_MISC_CPUMODE, NT_PERFDATA_MISC_KERNEL);
	assert_int_equal(id.build_id.size, 16);
	assert_int_equal(nt_perfdata_file_id(pd, 0, &id), 1);
	assert_string_equal(id.name, "/bin/ls");
	assert_int_equal(id.build_id.size, 20);
	assert_memory_equal(id.build_id.data, "ABCDEFGHIJKLMNOPQRST", 20);
	assert_int_equal(nt_perfdata_file_id(pd, 2, &id), 0);
}

static void features(void **state)
{
	struct nt_perfdata *pd;
	struct header h;

	(void)state;
	h = put_header(&m);
	put_comm(&m, "x");
	put_features(&m, &h, FEATURES, feature);
	pd = open_made();
	check_features(pd);
	nt_perfdata_free(pd);
}

/* ---------------------------------------------------------------- pipes -- */

static void put_feature_record(struct make *f, unsigned int nr)
{
	size_t record = f->len;

	begin(f, 80, 0);
	put64(f, nr);
	feature(f, nr);
	f->record = record;
	end(f);
}

static void make_pipe(void)
{
	m.len = 0;
	put(&m, "PERFILE2", 8);
	put64(&m, 16);
	begin(&m, 64, 0);
	put_attr(&m, PMU_TYPE, 0x2e);
	put64(&m, ID_TRACE);
	end(&m);
	begin(&m, 64, 0);
	put_attr(&m, 1, 9);
	put64(&m, ID_DUMMY);
	end(&m);
	put_feature_record(&m, NT_PERFDATA_FEAT_HOSTNAME);
	put_feature_record(&m, NT_PERFDATA_FEAT_ARCH);
	put_feature_record(&m, NT_PERFDATA_FEAT_CMDLINE);
	put_file_id(&m, 2, "/bin/ls", false);
	put_file_id(&m, 1, "[kernel.kallsyms]", true);
	begin(&m, 66, 0);		/* tracing data: 5 bytes, and what fills them up */
	put32(&m, 5);
	put32(&m, 0);
	end(&m);
	put(&m, "events\0\0", 8);
	put_all(&m);
}

static void check_pipe(struct nt_perfdata *pd)
{
	static const uint32_t types[] = { 64, 64, 80, 80, 80, 67, 67, 66 };
	struct nt_perfdata_file_id id;
	struct nt_perfdata_record rec;
	unsigned int i;

	assert_true(nt_perfdata_is_pipe(pd));
	assert_int_equal(nt_perfdata_file_id(pd, 0, &id), 0);
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		expect(pd, &rec, types[i]);
	check_features(pd);
	assert_int_equal(nt_perfdata_events(pd), 2);
	first_half(pd);
	second_half(pd);
}

static void pipe_in_file(void **state)
{
	struct nt_perfdata *pd;

	(void)state;
	make_pipe();
	pd = open_made();
	check_pipe(pd);
	assert_int_equal(nt_perfdata_rewind(pd), 0);
	check_pipe(pd);
	nt_perfdata_free(pd);
}

/* What is made comes through a pipe, `step' bytes at a time. */
static int open_slow(struct nt_perfdata *pd, size_t step, int *fd, pid_t *child)
{
	size_t at, n;
	int end[2];

	assert_int_equal(pipe(end), 0);
	*child = fork();
	assert_true(*child >= 0);
	if (!*child) {
		close(end[0]);
		for (at = 0; at < m.len; at += n) {
			n = m.len - at < step ? m.len - at : step;
			if (write(end[1], m.bytes + at, n) != (ssize_t)n)
				_exit(1);
		}
		_exit(0);
	}
	close(end[1]);
	*fd = end[0];
	return nt_perfdata_open_fd(pd, end[0], "pipe");
}

static void pipe_slow(void **state)
{
	static const size_t steps[] = { 1, 7, 1000, 1 << 20 };
	struct nt_perfdata *pd, *again;
	unsigned int i;
	pid_t child;
	int fd;

	(void)state;
	make_pipe();
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		pd = reader();
		assert_int_equal(open_slow(pd, steps[i], &fd, &child), 0);
		check_pipe(pd);
		/* what came is kept */
		again = reader();
		assert_int_equal(nt_perfdata_open_again(again, pd), 0);
		assert_int_equal(nt_perfdata_rewind(pd), 0);
		check_pipe(again);
		check_pipe(pd);
		assert_int_equal(nt_perfdata_rewind(again), 0);
		nt_perfdata_free(pd);
		pd = again;
		check_pipe(pd);
		nt_perfdata_free(pd);
		close(fd);
		assert_int_equal(waitpid(child, NULL, 0), child);
	}
}

/* A file that comes through a pipe is read as well, and trace that is cut is noticed. */
static void file_through_pipe(void **state)
{
	struct nt_perfdata_record rec;
	struct nt_perfdata *pd = reader();
	pid_t child;
	int fd, ret;

	(void)state;
	make_all();
	assert_int_equal(open_slow(pd, 100, &fd, &child), 0);
	first_half(pd);
	second_half(pd);
	nt_perfdata_free(pd);
	close(fd);
	waitpid(child, NULL, 0);

	put_header(&m);
	put_auxtrace(&m, 0, 100);
	set64(&m, 48, m.len);
	m.len -= 60;
	pd = reader();
	assert_int_equal(open_slow(pd, 100, &fd, &child), 0);
	expect(pd, &rec, NT_PERFDATA_AUXTRACE);
	assert_int_equal(rec.auxtrace.size, 100);
	assert_int_equal(rec.auxtrace.there, 40);
	ret = nt_perfdata_next(pd, &rec);
	assert_int_equal(ret, -NT_PERFDATA_EDAMAGED);
	assert_non_null(strstr(nt_perfdata_message(pd), "ends in trace, 0x3c bytes before"));
	expect_end(pd);
	nt_perfdata_free(pd);
	close(fd);
	waitpid(child, NULL, 0);
}

/* -------------------------------------------------------------- folders -- */

static void write_file(const char *dir, const char *name, const uint8_t *p, size_t len)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static void remove_file(const char *dir, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	unlink(path);
}

static void folder(void **state)
{
	char dir[] = "/tmp/perfdata-test-XXXXXX", path[256], want[256];
	struct nt_perfdata_record rec;
	struct nt_perfdata *pd;
	struct header h;
	uint8_t trace[8];
	int ret;

	(void)state;
	assert_non_null(mkdtemp(dir));
	h = put_header(&m);
	put_comm(&m, "first");
	put_features(&m, &h, FEATURES, feature);
	write_file(dir, "data", m.bytes, m.len);
	m.len = 0;
	put_comm(&m, "second");
	put_auxtrace(&m, 64, 8);
	/* it ends in a record: the next file is read all the same */
	write_file(dir, "data.0", m.bytes, m.len);
	write_file(dir, "data.1", m.bytes, 13);
	write_file(dir, "data.2", m.bytes, m.len);

	pd = reader();
	assert_int_equal(nt_perfdata_open(pd, dir), 0);
	check_features(pd);
	nt_perfdata_beside(pd, "kcore_dir/kcore", path, sizeof(path));
	snprintf(want, sizeof(want), "%s/kcore_dir/kcore", dir);
	assert_string_equal(path, want);
	expect(pd, &rec, NT_PERFDATA_COMM);
	assert_int_equal(rec.file, 0);
	assert_string_equal(rec.comm.name, "first");
	expect(pd, &rec, NT_PERFDATA_COMM);
	assert_int_equal(rec.file, 1);
	assert_string_equal(rec.comm.name, "second");
	expect(pd, &rec, NT_PERFDATA_AUXTRACE);
	ret = nt_perfdata_next(pd, &rec);
	assert_int_equal(ret, -NT_PERFDATA_EDAMAGED);
	assert_non_null(strstr(nt_perfdata_message(pd),
			       "data.1: at 0: the file ends in a record, 13"));
	expect(pd, &rec, NT_PERFDATA_COMM);
	assert_int_equal(rec.file, 3);
	expect(pd, &rec, NT_PERFDATA_AUXTRACE);
	assert_int_equal(nt_perfdata_read(pd, rec.file, rec.auxtrace.at, trace, 8), 8);
	assert_int_equal(trace[0], 64);
	expect_end(pd);
	assert_int_equal(nt_perfdata_read(pd, 4, 0, trace, 8), -NT_PERFDATA_EINVAL);
	nt_perfdata_free(pd);
	for (ret = 0; ret < 3; ret++) {
		snprintf(path, sizeof(path), "data.%d", ret);
		remove_file(dir, path);
	}
	remove_file(dir, "data");

	pd = reader();
	assert_int_equal(nt_perfdata_open(pd, dir), -NT_PERFDATA_EFILE);
	assert_non_null(strstr(nt_perfdata_message(pd), "/data: No such file"));
	nt_perfdata_free(pd);
	rmdir(dir);
}

/* A file that becomes shorter while it is read */
static void shrinking(void **state)
{
	char path[] = "/tmp/perfdata-test-XXXXXX";
	struct nt_perfdata_record rec;
	struct nt_perfdata *pd = reader();
	int fd = mkstemp(path), n = 0, ret;

	(void)state;
	assert_true(fd >= 0);
	put_header(&m);
	while (m.len < 60000)
		put_comm(&m, "x");
	set64(&m, 48, 10 * m.len);
	for (n = 0; n < 10; n++)
		assert_int_equal(write(fd, m.bytes, m.len), m.len);
	assert_int_equal(nt_perfdata_open(pd, path), 0);
	expect(pd, &rec, NT_PERFDATA_COMM);
	assert_int_equal(ftruncate(fd, 20000), 0);
	do
		ret = nt_perfdata_next(pd, &rec);
	while (ret > 0);
	assert_int_equal(ret, -NT_PERFDATA_EDAMAGED);
	nt_perfdata_free(pd);
	close(fd);
	unlink(path);
}

/* ---------------------------------------------------------- compression -- */

static struct make inner;

static void make_compressed(bool second)
{
	struct header h = put_header(&m);
	size_t half;

	inner.len = 0;
	put_mmap2(&inner);
	put_comm(&inner, "first");
	put_comm(&inner, "second");
	half = inner.len - 50;
	put_id_index(&m);
	put_compressed(&m, true, second, inner.bytes, half);
	put_auxtrace(&m, 0, 16);
	put_compressed(&m, false, second, inner.bytes + half, inner.len - half);
	put_comm(&m, "third");
	put_features(&m, &h, 0, NULL);
}

#ifdef HAVE_ZSTD

static void compressed(void **state)
{
	struct nt_perfdata_record rec;
	struct nt_perfdata *pd;
	unsigned int i;

	(void)state;
	for (i = 0; i < 4; i++) {
		make_compressed(i & 1);
		pd = open_made();
		if (i & 2) {
			expect(pd, &rec, NT_PERFDATA_ID_INDEX);
			expect(pd, &rec, NT_PERFDATA_MMAP2);
			assert_int_equal(nt_perfdata_rewind(pd), 0);
		}
		expect(pd, &rec, NT_PERFDATA_ID_INDEX);
		assert_false(rec.compressed);
		expect(pd, &rec, NT_PERFDATA_MMAP2);
		assert_true(rec.compressed);
		assert_int_equal(rec.time, 1000);
		assert_string_equal(rec.mmap.name, "/usr/bin/prog");
		expect(pd, &rec, NT_PERFDATA_COMM);
		assert_string_equal(rec.comm.name, "first");
		/* the second is cut by the end of the compressed record */
		expect(pd, &rec, NT_PERFDATA_AUXTRACE);
		assert_int_equal(rec.auxtrace.there, 16);
		expect(pd, &rec, NT_PERFDATA_COMM);
		assert_string_equal(rec.comm.name, "second");
		expect(pd, &rec, NT_PERFDATA_COMM);
		assert_string_equal(rec.comm.name, "third");
		expect_end(pd);
		nt_perfdata_free(pd);
	}
}

/* Read to the end; what the first damage is called */
static const char *first_damage(struct nt_perfdata *pd)
{
	struct nt_perfdata_record rec;
	int ret;

	do
		ret = nt_perfdata_next(pd, &rec);
	while (ret > 0);
	assert_int_equal(ret, -NT_PERFDATA_EDAMAGED);
	return nt_perfdata_message(pd);
}

static void compressed_damage(void **state)
{
	struct header h;
	struct nt_perfdata *pd;
	char want[64];
	size_t at;

	(void)state;
	/* its end is missing */
	h = put_header(&m);
	inner.len = 0;
	put_comm(&inner, "first");
	at = m.len;
	put_compressed(&m, true, false, inner.bytes, inner.len - 1);
	put_features(&m, &h, 0, NULL);
	pd = open_made();
	snprintf(want, sizeof(want), "at %#zx: compressed records end in one", at);
	assert_non_null(strstr(first_damage(pd), want));
	nt_perfdata_free(pd);

	/* no zstd */
	h = put_header(&m);
	put_compressed(&m, false, false, inner.bytes, inner.len);
	put_features(&m, &h, 0, NULL);
	pd = open_made();
	assert_non_null(strstr(first_damage(pd), "cannot be decompressed"));
	nt_perfdata_free(pd);

	/* a record of no size, trace, a compressed record in it */
	h = put_header(&m);
	put_compressed(&m, true, false, "\1\0\0\0\0\0\7\0", 8);
	put_features(&m, &h, 0, NULL);
	pd = open_made();
	assert_non_null(strstr(first_damage(pd), "has one of 7 bytes in it"));
	nt_perfdata_free(pd);
	h = put_header(&m);
	inner.len = 0;
	put_auxtrace(&inner, 0, 8);
	put_compressed(&m, true, false, inner.bytes, inner.len);
	put_features(&m, &h, 0, NULL);
	pd = open_made();
	assert_non_null(strstr(first_damage(pd), "has one of type 71 in it"));
	nt_perfdata_free(pd);

	/* COMPRESSED2 of more bytes than it has */
	h = put_header(&m);
	at = m.len;
	put_compressed(&m, true, true, inner.bytes, 16);
	set64(&m, at + 8, 1000);
	put_features(&m, &h, 0, NULL);
	pd = open_made();
	assert_non_null(strstr(first_damage(pd), "tells of more"));
	nt_perfdata_free(pd);
}

/* Without an end there is none: more than fits the buffer comes out in parts. */
static void compressed_much(void **state)
{
	static const uint8_t repeated[] = { 0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38 };
	struct nt_perfdata_record rec;
	struct nt_perfdata *pd;
	struct header h;
	unsigned int i, n = 0;
	int ret;

	(void)state;
	h = put_header(&m);
	begin(&m, 81, 0);
	put(&m, repeated, sizeof(repeated));
	/* 100 blocks of 0x10101 times the byte 0x60: records of 0x6060 bytes */
	for (i = 0; i < 100; i++)
		put(&m, (uint8_t[]){ 2 | (0x10101 << 3 & 0xff), 0x10101 >> 5 & 0xff,
				     0x10101 >> 13 & 0xff, 0x60 }, 4);
	end(&m);
	put_features(&m, &h, 0, NULL);
	pd = open_made();
	while ((ret = nt_perfdata_next(pd, &rec)) > 0) {
		assert_int_equal(rec.type, 0x60606060);
		assert_int_equal(rec.len, 0x6060);
		n++;
	}
	assert_int_equal(ret, -NT_PERFDATA_EDAMAGED);
	assert_int_equal(n, 100 * 0x10101 / 0x6060);
	nt_perfdata_free(pd);
}

#else

static void compressed(void **state)
{
	struct nt_perfdata_record rec;
	struct nt_perfdata *pd;

	(void)state;
	make_compressed(false);
	pd = open_made();
	expect(pd, &rec, NT_PERFDATA_ID_INDEX);
	assert_int_equal(nt_perfdata_next(pd, &rec), -NT_PERFDATA_ENOTSUP);
	assert_non_null(strstr(nt_perfdata_message(pd), "built without zstd"));
	expect_end(pd);
	nt_perfdata_free(pd);
}

#endif

/* --------------------------------------------------------------- damage -- */

/* What opening says of what was made */
static void refused(enum nt_perfdata_error error, const char *words)
{
	struct nt_perfdata *pd = reader();
	struct nt_perfdata_record rec;
	int ret = nt_perfdata_open_memory(pd, m.bytes, m.len);

	if (ret != -(int)error || !strstr(nt_perfdata_message(pd), words))
		fail_msg("%d: %s, not %d: %s", ret, nt_perfdata_message(pd), -error, words);
	/* there is nothing to read then, and nothing happens */
	assert_int_equal(nt_perfdata_next(pd, &rec), 0);
	nt_perfdata_free(pd);
}

static void refusals(void **state)
{
	(void)state;
	m.len = 0;
	refused(NT_PERFDATA_EFORMAT, "is empty");
	put(&m, "\177ELF something else", 20);
	refused(NT_PERFDATA_EFORMAT, "is no perf.data");
	make_all();
	memcpy(m.bytes, "2ELIFREP", 8);
	refused(NT_PERFDATA_EORDER, "recorded on a big-endian machine");
	memcpy(m.bytes, "PERFFILE", 8);
	refused(NT_PERFDATA_ENOTSUP, "before Linux 3.2");
	make_all();
	set64(&m, 8, 105);
	refused(NT_PERFDATA_ENOTSUP, "a header of 105 bytes");
	make_all();
	m.len = 12;
	refused(NT_PERFDATA_EDAMAGED, "at 0xc: the file ends in its header");
	m.len = 50;
	refused(NT_PERFDATA_EDAMAGED, "at 0x32: the file ends in its header");
	make_all();
	set64(&m, 16, 8);
	refused(NT_PERFDATA_EDAMAGED, "at 0x10:");
	make_all();
	set64(&m, 32, 100);
	refused(NT_PERFDATA_EDAMAGED, "100 bytes of events");
	make_all();
	set64(&m, 24, 1ull << 63);
	refused(NT_PERFDATA_EDAMAGED, "of events");
	make_all();
	set64(&m, 24, 1ull << 40);
	refused(NT_PERFDATA_EDAMAGED, "the file ends before event 0 does");
	make_all();
	set64(&m, 40, UINT64_MAX - 3);
	refused(NT_PERFDATA_EDAMAGED, "beyond any file");
}

static void refused_events(void **state)
{
	struct header h;

	(void)state;
	h = put_header(&m);
	set64(&m, h.attrs, PMU_TYPE | 144ull << 32);
	refused(NT_PERFDATA_EDAMAGED, "event 0 does not have the size");
	h = put_header(&m);
	set64(&m, h.attrs, PMU_TYPE | 63ull << 32);
	refused(NT_PERFDATA_EDAMAGED, "event 0 does not have the size");
	h = put_header(&m);
	set64(&m, h.attrs, PMU_TYPE | 0xffffffffull << 32);
	refused(NT_PERFDATA_EDAMAGED, "event 0 does not have the size");
	h = put_header(&m);
	set64(&m, h.attrs + ATTR_SIZE + 8, 1ull << 60);
	refused(NT_PERFDATA_EDAMAGED, "the file ends before the IDs of event 0 do");
	h = put_header(&m);
	set64(&m, h.attrs + ATTR_SIZE, UINT64_MAX - 3);
	refused(NT_PERFDATA_EDAMAGED, "the file ends before the IDs of event 0 do");
}

/* The words of the damage that reading comes to, and how many records came before */
static void damage_after(unsigned int records, uint64_t offset, const char *words)
{
	struct nt_perfdata *pd = open_made();
	struct nt_perfdata_record rec;
	char want[64];
	unsigned int n = 0;
	int ret;

	snprintf(want, sizeof(want), "memory: at %#llx: ", (unsigned long long)offset);
	while ((ret = nt_perfdata_next(pd, &rec)) > 0)
		n++;
	if (ret != -NT_PERFDATA_EDAMAGED || !strstr(nt_perfdata_message(pd), words) ||
	    !strstr(nt_perfdata_message(pd), want))
		fail_msg("%d: %s, not %s%s", ret, nt_perfdata_message(pd), want, words);
	assert_int_equal(n, records);
	expect_end(pd);
	nt_perfdata_free(pd);
}

static void damaged_sizes(void **state)
{
	struct header h;
	size_t at;

	(void)state;
	h = put_header(&m);
	put_comm(&m, "x");
	at = m.len;
	put_comm(&m, "y");
	put_features(&m, &h, 0, NULL);
	m.bytes[at + 6] = 7;
	m.bytes[at + 7] = 0;
	damage_after(1, at, "a record of 7 bytes; expected 8 to");
	m.bytes[at + 6] = 0xff;
	m.bytes[at + 7] = 0xff;
	damage_after(1, at, "a record of 65535 bytes; expected 8 to");
	/* no room for what is behind it */
	m.bytes[at + 6] = 24;
	m.bytes[at + 7] = 0;
	set64(&m, at + 16, ID_DUMMY);
	damage_after(1, at, "a record of type 3, 24 bytes, is too short");

	h = put_header(&m);
	put_comm(&m, "x");
	at = m.len;
	put_auxtrace(&m, 0, 8);
	put_features(&m, &h, 0, NULL);
	set64(&m, at + 8, 9);
	damage_after(1, at, "tells of 0x9 bytes behind it, where 0x8 can be");
	set64(&m, at + 8, UINT64_MAX - 47);
	damage_after(1, at, "behind it, where 0x8 can be");
}

static void damaged_records(void **state)
{
	struct header h;
	size_t at;

	(void)state;
	/* a name without end */
	h = put_header(&m);
	at = m.len;
	begin(&m, 3, 0);
	put64(&m, 0);
	put(&m, "namename", 8);
	end_with(&m, 1, 1, 1, 1, ID_DUMMY);
	put_features(&m, &h, 0, NULL);
	damage_after(0, at, "a record of type 3, 56 bytes, is too short");

	/* an ID of nobody */
	h = put_header(&m);
	at = m.len;
	put_comm(&m, "x");
	set64(&m, m.len - 8, 1234);
	put_features(&m, &h, 0, NULL);
	damage_after(0, at, "has an ID that no event has");

	/* counts beyond the record */
	h = put_header(&m);
	at = m.len;
	put_id_index(&m);
	set64(&m, at + 8, 2);
	put_features(&m, &h, 0, NULL);
	damage_after(0, at, "a record of type 69");
	set64(&m, at + 8, 1ull << 60);
	damage_after(0, at, "a record of type 69");
	h = put_header(&m);
	at = m.len;
	begin(&m, 20, 0);
	put64(&m, 0);
	put16(&m, 0xffff);
	put16(&m, 0xffff);
	put32(&m, 0);
	end_with(&m, 1, 1, 1, 1, ID_DUMMY);
	put_features(&m, &h, 0, NULL);
	damage_after(0, at, "a record of type 20");
	h = put_header(&m);
	at = m.len;
	begin(&m, 16, 0);
	put64(&m, 0);
	put64(&m, 1ull << 60);
	end_with(&m, 1, 1, 1, 1, ID_DUMMY);
	put_features(&m, &h, 0, NULL);
	damage_after(0, at, "a record of type 16");
	h = put_header(&m);
	at = m.len;
	begin(&m, 72, 0);
	put64(&m, 0);
	end(&m);
	put_features(&m, &h, 0, NULL);
	damage_after(0, at, "a record of type 72");
}

/* What perf record leaves when it is killed: data has no size, and no features follow. */
static void unfinished(void **state)
{
	struct nt_perfdata *pd;
	const char *text;
	size_t at;

	(void)state;
	put_header(&m);
	put_comm(&m, "x");
	put_comm(&m, "y");
	at = m.len;
	damage_after(2, at, "its header was never completed");
	set64(&m, 72, FEATURES);
	pd = open_made();
	assert_int_equal(nt_perfdata_string(pd, NT_PERFDATA_FEAT_ARCH, 0, &text),
			 -NT_PERFDATA_EDAMAGED);
	nt_perfdata_free(pd);
	put(&m, "abc", 3);
	damage_after(2, at, "the file ends in a record, 3 bytes behind its begin");
}

static void damaged_features(void **state)
{
	struct nt_perfdata_file_id id;
	struct nt_perfdata_record rec;
	struct nt_perfdata *pd;
	const char *text;
	struct header h;
	size_t at;

	(void)state;
	h = put_header(&m);
	put_comm(&m, "x");
	at = m.len;
	put_features(&m, &h, FEATURES, feature);
	/* each is damaged in its own way: beyond the file, too large, too small */
	set64(&m, at, 1 << 20);
	set64(&m, at + 16 + 8, 1ull << 40);
	set64(&m, at + 32 + 8, 10);
	pd = open_made();
	assert_int_equal(nt_perfdata_file_id(pd, 0, &id), -NT_PERFDATA_EDAMAGED);
	assert_non_null(strstr(nt_perfdata_message(pd),
			       "at 0x100000: the file ends before feature 2"));
	assert_int_equal(nt_perfdata_string(pd, NT_PERFDATA_FEAT_HOSTNAME, 0, &text),
			 -NT_PERFDATA_EDAMAGED);
	assert_non_null(strstr(nt_perfdata_message(pd),
			       "feature 3 of the header is not in the file"));
	assert_int_equal(nt_perfdata_string(pd, NT_PERFDATA_FEAT_ARCH, 0, &text),
			 -NT_PERFDATA_EDAMAGED);
	assert_non_null(strstr(nt_perfdata_message(pd), "feature 6 of the header is no string"));
	assert_int_equal(nt_perfdata_string(pd, 1000, 0, &text), -NT_PERFDATA_EINVAL);
	/* the data is read all the same */
	expect(pd, &rec, NT_PERFDATA_COMM);
	expect_end(pd);
	nt_perfdata_free(pd);
}

/* Each length that a file can be cut to: what is read is what the whole has, then it is told. */
static void every_length(struct make *made, size_t from)
{
	struct nt_perfdata *pd, *whole;
	struct nt_perfdata_record rec, want;
	uint8_t *exact;
	size_t len;
	int ret;

	for (len = 0; len < made->len; len++) {
		exact = malloc(len ? len : 1);
		memcpy(exact, made->bytes, len);
		pd = reader();
		ret = nt_perfdata_open_memory(pd, exact, len);
		assert_true(len >= from ? ret == 0 : ret < 0);
		assert_true(!ret || *nt_perfdata_message(pd));
		if (ret) {
			nt_perfdata_free(pd);
			free(exact);
			continue;
		}
		whole = reader();
		assert_int_equal(nt_perfdata_open_memory(whole, made->bytes, made->len), 0);
		while ((ret = nt_perfdata_next(pd, &rec)) > 0) {
			assert_int_equal(nt_perfdata_next(whole, &want), 1);
			assert_int_equal(rec.len, want.len);
			assert_memory_equal(rec.data, want.data, rec.len);
		}
		/* a pipe that ends between two records may be whole */
		if (ret != -NT_PERFDATA_EDAMAGED)
			assert_true(!ret && nt_perfdata_is_pipe(pd));
		nt_perfdata_free(whole);
		nt_perfdata_free(pd);
		free(exact);
	}
}

static void cut(void **state)
{
	struct header h;

	(void)state;
	h = put_header(&m);
	put_all(&m);
	set64(&m, 48, m.len - h.data);
	every_length(&m, h.data);
	make_pipe();
	every_length(&m, 16);
}

/* Bytes changed, one by one: whatever comes out, nothing is read that is not there. */
static void every_byte(struct make *made)
{
	static const uint8_t with[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
	struct nt_perfdata_record rec;
	struct nt_perfdata_file_id id;
	struct nt_perfdata *pd;
	size_t i, k, n, at;
	uint8_t *exact = malloc(made->len);
	const char *text;

	for (i = 0; i < made->len * sizeof(with); i++) {
		at = i / sizeof(with);
		memcpy(exact, made->bytes, made->len);
		exact[at] = with[i % sizeof(with)];
		pd = reader();
		if (!nt_perfdata_open_memory(pd, exact, made->len)) {
			for (n = 0; nt_perfdata_next(pd, &rec) > 0; n++)
				assert_true(n < made->len);
			for (k = 0; nt_perfdata_file_id(pd, k, &id) > 0; k++)
				;
			for (k = 0; k < 32; k++)
				nt_perfdata_string(pd, k, 1, &text);
		}
		nt_perfdata_free(pd);
	}
	free(exact);
}

static void changed(void **state)
{
	struct header h;

	(void)state;
	h = put_header(&m);
	put_all(&m);
	put_features(&m, &h, FEATURES, feature);
	every_byte(&m);
	make_pipe();
	every_byte(&m);
	make_compressed(false);
	every_byte(&m);
	make_compressed(true);
	every_byte(&m);
}

static void misuse(void **state)
{
	struct nt_perfdata *pd = reader();
	struct nt_perfdata_record rec;
	struct {
		struct nt_perfdata_record rec;
		uint64_t later;
	} larger = { .later = 1 };

	(void)state;
	assert_int_equal(nt_perfdata_next(pd, &rec), -NT_PERFDATA_EINVAL);
	assert_int_equal(nt_perfdata_rewind(pd), -NT_PERFDATA_EINVAL);
	assert_int_equal(nt_perfdata_open(pd, "/nonexistent/perf.data"), -NT_PERFDATA_EFILE);
	assert_non_null(strstr(nt_perfdata_message(pd), "/nonexistent/perf.data: No such file"));
	make_all();
	assert_int_equal(nt_perfdata_open_memory(pd, m.bytes, m.len), 0);
	assert_int_equal(nt_perfdata_open_memory(pd, m.bytes, m.len), -NT_PERFDATA_EINVAL);
	assert_int_equal(nt_perfdata_open(pd, "/nonexistent/perf.data"), -NT_PERFDATA_EINVAL);
	assert_int_equal(nt_perfdata_open_fd(pd, -1, "nothing"), -NT_PERFDATA_EINVAL);
	/* a caller that knows more than the library */
	assert_int_equal(nt_perfdata_next_sized(pd, &larger.rec, sizeof(larger)), 1);
	assert_int_equal(larger.rec.type, NT_PERFDATA_MMAP);
	assert_int_equal(larger.later, 0);
	/* and one that knows less */
	memset(&rec, 0x55, sizeof(rec));
	assert_int_equal(nt_perfdata_next_sized(pd, &rec, 8), 1);
	assert_int_equal(rec.type, NT_PERFDATA_MMAP2);
	assert_int_equal(rec.offset, 0x5555555555555555);
	nt_perfdata_free(pd);
	nt_perfdata_free(NULL);
}

/* Inputs for the fuzzer to begin with, into a folder */
static int write_seeds(const char *dir)
{
	struct header h = put_header(&m);

	put_all(&m);
	put_features(&m, &h, FEATURES, feature);
	write_file(dir, "file", m.bytes, m.len);
	make_pipe();
	write_file(dir, "pipe", m.bytes, m.len);
	make_compressed(false);
	write_file(dir, "compressed", m.bytes, m.len);
	make_compressed(true);
	write_file(dir, "compressed2", m.bytes, m.len);
	return 0;
}

/* --------------------------------------------------------- AUX samples - */


static void put64s(unsigned int nr, uint64_t value)
{
	while (nr--)
		put64(&m, value);
}

/* All that can be before the AUX area's in a sample, or nothing; returns where its bytes are */
static size_t put_aux_sample(bool all, uint64_t size)
{
	size_t at;

	begin(&m, 9, 2);
	put64(&m, ID_DUMMY);
	put64s(all, 0x1234);		/* IP */
	put32(&m, 70);
	put32(&m, 71);
	put64(&m, 907);
	put32(&m, 3);
	put32(&m, 0);
	if (all) {
		put64(&m, 1000);	/* PERIOD */
		put64(&m, 2);		/* READ: a group of two with IDs, and times */
		put64s(2 + 2 * 2, 5);
		put64(&m, 3);		/* CALLCHAIN */
		put64s(3, 0x4000);
		put32(&m, 12);		/* RAW */
		put64(&m, 6);
		put32(&m, 6);
		put64(&m, 2);		/* BRANCH_STACK with an index */
		put64s(1 + 2 * 3, 7);
		put64(&m, 2);		/* REGS_USER: three */
		put64s(3, 8);
		put64(&m, 16);		/* STACK_USER */
		put64s(2 + 1, 9);
		put64s(3, 10);		/* WEIGHT, DATA_SRC, TRANSACTION */
		put64(&m, 0);		/* REGS_INTR: none */
		put64s(4, 11);		/* PHYS_ADDR, CGROUP, sizes of pages */
	}
	put64(&m, size);
	at = m.len;
	put64(&m, 0x1122334455667788);
	end(&m);
	return at;
}

static void aux_samples(void **state)
{
	struct nt_perfdata_record rec;
	size_t attr, at[2];
	struct nt_perfdata *pd;
	struct header h;
	unsigned int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		h = put_header(&m);
		attr = h.attrs + ATTR_SIZE + 16;
		set64(&m, attr + 24, SAMPLE_TYPE | 1u << 20 | (i != 1 ? 0 :
		      1u << 0 | 1u << 8 | 1u << 4 | 1u << 5 | 1u << 10 | 1u << 11 | 1u << 12 |
		      1u << 13 | 1u << 14 | 1u << 15 | 1u << 17 | 1u << 18 | 1u << 19 | 7u << 21));
		set64(&m, attr + 32, 0xf);		/* read_format */
		set64(&m, attr + 72, 1u << 17);	/* branch_sample_type: HW_INDEX */
		set64(&m, attr + 80, 0x111);	/* sample_regs_user */
		set64(&m, attr + 96, 0x11);		/* sample_regs_intr */
		at[0] = put_aux_sample(i == 1, i == 2 ? 9 : 8);
		at[1] = put_aux_sample(i == 1, i == 2 ? 0 : 8);
		put_features(&m, &h, 0, NULL);
		pd = open_made();
		if (i == 2) {
			/* longer than the record */
			assert_int_equal(nt_perfdata_next(pd, &rec), -NT_PERFDATA_EDAMAGED);
			nt_perfdata_free(pd);
			continue;
		}
		expect(pd, &rec, NT_PERFDATA_SAMPLE);
		assert_int_equal(rec.aux_sample.size, 8);
		assert_int_equal(rec.aux_sample.at, at[0]);
		assert_int_equal(rec.tid, 71);
		assert_int_equal(rec.cpu, 3);
		expect(pd, &rec, NT_PERFDATA_SAMPLE);
		assert_int_equal(rec.aux_sample.at, at[1]);
		expect_end(pd);
		nt_perfdata_free(pd);
	}
}

#ifdef HAVE_ZSTD

/* A second reader finds them where the first one has put them. */
static void read_samples_again(struct nt_perfdata *pd)
{
	struct nt_perfdata *again = reader();
	struct nt_perfdata_record rec;
	uint8_t bytes[16];

	while (nt_perfdata_next(pd, &rec) == 1)
		;
	assert_int_equal(nt_perfdata_open_again(again, pd), 0);
	assert_int_equal(nt_perfdata_rewind(pd), 0);
	expect(again, &rec, NT_PERFDATA_SAMPLE);
	assert_int_equal(rec.aux_sample.at, 0);
	expect(again, &rec, NT_PERFDATA_SAMPLE);
	expect_end(again);
	assert_int_equal(nt_perfdata_read(again, rec.aux_sample.file, rec.aux_sample.at, bytes, 16),
			 8);
	assert_memory_equal(bytes, "\x99\0\0\0\0\0\0\0", 8);
	assert_int_equal(nt_perfdata_read(pd, rec.aux_sample.file, rec.aux_sample.at, bytes, 16),
			 8);
	nt_perfdata_free(again);
}

/* Out of compressed records their bytes are there, too, at any time. */
static void compressed_samples(void **state)
{
	struct nt_perfdata_record rec, before = { .type = 0 };
	uint8_t samples[256], bytes[16];
	struct nt_perfdata *pd;
	struct header h;
	unsigned int i;
	size_t size, at;

	(void)state;
	h = put_header(&m);
	set64(&m, h.attrs + ATTR_SIZE + 16 + 24, SAMPLE_TYPE | 1u << 20);
	put_aux_sample(false, 8);
	at = put_aux_sample(false, 8);
	set64(&m, at, 0x99);
	size = m.len - h.data;
	memcpy(samples, m.bytes + h.data, size);
	m.len = h.data;
	put_compressed(&m, true, false, samples, size - 12);
	put_compressed(&m, false, false, samples + size - 12, 12);
	put_features(&m, &h, 0, NULL);
	pd = open_made();
	for (i = 0; i < 2; i++) {
		expect(pd, &rec, NT_PERFDATA_SAMPLE);
		assert_int_equal(rec.aux_sample.size, 8);
		assert_true(!i || rec.aux_sample.at == before.aux_sample.at);
		before = rec;
		expect(pd, &rec, NT_PERFDATA_SAMPLE);
		expect_end(pd);
		assert_int_equal(nt_perfdata_read(pd, before.aux_sample.file, before.aux_sample.at,
						  bytes, 8), 8);
		assert_memory_equal(bytes, "\x88\x77\x66\x55\x44\x33\x22\x11", 8);
		/* there is no more than that */
		assert_int_equal(nt_perfdata_read(pd, rec.aux_sample.file, rec.aux_sample.at, bytes,
						  16), 8);
		assert_memory_equal(bytes, "\x99\0\0\0\0\0\0\0", 8);
		assert_int_equal(nt_perfdata_rewind(pd), 0);
	}
	read_samples_again(pd);
	nt_perfdata_free(pd);
}

#endif

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(index_of_no_event),
		cmocka_unit_test(mmap2),
		cmocka_unit_test(all_records),
		cmocka_unit_test(read_again),
		cmocka_unit_test(aux_samples),
		cmocka_unit_test(events),
		cmocka_unit_test(features),
		cmocka_unit_test(pipe_in_file),
		cmocka_unit_test(pipe_slow),
		cmocka_unit_test(file_through_pipe),
		cmocka_unit_test(folder),
		cmocka_unit_test(shrinking),
		cmocka_unit_test(compressed),
#ifdef HAVE_ZSTD
		cmocka_unit_test(compressed_damage),
		cmocka_unit_test(compressed_much),
		cmocka_unit_test(compressed_samples),
#endif
		cmocka_unit_test(refusals),
		cmocka_unit_test(refused_events),
		cmocka_unit_test(damaged_sizes),
		cmocka_unit_test(damaged_records),
		cmocka_unit_test(unfinished),
		cmocka_unit_test(damaged_features),
		cmocka_unit_test(cut),
		cmocka_unit_test(changed),
		cmocka_unit_test(misuse),
	};

	if (argc == 3 && !strcmp(argv[1], "--seeds"))
		return write_seeds(argv[2]);
	return RUN_TAP(tests);
}
