/*
 * ggufx/feedback.h: quantize a matrix for the inputs that it gets.
 *
 * ggufx_quantize lowers the error of the weights, these calls lower the error of the outputs. They
 * need the second moments of the inputs: sums over the tokens of a calibration text. The blocks
 * have the same types and sizes, and every reader of the format understands them.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_FEEDBACK_H
#define GGUFX_FEEDBACK_H

#include "quant.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- moments of inputs ---------------------------------------------------------------------- */

/* Second moments of the inputs of a matrix: sums of y y^T, where y is an input. */
typedef struct ggufx_moments ggufx_moments;

/* Flags of moments. */
typedef uint32_t ggufx_moments_flags;
/* Also sum (x - y) y^T: y is the input in the quantized model, x the one in the source model.
 * ggufx_quantize_feedback then aims at the outputs of the source model. */
#define GGUFX_MOMENTS_DRIFT 1u

/*
 * Creates moments without inputs, for a matrix with n_columns columns. Memory: 8 bytes per pair of
 * columns, 16 with GGUFX_MOMENTS_DRIFT.
 * Errors: ARGUMENT, LIMIT, MEMORY.   Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_moments_create(ggufx_moments **out, const ggufx_runtime *rt,
                                            size_t n_columns, ggufx_moments_flags flags,
                                            ggufx_error *error);

/* Frees moments.   Threads: exclusive on moments.   Since: 0.1. */
GGUFX_API void ggufx_moments_destroy(ggufx_moments *moments);

typedef struct ggufx_moments_facts {
    uint32_t struct_size; /* set by the caller */
    ggufx_moments_flags flags;
    uint64_t n_columns;
    uint64_t n_inputs;
    uint64_t memory_bytes; /* memory of the sums */
} ggufx_moments_facts;

/* Describes moments. out->struct_size must be set.
 * Errors: ARGUMENT.   Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_moments_info(ggufx_moments_facts *out, const ggufx_moments *moments,
                                          ggufx_error *error);

/* Inputs to add to moments. */
typedef struct ggufx_moments_inputs {
    uint32_t struct_size;
    uint32_t flags;    /* 0 */
    size_t n;          /* inputs: tokens */
    size_t n_columns;  /* values of an input; as in the moments */
    const float *rows; /* {len: n * n_columns} inputs of the quantized model, dense */
    /* {null} {len: n * n_columns} the same inputs in the source model, with GGUFX_MOMENTS_DRIFT;
     * else NULL */
    const float *source_rows;
    const ggufx_progress *progress; /* counts inputs; NULL: none */
} ggufx_moments_inputs;

/*
 * Adds inputs to moments. The sums are binary64, in the order of the inputs: they depend neither on
 * threads and machine nor on how the inputs are split into calls.
 *
 * Errors:
 * - ARGUMENT: wrong number of columns, source_rows without GGUFX_MOMENTS_DRIFT or the reverse.
 * - VALUE: infinity or NaN (index: the input). Nothing was added.
 * - CANCELLED: the moments can only be destroyed.
 *
 * Threads: exclusive on moments; uses the runtime's executor.   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_moments_add(ggufx_moments *moments, const ggufx_moments_inputs *inputs,
                                         ggufx_error *error);

/* ---- quantization --------------------------------------------------------------------------- */

/* Flags of a quantization with feedback. */
typedef uint32_t ggufx_feedback_flags;
/* Aim at the rows themselves, although the moments have drift. */
#define GGUFX_FEEDBACK_KEEP_TARGET 1u
#define GGUFX_FEEDBACK_DAMPING 2u /* use damping */

/* Rows of f32 to quantize with feedback. */
typedef struct ggufx_feedback_args {
    uint32_t struct_size;
    ggufx_feedback_flags flags;
    ggufx_type type;
    uint32_t n_passes; /* passes over all blocks, at most 100; 0: 4 */
    size_t n_rows;
    size_t n_cols;                /* values of a row; as in the moments */
    const float *rows;            /* {len: n_rows * n_cols} f32, dense */
    const ggufx_moments *moments; /* moments of the inputs */
    /* {null} moments of other inputs: feedback is used only if it lowers the error for them */
    const ggufx_moments *kept_out;
    /* Share of the mean square of the inputs that is added to each square, above 0, at most 100.
     * Default: 0.1, or 0.3 if there are fewer than 16 inputs per column. */
    double damping;
    const ggufx_progress *progress; /* counts rows, twice; NULL: none */
} ggufx_feedback_args;

/* Result of a quantization with feedback. Errors are relative to the mean square of the outputs. */
typedef struct ggufx_feedback_facts {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* 0 */
    /* 1: the blocks are those of the feedback; 0: it did not help, they are those without it */
    int32_t is_used;
    uint32_t reserved;
    double error_before;    /* mean squared error of the outputs without feedback */
    double error_after;     /* with feedback */
    double kept_out_change; /* change of the error for the kept-out inputs; 0 without kept_out */
} ggufx_feedback_facts;

/*
 * Quantizes rows for inputs with given moments, with the same bytes on every machine and thread
 * count.
 *
 * Begins with the blocks of GGUFX_QUANTIZE_REFINED, where the imatrix is the mean square of each
 * column. Coordinate descent then lowers the squared error of the outputs, averaged over the
 * inputs: it changes codes, scales and minimums one at a time. docs/reproducibility/feedback.md is
 * the definition. A change of the target (GGUFX_MOMENTS_DRIFT) needs at least 16 inputs per column.
 *
 * out    as in ggufx_quantize.
 * out_facts  the result; out_facts->struct_size must be set.
 *
 * Each call prepares the moments again, in time proportional to the cube of n_cols with
 * GGUFX_MOMENTS_DRIFT: pass all rows with the same inputs at once.
 *
 * Errors:
 * - ARGUMENT: n_bytes too small; fewer than 4 inputs per column (value, limit); only zeros as
 *   inputs; damping or n_passes out of range.
 * - TYPE: a type without codes, such as F16, or TQ1_0.
 * - SHAPE: n_cols is not whole blocks, or differs from the moments.
 * - VALUE: infinity or NaN (index: the row; the message has row and column of the first one), or
 *   inputs whose mean squares exceed f32.
 * - CANCELLED, MEMORY.
 *
 * Threads: any number at once; uses the runtime's executor. Allocates: per worker 388 bytes per
 * column, per pair of columns 4 to 28 bytes, and the size of the blocks.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_quantize_feedback(void *out, size_t n_bytes, const ggufx_runtime *rt,
                                               const ggufx_feedback_args *args,
                                               ggufx_feedback_facts *out_facts, ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
