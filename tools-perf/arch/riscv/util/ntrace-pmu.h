/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recording without perf's own structures: the PMU in sysfs, the terms of an event, and the words
 * of PERF_RECORD_AUXTRACE_INFO. perf record and ntrace record share this.
 */
#ifndef INCLUDE__ARCH_RISCV_NTRACE_PMU_H__
#define INCLUDE__ARCH_RISCV_NTRACE_PMU_H__

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- ntrace-pmu.c: files of the PMU, named from its directory on ------------- */

bool ntrace_pmu_exists(const char *file);
/* The first line: its length, or negative where there is none */
int ntrace_pmu_line(const char *file, char *line, size_t size);
/* A number, written in any base; with @hex also without 0x. False: there is none. */
bool ntrace_pmu_number(const char *file, bool hex, uint64_t *val);
/* The bits of @word ("config", "config2") that format/@name has; 0: it has no such term. */
uint64_t ntrace_pmu_bits(const char *name, const char *word);

/* --- ntrace-terms.c: what an event asks for, and what it gets ---------------- */

struct ntrace_terms {
	uint64_t config, config2;
	const char *sink;		/* @NAME, or NULL */
	bool exclude_user, exclude_kernel, exclude_guest, exclude_host, exclude_idle;
	bool guests_chosen;		/* with the modifiers G or H */
	/* Sets what the user left open, and nothing else. */
	void (*set_if_unset)(struct ntrace_terms *t, const char *name, uint64_t val);
	void (*say)(bool error, const char *text);
};

/* @kept: how many bytes of trace are kept at a time, 0: all. 0 or a negative errno, and said why */
int ntrace_terms_apply(struct ntrace_terms *t, uint64_t kept);
uint64_t ntrace_terms_get(uint64_t config, const char *name);
uint64_t ntrace_terms_caps(void);

/* --- ntrace-info.c: the words of PERF_RECORD_AUXTRACE_INFO -------------------- */

struct ntrace_words {
	uint64_t *word;
	size_t nr;
	size_t room;
};

/* All words but those of the clock, which the caller knows; a negative errno, and said why */
int ntrace_info_build(uint32_t type, uint64_t flags, struct ntrace_words *out,
		      void (*say)(bool error, const char *text));

#endif
