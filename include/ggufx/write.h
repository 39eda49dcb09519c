/*
 * ggufx/write.h: write GGUF files and split sets, edit keys in place.
 *
 * A writer collects keys and tensors, and checks each of them as a reader would. It then writes
 * them in one pass, with tensor data straight from their sources: memory does not grow with the
 * model. The same calls give the same bytes.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_WRITE_H
#define GGUFX_WRITE_H

#include "file.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The content of a file to write: keys and tensors in the order in which they were added. */
typedef struct ggufx_writer ggufx_writer;

/* Flags of a writer. */
typedef uint32_t ggufx_writer_flags;
#define GGUFX_WRITE_BIG_ENDIAN 1u /* numbers and tensor data of the file are big-endian */

typedef struct ggufx_writer_options {
    uint32_t struct_size;
    ggufx_writer_flags flags;
    uint32_t version; /* GGUF version, 2 or 3; 0 = 3 */
    uint32_t reserved;
    /* Space for later edits in place: the last key is "ggufx.reserve", an array of this many zeros
     * (u8). It replaces one that was set or copied. 0: none is added. */
    uint64_t reserve_bytes;
} ggufx_writer_options;

/* Creates an empty writer. options may be NULL.
 * Errors: ARGUMENT, MEMORY, VERSION (of the file).
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_writer_create(ggufx_writer **out, const ggufx_runtime *rt,
                                           const ggufx_writer_options *options, ggufx_error *error);

/* Frees a writer and releases all tensors and their sources. Written files stay.
 * Threads: exclusive on writer.   Since: 0.1. */
GGUFX_API void ggufx_writer_destroy(ggufx_writer *writer);

/* ---- keys ----------------------------------------------------------------------------------- */

