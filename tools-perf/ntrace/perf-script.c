// SPDX-License-Identifier: GPL-2.0-only
/*
 * The output of `perf script' for a trace. perf knows the mappings, tasks and times, so they need
 * not be known here.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd.h"
#include "nt-perfdata.h"
#include "perf-script.h"

enum { OPT_PERF = 0x300, OPT_TEXT };

static const struct argp_option options[] = {
	{ "perf", OPT_PERF, "COMMAND", 0, "what decodes FILE if that is a perf.data", 0 },
	{ "perf-script", OPT_TEXT, NULL, 0, "FILE is what perf script printed, see ntrace(1)", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct perf_choice *choice = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		*choice = (struct perf_choice){ .perf = NULL };
		break;
	case OPT_PERF:
		choice->perf = arg;
		break;
	case OPT_TEXT:
		choice->text = true;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

const struct argp perf_argp = { .options = options, .parser = parse };

/* With --kcore, perf.data is a folder with the file `data'. */
static FILE *open_data(const char *file)
{
	char *inside = NULL;
	struct stat st;
	FILE *f;

	if (!strcmp(file, "-"))
		return NULL;
	if (stat(file, &st))
		die("%s: %s", file, strerror(errno));
	/* do not read from a pipe: the bytes would be missing later */
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return NULL;
	if (S_ISDIR(st.st_mode) && asprintf(&inside, "%s/data", file) < 0)
		die("%s", nt_strerror(NT_ENOMEM));
	f = fopen(inside ? inside : file, "re");
	if (!f && !inside)
		die("%s: %s", file, strerror(errno));
	free(inside);
	return f;
}

bool perf_is_data(const char *file)
{
	FILE *f = open_data(file);
	char magic[8] = "";
	bool is;

	if (!f)
		return false;
	is = fread(magic, sizeof(magic), 1, f) == 1 && nt_perfdata_is(magic, sizeof(magic));
	fclose(f);
	return is;
}

/* ------------------------------------------------------------- process -- */

/*
 * The shell splits `perf', which may have arguments. `tail' contains perf's own arguments, which
 * refer to the file as "$0", and to args.
 */
static void become_perf(const char *perf, const char *tail, const char *const args[3])
{
	char *script = malloc(strlen(perf) + sizeof("exec ") + strlen(tail));

	if (!script)
		_exit(127);
	strcpy(script, "exec ");
	strcat(script, perf);
	strcat(script, tail);
	execl("/bin/sh", "sh", "-c", script, args[0], args[1], args[2], (char *)NULL);
	_exit(127);
}

/* Returns perf's output, and its process ID in *child. quiet: ignore its error messages. */
static FILE *start_perf(const char *perf, const char *tail, const char *const args[3], bool quiet,
			pid_t *child)
{
	FILE *in;
	int fd[2];

	fflush(stdout);
	if (pipe(fd))
		die("cannot run perf: %s", strerror(errno));
	*child = fork();
	if (*child < 0)
		die("cannot run perf: %s", strerror(errno));
	if (!*child) {
		dup2(fd[1], STDOUT_FILENO);
		close(fd[0]);
		close(fd[1]);
		if (quiet && !freopen("/dev/null", "w", stderr))
			_exit(127);
		become_perf(perf, tail, args);
	}
	close(fd[1]);
	in = fdopen(fd[0], "r");
	if (!in)
		die("%s", nt_strerror(NT_ENOMEM));
	return in;
}

void perf_script_open(struct perf_script *s, const char *perf, const char *file,
		      const char *itrace, const char *fields)
{
	memset(s, 0, sizeof(*s));
	s->file = file;
	if (perf)
		s->in = start_perf(perf, " script -i \"$0\" --itrace=\"$1\" -F \"$2\" --ns",
				   (const char *const[]){ file, itrace, fields }, false, &s->child);
	else
		s->in = strcmp(file, "-") ? fopen(file, "re") : stdin;
	if (!s->in)
		die("%s: %s", file, strerror(errno));
}

void perf_script_close(struct perf_script *s)
{
	int status = 0;

	if (ferror(s->in))
		die("%s: cannot read: %s", s->file, strerror(errno));
	fclose(s->in);
	free(s->line);
	if (!s->child)
		return;
	if (waitpid(s->child, &status, 0) < 0)
		die("cannot wait for perf: %s", strerror(errno));
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		die("cannot run perf; it has to be one that decodes ntrace (see --perf)");
	if (status)
		die("perf script failed with status %d", WIFEXITED(status) ? WEXITSTATUS(status) :
			128 + WTERMSIG(status));
}

