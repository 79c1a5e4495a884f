// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Example for the library: print all transfers.
 *	cc example.c $(pkg-config --cflags --libs libntrace) -o example
 *	./example PROGRAM.elf TRACE
 */
#include <inttypes.h>
#include <ntrace.h>
#include <stdio.h>
#include <stdlib.h>

static void print(const struct nt_event *ev)
{
	if (ev->kind == NT_EV_BRANCH)
		printf("%" PRIx64 " %" PRIx64 " %s\n", ev->from, ev->to, nt_type_name(ev->type));
	else if (ev->kind == NT_EV_LOSS)
		printf("# lost at byte %" PRIu64 ": %s\n", ev->offset, nt_strerror(ev->reason));
}

int main(int argc, char **argv)
{
	static uint8_t trace[1 << 24];
	struct nt_image *image = nt_image_new();
	struct nt_event events[256];
	struct nt_params params;
	struct nt_code *code;
	struct nt_flow *flow;
	size_t size;
	FILE *f;
	int i, n;

	if (argc != 3 || !image || nt_image_add_elf(image, argv[1], 0))
		return EXIT_FAILURE;
	f = fopen(argv[2], "rb");
	if (!f)
		return EXIT_FAILURE;
	size = fread(trace, 1, sizeof(trace), f);
	fclose(f);

	/* XLEN and extensions come from the program, the rest is N-Trace 1.0 */
	nt_params_init(&params);
	if (nt_image_isa(image))
		nt_isa_parse(nt_image_isa(image), &params);
	code = nt_code_new(&params, nt_image_read, image);
	flow = nt_flow_new(&params);
	if (!code || !flow)
		return EXIT_FAILURE;
	nt_flow_set_code(flow, code, code);
	nt_flow_window(flow, trace, size, 0);
	while ((n = nt_flow_next(flow, events, 256)) > 0)
		for (i = 0; i < n; i++)
			print(&events[i]);
	nt_flow_free(flow);
	nt_code_free(code);
	nt_image_free(image);
	return n ? EXIT_FAILURE : EXIT_SUCCESS;
}
