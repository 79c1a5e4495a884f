// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace calls: tables for people and for programs
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"

#define SHOWN	20	/* number of functions shown to people */

static const char *took_unit(const struct calls *c)
{
	return c->by_insns ? "instructions" : c->time_unit;
}

/* -------------------------------------------------------------- values --- */

/* Format a value for people: in microseconds, to the nanosecond, because values are exact. */
static void value_text(const char *unit, uint64_t value, char text[32])
{
	if (!unit)
		strcpy(text, "-");
	else if (!strcmp(unit, "ns"))
		snprintf(text, 32, "%" PRIu64 ".%03u", value / 1000, (unsigned int)(value % 1000));
	else
		snprintf(text, 32, "%" PRIu64, value);
}

static void put_value(const char *unit, uint64_t value, int width)
{
	char text[32];

	value_text(unit, value, text);
	printf(" %*s", width, text);
}

/* A point in time, in perf's format */
static void time_text(const struct calls *c, uint64_t time, char text[32])
{
	if (!c->time_unit)
		strcpy(text, "-");
	else if (!strcmp(c->time_unit, "ns"))
		snprintf(text, 32, "%" PRIu64 ".%09u", time / 1000000000,
			 (unsigned int)(time % 1000000000));
	else
		snprintf(text, 32, "%" PRIu64, time);
}

static const char *unit_head(const char *unit)
{
	if (!unit)
		return "";
	if (!strcmp(unit, "instructions"))
		return "insn";
	return strcmp(unit, "ns") ? unit : "us";
}

static const char *name_of(const struct calls_function *fn)
{
	return fn ? fn->name : "";
}

static void csv_string(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		if (*s == '"')
			putchar('"');
		putchar(*s);
	}
	putchar('"');
}

/* -------------------------------------------------------------- columns --- */

static uint64_t mean(const struct calls_function *fn)
{
	return fn->took.n ? fn->took.sum / fn->took.n : 0;
}

static void table_head(const struct calls *c)
{
	const char *t = unit_head(c->time_unit), *u = unit_head(took_unit(c));
	char own[16], total[16], of[16];

	snprintf(own, sizeof(own), "own %s", t);
	snprintf(total, sizeof(total), "total %s", t);
	snprintf(of, sizeof(of), "mean %s", u);
	printf("%9s %6s %12s %12s %12s %12s %11s %11s %11s %11s %17s %s\n", "calls", "cut",
	       "own insn", "total insn", own, total, of, "median", "99 %", "longest", "at",
	       "function < caller of the longest");
}

static void table_line(const struct calls *c, struct calls_function *fn)
{
	const char *unit = took_unit(c);
	char at[32];

	printf("%9" PRIu64 " %6" PRIu64 " %12" PRIu64 " %12" PRIu64, fn->calls, fn->cut,
	       fn->own_insns, fn->total_insns);
	put_value(c->time_unit, fn->own_time, 12);
	put_value(c->time_unit, fn->total_time, 12);
	put_value(fn->calls ? unit : NULL, mean(fn), 11);
	put_value(fn->calls ? unit : NULL, quantiles_at(&fn->took, 50), 11);
	put_value(fn->calls ? unit : NULL, quantiles_at(&fn->took, 99), 11);
	put_value(fn->calls ? unit : NULL, fn->longest, 11);
	time_text(c, fn->longest_at, at);
	printf(" %17s %s", fn->calls ? at : "-", fn->name);
	if (fn->longest_caller)
		printf(" < %s", fn->longest_caller->name);
	putchar('\n');
}

static void csv_head(const struct calls *c)
{
	const char *t = c->time_unit ?: "none", *u = took_unit(c);

	printf("function,file,start,calls,left,cut,own_instructions,total_instructions,"
	       "own_%s,total_%s,mean_%s,median_%s,p99_%s,longest_%s,longest_at_%s,longest_caller\n",
	       t, t, u, u, u, u, t);
}

