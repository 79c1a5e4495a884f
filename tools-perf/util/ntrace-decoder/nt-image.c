// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Code from files: loadable ELF segments and raw memory.  Only in the stand-alone library; perf has
 * its own code for this.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nt-int.h"

struct mapping {
	void *base;
	size_t size;
};

struct segment {
	uint64_t start;
	uint64_t size;
	const uint8_t *bytes;
};

struct nt_image {
	struct mapping *maps;
	size_t nr_maps;
	struct segment *segs;
	size_t nr_segs;
	unsigned int xlen;
	char *isa;
};

/* ----------------------------------------------------------- collecting -- */

static void *grow(void *array, size_t count, size_t size)
{
	/* the capacity doubles at each power of two */
	if (count & (count - 1))
		return array;
	return reallocarray(array, count ? 2 * count : 1, size);
}

static int add_segment(struct nt_image *image, uint64_t start, const uint8_t *bytes,
		       uint64_t size)
{
	struct segment *segs = grow(image->segs, image->nr_segs, sizeof(*segs));

	if (!segs)
		return -NT_ENOMEM;
	image->segs = segs;
	segs[image->nr_segs++] = (struct segment){ start, size, bytes };
	return 0;
}

/* Map a file permanently.  0, -NT_EFILE, -NT_EFORMAT (empty) or -NT_ENOMEM */
static int map_file(struct nt_image *image, int fd, struct mapping *map)
{
	struct mapping *maps;
	struct stat st;

	if (fstat(fd, &st))
		return -NT_EFILE;
	if (!S_ISREG(st.st_mode)) {
		errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
		return -NT_EFILE;
	}
	if (!st.st_size)
		return -NT_EFORMAT;
	maps = grow(image->maps, image->nr_maps, sizeof(*maps));
	if (!maps)
		return -NT_ENOMEM;
	image->maps = maps;
	map->size = st.st_size;
	map->base = mmap(NULL, map->size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (map->base == MAP_FAILED)
		return -NT_EFILE;
	maps[image->nr_maps++] = *map;
	return 0;
}

static int map_path(struct nt_image *image, const char *path, struct mapping *map)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int ret;

	if (fd < 0)
		return -NT_EFILE;
	ret = map_file(image, fd, map);
	close(fd);
	return ret;
}

/* ------------------------------------------------------------------ ELF -- */

/*
 * The ISA string in a .riscv.attributes section: 'A', then vendor sections with a length, a name
 * and attribute lists; in these, tag 5 is the string.  The file's content is not trusted.
 */
struct attrs {
	const uint8_t *p, *end;
};

static uint64_t get_uleb(struct attrs *a)
{
	uint64_t v = 0;
	unsigned int shift = 0;

	while (a->p < a->end) {
		uint8_t byte = *a->p++;

		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (!(byte & 0x80))
			break;
	}
	return v;
}

/* A 0-terminated string; NULL if its end is missing */
static const char *get_string(struct attrs *a)
{
	const char *s = (const char *)a->p;
	const uint8_t *nul = memchr(a->p, 0, a->end - a->p);

	if (!nul)
		return NULL;
	a->p = nul + 1;
	return s;
}

/* Split off the next piece with a length prefix; the length includes itself. */
static bool get_piece(struct attrs *a, size_t before, struct attrs *piece)
{
	uint32_t len;

	if (a->end - a->p < 4)
		return false;
	len = a->p[0] | a->p[1] << 8 | a->p[2] << 16 | (uint32_t)a->p[3] << 24;
	if (len < before + 4 || len - before > (size_t)(a->end - a->p))
		return false;
	piece->p = a->p + 4;
	piece->end = a->p + (len - before);
	a->p = piece->end;
	return true;
}

#define TAG_FILE	1
#define TAG_ARCH	5

static const char *find_arch(struct attrs *list)
{
	while (list->p < list->end) {
		uint64_t tag = get_uleb(list);

		if (tag & 1) {
			const char *s = get_string(list);

			if (!s || tag == TAG_ARCH)
				return s;
		} else {
			get_uleb(list);
		}
	}
	return NULL;
}

static const char *attributes_isa(const void *bytes, size_t size)
{
	struct attrs a = { bytes, (const uint8_t *)bytes + size }, vendor, list;

	if (!size || *a.p++ != 'A')
		return NULL;
	while (get_piece(&a, 0, &vendor)) {
		const char *name = get_string(&vendor);

		if (!name || strcmp(name, "riscv"))
			continue;
		while (vendor.p < vendor.end) {
			uint8_t tag = *vendor.p++;
			const char *isa;

			if (!get_piece(&vendor, 1, &list))
				break;
			isa = tag == TAG_FILE ? find_arch(&list) : NULL;
			if (isa)
				return isa;
		}
	}
	return NULL;
}

