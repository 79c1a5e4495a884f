// SPDX-License-Identifier: GPL-2.0-only
/*
 * Find the files that were recorded, by their build-ids. With another file, the decoder would
 * produce wrong control flow for a while before it reports losses. Search order: --symfs, perf's
 * build-id cache, debuginfod's cache, the file's own path, the program that the user named.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rec.h"

/* --------------------------------------------------------------- the ELF - */

/* Find the build-id among notes. Returns its size, or 0. */
static size_t find_build_id(Elf_Data *data, uint8_t *id, size_t room)
{
	size_t at = 0, name, desc;
	GElf_Nhdr nhdr;

	while ((at = gelf_getnote(data, at, &nhdr, &name, &desc))) {
		if (nhdr.n_type != NT_GNU_BUILD_ID || nhdr.n_namesz != sizeof("GNU") ||
		    memcmp((char *)data->d_buf + name, "GNU", sizeof("GNU")))
			continue;
		if (nhdr.n_descsz > room)
			return 0;
		memcpy(id, (char *)data->d_buf + desc, nhdr.n_descsz);
		return nhdr.n_descsz;
	}
	return 0;
}

/* Code of a JIT: perf inject writes ELF files whose PT_LOAD segments do not cover the notes. */
static size_t read_section_id(Elf *elf, uint8_t *id, size_t room)
{
	Elf_Scn *section = NULL;
	size_t size = 0;
	Elf_Data *data;
	GElf_Shdr sh;

	while (!size && (section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &sh) || sh.sh_type != SHT_NOTE)
			continue;
		data = elf_getdata(section, NULL);
		size = data ? find_build_id(data, id, room) : 0;
	}
	return size;
}

static size_t read_build_id(Elf *elf, uint8_t *id, size_t room)
{
	size_t nr, i, size = 0;
	Elf_Data *data;
	GElf_Phdr ph;

	if (elf_getphdrnum(elf, &nr))
		return 0;
	for (i = 0; i < nr && !size; i++) {
		if (!gelf_getphdr(elf, i, &ph) || ph.p_type != PT_NOTE)
			continue;
		data = elf_getdata_rawchunk(elf, ph.p_offset, ph.p_filesz,
					    ph.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
		size = data ? find_build_id(data, id, room) : 0;
	}
	return size ? size : read_section_id(elf, id, room);
}

static void read_segments(struct rec_file *f, Elf *elf)
{
	size_t nr, i;
	GElf_Phdr ph;

	if (elf_getphdrnum(elf, &nr))
		return;
	f->segment = calloc(nr + 1, sizeof(*f->segment));
	if (!f->segment)
		die("%s", nt_strerror(NT_ENOMEM));
	for (i = 0; i < nr; i++)
		if (gelf_getphdr(elf, i, &ph) && ph.p_type == PT_LOAD)
			f->segment[f->nr_segments++] = (struct rec_segment){
				ph.p_offset, ph.p_filesz, ph.p_vaddr, ph.p_flags & PF_X,
			};
}

/* perf may pad short build-ids with zeros */
static bool same_id(const struct nt_perfdata_build_id *a, const uint8_t *id, size_t size)
{
	static const uint8_t zero[NT_PERFDATA_BUILD_ID_MAX];

	if (size > a->size || memcmp(a->data, id, size))
		return false;
	return !memcmp(a->data + size, zero, a->size - size);
}

static void set_id(struct nt_perfdata_build_id *to, const uint8_t *id, size_t size)
{
	if (size > sizeof(to->data))
		return;
	memcpy(to->data, id, size);
	to->size = (uint8_t)size;
}

enum found { FOUND, NOT_THERE, ANOTHER };	/* ANOTHER: its build-id differs */

/* Use the file if its build-id matches. With `given', a file without a build-id also matches. */
static enum found take(struct rec_file *f, const char *path, bool given)
{
	uint8_t id[64];
	size_t size;
	struct stat st;
	Elf *elf;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	/* the file may exist; treating it as missing would report losses of trace that is intact */
	if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == EIO ||
		       errno == ESTALE))
		die("%s: %s", path, strerror(errno));
	if (fd < 0)
		return NOT_THERE;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return NOT_THERE;
	}
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	size = elf ? read_build_id(elf, id, sizeof(id)) : 0;
	if (f->id.size && (size ? !same_id(&f->id, id, size) : !given)) {
		elf_end(elf);
		close(fd);
		return ANOTHER;
	}
	set_id(&f->own_id, id, size);
	f->fd = fd;
	f->path = strdup(path);
	if (!f->path)
		die("%s", nt_strerror(NT_ENOMEM));
	if (elf)
		read_segments(f, elf);
	elf_end(elf);
	return FOUND;
}

