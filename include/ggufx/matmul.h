/*
 * ggufx/matmul.h: products of quantized weights, in their blocks of the file, with f32 vectors and
 * matrices.
 *
 * The bits of every result are defined. They depend on the call and its mode, never on the
 * instruction set, thread count or executor. Without GGUFX_MATMUL_BATCH_INVARIANT and
 * GGUFX_MATMUL_TILED, products with n = 1 .. 3 and with n >= 4 columns have different bits, each
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
#define GGUFX_MATMUL_TILED 8u
/* Uses 15-bit instead of 8-bit activations with quantized weights: relative error about 4e-5
 * instead of 1e-2. Takes 1.3 to 2.1 times the time if compute-bound, and less if memory-bound. Not
 * together with GGUFX_MATMUL_F32; no effect on F16, BF16 and F32 weights. */
#define GGUFX_MATMUL_INT16 4u

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

#define GGUFX_MATMUL_MAX_PRODUCTS 64 /* products of one ggufx_matmul */

/* One product Y = W X: column j of X is x + j * ldx, column j of Y is y + j * ldy. */
typedef struct ggufx_product {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    /* a tensor as in ggufx_matvec; with ids ne2 matrices of ne1 rows, the experts, and ne3 = 1 */
    const ggufx_tensor *w;
    const float *x; /* columns of ne0 floats */
    size_t n_x;     /* floats of x, at least (n - 1) * ldx + ne0 */
    size_t ldx;     /* distance of two columns of x in floats; 0 = dense */
    size_t n;       /* columns of x */
    float *y;       /* results, one per column of x, with ids n_used per column */
    size_t n_y;     /* floats of y, at least (results - 1) * ldy + rows */
    size_t ldy;     /* distance of two results in floats; 0 = dense */
    /* {len: n * n_used} experts, below ne2 in any order; they may repeat. NULL without experts. */
    const uint32_t *ids;
    size_t n_used; /* experts per column; 0 without experts */
} ggufx_product;

/*
 * Computes several products, such as query, key and value of one input, or those of experts.
 *
 * Neighbouring products of the same x, ldx and n, without experts, are computed together: x is
 * packed once, and the executor gets the rows of all matrices. Their bits are those of single
 * products. n = 1 .. 3 columns have the bits of ggufx_matvec.
 *
 * With ids, result r = j * n_used + i is expert ids[r] times column j. For one column per result
 * (down projection) pass n results with n_used = 1. All results of one expert are one product.
 * Their bits are those of as many columns as the expert has results: 1 .. 3, or 4 and more.
 * GGUFX_MATMUL_BATCH_INVARIANT and GGUFX_MATMUL_TILED remove this dependence.
 *
 * products  at most GGUFX_MATMUL_MAX_PRODUCTS; no y overlaps an x or another y.
 *
 * Otherwise as ggufx_matvec. All products are checked before anything is computed, except for their
 * types and the workspace.
 *
 * Errors: as ggufx_matvec (index: the product), ARGUMENT (also overlaps, an id out of range), LIMIT
 * (also if 4 bytes per result and expert do not fit the workspace).
 * Threads: any number at once; uses the runtime's executor.   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_matmul(const ggufx_runtime *rt, const ggufx_product *products,
                                    size_t n_products, const ggufx_matmul_options *options,
                                    ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
