// Shared parts of the scalar encoders: the loop over the blocks of a job, and the weights of an
// importance matrix. All sums are f32, sequential in the order of the values; no contraction, no
// libm except sqrtf. The golden rows q/*, made with ggml (tests/golden/QUANT_MANIFEST), cover every
// step.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/round.hpp"
#include "formats/all.hpp"
#include "kernels/encode.hpp"

namespace ggufx {
namespace kernels {
namespace scalar {
namespace {

using namespace rounding;

// Encodes one zeroed block. qw: imatrix weights of its columns, or null.
template <class F>
using EncodeBlock = void(typename F::Block &to, const float *x, const float *qw,
                         const EncodeJob &job);

template <class F, EncodeBlock<F> *Encoder> void each_block(const EncodeJob &job) {
    auto *blocks = reinterpret_cast<typename F::Block *>(job.out);
    for (size_t b = 0; b < job.n_blocks; b++) {
        const size_t column = (job.block + b) % job.row_blocks * F::kValues;
        blocks[b] = {};
        Encoder(blocks[b], job.x + b * F::kValues, job.imatrix ? job.imatrix + column : nullptr,
                job);
    }
}

template <class F> void put_codes(typename F::Block &to, const uint8_t *codes) {
    for (unsigned i = 0; i < F::kValues; i++) write(to, F::code_at(i), codes[i]);
}
template <class F> void put_scales(typename F::Block &to, const uint8_t *codes) {
    for (unsigned g = 0; g < F::kValues / F::kGroup; g++) write(to, F::scale_at(g), codes[g]);
}
template <class F> void put_mins(typename F::Block &to, const uint8_t *codes) {
    for (unsigned g = 0; g < F::kValues / F::kGroup; g++) write(to, F::min_at(g), codes[g]);
}

// w = qw * sqrt(sigma2 + x^2): the weight of an important column grows with its values.
inline void imatrix_weights(float *w, const float *x, const float *qw, int n, float sigma2) {
    for (int i = 0; i < n; i++) w[i] = qw[i] * sqrtf(sigma2 + x[i] * x[i]);
}

inline float sum_of(const float *w, int n) {
    float sum = 0.0f;
    for (int i = 0; i < n; i++) sum += w[i];
    return sum;
}

} // namespace
} // namespace scalar
} // namespace kernels
} // namespace ggufx
