/*
 * ggufx/imatrix.h: importance matrices, which tell a quantizer what each column of a weight is
 * worth.
 *
 * An entry has, for one weight tensor, the sums of squared activations of its columns over the
 * tokens of a text, and how many tokens went into them. Files come in two formats: GGUF, and the
 * older .dat.
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

enum {
    GGUFX_IMATRIX_GGUF = 0,
    GGUFX_IMATRIX_DAT = 1, /* one count per tensor, in calls of imatrix.chunk_size tokens */
    GGUFX_IMATRIX_NO_REPLACE = 256, /* added to the format of a file that is to be written: IO
                                       (exists) where a file has the name */
    GGUFX_IMATRIX_EXACT = 512       /* added to that of a GGUF file: with the sums before they were
                                       rounded, so that merging files loses nothing; 36 bytes a
                                       column in place of 4. Other programs pass over them */
};

/*
 * Read an imatrix file at a UTF-8 path; the first bytes tell the format. A .dat file counts calls:
 * they are taken as 512 tokens each. progress may be NULL.
 * Errors: ARGUMENT, MEMORY, IO, NOT_FOUND, CANCELLED; of a GGUF file those of ggufx_open, MISSING
 * (a key), SHAPE (sums and counts that do not belong together), VALUE; of a .dat file TRUNCATED,
 * MALFORMED (error->offset says where); DUPLICATE; VALUE for a negative, infinite or undefined
 * number.
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_imatrix_open(ggufx_imatrix **out, const ggufx_runtime *rt,
                                          const char *path, const ggufx_progress *progress,
                                          ggufx_error *error);

/* As ggufx_imatrix_open, from memory, which is not needed any more when the call returns.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_imatrix_open_memory(ggufx_imatrix **out, const ggufx_runtime *rt,
                                                 const void *data, size_t size, ggufx_error *error);

/* Let go of it.   Threads: exclusive on imatrix.   Since: 0.1. */
GGUFX_API void ggufx_imatrix_destroy(ggufx_imatrix *imatrix);

typedef struct ggufx_imatrix_facts {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* 0 */
    uint64_t n_entries;
    uint64_t n_datasets;
    uint64_t n_chunks;     /* of text that was read; 0: the file does not say */
    uint32_t chunk_tokens; /* tokens per chunk */
    int32_t format;        /* GGUFX_IMATRIX_* of the file it came from */
} ggufx_imatrix_facts;

/* Describe an imatrix; out->struct_size must be set. Errors: ARGUMENT.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_imatrix_info(ggufx_imatrix_facts *out, const ggufx_imatrix *imatrix,
                                          ggufx_error *error);

/* Pointers stay valid until the imatrix is changed or destroyed. */
typedef struct ggufx_imatrix_entry {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* 0 */
    const char *name;     /* of the weight tensor, not terminated */
    size_t name_length;
    uint64_t n_columns;
    uint64_t n_matrices; /* experts; 1 for others */
    const float *sums;   /* [n_matrices][n_columns] squared activations */
    const float *counts; /* [n_matrices] tokens */
    const float *values; /* [n_matrices][n_columns] sums / counts, 1 where nothing was counted: the
                          * imatrix of ggufx_quantize_options */
} ggufx_imatrix_entry;

/* Describe entry `index`; out->struct_size must be set. Errors: ARGUMENT.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_imatrix_at(ggufx_imatrix_entry *out, const ggufx_imatrix *imatrix,
                                        size_t index, ggufx_error *error);

/* Index of the entry for the weight tensor of this name. Errors: ARGUMENT, NOT_FOUND.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_imatrix_find(size_t *out_index, const ggufx_imatrix *imatrix,
                                          const char *name, size_t length, ggufx_error *error);

/* Name of the text `index` it was made from: a view, valid until the imatrix is changed.
 * Errors: ARGUMENT.   Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_imatrix_dataset(const char **out, size_t *out_length,
                                             const ggufx_imatrix *imatrix, size_t index,
                                             ggufx_error *error);

/* Keep the entries i with keep[i] != 0; n is the number of entries. Errors: ARGUMENT, MEMORY.
 * Threads: exclusive on imatrix.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_imatrix_select(ggufx_imatrix *imatrix, const uint8_t *keep, size_t n,
                                            ggufx_error *error);

/* Add the sums and counts of another one; entries it alone has come behind. Sums that were just
 * collected, or read from a file with exact ones, are added exactly and rounded once: then it makes
 * no difference in how many parts, and in which order, a text came.
 * Errors: ARGUMENT, MEMORY, MISMATCH (an entry of another shape), VALUE (a sum leaves f32).
 * Threads: exclusive on imatrix.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_imatrix_merge(ggufx_imatrix *imatrix, const ggufx_imatrix *other,
                                           ggufx_error *error);

#define GGUFX_COLLECT_OUTPUT 1u /* the matrix of the logits too, which few quantize by it */

/* All zero means default. */
typedef struct ggufx_imatrix_options {
    uint32_t struct_size;
    uint32_t flags; /* GGUFX_COLLECT_* */
    const void *next;
    const char *dataset;            /* name of the text, UTF-8, for the file; NULL: none */
    const ggufx_progress *progress; /* counts tokens; NULL: none */
    uint64_t reserved[2];
} ggufx_imatrix_options;

/* Fill with defaults (all zero but struct_size).   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_imatrix_options_init(ggufx_imatrix_options *options);

/*
 * Make an imatrix: run a model over token ids in chunks of n_context tokens, each for itself, and
 * add up the squares of what each of its matrices is multiplied by. Token 0 of each chunk is
 * replaced by the id `bos` unless that is -1; a rest shorter than a chunk is dropped. Entries come
 * in the order of the model's tensors; experts, and heads that have matrices of their own, are
 * counted one by one. Sums are made in binary64, in the order of the tokens of a chunk; chunks are
 * added exactly (each rounded to a multiple of 2^-127), and the sum is rounded once. Texts in parts,
 * cut between chunks: collect each, then ggufx_imatrix_merge gives the same bits.
 * session must be empty and hold n_context tokens; it is empty again afterwards. options may be
 * NULL. Takes 40 bytes for each column, of each expert, beside as many of the result.
 * Errors: ARGUMENT (fewer tokens than one chunk, an id outside of the vocabulary), STATE, MEMORY,
 * CANCELLED, VALUE (a sum is infinite or not a number), what the executor fails with.
 * Threads: exclusive on session; uses the runtime's executor.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_imatrix_collect(ggufx_imatrix **out, ggufx_session *session,
                                             const int32_t *tokens, size_t n_tokens,
                                             uint32_t n_context, int32_t bos,
                                             const ggufx_imatrix_options *options,
                                             ggufx_error *error);

/*
 * Write a file of a format (GGUFX_IMATRIX_*): beside its name (PATH.part), then renamed; what has
 * the name is replaced, unless GGUFX_IMATRIX_NO_REPLACE is added. A .dat file keeps of the data
 * sets the first, and one count per tensor: the values agree to one rounding. progress may be NULL.
 * Errors: ARGUMENT, MEMORY, IO, STATE (PATH.part is being written), CANCELLED, LIMIT; of a GGUF
 * file NAME (over 55 bytes).
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_imatrix_write(const ggufx_imatrix *imatrix, const char *path,
                                           int32_t format, const ggufx_progress *progress,
                                           ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
