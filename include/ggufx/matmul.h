/*
 * ggufx/matmul.h: products of quantized weights, in their blocks of the file, with f32 vectors and
 * matrices.
 *
 * The bits of every result are defined. They depend on the call and its mode, never on the
 * instruction set, thread count or executor. Without GGUFX_MATMUL_BATCH_INVARIANT and
 * GGUFX_MATMUL_TILES, products with n = 1 .. 3 and with n >= 4 columns have different bits, each
 * defined.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_MATMUL_H
#define GGUFX_MATMUL_H

#include "file.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of products. */
typedef uint32_t ggufx_matmul_flags;
/* Uses f32 activations with quantized weights too: relative error about 1e-6 instead of 1e-2, about
 * 3 times the time if compute-bound. F16, BF16 and F32 weights always use them. */
#define GGUFX_MATMUL_F32 1u
/* Each column of a result has the bits of ggufx_matvec of that column, for any number of columns.
 * Costs nothing up to about ten columns; many columns of quantized weights take up to three times
 * as long. */
#define GGUFX_MATMUL_BATCH_INVARIANT 2u
/* Each column of a result has the bits of a product with four columns or more, for any number of
 * columns. This is the batch-invariant mode for many columns. With quantized weights one to three
 * columns take about as long as four: two to four times as long as without. Not together with
 * GGUFX_MATMUL_BATCH_INVARIANT. */
#define GGUFX_MATMUL_TILES 8u
/* Uses 15-bit instead of 8-bit activations with quantized weights: relative error about 4e-5
 * instead of 1e-2. Takes 1.3 to 2.1 times the time if compute-bound, and less if memory-bound. Not
 * together with GGUFX_MATMUL_F32; no effect on F16, BF16 and F32 weights. */
#define GGUFX_MATMUL_PRECISE 4u

typedef struct ggufx_matmul_options {
    uint32_t struct_size;
    ggufx_matmul_flags flags;
    const ggufx_progress *progress; /* NULL: cannot be cancelled */
} ggufx_matmul_options;

/*
 * Computes y = W x for one vector.
 *
 * w  a tensor of any type with GGUFX_TYPE_HAS_MATVEC: rows = ne1 * ne2 * ne3, columns = ne0.
 * x  f32, n_x = ne0 values.
 * y  f32, n_y = rows values; must not overlap x.
 *
 * A NaN in x gives NaN (bits 0x7fc00000) in every y. So does an infinity with 8-bit activations;
 * with f32 activations it follows IEEE 754. -0 is stored as +0.
 *
 * Sums run in f32, also before their scales are applied. If |x| is above about 1e30 they can
 * overflow to an infinity or NaN, although the exact result is finite. An MXFP4 scale (up to 2^127)
 * times the scale of 8- or 15-bit activations can be infinite; codes that are 0 then give NaN.
 *
 * Errors: ARGUMENT (lengths), TYPE, UNSUPPORTED, LIMIT (x does not fit the runtime's workspace),
 * CANCELLED.
 * Threads: any number at once; uses the runtime's executor.   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_matvec(float *y, size_t n_y, const ggufx_runtime *rt,
                                    const ggufx_tensor *w, const float *x, size_t n_x,
                                    const ggufx_matmul_options *options, ggufx_error *error);

/*
 * Computes Y = W X for n vectors: column j of X is x + j * ldx, column j of Y is y + j * ldy.
 *
 * ldx, ldy  distance of two columns in floats, 0 = dense (ne0, rows).
 * n_x, n_y  floats in the buffers, at least (n - 1) * ld + length of a column.
 *
 * Otherwise as ggufx_matvec, whose bits it has for n = 1 .. 3.
 *
 * Errors: as ggufx_matvec.
 * Threads: any number at once; uses the runtime's executor.   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_matmul(float *y, size_t ldy, size_t n_y, const ggufx_runtime *rt,
                                    const ggufx_tensor *w, const float *x, size_t ldx, size_t n_x,
                                    size_t n, const ggufx_matmul_options *options,
                                    ggufx_error *error);

#define GGUFX_MATVEC_MAX_MATRICES 64 /* matrices of one ggufx_matvec_many */

/*
 * Computes y[i] = W[i] x for several matrices and one vector, such as query, key and value.
 *
 * x is packed once, and the executor gets the rows of all matrices together. The bits of each y[i]
 * are those of ggufx_matvec.
 *
 * w    n_w <= GGUFX_MATVEC_MAX_MATRICES tensors of any types, all with ne0 = n_x; 0 is allowed.
 * y    {len: n_w} buffers that overlap neither x nor each other.
 * n_y  {len: n_w} y[i] has n_y[i] = rows of w[i] values.
 *
 * Otherwise as ggufx_matvec; the arrays are only read during the call. All arguments are checked
 * before anything is computed.
 *
 * Errors: as ggufx_matvec.
 * Threads: any number at once; uses the runtime's executor.   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_matvec_many(float *const *y, const size_t *n_y,
                                         const ggufx_runtime *rt, const ggufx_tensor *const *w,
                                         size_t n_w, const float *x, size_t n_x,
                                         const ggufx_matmul_options *options, ggufx_error *error);

/*
 * Multiplies columns by the matrices of experts (mixture of experts), n_used experts per column.
 *
 * Result r = j * n_used + i, at y + r * ldy, is expert ids[r] times column j of the n columns of x.
 *
 * w         experts along the third dimension: ne2 matrices of ne1 rows and ne0 columns, ne3 = 1.
 * ids       {len: n * n_used} numbers below ne2, in any order; they may repeat. If n or n_used is
 *           0, nothing is read or written.
 * x         column j at x + j * ldx. For one column per result (down projection): n results with
 *           n_used = 1.
 * ldx, ldy  distance of two columns in floats, 0 = dense (ne0, ne1).
 * n_x, n_y  floats in the buffers, at least (columns - 1) * ld + length of a column.
 *
 * All results of one expert are one product. Their bits are those of ggufx_matmul with as many
 * columns as the expert has results in this call: 1 .. 3, or 4 and more.
 * GGUFX_MATMUL_BATCH_INVARIANT and GGUFX_MATMUL_TILES remove this dependence. All arguments are
 * checked before anything is computed.
 *
 * Errors:
 * - ARGUMENT: lengths, shape, overlap; an id out of range (index: the id).
 * - LIMIT: also if 4 bytes per result and expert do not fit the workspace.
 * - Others as ggufx_matvec.
 *
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
