// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace gdbserver: debug a recording with GDB, forwards and backwards
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gdb.h"
#include "nt-tv.h"
#include "rec.h"
#include "serve.h"

enum { OPT_LISTEN = 0xa00, OPT_BTRACE, OPT_SYMBOLS, OPT_TV, OPT_FLEN, OPT_MLEN };

static const struct argp_option options_list[] = {
	{ NULL, 0, NULL, 0, "The server:", 8 },
	{ "listen", OPT_LISTEN, "PORT|HOST:PORT|-", 0,
	  "where GDB connects to: a port of this machine "
	  "alone (default: 1234), of an address of it, or standard input and output", 8 },
	{ "btrace", OPT_BTRACE, "INSNS", 0, "most instructions that `record btrace bts' gets "
	  "(default: 1000000)", 8 },
	{ "kernel-symbols", OPT_SYMBOLS, "FILE", 0,
	  "write the symbols that the kernel and its modules had to FILE, for GDB's symbol-file "
	  "(of a recording with --kcore)", 8 },
	{ "tv", OPT_TV, NULL, 0,
	  "FILE is a tandem-verification trace, which has registers and memory",
	  8 },
	{ "flen", OPT_FLEN, "32|64", 0,
	  "with --tv: width of floating-point registers (default: 64)", 8 },
	{ "mlen", OPT_MLEN, "32|34|64", 0,
	  "with --tv: width of addresses of memory (default: XLEN)", 8 },
	{ 0 }
};

struct arguments {
	struct input in;
	struct rec_options recording;
	struct serve_options options;
	const char *listen;
	const char *symbols;	/* file with the kernel's symbols, or NULL */
	bool tv;
	struct nt_tv_params params;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->in;
		state->child_inputs[1] = &a->recording;
		break;
	case OPT_LISTEN:
		a->listen = arg;
		break;
	case OPT_BTRACE:
		a->options.btrace = parse_number(arg, "--btrace");
		break;
	case OPT_SYMBOLS:
		a->symbols = arg;
		break;
	case OPT_TV:
		a->tv = true;
		break;
	case OPT_FLEN:
		a->params.flen = (uint8_t)parse_small(arg, "--flen", 64);
		break;
	case OPT_MLEN:
		a->params.mlen = (uint8_t)parse_small(arg, "--mlen", 64);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* Only packets may go to standard output, so redirect other output to standard error. */
static void keep_stdout(struct serve_options *o)
{
	o->out = dup(STDOUT_FILENO);
	if (o->out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		die("cannot use standard output for packets: %s", strerror(errno));
}

/* Where GDB is waiting until there is something to serve; -1: nowhere */
static int waiting = -1;

/*
 * GDB shows the error message, from standard error, only after it has read a reply. Answer each
 * packet with an error until GDB gives up.
 */
static void answer_failure(void)
{
	static const char text[] = "E.ntrace has nothing to serve, and has said why";
	struct pollfd fd = { .fd = STDIN_FILENO, .events = POLLIN };
	char bytes[4096], reply[sizeof(text) + 8];
	int len = snprintf(reply, sizeof(reply), "+$%s#%02x", text,
			   gdb_checksum(text, strlen(text)));
	ssize_t n;

	if (waiting < 0 || isatty(STDIN_FILENO))
		return;
	while (poll(&fd, 1, 2000) > 0 && (n = read(STDIN_FILENO, bytes, sizeof(bytes))) > 0)
		for (ssize_t i = 0; i < n; i++)
			if (bytes[i] == '#' && write(waiting, reply, (size_t)len) < 0)
				return;
}

static void settle(struct arguments *a)
{
	struct input *in = &a->in;

	if (in->nr_more && !strcmp(in->file, "-")) {
		a->listen = in->file;
		in->file = in->more[0];
		in->nr_more--;
	}
	if (in->nr_more)
		die("more than one file: `%s' and `%s'", in->file, in->more[0]);
	if (!strcmp(a->listen, "-") && !strcmp(in->file, "-"))
		die("standard input cannot be both the recording and the client");
	if (!strcmp(a->listen, "-")) {
		keep_stdout(&a->options);
		signal(SIGPIPE, SIG_IGN);
		waiting = a->options.out;
		atexit(answer_failure);
	}
	a->options.threads = in->threads;
}

static void open_data(struct arguments *a, struct serve_recording *r)
{
	rec_refuse_input(&a->in);
	serve_rec_open(r, a->in.file, &a->recording);
	if (a->symbols)
		serve_rec_write_symbols(r, a->symbols);
}

static void open_tv(struct arguments *a, struct serve_recording *r)
{
	rec_refuse_options(&a->recording, "a raw trace");
	input_open(&a->in);
	a->params.size = sizeof(a->params);
	a->params.xlen = a->in.params.xlen;
	if (!a->params.flen)
		a->params.flen = 64;
	if (!a->params.mlen)
		a->params.mlen = a->params.xlen;
	serve_tv_open(r, &a->in, &a->params);
}

static void open_raw(struct arguments *a, struct serve_recording *r)
{
	size_t losses = 0;

	rec_refuse_options(&a->recording, "a raw trace");
	if (!a->in.images)
		die("no program given: --elf or --raw%s", input_pipe_hint(&a->in));
	input_open(&a->in);
	serve_raw_open(r, &a->in);
	for (size_t i = 0; i < r->nr_tracks; i++)
		for (size_t n = 0; n < r->track[i]->nr_marks; n++)
			losses += r->track[i]->mark[n].kind == SERVE_LOSS;
	if (!losses)
		return;
	warn("%zu losses", losses);
	diagnose(&a->in);
}

int cmd_gdbserver(int argc, char **argv)
{
	static const struct argp_child children[] = {
		{ &input_argp, 0, NULL, 0 }, { &rec_argp, 0, NULL, 0 }, { 0 }
	};
	static const struct argp argp = {
		.options = options_list,
		.parser = parse,
		.args_doc = "[-] FILE",
		.doc = "Serve a recording to GDB, which then runs it forwards and backwards. `-' before "
		       "FILE is --listen=-, as for GDB's `target remote | ntrace gdbserver - FILE'.",
		.children = children,
	};
	struct arguments a = { .listen = "1234", .options = { .btrace = 1000000 } };
	struct serve_recording r;
	bool whole;

	input_init(&a.in);
	a.in.several = true;
	parse_arguments(&argp, argc, argv, &a);
	settle(&a);
	if ((a.params.flen || a.params.mlen) && !a.tv)
		die("--flen and --mlen are for a tandem-verification trace: --tv");
	if (a.symbols && (a.tv || !rec_is_data(a.in.file)))
		die("--kernel-symbols is for a perf.data; no other trace tells");
	input_refuse_output(&a.in, a.symbols);
	if (a.tv)
		open_tv(&a, &r);
	else if (rec_is_data(a.in.file))
		open_data(&a, &r);
	else
		open_raw(&a, &r);
	waiting = -1;
	whole = serve_link(&r, &a.options, a.listen);
	serve_recording_free(&r);
	rec_options_free(&a.recording);
	input_free(&a.in);
	return whole ? EXIT_WHOLE : EXIT_UNUSABLE;
}