/*
 * Sets a key of `length` bytes to an integer of type GGUFX_VALUE_U8 .. _I64, or _BOOL for 0 and 1.
 *
 * An existing key keeps its position and gets the new value. "general.alignment" must be a U32 and
 * a power of two; it decides the layout of the file (32 without it).
 *
 * Errors: ARGUMENT (not an integer type), MEMORY, LIMIT, KEY (empty), VALUE (out of the range of
 * the type), VALUE_TYPE and ALIGNMENT ("general.alignment").
 * Threads: exclusive on writer.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_writer_set_u64(ggufx_writer *writer, const char *key, size_t length,
                                            ggufx_value_type type, uint64_t value,
                                            ggufx_error *error);
/* Sets a key to a signed integer. Errors: as ggufx_writer_set_u64.
 * Threads: exclusive on writer.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_writer_set_i64(ggufx_writer *writer, const char *key, size_t length,
                                            ggufx_value_type type, int64_t value,
                                            ggufx_error *error);
/* Sets a key to a number of type GGUFX_VALUE_F32 (rounded to nearest) or _F64.
 * Errors: as ggufx_writer_set_u64; VALUE if a finite value would become infinite.
 * Threads: exclusive on writer.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_writer_set_f64(ggufx_writer *writer, const char *key, size_t length,
                                            ggufx_value_type type, double value,
                                            ggufx_error *error);
/* Sets a key to a bool: any value except 0 is true. Errors: as ggufx_writer_set_u64.
 * Threads: exclusive on writer.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_writer_set_bool(ggufx_writer *writer, const char *key, size_t length,
                                             int32_t value, ggufx_error *error);
/* Sets a key to a string of any n_text bytes, copied. Errors: as ggufx_writer_set_u64.
 * Threads: exclusive on writer.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_writer_set_string(ggufx_writer *writer, const char *key, size_t length,
                                               const char *text, size_t n_text, ggufx_error *error);

/*
 * Sets a key to an array of `count` numbers or bools, copied.
 *
 * Elements are in the host's byte order, dense, in the width of element_type. A bool is one byte;
 * any value except 0 is true.
 *
 * Errors: as ggufx_writer_set_u64; ARGUMENT for strings and arrays.
 * Threads: exclusive on writer.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_writer_set_array(ggufx_writer *writer, const char *key, size_t length,
                                              ggufx_value_type element_type, const void *elements,
                                              size_t count, ggufx_error *error);
/* Sets a key to an array of strings, copied. String i has lengths[i] bytes.
 * texts  {len: count} any bytes.
 * Errors: as ggufx_writer_set_u64.   Threads: exclusive on writer.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_writer_set_array_string(ggufx_writer *writer, const char *key,
                                                     size_t length, const char *const *texts,
                                                     const size_t *lengths, size_t count,
                                                     ggufx_error *error);

/*
 * Sets a key to a value of any type, also arrays of arrays, given as bytes of a little-endian file.
 *
 * Numbers have their width. A string is a u64 length and bytes. An array is a u32 element type, a
 * u64 count and elements. All of it is checked.
 *
 * Errors:
 * - Those of ggufx_writer_set_u64.
 * - ARGUMENT: bytes left over.
 * - TRUNCATED, COUNT.
 * - VALUE_TYPE: unknown types.
 * - VALUE: a bool that is neither 0 nor 1.
 * - LIMIT: arrays nested too deep, or too many of them.
 *
 * Threads: exclusive on writer.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_writer_set_value(ggufx_writer *writer, const char *key, size_t length,
                                              ggufx_value_type type, const void *value,
                                              size_t n_bytes, ggufx_error *error);

/* Removes a key. Errors: ARGUMENT, NOT_FOUND.
 * Threads: exclusive on writer.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_writer_unset(ggufx_writer *writer, const char *key, size_t length,
                                          ggufx_error *error);
/* Renames a key, which keeps its position and value.
 * Errors: ARGUMENT, MEMORY, NOT_FOUND, KEY (the new name is empty), DUPLICATE (it exists),
 * VALUE_TYPE, ALIGNMENT.
 * Threads: exclusive on writer.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_writer_rename(ggufx_writer *writer, const char *key, size_t length,
                                           const char *new_key, size_t new_length,
                                           ggufx_error *error);

/*
 * Sets all keys of a file, byte for byte.
 *
 * Exceptions: split.no, split.count and split.tensors.count of a set that was opened as one.
 * "ggufx.split.id" is only copied from a part that was opened alone.
 *
 * Errors: ARGUMENT, MEMORY, LIMIT.
 * Threads: exclusive on writer.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_writer_copy_meta(ggufx_writer *writer, const ggufx_file *file,
                                              ggufx_error *error);

/* ---- tensors -------------------------------------------------------------------------------- */

/*
 * Adds a tensor of a file, memory (ggufx_tensor_create) or a slice.
 *
 * The source is kept until the writer is destroyed; the handle may be destroyed before.
 *
 * name  {null} NULL: the name of the tensor.
 *
 * Errors:
 * - ARGUMENT, MEMORY, LIMIT, DUPLICATE, TYPE.
 * - NAME: over 63 bytes.
 * - UNSUPPORTED: the data are not in memory (opened for metadata only).
 * - ENDIAN: the type has no defined big-endian form.
 *
 * Threads: exclusive on writer.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_writer_add_tensor(ggufx_writer *writer, const ggufx_tensor *tensor,
                                               const char *name, size_t name_length,
                                               ggufx_error *error);
/* Adds all tensors of a file, or none. Errors: as ggufx_writer_add_tensor.
 * Threads: exclusive on writer.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_writer_copy_tensors(ggufx_writer *writer, const ggufx_file *file,
                                                 ggufx_error *error);

/*
 * Tensor data that are generated while the file is written.
 *
 * read writes bytes offset .. offset + n - 1 of the dense tensor to dst, as little-endian blocks of
 * a file. Calls come in order, with at most 512 KiB each: whole rows, or whole blocks of one row if
 * a row is larger. They come from the writing thread, and are repeated by each write. destroy(user)
 * runs once, with the writer or when the add fails; it may be NULL.
 */
typedef struct ggufx_tensor_stream {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    void *user;
    ggufx_status (*read)(void *user, uint64_t offset, void *dst, size_t n);
    void (*destroy)(void *user);
} ggufx_tensor_stream;

