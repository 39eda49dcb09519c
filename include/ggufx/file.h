/*
 * ggufx/file.h: open a GGUF file (one file or a split set), read its metadata, find its tensors.
 *
 * Strings are (pointer, length) views that live as long as their owner. They may contain any byte,
 * also NUL. Every number of a file is checked before use. An error names the field, its value, the
 * limit and its byte offset.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_FILE_H
#define GGUFX_FILE_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An opened file: metadata and tensor directory. Immutable. */
typedef struct ggufx_file ggufx_file;

/* View of weight data with type, shape and row stride. Immutable. A tensor that ggufx_file_tensor
 * returns is borrowed: it is valid until the file is destroyed and must not be destroyed itself. */
typedef struct ggufx_tensor ggufx_tensor;

/* ---- open ----------------------------------------------------------------------------------- */

/* How tensor data are loaded. */
typedef int32_t ggufx_io_mode;
enum {
    GGUFX_IO_AUTO = 0, /* memory-map if possible, else read */
    GGUFX_IO_MAP = 1,  /* memory-map or fail */
    GGUFX_IO_READ = 2  /* read into memory of the runtime's allocator */
};

/* Flags for opening a file. */
typedef uint32_t ggufx_open_flags;
/* Tensor data are neither needed nor readable: the file may end anywhere after its tensor
 * directory. */
#define GGUFX_OPEN_METADATA_ONLY 1u
#define GGUFX_OPEN_POPULATE 2u   /* read all mapped pages now */
#define GGUFX_OPEN_HUGE_PAGES 4u /* copy tensor data into huge pages */
#define GGUFX_OPEN_LOCK 8u       /* lock the data in memory; IO if the system does not allow it */
#define GGUFX_OPEN_STRICT 16u    /* refuse files that ggml's reader refuses: gaps, order, nesting */
#define GGUFX_OPEN_LEGACY_V1 32u /* accept version 1 (2023; 32-bit counts) */
#define GGUFX_OPEN_UNKNOWN_TYPES 64u /* list tensors of unknown type; their data are not readable */
#define GGUFX_OPEN_SINGLE 128u       /* open this file alone, even if it is a part of a split set */
#define GGUFX_OPEN_COPY 256u         /* ggufx_open_memory: copy the bytes */
#define GGUFX_OPEN_HUGE_AUTO 512u    /* the same as HUGE_PAGES where that pays */
#define GGUFX_OPEN_REREAD 1024u /* read a file again that is in the page cache in small pages */

typedef struct ggufx_open_options {
    uint32_t struct_size;
    ggufx_open_flags flags;
    int32_t dialect; /* definition of the type ids from 41 on: 0 = ggml, the only one known */
    ggufx_io_mode io;
    const ggufx_progress *progress; /* reported in bytes; NULL: cannot be cancelled */
    uint64_t max_metadata_bytes;    /* limit of the metadata; 0 = 1 GiB */
    uint64_t max_keys;    /* limit of the number of keys; 0 = 1,048,576, at most 2^31 - 1 */
    uint64_t max_tensors; /* limit of the tensors of one file; 0 = 1,048,576, at most 2^31 - 1 */
    uint64_t max_string_bytes; /* limit of a key or string; 0 = 1 GiB */
} ggufx_open_options;

