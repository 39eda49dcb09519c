/*
 * ggufx/file.h: open a GGUF file (one file or a split set), read its metadata, find its tensors.
 *
 * Strings are (pointer, length) views that live as long as their owner; they may hold any byte,
 * also NUL. Every number of a file is checked before use; an error names the field, its value,
 * the limit and its byte offset.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_FILE_H
#define GGUFX_FILE_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An opened file: metadata and tensor directory, immutable. */
typedef struct ggufx_file ggufx_file;

/* Typed, shaped, strided view of weight bytes, immutable. Those of ggufx_file_tensor are borrowed:
 * valid until the file is destroyed, never destroyed themselves. */
typedef struct ggufx_tensor ggufx_tensor;

/* ---- open ----------------------------------------------------------------------------------- */

/* How tensor data get into memory. */
enum {
    GGUFX_IO_AUTO = 0, /* map when possible, else read */
    GGUFX_IO_MAP = 1,  /* map or fail */
    GGUFX_IO_READ = 2  /* read into memory of the runtime's allocator */
};

/* tensor data are neither needed nor readable: the file may end anywhere behind its tensor
 * directory */
#define GGUFX_OPEN_METADATA_ONLY 1u
#define GGUFX_OPEN_POPULATE 2u       /* read all mapped pages now */
#define GGUFX_OPEN_HUGE_PAGES 4u     /* ask for huge pages where the system has them */
#define GGUFX_OPEN_LOCK 8u           /* lock the data in memory; fails with IO when not allowed */
#define GGUFX_OPEN_STRICT 16u        /* refuse what ggml's reader refuses: gaps, order, nesting */
#define GGUFX_OPEN_LEGACY_V1 32u     /* accept version 1 (2023; 32-bit counts) */
#define GGUFX_OPEN_UNKNOWN_TYPES 64u /* list tensors of unknown type; their data are not readable */
#define GGUFX_OPEN_SINGLE 128u       /* this file alone, even if it is a part of a split set */
#define GGUFX_OPEN_COPY 256u         /* ggufx_open_memory: copy the bytes */

typedef struct ggufx_open_options {
    uint32_t struct_size;
    uint32_t flags; /* GGUFX_OPEN_* */
    const void *next;
    int32_t dialect; /* whose ids 41.. mean what: 0 = ggml; nothing else is known yet */
    int32_t io;      /* GGUFX_IO_* */
    const ggufx_progress *progress; /* reported in bytes; NULL: cannot be cancelled */
    uint64_t max_metadata_bytes;    /* refuse larger metadata; 0 = 1 GiB */
    uint64_t max_keys;              /* refuse more keys; 0 = 1,048,576, at most 2^31 - 1 */
    uint64_t max_tensors;           /* of one file, likewise */
    uint64_t max_string_bytes;      /* refuse longer keys and strings; 0 = 1 GiB */
} ggufx_open_options;

/* Fill with defaults.   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_open_options_init(ggufx_open_options *options);

/*
 * Open a GGUF file by its UTF-8 path. Any name of a split set ("x-00002-of-00003.gguf") opens the
 * whole set. A big-endian file is read too; its tensor data are swapped into memory at open.
 * A mapped file that another process changes in place: keys, numbers, strings up to 4 KiB outside
 * of arrays, names and shapes stay those of the open; tensor data, elements of arrays and longer
 * strings may become other values, views of them other bytes, but never leave the file (a string of
 * an array whose length does not fit any more is MALFORMED). One that is cut raises SIGBUS at the
 * next access to the missing pages, as for any mapping. Choose GGUFX_IO_READ where that can happen,
 * or GGUFX_OPEN_COPY for memory: what is read once does not change. Borrowed memory and callbacks'
 * maps are as mapped files.
 * Errors: ARGUMENT, MEMORY, IO, NOT_FOUND, CANCELLED and every fault of a file (base.h).
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_open(ggufx_file **out, const ggufx_runtime *rt, const char *path,
                                  const ggufx_open_options *options, ggufx_error *error);

/* Open `length` bytes at `offset` of a file descriptor (a model inside an archive); length 0 = to
 * the end. The descriptor is duplicated: the caller keeps and closes its own. POSIX only, else
 * UNSUPPORTED. Errors as ggufx_open.   Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_open_fd(ggufx_file **out, const ggufx_runtime *rt, int32_t fd,
                                     uint64_t offset, uint64_t length,
                                     const ggufx_open_options *options, ggufx_error *error);

/*
 * Open a GGUF that stands in memory. Without GGUFX_OPEN_COPY the bytes are borrowed until
 * destroy(user) is called, which happens once: when the last user of the file is gone, or before
 * this call returns a failure (with COPY: before it returns at all). destroy may be NULL.
 * Errors as ggufx_open.   Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_open_memory(ggufx_file **out, const ggufx_runtime *rt,
                                         const void *data, size_t size, void (*destroy)(void *user),
                                         void *user, const ggufx_open_options *options,
                                         ggufx_error *error);

/* Read through callbacks. read_at returns GGUFX_OK when all n bytes were read. map and unmap may
 * be NULL; map returns NULL when it cannot. close(user) runs once, also when the open fails. Calls
 * other than unmap and close come from the opening thread only. */
