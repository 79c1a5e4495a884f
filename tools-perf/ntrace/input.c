// SPDX-License-Identifier: GPL-2.0-only
/*
 * Options that say what to decode and how, and access to the trace
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"

enum {
	OPT_XLEN = 0x100, OPT_ISA, OPT_JVT, OPT_SRCBITS, OPT_SRC, OPT_TIMESTAMPS, OPT_PROFILE,
	OPT_EXTADDR, OPT_ADDR_BITS, OPT_RETSTACK, OPT_SEQJUMP, OPT_ALLJUMPS, OPT_BTM, OPT_HTM,
	OPT_WRAPPED, OPT_ELF, OPT_RAW, OPT_THREADS, OPT_TSTAMP_BITS, OPT_BRANCH,
	OPT_WORK,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "The program that was traced (several of each):", 1 },
	{ "elf", OPT_ELF, "ELF[@BIAS]", 0, "loadable segments of an ELF file, moved by BIAS", 1 },
	{ "raw", OPT_RAW, "FILE@ADDR", 0, "a piece of memory", 1 },
	{ NULL, 0, NULL, 0, "How the trace was made:", 2 },
	{ "xlen", OPT_XLEN, "32|64", 0, "default: that of the ELF file, or 64", 2 },
	{ "isa", OPT_ISA, "STRING", 0,
	  "default: the ELF file's attributes; settles encodings that two extensions claim", 2 },
	{ "branch", OPT_BRANCH, "MASK/MATCH[:TYPE[:OFFSET]]", 0,
	  "instructions that are a branch or jump not known to ntrace (several)", 2 },
	{ "jvt", OPT_JVT, "ADDR", 0, "jump table of cm.jt and cm.jalt", 2 },
	{ "srcbits", OPT_SRCBITS, "N", 0, "width of the SRC field, 0 to 12", 2 },
	{ "src", OPT_SRC, "ID", 0, "source to decode", 2 },
	{ "timestamps", OPT_TIMESTAMPS, NULL, 0, "messages have timestamps", 2 },
	{ "tstamp-bits", OPT_TSTAMP_BITS, "N", 0,
	  "width of the trace clock, which wraps, 8 to 64 (default: 40 for p550 and sifive, else 64)",
	  2 },
	{ "profile", OPT_PROFILE, "1.0|p550|sifive|tt-dfd", 0, "which N-Trace it is", 2 },
	{ "extaddr", OPT_EXTADDR, NULL, 0,
	  "address fields leave out leading bits that are alike", 2 },
	{ "addr-bits", OPT_ADDR_BITS, "N", 0,
	  "address fields have N bits, the top one is the sign (default: 48 for p550 and sifive on "
	  "RV64, else all)", 2 },
	{ "retstack", OPT_RETSTACK, "0..3", 0, "implicit return mode", 2 },
	{ "seqjump", OPT_SEQJUMP, NULL, 0, "sequential jumps are not reported", 2 },
	{ "alljumps", OPT_ALLJUMPS, NULL, 0, "direct jumps are reported", 2 },
	{ "btm", OPT_BTM, NULL, 0, "a message for each taken branch", 2 },
	{ "htm", OPT_HTM, NULL, 0,
	  "branches as history bits; default: what the messages tell, encode: HTM", 2 },
	{ "wrapped", OPT_WRAPPED, NULL, 0,
	  "FILE is a circular buffer: its first bytes are the end of a message", 2 },
	{ NULL, 0, NULL, 0, "How to work:", 3 },
	{ "threads", OPT_THREADS, "N", 0,
	  "at most so many threads (decode, stat; of a perf.data: profile, stat; others take one)",
	  3 },
	{ "work-per-byte", OPT_WORK, "N|all", 0,
	  "events that a byte of trace may stand for, on average; more is a loss (default: 4096)",
	  3 },
	{ 0 }
};

uint64_t parse_number(const char *text, const char *what)
{
	unsigned long long v;
	char *end;

	/* strtoull() also accepts spaces and signs */
	errno = 0;
	v = strtoull(text, &end, 0);
	if (errno || *end || *text < '0' || *text > '9')
		die("%s: `%s' is not a number; expected decimal, 0x hexadecimal, or 0 octal, "
		    "at most 64 bits", what, text);
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
	unsigned int i;

	for (i = 0; nt_profile_name(i); i++)
		if (!strcmp(text, nt_profile_name(i)))
			return (enum nt_profile)i;
	die("--profile: `%s' is none of 1.0, p550, sifive, tt-dfd", text);
}

