/*
 * ggufx/write.h: write GGUF files and split sets.
 *
 * A writer collects keys and tensors and checks each of them as a reader would; then it writes them
 * in one go, tensor data straight from their sources: memory does not grow with the model.
 * The same calls give the same bytes.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_WRITE_H
#define GGUFX_WRITE_H

#include "file.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A file to be: keys and tensors in the order they were added. */
typedef struct ggufx_writer ggufx_writer;

#define GGUFX_WRITE_BIG_ENDIAN 1u /* numbers and tensor data of the file are big-endian */

typedef struct ggufx_writer_options {
    uint32_t struct_size;
    uint32_t flags; /* GGUFX_WRITE_BIG_ENDIAN */
    const void *next;
    uint32_t version; /* 2 or 3; 0 = 3 */
    uint32_t reserved0;
    /* Room for later edits in place: the last key is "ggufx.reserve", an array of so many zeros
     * (u8); it replaces one that was set or copied. 0: none is added. */
    uint64_t reserve_bytes;
    uint64_t reserved[2];
} ggufx_writer_options;

/* Fill with defaults.   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_writer_options_init(ggufx_writer_options *options);

/* Create an empty writer; options may be NULL. Errors: ARGUMENT, MEMORY, VERSION (of the file).
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_writer_create(ggufx_writer **out, const ggufx_runtime *rt,
                                           const ggufx_writer_options *options, ggufx_error *error);

/* Let go of all tensors and their sources. A file that was written stays.
 * Threads: exclusive on writer.   Since: 0.1. */
GGUFX_API void ggufx_writer_destroy(ggufx_writer *writer);

/* ---- keys ----------------------------------------------------------------------------------- */

/*
 * Set a key of `length` bytes to an integer of the given type (GGUFX_VALUE_U8 .. _I64, or _BOOL for
 * 0 and 1). A key that exists keeps its place and gets the new value. "general.alignment" must be a
 * U32 and a power of two; the file is laid out by it (32 without it).
 * Errors: ARGUMENT (type is not an integer type), MEMORY, LIMIT, KEY (empty), VALUE (out of the
 * type's range), KVTYPE and ALIGNMENT ("general.alignment").
 * Threads: exclusive on writer.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_writer_set_u64(ggufx_writer *writer, const char *key, size_t length,
                                            int32_t type, uint64_t value, ggufx_error *error);
/* As ggufx_writer_set_u64, signed.   Threads: exclusive on writer.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_writer_set_i64(ggufx_writer *writer, const char *key, size_t length,
                                            int32_t type, int64_t value, ggufx_error *error);
/* As ggufx_writer_set_u64, of type GGUFX_VALUE_F32 (rounded to nearest; VALUE when a finite value
 * would become infinite) or _F64.   Threads: exclusive on writer.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_writer_set_f64(ggufx_writer *writer, const char *key, size_t length,
                                            int32_t type, double value, ggufx_error *error);
/* As ggufx_writer_set_u64, a bool: any value but 0 is true.
 * Threads: exclusive on writer.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_writer_set_bool(ggufx_writer *writer, const char *key, size_t length,
                                             int32_t value, ggufx_error *error);
/* As ggufx_writer_set_u64, a string of any n_text bytes, copied.
 * Threads: exclusive on writer.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_writer_set_string(ggufx_writer *writer, const char *key, size_t length,
                                               const char *text, size_t n_text, ggufx_error *error);

/*
 * Set a key to an array of `count` numbers or bools (one byte each; any but 0 is true), copied from
 * memory in the host's byte order, one after the other in the width of element_type.
 * Errors: as ggufx_writer_set_u64; ARGUMENT for element types STRING and ARRAY.
 * Threads: exclusive on writer.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_writer_set_array(ggufx_writer *writer, const char *key, size_t length,
                                              int32_t element_type, const void *elements,
                                              size_t count, ggufx_error *error);
/* Set a key to an array of strings, copied; string i has lengths[i] bytes.
 * Errors: as ggufx_writer_set_u64.   Threads: exclusive on writer.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_writer_set_array_string(ggufx_writer *writer, const char *key,
                                                     size_t length, const char *const *texts,
                                                     const size_t *lengths, size_t count,
                                                     ggufx_error *error);

/*
 * Set a key to a value of any type, also arrays of arrays, given as n_bytes bytes of a
 * little-endian file: numbers in their width, a string as u64 length and bytes, an array as u32
 * element type, u64 count and elements. Everything in it is checked.
 * Errors: as ggufx_writer_set_u64; ARGUMENT (bytes left over), TRUNCATED, COUNT, KVTYPE (unknown
 * types), VALUE (a bool that is neither 0 nor 1), LIMIT (arrays nested too deep, too many of them).
 * Threads: exclusive on writer.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_writer_set_value(ggufx_writer *writer, const char *key, size_t length,
                                              int32_t type, const void *value, size_t n_bytes,
                                              ggufx_error *error);

/* Take a key away. Errors: ARGUMENT, NOT_FOUND.
 * Threads: exclusive on writer.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_writer_unset(ggufx_writer *writer, const char *key, size_t length,
                                          ggufx_error *error);
/* Give a key another name; it keeps its place and value. Errors: ARGUMENT, MEMORY, NOT_FOUND, KEY
 * (the new name is empty), DUPLICATE (it is taken), KVTYPE, ALIGNMENT.
 * Threads: exclusive on writer.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_writer_rename(ggufx_writer *writer, const char *key, size_t length,
                                           const char *new_key, size_t new_length,
                                           ggufx_error *error);

/* Set all keys of a file, byte for byte; of a set that was opened as one, without split.no,
 * split.count and split.tensors.count; "ggufx.split.id" only of a part that was opened alone.
 * Errors: ARGUMENT, MEMORY, LIMIT.
 * Threads: exclusive on writer.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_writer_copy_meta(ggufx_writer *writer, const ggufx_file *file,
                                              ggufx_error *error);

/* ---- tensors -------------------------------------------------------------------------------- */

