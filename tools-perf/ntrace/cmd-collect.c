// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace collect: a host records for a while, counts edges, and sends the counts, within a budget
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect.h"
#include "perf-script.h"

enum { OPT_DURATION = 0xd00, OPT_DAY, OPT_ROOM, OPT_LARGEST, OPT_CPU, OPT_STATE, OPT_HOST, OPT_SEND,
       OPT_KERNEL, OPT_OTHERS, OPT_FROM };

static const struct argp_option options[] = {
	{ "duration", OPT_DURATION, "SECONDS", 0, "record so long (default 10)", 0 },
	{ "event", 'e', "ntrace/TERMS/MODIFIERS", 0, "what is traced, as of ntrace record", 0 },
	{ "day", OPT_DAY, "BYTES", 0, "send so many in a day (with K, M or G; default 64M)", 0 },
	{ "room", OPT_ROOM, "BYTES", 0, "leave so many free on the disk (default 1G)", 0 },
	{ "largest", OPT_LARGEST, "BYTES", 0, "end a recording that has so many (default 256M)",
	  0 },
	{ "cpu", OPT_CPU, "SECONDS", 0, "processor time to count a recording (default 60)", 0 },
	{ "send", OPT_SEND, "edges|recording", 0,
	  "what leaves the host: counts (default), or what was "
	  "recorded, which SPOOL/symfs/HOST has to have the programs for", 0 },
	{ "kernel", OPT_KERNEL, NULL, 0, "record and count the kernel, too", 0 },
	{ "others", OPT_OTHERS, NULL, 0,
	  "count programs, too, that are neither root's nor yours", 0 },
	{ "host", OPT_HOST, "NAME", 0, "this host's name (default: as the system says)", 0 },
	{ "state", OPT_STATE, "DIR", 0, "where recordings are made and wait (default "
	  "/var/lib/ntrace-collect)", 0 },
	{ "from", OPT_FROM, "FILE", 0,
	  "take this recording, which goes when it is counted, and record nothing", 0 },
	{ 0 }
};

static uint64_t parse_bytes(const char *arg, const char *option)
{
	const char *p = arg;
	uint64_t size = arguments_size(&p, 1);

	if (p == arg || *p)
		die("%s: `%s' is no number of bytes such as 64M", option, arg);
	return size;
}