static uint64_t parse_work(const char *text)
{
	uint64_t n;

	if (!strcmp(text, "all"))
		return NT_WORK_UNLIMITED;
	n = parse_small(text, "--work-per-byte", NT_WORK_MAX);
	if (!n)
		die("--work-per-byte: 0 is too few; `all' follows everything that was counted");
	return n;
}

/* Split FILE@NUMBER. Returns false if there is no @ with a number after it. */
static bool split_at(char *arg, uint64_t *number)
{
	char *at = strrchr(arg, '@'), *end;

	if (!at || at[1] < '0' || at[1] > '9')
		return false;
	errno = 0;
	*number = strtoull(at + 1, &end, 0);
	if (errno || *end)
		return false;
	*at = '\0';
	return true;
}

static void add_file(struct elf **last, char *path, uint64_t bias)
{
	struct elf *elf = calloc(1, sizeof(*elf));

	if (!elf)
		die("%s", nt_strerror(NT_ENOMEM));
	elf->path = path;
	elf->bias = bias;
	while (*last)
		last = &(*last)->next;
	*last = elf;
}

/* All files must have the same XLEN. The library takes that of the first one. */
static void check_xlen(struct input *in, const char *path)
{
	struct nt_image *alone = nt_image_new();
	unsigned int xlen, first = nt_image_xlen(in->image);

	if (!alone || nt_image_add_elf(alone, path, 0))
		die("%s: %s", path, nt_strerror(NT_ENOMEM));
	xlen = nt_image_xlen(alone);
	nt_image_free(alone);
	if (xlen != first)
		die("%s: is a program of %u bits, and %s one of %u; give programs that one hart "
		    "can execute", path, xlen, in->elfs->path, first);
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
		die("--raw: `%s' is not FILE@ADDR, ADDR being where the memory was", arg);
	if (key == OPT_RAW)
		ret = nt_image_add_raw(in->image, path, addr);
	else
		ret = nt_image_add_elf(in->image, path, addr);
	if (ret == -NT_EFORMAT && key == OPT_ELF)
		die("%s: %s, or is cut, or has nothing that is loaded (as object files); expected "
		    "the program that ran", path, nt_strerror(ret));
	if (key == OPT_ELF && !ret)
		check_xlen(in, path);
	if (ret == -NT_EFILE)
		die("%s: %s", path, strerror(errno));
	if (ret)
		die("%s: %s", path, nt_strerror(ret));
	in->images++;
	add_file(key == OPT_ELF ? &in->elfs : &in->raws, path, addr);
}

void input_add_elf(struct input *in, const char *path)
{
	add_image(in, OPT_ELF, path);
}

