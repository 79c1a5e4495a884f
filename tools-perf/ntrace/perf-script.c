// SPDX-License-Identifier: GPL-2.0-only
/*
 * What `perf script` prints of a trace: perf knows what was mapped where and when,
 * whose the trace is and what its times are, and nobody else needs to.
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

/* With --kcore perf.data is a folder, and `data' in it what else would be the file. */
static FILE *open_data(const char *file)
{
	char *inside = NULL;
	struct stat st;
	FILE *f;

	if (!strcmp(file, "-"))
		return NULL;
	if (stat(file, &st))
		die("%s: %s", file, strerror(errno));
	/* what is read of a pipe would be missing afterwards */
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
 * The shell takes `perf' apart, which may have arguments; `tail' are perf's own, of "$0" on
 * the file and what else is in args.
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

/* What it prints, and its number in *child. What `quiet' says on stderr is not worth a word. */
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
	/* if perf fails at this, it says why at what is asked of it next */
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
	/* perf may fill up those that are short */
	return !a[strspn(a, "0")] && !b[strspn(b, "0")];
}

void perf_build_ids_free(struct perf_build_ids *ids)
{
	while (ids->n)
		free(ids->list[--ids->n].path);
	free(ids->list);
}

/* ------------------------------------------------------------- parsing -- */

/* The word that p is at, cut off; p goes behind it and the spaces. */
static char *word(char **p)
{
	char *start = *p, *end = start + strcspn(start, " \t");

	*p = end + strspn(end, " \t");
	*end = '\0';
	return start;
}

/* "SECONDS.FRACTION", as many digits as there are */
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

/* "ADDRESS SYMBOL" or "ADDRESS (DSO+0xOFFSET)", whichever was asked for; "([DSO])" is no file */
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

/* The words before the first address; others (jcc, jmp, tr) tell nothing more. */
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
	/* Where trace ends no trap is seen, only what would make one. */
	return flags & PERF_END ? flags & ~PERF_TRAP : flags;
}

/* The name may have spaces, and is filled up in front to 16 characters. */
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
	/* a symbol may have an arrow in it, but no address behind that */
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
	/* a branch is cut apart by parsing, and so comes last */
	if (parse_error(s->line, ev) || parse_branch(s->line, ev))
		return true;
	die("%s: line %" PRIu64 " is not what perf script prints of a branch: %.60s", s->file, s->nr,
	    s->line);
}
