// SPDX-License-Identifier: GPL-2.0-only
/*
 * GDB's remote serial protocol: connection and packets
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd.h"
#include "gdb.h"

#define REPLY_MAX	(1u << 17)	/* of a packet; stubs use 4 to 130 KiB */
#define QUEUE_MAX	(1u << 16)

struct gdb {
	const char *name;
	int in, out;
	pid_t child;
	unsigned int seconds;
	bool owes_ack;		/* the last reply is not acknowledged yet */
	bool pipelines;		/* packets may be sent before earlier replies arrive */
	size_t queued, sent;
	char queue[QUEUE_MAX];
	size_t at, got;		/* bytes parsed, and bytes read */
	char bytes[1 << 16];
	char reply[REPLY_MAX];
};

/* ------------------------------------------------------- connection ------ */

bool gdb_is_place(const char *name)
{
	return !strncmp(name, "gdb:", 4) || !strncmp(name, "gdb-pipe:", 9);
}

static bool is_loopback(const struct sockaddr *a)
{
	const struct sockaddr_in *in4 = (const void *)a;
	const struct sockaddr_in6 *in6 = (const void *)a;

	if (a->sa_family == AF_INET)
		return ntohl(in4->sin_addr.s_addr) >> 24 == 127;
	return a->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
}

/*
 * Retry for a while, because a stub that was started together with this command may not listen yet.
 */
static int connect_patiently(const struct sockaddr *a, socklen_t len, unsigned int seconds)
{
	for (unsigned int try = 0; ; try++) {
		int fd = socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		int one = 1;

		if (fd >= 0 && !connect(fd, a, len)) {
			/* packets are small, and the other side waits for each */
			setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
			return fd;
		}
		if (fd >= 0)
			close(fd);
		if ((errno != ECONNREFUSED && errno != ENOENT) || try >= seconds * 20)
			return -1;
		usleep(50000);
	}
}

static int connect_unix(const struct gdb_place *p, const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(a.sun_path))
		die("%s: the path of a socket has at most %zu bytes, not %zu", p->name,
		    sizeof(a.sun_path) - 1, strlen(path));
	strcpy(a.sun_path, path);
	return connect_patiently((const struct sockaddr *)&a, sizeof(a), p->seconds);
}

static int connect_host(const struct gdb_place *p, const char *where)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	const char *colon = strrchr(where, ':');
	struct addrinfo *list, *a;
	char host[256];
	int err, fd = -1;

	if (!colon || colon == where || (size_t)(colon - where) >= sizeof(host))
		die("%s: not gdb:HOST:PORT, nor gdb:/SOCKET", p->name);
	snprintf(host, sizeof(host), "%.*s", (int)(colon - where), where);
	err = getaddrinfo(host, colon + 1, &hints, &list);
	if (err)
		die("%s: cannot find this machine and port: %s", p->name, gai_strerror(err));
	for (a = list; a && !p->any_address; a = a->ai_next)
		if (!is_loopback(a->ai_addr))
			die("%s: another machine; anyone between could change what it says. "
			    "--any-address allows it", p->name);
	for (a = list; a && fd < 0; a = a->ai_next)
		fd = connect_patiently(a->ai_addr, a->ai_addrlen, a->ai_next ? 0 : p->seconds);
	err = errno;
	freeaddrinfo(list);
	errno = err;
	return fd;
}

static void open_socket(struct gdb *g, const struct gdb_place *p)
{
	const char *where = p->name + 4;

	g->in = *where == '/' ? connect_unix(p, where) : connect_host(p, where);
	if (g->in < 0)
		die("%s: cannot connect: %s", p->name, strerror(errno));
	g->out = g->in;
}