/*
 * Add a tensor: of a file, wrapped memory (ggufx_tensor_wrap) or a slice. Its source is kept until
 * the writer is destroyed; the handle itself is not needed any more. name may be NULL: its own.
 * Errors: ARGUMENT, MEMORY, LIMIT, NAME (over 63 bytes), DUPLICATE, TYPE, UNSUPPORTED (its data are
 * not in memory: opened metadata-only), ENDIAN (its type has no defined big-endian form).
 * Threads: exclusive on writer.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_writer_add_tensor(ggufx_writer *writer, const ggufx_tensor *tensor,
                                               const char *name, size_t name_length,
                                               ggufx_error *error);
/* Add all tensors of a file, or none. Errors: as ggufx_writer_add_tensor.
 * Threads: exclusive on writer.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_writer_copy_tensors(ggufx_writer *writer, const ggufx_file *file,
                                                 ggufx_error *error);

/*
 * Data that are made while the file is written. read gives bytes offset..offset+n-1 of the dense
 * tensor, little-endian blocks as in a file: in order, at most 512 KiB at once, whole rows where a
 * row has not more, else whole blocks of one row. It runs on the writing thread, at each write
 * anew. destroy(user) runs once, with the writer or when the add fails; it may be NULL.
 */
typedef struct ggufx_tensor_stream {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    const void *next;
    void *user;
    ggufx_status (*read)(void *user, uint64_t offset, void *dst, size_t n);
    void (*destroy)(void *user);
} ggufx_tensor_stream;

/* Add a tensor of ne[0..n_dims-1] values whose data come from callbacks.
 * Errors: as ggufx_writer_add_tensor, and SHAPE (a row that is not whole blocks), OVERFLOW.
 * Threads: exclusive on writer.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_writer_add_stream(ggufx_writer *writer, const char *name,
                                               size_t name_length, uint32_t type, uint32_t n_dims,
                                               const uint64_t *ne,
                                               const ggufx_tensor_stream *stream,
                                               ggufx_error *error);

/* ---- writing -------------------------------------------------------------------------------- */

/* IO (exists) where a file has the name, also in the last moment */
#define GGUFX_WRITE_NO_REPLACE 1u

/*
 * With max_part_bytes or max_part_tensors a split set is written: PREFIX-00001-of-0000N.gguf, where
 * PREFIX is the path without ".gguf". The first part has the keys, every part split.no,
 * split.count, split.tensors.count and ggufx.split.id (those that were set are replaced). A part is
 * larger than max_part_bytes only where the keys, or one tensor alone, are.
 */
typedef struct ggufx_write_options {
    uint32_t struct_size;
    uint32_t flags; /* GGUFX_WRITE_NO_REPLACE */
    const void *next;
    const ggufx_progress *progress; /* reported in bytes; NULL: cannot be cancelled */
    uint64_t max_part_bytes;        /* 0: no limit */
    uint64_t max_part_tensors;      /* 0: no limit */
    uint64_t reserved[2];
} ggufx_write_options;

/* Fill with defaults.   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_write_options_init(ggufx_write_options *options);

typedef struct ggufx_writer_facts {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* 0 */
    uint64_t n_meta;      /* keys that were set; split and reserve keys come on top */
    uint64_t n_tensors;
    uint64_t n_parts; /* files that a write would make */
    uint64_t n_bytes; /* of all of them, exactly */
} ggufx_writer_facts;

