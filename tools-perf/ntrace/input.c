// SPDX-License-Identifier: GPL-2.0-only
/*
 * Options that say what to decode and how
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"

enum {
	OPT_XLEN = 0x100, OPT_ISA, OPT_JVT, OPT_SRCBITS, OPT_SRC, OPT_TIMESTAMPS, OPT_PROFILE,
	OPT_EXTADDR, OPT_RETSTACK, OPT_SEQJUMP, OPT_ALLJUMPS, OPT_ELF, OPT_RAW,
	OPT_THREADS,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "The program that was traced (several of each):", 1 },
	{ "elf", OPT_ELF, "ELF[@BIAS]", 0, "loadable segments of an ELF file, moved by BIAS", 1 },
	{ "raw", OPT_RAW, "FILE@ADDR", 0, "a piece of memory", 1 },
	{ NULL, 0, NULL, 0, "How the trace was made:", 2 },
	{ "xlen", OPT_XLEN, "32|64", 0, "default: that of the ELF file, or 64", 2 },
	{ "isa", OPT_ISA, "STRING", 0,
	  "default: the ELF file's attributes; settles encodings that two extensions claim", 2 },
	{ "jvt", OPT_JVT, "ADDR", 0, "jump table of cm.jt and cm.jalt", 2 },
	{ "srcbits", OPT_SRCBITS, "N", 0, "width of the SRC field, 0 to 12", 2 },
	{ "src", OPT_SRC, "ID", 0, "source to decode", 2 },
	{ "timestamps", OPT_TIMESTAMPS, NULL, 0, "messages have timestamps", 2 },
	{ "profile", OPT_PROFILE, "1.0|p550|sifive", 0, "which N-Trace it is", 2 },
	{ "extaddr", OPT_EXTADDR, NULL, 0, "addresses are sign-extended", 2 },
	{ "retstack", OPT_RETSTACK, "0..3", 0, "implicit return mode", 2 },
	{ "seqjump", OPT_SEQJUMP, NULL, 0, "sequential jumps are not reported", 2 },
	{ "alljumps", OPT_ALLJUMPS, NULL, 0, "direct jumps are reported", 2 },
	{ NULL, 0, NULL, 0, "How to work:", 3 },
	{ "threads", OPT_THREADS, "N", 0, "at most so many threads (decode, stat; others take one)", 3 },
	{ 0 }
};

uint64_t parse_number(const char *text, const char *what)
{
	unsigned long long v;
	char *end;

	errno = 0;
	v = strtoull(text, &end, 0);
	if (errno || end == text || *end || *text == '-')
		die("%s: `%s' is not a number", what, text);
	return v;
}

unsigned int parse_small(const char *text, const char *what, unsigned int max)
{
	uint64_t v = parse_number(text, what);

	if (v > max)
		die("%s: %" PRIu64 " is more than %u", what, v, max);
	return v;
}

static enum nt_profile parse_profile(const char *text)
{
	static const char *const names[] = { "1.0", "p550", "sifive" };
	unsigned int i;

	for (i = 0; i < 3; i++)
		if (!strcmp(text, names[i]))
			return (enum nt_profile)i;
	die("--profile: `%s' is none of 1.0, p550, sifive", text);
}

/* Split FILE@NUMBER; false when there is no @ with a number behind it. */
static bool split_at(char *arg, uint64_t *number)
{
	char *at = strrchr(arg, '@'), *end;

	if (!at || !at[1])
		return false;
	errno = 0;
	*number = strtoull(at + 1, &end, 0);
	if (errno || *end)
		return false;
	*at = '\0';
	return true;
}

static void add_elf(struct input *in, char *path, uint64_t bias)
{
	struct elf *elf = calloc(1, sizeof(*elf)), **last = &in->elfs;

	if (!elf)
		die("%s", nt_strerror(NT_ENOMEM));
	elf->path = path;
	elf->bias = bias;
	while (*last)
		last = &(*last)->next;
	*last = elf;
}