typedef struct ggufx_io {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    const void *next;
    void *user;
    ggufx_status (*size)(void *user, uint64_t *out);
    ggufx_status (*read_at)(void *user, uint64_t offset, void *dst, size_t n);
    const void *(*map)(void *user, uint64_t offset, size_t n);
    void (*unmap)(void *user, const void *data, size_t n);
    void (*close)(void *user); /* may be NULL */
} ggufx_io;

/* Open through callbacks. Errors as ggufx_open.   Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_open_io(ggufx_file **out, const ggufx_runtime *rt, const ggufx_io *io,
                                     const ggufx_open_options *options, ggufx_error *error);

/* Drop the caller's reference; models and owned tensors keep theirs.
 * Threads: exclusive on file.   Since: 0.1. */
GGUFX_API void ggufx_file_destroy(ggufx_file *file);

typedef struct ggufx_file_facts {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* 0 */
    uint32_t version;     /* 1..3, of the first part */
    uint32_t big_endian;  /* 1 when the file is big-endian */
    uint64_t alignment;   /* of tensor data */
    uint64_t n_parts;     /* files of the set */
    uint64_t meta_end;    /* end of the tensor directory of the first part */
    uint64_t data_offset; /* start of its tensor data */
    uint64_t file_size;   /* of all parts */
    uint64_t n_meta;
    uint64_t n_tensors;
    uint64_t n_values;  /* over all tensors */
    uint64_t n_bytes;   /* of all tensors */
    uint64_t n_missing; /* bytes that the files lack behind their ends, for all tensor data; not 0
                           only when the head of a file was opened metadata-only */
} ggufx_file_facts;

/* Describe a file; out->struct_size must be set. Errors: ARGUMENT.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_file_info(ggufx_file_facts *out, const ggufx_file *file,
                                       ggufx_error *error);

/* ---- metadata ------------------------------------------------------------------------------- */

/* Types of metadata values, as in the file. */
enum {
    GGUFX_VALUE_U8 = 0,
    GGUFX_VALUE_I8 = 1,
    GGUFX_VALUE_U16 = 2,
    GGUFX_VALUE_I16 = 3,
    GGUFX_VALUE_U32 = 4,
    GGUFX_VALUE_I32 = 5,
    GGUFX_VALUE_F32 = 6,
    GGUFX_VALUE_BOOL = 7,
    GGUFX_VALUE_STRING = 8,
    GGUFX_VALUE_ARRAY = 9,
    GGUFX_VALUE_U64 = 10,
    GGUFX_VALUE_I64 = 11,
    GGUFX_VALUE_F64 = 12
};

typedef struct ggufx_meta_entry {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* 0 */
    int32_t type;         /* GGUFX_VALUE_* */
    int32_t element_type; /* of an array, else -1 */
    const char *key;      /* may hold any byte; NULL for a nested array */
    size_t key_length;
    uint64_t count;  /* elements of an array, bytes of a string, else 1 */
    uint64_t offset; /* of the value in the (first part's) file */
} ggufx_meta_entry;

/* Number of keys.   Threads: any number at once.   Since: 0.1. */
GGUFX_API size_t ggufx_file_meta_count(const ggufx_file *file);

