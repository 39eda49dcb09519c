// Quantization of f32 rows to rows of blocks on the host's executor.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/loop.hpp"
#include "kernels/encode.hpp"
#include "kernels/table.hpp"

namespace ggufx::quant {

class Lists; // neighbours.hpp

// Returns null for types without an encoder: integers, F64, activation types, unknown ids.
const kernels::Encode *encoder(uint32_t type);

// Returns the index of the first of n_blocks blocks with a scale that is not finite, SIZE_MAX if
// all are finite. The reference refuses to write such blocks.
size_t first_bad_block(uint32_t type, const uint8_t *blocks, size_t n_blocks);

// Memory for blocks of a type.
struct Blocks {
    uint8_t *data;
    size_t n_bytes;
    uint32_t type;
};

struct Rows {
    const float *data; // [n_rows][n_cols], contiguous
    size_t n_rows, n_cols;
    const float *imatrix; // n_cols weights, or null
    bool best = false;    // improve the reference's blocks
};

// Writes n_rows * n_cols / block_values blocks to `out`. Checks values before it encodes
// them; a search checks all of them first. After a failure the contents of `out` are undefined. The
// bytes depend neither on threads nor on kernels.
// - IQ1 to IQ3 allocate up to 1.1 MB from the host during the call (bad_alloc), other types
//   nothing.
// - kept: lists that outlive the call, from the same host, used by one call at a time.
// - aside: passed to the encoding loop (base/loop.hpp); unused if there is nothing to encode.
// Sets `failure` (may be null): type, unsupported, shape, argument, value, cancelled.
Status quantize(const Blocks &out, const Host &host, const kernels::Kernels &set, const Rows &rows,
                const Progress &progress, Failure *failure, Lists *kept = nullptr,
                const Aside *aside = nullptr);

} // namespace ggufx::quant
