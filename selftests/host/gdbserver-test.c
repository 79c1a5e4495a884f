// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace gdbserver: a client of its own gives random commands, and each ends where the list of the
 * instructions that retired says. Nothing of the decoder is in here. host/gdbserver.sh has it do so
 * with other recordings.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "cmocka-tap.h"
#include "random.h"

/* ---------------------------------------------------------------- client - */

static char out[PATH_MAX];	/* where the command and the samples are */

struct server {
	pid_t pid;
	FILE *to, *from;
	char reply[65536];	/* the last */
	char said[65536];	/* on GDB's terminal, before it */
};

static void serve(struct server *s, const char *const *arguments)
{
	char ntrace[PATH_MAX + 16];
	const char *argv[16] = { ntrace, "gdbserver", "-" };
	int to[2], from[2];

	snprintf(ntrace, sizeof(ntrace), "%s/ntrace", out);
	for (unsigned int i = 0; i < 12 && arguments[i]; i++)
		argv[3 + i] = arguments[i];
	assert_int_equal(pipe(to) | pipe(from), 0);
	s->pid = fork();
	assert_true(s->pid >= 0);
	if (!s->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(to[0], 0);
		dup2(from[1], 1);
		for (int fd = 3; fd < 64; fd++)
			close(fd);
		execv(ntrace, (char **)argv);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	s->to = fdopen(to[1], "w");
	s->from = fdopen(from[0], "r");
	assert_true(s->to && s->from);
}

static int end(struct server *s)
{
	int status;

	fclose(s->to);
	fclose(s->from);
	assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static unsigned int sum(const char *text)
{
	unsigned int n = 0;

	for (; *text; text++)
		n += (unsigned char)*text;
	return n & 255;
}

/* One packet; its checksum has to be right. */
static void take(struct server *s)
{
	char told[3] = "";
	size_t n = 0;
	int c;

	while ((c = getc(s->from)) == '+')
		;
	assert_int_equal(c, '$');
	while ((c = getc(s->from)) != '#') {
		assert_true(c != EOF && n + 1 < sizeof(s->reply));
		s->reply[n++] = (char)c;
	}
	s->reply[n] = '\0';
	told[0] = (char)getc(s->from);
	told[1] = (char)getc(s->from);
	assert_int_equal(strtoul(told, NULL, 16), sum(s->reply));
}

static void put_said(struct server *s)
{
	size_t n = strlen(s->said);
	unsigned int byte;

	for (const char *p = s->reply + 1; sscanf(p, "%2x", &byte) == 1 && n + 1 < sizeof(s->said);
	     p += 2)
		s->said[n++] = (char)byte;
	s->said[n] = '\0';
}

static const char *ask(struct server *s, const char *fmt, ...)
{
	char packet[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(packet, sizeof(packet), fmt, ap);
	va_end(ap);
	fprintf(s->to, "$%s#%02x", packet, sum(packet));
	fflush(s->to);
	*s->said = '\0';
	for (take(s); s->reply[0] == 'O' && strcmp(s->reply, "OK"); take(s))
		put_said(s);
	return s->reply;
}

static const char *monitor(struct server *s, const char *fmt, ...)
{
	char command[256], hex[512] = "";
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	for (size_t i = 0; command[i]; i++)
		sprintf(hex + 2 * i, "%02x", (unsigned char)command[i]);
	assert_string_equal(ask(s, "qRcmd,%s", hex), "OK");
	return s->said;
}

/* ----------------------------------------------------------------- truth - */

#define MARKS	64

struct truth {
	unsigned int xlen;
	uint64_t *pc;
	size_t nr;
	/* where trace is missing: in front of these instructions */
	size_t mark[MARKS];
	unsigned int nr_marks;
};

/* Addresses, and lines `# loss' */
static void read_truth(struct truth *t, FILE *f)
{
	size_t room = 0;
	char line[256];

	*t = (struct truth){ .xlen = 64 };
	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "# loss", 6) && t->nr_marks < MARKS &&
		    (!t->nr_marks || t->mark[t->nr_marks - 1] != t->nr))
			t->mark[t->nr_marks++] = t->nr;
		if (line[0] == '#')
			continue;
		if (t->nr == room) {
			room = room ? 2 * room : 1024;
			t->pc = realloc(t->pc, room * sizeof(*t->pc));
			assert_non_null(t->pc);
		}
		t->pc[t->nr++] = strtoull(line, NULL, 16);
	}
	assert_true(t->nr > 1000);
}