static void parse_send(struct collect *c, const char *arg)
{
	c->whole = !strcmp(arg, "recording");
	if (!c->whole && strcmp(arg, "edges"))
		die("--send: `%s' is none of edges, recording", arg);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct collect *c = state->input;

	switch (key) {
	case OPT_DURATION:
		c->duration = arg;
		break;
	case 'e':
		c->event = arg;
		break;
	case OPT_DAY:
		c->day = parse_bytes(arg, "--day");
		break;
	case OPT_ROOM:
		c->room = parse_bytes(arg, "--room");
		break;
	case OPT_LARGEST:
		c->largest = parse_bytes(arg, "--largest");
		break;
	case OPT_CPU:
		c->cpu = parse_small(arg, "--cpu", 86400);
		if (!c->cpu)
			die("--cpu: 0 seconds are too few");
		break;
	case OPT_SEND:
		parse_send(c, arg);
		break;
	case OPT_KERNEL:
		c->kernel = true;
		break;
	case OPT_OTHERS:
		c->others = true;
		break;
	case OPT_HOST:
		c->host = arg;
		break;
	case OPT_STATE:
		c->state = arg;
		break;
	case OPT_FROM:
		c->from = arg;
		break;
	case ARGP_KEY_ARG:
		if (c->spool)
			argp_error(state, "one spool at a time: %s is a second one", arg);
		c->spool = arg;
		break;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no spool given: the folder to send to");
		break;
	case ARGP_KEY_END:
		if (c->whole && c->kernel)
			argp_error(state, "--kernel: the kernel's trace is a folder, which is not sent; --send=edges counts it here");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

char *collect_path(const struct collect *c, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s", c->state, name) < 0)
		die("%s", nt_strerror(NT_ENOMEM));
	return path;
}

/* Make the folders private: recordings contain other people's data. */
static void make_state(const struct collect *c)
{
	char *path = collect_path(c, "outbox");
	int fd;

	if ((mkdir(c->state, 0700) && errno != EEXIST) || (mkdir(path, 0700) && errno != EEXIST))
		die("%s: cannot make the folder: %s", c->state, strerror(errno));
	free(path);
	path = collect_path(c, "lock");
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	/* stays open, and locked, until the command and its child processes end */
	if (flock(fd, LOCK_EX | LOCK_NB))
		die("%s: another ntrace collect works there", c->state);
	free(path);
}

static const char *name_host(void)
{
	static char name[256];

	if (gethostname(name, sizeof(name) - 1))
		die("the host's name cannot be told: %s: give --host=NAME", strerror(errno));
	return name;
}

static void check_host(const struct collect *c)
{
	if (!*c->host || *c->host == '.' || strchr(c->host, '/') || strlen(c->host) > 180 ||
	    !strcmp(c->host, "-"))
		die("--host: `%s' is no name of a folder", c->host);
}

/* ------------------------------------------------------------------- rounds --- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

/* With --kernel, a recording is a folder. */
static void remove_recording(const char *path)
{
	if (nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS) && errno != ENOENT)
		die("%s: cannot be removed: %s", path, strerror(errno));
}

/*
 * The file of --from belongs to the user, so it must not be removed if it cannot be counted or
 * sent.
 */
static void check_from(const struct collect *c)
{
	struct stat st;

	if (!perf_is_data(c->from))
		die("--from: %s is no recording: it has to be a perf.data, as ntrace record or perf record writes it",
		    c->from);
	if (c->whole && !stat(c->from, &st) && S_ISDIR(st.st_mode))
		die("--from: %s is a folder, which is not sent; --send=edges counts it here",
		    c->from);
}

/*
 * Turn a recording into what is to be sent. *waits: something waits to be sent. Returns an exit
 * status.
 */
static int prepare(struct collect *c, const char *recording, bool *waits)
{
	char *edges = collect_path(c, "edges");
	int status = EXIT_WHOLE;

	if (c->whole) {
		*waits = collect_send_add(c, recording, "data");
	} else {
		status = collect_run_count(c, recording, edges);
		*waits = status < EXIT_UNUSABLE && collect_send_add(c, edges, "edges");
		remove_recording(edges);
	}
	free(edges);
	return *waits || status ? status : EXIT_LOSSES;
}

/* Remove the file of --from once its content waits to be sent. */
static int take(struct collect *c, const char *recording)
{
	bool waits;
	int status = prepare(c, recording, &waits);

	if (waits && c->from)
		remove_recording(recording);
	else if (c->from)
		warn("%s: nothing of it is sent: it stays where it is", recording);
	else if (!waits)
		warn("nothing of the recording is sent: it is dropped");
	return status;
}

/* Make and count a recording. First remove what a killed command may have left. */
static int record(struct collect *c)
{
	char *recording = collect_path(c, "recording"), *old = collect_path(c, "recording.old");
	const char *refused = collect_budget_refuses(c);
	int status = EXIT_WHOLE, counted;

	remove_recording(recording);
	remove_recording(old);
	if (refused) {
		warn("nothing recorded: %s", refused);
	} else if (c->from) {
		status = take(c, c->from);
	} else {
		status = collect_run_record(c, recording);
		counted = status < EXIT_UNUSABLE ? take(c, recording) : status;
		status = counted > status ? counted : status;
		remove_recording(recording);
	}
	free(recording);
	free(old);
	return status;
}

int cmd_collect(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "SPOOL",
		.doc = "Record all CPUs for a while, count what was executed when nobody else wants the "
		       "processor, and put the counts into SPOOL/incoming/HOST/, from where ntrace fleet "
		       "takes them. What cannot be sent now is sent the next time.",
	};
	struct collect c = {
		.state = "/var/lib/ntrace-collect", .duration = "10", .day = 64 << 20,
		.room = 1 << 30, .largest = 256 << 20, .cpu = 60,
	};
	bool dropped;
	int status;

	parse_arguments(&argp, argc, argv, &c);
	if (!c.host)
		c.host = name_host();
	check_host(&c);
	if (c.from)
		check_from(&c);
	make_state(&c);
	collect_budget_read(&c);
	dropped = collect_send_drop(&c);
	status = record(&c);
	if ((!collect_send_all(&c) || dropped) && status < EXIT_LOSSES)
		status = EXIT_LOSSES;
	return status;
}
