// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's text as it ran: `perf record --kcore` copies it when recording starts and, for
 * ntrace events, again when recording ends. Where the copies differ, the kernel was patched during
 * the recording, and neither copy is right for all of the trace.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>

#include "data.h"
#include "debug.h"
#include "evlist.h"
#include "evsel.h"
#include "machine.h"
#include "map.h"
#include "pmu.h"
#include "pmus.h"
#include "session.h"
#include "symbol.h"
#include "ntrace.h"
#include "ntrace-compat.h"
#include "ntrace-priv.h"

/* A kernel's image: /proc/kcore, or a copy of its text */
struct ntrace_kcore {
	int		fd;
	const u8	*bytes;		/* of a copy that is used for decoding; or NULL */
	size_t		size;
	unsigned int	nr;
	Elf64_Phdr	*segment;
	struct nt_session_patches patches;
};

static int read_segments(struct ntrace_kcore *k)
{
	Elf64_Ehdr ehdr;

	if (pread(k->fd, &ehdr, sizeof(ehdr), 0) != sizeof(ehdr) ||
	    memcmp(ehdr.e_ident, ELFMAG, SELFMAG) || ehdr.e_phentsize != sizeof(Elf64_Phdr))
		return -EINVAL;
	k->nr = ehdr.e_phnum;
	k->segment = calloc(k->nr, sizeof(*k->segment));
	if (!k->segment)
		return -ENOMEM;
	if (pread(k->fd, k->segment, k->nr * sizeof(*k->segment), ehdr.e_phoff) !=
	    (ssize_t)(k->nr * sizeof(*k->segment)))
		return -EINVAL;
	return 0;
}

void ntrace_kcore_free(struct ntrace_kcore *k)
{
	if (!k)
		return;
	if (k->bytes)
		munmap((void *)k->bytes, k->size);
	if (k->fd >= 0)
		close(k->fd);
	free(k->segment);
	nt_session_patches_free(&k->patches);
	free(k);
}

static struct ntrace_kcore *open_image(const char *path)
{
	struct ntrace_kcore *k = zalloc(sizeof(*k));

	if (!k)
		return NULL;
	k->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (k->fd < 0 || read_segments(k)) {
		ntrace_kcore_free(k);
		return NULL;
	}
	return k;
}

static ssize_t read_bytes(struct ntrace_kcore *k, u64 offset, u8 *buf, size_t len)
{
	if (!k->bytes)
		return pread(k->fd, buf, len, offset);
	if (offset >= k->size)
		return 0;
	len = min(len, k->size - (size_t)offset);
	memcpy(buf, k->bytes + offset, len);
	return len;
}

static ssize_t kcore_read(struct ntrace_kcore *k, u64 addr, u8 *buf, size_t len)
{
	unsigned int i;

	for (i = 0; i < k->nr; i++) {
		const Elf64_Phdr *p = &k->segment[i];

		if (addr >= p->p_vaddr && addr - p->p_vaddr < p->p_filesz) {
			len = min((u64)len, p->p_filesz - (addr - p->p_vaddr));
			return read_bytes(k, p->p_offset + (addr - p->p_vaddr), buf, len);
		}
	}
	return 0;
}

/* --- recording -------------------------------------------------------------- */

#define COPY_SIZE	(256 * 1024)

static int copy_segment(struct ntrace_kcore *now, const Elf64_Phdr *p, int fd, u8 *buf)
{
	u64 at = 0;

	while (at < p->p_filesz) {
		ssize_t n = kcore_read(now, p->p_vaddr + at, buf,
				       min(p->p_filesz - at, (u64)COPY_SIZE));

		if (n <= 0 || pwrite(fd, buf, n, p->p_offset + at) != n)
			return -EIO;
		at += n;
	}
	return 0;
}

/*
 * Copy the same ranges as in the first copy, to the same places. Symbols and modules, which take
 * far longer to read than the text, are not copied again.
 */
static int copy_text(struct ntrace_kcore *first, struct ntrace_kcore *now, int fd)
{
	u8 *buf = malloc(COPY_SIZE);
	Elf64_Ehdr ehdr;
	size_t size;
	unsigned int i;
	int err = -EIO;

	if (!buf)
		return -ENOMEM;
	if (pread(first->fd, &ehdr, sizeof(ehdr), 0) != sizeof(ehdr))
		goto out;
	size = first->nr * sizeof(*first->segment);
	if (pwrite(fd, &ehdr, sizeof(ehdr), 0) != sizeof(ehdr) ||
	    pwrite(fd, first->segment, size, ehdr.e_phoff) != (ssize_t)size)
		goto out;
	for (err = 0, i = 0; i < first->nr && !err; i++)
		err = copy_segment(now, &first->segment[i], fd, buf);
out:
	free(buf);
	return err;
}