#ifndef SHT_RISCV_ATTRIBUTES
#define SHT_RISCV_ATTRIBUTES	0x70000003
#endif

static int read_isa(struct nt_image *image, Elf *elf, const struct mapping *map)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while (!image->isa && (scn = elf_nextscn(elf, scn))) {
		const char *isa;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_RISCV_ATTRIBUTES)
			continue;
		if (sh.sh_offset > map->size || sh.sh_size > map->size - sh.sh_offset)
			continue;
		isa = attributes_isa((uint8_t *)map->base + sh.sh_offset, sh.sh_size);
		if (!isa)
			continue;
		image->isa = strdup(isa);
		if (!image->isa)
			return -NT_ENOMEM;
	}
	return 0;
}

static int add_elf_segments(struct nt_image *image, Elf *elf, const struct mapping *map,
			    uint64_t bias)
{
	size_t i, count, loaded = 0;

	if (elf_getphdrnum(elf, &count))
		return -NT_EFORMAT;
	for (i = 0; i < count; i++) {
		GElf_Phdr ph;
		int ret;

		/* the file may be truncated inside the program headers */
		if (!gelf_getphdr(elf, i, &ph))
			return -NT_EFORMAT;
		if (ph.p_type != PT_LOAD || !ph.p_filesz)
			continue;
		loaded++;
		if (ph.p_offset > map->size || ph.p_filesz > map->size - ph.p_offset)
			return -NT_EFORMAT;
		ret = add_segment(image, ph.p_vaddr + bias,
				  (uint8_t *)map->base + ph.p_offset, ph.p_filesz);
		if (ret)
			return ret;
	}
	/* an object file has no segments */
	return loaded ? 0 : -NT_EFORMAT;
}

static int add_elf(struct nt_image *image, Elf *elf, const struct mapping *map, uint64_t bias)
{
	GElf_Ehdr eh;
	int ret;

	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &eh) || eh.e_machine != EM_RISCV)
		return -NT_EFORMAT;
	if (!image->xlen)
		image->xlen = eh.e_ident[EI_CLASS] == ELFCLASS32 ? 32 : 64;
	ret = add_elf_segments(image, elf, map, bias);
	return ret ? ret : read_isa(image, elf, map);
}

int nt_image_add_elf(struct nt_image *image, const char *path, uint64_t bias)
{
	struct mapping map;
	Elf *elf;
	int ret;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return -NT_ENOTSUP;
	ret = map_path(image, path, &map);
	if (ret)
		return ret;
	elf = elf_memory(map.base, map.size);
	if (!elf)
		return -NT_EFORMAT;
	ret = add_elf(image, elf, &map, bias);
	elf_end(elf);
	return ret;
}

/* ------------------------------------------------------------------ raw -- */

int nt_image_add_raw(struct nt_image *image, const char *path, uint64_t addr)
{
	struct mapping map;
	int ret = map_path(image, path, &map);

	/* an empty file has no code, which is not an error */
	if (ret)
		return ret == -NT_EFORMAT ? 0 : ret;
	return add_segment(image, addr, map.base, map.size);
}

/* -------------------------------------------------------------- reading -- */

static size_t read_segment(const struct segment *seg, uint64_t addr, void *buf, size_t len)
{
	uint64_t at = addr - seg->start;

	if (addr < seg->start || at >= seg->size)
		return 0;
	if (len > seg->size - at)
		len = seg->size - at;
	memcpy(buf, seg->bytes + at, len);
	return len;
}

int nt_image_read(void *ctx, uint64_t space, uint64_t addr, void *buf, size_t len)
{
	struct nt_image *image = ctx;
	size_t i;

	(void)space;
	len = len < INT_MAX ? len : INT_MAX;

	for (i = 0; i < image->nr_segs; i++) {
		const struct segment *seg = &image->segs[i];
		size_t got = read_segment(seg, addr, buf, len);

		if (got)
			return (int)got;
		/* it precedes segments that are still to be checked */
		if (seg->start > addr && seg->start - addr < len)
			len = seg->start - addr;
	}
	return 0;
}

unsigned int nt_image_xlen(const struct nt_image *image)
{
	return image->xlen;
}

const char *nt_image_isa(const struct nt_image *image)
{
	return image->isa;
}

struct nt_image *nt_image_new(void)
{
	return calloc(1, sizeof(struct nt_image));
}

void nt_image_free(struct nt_image *image)
{
	size_t i;

	if (!image)
		return;
	for (i = 0; i < image->nr_maps; i++)
		munmap(image->maps[i].base, image->maps[i].size);
	free(image->maps);
	free(image->segs);
	free(image->isa);
	free(image);
}