static void csv_line(const struct calls *c, struct calls_function *fn)
{
	csv_string(fn->name);
	putchar(',');
	csv_string(fn->file);
	printf(",0x%" PRIx64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, fn->start,
	       fn->calls, fn->left, fn->cut, fn->own_insns, fn->total_insns);
	/* without time, the fields are empty */
	if (c->time_unit)
		printf(",%" PRIu64 ",%" PRIu64, fn->own_time, fn->total_time);
	else
		printf(",,");
	printf(",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", mean(fn),
	       quantiles_at(&fn->took, 50), quantiles_at(&fn->took, 99), fn->longest);
	if (c->time_unit)
		printf("%" PRIu64, fn->longest_at);
	putchar(',');
	csv_string(name_of(fn->longest_caller));
	putchar('\n');
}

static void json_head(const struct calls *c)
{
	printf("{\"time_unit\":");
	json_string(c->time_unit ?: "none");
	printf(",\"unit\":");
	json_string(took_unit(c));
	printf(",\"from\":%" PRIu64 ",\"to\":%" PRIu64 ",\"instructions\":%" PRIu64
	       ",\"losses\":%" PRIu64 ",\"functions\":[", c->from, c->to, c->insns, c->losses);
}

static void json_function(const struct calls_function *fn)
{
	printf("{\"function\":");
	json_string(fn->name);
	printf(",\"file\":");
	json_string(fn->file);
}

static void json_line(const struct calls *c, struct calls_function *fn)
{
	json_function(fn);
	printf(",\"start\":\"0x%" PRIx64 "\",\"calls\":%" PRIu64 ",\"left\":%" PRIu64
	       ",\"cut\":%" PRIu64 ",\"own_instructions\":%" PRIu64
	       ",\"total_instructions\":%" PRIu64, fn->start, fn->calls, fn->left, fn->cut,
	       fn->own_insns, fn->total_insns);
	if (c->time_unit)
		printf(",\"own_time\":%" PRIu64 ",\"total_time\":%" PRIu64, fn->own_time,
		       fn->total_time);
	if (fn->calls) {
		printf(",\"mean\":%" PRIu64 ",\"median\":%" PRIu64 ",\"p99\":%" PRIu64
		       ",\"longest\":%" PRIu64, mean(fn), quantiles_at(&fn->took, 50),
		       quantiles_at(&fn->took, 99), fn->longest);
		if (c->time_unit)
			printf(",\"longest_at\":%" PRIu64, fn->longest_at);
		printf(",\"longest_caller\":");
		json_string(name_of(fn->longest_caller));
	}
	putchar('}');
}

/* ------------------------------------------------------------ functions --- */

static bool sorted_by_insns;

/* The functions that took most by themselves come first. */
static int compare(const void *a, const void *b)
{
	const struct calls_function *x = *(struct calls_function *const *)a;
	const struct calls_function *y = *(struct calls_function *const *)b;
	uint64_t of_x = sorted_by_insns ? x->own_insns : x->own_time;
	uint64_t of_y = sorted_by_insns ? y->own_insns : y->own_time;
	int order;

	if (of_x != of_y)
		return of_x > of_y ? -1 : 1;
	order = strcmp(x->name, y->name) ?: strcmp(x->file, y->file);
	return order ?: x->start < y->start ? -1 : x->start > y->start;
}

/* Sort the functions that were executed */
static struct calls_function **sort(const struct calls *c, size_t *n)
{
	struct calls_function **list = calloc(c->nr_functions + 1, sizeof(*list)), *fn;
	size_t i;

	if (!list)
		die("%s", nt_strerror(NT_ENOMEM));
	*n = 0;
	for (i = 0; i < CALLS_BUCKETS; i++)
		for (fn = c->functions[i]; fn; fn = fn->next)
			if (fn->calls || fn->cut)
				list[(*n)++] = fn;
	sorted_by_insns = c->by_insns;
	qsort(list, *n, sizeof(*list), compare);
	return list;
}

static void print_overview(const struct calls *c, struct calls_function *const *list, size_t n)
{
	uint64_t calls = 0, cut = 0;
	char took[32];
	size_t i;

	for (i = 0; i < n; i++) {
		calls += list[i]->calls;
		cut += list[i]->cut;
	}
	printf("%zu functions, %" PRIu64 " calls, %" PRIu64 " more that are cut, %" PRIu64
	       " instructions", n, calls, cut, c->insns);
	if (c->time_unit) {
		value_text(c->time_unit, c->to - c->from, took);
		printf(" in %s %s", took, unit_head(c->time_unit));
	}
	printf(", %" PRIu64 " losses\n\n", c->losses);
}

