// Rows of f32 to rows of blocks on the host's executor.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/loop.hpp"
#include "kernels/table.hpp"
#include "quant/encoder.hpp"

namespace ggufx::quant {

class Lists; // neighbours.hpp

struct Rows {
    const float *data; // [n_rows][n_cols], dense
    size_t n_rows, n_cols;
    const float *imatrix; // n_cols weights, or null
    bool best = false;    // improve the reference's blocks
};

// out: n_rows * n_cols / block_values blocks of `type`. Values are looked at before they are
// encoded, all of them before a search begins; after a failure `out` holds anything. The bytes
// depend neither on threads nor on kernels. IQ1 to IQ3 take up to 1.1 MB from the host for the call
// (bad_alloc), the others nothing. kept: lists that outlive the call; on the same host, for one
// call at a time. aside: of the loops here (base/loop.hpp); not begun where nothing is encoded. Fills
// `failure` (may be null): type, unsupported, shape, argument, value, cancelled.
Status quantize(uint8_t *out, size_t n_bytes, const Host &host, const kernels::Kernels &set,
                uint32_t type, const Rows &rows, const Progress &progress, Failure *failure,
                Lists *kept = nullptr, const Aside *aside = nullptr);

} // namespace ggufx::quant