/* Adds a tensor whose data come from callbacks.
 * ne  {len: n_dims} values per dimension.
 * Errors: as ggufx_writer_add_tensor; SHAPE (a row that is not whole blocks), OVERFLOW.
 * Threads: exclusive on writer.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_writer_add_stream(ggufx_writer *writer, const char *name,
                                               size_t name_length, ggufx_type type, uint32_t n_dims,
                                               const uint64_t *ne,
                                               const ggufx_tensor_stream *stream,
                                               ggufx_error *error);

/* ---- writing -------------------------------------------------------------------------------- */

/* Flags of a write. */
typedef uint32_t ggufx_write_flags;
/* IO (exists) if a file has the name, also if it is created during the write */
#define GGUFX_WRITE_NO_REPLACE 1u

/*
 * Limits of the parts of a split set.
 *
 * With max_part_bytes or max_part_tensors the output is PREFIX-00001-of-0000N.gguf, where PREFIX is
 * the path without ".gguf". The first part has the keys. Every part has split.no, split.count,
 * split.tensors.count and ggufx.split.id, which replace keys that were set. A part is larger than
 * max_part_bytes only if the keys, or one tensor alone, are.
 */
typedef struct ggufx_write_options {
    uint32_t struct_size;
    ggufx_write_flags flags;
    const ggufx_progress *progress; /* reported in bytes; NULL: cannot be cancelled */
    uint64_t max_part_bytes;        /* 0: no limit */
    uint64_t max_part_tensors;      /* 0: no limit */
} ggufx_write_options;

typedef struct ggufx_writer_facts {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* 0 */
    uint64_t n_meta;      /* keys that were set, without split and reserve keys */
    uint64_t n_tensors;
    uint64_t n_parts; /* files of a write */
    uint64_t n_bytes; /* exact bytes of all files */
} ggufx_writer_facts;

/* Describes the result of a write with these options (NULL: default). out->struct_size must be set.
 * Errors: ARGUMENT, MEMORY, LIMIT (metadata over 1 GiB, over 65,535 parts), OVERFLOW.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_writer_info(ggufx_writer_facts *out, const ggufx_writer *writer,
                                         const ggufx_write_options *options, ggufx_error *error);

/*
 * Writes the file, or the parts of a set, to a UTF-8 path by atomic replace.
 *
 * The file is written as PATH.part, synced to disk and renamed. It replaces an existing file, even
 * a source of the tensors, and takes over its mode and, if permitted, its owner. A symbolic link
 * stays, and its target is replaced. Links under names that the library makes up, PATH.part and
 * parts of a set, are refused. After a failure an existing file is unchanged, and PATH.part is
 * deleted.
 *
 * The parts of a set are renamed after all of them are complete, the first one last. The files that
 * they replace are kept as PATH.part.old meanwhile. After a failure they are restored; after a kill
 * ggufx_file_recover_edit or the next write restores them. All parts have the same key
 * "ggufx.split.id", so that a mixture of two sets is refused (SPLIT).
 *
 * A write beyond RLIMIT_FSIZE raises SIGXFSZ, which ends a process that does not ignore it. This
 * library never changes signals: a host that ignores it gets IO.
 *
 * Errors:
 * - Those of ggufx_writer_info.
 * - IO: also of a stream's read, or if less space is free than the file takes (system_error).
 * - STATE: another call or process is writing PATH.part.
 * - CANCELLED.
 *
 * Threads: exclusive on writer.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_writer_write(ggufx_writer *writer, const char *path,
                                          const ggufx_write_options *options, ggufx_error *error);

/*
 * Writes through a callback.
 *
 * write gets the parts in order, numbered from 0, each with its bytes in order, at most 512 KiB per
 * call. It returns GGUFX_OK after it has taken all n bytes; another result ends the write with IO.
 *
 * Errors: as ggufx_writer_write.   Threads: exclusive on writer.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_writer_write_stream(ggufx_writer *writer,
                                                 ggufx_status (*write)(void *user, uint32_t part,
                                                                       const void *data, size_t n),
                                                 void *user, const ggufx_write_options *options,
                                                 ggufx_error *error);

/* ---- editing -------------------------------------------------------------------------------- */

