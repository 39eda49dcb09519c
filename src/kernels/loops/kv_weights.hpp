// Softmax weights of a page as 15-bit integers (docs/reproducibility/attention.md, D1).
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/kv_codes.hpp"

namespace ggufx {
namespace kernels {
namespace {

constexpr float kKvWeightCodes = 16256.0f;    // 127 * 128
constexpr int32_t kKvTinyWeight = 0x0d800000; // bits of 2^-100

// Weights of a page in one block, four consecutive tokens per row: W = 128 * high + low. With
// V::kPairs, int16 pairs: tokens 0 and 2 of four in the first plane, 1 and 3 in the second.
template <unsigned Rows> struct KvWeights {
    alignas(64) int8_t plane[Rows][2][kKvTokens];
    alignas(16) float back[4];  // factor that scales sums of W back
    alignas(16) int32_t sum[4]; // sum of W, for codes with an offset
};

// Unsigned: weights are not negative, and codes have no offset. Processes all rows in parallel: a
// single row would wait for its maximum, the divisions and the rounding in turn.
template <class V, unsigned Rows, bool Unsigned> struct KvWeigher {
    using F = typename V::Vf;
    using I = typename V::Vi;
    typedef float Four __attribute__((vector_size(16)));
    typedef int32_t FourBits __attribute__((vector_size(16)));
    static constexpr unsigned kRegs = kKvTokens / V::kLanes;

    // Returns 16256 / largest; 0 if the largest is too small to matter.
    static GGUFX_INLINE Four factors(KvWeights<Rows> &w, const I (&most)[4], float unit) {
        FourBits bits;
        V::largest_of4(&bits, most);
        const FourBits none = bits < kKvTinyWeight;
        constexpr FourBits one = {0x3f800000, 0x3f800000, 0x3f800000, 0x3f800000};
        const auto largest = reinterpret_cast<Four>((bits & ~none) | (one & none));
        const Four back = largest / kKvWeightCodes * unit, inverse = kKvWeightCodes / largest;
        const auto kept = reinterpret_cast<Four>(reinterpret_cast<FourBits>(back) & ~none);
        __builtin_memcpy(w.back, &kept, sizeof kept);
        return reinterpret_cast<Four>(reinterpret_cast<FourBits>(inverse) & ~none);
    }

    // Shared by all kinds of pages, except on AVX-512, where a call takes 5 % of the time of a
    // page.
    static GGUFX_INLINE void run(KvWeights<Rows> &w, const float *p, const uint8_t *scales,
                                 float unit) {
        if constexpr (V::kLanes == 16)
            here(w, p, scales, unit);
        else
            shared(w, p, scales, unit);
    }

private:
    static __attribute__((noinline)) void shared(KvWeights<Rows> &w, const float *p,
                                                 const uint8_t *scales, float unit) {
        here(w, p, scales, unit);
    }
    static GGUFX_INLINE void here(KvWeights<Rows> &w, const float *p, const uint8_t *scales,
                                  float unit) {
        F x[Rows][kRegs];
        I most[4] = {V::zero_i(), V::zero_i(), V::zero_i(), V::zero_i()}, sum[4];
#pragma GCC unroll 16
        for (unsigned i = 0; i < kRegs; i++) {
            const F d = V::load_f16(scales + i * V::kLanes * 2);
#pragma GCC unroll 4
            for (unsigned r = 0; r < Rows; r++) {
                x[r][i] = V::mul(V::load(p + r * kKvTokens + i * V::kLanes), d);
                most[r] = V::larger_magnitude(most[r], x[r][i]);
            }
        }
        const Four inverse = factors(w, most, unit);
#pragma GCC unroll 4
        for (unsigned r = 0; r < 4; r++) {
            sum[r] = V::zero_i();
            if (r >= Rows) continue;
            I q[kRegs];
#pragma GCC unroll 16
            for (unsigned i = 0; i < kRegs; i++) {
                q[i] = V::round(V::mul(x[r][i], V::set1(inverse[r])));
                if constexpr (!Unsigned) sum[r] = V::add_i(sum[r], q[i]);
            }
            V::template store_weights<Unsigned>(w.plane[r][0], w.plane[r][1], q);
        }
        if constexpr (!Unsigned) V::sums_of4(w.sum, sum);
    }
};

} // namespace
} // namespace kernels
} // namespace ggufx