/* Describe key number index in file order; out->struct_size must be set. Errors: ARGUMENT.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_file_meta_at(ggufx_meta_entry *out, const ggufx_file *file,
                                          size_t index, ggufx_error *error);

/* Index of a key of `length` bytes. Errors: ARGUMENT, NOT_FOUND.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_file_meta_find(size_t *out, const ggufx_file *file, const char *key,
                                            size_t length, ggufx_error *error);

/*
 * Scalars, widened where no value is lost: u64 and i64 take any integer type whose value fits and
 * bool as 0 or 1; f64 takes f32, f64 and integers up to 2^53; bool takes only bool (any non-zero
 * byte is true). An array of exactly one such element is accepted as a scalar.
 * Errors: ARGUMENT, KVTYPE (of another type), VALUE (does not fit).
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_file_meta_u64(uint64_t *out, const ggufx_file *file, size_t index,
                                           ggufx_error *error);
/* As ggufx_file_meta_u64, signed.   Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_file_meta_i64(int64_t *out, const ggufx_file *file, size_t index,
                                           ggufx_error *error);
/* As ggufx_file_meta_u64, floating point.   Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_file_meta_f64(double *out, const ggufx_file *file, size_t index,
                                           ggufx_error *error);
/* As ggufx_file_meta_u64, 0 or 1 from a bool.   Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_file_meta_bool(int32_t *out, const ggufx_file *file, size_t index,
                                            ggufx_error *error);
/* A string, borrowed from the file, not NUL-terminated. Errors: ARGUMENT, KVTYPE, MALFORMED (of an
 * array of one: the file was changed).
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_file_meta_string(const char **out, size_t *out_length,
                                              const ggufx_file *file, size_t index,
                                              ggufx_error *error);

/*
 * Elements first..first+n-1 of an array of numbers or bools, widened as the scalar getters do; a
 * scalar counts as an array of one. Errors: ARGUMENT (range), KVTYPE, VALUE (error->index says
 * which element).   Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_file_meta_array_u64(uint64_t *out, const ggufx_file *file,
                                                 size_t index, uint64_t first, size_t n,
                                                 ggufx_error *error);
/* As ggufx_file_meta_array_u64, signed.   Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_file_meta_array_i64(int64_t *out, const ggufx_file *file, size_t index,
                                                 uint64_t first, size_t n, ggufx_error *error);
/* As ggufx_file_meta_array_u64, floating point.   Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_file_meta_array_f64(double *out, const ggufx_file *file, size_t index,
                                                 uint64_t first, size_t n, ggufx_error *error);

/*
 * Element i of an array of strings, borrowed from the file. The first call on an array builds a
 * sparse table of offsets (MEMORY is possible then); later calls are quick.
 * Errors: ARGUMENT, KVTYPE, MEMORY, MALFORMED (the file was changed).   Threads: any number at
 * once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_file_meta_array_string(const char **out, size_t *out_length,
                                                    const ggufx_file *file, size_t index,
                                                    uint64_t i, ggufx_error *error);

/*
 * Element i of an array of arrays: gives an index that ggufx_file_meta_at and the array getters
 * take like a key's (it is not below ggufx_file_meta_count). Errors: ARGUMENT, KVTYPE.
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_file_meta_array_nested(size_t *out_index, const ggufx_file *file,
                                                    size_t index, uint64_t i, ggufx_error *error);

/* ---- tensors -------------------------------------------------------------------------------- */

#define GGUFX_MAX_DIMS 4 /* dimensions of a tensor */

typedef struct ggufx_tensor_facts {
    uint32_t struct_size;        /* set by the caller */
    uint32_t flags;              /* 0 */
    uint32_t type;               /* GGUFX_TYPE_* */
    uint32_t n_dims;             /* 0..4; a tensor of 0 dimensions holds one value */
    uint64_t ne[GGUFX_MAX_DIMS]; /* values per dimension, ne[0] along a row; 1 beyond n_dims */
    uint64_t row_bytes;          /* bytes of a row */
    uint64_t row_stride;         /* distance of two rows in bytes, >= row_bytes */
    uint64_t n_rows;             /* ne1 * ne2 * ne3 */
    uint64_t n_bytes;            /* as in the file: n_rows * row_bytes */
    uint64_t offset;      /* from the start of the data section of its file; NONE if wrapped */
    uint64_t file_offset; /* from the start of its file; NONE if wrapped */
    uint32_t part;        /* number of its file in a split set, from 0 */
    uint32_t memory_kind; /* 0: the processor's memory, 1: a device's (device.h) */
    const char *name;     /* may hold any byte */
    size_t name_length;
} ggufx_tensor_facts;

