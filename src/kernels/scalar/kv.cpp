// Attention over decoded rows: the chains of kv/README.md, one value at a time.
// SPDX-License-Identifier: MIT
#include "kernels/scalar/families.hpp"

namespace ggufx {
namespace kernels {
namespace scalar {
namespace {

void score(float even[kKvKeys], float odd[kKvKeys], const float *q,
           const float *const keys[kKvKeys], size_t width) {
    for (size_t i = 0; i < width; i++) {
        float *chain = i % 2 ? odd : even;
        for (size_t t = 0; t < kKvKeys; t++) chain[t] = __builtin_fmaf(q[i], keys[t][i], chain[t]);
    }
}

void accumulate(float *o, float p, const float *value, size_t n) {
    for (size_t j = 0; j < n; j++) o[j] = __builtin_fmaf(p, value[j], o[j]);
}

} // namespace
} // namespace scalar

const KvFloat kScalarKv = {scalar::score, scalar::accumulate};

} // namespace kernels
} // namespace ggufx
