// SPDX-License-Identifier: GPL-2.0-only
/*
 * The connection: one client, over TCP or standard input and output. A second client gets an error.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gdb.h"
#include "serve.h"

#define REFUSED	8

struct link {
	struct serve_session session;
	int listening;		/* -1: no more clients */
	int refused[REFUSED];	/* the latest refused clients; 0: none */
	unsigned int nr_refused;
	int in, out;
	bool broken;
	bool acks;
	char bytes[4096];	/* received bytes, ... */
	size_t at, nr;		/* ... of which [at, nr) are not parsed yet */
	struct gdb_taker taker;
	char *frame;		/* the packet that was sent last, in case it is requested again */
	size_t frame_len, frame_room;
};

/* ------------------------------------------------------------- listening - */

static int listen_at(const struct addrinfo *a)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (!bind(fd, a->ai_addr, a->ai_addrlen) && !listen(fd, 4))
		return fd;
	close(fd);
	return -1;
}

/* Report which port was chosen. */
static void say_place(int fd)
{
	struct sockaddr_storage a;
	socklen_t len = sizeof(a);
	char host[128], port[16];

	if (getsockname(fd, (struct sockaddr *)&a, &len) ||
	    getnameinfo((struct sockaddr *)&a, len, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV))
		return;
	fprintf(stderr, "ntrace: listening on %s%s%s:%s; in GDB: target remote %s%s%s:%s\n",
		strchr(host, ':') ? "[" : "", host, strchr(host, ':') ? "]" : "", port,
		strchr(host, ':') ? "[" : "", host, strchr(host, ':') ? "]" : "", port);
}

static int open_listening(const char *place)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
	const char *colon = strrchr(place, ':'), *port = colon ? colon + 1 : place;
	struct addrinfo *list, *a;
	char host[256] = "127.0.0.1";
	int err, fd = -1;

	if (colon && (size_t)(colon - place) >= sizeof(host))
		die("--listen=%s: the name of the machine is too long", place);
	if (colon)
		snprintf(host, sizeof(host), "%.*s", (int)(colon - place), place);
	if (*host == '[' && host[strlen(host) - 1] == ']') {
		memmove(host, host + 1, strlen(host));
		host[strlen(host) - 1] = '\0';
	}
	if (!*port || strspn(port, "0123456789") != strlen(port) || atol(port) > 65535)
		die("--listen=%s: expected PORT, HOST:PORT or -", place);
	err = getaddrinfo(*host ? host : "127.0.0.1", port, &hints, &list);
	if (err)
		die("--listen=%s: %s", place, gai_strerror(err));
	for (a = list; a && fd < 0; a = a->ai_next)
		fd = listen_at(a);
	err = errno;
	freeaddrinfo(list);
	if (fd < 0)
		die("--listen=%s: %s", place, strerror(err));
	return fd;
}