static void hex_pc(const struct truth *t, uint64_t pc, char *text)
{
	for (unsigned int i = 0; i < t->xlen / 8; i++)
		sprintf(text + 2 * i, "%02x", (unsigned int)(pc >> 8 * i & 255));
}

/* All that says where it is: the stop, the registers, and the number of the instruction */
static void check_at(struct server *s, const struct truth *t, size_t at, bool thoroughly)
{
	char want[40], all[2048];
	const char *pc;

	if (at < t->nr) {
		snprintf(want, sizeof(want), ";20:");
		hex_pc(t, t->pc[at], want + 4);
		if (!strstr(s->reply, want))
			fail_msg("expected %s of instruction %zu, got %s", want, at, s->reply);
	}
	if (!thoroughly)
		return;
	snprintf(all, sizeof(all), "%s", ask(s, "g"));
	assert_true(strlen(all) >= 33 * t->xlen / 4);
	pc = all + 32 * t->xlen / 4;
	if (at < t->nr)
		assert_memory_equal(pc, want + 4, t->xlen / 4);
	assert_int_equal(strspn(all, "0") >= t->xlen / 4, true);
	pc = strstr(monitor(s, "position"), "instruction ");
	assert_non_null(pc);
	if (strtoull(pc + 12, NULL, 10) != at)
		fail_msg("expected instruction %zu: %s", at, s->said);
}

static bool is_mark(const struct truth *t, size_t at)
{
	for (unsigned int i = 0; i < t->nr_marks; i++)
		if (t->mark[i] == at && at && at < t->nr)
			return true;
	return false;
}

/* -------------------------------------------------------------- commands - */

#define POINTS	40

struct client {
	struct server server;
	struct truth truth;
	size_t at, last;
	uint64_t point[POINTS];
	unsigned int nr_points;
};

static bool is_point(const struct client *c, size_t at)
{
	for (unsigned int i = 0; at < c->truth.nr && i < c->nr_points; i++)
		if (c->point[i] == c->truth.pc[at])
			return true;
	return false;
}

/* At the end, and trace is missing behind it */
static bool ends_lost(const struct client *c)
{
	const struct truth *t = &c->truth;

	return c->at == t->nr && t->nr_marks && t->mark[t->nr_marks - 1] == t->nr;
}

static void step(struct client *c, bool back)
{
	struct server *s = &c->server;
	const char *reply = ask(s, back ? "bs" : rnd(2) ? "s" : "vCont;s:1;c");
	bool limit = back ? !c->at : c->at == c->last;

	assert_int_equal(!!strstr(reply, back ? "replaylog:begin" : "replaylog:end"), limit);
	if (!limit)
		c->at += back ? -1 : 1;
	/* A loss is reported when a step passes it, in either direction. */
	assert_int_equal(!!strstr(s->said, "lost"), !limit && is_mark(&c->truth, c->at + back));
	check_at(s, &c->truth, c->at, !rnd(4));
}

static void run(struct client *c, bool back)
{
	const char *reply = ask(&c->server, back ? "bc" : rnd(2) ? "c" : "vCont;c");
	size_t limit = back ? 0 : c->last, at = c->at;
	bool hit = false, mark = false;

	while (at != limit && !hit && !mark) {
		at += back ? -1 : 1;
		hit = is_point(c, at);
		mark = is_mark(&c->truth, at);
	}
	c->at = at;
	assert_int_equal(!!strstr(reply, back ? "replaylog:begin" : "replaylog:end"),
			 !hit && !mark);
	assert_int_equal(!!strstr(c->server.said, "lost"), mark || (!back && ends_lost(c)));
	check_at(&c->server, &c->truth, c->at, !rnd(4));
}