/* --------------------------------------------------------- where to look - */

static void hex_id(const struct nt_perfdata_build_id *id, char *hex)
{
	size_t i, size = id->size;

	/* perf pads an id of 16 bytes to 20; the file's name has 32 digits */
	while (size > 16 && !id->data[size - 1])
		size--;
	for (i = 0; i < size; i++)
		sprintf(hex + 2 * i, "%02x", id->data[i]);
	hex[2 * size] = '\0';
}

static enum found in_buildid_dir(const struct rec *rec, struct rec_file *f, const char *hex)
{
	const char *dir = rec->options->buildid_dir, *home = getenv("HOME");
	char path[PATH_MAX];
	int n;

	if (dir)
		n = snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s/%s", dir, hex, hex + 2,
			     f->vdso ? "vdso" : "elf");
	else
		n = snprintf(path, sizeof(path), "%s/.debug/.build-id/%.2s/%s/%s",
			     home ? home : "", hex, hex + 2, f->vdso ? "vdso" : "elf");
	return n < (int)sizeof(path) ? take(f, path, true) : NOT_THERE;
}

static enum found in_debuginfod_cache(struct rec_file *f, const char *hex)
{
	const char *cache = getenv("DEBUGINFOD_CACHE_PATH"), *xdg = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	char path[PATH_MAX];
	int n;

	if (cache)
		n = snprintf(path, sizeof(path), "%s/%s/executable", cache, hex);
	else if (xdg)
		n = snprintf(path, sizeof(path), "%s/debuginfod_client/%s/executable", xdg, hex);
	else
		n = snprintf(path, sizeof(path), "%s/.cache/debuginfod_client/%s/executable",
			     home ? home : "", hex);
	return n < (int)sizeof(path) ? take(f, path, true) : NOT_THERE;
}

static enum found in_symfs(const struct rec *rec, struct rec_file *f)
{
	char path[PATH_MAX];

	if (!rec->options->symfs ||
	    snprintf(path, sizeof(path), "%s/%s", rec->options->symfs, f->name) >=
		    (int)sizeof(path))
		return NOT_THERE;
	return take(f, path, false);
}

/* Without a build-id in the file, its name has to match. */
static enum found in_program(const struct rec *rec, struct rec_file *f)
{
	const char *program = rec->options->program, *slash = strrchr(f->name, '/');
	bool same = program && slash && !strcmp(slash + 1, last_part(program));

	return program && (same || f->id.size) ? take(f, program, same) : NOT_THERE;
}

static void open_file(struct rec *rec, struct rec_file *f)
{
	char hex[2 * NT_PERFDATA_BUILD_ID_MAX + 1] = "";
	enum found found = in_symfs(rec, f);
	bool another = found == ANOTHER;

	f->opened = true;
	if (f->id.size)
		hex_id(&f->id, hex);
	if (found != FOUND && *hex)
		found = in_buildid_dir(rec, f, hex);
	if (found != FOUND && *hex)
		found = in_debuginfod_cache(f, hex);
	if (found != FOUND && *f->name == '/' && !rec->options->symfs) {
		found = take(f, f->name, false);
		another |= found == ANOTHER;
	}
	if (found != FOUND)
		found = in_program(rec, f);
	if (found == FOUND || *f->name != '/')
		return;
	if (another)
		rec_warn(rec, "%s is not the file that was recorded, its build-id is another, or it has none: its trace cannot be decoded (see --symfs, --buildid-dir)",
			 f->name);
	else
		rec_warn(rec, "cannot find %s: its trace cannot be decoded (see --symfs, --buildid-dir)",
			 f->name);
}