static int copy_again(const char *from, const char *kcore, const char *to)
{
	struct ntrace_kcore *first = open_image(from), *now = open_image(kcore);
	int fd, err = -EIO;

	fd = first && now ? open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
	if (fd >= 0) {
		err = copy_text(first, now, fd);
		if (close(fd) && !err)
			err = -EIO;
		if (err)
			unlink(to);
	}
	ntrace_kcore_free(first);
	ntrace_kcore_free(now);
	return err;
}

/* The path of the second copy; NULL: too long */
static const char *end_path(char path[PATH_MAX], const struct perf_data *data)
{
	int n = snprintf(path, PATH_MAX, "%s/" NTRACE_KCORE_END "/kcore", data->path);

	return n < PATH_MAX ? path : NULL;
}

/* Without the second copy, only a check is missing; the recording is usable. */
void ntrace_kcore_end(struct evlist *evlist, bool kcore, struct perf_data *data,
		      struct machine *machine)
{
	char first[PATH_MAX], from[PATH_MAX], dir[PATH_MAX], to[PATH_MAX];

	if (!kcore || !data->is_dir || !ntrace_is_recorded(evlist))
		return;
	/* Recording may have failed before the first copy was made. */
	snprintf(first, sizeof(first), "%s/" NTRACE_KCORE_START "/kcore", data->path);
	if (access(first, F_OK))
		return;
	snprintf(from, sizeof(from), "%s/proc/kcore", machine->root_dir);
	snprintf(dir, sizeof(dir), "%s/" NTRACE_KCORE_END, data->path);
	if (!end_path(to, data))
		return;
	if (mkdir(dir, 0700) || copy_again(first, from, to))
		pr_warning("ntrace: cannot copy the kernel's text a second time: kernel code patched during the recording will not be noticed\n");
}

/* --- decoding --------------------------------------------------------------- */

/* Map the image, which is needed for every branch. If that fails, read the file. */
static void map_image(struct ntrace_kcore *k)
{
	struct stat st;
	void *bytes;

	if (fstat(k->fd, &st) || st.st_size <= 0)
		return;
	bytes = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, k->fd, 0);
	if (bytes == MAP_FAILED)
		return;
	k->bytes = bytes;
	k->size = st.st_size;
}

static int compare_segment(struct ntrace_kcore *first, struct ntrace_kcore *k, const Elf64_Phdr *p,
			   u8 *buf)
{
	u64 at = 0, len;
	int err = 0;

	for (; at < p->p_filesz && !err; at += len) {
		ssize_t n, other;

		len = min(p->p_filesz - at, (u64)COPY_SIZE);
		n = kcore_read(first, p->p_vaddr + at, buf, len);
		other = kcore_read(k, p->p_vaddr + at, buf + COPY_SIZE, len);
		if (min(n, other) <= 0)
			break;
		err = nt_session_patches_compare(&k->patches, p->p_vaddr + at, buf, buf + COPY_SIZE,
						 min(n, other));
	}
	return err;
}

/* Find where @k differs from the first copy. */
static int compare(struct ntrace_kcore *k, const char *path)
{
	struct ntrace_kcore *first = open_image(path);
	u8 *buf = malloc(2 * COPY_SIZE);
	int err = first && buf ? 0 : -ENOMEM;
	unsigned int i;

	for (i = 0; !err && i < first->nr; i++)
		err = compare_segment(first, k, &first->segment[i], buf);
	free(buf);
	ntrace_kcore_free(first);
	return err;
}

/* NULL: there is no second copy, or it cannot be read. */
struct ntrace_kcore *ntrace_kcore_open(struct perf_data *data)
{
	struct ntrace_kcore *k;
	char path[PATH_MAX];

	if (!data->is_dir || !end_path(path, data))
		return NULL;
	k = open_image(path);
	if (!k)
		return NULL;
	map_image(k);
	snprintf(path, sizeof(path), "%s/" NTRACE_KCORE_START "/kcore", data->path);
	if (compare(k, path))
		pr_warning("ntrace: cannot compare the two copies of the kernel's text: kernel code patched during the recording will not be noticed\n");
	return k;
}

void ntrace_kcore_ran(struct ntrace *nt, u64 pc, size_t len)
{
	const struct nt_session_patch *p;
	struct symbol *sym;

	while (nt->kcore && (p = nt_session_patches_ran(&nt->kcore->patches, pc, len))) {
		sym = machine__find_kernel_symbol(nt->machine, p->start, NULL);
		pr_warning("ntrace: the kernel was patched while recording: %#" PRIx64 "..%#" PRIx64
			   " in %s differs between start and end\n",
			   p->start, p->end, sym ? sym->name : "unknown code");
	}
}

/* Replace code from the start with the code from the end. */
void ntrace_kcore_read_end(struct ntrace *nt, u64 addr, u8 *buf, size_t len)
{
	if (nt->kcore && nt->kcore->patches.nr)
		kcore_read(nt->kcore, addr, buf, len);
}

/* NULL: the two copies are equal, or there is only one. */
const struct nt_session_patches *ntrace_kcore_patches(const struct ntrace *nt)
{
	return nt->kcore && nt->kcore->patches.nr ? &nt->kcore->patches : NULL;
}
