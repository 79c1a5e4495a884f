/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libntrace-perfdata: reads perf.data files, as perf record writes them
 *
 * A reader returns the records of a recording one after the other, in file order, both raw and
 * parsed. It reads regular files, pipes, folders (--kcore, --threads), each file of
 * --switch-output, and compressed records (-z). Trace data is not part of records, but can be read
 * at any time with nt_perfdata_read().
 *
 * Conventions, valid for every function below:
 *
 *   Errors	Functions returning int return >= 0 on success and a negative
 *		enum nt_perfdata_error on failure; nt_perfdata_message() has the
 *		text, with file, offset and problem.
 *   Damage	A damaged or truncated file is read up to the damage.  Every length
 *		is checked before use.
 *   Sizes	Structures here are filled by the library and may grow: functions
 *		named *_sized() take the size that the caller knows, and inline
 *		functions pass it.
 *   Ownership	Objects of nt_perfdata_new() are freed by nt_perfdata_free();
 *		nt_perfdata_free(NULL) is allowed.  Pointers in a record are valid
 *		until the next call for the same reader.
 *   Threads	There is no global state.  A reader may be used by one thread at a
 *		time, different readers by different threads.
 *   Memory	A window of 256 KiB, the memory of the decompressor (at most 128 MiB,
 *		by the format), attributes and IDs of the events, and requested
 *		features.  Data from a pipe, and decompressed AUX area samples, are
 *		stored in unnamed files in TMPDIR.
 *   Byte order	That of this machine.  Files of the other byte order are refused.
 *   Version	LIBNTRACE_VERSION: the libraries are built together.
 */
#ifndef NT_PERFDATA_H
#define NT_PERFDATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum nt_perfdata_error {
	NT_PERFDATA_OK,
	NT_PERFDATA_EINVAL,	/* an argument is not allowed */
	NT_PERFDATA_ENOMEM,	/* out of memory */
	NT_PERFDATA_EFILE,	/* a file cannot be read; see errno */
	NT_PERFDATA_EFORMAT,	/* not a perf.data */
	NT_PERFDATA_EORDER,	/* from a machine of the other byte order */
	NT_PERFDATA_ENOTSUP,	/* a perf.data that this library cannot read */
	NT_PERFDATA_EDAMAGED,	/* damaged or truncated */
	NT_PERFDATA_ERROR_MAX
};

struct nt_perfdata;

struct nt_perfdata *nt_perfdata_new(void);
void nt_perfdata_free(struct nt_perfdata *pd);

/* The text of this reader's last error, with its position; "" if there was none */
const char *nt_perfdata_message(const struct nt_perfdata *pd);

/* ------------------------------------------------------------- opening ---- */

/* Do these first bytes of a file begin a perf.data of either byte order?  8 bytes suffice. */
bool nt_perfdata_is(const void *buf, size_t len);

/*
 * Open a file, a folder, a pipe by its name, or "-" for standard input.  In a folder with a file
 * `data', this and data.0, data.1 ... are read.  A reader can be opened only once.
 */
int nt_perfdata_open(struct nt_perfdata *pd, const char *path);

/* Open a file descriptor, which stays open and the caller's; `name' is for messages. */
int nt_perfdata_open_fd(struct nt_perfdata *pd, int fd, const char *name);

/* Open bytes in memory, which stay the caller's, unchanged */
int nt_perfdata_open_memory(struct nt_perfdata *pd, const void *buf, size_t len);

/*
 * Open what another reader has open, after all its records were read: both continue at their own
 * positions, in any order. Data from a pipe is not stored twice.
 */
int nt_perfdata_open_again(struct nt_perfdata *pd, const struct nt_perfdata *other);

/*
 * The name of a file beside the data: `name' in the opened folder, e.g. "kcore_dir/kcore". Returns
 * its length, truncated to `size' like snprintf(); 0 if no folder was opened.
 */
int nt_perfdata_beside(const struct nt_perfdata *pd, const char *name, char *buf, size_t size);

/* Is it in pipe mode (perf record -o -)?  Such a file has no header with sections. */
bool nt_perfdata_is_pipe(const struct nt_perfdata *pd);

