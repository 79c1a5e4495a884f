// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copy the kernel's text as it runs, with its patches and modules, from /proc/kcore: when the
 * recording starts, into the folder of the data, and again when it ends. If the copies differ, the
 * kernel was patched meanwhile. The names are those of perf record --kcore.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture.h"
#include "cmd.h"

#define COPY_SIZE	((size_t)256 << 10)
#define SEGMENTS_MAX	64
#define RANGES_MAX	16
#define GAP		(4ULL << 20)

struct kcore {
	int fd;
	Elf64_Ehdr ehdr;
	Elf64_Phdr *segment;
	unsigned int nr;
};

struct range {
	uint64_t start, end;
};

/* Address ranges of kernel code */
struct text {
	struct range kernel, modules[RANGES_MAX];
	unsigned int nr;
};

static bool open_kcore(struct kcore *k, const char *path)
{
	size_t size;

	*k = (struct kcore){ .fd = open(path, O_RDONLY | O_CLOEXEC) };
	if (k->fd < 0 || pread(k->fd, &k->ehdr, sizeof(k->ehdr), 0) != sizeof(k->ehdr) ||
	    memcmp(k->ehdr.e_ident, ELFMAG, SELFMAG) ||
	    k->ehdr.e_ident[EI_CLASS] != ELFCLASS64 || k->ehdr.e_phentsize != sizeof(Elf64_Phdr))
		return false;
	k->nr = k->ehdr.e_phnum;
	size = k->nr * sizeof(*k->segment);
	k->segment = malloc(size + 1);
	if (!k->segment)
		die("%s", nt_strerror(NT_ENOMEM));
	return pread(k->fd, k->segment, size, k->ehdr.e_phoff) == (ssize_t)size;
}

static void close_kcore(struct kcore *k)
{
	if (k->fd >= 0)
		close(k->fd);
	free(k->segment);
}

/* Modules are close to each other, but code that the kernel has generated may be far away. */
static void add_address(struct text *t, uint64_t addr)
{
	uint64_t page = sysconf(_SC_PAGESIZE), start = addr & ~(page - 1);
	struct range *r;

	for (r = t->modules; r < t->modules + t->nr; r++) {
		if (start + GAP < r->start || start > r->end + GAP)
			continue;
		r->start = start < r->start ? start : r->start;
		r->end = start + page > r->end ? start + page : r->end;
		return;
	}
	if (t->nr < RANGES_MAX)
		t->modules[t->nr++] = (struct range){ start, start + page };
}

static void find_text(struct capture *c, struct text *t)
{
	const char *at = capture_symbols(c);
	struct capture_symbol s;

	*t = (struct text){ .nr = 0 };
	while (capture_symbol_next(&at, &s)) {
		if (s.module && s.addr)
			add_address(t, s.addr);
		else if (capture_symbol_is(&s, "_stext"))
			t->kernel.start = s.addr;
		else if (capture_symbol_is(&s, "_etext"))
			t->kernel.end = s.addr;
	}
}

/* Detect errors before recording starts, not at its end. */
void capture_kcore_check(struct capture *c)
{
	int fd = open("/proc/kcore", O_RDONLY | O_CLOEXEC);
	struct text text;

	if (fd < 0 && errno == ENOENT)
		die("--kcore copies /proc/kcore, which this kernel does not have (CONFIG_PROC_KCORE). A trace of user space needs none: -e ntrace//u");
	if (fd < 0)
		die("--kcore copies /proc/kcore, which cannot be read (%s): that takes root. A trace of user space needs none: -e ntrace//u",
		    strerror(errno));
	close(fd);
	find_text(c, &text);
	if (!text.kernel.start)
		die("--kcore copies the kernel's text, whose addresses are not to be seen (kernel.kptr_restrict is %ld): sysctl kernel.kptr_restrict=1 shows them to root",
		    capture_sysctl("kptr_restrict", 0));
	c->kallsyms.len = 0;
}