/* ------------------------------------------------------------- machine -- */

unsigned int perf_data_xlen(const char *perf, const char *file)
{
	unsigned int xlen = 64;
	char *line = NULL;
	size_t room = 0;
	pid_t child;
	FILE *in;

	in = start_perf(perf, " script -i \"$0\" --header-only",
			(const char *const[]){ file, NULL, NULL }, true, &child);
	while (getline(&line, &room, in) > 0)
		if (!strcmp(line, "# arch : riscv32\n"))
			xlen = 32;
	fclose(in);
	free(line);
	waitpid(child, NULL, 0);
	return xlen;
}

/* ----------------------------------------------------------- build-ids -- */

void perf_build_ids_add(struct perf_build_ids *ids, const char *path, const char *hex)
{
	struct perf_build_id *id;

	ids->list = reallocarray(ids->list, ids->n + 1, sizeof(*ids->list));
	if (!ids->list)
		die("%s", nt_strerror(NT_ENOMEM));
	id = &ids->list[ids->n++];
	snprintf(id->hex, sizeof(id->hex), "%s", hex);
	id->path = strdup(path);
	if (!id->path)
		die("%s", nt_strerror(NT_ENOMEM));
}

static void add_build_id(struct perf_build_ids *ids, const char *line)
{
	char hex[PERF_BUILD_ID + 1], *path;

	if (sscanf(line, "%" PERF_STR(PERF_BUILD_ID) "[0-9a-f] %m[^\n]", hex, &path) != 2)
		return;
	perf_build_ids_add(ids, path, hex);
	free(path);
}

void perf_build_ids_read(struct perf_build_ids *ids, const char *perf, const char *file)
{
	char *line = NULL;
	size_t room = 0;
	pid_t child;
	FILE *in;

	*ids = (struct perf_build_ids){ .n = 0 };
	in = start_perf(perf, " buildid-list -i \"$0\"", (const char *const[]){ file, NULL, NULL },
			true, &child);
	while (getline(&line, &room, in) > 0)
		add_build_id(ids, line);
	fclose(in);
	free(line);
	/* if perf fails here, its next call reports why */
	waitpid(child, NULL, 0);
}

const char *perf_build_id(const struct perf_build_ids *ids, const char *path)
{
	size_t i;

	for (i = 0; i < ids->n; i++)
		if (!strcmp(ids->list[i].path, path))
			return ids->list[i].hex;
	return NULL;
}

bool perf_same_build_id(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	/* perf may pad short build-ids with zeros */
	return !a[strspn(a, "0")] && !b[strspn(b, "0")];
}

void perf_build_ids_free(struct perf_build_ids *ids)
{
	while (ids->n)
		free(ids->list[--ids->n].path);
	free(ids->list);
}

/* ------------------------------------------------------------- parsing -- */

/* Cut off the word at p, and move p past it and the following spaces. */
static char *word(char **p)
{
	char *start = *p, *end = start + strcspn(start, " \t");

	*p = end + strspn(end, " \t");
	*end = '\0';
	return start;
}

/* Parse "SECONDS.FRACTION", with any number of digits. */
static bool parse_time(const char *text, uint64_t *ns)
{
	uint64_t unit = 1000000000;
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	*ns = strtoull(text, &end, 10) * unit;
	if (*end != '.')
		return false;
	for (end++; isdigit((unsigned char)*end); end++) {
		unit /= 10;
		*ns += unit * (*end - '0');
	}
	return true;
}

static bool is_address(const char *p)
{
	size_t n = strspn(p, "0123456789abcdef");

	return n && (!p[n] || p[n] == ' ' || p[n] == '\n');
}

static char *behind(char *arrow)
{
	return arrow + 4 + strspn(arrow + 4, " ");
}

/*
 * Parse "ADDRESS SYMBOL" or "ADDRESS (DSO+0xOFFSET)", depending on the requested fields. "([DSO])"
 * is not a file.
 */
