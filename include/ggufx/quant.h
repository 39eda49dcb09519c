/*
 * ggufx/quant.h: blocks to f32.
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

#ifdef __cplusplus
}
#endif

#endif
