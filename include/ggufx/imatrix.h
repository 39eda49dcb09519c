/*
 * ggufx/imatrix.h: importance matrices, which weigh the columns of a weight matrix in quantization.
 *
 * An entry belongs to a weight tensor. It has the sums of the squared activations of each column
 * over the tokens of a dataset, and the number of these tokens. There are two file formats: GGUF,
 * and the older .dat.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_IMATRIX_H
#define GGUFX_IMATRIX_H

#include "model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Entries in the order of their file. Quantization jobs keep what they need of it. */
typedef struct ggufx_imatrix ggufx_imatrix;

/* File formats, and flags that are added to the format of a file to write. */
typedef int32_t ggufx_imatrix_format;
enum {
    GGUFX_IMATRIX_GGUF = 0,
    GGUFX_IMATRIX_DAT = 1, /* .dat: one count per tensor, in calls of imatrix.chunk_size tokens */
    GGUFX_IMATRIX_NO_REPLACE = 256, /* flag: IO (exists) if a file has the name */
    /* Flag for GGUF: also store the sums before rounding, so that merging files loses nothing.
     * Takes 36 bytes per column in place of 4. Other programs ignore them. */
    GGUFX_IMATRIX_EXACT = 512
};

/*
 * Reads an imatrix file at a UTF-8 path. The first bytes decide the format.
 *
 * The counts of a .dat file are calls, which are taken as 512 tokens each. progress may be NULL.
 *
 * Errors:
 * - ARGUMENT, MEMORY, IO, NOT_FOUND, CANCELLED, DUPLICATE.
 * - VALUE: a negative, infinite or undefined number.
 * - GGUF: those of ggufx_open, MISSING (a key), SHAPE (sums and counts do not belong together).
 * - .dat: TRUNCATED, MALFORMED (at error->offset).
 *
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_imatrix_open(ggufx_imatrix **out, const ggufx_runtime *rt,
                                          const char *path, const ggufx_progress *progress,
                                          ggufx_error *error);

/* Reads an imatrix from memory, which may be freed after the call. Errors: as ggufx_imatrix_open.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_imatrix_open_memory(ggufx_imatrix **out, const ggufx_runtime *rt,
                                                 const void *data, size_t size, ggufx_error *error);

/* Releases the caller's reference.   Threads: exclusive on imatrix.   Since: 0.1. */
GGUFX_API void ggufx_imatrix_destroy(ggufx_imatrix *imatrix);

typedef struct ggufx_imatrix_facts {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* 0 */
    uint64_t n_entries;
    uint64_t n_datasets;
    uint64_t n_chunks;           /* chunks of the dataset; 0: not in the file */
    uint32_t chunk_tokens;       /* tokens per chunk */
    ggufx_imatrix_format format; /* GGUFX_IMATRIX_* of its file */
} ggufx_imatrix_facts;

/* Describes an imatrix. out->struct_size must be set.
 * Errors: ARGUMENT.   Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_imatrix_info(ggufx_imatrix_facts *out, const ggufx_imatrix *imatrix,
                                          ggufx_error *error);

/* An entry of an imatrix. Pointers are valid until the imatrix is changed or destroyed. */
typedef struct ggufx_imatrix_entry {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* 0 */
    ggufx_text name;      /* name of the weight tensor */
    uint64_t n_columns;   /* columns of the tensor */
    uint64_t n_matrices;  /* experts; 1 for other tensors */
    const float *sums;    /* {len: n_matrices * n_columns} sums of squared activations */
    const float *counts;  /* {len: n_matrices} tokens */
    /* {len: n_matrices * n_columns} sums / counts, 1 without counts: the imatrix of
     * ggufx_quantize_args */
    const float *values;
} ggufx_imatrix_entry;