/* As GDB does when a line is stepped over */
static void step_range(struct client *c)
{
	uint64_t start, end;
	size_t at = c->at;
	bool hit = false, mark = false;

	if (at >= c->truth.nr)
		return;
	start = c->truth.pc[at] - 2 * rnd(8);
	end = c->truth.pc[at] + 2 + 2 * rnd(40);
	ask(&c->server, "vCont;r%" PRIx64 ",%" PRIx64 ":1;c", start, end);
	while (at != c->last) {
		at++;
		hit = is_point(c, at);
		mark = is_mark(&c->truth, at);
		if (hit || mark || at == c->truth.nr || c->truth.pc[at] < start ||
		    c->truth.pc[at] >= end)
			break;
	}
	c->at = at;
	check_at(&c->server, &c->truth, c->at, !rnd(4));
}

static void go(struct client *c)
{
	c->at = rnd(c->last + 1);
	monitor(&c->server, "goto %zu", c->at);
	ask(&c->server, "?");
	check_at(&c->server, &c->truth, c->at, true);
}

static void change_points(struct client *c)
{
	unsigned int i = (unsigned int)rnd(POINTS);

	if (i < c->nr_points) {
		assert_string_equal(ask(&c->server, "z0,%" PRIx64 ",2", c->point[i]), "OK");
		c->point[i] = c->point[--c->nr_points];
		return;
	}
	if (c->nr_points == POINTS)
		return;
	/* anywhere but in the innermost loops, which all would stop in */
	c->point[c->nr_points] = c->truth.pc[rnd(c->truth.nr)] + (rnd(8) ? 0 : 2);
	for (i = 0; i < c->nr_points; i++)
		if (c->point[i] == c->point[c->nr_points])
			return;
	assert_string_equal(ask(&c->server, "Z0,%" PRIx64 ",2", c->point[c->nr_points++]), "OK");
}

static void drop_points(struct client *c)
{
	while (c->nr_points)
		assert_string_equal(ask(&c->server, "z0,%" PRIx64 ",2", c->point[--c->nr_points]),
				    "OK");
}

static void command(struct client *c)
{
	switch (rnd(16)) {
	case 0: case 1: case 2:
		step(c, false);
		break;
	case 3: case 4: case 5:
		step(c, true);
		break;
	case 6: case 7:
		run(c, false);
		break;
	case 8: case 9:
		run(c, true);
		break;
	case 10:
		go(c);
		break;
	case 11: case 12:
		step_range(c);
		break;
	case 13: case 14:
		change_points(c);
		break;
	default:
		if (!rnd(4))
			drop_points(c);
	}
}

/* ----------------------------------------------------------------- tests - */

static FILE *open_list(const char *fmt, ...)
{
	char text[2 * PATH_MAX];
	va_list ap;
	FILE *f;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	f = *text == '!' ? popen(text + 1, "r") : fopen(text, "r");
	assert_non_null(f);
	return f;
}

static void obey(struct client *c, const char *const *arguments, unsigned long commands)
{
	serve(&c->server, arguments);
	ask(&c->server, "qSupported:swbreak+;xmlRegisters=riscv");
	assert_non_null(strstr(c->server.reply, "ReverseStep+;ReverseContinue+"));
	c->at = c->nr_points = 0;
	c->last = c->truth.nr;
	ask(&c->server, "?");
	check_at(&c->server, &c->truth, 0, true);
	while (commands--)
		command(c);
	assert_string_equal(ask(&c->server, "D"), "OK");
	assert_int_equal(end(&c->server), 0);
	free(c->truth.pc);
}

static void random_commands(void **state)
{
	static const char *const programs[] = { "towers", "mix", "rv32" };
	char elf[PATH_MAX + 64], trace[PATH_MAX + 64], level[4] = "L0";

	(void)state;
	for (unsigned int i = 0; i < 15; i++) {
		const char *program = programs[i % 3];
		const char *arguments[] = { "--elf", elf, trace, i / 3 > 2 ? "--retstack=3" : NULL,
					    NULL };
		struct client c;
		FILE *f = open_list("%s/samples/%s/pc.txt", out, program);

		read_truth(&c.truth, f);
		fclose(f);
		c.truth.xlen = !strcmp(program, "rv32") ? 32 : 64;
		level[1] = (char)('0' + i / 3);
		snprintf(elf, sizeof(elf), "%s/samples/%s/%s.elf", out, program, program);
		snprintf(trace, sizeof(trace), "%s/samples/%s/%s.bin", out, program, level);
		obey(&c, arguments, rounds(700));
	}
}

