/*
 * ggufx/quant.h: blocks to f32 and back.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_QUANT_H
#define GGUFX_QUANT_H

#include "file.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Dequantize rows of a tensor to f32, bit-exact with the formats' definition.
 *
 * out        f32, [n_rows][ne0], dense; n_out >= n_rows * ne0 floats.
 * first_row  rows count over all outer dimensions: ne1 * ne2 * ne3 of them.
 * I8..I64 and F64 are converted to f32 (nearest even).
 * Errors: ARGUMENT (range, n_out too small), TYPE, UNSUPPORTED (not in host memory, opened
 * metadata-only).
 * Threads: any number at once; uses the runtime's executor.   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_dequantize(float *out, size_t n_out, const ggufx_runtime *rt,
                                        const ggufx_tensor *tensor, uint64_t first_row,
                                        uint64_t n_rows, ggufx_error *error);

/*
 * Dequantize whole blocks that stand in memory: n_bytes / block_bytes blocks of `type`.
 *
 * out    f32, n >= blocks * block_values floats.
 * bytes  any alignment, little-endian fields.
 * Errors: ARGUMENT (n_bytes is not whole blocks, n too small), TYPE.
 * Threads: any number at once.   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_dequantize_blocks(float *out, size_t n, const ggufx_runtime *rt,
                                               uint32_t type, const void *bytes, size_t n_bytes,
                                               ggufx_error *error);

/* Ways to choose scales and codes. */
enum {
    GGUFX_QUANTIZE_REFERENCE = 0, /* the bytes that ggml's quantizer writes */
    GGUFX_QUANTIZE_BEST = 1       /* those made better: no block's squared error, weighted by the
                                     imatrix, is larger; takes some microseconds per value. Since 0.1 */
};

/* All zero means default. */
typedef struct ggufx_quantize_options {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    const void *next;
    int32_t mode; /* GGUFX_QUANTIZE_* */
    uint32_t reserved0;
    const float *imatrix;           /* n_cols weights >= 0 of the columns, or NULL */
    const ggufx_progress *progress; /* counts blocks; NULL: none */
    uint64_t reserved[2];
} ggufx_quantize_options;

/* Fill with defaults (all zero but struct_size).   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_quantize_options_init(ggufx_quantize_options *options);

/*
 * Quantize rows of f32 to blocks of `type`, the same bytes on every machine and thread count.
 *
 * out      n_bytes >= n_rows * ggufx_row_bytes(type, n_cols), written dense, little-endian fields;
 *          must not overlap rows.
 * rows     f32, [n_rows][n_cols], dense.
 * options  may be NULL. The imatrix is ignored by types without a search (Q8_0, F16, ...).
 * IQ2_XXS, IQ2_XS and IQ1_S need an imatrix. IQ3_S is the reference's also where a group of 32
 * zeros shifts the codes of those after it; such blocks decode wrong (not with QUANTIZE_BEST).
 * Errors: ARGUMENT (n_bytes too small, no or unusable imatrix), TYPE, UNSUPPORTED (the type has no
 * encoder: see GGUFX_TYPE_HAS_QUANTIZE), SHAPE (n_cols is not whole blocks), VALUE (Inf or NaN:
 * the text names row and column of the first one, error->index is the row), CANCELLED, MEMORY; out
 * is then unspecified.
 * IQ1, IQ2 and IQ3 begin each call with tables (up to 1 MB and tens of ms): pass many rows.
 * Threads: any number at once; uses the runtime's executor.
 * Allocates: only those tables, freed before return.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_quantize_blocks(void *out, size_t n_bytes, const ggufx_runtime *rt,
                                             uint32_t type, const float *rows, size_t n_rows,
                                             size_t n_cols, const ggufx_quantize_options *options,
                                             ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