/*
 * Opens a GGUF file by its UTF-8 path.
 *
 * Any part of a split set ("x-00002-of-00003.gguf") opens the whole set. Big-endian files are
 * supported; their tensor data are byte-swapped into memory at open.
 *
 * Tensor data in huge pages (2 MiB) are read faster. A mapping of a file has them without a copy if
 * its file system and the page cache do (Linux). Otherwise:
 *
 * - GGUFX_OPEN_HUGE_PAGES with GGUFX_IO_AUTO copies a file into memory of the runtime's allocator,
 *   with all threads, and ends its mapping. Without huge pages, the file stays mapped, and the log
 *   has a warning. With GGUFX_IO_READ it requests huge pages for the data that are read.
 * - GGUFX_OPEN_HUGE_AUTO does so for 32 MiB and more, only if the mapping has small pages and memory
 *   is free. The copy must leave half of its size of the machine's memory, and of the limits of the
 *   process and its control groups.
 * - GGUFX_OPEN_REREAD drops the file from the page cache before it is mapped, if it has small pages
 *   there. Pages that other processes have mapped stay.
 *
 * If another process changes a mapped file in place:
 *
 * - Keys, numbers, names, shapes, and strings up to 4 KiB outside of arrays keep the values of the
 *   open.
 * - Tensor data, array elements and longer strings may change, but views of them never leave the
 *   file. A string of an array whose length no longer fits is MALFORMED.
 * - A truncated file raises SIGBUS at the next access to a missing page, like any mapping.
 *
 * GGUFX_IO_READ, a copy in huge pages, or GGUFX_OPEN_COPY for memory, protects against such changes.
 * Borrowed memory and maps of callbacks behave like mapped files.
 *
 * Errors: ARGUMENT, MEMORY, IO, NOT_FOUND, CANCELLED, and the faults of a file (base.h): TRUNCATED
 * .. UNSUPPORTED, COUNT .. SPLIT.
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_open(ggufx_file **out, const ggufx_runtime *rt, const char *path,
                                  const ggufx_open_options *options, ggufx_error *error);

/*
 * Opens `length` bytes at `offset` of a file descriptor, such as a model inside an archive.
 *
 * length 0 means up to the end of the file. The descriptor is duplicated: the caller keeps and
 * closes its own. POSIX only, else UNSUPPORTED.
 *
 * Errors: as ggufx_open.   Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_open_fd(ggufx_file **out, const ggufx_runtime *rt, int32_t fd,
                                     uint64_t offset, uint64_t length,
                                     const ggufx_open_options *options, ggufx_error *error);

/*
 * Opens a GGUF file in memory.
 *
 * data  {takes} the bytes of the file.
 *
 * Without GGUFX_OPEN_COPY the bytes are borrowed until destroy(user) is called. That happens once:
 * after the last user of the file is gone, or before this call returns a failure. With
 * GGUFX_OPEN_COPY it happens before this call returns. destroy may be NULL.
 *
 * Errors: as ggufx_open.   Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_open_memory(ggufx_file **out, const ggufx_runtime *rt,
                                         const void *data, size_t size, void (*destroy)(void *user),
                                         void *user, const ggufx_open_options *options,
                                         ggufx_error *error);

/* Callbacks that read a file. read_at returns GGUFX_OK after all n bytes were read. map returns
 * NULL if it cannot map. close(user) runs once, also if the open fails.
 * Calls other than unmap and close come from the opening thread only. */
typedef struct ggufx_io {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    void *user;
    ggufx_status (*size)(void *user, uint64_t *out);
    ggufx_status (*read_at)(void *user, uint64_t offset, void *dst, size_t n);
    const void *(*map)(void *user, uint64_t offset, size_t n); /* {null} */
    void (*unmap)(void *user, const void *data, size_t n);     /* {null} */
    void (*close)(void *user);                                 /* may be NULL */
} ggufx_io;

/* Opens a file through callbacks.
 * Errors: as ggufx_open.   Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_open_io(ggufx_file **out, const ggufx_runtime *rt, const ggufx_io *io,
                                     const ggufx_open_options *options, ggufx_error *error);

/* Releases the caller's reference. Models and owned tensors keep theirs.
 * Threads: exclusive on file.   Since: 0.1. */
GGUFX_API void ggufx_file_destroy(ggufx_file *file);

typedef struct ggufx_file_facts {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* 0 */
    uint32_t version;     /* GGUF version of the first part, 1 .. 3 */
    uint32_t big_endian;  /* 1 if the file is big-endian */
    uint64_t alignment;   /* alignment of tensor data in bytes */
    uint64_t n_parts;     /* files of the set */
    uint64_t meta_end;    /* end of the tensor directory of the first part */
    uint64_t data_offset; /* start of the tensor data of the first part */
    uint64_t file_size;   /* bytes of all parts */
    uint64_t n_meta;      /* number of keys */
    uint64_t n_tensors;   /* number of tensors */
    uint64_t n_values;    /* values of all tensors */
    uint64_t n_bytes;     /* bytes of all tensors */
    /* bytes of tensor data after the ends of the files; not 0 only for the head of a file, opened
     * for metadata only */
    uint64_t n_missing;
} ggufx_file_facts;

