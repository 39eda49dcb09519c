/*
 * ggufx/matmul.h: weights in their on-disk blocks times f32 vectors and matrices.
 *
 * The bits of every result are defined: they depend on the call and its mode, never on instruction set, thread count or executor. n = 1..3 and n >= 4 columns have
 * different (each fixed) bits, unless GGUFX_MATMUL_BATCH_INVARIANT or GGUFX_MATMUL_TILES is set.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_MATMUL_H
#define GGUFX_MATMUL_H

#include "file.h"

#ifdef __cplusplus
extern "C" {
#endif

/* f32 activations with quantized weights too (about 1e-6 instead of 1e-2 relative error), for about
 * 3 times the time where computing decides. F16, BF16 and F32 weights always have them. */
#define GGUFX_MATMUL_F32 1u
/* Each column of a result has the bits of ggufx_matvec of that column, however many columns there
 * are. Up to about ten columns cost nothing more, many of quantized weights up to three times as
 * much. */
#define GGUFX_MATMUL_BATCH_INVARIANT 2u
/* Each column of a result has the bits it has among four columns or more, however many there are:
 * the other choice by which no neighbour changes a bit, for many columns. One to three of quantized
 * weights take about as long as four do, two to four times as long as without. Not together with
 * BATCH_INVARIANT. */
#define GGUFX_MATMUL_TILES 8u
/* Activations of 15 bits instead of 8 with quantized weights (about 4e-5 instead of 1e-2 relative
 * error), for 1.3 to 2.1 times the time where computing decides and less where memory does. Not
 * together with F32; without effect on F16, BF16 and F32 weights. */
#define GGUFX_MATMUL_PRECISE 4u

typedef struct ggufx_matmul_options {
    uint32_t struct_size;
    uint32_t flags; /* GGUFX_MATMUL_* */
    const void *next;
    const ggufx_progress *progress; /* NULL: cannot be cancelled */
    uint64_t reserved[2];
} ggufx_matmul_options;

/* Fill with defaults.   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_matmul_options_init(ggufx_matmul_options *options);

/*
 * y = W x for one vector.
 *
 * w  a tensor of any type with GGUFX_TYPE_HAS_MATVEC: rows = ne1 * ne2 * ne3, columns = ne0.
 * x  f32, n_x = ne0 values.   y  f32, n_y = rows values; must not overlap x.
 * A NaN in x gives NaN (bits 0x7fc00000) in every y, an infinity too with 8-bit activations (with
 * f32 ones it follows IEEE); -0 is stored as +0.
 * Sums run in f32, before their scales are applied too: where |x| is above about 1e30 they can
 * overflow, to an infinity or NaN though the exact result is finite. An MXFP4 scale (up to 2^127)
 * times the scale of 8- or 15-bit activations can be infinite, and codes that are 0 then give NaN.
 * Errors: ARGUMENT (lengths), TYPE, UNSUPPORTED, LIMIT (x does not fit the runtime's workspace),
 * CANCELLED.
 * Threads: any number at once; uses the runtime's executor.   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_matvec(float *y, size_t n_y, const ggufx_runtime *rt,
                                    const ggufx_tensor *w, const float *x, size_t n_x,
                                    const ggufx_matmul_options *options, ggufx_error *error);

/*
 * Y = W X for n vectors: column j of X is x + j * ldx, column j of Y is y + j * ldy.
 *
 * ldx, ldy  distance of two columns in floats, 0 = dense (ne0, rows).
 * n_x, n_y  floats in the buffers, at least (n - 1) * ld + length of a column.
 * Otherwise as ggufx_matvec, whose bits it has for n = 1..3.
 * Threads: any number at once; uses the runtime's executor.   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_matmul(float *y, size_t ldy, size_t n_y, const ggufx_runtime *rt,
                                    const ggufx_tensor *w, const float *x, size_t ldx, size_t n_x,
                                    size_t n, const ggufx_matmul_options *options,
                                    ggufx_error *error);

/* Most matrices of one ggufx_matvec_many. */
#define GGUFX_MATVEC_MAX_MATRICES 64

/*
 * y[i] = W[i] x for several matrices and one vector, e.g. query, key and value: x is packed once,
 * and the rows of all matrices are shared out to the executor together. The bits of each y[i] are
 * those of ggufx_matvec.
 *
 * w    n_w <= GGUFX_MATVEC_MAX_MATRICES tensors of any types, all with ne0 = n_x; 0 is allowed.
 * y    n_w buffers, y[i] with n_y[i] = rows of w[i] values; they overlap neither x nor each other.
 * Otherwise as ggufx_matvec; the arrays are only read during the call. Nothing is computed before
 * all arguments are checked.
 * Threads: any number at once; uses the runtime's executor.   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_matvec_many(float *const *y, const size_t *n_y,
                                         const ggufx_runtime *rt, const ggufx_tensor *const *w,
                                         size_t n_w, const float *x, size_t n_x,
                                         const ggufx_matmul_options *options, ggufx_error *error);

/*
 * Mixture of experts: each of n columns of x goes through n_used of the matrices of w. Result
 * r = j * n_used + i, at y + r * ldy, is expert ids[r] times column j.
 *
 * w         experts along the third dimension: ne2 matrices of ne1 rows and ne0 columns, ne3 = 1.
 * ids       n * n_used numbers below ne2, in any order; the same one may occur more than once. None
 *           (n or n_used is 0) is a result: nothing is read or written.
 * x         column j at x + j * ldx. A column per result (down projection): n results with
 *           n_used = 1.
 * ldx, ldy  distance of two columns in floats, 0 = dense (ne0, ne1).
 * n_x, n_y  floats in the buffers, at least (columns - 1) * ld + length of a column.
 * All results of one expert are one product: their bits are those of ggufx_matmul with as many
 * columns as the expert has results in this call (1..3, or 4 and more; see BATCH_INVARIANT, TILES).
 * Errors: ARGUMENT (lengths, shape, overlap; an id out of range: error->index says which), else as
 * ggufx_matvec; LIMIT also when 4 bytes per result and expert do not fit the workspace. Nothing is
 * computed before all arguments are checked.
 * Threads: any number at once; uses the runtime's executor.   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_matmul_id(float *y, size_t ldy, size_t n_y, const ggufx_runtime *rt,
                                       const ggufx_tensor *w, const uint32_t *ids, size_t n_used,
                                       const float *x, size_t ldx, size_t n_x, size_t n,
                                       const ggufx_matmul_options *options, ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