/* ---- registers and memory */

#define STATES	200

/* Two digits a byte, the lowest first */
static uint64_t number(const char *hex, unsigned int bytes)
{
	uint64_t value = 0;
	unsigned int byte;

	for (unsigned int i = 0; i < bytes; i++) {
		assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
		value |= (uint64_t)byte << 8 * i;
	}
	return value;
}

/* A line of states.txt */
static void check_state(struct server *s, unsigned int xlen, const char *line)
{
	char all[2048];
	char *p;
	unsigned long at = strtoul(line, &p, 10);
	uint64_t addr, value;

	monitor(s, "goto %lu", at);
	snprintf(all, sizeof(all), "%s", ask(s, "g"));
	for (unsigned int i = 1; i < 32; i++) {
		const char *reg = all + i * xlen / 4;

		p += strspn(p, " ");
		if (*p == '-') {
			assert_int_equal(strspn(reg, "x") >= xlen / 4, true);
			p++;
			continue;
		}
		value = strtoull(p, &p, 16);
		if (strspn(reg, "x") || number(reg, xlen / 8) != value)
			fail_msg("instruction %lu, x%u: expected %" PRIx64 ", got %.16s", at, i,
				 value, reg);
	}
	/* with registers of floating point, and their three of control, which are not known */
	assert_int_equal(strlen(all), 33 * xlen / 4 + 32 * 16 + 3 * 8);
	if (sscanf(p, "%" SCNx64 " %" SCNx64, &addr, &value) == 2) {
		ask(s, "m%" PRIx64 ",%x", addr, xlen / 8);
		assert_int_equal(number(s->reply, xlen / 8), value);
	}
	assert_string_equal(ask(s, "m10,4"), "E01");
}

static void states(void **state)
{
	static const char *const programs[] = { "towers", "mix", "rv32" };
	char elf[PATH_MAX + 64], trace[PATH_MAX + 64], line[1024];

	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		const char *arguments[] = { "--tv", "--elf", elf, trace, NULL };
		unsigned int xlen = i == 2 ? 32 : 64, lines = 0, checked = 0;
		struct server s;
		FILE *f = open_list("%s/samples/%s/states.txt", out, programs[i]);

		snprintf(elf, sizeof(elf), "%s/samples/%s/%s.elf", out, programs[i], programs[i]);
		snprintf(trace, sizeof(trace), "%s/samples/%s/state.tv", out, programs[i]);
		serve(&s, arguments);
		while (fgets(line, sizeof(line), f))
			lines++;
		/* here and there: forwards and backwards */
		while (checked++ < STATES) {
			unsigned int n = (unsigned int)rnd(lines);

			rewind(f);
			do
				assert_non_null(fgets(line, sizeof(line), f));
			while (n--);
			check_state(&s, xlen, line);
		}
		fclose(f);
		assert_string_equal(ask(&s, "D"), "OK");
		assert_int_equal(end(&s), 0);
	}
}

/* ---- registers that follow from code and flow: none is wrong */

static unsigned long reads, known;

static void check_inferred(struct server *s, unsigned int xlen, const char *line)
{
	char all[2048];
	char *p;
	unsigned long at = strtoul(line, &p, 10);

	monitor(s, "goto %lu", at);
	snprintf(all, sizeof(all), "%s", ask(s, "g"));
	for (unsigned int i = 1; i < 32; i++) {
		const char *reg = all + i * xlen / 4;
		uint64_t value;

		p += strspn(p, " ");
		reads++;
		if (*p == '-') {
			/* nothing has written it */
			assert_int_equal(*reg, 'x');
			p++;
			continue;
		}
		value = strtoull(p, &p, 16);
		if (*reg == 'x')
			continue;
		known++;
		if (number(reg, xlen / 8) != value)
			fail_msg("instruction %lu, x%u: expected %" PRIx64 ", got %.16s", at, i,
				 value, reg);
	}
}

