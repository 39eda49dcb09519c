// Attention over decoded rows: the 16 chains of 8 keys in two registers, one key per lane. fmaf is
// an instruction here and a call into libm in the baseline: 138 against 625 ns per token and head.
// SPDX-License-Identifier: MIT
#include "kernels/avx2/families.hpp"

#include <immintrin.h>

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

// Columns 0..7 of eight rows: c[i] lane t = keys[t][first + i].
inline void transpose(__m256 c[8], const float *const keys[kKvKeys], size_t first) {
    __m256 r[8], s[8];
    for (int t = 0; t < 8; t++) r[t] = _mm256_loadu_ps(keys[t] + first);
    for (int t = 0; t < 8; t += 2) {
        s[t] = _mm256_unpacklo_ps(r[t], r[t + 1]);
        s[t + 1] = _mm256_unpackhi_ps(r[t], r[t + 1]);
    }
    for (int h = 0; h < 8; h += 4) {
        r[h] = _mm256_shuffle_ps(s[h], s[h + 2], 0x44);
        r[h + 1] = _mm256_shuffle_ps(s[h], s[h + 2], 0xee);
        r[h + 2] = _mm256_shuffle_ps(s[h + 1], s[h + 3], 0x44);
        r[h + 3] = _mm256_shuffle_ps(s[h + 1], s[h + 3], 0xee);
    }
    for (int i = 0; i < 4; i++) {
        c[i] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x20);
        c[i + 4] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x31);
    }
}

void score(float even[kKvKeys], float odd[kKvKeys], const float *q,
           const float *const keys[kKvKeys], size_t width) {
    __m256 e = _mm256_loadu_ps(even), o = _mm256_loadu_ps(odd), c[8];
    size_t i = 0;
    for (; i + 8 <= width; i += 8) {
        transpose(c, keys, i);
        for (size_t j = 0; j < 8; j += 2) {
            e = _mm256_fmadd_ps(_mm256_set1_ps(q[i + j]), c[j], e);
            o = _mm256_fmadd_ps(_mm256_set1_ps(q[i + j + 1]), c[j + 1], o);
        }
    }
    _mm256_storeu_ps(even, e);
    _mm256_storeu_ps(odd, o);
    for (; i < width; i++) {
        float *chain = i % 2 ? odd : even;
        for (size_t t = 0; t < kKvKeys; t++) chain[t] = __builtin_fmaf(q[i], keys[t][i], chain[t]);
    }
}

void accumulate(float *o, float p, const float *value, size_t n) {
    const __m256 weight = _mm256_set1_ps(p);
    size_t j = 0;
    for (; j + 8 <= n; j += 8) {
        const __m256 sum = _mm256_loadu_ps(o + j);
        _mm256_storeu_ps(o + j, _mm256_fmadd_ps(weight, _mm256_loadu_ps(value + j), sum));
    }
    for (; j < n; j++) o[j] = __builtin_fmaf(p, value[j], o[j]);
}

} // namespace
} // namespace avx2

const KvFloat kAvx2Kv = {avx2::score, avx2::accumulate};

} // namespace kernels
} // namespace ggufx