/* Describes a file. out->struct_size must be set.
 * Errors: ARGUMENT.   Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_file_info(ggufx_file_facts *out, const ggufx_file *file,
                                       ggufx_error *error);

/* Memory of the tensor data of a file. The counts are unknown, GGUFX_NONE, on other systems than
 * Linux. */
typedef struct ggufx_file_memory_facts {
    uint32_t struct_size;    /* set by the caller */
    uint32_t flags;          /* 0 */
    uint64_t mapped_bytes;   /* tensor data in mappings, or in borrowed memory */
    uint64_t copied_bytes;   /* tensor data in memory of the runtime's allocator */
    uint64_t resident_bytes; /* part of both that is in physical memory now */
    uint64_t huge_bytes;     /* part of the resident bytes that is in huge pages */
} ggufx_file_memory_facts;

/*
 * Describes the memory of a file's tensor data. out->struct_size must be set.
 *
 * A mapping has only the pages that this process has used. The kernel counts them during the call,
 * which takes about a millisecond per GB.
 *
 * Errors: ARGUMENT, MEMORY.   Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_file_memory(ggufx_file_memory_facts *out, const ggufx_file *file,
                                         ggufx_error *error);

/* ---- metadata ------------------------------------------------------------------------------- */

/* Types of metadata values, with the ids that GGUF files contain. */
typedef int32_t ggufx_value_type;
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

typedef struct ggufx_meta_facts {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* 0 */
    ggufx_value_type type;
    ggufx_value_type element_type; /* GGUFX_VALUE_* of the elements of an array, else -1 */
    ggufx_text key;                /* absent for a nested array */
    uint64_t count;                /* elements of an array, bytes of a string, else 1 */
    uint64_t offset; /* byte offset of the value in the file, or in the first part of a set */
} ggufx_meta_facts;

/* Returns the number of keys.   Threads: any number at once.   Since: 0.1. */
GGUFX_API size_t ggufx_file_meta_count(const ggufx_file *file);