static void inferred(void **state)
{
	static const char *const programs[] = { "towers", "mix", "rv32" };
	char elf[PATH_MAX + 64], trace[PATH_MAX + 64], line[1024];

	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		const char *arguments[] = { "--elf", elf, trace, NULL };
		struct server s;
		FILE *f = open_list("%s/samples/%s/states.txt", out, programs[i]);

		snprintf(elf, sizeof(elf), "%s/samples/%s/%s.elf", out, programs[i], programs[i]);
		snprintf(trace, sizeof(trace), "%s/samples/%s/L1.bin", out, programs[i]);
		serve(&s, arguments);
		while (fgets(line, sizeof(line), f))
			check_inferred(&s, i == 2 ? 32 : 64, line);
		fclose(f);
		assert_string_equal(ask(&s, "D"), "OK");
		assert_int_equal(end(&s), 0);
	}
	printf("# %lu of %lu registers are known, x1 to x31\n", known, reads);
	assert_true(known > reads / 20);
}

/* The same movements as with other traces */
static void commands_with_state(void **state)
{
	char elf[PATH_MAX + 64], trace[PATH_MAX + 64];
	const char *arguments[] = { "--tv", "--elf", elf, trace, NULL };
	struct client c;
	FILE *f = open_list("%s/samples/towers/pc.txt", out);

	(void)state;
	read_truth(&c.truth, f);
	fclose(f);
	snprintf(elf, sizeof(elf), "%s/samples/towers/towers.elf", out);
	snprintf(trace, sizeof(trace), "%s/samples/towers/state.tv", out);
	obey(&c, arguments, rounds(400));
}

/* Bytes are damaged: where the decoder reports losses, the server stops and says so. */
static void losses(void **state)
{
	char dir[PATH_MAX], elf[PATH_MAX + 64], trace[PATH_MAX + 64];
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(dir, sizeof(dir), "%s/gdbserver-XXXXXX", tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(dir));
	snprintf(trace, sizeof(trace), "%s/damaged", dir);
	snprintf(elf, sizeof(elf), "%s/samples/mix/mix.elf", out);
	for (unsigned int i = 0; i < 8; i++) {
		const char *arguments[] = { "--elf", elf, trace, NULL };
		struct client c;
		uint8_t *bytes = malloc(1 << 20);
		FILE *f = open_list("%s/samples/mix/L1.bin", out);
		size_t n = fread(bytes, 1, 1 << 20, f);

		fclose(f);
		for (unsigned int k = 0; k < 6; k++)
			bytes[n / 8 + rnd(3 * n / 4)] ^= 1u << rnd(8);
		f = fopen(trace, "w");
		assert_int_equal(fwrite(bytes, 1, n, f), n);
		fclose(f);
		free(bytes);
		f = open_list("!%s/ntrace decode --elf %s %s 2>/dev/null", out, elf, trace);
		read_truth(&c.truth, f);
		pclose(f);
		obey(&c, arguments, rounds(700));
	}
	unlink(trace);
	rmdir(dir);
}

/* gdbserver-test LIST COMMANDS ARGUMENT...: likewise with what a shell test made */
static char **given;

static void given_commands(void **state)
{
	struct client c;
	FILE *f = open_list("%s", given[1]);

	(void)state;
	read_truth(&c.truth, f);
	fclose(f);
	obey(&c, (const char *const *)given + 3, strtoul(given[2], NULL, 10));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest with_arguments[] = { cmocka_unit_test(given_commands) };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_commands),
		cmocka_unit_test(losses),
		cmocka_unit_test(states),
		cmocka_unit_test(commands_with_state),
		cmocka_unit_test(inferred),
	};
	char *slash;

	if (readlink("/proc/self/exe", out, sizeof(out) - 1) < 0)
		return 1;
	for (int i = 0; i < 2; i++) {
		slash = strrchr(out, '/');
		if (!slash)
			return 1;
		*slash = '\0';
	}
	signal(SIGPIPE, SIG_IGN);
	rnd_begin();
	given = argv;
	return argc > 3 ? RUN_TAP(with_arguments) : RUN_TAP(tests);
}