static void open_pipe(struct gdb *g, const char *command)
{
	int to[2], from[2];

	if (pipe(to) || pipe(from))
		die("%s: cannot make pipes to it: %s", g->name, strerror(errno));
	g->child = fork();
	if (g->child < 0)
		die("%s: cannot start it: %s", g->name, strerror(errno));
	if (!g->child) {
		/* a process group, so that its children can be killed, too */
		setpgid(0, 0);
		dup2(to[0], STDIN_FILENO);
		dup2(from[1], STDOUT_FILENO);
		for (int fd = 3; fd < 64; fd++)
			close(fd);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	setpgid(g->child, g->child);
	close(to[0]);
	close(from[1]);
	g->out = to[1];
	g->in = from[0];
}

/* For atexit() */
static struct gdb *to_close;

static void close_it(void)
{
	gdb_close(to_close);
}

struct gdb *gdb_open(const struct gdb_place *place)
{
	struct gdb *g = calloc(1, sizeof(*g));

	if (!g)
		die("%s", nt_strerror(NT_ENOMEM));
	signal(SIGPIPE, SIG_IGN);
	g->name = place->name;
	g->seconds = place->seconds;
	if (!to_close)
		atexit(close_it);
	to_close = g;
	if (!strncmp(place->name, "gdb-pipe:", 9))
		open_pipe(g, place->name + 9);
	else
		open_socket(g, place);
	gdb_packet(g, "qSupported:xmlRegisters=riscv;swbreak-;hwbreak-");
	gdb_reply(g, NULL);
	/*
	 * A stub may insist on the acknowledgement before it accepts anything else. QEMU's user
	 * mode does. Its system mode, which supports this packet, does not.
	 */
	gdb_packet(g, "qqemu.PhyMemMode");
	g->pipelines = !gdb_is_error(gdb_reply(g, NULL));
	return g;
}

/* The target must not continue by itself when GDB detaches. */
static void end_child(struct gdb *g)
{
	int status;

	if (g->child <= 0)
		return;
	kill(-g->child, SIGTERM);
	for (unsigned int try = 0; try < 40; try++) {
		if (waitpid(g->child, &status, WNOHANG))
			return;
		usleep(50000);
	}
	kill(-g->child, SIGKILL);
	waitpid(g->child, &status, 0);
}

void gdb_close(struct gdb *g)
{
	static const char detach[] = "+$D#44";

	if (!g)
		return;
	/* ignore errors, because the other side may have closed the connection */
	if (!g->child && g->out > 0 && write(g->out, detach, sizeof(detach) - 1) < 0)
		g->out = -1;
	end_child(g);
	close(g->in);
	if (g->child && g->out > 0)
		close(g->out);
	to_close = NULL;
	free(g);
}

/* ---------------------------------------------------------- packets ------ */

/*
 * Acknowledge all replies of a queue but the last before they arrive. The connection is reliable,
 * and a stub that is running would stop at any byte.
 */
void gdb_packet(struct gdb *g, const char *fmt, ...)
{
	char *p = g->queue + g->queued;
	size_t room = sizeof(g->queue) - g->queued;
	va_list ap;
	int n;

	if (room < 8)
		die("%s: more than %zu bytes to send at once: a mistake of ntrace", g->name,
		    sizeof(g->queue));
	*p++ = g->queued || g->owes_ack ? '+' : '$';
	g->owes_ack = false;
	if (p[-1] == '+')
		*p++ = '$';
	va_start(ap, fmt);
	n = vsnprintf(p, room - 6, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= room - 6)
		die("%s: more than %zu bytes to send at once: a mistake of ntrace", g->name,
		    sizeof(g->queue));
	sprintf(p + n, "#%02x", gdb_checksum(p, (size_t)n));
	g->queued = (size_t)(p + n + 3 - g->queue);
}

static void wait_for(const struct gdb *g, int fd, short what)
{
	struct pollfd p = { .fd = fd, .events = what };
	int n;

	do {
		n = poll(&p, 1, (int)g->seconds * 1000);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		die("%s: cannot wait for it: %s", g->name, strerror(errno));
	if (!n)
		die("%s: silent for %u s; --timeout allows more", g->name, g->seconds);
}

static void flush(struct gdb *g)
{
	size_t end = g->queued;

	/* only the first packet; none of our packets contains this byte */
	if (!g->pipelines)
		end = (size_t)((char *)memchr(g->queue + g->sent, '#', g->queued - g->sent) -
			       g->queue) + 3;
	while (g->sent < end) {
		ssize_t n;

		wait_for(g, g->out, POLLOUT);
		n = write(g->out, g->queue + g->sent, end - g->sent);
		if (n < 0 && errno != EINTR)
			die("%s: cannot send to it: %s", g->name, strerror(errno));
		g->sent += n > 0 ? (size_t)n : 0;
	}
	if (g->sent == g->queued)
		g->sent = g->queued = 0;
}

static char next_byte(struct gdb *g)
{
	ssize_t n;

	if (g->at < g->got)
		return g->bytes[g->at++];
	wait_for(g, g->in, POLLIN);
	do {
		n = read(g->in, g->bytes, sizeof(g->bytes));
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		die("%s: cannot receive from it: %s", g->name, strerror(errno));
	if (!n)
		die("%s: has ended the connection, a reply was expected", g->name);
	g->got = (size_t)n;
	g->at = 1;
	return g->bytes[0];
}

void gdb_nonsense(const struct gdb *g, const char *expected, const char *got)
{
	die("%s: expected %s, got `%.60s'", g->name, expected, got);
}

/* Expand run lengths and escaped characters. */
static size_t put_byte(struct gdb *g, size_t len, char c, unsigned int times)
{
	if (len + times >= sizeof(g->reply))
		die("%s: a packet of more than %zu bytes", g->name, sizeof(g->reply));
	memset(g->reply + len, c, times);
	return len + times;
}

static size_t read_body(struct gdb *g, unsigned int *sum)
{
	size_t len = 0;
	char c;

	for (*sum = 0; (c = next_byte(g)) != '#'; ) {
		*sum += (unsigned char)c;
		if (c == '*' && len) {
			c = next_byte(g);
			*sum += (unsigned char)c;
			if (c < ' ' || c > '~')
				die("%s: expected how often a byte repeats in a packet, ` ' to `~', "
				    "got byte %02x", g->name, (unsigned char)c);
			len = put_byte(g, len, g->reply[len - 1], (unsigned int)(c - 29));
			continue;
		}
		if (c == '}') {
			c = next_byte(g);
			*sum += (unsigned char)c;
			c ^= 0x20;
		}
		len = put_byte(g, len, c, 1);
	}
	g->reply[len] = '\0';
	return len;
}

/* Acknowledgements are not counted: a packet has arrived unless it is requested again. */
const char *gdb_reply(struct gdb *g, size_t *len)
{
	unsigned int sum;
	char told[3] = "", wanted[3], c;
	size_t n;

	if (g->queued) {
		flush(g);
		g->owes_ack = true;
	}
	while ((c = next_byte(g)) != '$')
		if (c != '+')
			die("%s: does not speak GDB's protocol: expected `$' or `+' between packets, "
			    "got byte %02x", g->name, (unsigned char)c);
	n = read_body(g, &sum);
	told[0] = next_byte(g);
	told[1] = next_byte(g);
	snprintf(wanted, sizeof(wanted), "%02x", sum & 0xff);
	if (strcasecmp(told, wanted))
		die("%s: expected the checksum %s of a packet's bytes, got `%s'", g->name, wanted,
		    told);
	if (len)
		*len = n;
	return g->reply;
}

bool gdb_is_error(const char *reply)
{
	return !*reply || (reply[0] == 'E' && (reply[1] == '.' || strlen(reply) == 3));
}
