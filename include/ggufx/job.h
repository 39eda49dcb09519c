/*
 * ggufx/job.h: quantize a model: a plan to look at and change, then one streaming run.
 *
 * A job reads tensors of an opened file, writes blocks of other types and never holds more than
 * some rows. The file it writes has the bytes of the reference quantizer: same mixes, same blocks,
 * same keys, whatever the machine and the number of threads.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_JOB_H
#define GGUFX_JOB_H

#include "file.h"
#include "imatrix.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A quantization that is planned, runs, or has run. */
typedef struct ggufx_job ggufx_job;

/* ---- recipes -------------------------------------------------------------------------------- */

typedef struct ggufx_file_type_facts {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* 0 */
    const char *name;     /* "Q4_K_M"; valid for ever */
    uint32_t file_type;   /* value of general.file_type: 15 */
    uint32_t type;        /* that most tensors get */
} ggufx_file_type_facts;

/* Number of recipes.   Threads: any.   Since: 0.1. */
GGUFX_API size_t ggufx_file_type_count(void);
/* Describe recipe `index`, most bits first; out->struct_size must be set. Errors: ARGUMENT.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_file_type_at(ggufx_file_type_facts *out, size_t index,
                                          ggufx_error *error);
/* Value of general.file_type by name, without regard to case; "Q4_K" is Q4_K_M.
 * Errors: ARGUMENT, NOT_FOUND (the text names the nearest).
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_file_type_from_name(uint32_t *out, const char *name,
                                                 ggufx_error *error);

/* ---- planning ------------------------------------------------------------------------------- */

#define GGUFX_JOB_PURE 1u             /* the recipe's main type for every tensor */
#define GGUFX_JOB_LEAVE_OUTPUT 2u     /* output.weight stays as it is */
#define GGUFX_JOB_ONLY_COPY 4u        /* every tensor stays as it is */
#define GGUFX_JOB_ALLOW_REQUANTIZE 8u /* take input that is quantized already */
#define GGUFX_JOB_NO_FALLBACK 16u     /* rows that do not fit a type are an error */
#define GGUFX_JOB_KEEP_SPLIT 32u      /* a set stays a set, part by part */
#define GGUFX_JOB_OUTPUT_TYPE 64u     /* output_type counts */
#define GGUFX_JOB_EMBEDDING_TYPE 128u /* embedding_type counts */
#define GGUFX_JOB_BEST 256u           /* blocks of GGUFX_QUANTIZE_BEST: less error, other bytes */
#define GGUFX_JOB_NO_REPLACE 512u     /* IO (exists) where a file has the output's name */

/* All zero means default. */
typedef struct ggufx_job_options {
    uint32_t struct_size;
    uint32_t flags; /* GGUFX_JOB_* */
    const void *next;
    uint32_t output_type;         /* of output.weight */
    uint32_t embedding_type;      /* of token_embd.weight */
    const ggufx_imatrix *imatrix; /* kept; changing or destroying it later changes nothing here */
    const char *imatrix_name;     /* for the key quantize.imatrix.file; may be NULL */
    uint64_t reserve_bytes;       /* as in ggufx_writer_options */
    uint64_t reserved[2];
} ggufx_job_options;

/* Fill with defaults.   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_job_options_init(ggufx_job_options *options);

/*
 * Plan the quantization of a file by a recipe; options may be NULL. The job keeps the file. One
 * that was opened metadata-only can be planned, not run.
 * Errors: ARGUMENT (unknown file_type; input is quantized already), MEMORY, TYPE, UNSUPPORTED (a
 * type without encoder), SHAPE (rows are not whole blocks
 * of the type and a fallback was refused, or is none: output_type, embedding_type,
 * GGUFX_JOB_PURE), MISMATCH (an imatrix entry of another size), KVTYPE.
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_job_quantize(ggufx_job **out, const ggufx_runtime *rt,
                                          const ggufx_file *file, uint32_t file_type,
                                          const ggufx_job_options *options, ggufx_error *error);

/* Let go of the job and its file.   Threads: exclusive on job.   Since: 0.1. */
GGUFX_API void ggufx_job_destroy(ggufx_job *job);

typedef struct ggufx_job_facts {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* 0 */
    uint64_t n_tensors;
    uint64_t n_parts;     /* files that a run writes */
    uint64_t n_values;    /* of all tensors */
    uint64_t bytes_in;    /* of all tensors */
    uint64_t bytes_out;   /* of all tensors */
    uint64_t file_bytes;  /* of all files that a run writes, exactly */
    uint64_t n_fallbacks; /* tensors of GGUFX_JOB_REASON_FALLBACK */
    uint64_t n_missing;   /* tensors without an entry of the imatrix, where one was given */
} ggufx_job_facts;

/* Describe a plan; out->struct_size must be set. Errors: ARGUMENT, MEMORY.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_job_info(ggufx_job_facts *out, const ggufx_job *job,
                                      ggufx_error *error);

/* Why a tensor gets its type. */
enum {
    GGUFX_JOB_REASON_RECIPE = 0,
    GGUFX_JOB_REASON_CHOSEN = 1, /* ggufx_job_set_types, output_type or embedding_type */
    GGUFX_JOB_REASON_KEPT = 2,   /* norms, vectors and others that are never quantized */
    GGUFX_JOB_REASON_SAME = 3,   /* has the type already */
    /* its rows are not whole blocks of `wanted`: it gets a type with smaller blocks, at last F16 */
    GGUFX_JOB_REASON_FALLBACK = 4
};