static void add_image(struct input *in, int key, const char *arg)
{
	char *path = strdup(arg);
	uint64_t addr = 0;
	bool split;
	int ret;

	if (!path)
		die("%s", nt_strerror(NT_ENOMEM));
	split = split_at(path, &addr);
	if (key == OPT_RAW && !split)
		die("--raw: `%s' is not FILE@ADDR", arg);
	if (key == OPT_RAW)
		ret = nt_image_add_raw(in->image, path, addr);
	else
		ret = nt_image_add_elf(in->image, path, addr);
	if (ret == -NT_EFILE)
		die("%s: %s", path, strerror(errno));
	if (ret)
		die("%s: %s", path, nt_strerror(ret));
	in->images++;
	if (key == OPT_ELF)
		add_elf(in, path, addr);
	else
		free(path);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct input *in = state->input;
	struct nt_params *p = &in->params;

	switch (key) {
	case OPT_XLEN:
		p->xlen = parse_small(arg, "--xlen", 64);
		in->xlen_given = true;
		break;
	case OPT_ISA:
		in->isa = arg;
		break;
	case OPT_JVT:
		p->jvt = parse_number(arg, "--jvt");
		break;
	case OPT_SRCBITS:
		p->srcbits = parse_small(arg, "--srcbits", 12);
		break;
	case OPT_SRC:
		p->src = parse_small(arg, "--src", 4095);
		break;
	case OPT_TIMESTAMPS:
		p->timestamps = true;
		break;
	case OPT_PROFILE:
		p->profile = parse_profile(arg);
		break;
	case OPT_EXTADDR:
		p->extaddr = true;
		break;
	case OPT_RETSTACK:
		p->retstack = parse_small(arg, "--retstack", 3);
		break;
	case OPT_SEQJUMP:
		p->seqjump = true;
		break;
	case OPT_ALLJUMPS:
		p->alljumps = true;
		break;
	case OPT_THREADS:
		in->threads = parse_small(arg, "--threads", 256);
		if (!in->threads)
			die("--threads: 0 is too few");
		break;
	case OPT_ELF:
	case OPT_RAW:
		add_image(in, key, arg);
		break;
	case ARGP_KEY_ARG:
		if (in->no_trace)
			argp_error(state, "`%s' is no option", arg);
		if (in->file)
			argp_error(state, "more than one trace file");
		in->file = arg;
		break;
	case ARGP_KEY_END:
		if (!in->file && !in->no_trace)
			argp_error(state, "no trace file");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

const struct argp input_argp = { .options = options, .parser = parse };

void input_init(struct input *in)
{
	memset(in, 0, sizeof(*in));
	nt_params_init(&in->params);
	in->threads = 1;
	in->image = nt_image_new();
	if (!in->image)
		die("%s", nt_strerror(NT_ENOMEM));
}

void input_free(struct input *in)
{
	while (in->elfs) {
		struct elf *elf = in->elfs;

		in->elfs = elf->next;
		free(elf->path);
		free(elf);
	}
	nt_image_free(in->image);
	if (in->mapped)
		munmap(in->trace, in->size);
	else
		free(in->trace);
}

/* -------------------------------------------------------------- trace ---- */

static size_t read_some(int fd, struct input *in, size_t room)
{
	ssize_t got;

	do
		got = read(fd, in->trace + in->size, room);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		die("%s: %s", in->file, strerror(errno));
	return got;
}

/* Pipes, and what else can't be mapped */
static void read_all(struct input *in, int fd)
{
	size_t room = 0, got;

	do {
		if (in->size == room) {
			room = room ? 2 * room : 65536;
			in->trace = realloc(in->trace, room);
			if (!in->trace)
				die("%s: %s", in->file, nt_strerror(NT_ENOMEM));
		}
		got = read_some(fd, in, room - in->size);
		in->size += got;
	} while (got);
}

/*
 * A mapped file that someone makes shorter has pages no more: looking at them is
 * SIGBUS.  Nothing can be decoded then, but it can be said; the handler may do little.
 */
static struct {
	const uint8_t *from;
	size_t size;
	char text[512];
} mapped;

static void on_bus_error(int signal, siginfo_t *info, void *context)
{
	static const char program[] = "ntrace: the program's file has become shorter while it was in use\n";
	const uint8_t *at = info->si_addr;
	bool trace = mapped.from && at >= mapped.from && at - mapped.from < (ptrdiff_t)mapped.size;
	const char *text = trace ? mapped.text : program;

	(void)signal;
	(void)context;
	if (info->si_code != BUS_ADRERR)
		abort();
	/* there is nobody left to tell that this failed */
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		_exit(EXIT_UNUSABLE);
	_exit(EXIT_UNUSABLE);
}

static void watch_mapped(const struct input *in)
{
	struct sigaction action = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };

	snprintf(mapped.text, sizeof(mapped.text),
		 "ntrace: %.400s: has become shorter than %zu bytes while it was read\n", in->file ?
		 in->file : "", in->size);
	mapped.from = in->mapped ? in->trace : NULL;
	mapped.size = in->size;
	sigaction(SIGBUS, &action, NULL);
}

static bool map_trace(struct input *in, int fd, const struct stat *st)
{
	if (!S_ISREG(st->st_mode) || !st->st_size || (uint64_t)st->st_size > SIZE_MAX)
		return false;
	in->trace = mmap(NULL, st->st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	in->mapped = in->trace != MAP_FAILED;
	if (in->mapped)
		in->size = st->st_size;
	else
		in->trace = NULL;
	return in->mapped;
}

static void read_trace(struct input *in)
{
	bool std = !strcmp(in->file, "-");
	int fd = std ? STDIN_FILENO : open(in->file, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		die("%s: %s", in->file, strerror(errno));
	if (S_ISDIR(st.st_mode))
		die("%s: %s", in->file, strerror(EISDIR));
	/* standard input may have been read in part */
	if (std || !map_trace(in, fd, &st))
		read_all(in, fd);
	if (!std)
		close(fd);
}

#define DROP	((size_t)1 << 20)	/* at once, and a multiple of any page's size */

void input_progress(struct input *in, size_t done)
{
	progress(done, in->size);
	if (!in->mapped || done < in->dropped + 2 * DROP)
		return;
	done = done / DROP * DROP;
	/* memory does not grow with the trace; that it can't be had back is no harm */
	madvise(in->trace + in->dropped, done - in->dropped, MADV_DONTNEED);
	in->dropped = done;
}

/* ------------------------------------------------------------ settling --- */

static void settle_isa(struct input *in)
{
	const char *isa = in->isa ? in->isa : nt_image_isa(in->image);
	uint8_t xlen = in->params.xlen;

	if (nt_image_xlen(in->image) && !in->xlen_given)
		xlen = nt_image_xlen(in->image);
	if (isa && nt_isa_parse(isa, &in->params))
		die("`%s' is not an ISA string", isa);
	if (!in->isa || in->xlen_given)
		in->params.xlen = xlen;
}

void input_open(struct input *in)
{
	int ret;

	settle_isa(in);
	if (in->params.xlen != 32 && in->params.xlen != 64)
		die("--xlen: %u is neither 32 nor 64", in->params.xlen);
	if (in->params.src >= 0 && in->params.src >> in->params.srcbits)
		die("--src: %d does not fit in --srcbits=%u", in->params.src, in->params.srcbits);
	ret = nt_params_check(&in->params);
	if (ret)
		die("%s", nt_strerror(ret));
	if (!in->no_trace)
		read_trace(in);
	watch_mapped(in);
}

/* A trace of several sources is several streams; one must be chosen. */
void input_check_sources(const struct input *in)
{
	int first = -1;
	size_t at = 0;

	if (!in->params.srcbits || in->params.src >= 0)
		return;
	while (at < in->size) {
		struct nt_msg msg;
		int ret = nt_msg_decode(&in->params, in->trace + at, in->size - at, &msg);

		if (!ret)
			break;
		at += ret > 0 ? (size_t)ret : msg.skip;
		if (ret < 0)
			continue;
		if (first < 0)
			first = msg.src;
		else if (first != msg.src)
			die("%s: has messages of several sources (%d, %u...): choose one with --src",
			    in->file, first, msg.src);
	}
}

struct nt_code *input_code(const struct input *in)
{
	struct nt_code *code = nt_code_new(&in->params, nt_image_read, in->image);

	if (!code)
		die("%s", nt_strerror(NT_ENOMEM));
	return code;
}

size_t input_find_sync(const struct input *in, size_t from, size_t *end)
{
	const struct nt_params *p = &in->params;
	struct nt_msg msg;
	int ret;

	for (*end = in->size; from < in->size; from++) {
		from = nt_msg_find_sync(p, in->trace, in->size, from);
		if (from >= in->size)
			break;
		ret = nt_msg_decode(p, in->trace + from, in->size - from, &msg);
		if (ret > 0 && (p->src < 0 || msg.src == p->src)) {
			*end = from + ret;
			return from;
		}
	}
	return in->size;
}

struct nt_flow *input_flow(const struct input *in, struct nt_code *code, size_t begin, size_t end)
{
	struct nt_flow *flow = nt_flow_new(&in->params);

	if (!flow)
		die("%s", nt_strerror(NT_ENOMEM));
	nt_flow_set_code(flow, code, code);
	nt_flow_window(flow, in->trace + begin, end - begin, begin);
	return flow;
}