/* ------------------------------------------------------------- records ---- */

/* Types of records: those of perf_event_open(2) and perf's own (64 and more) */
enum nt_perfdata_type {
	NT_PERFDATA_MMAP = 1,
	NT_PERFDATA_LOST = 2,
	NT_PERFDATA_COMM = 3,
	NT_PERFDATA_EXIT = 4,
	NT_PERFDATA_FORK = 7,
	NT_PERFDATA_SAMPLE = 9,
	NT_PERFDATA_MMAP2 = 10,
	NT_PERFDATA_AUX = 11,
	NT_PERFDATA_ITRACE_START = 12,
	NT_PERFDATA_LOST_SAMPLES = 13,
	NT_PERFDATA_SWITCH = 14,
	NT_PERFDATA_SWITCH_CPU_WIDE = 15,
	NT_PERFDATA_NAMESPACES = 16,
	NT_PERFDATA_KSYMBOL = 17,
	NT_PERFDATA_TEXT_POKE = 20,
	NT_PERFDATA_AUX_OUTPUT_HW_ID = 21,
	NT_PERFDATA_USER_FIRST = 64,
	NT_PERFDATA_HEADER_ATTR = 64,
	NT_PERFDATA_HEADER_TRACING_DATA = 66,
	NT_PERFDATA_HEADER_BUILD_ID = 67,
	NT_PERFDATA_FINISHED_ROUND = 68,
	NT_PERFDATA_ID_INDEX = 69,
	NT_PERFDATA_AUXTRACE_INFO = 70,
	NT_PERFDATA_AUXTRACE = 71,
	NT_PERFDATA_AUXTRACE_ERROR = 72,
	NT_PERFDATA_TIME_CONV = 79,
	NT_PERFDATA_HEADER_FEATURE = 80,
	NT_PERFDATA_COMPRESSED = 81,	/* never returned: its records are */
	NT_PERFDATA_COMPRESSED2 = 83,
};

/* Bits of misc */
#define NT_PERFDATA_MISC_CPUMODE	0x0007
#define NT_PERFDATA_MISC_KERNEL		1
#define NT_PERFDATA_MISC_USER		2
#define NT_PERFDATA_MISC_COMM_EXEC	0x2000
#define NT_PERFDATA_MISC_FORK_EXEC	0x2000	/* synthesized by perf: the task existed before */
#define NT_PERFDATA_MISC_SWITCH_OUT	0x2000

/* Flags of AUX records */
#define NT_PERFDATA_AUX_TRUNCATED	0x01
#define NT_PERFDATA_AUX_OVERWRITE	0x02
#define NT_PERFDATA_AUX_PARTIAL		0x04
#define NT_PERFDATA_AUX_COLLISION	0x08

#define NT_PERFDATA_BUILD_ID_MAX	20

struct nt_perfdata_build_id {
	uint8_t size;			/* 0: none */
	uint8_t data[NT_PERFDATA_BUILD_ID_MAX];
};

struct nt_perfdata_mmap {
	int32_t pid, tid;	/* pid -1: the kernel */
	uint64_t start, len, pgoff;
	uint32_t prot;		/* MMAP: PROT_EXEC unless misc has the bit for data */
	uint32_t flags;
	uint32_t maj, min;	/* MMAP2 without build-id */
	uint64_t ino, ino_generation;
	struct nt_perfdata_build_id build_id;
	const char *name;
};

/* The members of a record that are valid */
#define NT_PERFDATA_HAS_TID	0x01	/* pid, tid */
#define NT_PERFDATA_HAS_TIME	0x02
#define NT_PERFDATA_HAS_CPU	0x04
#define NT_PERFDATA_HAS_ID	0x08