/* Add the parts of a range that /proc/kcore contains, as segments of the copy. */
static void add_segments(const struct kcore *k, struct range r, Elf64_Phdr *copy, unsigned int *nr)
{
	uint64_t page = sysconf(_SC_PAGESIZE), start, end;
	unsigned int i;

	r.start &= ~(page - 1);
	r.end = (r.end + page - 1) & ~(page - 1);
	for (i = 0; i < k->nr && *nr < SEGMENTS_MAX; i++) {
		const Elf64_Phdr *p = &k->segment[i];

		start = r.start > p->p_vaddr ? r.start : p->p_vaddr;
		end = r.end < p->p_vaddr + p->p_memsz ? r.end : p->p_vaddr + p->p_memsz;
		if (p->p_type != PT_LOAD || start >= end)
			continue;
		copy[*nr] = *p;
		copy[*nr].p_vaddr = start;
		copy[*nr].p_paddr = p->p_paddr + (start - p->p_vaddr);
		copy[(*nr)++].p_filesz = end - start;
	}
}

/* A write may be short because of a signal, or a disk that is nearly full. */
static int write_bytes(int fd, uint64_t offset, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;
	ssize_t n;

	for (; len; p += n, offset += n, len -= n) {
		n = pwrite(fd, p, len, offset);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			return n ? -errno : -EIO;
	}
	return 0;
}

static int copy_bytes(int from, uint64_t at, int to, uint64_t offset, uint64_t len, uint8_t *buf)
{
	ssize_t n;
	int err;

	while (len) {
		n = pread(from, buf, len < COPY_SIZE ? len : COPY_SIZE, at);
		/* reading unmapped pages fails, so leave a hole */
		if (n <= 0) {
			n = sysconf(_SC_PAGESIZE);
			n = len < (uint64_t)n ? (ssize_t)len : n;
		} else {
			err = write_bytes(to, offset, buf, n);
			if (err)
				return err;
		}
		at += n;
		offset += n;
		len -= n;
	}
	return ftruncate(to, offset) ? -errno : 0;
}

static int copy_segments(const struct kcore *k, const Elf64_Phdr *copy, unsigned int nr, int to)
{
	uint8_t *buf = malloc(COPY_SIZE);
	unsigned int i, s;
	int err = 0;

	if (!buf)
		die("%s", nt_strerror(NT_ENOMEM));
	for (i = 0; i < nr && !err; i++) {
		for (s = 0; s < k->nr; s++)
			if (k->segment[s].p_type == PT_LOAD &&
			    copy[i].p_vaddr >= k->segment[s].p_vaddr &&
			    copy[i].p_vaddr - k->segment[s].p_vaddr < k->segment[s].p_memsz)
				break;
		if (s < k->nr)
			err = copy_bytes(k->fd, k->segment[s].p_offset +
					 (copy[i].p_vaddr - k->segment[s].p_vaddr),
					 to, copy[i].p_offset, copy[i].p_filesz, buf);
	}
	free(buf);
	return err;
}

static int write_copy(const struct kcore *k, const Elf64_Ehdr *ehdr, const Elf64_Phdr *copy,
		      unsigned int nr, const char *path)
{
	size_t size = nr * sizeof(*copy);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), err;

	if (fd < 0)
		return -errno;
	err = write_bytes(fd, 0, ehdr, sizeof(*ehdr));
	if (!err)
		err = write_bytes(fd, ehdr->e_phoff, copy, size);
	if (!err)
		err = copy_segments(k, copy, nr, fd);
	if (close(fd) && !err)
		err = -errno;
	if (err)
		unlink(path);
	return err;
}

