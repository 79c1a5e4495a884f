/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lines of a program's source, of its debug information
 */
#ifndef NTRACE_SOURCE_H
#define NTRACE_SOURCE_H

#include "cmd.h"

#ifdef HAVE_LIBDW
#include <dwarf.h>
#include <elfutils/libdw.h>
#endif

/* From addr on, up to the next row's, code is of this line. */
struct source_row {
	uint64_t addr;
	uint32_t file;		/* index of source.file; NONE behind the end of a sequence */
	uint32_t line;		/* 0: of none, the compiler made it */
	uint32_t discriminator;
	uint32_t number;	/* rows as the file has them */
	bool replaces;		/* a row at the same address that is of no code */
};

#define SOURCE_NONE	UINT32_MAX

struct source {
	char **file;
	size_t nr_files;
	struct source_row *row;	/* by address */
	size_t nr_rows;
};

/* What reads a file, for source_file() */
struct source_reader;

/*
 * Called for each function of a unit before the next one is read: entry is its Dwarf_Die, which is
 * valid until then, as the names are that libdw gives.
 */
typedef void (*source_function_fn)(struct source_reader *reader, void *entry, void *ctx);

/*
 * Read all of a file. Function may be NULL. Ends the command if the file cannot be read.
 * NULL, or why it has no line numbers
 */
const char *source_read(struct source *source, const char *path, source_function_fn function,
			void *ctx);
/* Ends the command with what source_read() said. */
void source_missing(const char *path, const char *why) __attribute__((noreturn));
/* The number of a file whose name libdw gave for the unit that is being read */
uint32_t source_file(struct source_reader *reader, const char *name);
#ifdef HAVE_LIBDW
/* The file that an entry is declared in, by the name that its unit has for it, or NULL */
const char *source_of_entry(Dwarf_Die *entry);
#endif
/* The row that an address is of, or NULL if it is of no line */
const struct source_row *source_find(const struct source *source, uint64_t addr);
void source_free(struct source *source);

#endif /* NTRACE_SOURCE_H */