struct nt_perfdata_record {
	uint32_t type;			/* enum nt_perfdata_type, or another one */
	uint16_t misc;
	uint8_t has;			/* NT_PERFDATA_HAS_* */
	bool compressed;		/* from a compressed record, whose offset this has */
	uint32_t file;			/* 0; in a folder: the file, data.0 being 1 */
	uint64_t offset;		/* in that file */
	const uint8_t *data;		/* the whole record, including its header */
	uint32_t len;
	/* what the kernel appends to a record, or a sample begins with */
	int32_t pid, tid;
	uint32_t cpu;
	int32_t event;			/* index, see nt_perfdata_event(); -1: unknown */
	uint64_t time, id;
	union {
		struct nt_perfdata_mmap mmap;	/* MMAP, MMAP2 */
		struct {
			int32_t pid, tid;
			const char *name;
		} comm;
		struct {		/* FORK, EXIT */
			int32_t pid, ppid, tid, ptid;
			uint64_t time;
		} task;
		struct {
			uint64_t offset, size, flags;
		} aux;
		struct {
			int32_t pid, tid;
		} itrace_start;
		struct {		/* SWITCH_CPU_WIDE: the other task */
			int32_t pid, tid;
		} other;
		struct {		/* LOST; LOST_SAMPLES with id 0 */
			uint64_t id, lost;
		} lost;
		struct {
			int32_t pid, tid;
			uint64_t nr;
			const uint8_t *links;	/* nr times device and inode, 64 bits each */
		} namespaces;
		struct {
			uint64_t addr;
			uint32_t len;
			uint16_t type, flags;
			const char *name;
		} ksymbol;
		struct {
			uint64_t addr;
			uint16_t old_len, new_len;
			const uint8_t *bytes;	/* old bytes, then new bytes */
		} text_poke;
		uint64_t hw_id;		/* AUX_OUTPUT_HW_ID */
		struct {		/* SAMPLE: AUX area sample; size 0: none */
			uint64_t size;
			uint64_t at;	/* of the first byte, for nt_perfdata_read() ... */
			uint32_t file;	/* ... of this file; a temporary one if compressed */
		} aux_sample;
		struct {
			uint32_t type;
			size_t words;	/* of 64 bits, not aligned */
			const uint8_t *priv;
		} auxtrace_info;
		struct {
			uint64_t size, offset, reference;
			uint32_t idx;
			int32_t tid, cpu;
			uint64_t at;	/* of the first byte in the file, for nt_perfdata_read() */
			uint64_t there;	/* bytes in the file: fewer if it is truncated */
		} auxtrace;
		struct {
			uint32_t type, code;
			int32_t cpu, pid, tid;
			uint64_t ip, time;	/* time 0: unknown */
			const char *message;
		} auxtrace_error;
		struct {
			uint64_t shift, mult, zero, cycles, mask;
			bool zero_valid, short_counter;
			uint8_t reserved[6];
		} time_conv;
	};
};

/*
 * Get the next record.  Returns 1; 0: there are no more.  After -NT_PERFDATA_EDAMAGED, reading can
 * continue with the next file of a folder; otherwise, the next call returns 0.
 */
int nt_perfdata_next_sized(struct nt_perfdata *pd, struct nt_perfdata_record *rec, size_t size);

static inline int nt_perfdata_next(struct nt_perfdata *pd, struct nt_perfdata_record *rec)
{
	return nt_perfdata_next_sized(pd, rec, sizeof(*rec));
}

/* Start again with the first record. */
int nt_perfdata_rewind(struct nt_perfdata *pd);

/*
 * Read bytes of file number `file', as in records, or aux_sample.file for samples.  Returns the
 * number of bytes, less than `len' only at the end of the file.  At most INT_MAX.
 */
int nt_perfdata_read(struct nt_perfdata *pd, unsigned int file, uint64_t offset, void *buf,
		     size_t len);

/* The size of all files, and the part read so far; of a pipe, what has arrived. */
void nt_perfdata_progress(const struct nt_perfdata *pd, uint64_t *done, uint64_t *total);

/* -------------------------------------------------------------- events ---- */

/* A recorded event: a perf_event_attr */
struct nt_perfdata_event {
	uint32_t type;
	uint64_t config, config1, config2;
	uint64_t sample_type, read_format;
	uint64_t flags;		/* its bit field; bit 0 is `disabled' */
	uint32_t nr_ids;
	uint64_t branch_sample_type, regs_user, regs_intr;
};