static void parse_place(char *p, struct perf_place *place)
{
	char *end, *plus;

	memset(place, 0, sizeof(*place));
	place->addr = strtoull(p, &p, 16);
	p += strspn(p, " \t");
	end = p + strlen(p);
	while (end > p && isspace((unsigned char)end[-1]))
		*--end = '\0';
	if (!*p || !strcmp(p, "[unknown]") || !strcmp(p, "([unknown])"))
		return;
	plus = strrchr(p, '+');
	if (!plus && !strncmp(p, "([", 2) && !strcmp(end - 2, "])")) {
		place->dso = p + 1;
		end[-1] = '\0';
		return;
	}
	if (*p != '(' || end[-1] != ')' || !plus || strncmp(plus, "+0x", 3)) {
		place->sym = p;
		return;
	}
	place->dso = p + 1;
	place->offset = strtoull(plus + 1, NULL, 16);
	*plus = '\0';
}

static const struct {
	const char *word;
	unsigned int flags;
} flag_words[] = {
	{ "call", PERF_CALL },
	{ "return", PERF_RETURN },
	{ "int", PERF_TRAP },
	{ "syscall", PERF_TRAP | PERF_SYSCALL },
	{ "iret", PERF_ERET },
	{ "sysret", PERF_ERET },
	{ "hw", PERF_INTERRUPT },
	{ "strt", PERF_BEGIN },
	{ "end", PERF_END },
};

/* Parse the words before the first address. Others (jcc, jmp, tr) have no flag. */
static unsigned int parse_flags(char **p)
{
	unsigned int flags = 0;
	size_t i;

	while (**p && !is_address(*p)) {
		const char *w = word(p);

		for (i = 0; i < sizeof(flag_words) / sizeof(flag_words[0]); i++)
			if (!strcmp(w, flag_words[i].word))
				flags |= flag_words[i].flags;
	}
	/* At the end of trace no trap is visible, only the instruction that would cause it. */
	return flags & PERF_END ? flags & ~PERF_TRAP : flags;
}

/* The name may contain spaces. It is padded on the left to 16 characters. */
static void parse_comm(char *line, char comm[17])
{
	size_t skip = strspn(line, " ");

	snprintf(comm, 17, "%.*s", (int)(16 - (skip < 16 ? skip : 16)), line + skip);
}

/* COMM PID/TID [CPU] TIME: FLAGS FROM => TO */
static bool parse_branch(char *line, struct perf_event_line *ev)
{
	char *p = line, *arrow;
	int len = 0;

	if (strlen(line) < 17)
		return false;
	parse_comm(line, ev->comm);
	p += 16;
	if (sscanf(p, " %d/%d [%d] %n", &ev->pid, &ev->tid, &ev->cpu, &len) != 3 || !len)
		return false;
	p += len;
	if (!parse_time(word(&p), &ev->time))
		return false;
	ev->flags = parse_flags(&p);
	if (!is_address(p))
		return false;
	/* a symbol may contain an arrow, but no address follows that */
	for (arrow = strstr(p, " => "); arrow; arrow = strstr(arrow + 1, " => "))
		if (is_address(behind(arrow)))
			break;
	if (!arrow)
		return false;
	parse_place(behind(arrow), &ev->to);
	*arrow = '\0';
	parse_place(p, &ev->from);
	return true;
}

/* " instruction trace error type 1 time T cpu C pid P tid T ip 0xIP code N: REASON" */
static bool parse_error(char *line, struct perf_event_line *ev)
{
	char time[64];
	int len = 0;

	if (sscanf(line, " instruction trace error type %*d time %63s cpu %d pid %d tid %d ip %"
		   SCNx64 " code %*d: %n", time, &ev->cpu, &ev->pid, &ev->tid, &ev->from.addr,
		   &len) != 5 || !len || !parse_time(time, &ev->time))
		return false;
	ev->error = line + len;
	line[strcspn(line, "\n")] = '\0';
	return true;
}

bool perf_script_next(struct perf_script *s, struct perf_event_line *ev)
{
	ssize_t n;

	do {
		n = getline(&s->line, &s->room, s->in);
		s->nr++;
	} while (n == 1);
	if (n < 0)
		return false;
	memset(ev, 0, sizeof(*ev));
	/* parse_branch() modifies the line, so it comes last */
	if (parse_error(s->line, ev) || parse_branch(s->line, ev))
		return true;
	die("%s: line %" PRIu64 " is not what perf script prints of a branch: %.60s", s->file,
	    s->nr, s->line);
}