/* Describes the key `index`, in file order. out->struct_size must be set.
 * Errors: ARGUMENT.   Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_file_meta_at(ggufx_meta_facts *out, const ggufx_file *file,
                                          size_t index, ggufx_error *error);

/* Finds the index of a key of `length` bytes.
 * Errors: ARGUMENT, NOT_FOUND.   Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_file_meta_find(size_t *out, const ggufx_file *file, const char *key,
                                            size_t length, ggufx_error *error);

/*
 * Returns the value of a key as an unsigned integer.
 *
 * The scalar getters convert types without loss:
 *
 * - u64 and i64 accept any integer type whose value fits, and bool as 0 or 1.
 * - f64 accepts f32, f64 and integers up to 2^53.
 * - bool accepts only bool; any non-zero byte is true.
 *
 * An array of exactly one such element is accepted as a scalar.
 *
 * Errors: ARGUMENT, VALUE_TYPE (a value of another type), VALUE (the value does not fit).
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_file_meta_u64(uint64_t *out, const ggufx_file *file, size_t index,
                                           ggufx_error *error);
/* Returns the value of a key as a signed integer. Errors: as ggufx_file_meta_u64.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_file_meta_i64(int64_t *out, const ggufx_file *file, size_t index,
                                           ggufx_error *error);
/* Returns the value of a key as a floating-point number. Errors: as ggufx_file_meta_u64.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_file_meta_f64(double *out, const ggufx_file *file, size_t index,
                                           ggufx_error *error);
/* Returns the value of a bool key as 0 or 1. Errors: as ggufx_file_meta_u64.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_file_meta_bool(int32_t *out, const ggufx_file *file, size_t index,
                                            ggufx_error *error);
/* Returns a view of a string, borrowed from the file.
 * Errors: ARGUMENT, VALUE_TYPE, MALFORMED (an array of one string, if the file was changed).
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_file_meta_string(ggufx_text *out, const ggufx_file *file, size_t index,
                                              ggufx_error *error);

/*
 * Copies elements first .. first + n - 1 of an array of numbers or bools, converted as the scalar
 * getters do.
 *
 * out  {len: n} the elements. A scalar counts as an array of one.
 *
 * Errors: ARGUMENT (range), VALUE_TYPE, VALUE (error->index is the element).
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_file_meta_array_u64(uint64_t *out, const ggufx_file *file,
                                                 size_t index, uint64_t first, size_t n,
                                                 ggufx_error *error);
/* Copies array elements as signed integers.
 * out  {len: n} the elements.
 * Errors: as ggufx_file_meta_array_u64.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_file_meta_array_i64(int64_t *out, const ggufx_file *file, size_t index,
                                                 uint64_t first, size_t n, ggufx_error *error);
/* Copies array elements as floating-point numbers.
 * out  {len: n} the elements.
 * Errors: as ggufx_file_meta_array_u64.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_file_meta_array_f64(double *out, const ggufx_file *file, size_t index,
                                                 uint64_t first, size_t n, ggufx_error *error);

/*
 * Returns a view of element i of an array of strings, borrowed from the file.
 *
 * The first call on an array builds a sparse table of offsets, which can fail with MEMORY. Later
 * calls are quick.
 *
 * Errors: ARGUMENT, VALUE_TYPE, MEMORY, MALFORMED (the file was changed).
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_file_meta_array_string(ggufx_text *out, const ggufx_file *file,
                                                    size_t index, uint64_t i, ggufx_error *error);

/*
 * Returns the index of element i of an array of arrays.
 *
 * ggufx_file_meta_at and the array getters accept this index like that of a key. It is not below
 * ggufx_file_meta_count.
 *
 * Errors: ARGUMENT, VALUE_TYPE.   Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_file_meta_array_nested(size_t *out_index, const ggufx_file *file,
                                                    size_t index, uint64_t i, ggufx_error *error);

/* ---- tensors -------------------------------------------------------------------------------- */

#define GGUFX_MAX_DIMS 4 /* dimensions of a tensor */

typedef struct ggufx_tensor_facts {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* 0 */
    ggufx_type type;
    uint32_t n_dims;             /* 0 .. 4; a tensor of 0 dimensions holds one value */
    uint64_t ne[GGUFX_MAX_DIMS]; /* values per dimension, ne[0] along a row; 1 beyond n_dims */
    uint64_t row_bytes;          /* bytes of a row */
    uint64_t row_stride;         /* bytes from one row to the next, >= row_bytes */
    uint64_t n_rows;             /* ne[1] * ne[2] * ne[3] */
    uint64_t n_bytes;            /* n_rows * row_bytes, as in the file */
    uint64_t offset;      /* from the start of the file's data section; GGUFX_NONE if wrapped */
    uint64_t file_offset; /* from the start of its file; GGUFX_NONE if wrapped */
    uint32_t part;        /* index of its file in a split set, from 0 */
    uint32_t memory_kind; /* 0: CPU memory, 1: memory of a device (device.h) */
    ggufx_text name;
} ggufx_tensor_facts;

/* Returns the number of tensors of all parts.   Threads: any number at once.   Since: 0.1. */
GGUFX_API size_t ggufx_file_tensor_count(const ggufx_file *file);