static void add_branch(struct input *in, const char *text)
{
	struct nt_params *p = &in->params, alone;
	struct nt_branch branch;
	int ret = nt_branch_parse(text, &branch);

	if (ret == -NT_EINVAL)
		die("--branch: `%s' is not MASK/MATCH[:TYPE[:OFFSET]], as 0x707f/0x600b:cond:b",
		    text);
	if (ret)
		die("--branch: `%s': %s", text, nt_strerror(ret));
	if (p->nr_branches == NT_BRANCHES_MAX)
		die("--branch: more than %u", NT_BRANCHES_MAX);
	in->branches = realloc(in->branches, (p->nr_branches + 1) * sizeof(branch));
	if (!in->branches)
		die("%s", nt_strerror(NT_ENOMEM));
	in->branches[p->nr_branches++] = branch;
	p->branches = in->branches;
	nt_params_init(&alone);
	alone.branches = p->branches;
	alone.nr_branches = p->nr_branches;
	ret = nt_params_check(&alone);
	if (ret)
		die("--branch: `%s': %s", text, nt_strerror(ret));
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
	case OPT_BRANCH:
		add_branch(in, arg);
		break;
	case OPT_JVT:
		p->jvt = parse_number(arg, "--jvt");
		break;
	case OPT_SRCBITS:
		p->srcbits = parse_small(arg, "--srcbits", 12);
		in->srcbits_given = true;
		break;
	case OPT_SRC:
		p->src = parse_small(arg, "--src", 4095);
		break;
	case OPT_TIMESTAMPS:
		p->timestamps = true;
		break;
	case OPT_TSTAMP_BITS:
		p->tstamp_bits = parse_small(arg, "--tstamp-bits", 64);
		if (p->tstamp_bits < 8)
			die("--tstamp-bits: a trace clock has 8 bits at least, not %u",
			    p->tstamp_bits);
		break;
	case OPT_PROFILE:
		p->profile = parse_profile(arg);
		break;
	case OPT_EXTADDR:
		p->extaddr = true;
		break;
	case OPT_ADDR_BITS:
		p->addr_bits = parse_small(arg, "--addr-bits", 63);
		if (!p->addr_bits)
			die("--addr-bits: an address field has at least 1 bit, not 0");
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
	case OPT_BTM:
	case OPT_HTM:
		if (p->mode && (p->mode == NT_MODE_HTM) != (key == OPT_HTM))
			argp_error(state, "either --btm or --htm: trace has one mode");
		p->mode = key == OPT_HTM ? NT_MODE_HTM : NT_MODE_BTM;
		break;
	case OPT_WRAPPED:
		in->wrapped = true;
		break;
	case OPT_THREADS:
		in->threads = parse_small(arg, "--threads", 256);
		if (!in->threads)
			die("--threads: 0 is too few");
		break;
	case OPT_WORK:
		p->work_per_byte = parse_work(arg);
		break;
	case OPT_ELF:
	case OPT_RAW:
		add_image(in, key, arg);
		break;
	case ARGP_KEY_ARG:
		if (in->no_trace)
			argp_error(state, "`%s' is no option; files are given with one", arg);
		if (in->file && !in->several)
			argp_error(state, "more than one trace file: `%s' and `%s'", in->file, arg);
		if (in->file) {
			in->more = array_room(in->more, in->nr_more, sizeof(*in->more));
			in->more[in->nr_more++] = arg;
			break;
		}
		in->file = arg;
		break;
	case ARGP_KEY_END:
		if (!in->file && !in->no_trace)
			argp_error(state, "no trace file given (`-' is standard input)");
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

static void free_files(struct elf *elf)
{
	while (elf) {
		struct elf *next = elf->next;

		free(elf->path);
		free(elf);
		elf = next;
	}
}

void input_free(struct input *in)
{
	free_files(in->elfs);
	free_files(in->raws);
	nt_image_free(in->image);
	free(in->branches);
	free(in->more);
	if (in->mapped || in->reserved)
		munmap(in->trace, in->reserved ? in->reserved : in->size);
	else
		free(in->trace);
}

bool input_has_parameters(const struct input *in)
{
	const struct nt_params *p = &in->params;

	return in->xlen_given || in->srcbits_given || in->isa || in->wrapped || p->src >= 0 ||
	       p->timestamps || p->tstamp_bits || p->extaddr || p->addr_bits || p->seqjump ||
	       p->alljumps || p->retstack || p->profile != NT_PROFILE_1_0 || p->jvt ||
	       p->mode != NT_MODE_UNKNOWN || p->nr_branches || p->work_per_byte;
}

const char *input_pipe_hint(const struct input *in)
{
	return in->file && !strcmp(in->file, "-") ?
		       " (of a perf.data it is known, but only ntrace script reads one from a pipe)" : "";
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

/* Larger data should not be kept in memory, and devices have no end. */
#define READ_MAX	((size_t)1 << 30)

/* For pipes, and other files that cannot be mapped */
static void read_all(struct input *in, int fd)
{
	size_t room = 0, got;

	do {
		if (in->size >= READ_MAX)
			die("%s: more than %zu MiB, and no file that can be mapped; save it to a "
			    "file, or cut it into traces", in->file, READ_MAX >> 20);
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

/* ---- traces from pipes */

/*
 * Address space is reserved for the whole trace of a pipe, but only the part that is still needed
 * takes memory: see input_progress(). If the address space is limited, try less.
 */
#define RESERVED_MAX	((size_t)1 << (sizeof(size_t) > 4 ? 40 : 30))
#define RESERVED_MIN	((size_t)1 << 28)
#define READ_AT_ONCE	((size_t)64 << 10)

static bool reserve(struct input *in)
{
	size_t size;

	for (size = RESERVED_MAX; size >= RESERVED_MIN; size /= 4) {
		in->trace = mmap(NULL, size, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (in->trace != MAP_FAILED) {
			in->reserved = size;
			return true;
		}
	}
	in->trace = NULL;
	return false;
}

bool input_more(struct input *in)
{
	struct pollfd fd = { .fd = in->fd, .events = POLLIN };
	size_t room = in->reserved - in->size, got;

	if (in->ended)
		return false;
	if (!poll(&fd, 1, 0))
		out_flush();
	if (!room)
		die("%s: more than %zu MiB; cut it into traces", in->file, in->reserved >> 20);
	got = read_some(in->fd, in, room < READ_AT_ONCE ? room : READ_AT_ONCE);
	in->size += got;
	in->ended = !got;
	if (in->ended && in->fd != STDIN_FILENO)
		close(in->fd);
	return got;
}

/*
 * With srcbits, all of the trace is searched for sources before decoding begins, so it cannot be
 * decoded as it arrives.
 */
static bool comes(struct input *in, const struct stat *st)
{
	return in->live && (S_ISFIFO(st->st_mode) || S_ISSOCK(st->st_mode)) &&
	       !in->params.srcbits && reserve(in);
}

/*
 * If a mapped file is truncated, reading the missing pages causes SIGBUS. Nothing can be decoded
 * then. Report it, using only functions that are safe in a signal handler.
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
	/* there is no way to report that this failed */
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
	in->ended = !comes(in, &st);
	in->fd = fd;
	if (!in->ended)
		return;
	/* part of standard input may have been read already */
	if (std || !map_trace(in, fd, &st))
		read_all(in, fd);
	if (!std)
		close(fd);
}

#define DROP	((size_t)1 << 20)	/* bytes to drop at once; a multiple of any page size */

void input_progress(struct input *in, size_t done)
{
	if (!in->reserved)
		progress(done, in->size);
	/* keep the beginning for diagnose() */
	if (in->reserved && in->dropped < DROP)
		in->dropped = DROP;
	if ((!in->mapped && !in->reserved) || done < in->dropped + 2 * DROP)
		return;
	done = done / DROP * DROP;
	/* keep memory constant for long traces; failure to free it is harmless */
	madvise(in->trace + in->dropped, done - in->dropped, MADV_DONTNEED);
	in->dropped = done;
}

void input_forget(const struct input *in, size_t from, size_t to)
{
	from = from / DROP * DROP;
	if (in->mapped && from < to)
		madvise(in->trace + from, to - from, MADV_DONTNEED);
}

/* ------------------------------------------------------------ settling --- */

static void settle_isa(struct input *in)
{
	const char *isa = in->isa ? in->isa : nt_image_isa(in->image);
	uint8_t xlen = in->params.xlen;

	unsigned int elf = nt_image_xlen(in->image);

	if (elf && in->xlen_given && xlen != elf)
		die("--xlen=%u: %s is a program of %u bits", xlen, in->elfs->path, elf);
	if (elf)
		xlen = elf;
	if (isa && nt_isa_parse(isa, &in->params))
		die("--isa: `%s' is not an ISA string; expected one such as rv64imac_zcmp", isa);
	if (in->isa && (elf || in->xlen_given) && in->params.xlen != xlen)
		die("--isa=%s: %s %u bits", in->isa, elf ? "the program has" : "--xlen tells",
		    xlen);
	if (!in->isa || in->xlen_given)
		in->params.xlen = xlen;
}

/* Are there only complete messages from `at` to the sync message? */
static bool whole_messages(const struct input *in, size_t at, size_t sync)
{
	while (at < sync) {
		struct nt_msg msg;
		int ret = nt_msg_decode(&in->params, in->trace + at, in->size - at, &msg);

		if (ret <= 0)
			return false;
		at += ret;
	}
	return true;
}

/* Bytes of a pipe to wait for, in order to find where the trace begins */
#define BEGIN_MAX	((size_t)1 << 20)

/*
 * A circular buffer that has wrapped begins with the end of a message. Messages before the first
 * sync message are useless without those before them, so skipping them is not a loss. But other
 * bytes that are not a message are one.
 */
static void find_begin(struct input *in)
{
	size_t first = 0, sync, end;
	struct nt_msg msg;
	int ret;

	do
		ret = nt_msg_decode(&in->params, in->trace, in->size, &msg);
	while (!ret && input_more(in));
	if (!in->wrapped && ret >= 0)
		return;
	while (input_find_sync(in, 0, &end) >= in->size && in->size < BEGIN_MAX && input_more(in))
		;
	while (first < in->size && first < NT_MSG_MAX && (in->trace[first] & 3) != 3)
		first++;
	sync = input_find_sync(in, 0, &end);
	if (sync < in->size && (in->wrapped || whole_messages(in, first + 1, sync)))
		in->begin = sync;
}

void input_say_begin(const struct input *in)
{
	if (in->begin)
		printf("# note at 0x0: begins inside a message, the first sync message is at 0x%zx\n",
		       in->begin);
}

/* Refuse files of other tools, and empty ones. */
static void check_trace(struct input *in)
{
	static const struct {
		const char *magic, *what;
	} others[] = {
		{ "\177ELF", "an ELF file, not a trace; programs are given as --elf=FILE" },
		{ "PERFILE2", "a perf.data, not a raw trace; ntrace script reads it from a pipe, "
			      "all commands from a file" },
		{ "2ELIFREP", "a perf.data of a big-endian machine, which is not read" },
		{ "\050\265\057\375", "compressed; decompress it first, as with zstd -dc" },
		{ "\037\213", "compressed; decompress it first, as with gzip -dc" },
	};
	size_t i, n;

	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		n = strlen(others[i].magic);
		while (in->size < n && !memcmp(in->trace, others[i].magic, in->size) &&
		       input_more(in))
			;
		if (in->size >= n && !memcmp(in->trace, others[i].magic, n))
			die("%s: is %s", in->file, others[i].what);
	}
	for (i = 0; (i < in->size || input_more(in)) && in->trace[i] == 0xff; i++)
		;
	if (i == in->size)
		die("%s: is empty%s; expected N-Trace messages, as a sink took them", in->file,
		    i ? " (idle bytes only)" : "");
}

/* Set parameters that the profile dictates. */
static void settle_profile(struct input *in)
{
	struct nt_params *p = &in->params;

	if (p->profile != NT_PROFILE_TT_DFD)
		return;
	if (in->srcbits_given && p->srcbits != 4)
		die("--srcbits: SRC has 4 bits with --profile=tt-dfd, not %u", p->srcbits);
	p->srcbits = 4;
	if (p->mode == NT_MODE_BTM)
		die("--btm: with --profile=tt-dfd there is only HTM");
	p->mode = NT_MODE_HTM;
}

void input_open(struct input *in)
{
	int ret;

	settle_isa(in);
	if (in->params.xlen != 32 && in->params.xlen != 64)
		die("--xlen: %u is neither 32 nor 64", in->params.xlen);
	settle_profile(in);
	if (in->params.src >= 0 && in->params.src >> in->params.srcbits)
		die("--src: %d does not fit in --srcbits=%u", in->params.src, in->params.srcbits);
	if (in->params.addr_bits >= in->params.xlen)
		die("--addr-bits: %u is more than %u, the address bits above bit 0 with XLEN %u",
		    in->params.addr_bits, in->params.xlen - 1, in->params.xlen);
	ret = nt_params_check(&in->params);
	if (ret)
		die("%s", nt_strerror(ret));
	if (!in->no_trace) {
		read_trace(in);
		check_trace(in);
	}
	watch_mapped(in);
	if (in->size)
		find_begin(in);
}

#define SOURCES		8	/* to be listed */

/* Check that the chosen source exists. */
static void check_source(const struct input *in)
{
	char text[SOURCES * 6] = "";
	unsigned int seen[SOURCES], n = 0, i;
	size_t at = in->begin, len = 0;

	while (at < in->size) {
		struct nt_msg msg;
		int ret = nt_msg_decode(&in->params, in->trace + at, in->size - at, &msg);

		if (!ret)
			break;
		at += ret > 0 ? (size_t)ret : msg.skip;
		if (ret < 0)
			continue;
		if (msg.src == in->params.src)
			return;
		for (i = 0; i < n && seen[i] != msg.src; i++)
			;
		if (i < n || n == SOURCES)
			continue;
		seen[n++] = msg.src;
		len += snprintf(text + len, sizeof(text) - len, " %u", msg.src);
	}
	if (!n)
		return;
	diagnose(in);
	die("%s: has no message of source %d, but of:%s%s", in->file, in->params.src, text,
	    n == SOURCES ? "..." : "");
}

/* If a trace has several sources, these are separate streams, and one must be chosen. */
void input_check_sources(struct input *in)
{
	int first = -1;
	size_t at = 0;

	in->source = in->params.src > 0 ? in->params.src : 0;
	if (in->params.srcbits && in->params.src >= 0)
		check_source(in);
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
			first = in->source = msg.src;
		else if (first != msg.src) {
			diagnose(in);
			die("%s: has messages of several sources (%d, %u...): choose one with --src",
			    in->file, first, msg.src);
		}
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

/* Does the time of a message depend on all messages before it? */
bool input_clock_wraps(const struct input *in)
{
	const struct nt_params *p = &in->params;

	return p->timestamps && (p->tstamp_bits ? p->tstamp_bits < 64 :
				 p->profile == NT_PROFILE_P550 || p->profile == NT_PROFILE_SIFIVE);
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

/* Is the file in the folder, or in one of its subfolders? */
static bool is_inside(const char *file, const char *folder)
{
	char *f = realpath(file, NULL), *d = realpath(folder, NULL);
	size_t len = d ? strlen(d) : 0;
	bool inside = f && d && !strncmp(f, d, len) && f[len] == '/';

	free(f);
	free(d);
	return inside;
}

void input_refuse(const char *output, const char *path, const char *what)
{
	struct stat to, from;

	if (!output || !path || stat(output, &to) || !S_ISREG(to.st_mode) || stat(path, &from))
		return;
	if (to.st_dev == from.st_dev && to.st_ino == from.st_ino)
		die("%s: is the %s itself; give another file to write to", output, what);
	if (S_ISDIR(from.st_mode) && is_inside(output, path))
		die("%s: is a part of the %s itself; give another file to write to", output, what);
}

void input_refuse_output(const struct input *in, const char *output)
{
	const struct elf *elf;
	size_t i;

	input_refuse(output, in->file, "trace");
	for (i = 0; i < in->nr_more; i++)
		input_refuse(output, in->more[i], "trace");
	for (elf = in->elfs; elf; elf = elf->next)
		input_refuse(output, elf->path, "program");
}
