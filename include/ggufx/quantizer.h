/*
 * ggufx/quantizer.h: quantize a model: a plan to inspect and change, then one streaming run.
 *
 * A quantizer reads tensors of an opened file, writes blocks of other types, and never holds more
 * than some rows in memory. The file has the bytes of the reference quantizer: same quantization
 * mixes, blocks and keys, on any machine and for any number of threads.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_QUANTIZER_H
#define GGUFX_QUANTIZER_H

#include "file.h"
#include "imatrix.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A quantization: planned, running or finished. */
typedef struct ggufx_quantizer ggufx_quantizer;

/* ---- quantization mixes --------------------------------------------------------------------- */

/* A quantization mix (llama.cpp: ftype). */
typedef struct ggufx_file_type_facts {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* 0 */
    const char *name;     /* "Q4_K_M"; valid for the life of the process */
    uint32_t file_type;   /* value of general.file_type: 15 */
    ggufx_type type;      /* GGUFX_TYPE_* of most tensors */
} ggufx_file_type_facts;

/* Returns the number of quantization mixes.   Threads: any.   Since: 0.1. */
GGUFX_API size_t ggufx_file_type_count(void);
/* Describes quantization mix `index`, in order of descending bits. out->struct_size must be set.
 * Errors: ARGUMENT.   Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_file_type_at(ggufx_file_type_facts *out, size_t index,
                                          ggufx_error *error);
/* Finds the value of general.file_type by name, regardless of case. "Q4_K" is Q4_K_M.
 * Errors: ARGUMENT, NOT_FOUND (the message suggests the nearest name).
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_file_type_find(uint32_t *out, const char *name, ggufx_error *error);

/* ---- planning ------------------------------------------------------------------------------- */

/* Flags of a plan. */
typedef uint32_t ggufx_quantizer_flags;
#define GGUFX_QUANTIZER_PURE 1u             /* the main type of the mix for all tensors */
#define GGUFX_QUANTIZER_LEAVE_OUTPUT 2u     /* output.weight keeps its type */
#define GGUFX_QUANTIZER_COPY_ONLY 4u        /* all tensors keep their types */
#define GGUFX_QUANTIZER_ALLOW_REQUANTIZE 8u /* accept quantized input */
#define GGUFX_QUANTIZER_NO_FALLBACK 16u     /* SHAPE if rows are not whole blocks of the type */
#define GGUFX_QUANTIZER_KEEP_SPLIT 32u      /* write a split set, with the parts of the input */
#define GGUFX_QUANTIZER_OUTPUT_TYPE 64u     /* use output_type */
#define GGUFX_QUANTIZER_EMBEDDING_TYPE 128u /* use embedding_type */
/* blocks of GGUFX_QUANTIZE_REFINED: lower error, other bytes */
#define GGUFX_QUANTIZER_REFINED 256u
#define GGUFX_QUANTIZER_NO_REPLACE 512u /* IO (exists) if a file has the output's name */

/* A calibration text: matrices are quantized for the inputs that they get (feedback.h). */
typedef struct ggufx_quantizer_feedback {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    /* ids of the text, copied. Whole chunks of n_context tokens count; every eighth
     * one decides whether feedback is used. */
    const int32_t *tokens;
    size_t n_tokens;
    uint32_t n_context; /* tokens per chunk, at least 4; 0: 512 */
    int32_t bos;        /* replaces token 0 of each chunk; -1: none */
    uint32_t n_passes;  /* passes of the descent, at most 100; 0: 4 */
    uint32_t reserved;
    double damping; /* as in ggufx_feedback_args; 0: by the length of the text */
} ggufx_quantizer_feedback;

/* Options of a plan. All zero means default. */
typedef struct ggufx_quantizer_options {
    uint32_t struct_size;
    ggufx_quantizer_flags flags;
    ggufx_type output_type;    /* GGUFX_TYPE_* of output.weight */
    ggufx_type embedding_type; /* GGUFX_TYPE_* of token_embd.weight */
    /* kept as it is now; later changes or its destruction have no effect */
    const ggufx_imatrix *imatrix;
    const char *imatrix_name; /* for the key quantize.imatrix.file; may be NULL */
    uint64_t reserve_bytes;   /* as in ggufx_writer_options */
    /* NULL: none. Quantizes the matrices of the layers one after the other: each one for the inputs that
     * the quantized matrices before it compute, towards the outputs of the model in the file.
     * Tensors that it makes need no imatrix. Not with GGUFX_QUANTIZER_KEEP_SPLIT or shards. */
    const ggufx_quantizer_feedback *feedback;
} ggufx_quantizer_options;