typedef struct ggufx_job_tensor {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* 0 */
    const char *name;     /* not terminated; lives as long as the job */
    size_t name_length;
    uint64_t ne[4]; /* values per dimension */
    uint32_t n_dims;
    uint32_t from;   /* type in the file */
    uint32_t to;     /* type it gets */
    uint32_t wanted; /* before a fallback */
    int32_t reason;  /* GGUFX_JOB_REASON_* */
    int32_t imatrix; /* 1: an entry weighs its columns; 0: none is wanted; -1: the imatrix has no
                      * entry; -2: that, and the type cannot be made without */
    uint32_t part;   /* file it goes to */
    uint32_t reserved0;
    uint64_t bytes_in;  /* of its data in the input */
    uint64_t bytes_out; /* in the output */
    double rmse;        /* of a run with GGUFX_JOB_MEASURE; negative: not measured */
    double seconds;     /* of the last run */
} ggufx_job_tensor;

/* Describe tensor `index`, in the order they are written; out->struct_size must be set.
 * Errors: ARGUMENT.   Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_job_tensor_at(ggufx_job_tensor *out, const ggufx_job *job,
                                           size_t index, ggufx_error *error);

#define GGUFX_JOB_BY_RECIPE 0xffffffffu /* the type that the recipe chose */

/*
 * Override the types of tensors: types[i] is that of tensor i, or GGUFX_JOB_BY_RECIPE. An override
 * changes no other tensor: a mix that counts layers counts tensors that have one as well. Tensors that
 * are never quantized keep their type (GGUFX_JOB_REASON_KEPT), rows that are not whole blocks get a
 * fallback (GGUFX_JOB_REASON_FALLBACK). Replaces all overrides before. Errors: as ggufx_job_quantize; the plan is then as it was.
 * Threads: exclusive on job.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_job_set_types(ggufx_job *job, const uint32_t *types, size_t n,
                                           ggufx_error *error);

/*
 * What a type would do to tensor `index`: the root of the mean squared error, from up to
 * max_values values in evenly spaced rows (0: all of them), weighed by nothing.
 * Errors: ARGUMENT (also a type that a run refuses because the tensor has no imatrix), TYPE,
 * UNSUPPORTED, SHAPE, VALUE, MEMORY, CANCELLED.
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_job_measure(double *out, const ggufx_job *job, size_t index,
                                         uint32_t type, uint64_t max_values,
                                         const ggufx_progress *progress, ggufx_error *error);

/* ---- running -------------------------------------------------------------------------------- */

#define GGUFX_JOB_RESUME 1u  /* go on where a run with the same input and options was ended */
#define GGUFX_JOB_KEEP 2u    /* cancelled, or the disk is full: leave what a resume needs */
#define GGUFX_JOB_MEASURE 4u /* fill ggufx_job_tensor.rmse */

typedef struct ggufx_job_run_options {
    uint32_t struct_size;
    uint32_t flags; /* GGUFX_JOB_RESUME, _KEEP, _MEASURE */
    const void *next;
    const ggufx_progress *progress; /* in bytes of input; NULL: cannot be cancelled */
    /* Called after each tensor, on the calling thread; may be NULL. */
    void *user;
    void (*tensor_done)(void *user, size_t index, const ggufx_job_tensor *tensor);
    /* Of n_shards runs on one file system this is number `shard`, from 1: it writes its share of
     * the tensors into PATH.part, and ggufx_job_finish makes the file. 0: all of it. */
    uint32_t shard;
    uint32_t n_shards;
    uint64_t reserved[2];
} ggufx_job_run_options;

/* Fill with defaults.   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_job_run_options_init(ggufx_job_run_options *options);

/*
 * Write the file (with GGUFX_JOB_KEEP_SPLIT a set: PREFIX-00001-of-0000N.gguf, PREFIX being the
 * path without ".gguf"): into PATH.part, brought to the disk, then renamed; a file of that name is
 * replaced at once, a set's as by ggufx_writer_write (unless GGUFX_JOB_NO_REPLACE). PATH.part.log
 * tells which tensors are complete, so that after a kill or a power cut GGUFX_JOB_RESUME goes on;
 * without it PATH.part is begun anew. What is found there is checked by checksums. options may be
 * NULL. Memory: some 32 MiB and one row, whatever the model; tables of the IQ types.
 * Errors: ARGUMENT (a tensor needs an imatrix and has none), UNSUPPORTED (opened metadata-only),
 * VALUE (a NaN or infinity: the text names tensor,
 * row and column, error->index is the row; or values beyond the range of a type's scales), IO
 * (system_error), STATE (PATH.part is being written), MISMATCH (PATH.part was begun with other
 * input or options), CANCELLED, MEMORY.
 * Threads: exclusive on job; uses the runtime's executor.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_job_run(ggufx_job *job, const char *path,
                                     const ggufx_job_run_options *options, ggufx_error *error);

/*
 * After all shards: check every tensor in PATH.part, write the metadata, rename.
 * Errors: as ggufx_job_run, NOT_FOUND (no PATH.part), STATE (a tensor is missing or damaged, a
 * shard is still running); all shards' work stays for another try.
 * Threads: exclusive on job.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_job_finish(ggufx_job *job, const char *path,
                                        const ggufx_progress *progress, ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