static int copy_start(struct capture *c, const char *path)
{
	Elf64_Phdr copy[SEGMENTS_MAX];
	uint64_t at = sysconf(_SC_PAGESIZE);
	unsigned int i, nr = 0;
	struct text text;
	struct kcore k;
	Elf64_Ehdr ehdr;
	int err = -EIO;

	find_text(c, &text);
	if (open_kcore(&k, "/proc/kcore")) {
		add_segments(&k, text.kernel, copy, &nr);
		for (i = 0; i < text.nr; i++)
			add_segments(&k, text.modules[i], copy, &nr);
	}
	for (i = 0; i < nr; i++) {
		copy[i].p_offset = at;
		copy[i].p_memsz = copy[i].p_filesz;
		at += copy[i].p_filesz;
	}
	ehdr = k.ehdr;
	ehdr.e_phoff = sizeof(ehdr);
	ehdr.e_phnum = nr;
	ehdr.e_shoff = ehdr.e_shnum = ehdr.e_shstrndx = 0;
	if (nr)
		err = write_copy(&k, &ehdr, copy, nr, path);
	close_kcore(&k);
	return err;
}

static int write_file(const char *to, const void *bytes, size_t len)
{
	int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), err;

	if (fd < 0)
		return -errno;
	err = write_bytes(fd, 0, bytes, len);
	if (close(fd) && !err)
		err = -errno;
	return err;
}

static void make_path(const struct capture *c, char **path, const char *dir, const char *name)
{
	if (asprintf(path, "%s/%s%s%s", c->file.path, dir, *name ? "/" : "", name) < 0)
		die("%s", nt_strerror(NT_ENOMEM));
}

/* The recording fails if the copy that the user asked for fails. */
static void fail(struct capture *c, const char *path, int err)
{
	if (!err)
		return;
	capture_file_discard(c);
	die("--kcore: cannot copy the kernel's text to %s: %s", path, strerror(-err));
}

static void copy_all(struct capture *c)
{
	struct capture_bytes modules = { NULL, 0, 0 };
	const char *symbols = capture_symbols(c);
	char *path[3];
	unsigned int i;

	make_path(c, &path[0], NTRACE_KCORE_START, "kallsyms");
	make_path(c, &path[1], NTRACE_KCORE_START, "modules");
	make_path(c, &path[2], NTRACE_KCORE_START, "kcore");
	fail(c, path[0], write_file(path[0], symbols, strlen(symbols)));
	/* a kernel without modules does not have this file */
	if (!capture_read_file("/proc/modules", &modules))
		fail(c, path[1], write_file(path[1], modules.p, modules.len - 1));
	fail(c, path[2], copy_start(c, path[2]));
	for (i = 0; i < 3; i++)
		free(path[i]);
	free(modules.p);
}

void capture_kcore_start(struct capture *c)
{
	char *dir;

	if (!c->o.kcore)
		return;
	make_path(c, &dir, NTRACE_KCORE_START, "");
	fail(c, dir, mkdir(dir, 0700) ? -errno : 0);
	copy_all(c);
	free(dir);
}

/*
 * Copy the same ranges again. Without this copy, only the comparison is missing, so ignore errors.
 */
void capture_kcore_end(struct capture *c)
{
	char *first, *dir, *path;
	struct kcore start = { .fd = -1 }, now = { .fd = -1 };
	int err = -EIO;

	if (!c->o.kcore)
		return;
	make_path(c, &first, NTRACE_KCORE_START, "kcore");
	make_path(c, &dir, NTRACE_KCORE_END, "");
	make_path(c, &path, NTRACE_KCORE_END, "kcore");
	if (mkdir(dir, 0700))
		err = -errno;
	else if (open_kcore(&start, first) & open_kcore(&now, "/proc/kcore"))
		err = write_copy(&now, &start.ehdr, start.segment, start.nr, path);
	close_kcore(&start);
	close_kcore(&now);
	if (err)
		warn("cannot copy the kernel's text a second time (%s): kernel code patched during the recording will not be noticed",
			     strerror(-err));
	free(first);
	free(dir);
	free(path);
}