static int accept_client(int listening)
{
	int fd, one = 1;

	do {
		fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
	} while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
	if (fd < 0)
		die("cannot accept a client: %s", strerror(errno));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

/*
 * Keep the connection open for a while: closing a socket that has unread packets resets the
 * connection, and the client might not see the reason.
 */
static void refuse_client(struct link *l)
{
	int *place = &l->refused[l->nr_refused++ % REFUSED];
	static const char busy[] = "E.this recording has a client already";
	char text[sizeof(busy) + 8];
	int fd = accept_client(l->listening);
	int n = snprintf(text, sizeof(text), "+$%s#%02x", busy, gdb_checksum(busy, strlen(busy)));

	if (send(fd, text, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		warn("a second client was refused, and has gone");
	else
		warn("a second client was refused");
	shutdown(fd, SHUT_WR);
	if (*place)
		close(*place);
	*place = fd;
}

/* --------------------------------------------------------------- sending - */

static void write_all(struct link *l, const char *data, size_t len)
{
	while (len && !l->broken) {
		ssize_t n = write(l->out, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			l->broken = true;
			warn("the client does not read what it asked for: %s", strerror(errno));
			return;
		}
		data += n;
		len -= (size_t)n;
	}
}

static void send_packet(void *ctx, const char *data, size_t len)
{
	struct link *l = ctx;
	char *p;

	if (2 * len + 8 > l->frame_room) {
		l->frame_room = 4 * len + 1024;
		free(l->frame);
		l->frame = malloc(l->frame_room);
		if (!l->frame)
			die("%s", nt_strerror(NT_ENOMEM));
	}
	p = l->frame;
	*p++ = '$';
	for (size_t i = 0; i < len; i++) {
		if (gdb_is_special(data[i])) {
			*p++ = '}';
			*p++ = data[i] ^ 0x20;
		} else {
			*p++ = data[i];
		}
	}
	sprintf(p, "#%02x", gdb_checksum(l->frame + 1, (size_t)(p - l->frame - 1)));
	l->frame_len = (size_t)(p + 3 - l->frame);
	write_all(l, l->frame, l->frame_len);
}

/* ------------------------------------------------------------- receiving - */

static void take_byte(struct link *l, char c)
{
	switch (gdb_take(&l->taker, c)) {
	case GDB_PACKET:
		if (l->acks)
			write_all(l, "+", 1);
		serve_session_packet(&l->session, l->taker.body, l->taker.len);
		l->acks = !l->session.no_ack;
		break;
	case GDB_BAD:
		if (l->acks)
			write_all(l, "-", 1);
		break;
	case GDB_AGAIN:
		if (l->acks)
			write_all(l, l->frame, l->frame_len);
		break;
	}
}

/* Read more bytes. Returns false if the client has disconnected. */
static bool fetch(struct link *l)
{
	ssize_t n;

	l->at = l->nr = 0;
	n = read(l->in, l->bytes, sizeof(l->bytes));
	if (n < 0 && errno == EINTR)
		return true;
	if (n <= 0) {
		l->broken = true;
		warn("the client has gone without saying so%s%s", n < 0 ? ": " : "",
		     n < 0 ? strerror(errno) : "");
		return false;
	}
	l->nr = (size_t)n;
	return true;
}

/*
 * Has the client interrupted the command, or disconnected? Other packets are handled after the
 * reply.
 */
static bool is_interrupt(void *ctx)
{
	struct link *l = ctx;
	struct pollfd fd = { .fd = l->in, .events = POLLIN };

	while (!l->broken) {
		while (l->at < l->nr && l->bytes[l->at] == '+')
			l->at++;
		if (l->at < l->nr) {
			if (l->bytes[l->at] != '\003')
				return false;
			l->at++;
			return true;
		}
		if (poll(&fd, 1, 0) <= 0 || !fd.revents)
			return false;
		fetch(l);
	}
	return true;
}

/* Returns false if the client has disconnected. */
static bool take_bytes(struct link *l)
{
	if (!fetch(l))
		return false;
	while (l->at < l->nr && !l->session.ended && !l->broken)
		take_byte(l, l->bytes[l->at++]);
	return true;
}

static void talk(struct link *l)
{
	struct pollfd fd[2] = {
		{ .fd = l->in, .events = POLLIN }, { .fd = l->listening, .events = POLLIN },
	};

	while (!l->session.ended && !l->broken) {
		if (poll(fd, 2, -1) < 0 && errno != EINTR)
			die("cannot wait for the client: %s", strerror(errno));
		if (fd[1].revents & POLLIN)
			refuse_client(l);
		if (fd[0].revents && !take_bytes(l))
			break;
	}
}

bool serve_link(const struct serve_recording *r, const struct serve_options *options,
		const char *place)
{
	struct link *l = calloc(1, sizeof(*l));
	bool whole;

	if (l)
		l->taker.body = malloc(SERVE_PACKET_MAX + 1);
	if (!l || !l->taker.body)
		die("%s", nt_strerror(NT_ENOMEM));
	l->taker.room = SERVE_PACKET_MAX;
	l->acks = true;
	/* do not die if the client disconnects */
	signal(SIGPIPE, SIG_IGN);
	l->listening = -1;
	l->in = STDIN_FILENO;
	l->out = options->out;
	if (strcmp(place, "-")) {
		l->listening = open_listening(place);
		say_place(l->listening);
		l->in = l->out = accept_client(l->listening);
	}
	serve_session_init(&l->session, r, options);
	l->session.packet = send_packet;
	l->session.ctx = l;
	l->session.interrupt = (struct serve_interrupt){ .wanted = is_interrupt, .ctx = l };
	talk(l);
	whole = !l->broken;
	if (l->listening >= 0) {
		close(l->in);
		close(l->listening);
	}
	for (size_t i = 0; i < REFUSED; i++)
		if (l->refused[i])
			close(l->refused[i]);
	serve_session_free(&l->session);
	free(l->taker.body);
	free(l->frame);
	free(l);
	return whole;
}