/* Flags of an edit, at most one. */
typedef uint32_t ggufx_edit_flags;
#define GGUFX_EDIT_IN_PLACE 1u /* edit in place, or fail with CAPACITY */
#define GGUFX_EDIT_REWRITE 2u  /* write a new file, even if an edit in place is possible */

typedef struct ggufx_edit_options {
    uint32_t struct_size;
    ggufx_edit_flags flags;         /* GGUFX_EDIT_*, at most one */
    const ggufx_progress *progress; /* reported in bytes; NULL: cannot be cancelled */
} ggufx_edit_options;

typedef struct ggufx_edit_facts {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* 0 */
    uint32_t in_place;    /* 1: the tensor data stay in place, neither read nor written */
    uint32_t reserved;
    uint64_t n_bytes;       /* bytes of the file after the edit */
    uint64_t reserve_bytes; /* space left for the next edit */
    uint64_t n_written;     /* bytes written; 0 from ggufx_writer_edit_info */
} ggufx_edit_facts;

/*
 * Describes the effect of ggufx_writer_edit.
 *
 * The writer holds the new content of `file`. Create it with the file's version and byte order.
 * Call ggufx_writer_copy_meta and ggufx_writer_copy_tensors, or ggufx_writer_add_tensor in the
 * file's order to rename tensors. Then change keys with ggufx_writer_set_*, _unset and _rename.
 *
 * The edit is made in place under these conditions; the size of "ggufx.reserve" is adapted:
 *
 * - The tensors are those of the file, in its order.
 * - Only keys and names change, and reserve_bytes is 0.
 * - The new metadata fit before the tensor data.
 *
 * Errors: ARGUMENT, MEMORY, LIMIT, OVERFLOW, CAPACITY (GGUFX_EDIT_IN_PLACE is impossible; the
 * message says why).
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_writer_edit_info(ggufx_edit_facts *out, const ggufx_writer *writer,
                                              const ggufx_file *file,
                                              const ggufx_edit_options *options,
                                              ggufx_error *error);

/*
 * Edits the file at `path`, from which `file` was opened.
 *
 * out  {null} the effect of the edit.
 *
 * A new file is written as ggufx_writer_write does. An edit in place writes only the changed bytes
 * before the tensor data. At every moment the disk has all of the old metadata or all of the new:
 *
 * - Changes within one sector of 512 bytes are one write.
 * - Larger changes are first stored in a journal, PATH.patch, which stays until they are on the
 *   disk in the file too.
 *
 * A failed write is undone. After a crash ggufx_file_recover_edit finishes the edit; until then the
 * file may not open. Other processes that have the file mapped see the changes.
 *
 * Errors:
 * - Those of ggufx_writer_edit_info, IO, NOT_FOUND.
 * - STATE: the file was changed since it was opened, another call edits it, or an interrupted edit
 *   must be recovered.
 * - CANCELLED: only before the first write.
 *
 * Threads: exclusive on writer.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_writer_edit(ggufx_edit_facts *out, ggufx_writer *writer,
                                         const ggufx_file *file, const char *path,
                                         const ggufx_edit_options *options, ggufx_error *error);

/*
 * Finishes an edit in place that a crash interrupted, or restores a split set after an interrupted
 * replace.
 *
 * For a set, `path` is that of any part. The old parts are restored, or deleted if all new parts
 * have their names. The log tells (INFO) how much was left to do.
 *
 * out  {null} 1 if there was an interruption, else 0.
 *
 * Errors:
 * - ARGUMENT, MEMORY, IO, NOT_FOUND.
 * - STATE: PATH.patch is damaged or of another file: some sector is neither the old nor the new
 *   one, or other metadata differ. Nothing is changed, and the caller must remove PATH.patch.
 *
 * Threads: one call per path.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_file_recover_edit(int32_t *out, const ggufx_runtime *rt,
                                               const char *path, ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
