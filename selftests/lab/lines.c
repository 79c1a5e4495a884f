// SPDX-License-Identifier: GPL-2.0-only
/*
 * What libdw says of a program's lines:
 *
 *	lines ELF <ADDRESSES
 *
 * prints "pc ADDRESS LINE FILE" for each address of standard input that has a line, "row ADDRESS
 * LINE" for each row of the line table ("end ADDRESS" where code ends), in its order, and "function
 * LOW HIGH NAME". Addresses are hexadecimal without 0x.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void __attribute__((noreturn)) fail(const char *what)
{
	fprintf(stderr, "lines: %s: %s\n", what, dwarf_errmsg(-1));
	exit(2);
}

static void print_rows(Dwarf_Die *unit)
{
	Dwarf_Lines *lines;
	size_t nr;

	if (dwarf_getsrclines(unit, &lines, &nr))
		return;
	for (size_t i = 0; i < nr; i++) {
		Dwarf_Line *row = dwarf_onesrcline(lines, i);
		Dwarf_Addr addr;
		bool end;
		int line;

		if (dwarf_lineaddr(row, &addr) || dwarf_lineno(row, &line) ||
		    dwarf_lineendsequence(row, &end))
			fail("a row");
		if (end)
			printf("end %" PRIx64 "\n", addr);
		else
			printf("row %" PRIx64 " %d\n", addr, line);
	}
}

static int print_function(Dwarf_Die *die, void *arg)
{
	Dwarf_Addr low, high;
	const char *name = dwarf_diename(die);

	(void)arg;
	if (name && !dwarf_lowpc(die, &low) && !dwarf_highpc(die, &high))
		printf("function %" PRIx64 " %" PRIx64 " %s\n", low, high, name);
	return DWARF_CB_OK;
}

static void print_units(Dwarf *dwarf)
{
	Dwarf_Off at = 0, next;
	size_t header;
	Dwarf_Die unit;

	while (!dwarf_nextcu(dwarf, at, &next, &header, NULL, NULL, NULL)) {
		if (!dwarf_offdie(dwarf, at + header, &unit))
			fail("a unit");
		print_rows(&unit);
		dwarf_getfuncs(&unit, print_function, NULL, 0);
		at = next;
	}
}

static void print_line_of(Dwarf *dwarf, Dwarf_Addr pc)
{
	const char *file;
	Dwarf_Line *row;
	Dwarf_Die unit;
	int line;

	if (!dwarf_addrdie(dwarf, pc, &unit))
		return;
	row = dwarf_getsrc_die(&unit, pc);
	if (!row || dwarf_lineno(row, &line) || !line)
		return;
	file = dwarf_linesrc(row, NULL, NULL);
	printf("pc %" PRIx64 " %d %s\n", pc, line, file ? file : "?");
}

int main(int argc, char **argv)
{
	uint64_t pc;
	Dwarf *dwarf;
	int fd;

	if (argc != 2) {
		fputs("usage: lines ELF <ADDRESSES\n", stderr);
		return 2;
	}
	fd = open(argv[1], O_RDONLY);
	dwarf = dwarf_begin(fd, DWARF_C_READ);
	if (!dwarf)
		fail(argv[1]);
	print_units(dwarf);
	while (scanf("%" SCNx64, &pc) == 1)
		print_line_of(dwarf, pc);
	dwarf_end(dwarf);
	return 0;
}
