/*
 * ggufx/quant.h: dequantize blocks to f32, quantize f32 to blocks.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_QUANT_H
#define GGUFX_QUANT_H

#include "file.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Dequantizes rows of a tensor to f32, bit-exact with the definition of the formats.
 *
 * out        f32, [n_rows][ne0], dense; n_out >= n_rows * ne0 floats.
 * first_row  first row, counted over all outer dimensions: ne1 * ne2 * ne3 rows.
 *
 * I8 .. I64 and F64 are converted to f32 (round to nearest even).
 *
 * Errors: ARGUMENT (range, n_out too small), TYPE, UNSUPPORTED (not in host memory, opened for
 * metadata only).
 * Threads: any number at once; uses the runtime's executor.   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_dequantize(float *out, size_t n_out, const ggufx_runtime *rt,
                                        const ggufx_tensor *tensor, uint64_t first_row,
                                        uint64_t n_rows, ggufx_error *error);

/* Algorithms that choose scales and codes. */
typedef int32_t ggufx_quantize_mode;
enum {
    GGUFX_QUANTIZE_REFERENCE = 0, /* bytes of ggml's quantizer */
    /* An improvement of these bytes: no block has a larger squared error, weighted by the imatrix.
     * Takes some microseconds per value. Since: 0.1. */
    GGUFX_QUANTIZE_REFINED = 1
};

/* Rows of f32 to quantize. */
typedef struct ggufx_quantize_args {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    ggufx_type type;
    ggufx_quantize_mode mode;
    size_t n_rows;
    size_t n_cols;                  /* values of a row */
    const float *rows;              /* {len: n_rows * n_cols} f32, dense */
    const float *imatrix;           /* {len: n_cols} weights of the columns, >= 0, or NULL */
    const ggufx_progress *progress; /* counts blocks; NULL: none */
} ggufx_quantize_args;

/*
 * Quantizes rows to blocks, with the same bytes on every machine and thread count.
 *
 * out  n_bytes >= n_rows * ggufx_type_row_bytes(type, n_cols), written dense, little-endian fields;
 *      must not overlap the rows. Unspecified after an error.
 *
 * Types without a search (Q8_0, F16, ...) ignore the imatrix. IQ2_XXS, IQ2_XS and IQ1_S need one.
 * IQ3_S has the bytes of the reference also in this case: a group of 32 zeros shifts the codes of
 * later groups. Such blocks dequantize to wrong values; GGUFX_QUANTIZE_REFINED avoids them. IQ1,
 * IQ2 and IQ3 begin each call with tables, which take up to 1 MB and tens of ms: pass many rows.
 *
 * Errors:
 * - ARGUMENT: n_bytes too small, no or unusable imatrix.
 * - TYPE.
 * - UNSUPPORTED: the type has no encoder; see GGUFX_TYPE_HAS_QUANTIZE.
 * - SHAPE: n_cols is not whole blocks.
 * - VALUE: infinity or NaN (index: the row; the message has row and column of the first one).
 * - CANCELLED, MEMORY.
 *
 * Threads: any number at once; uses the runtime's executor.
 * Allocates: only those tables, freed before return.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_quantize(void *out, size_t n_bytes, const ggufx_runtime *rt,
                                      const ggufx_quantize_args *args, ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