/* Bits of flags */
#define NT_PERFDATA_EXCLUDE_USER	(1ull << 4)
#define NT_PERFDATA_EXCLUDE_KERNEL	(1ull << 5)
#define NT_PERFDATA_SAMPLE_ID_ALL	(1ull << 18)

/* The number of events; in pipe mode, those in records so far */
unsigned int nt_perfdata_events(const struct nt_perfdata *pd);

/* 0, or -NT_PERFDATA_EINVAL if there is no such event */
int nt_perfdata_event_sized(const struct nt_perfdata *pd, unsigned int index,
			    struct nt_perfdata_event *event, size_t size);

static inline int nt_perfdata_event(const struct nt_perfdata *pd, unsigned int index,
				    struct nt_perfdata_event *event)
{
	return nt_perfdata_event_sized(pd, index, event, sizeof(*event));
}

/* The meaning of an ID.  idx, cpu, tid come from ID_INDEX records; -1 without one */
struct nt_perfdata_id {
	uint64_t id;
	int32_t event;		/* index; -1: no event has it */
	int32_t idx;		/* index of the buffer */
	int32_t cpu, tid;
};

/* False: no event has it. */
bool nt_perfdata_find_id_sized(const struct nt_perfdata *pd, uint64_t id,
			       struct nt_perfdata_id *found, size_t size);

static inline bool nt_perfdata_find_id(const struct nt_perfdata *pd, uint64_t id,
				       struct nt_perfdata_id *found)
{
	return nt_perfdata_find_id_sized(pd, id, found, sizeof(*found));
}

/* Iterate over the known IDs, in no particular order: *at is initially 0; false at the end */
bool nt_perfdata_next_id_sized(const struct nt_perfdata *pd, size_t *at, struct nt_perfdata_id *id,
			       size_t size);

static inline bool nt_perfdata_next_id(const struct nt_perfdata *pd, size_t *at,
				       struct nt_perfdata_id *id)
{
	return nt_perfdata_next_id_sized(pd, at, id, sizeof(*id));
}

/* ------------------------------------------------------------ features ---- */

/* Features of a header */
enum nt_perfdata_feature {
	NT_PERFDATA_FEAT_BUILD_ID = 2,
	NT_PERFDATA_FEAT_HOSTNAME = 3,
	NT_PERFDATA_FEAT_OSRELEASE = 4,
	NT_PERFDATA_FEAT_VERSION = 5,
	NT_PERFDATA_FEAT_ARCH = 6,
	NT_PERFDATA_FEAT_CPUDESC = 8,
	NT_PERFDATA_FEAT_CPUID = 9,
	NT_PERFDATA_FEAT_CMDLINE = 11,
	NT_PERFDATA_FEAT_MAX = 256,
};

/*
 * Get the bytes of a feature, which the reader owns.  Returns 1; 0: the recording does not have it
 * (in pipe mode: not yet); -NT_PERFDATA_EDAMAGED: it is not where the header says.
 */
int nt_perfdata_feature(struct nt_perfdata *pd, unsigned int feature, const uint8_t **data,
			size_t *len);

/*
 * Get a feature that is one string: HOSTNAME, OSRELEASE, VERSION, ARCH, CPUDESC, CPUID; or an
 * argument of CMDLINE, from number 0 on.  Returns as above.
 */
int nt_perfdata_string(struct nt_perfdata *pd, unsigned int feature, unsigned int nr,
		       const char **string);

/* The build-id of a file */
struct nt_perfdata_file_id {
	uint16_t misc;		/* the owner: NT_PERFDATA_MISC_KERNEL ... */
	int32_t pid;
	struct nt_perfdata_build_id build_id;
	const char *name;
};

/* Get the build-ids of the header, from number 0 on.  Returns the same as nt_perfdata_feature() */
int nt_perfdata_file_id_sized(struct nt_perfdata *pd, size_t nr, struct nt_perfdata_file_id *id,
			      size_t size);

static inline int nt_perfdata_file_id(struct nt_perfdata *pd, size_t nr,
				      struct nt_perfdata_file_id *id)
{
	return nt_perfdata_file_id_sized(pd, nr, id, sizeof(*id));
}

#ifdef __cplusplus
}
#endif

#endif /* NT_PERFDATA_H */