/* Describes entry `index`. out->struct_size must be set.
 * Errors: ARGUMENT.   Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_imatrix_entry_at(ggufx_imatrix_entry *out,
                                              const ggufx_imatrix *imatrix, size_t index,
                                              ggufx_error *error);

/* Finds the index of the entry for a weight tensor by name.
 * Errors: ARGUMENT, NOT_FOUND.   Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_imatrix_find(size_t *out_index, const ggufx_imatrix *imatrix,
                                          const char *name, size_t length, ggufx_error *error);

/* Returns the name of dataset `index`, as a view that is valid until the imatrix is changed.
 * Errors: ARGUMENT.   Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_imatrix_dataset_at(ggufx_text *out, const ggufx_imatrix *imatrix,
                                                size_t index, ggufx_error *error);

/* Keeps the entries i with keep[i] != 0 and removes the others. n is the number of entries.
 * Errors: ARGUMENT, MEMORY.   Threads: exclusive on imatrix.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_imatrix_keep_entries(ggufx_imatrix *imatrix, const uint8_t *keep,
                                                  size_t n, ggufx_error *error);

/*
 * Adds the sums and counts of another imatrix. New entries are appended.
 *
 * Sums that were just collected, or read with GGUFX_IMATRIX_EXACT, are added exactly and rounded
 * once. The result is then independent of the number and order of the parts of a dataset.
 *
 * Errors: ARGUMENT, MEMORY, MISMATCH (an entry of another shape), VALUE (a sum exceeds f32).
 * Threads: exclusive on imatrix.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_imatrix_merge(ggufx_imatrix *imatrix, const ggufx_imatrix *other,
                                           ggufx_error *error);

/* Flags of a collection. */
typedef uint32_t ggufx_imatrix_flags;
#define GGUFX_IMATRIX_OUTPUT 1u /* include the output matrix, for which an imatrix is rarely used */

/* Options of a collection. All zero means default. */
typedef struct ggufx_imatrix_options {
    uint32_t struct_size;
    ggufx_imatrix_flags flags;
    const char *dataset;            /* name of the dataset for the file, UTF-8; NULL: none */
    const ggufx_progress *progress; /* counts tokens; NULL: none */
} ggufx_imatrix_options;

/*
 * Collects an imatrix: runs a model over token ids and sums the squared inputs of its matrices.
 *
 * The ids are processed in independent chunks of n_context tokens. Token 0 of each chunk is
 * replaced by the id `bos` unless that is -1. A rest shorter than a chunk is dropped. Entries are
 * in the order of the model's tensors. Experts, and heads with matrices of their own, are counted
 * separately.
 *
 * Sums are computed in binary64, in the order of the tokens of a chunk. Chunks are added exactly,
 * each rounded to a multiple of 2^-127, and the sum is rounded once. A dataset can therefore be
 * split between chunks: collect each part, then ggufx_imatrix_merge gives the same bits.
 *
 * session must be empty and hold n_context tokens; it is empty again afterwards. options may be
 * NULL. Memory: 40 bytes per column, of each expert, in addition to those of the result.
 *
 * Errors:
 * - ARGUMENT: fewer tokens than one chunk, an id outside of the vocabulary.
 * - STATE, MEMORY, CANCELLED.
 * - VALUE: a sum is infinite or NaN.
 * - The status of a failed executor.
 *
 * Threads: exclusive on session; uses the runtime's executor.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_imatrix_create(ggufx_imatrix **out, ggufx_session *session,
                                            const int32_t *tokens, size_t n_tokens,
                                            uint32_t n_context, int32_t bos,
                                            const ggufx_imatrix_options *options,
                                            ggufx_error *error);

/*
 * Writes an imatrix to a file of a format (GGUFX_IMATRIX_*).
 *
 * The file is written as PATH.part and then renamed. It replaces an existing one, unless
 * GGUFX_IMATRIX_NO_REPLACE is added to the format. A .dat file keeps only the first dataset, and
 * one count per tensor: its values agree to one rounding. progress may be NULL.
 *
 * Errors: ARGUMENT, MEMORY, IO, STATE (PATH.part is being written), CANCELLED, LIMIT, NAME (over 55
 * bytes, in a GGUF file).
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_imatrix_write(const ggufx_imatrix *imatrix, const char *path,
                                           ggufx_imatrix_format format,
                                           const ggufx_progress *progress, ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