/* Returns the tensor `index`, in file order, borrowed; NULL if the index is out of range.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API const ggufx_tensor *ggufx_file_tensor(const ggufx_file *file, size_t index);

/* Finds the index of a tensor by its name of `length` bytes.
 * Errors: ARGUMENT, NOT_FOUND.   Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_file_tensor_find(size_t *out, const ggufx_file *file, const char *name,
                                              size_t length, ggufx_error *error);

/* Describes a tensor. out->struct_size must be set.
 * Errors: ARGUMENT.   Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_tensor_info(ggufx_tensor_facts *out, const ggufx_tensor *tensor,
                                         ggufx_error *error);

/*
 * Returns the first byte of a tensor's data, with rows at row_stride.
 *
 * The result is NULL if the data are not in memory: opened for metadata only, unknown type, no
 * values, memory of a device.
 *
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API const void *ggufx_tensor_data(const ggufx_tensor *tensor);

/* A tensor in memory of the caller. */
typedef struct ggufx_tensor_options {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    ggufx_type type;
    uint32_t n_dims;             /* at most GGUFX_MAX_DIMS */
    uint64_t ne[GGUFX_MAX_DIMS]; /* values per dimension, ne[0] along a row; 0 after n_dims */
    uint64_t row_stride;         /* bytes from one row to the next; 0 = dense */
    /* {takes} {len: n_bytes} rows, with fields that are little-endian as in a file, on any host */
    const void *data;
    uint64_t n_bytes;            /* bytes of data */
    const char *name;            /* name of the tensor; NULL: none */
    void (*destroy)(void *user); /* called when data are not used any more; NULL: none */
    void *user;
} ggufx_tensor_options;

/*
 * Creates a tensor of memory of the caller, without a copy.
 *
 * options->data must stay valid until options->destroy(user) is called. That happens once, also if
 * this call fails, except if options is NULL or its struct_size is wrong.
 *
 * Errors: ARGUMENT, MEMORY, TYPE, SHAPE, OVERFLOW, BOUNDS (n_bytes is too small).
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_tensor_create(ggufx_tensor **out, const ggufx_runtime *rt,
                                           const ggufx_tensor_options *options, ggufx_error *error);

/*
 * Creates a view of indices first .. first + n - 1 of dimension `dim` of a tensor.
 *
 * Along dimension 0 (columns) both must be multiples of the block. The slice shares the data and
 * keeps their owner alive.
 *
 * Errors: ARGUMENT (range), MEMORY, SHAPE (not at a block border), UNSUPPORTED (the outer
 * dimensions would no longer be evenly spaced rows).
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_tensor_slice(ggufx_tensor **out, const ggufx_tensor *tensor,
                                          uint32_t dim, uint64_t first, uint64_t n,
                                          ggufx_error *error);

/* Releases a wrapped tensor or a slice. It does nothing for a borrowed one.
 * Threads: exclusive on tensor.   Since: 0.1. */
GGUFX_API void ggufx_tensor_destroy(ggufx_tensor *tensor);

/* ---- validate ------------------------------------------------------------------------------- */

/* Flags of a validation. */
typedef uint32_t ggufx_validate_flags;
#define GGUFX_VALIDATE_DEEP 1u   /* check all tensor data: NaN, infinities, bad scales */
#define GGUFX_VALIDATE_STRICT 2u /* report as errors what ggml's reader refuses */

/* A fault or remark of ggufx_file_validate. */
typedef struct ggufx_finding_facts {
    uint32_t struct_size;
    ggufx_log_level severity; /* GGUFX_LOG_ERROR, _WARNING or _INFO */
    ggufx_status status;      /* status that an open would return, or GGUFX_OK for a remark */
    uint32_t reserved;
    uint64_t offset;  /* byte offset in the file, or GGUFX_NONE */
    uint64_t index;   /* index of the key or tensor, or GGUFX_NONE */
    const char *text; /* UTF-8, NUL-terminated; valid during the call */
    ggufx_text name;  /* name of the key or tensor */
} ggufx_finding_facts;

/*
 * Checks an opened file more thoroughly than the open did.
 *
 * report    called for each finding; a result other than GGUFX_OK ends the check with it.
 * flags     GGUFX_VALIDATE_*.
 * progress  may be NULL; reported in bytes checked.
 *
 * The result is GGUFX_OK also if there were findings.
 *
 * Errors: ARGUMENT, CANCELLED, MEMORY, UNSUPPORTED (deep check of a file opened for metadata only).
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status
ggufx_file_validate(const ggufx_file *file, ggufx_validate_flags flags,
                    ggufx_status (*report)(void *user, const ggufx_finding_facts *finding),
                    void *user, const ggufx_progress *progress, ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