/* --------------------------------------------------------------- public -- */

/* For records without a build-id, the header has the build-ids of files that were hit. */
static void find_id(struct rec *rec, struct rec_file *f)
{
	struct nt_perfdata_file_id id;
	size_t i;

	for (i = 0; nt_perfdata_file_id(rec->pd, i, &id) > 0; i++) {
		if (strcmp(id.name, f->name))
			continue;
		f->id = id.build_id;
		return;
	}
}

struct rec_file *rec_file_get(struct rec *rec, const char *name,
			      const struct nt_perfdata_build_id *id)
{
	struct rec_file *f;

	for (f = rec->files; f; f = f->next)
		if (!strcmp(f->name, name) && (!id->size || (f->id.size == id->size &&
		    !memcmp(f->id.data, id->data, id->size))))
			return f;
	f = calloc(1, sizeof(*f));
	if (f)
		f->name = strdup(name);
	if (!f || !f->name)
		die("%s", nt_strerror(NT_ENOMEM));
	f->fd = -1;
	f->id = *id;
	f->vdso = !strcmp(name, "[vdso]");
	if (!f->id.size)
		find_id(rec, f);
	f->next = rec->files;
	rec->files = f;
	return f;
}

/* The vDSO is not a file. perf.data contains a copy of the recorded kernel's vDSO. */
static int read_vdso(const struct rec *rec, uint64_t offset, void *buf, size_t len)
{
	if (offset >= rec->info.vdso_size)
		return 0;
	if (len > rec->info.vdso_size - offset)
		len = rec->info.vdso_size - offset;
	memcpy(buf, (uint8_t *)rec->info.vdso + offset, len);
	return (int)len;
}

static void open_vdso(struct rec *rec, struct rec_file *f)
{
	uint8_t id[64];
	Elf *elf;

	f->opened = true;
	elf_version(EV_CURRENT);
	elf = elf_memory(rec->info.vdso, rec->info.vdso_size);
	if (elf) {
		read_segments(f, elf);
		set_id(&f->own_id, id, read_build_id(elf, id, sizeof(id)));
	}
	elf_end(elf);
}

struct nt_perfdata_build_id rec_file_id(int fd)
{
	struct nt_perfdata_build_id own = { .size = 0 };
	uint8_t id[64];
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf)
		set_id(&own, id, read_build_id(elf, id, sizeof(id)));
	elf_end(elf);
	return own;
}

bool rec_file_open(struct rec *rec, struct rec_file *f)
{
	bool here = f->vdso && rec->info.vdso_size;

	if (!f->opened && here)
		open_vdso(rec, f);
	else if (!f->opened)
		open_file(rec, f);
	return here || f->fd >= 0;
}

int rec_file_read(struct rec *rec, struct rec_file *f, uint64_t offset, void *buf, size_t len)
{
	ssize_t n;

	if (!rec_file_open(rec, f) || offset > INT64_MAX)
		return 0;
	if (f->fd < 0)
		return read_vdso(rec, offset, buf, len);
	n = pread(f->fd, buf, len, offset);
	return n > 0 ? (int)n : 0;
}

bool rec_file_address(const struct rec_file *f, uint64_t offset, uint64_t *addr)
{
	size_t i;

	for (i = 0; i < f->nr_segments; i++) {
		const struct rec_segment *s = &f->segment[i];

		if (offset < s->offset || offset - s->offset >= s->size)
			continue;
		*addr = offset - s->offset + s->addr;
		return true;
	}
	return false;
}

void rec_files_free(struct rec *rec)
{
	struct rec_file *f;

	while ((f = rec->files)) {
		rec->files = f->next;
		if (f->fd >= 0)
			close(f->fd);
		symbols_free(f->symbols);
		free(f->segment);
		free(f->path);
		free(f->name);
		free(f);
	}
}