static void print_hints(const char *file, size_t n, const struct calls_function *first)
{
	putchar('\n');
	if (n > SHOWN)
		printf("%zu more functions:         ntrace calls %s | less -S\n", n - SHOWN, file);
	if (first)
		printf("each call of a function:   ntrace calls --function=%s %s\n", first->name,
		       file);
	printf("in instructions, not time: ntrace calls --by=insns %s\n", file);
}

void calls_print(struct calls *c, enum calls_format format, const char *file, bool people)
{
	struct calls_function **list;
	size_t n, i, shown;

	list = sort(c, &n);
	people &= format == CALLS_TABLE;
	shown = people && n > SHOWN ? SHOWN : n;
	if (people)
		print_overview(c, list, n);
	if (format == CALLS_TABLE)
		table_head(c);
	else if (format == CALLS_CSV)
		csv_head(c);
	else
		json_head(c);
	for (i = 0; i < shown; i++) {
		if (format == CALLS_JSON) {
			fputs(i ? ",\n" : "\n", stdout);
			json_line(c, list[i]);
		} else if (format == CALLS_CSV) {
			csv_line(c, list[i]);
		} else {
			table_line(c, list[i]);
		}
	}
	if (format == CALLS_JSON)
		puts("\n]}");
	if (people)
		print_hints(file, n, n ? list[0] : NULL);
	free(list);
}

/* --------------------------------------------------------- single calls --- */

void calls_print_begin(const struct calls *c, enum calls_format format)
{
	const char *t = c->time_unit;
	char time[16];

	if (format == CALLS_TABLE) {
		snprintf(time, sizeof(time), "time %s", unit_head(t));
		printf("%17s %12s %12s %12s %5s %3s %15s %s\n", "begin", time, "insn", "own insn",
		       "how", "CPU", "pid/tid", "task function < caller");
	} else if (format == CALLS_CSV) {
		t = t ?: "none";
		printf("function,file,begin_%s,time_%s,instructions,own_instructions,how,cpu,pid,"
		       "tid,task,caller\n", t, t);
	} else {
		putchar('[');
	}
}

static void table_one(const struct calls *c, const struct calls_one *one)
{
	char begin[32], who[32];

	time_text(c, one->begin, begin);
	snprintf(who, sizeof(who), "%d/%d", one->pid, one->tid);
	printf("%17s", begin);
	put_value(c->time_unit, one->time, 12);
	printf(" %12" PRIu64 " %12" PRIu64 " %5s %3d %15s %s %s", one->insns, one->own_insns,
	       one->how, one->cpu, who, *one->comm ? one->comm : "-", one->function->name);
	if (one->caller)
		printf(" < %s", one->caller->name);
	putchar('\n');
}

static void csv_one(const struct calls_one *one)
{
	csv_string(one->function->name);
	putchar(',');
	csv_string(one->function->file);
	printf(",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s,%d,%d,%d,", one->begin,
	       one->time, one->insns, one->own_insns, one->how, one->cpu, one->pid, one->tid);
	csv_string(one->comm);
	putchar(',');
	csv_string(name_of(one->caller));
	putchar('\n');
}

static void json_one(const struct calls_one *one)
{
	static const char *separator = "\n";

	fputs(separator, stdout);
	separator = ",\n";
	json_function(one->function);
	printf(",\"begin\":%" PRIu64 ",\"time\":%" PRIu64 ",\"instructions\":%" PRIu64
	       ",\"own_instructions\":%" PRIu64 ",\"how\":\"%s\",\"cpu\":%d,\"pid\":%d,\"tid\":%d,"
	       "\"task\":", one->begin, one->time, one->insns, one->own_insns, one->how, one->cpu,
	       one->pid, one->tid);
	json_string(one->comm);
	printf(",\"caller\":");
	json_string(name_of(one->caller));
	putchar('}');
}

void calls_print_one(const struct calls *c, enum calls_format format, const struct calls_one *one)
{
	if (format == CALLS_TABLE)
		table_one(c, one);
	else if (format == CALLS_CSV)
		csv_one(one);
	else
		json_one(one);
}

void calls_print_end(enum calls_format format)
{
	if (format == CALLS_JSON)
		puts("\n]");
}