/*
 * Plans the quantization of a file by a quantization mix.
 *
 * options may be NULL. The quantizer keeps the file. A file opened for metadata only can be
 * planned, but not run.
 *
 * Errors:
 * - ARGUMENT: unknown file_type; quantized input without GGUFX_QUANTIZER_ALLOW_REQUANTIZE.
 * - MEMORY, TYPE, VALUE_TYPE.
 * - UNSUPPORTED: a type without an encoder.
 * - SHAPE: rows are not whole blocks of the type, and a fallback was refused or does not exist
 *   (output_type, embedding_type, GGUFX_QUANTIZER_PURE).
 * - MISMATCH: an imatrix entry of another size.
 * - ARGUMENT: feedback with no whole chunk.
 * - UNSUPPORTED: feedback with GGUFX_QUANTIZER_KEEP_SPLIT.
 *
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_quantizer_create(ggufx_quantizer **out, const ggufx_runtime *rt,
                                              const ggufx_file *file, uint32_t file_type,
                                              const ggufx_quantizer_options *options,
                                              ggufx_error *error);

/* Frees a quantizer and releases its file.   Threads: exclusive on quantizer.   Since: 0.1. */
GGUFX_API void ggufx_quantizer_destroy(ggufx_quantizer *quantizer);

typedef struct ggufx_quantizer_facts {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* 0 */
    uint64_t n_tensors;
    uint64_t n_parts;     /* files that a run writes */
    uint64_t n_values;    /* values of all tensors */
    uint64_t bytes_in;    /* bytes of all tensors in the input */
    uint64_t bytes_out;   /* bytes of all tensors in the output */
    uint64_t file_bytes;  /* exact bytes of all files that a run writes */
    uint64_t n_fallbacks; /* tensors with GGUFX_QUANTIZER_REASON_FALLBACK */
    uint64_t n_missing;   /* tensors without an entry of the imatrix, if one was given */
} ggufx_quantizer_facts;

/* Describes a plan. out->struct_size must be set.
 * Errors: ARGUMENT, MEMORY.   Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_quantizer_info(ggufx_quantizer_facts *out,
                                            const ggufx_quantizer *quantizer, ggufx_error *error);

/* Reasons for the type of a tensor. */
typedef int32_t ggufx_quantizer_reason;
enum {
    GGUFX_QUANTIZER_REASON_RECIPE = 0, /* the quantization mix */
    /* an override: ggufx_quantizer_override_types, output_type, embedding_type */
    GGUFX_QUANTIZER_REASON_OVERRIDE = 1,
    GGUFX_QUANTIZER_REASON_KEPT = 2, /* norms, vectors and other tensors that are never quantized */
    GGUFX_QUANTIZER_REASON_SAME = 3, /* it has this type already */
    /* rows are not whole blocks of `wanted`: a type with smaller blocks, or F16 */
    GGUFX_QUANTIZER_REASON_FALLBACK = 4
};

/* A tensor of a plan. */
typedef struct ggufx_quantizer_tensor_facts {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* 0 */
    ggufx_text name;      /* lives as long as the quantizer */
    uint64_t ne[4];       /* values per dimension */
    uint32_t n_dims;
    ggufx_type from;   /* type in the input */
    ggufx_type to;     /* type in the output */
    ggufx_type wanted; /* type before a fallback */
    ggufx_quantizer_reason reason;
    /* 1: an entry weighs its columns; 0: no entry is used; -1: the imatrix has no entry; -2: no
     * entry, but the type requires one. */
    int32_t imatrix;
    uint32_t part; /* index of the output file */
    uint32_t reserved;
    uint64_t bytes_in;  /* bytes in the input */
    uint64_t bytes_out; /* bytes in the output */
    double rmse;        /* error of a run with GGUFX_QUANTIZER_MEASURE; negative: not measured */
    double seconds;     /* time in the last run */
    /* With feedback: mean squared error of the outputs, relative to their mean square, before the
     * descent; 0 without. */
    double error_before;
    double error_after; /* the same of the written blocks */
} ggufx_quantizer_tensor_facts;

/* Describes tensor `index`, in the order of the output. out->struct_size must be set.
 * Errors: ARGUMENT.   Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_quantizer_tensor_at(ggufx_quantizer_tensor_facts *out,
                                                 const ggufx_quantizer *quantizer, size_t index,
                                                 ggufx_error *error);

#define GGUFX_QUANTIZER_DEFAULT_TYPE 0xffffffffu /* no override: the type of the quantization mix */