/* Number of tensors over all parts.   Threads: any number at once.   Since: 0.1. */
GGUFX_API size_t ggufx_file_tensor_count(const ggufx_file *file);

/* Tensor number index in file order, borrowed; NULL out of range.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API const ggufx_tensor *ggufx_file_tensor(const ggufx_file *file, size_t index);

/* Index of a tensor by its name of `length` bytes. Errors: ARGUMENT, NOT_FOUND.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_file_tensor_find(size_t *out, const ggufx_file *file, const char *name,
                                              size_t length, ggufx_error *error);

/* Describe a tensor; out->struct_size must be set. Errors: ARGUMENT.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_tensor_info(ggufx_tensor_facts *out, const ggufx_tensor *tensor,
                                         ggufx_error *error);

/* First byte of a tensor's data (rows at row_stride), NULL when they are not in memory (opened
 * metadata-only, unknown type, no values).   Threads: any number at once.   Since: 0.1. */
GGUFX_API const void *ggufx_tensor_data(const ggufx_tensor *tensor);

/*
 * Wrap blocks of the caller's as a tensor: ne[0..n_dims-1] values, rows `row_stride` bytes apart
 * (0 = dense; not smaller than a row), fields little-endian as in a file, on any host. data must
 * stay valid until destroy(user) is called, once, also when this call fails; destroy may be NULL.
 * name may be NULL.
 * Errors: ARGUMENT, MEMORY, TYPE, SHAPE, OVERFLOW, BOUNDS (n_bytes is too small).
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_tensor_wrap(ggufx_tensor **out, const ggufx_runtime *rt, uint32_t type,
                                         uint32_t n_dims, const uint64_t *ne, uint64_t row_stride,
                                         const void *data, uint64_t n_bytes, const char *name,
                                         void (*destroy)(void *user), void *user,
                                         ggufx_error *error);

/*
 * Part of a tensor: indices first..first+n-1 of dimension dim. Along dimension 0 (columns) both
 * must be multiples of the block. The slice shares the data and keeps their owner alive.
 * Errors: ARGUMENT (range), MEMORY, SHAPE (off a block border), UNSUPPORTED (the outer dimensions
 * would no longer be a list of evenly spaced rows).
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_tensor_slice(ggufx_tensor **out, const ggufx_tensor *tensor,
                                          uint32_t dim, uint64_t first, uint64_t n,
                                          ggufx_error *error);

/* Drop a wrapped tensor or a slice; a borrowed one is left alone.
 * Threads: exclusive on tensor.   Since: 0.1. */
GGUFX_API void ggufx_tensor_destroy(ggufx_tensor *tensor);

/* ---- validate ------------------------------------------------------------------------------- */

#define GGUFX_VALIDATE_DEEP 1u   /* look at all tensor data: NaN, infinities, bad scales */
#define GGUFX_VALIDATE_STRICT 2u /* report what ggml's own reader refuses */

typedef struct ggufx_finding {
    uint32_t struct_size;
    int32_t severity; /* GGUFX_LOG_ERROR, _WARNING or _INFO */
    int32_t status;   /* the code an open would give, or GGUFX_OK for a remark */
    uint32_t reserved;
    uint64_t offset;  /* in the file, or GGUFX_NONE */
    uint64_t index;   /* key or tensor, or GGUFX_NONE */
    const char *text; /* UTF-8, NUL-terminated, valid during the call */
    const char *name; /* key or tensor name, may be NULL, not NUL-terminated */
    size_t name_length;
} ggufx_finding;

/*
 * Check an opened file beyond what open already refuses. report is called per finding; non-zero
 * stops (CANCELLED). flags: GGUFX_VALIDATE_*. progress may be NULL (bytes looked at).
 * Returns GGUFX_OK also when there were findings.
 * Errors: ARGUMENT, CANCELLED, MEMORY, UNSUPPORTED (deep check of a metadata-only open).
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_validate(const ggufx_file *file, uint32_t flags,
                                      int32_t (*report)(void *user, const ggufx_finding *finding),
                                      void *user, const ggufx_progress *progress,
                                      ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
