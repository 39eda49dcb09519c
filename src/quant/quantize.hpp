// Quantization of f32 rows to rows of blocks on the host's executor.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/loop.hpp"
#include "kernels/table.hpp"
#include "quant/encoder.hpp"

namespace ggufx::quant {

class Lists; // neighbours.hpp

struct Rows {
    const float *data; // [n_rows][n_cols], contiguous
    size_t n_rows, n_cols;
    const float *imatrix; // n_cols weights, or null
    bool best = false;    // improve the reference's blocks
};

// Writes n_rows * n_cols / block_values blocks of `type` to `out`. Checks values before it encodes
// them; a search checks all of them first. After a failure the contents of `out` are undefined. The
// bytes depend neither on threads nor on kernels.
// - IQ1 to IQ3 allocate up to 1.1 MB from the host during the call (bad_alloc), other types
//   nothing.
// - kept: lists that outlive the call, from the same host, used by one call at a time.
// - aside: passed to the encoding loop (base/loop.hpp); unused if there is nothing to encode.
// Sets `failure` (may be null): type, unsupported, shape, argument, value, cancelled.
Status quantize(uint8_t *out, size_t n_bytes, const Host &host, const kernels::Kernels &set,
                uint32_t type, const Rows &rows, const Progress &progress, Failure *failure,
                Lists *kept = nullptr, const Aside *aside = nullptr);

} // namespace ggufx::quant