/*
 * Overrides the types of tensors: types[i] is for tensor i, or GGUFX_QUANTIZER_DEFAULT_TYPE.
 *
 * Replaces all earlier overrides. An override changes no other tensor: mixes that count layers also
 * count overridden tensors. Tensors that are never quantized keep their type
 * (GGUFX_QUANTIZER_REASON_KEPT). Rows that are not whole blocks get a fallback
 * (GGUFX_QUANTIZER_REASON_FALLBACK).
 *
 * Errors: as ggufx_quantizer_create; the plan is then as before.
 * Threads: exclusive on quantizer.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_quantizer_override_types(ggufx_quantizer *quantizer,
                                                      const ggufx_type *types, size_t n,
                                                      ggufx_error *error);

/*
 * Measures the root mean squared error (RMSE) that a type would cause in tensor `index`.
 *
 * The error is unweighted and comes from up to max_values values in evenly spaced rows (0: all
 * values).
 *
 * Errors: ARGUMENT (also a type that requires an imatrix which the tensor lacks), TYPE,
 * UNSUPPORTED, SHAPE, VALUE, MEMORY, CANCELLED.
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_quantizer_tensor_error(double *out, const ggufx_quantizer *quantizer,
                                                    size_t index, ggufx_type type,
                                                    uint64_t max_values,
                                                    const ggufx_progress *progress,
                                                    ggufx_error *error);

/* ---- running -------------------------------------------------------------------------------- */

/* Flags of a run. */
typedef uint32_t ggufx_quantizer_run_flags;
#define GGUFX_QUANTIZER_RESUME 1u /* continue an interrupted run with the same input and options */
#define GGUFX_QUANTIZER_KEEP 2u /* if cancelled, or the disk is full: keep the files for a resume */
#define GGUFX_QUANTIZER_MEASURE 4u /* fill ggufx_quantizer_tensor_facts.rmse */

/* Options of a run. All zero means default. */
typedef struct ggufx_quantizer_run_options {
    uint32_t struct_size;
    ggufx_quantizer_run_flags flags;
    const ggufx_progress *progress; /* reported in bytes of input; NULL: cannot be cancelled */
    /* Called after each tensor, on the calling thread; may be NULL. A result other than GGUFX_OK
     * ends the run with it; the next run goes on after this tensor. */
    ggufx_status (*tensor_done)(void *user, size_t index,
                                const ggufx_quantizer_tensor_facts *tensor);
    void *user; /* first argument of tensor_done */
    /* Number of this shard, 1 .. n_shards; 0: no shards. n_shards runs on one file system write
     * their tensors to PATH.part; ggufx_quantizer_finish completes the file. */
    uint32_t shard;
    uint32_t n_shards;
} ggufx_quantizer_run_options;

/*
 * Runs a quantizer: quantizes all tensors and writes the file by atomic replace.
 *
 * With GGUFX_QUANTIZER_KEEP_SPLIT the output is a set, PREFIX-00001-of-0000N.gguf, where PREFIX is
 * the path without ".gguf". The file is written as PATH.part, synced to disk and renamed, unless
 * GGUFX_QUANTIZER_NO_REPLACE is set and the name exists. It replaces an existing file atomically, a
 * set as ggufx_writer_write does. options may be NULL.
 *
 * PATH.part.log lists the complete tensors. After a kill or a power failure GGUFX_QUANTIZER_RESUME
 * continues; without this flag PATH.part is started again. A resumed run verifies the existing
 * tensors by checksums. Memory: about 32 MiB and one row for any model, plus the tables of IQ
 * types. Feedback needs more: 16 to 28 bytes per pair of columns of the widest matrix, its rows as
 * f32, and the activations of the text twice. It makes its tensors first, in the order of the
 * model; a resumed run computes the activations again.
 *
 * Errors:
 * - ARGUMENT: a tensor requires an imatrix and has none, or an id of the feedback is outside of the
 *   vocabulary.
 * - UNSUPPORTED: a file opened for metadata only; feedback with shards, or for a model whose layers
 *   read the keys of other layers.
 * - VALUE: a NaN or infinity (index: the row; the message has tensor, row and column), or values
 *   beyond the range of a type's scales.
 * - IO (system_error), MEMORY, CANCELLED.
 * - STATE: PATH.part is being written.
 * - MISMATCH: PATH.part belongs to other input or options.
 *
 * Threads: exclusive on quantizer; uses the runtime's executor.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_quantizer_run(ggufx_quantizer *quantizer, const char *path,
                                           const ggufx_quantizer_run_options *options,
                                           ggufx_error *error);

/*
 * Completes the file after all shards: checks every tensor in PATH.part, writes the metadata,
 * renames.
 * Errors: as ggufx_quantizer_run, NOT_FOUND (no PATH.part), STATE (a tensor is missing or damaged,
 * or a shard is still running). The work of all shards stays for another try.
 * Threads: exclusive on quantizer.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_quantizer_finish(ggufx_quantizer *quantizer, const char *path,
                                              const ggufx_progress *progress, ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