/* What a write with these options (NULL: default) would make; out->struct_size must be set.
 * Errors: ARGUMENT, MEMORY, LIMIT (metadata over 1 GiB, over 65,535 parts), OVERFLOW.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_writer_info(ggufx_writer_facts *out, const ggufx_writer *writer,
                                         const ggufx_write_options *options, ggufx_error *error);

/*
 * Write to a UTF-8 path: beside it (PATH.part), brought to the disk, then renamed; a file of that
 * name, also one the tensors come from, is replaced at once and gives the new one its mode and,
 * where permitted, its owner; of a symbolic link the target is replaced. After a failure nothing
 * new stands under the name and PATH.part is gone. The parts of a set get their names after all of
 * them are complete, the first one last; those they replace stand aside (PATH.part.old) meanwhile:
 * after a failure they are back, after a kill ggufx_edit_recover or the next write puts them back.
 * Every part has the key "ggufx.split.id", the same in all, by which a mixture of two sets is
 * refused (SPLIT). A write beyond RLIMIT_FSIZE raises SIGXFSZ, which ends a process that does not
 * ignore it; signals are the host's, which this library never changes: ignore it to get IO. Errors:
 * those of ggufx_writer_info, IO (also of a stream's read, and where less space is free than the
 * file takes; system_error), STATE (PATH.part is being written by another call or process),
 * CANCELLED.
 * Threads: exclusive on writer.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_writer_write(ggufx_writer *writer, const char *path,
                                          const ggufx_write_options *options, ggufx_error *error);

/* Write through a callback: the parts in order, numbered from 0, each one's bytes in order, at most
 * 512 KiB at once. It returns GGUFX_OK when it took all n bytes; anything else ends the write (IO).
 * Errors: as ggufx_writer_write.   Threads: exclusive on writer.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_writer_write_stream(ggufx_writer *writer,
                                                 ggufx_status (*write)(void *user, uint32_t part,
                                                                       const void *data, size_t n),
                                                 void *user, const ggufx_write_options *options,
                                                 ggufx_error *error);

/* ---- editing -------------------------------------------------------------------------------- */

#define GGUFX_EDIT_IN_PLACE 1u /* in its place or not at all (CAPACITY) */
#define GGUFX_EDIT_REWRITE 2u  /* as a new file, also where it would fit */

typedef struct ggufx_edit_options {
    uint32_t struct_size;
    uint32_t flags; /* GGUFX_EDIT_*, one at most */
    const void *next;
    const ggufx_progress *progress; /* reported in bytes; NULL: cannot be cancelled */
    uint64_t reserved[2];
} ggufx_edit_options;

/* Fill with defaults.   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_edit_options_init(ggufx_edit_options *options);

typedef struct ggufx_edit_facts {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* 0 */
    uint32_t in_place;    /* 1: the tensor data stay where they are, unread and unwritten */
    uint32_t reserved;
    uint64_t n_bytes;       /* of the file, afterwards */
    uint64_t reserve_bytes; /* room that is left for the next edit */
    uint64_t n_written;     /* bytes written in all; 0 from ggufx_edit_info */
} ggufx_edit_facts;

/*
 * What ggufx_edit_write would do. The writer holds what `file` is to become: create it with the
 * file's version and byte order, ggufx_writer_copy_meta, _copy_tensors (or _add_tensor in the
 * file's order, under other names), and change keys with ggufx_writer_set_*, _unset, _rename. The
 * edit is made in place when the tensors are the file's in its order, nothing but keys and names
 * changes (no reserve_bytes were asked for) and these fit before the data; "ggufx.reserve" grows
 * and shrinks.
 * Errors: ARGUMENT, MEMORY, LIMIT, OVERFLOW, CAPACITY (IN_PLACE: the text says why not).
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_edit_info(ggufx_edit_facts *out, const ggufx_writer *writer,
                                       const ggufx_file *file, const ggufx_edit_options *options,
                                       ggufx_error *error);

/*
 * Make the edit to the file at `path`, from which `file` was opened; out may be NULL. As a new file
 * it is ggufx_writer_write. In place, only what changes before the data is written, and at every
 * moment the disk holds all of the old metadata or all of the new: changes within one sector of 512
 * bytes are one write; larger ones stand complete in PATH.patch before the file is touched, until
 * they are on the disk in the file too. A write that fails is taken back. After a crash in between,
 * ggufx_edit_recover finishes the edit; until then the file may not open. Files that other
 * processes have mapped change under them.
 * Errors: those of ggufx_edit_info, IO, NOT_FOUND, STATE (the file was changed since it was opened,
 * another call edits it, an interrupted edit is to be recovered), CANCELLED (before the first
 * write).
 * Threads: exclusive on writer.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_edit_write(ggufx_edit_facts *out, ggufx_writer *writer,
                                        const ggufx_file *file, const char *path,
                                        const ggufx_edit_options *options, ggufx_error *error);

/* Finish an edit in place that a crash interrupted, or put the old parts of a set back (or let go of
 * them, where all new ones had their names): path is that of any part then. out (may be NULL)
 * becomes 1 when there was one, and the log tells (INFO) how much was left to do. Errors: ARGUMENT,
 * MEMORY, IO, NOT_FOUND, STATE (PATH.patch is damaged, or not of this file: some sector is neither
 * the old nor the new one, or other metadata differ; nothing is changed, and it is the caller's to
 * remove).
 * Threads: one call per path.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_edit_recover(int32_t *out, const ggufx_runtime *rt, const char *path,
                                          ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
