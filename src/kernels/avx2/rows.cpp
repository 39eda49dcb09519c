// AVX2 row operations, and their primitives in addition to those of encode_vec.hpp: partial
// registers, pairs of lanes.
// SPDX-License-Identifier: MIT
#include "kernels/avx2/encode_vec.hpp"
#include "kernels/loops/families.hpp"
#include "kernels/loops/rows_table.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

struct RowVec : EncodeVec {
    // The first n < kLanes lanes; memory after them is not accessed.
    struct Part {
        __m256i on;
        explicit GGUFX_INLINE Part(size_t n)
            : on(_mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int32_t>(n)),
                                    _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))) {}
    };
    static GGUFX_INLINE Vf load_part(const float *p, Part part) { // +0 elsewhere
        return _mm256_maskload_ps(p, part.on);
    }
    static GGUFX_INLINE void store_part(float *p, Vf v, Part part) {
        _mm256_maskstore_ps(p, part.on, v);
    }
    static GGUFX_INLINE Vf keep_part(Vf v, Vf otherwise, Part part) {
        return _mm256_blendv_ps(otherwise, v, _mm256_castsi256_ps(part.on));
    }

    static GGUFX_INLINE Vf even_twice(Vf v) { return _mm256_moveldup_ps(v); }
    static GGUFX_INLINE Vf odd_twice(Vf v) { return _mm256_movehdup_ps(v); }
    // a - b in even lanes, a + b in odd ones.
    static GGUFX_INLINE Vf sub_add(Vf a, Vf b) { return _mm256_addsub_ps(a, b); }
    // The even and the odd lanes of two registers.
    static GGUFX_INLINE Vf in_order(Vf v) {
        return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(v), 0xd8));
    }
    static GGUFX_INLINE void part_pairs(Vf &even, Vf &odd, Vf a, Vf b) {
        even = in_order(_mm256_shuffle_ps(a, b, 0x88));
        odd = in_order(_mm256_shuffle_ps(a, b, 0xdd));
    }
};

} // namespace
} // namespace avx2

constexpr RowKernels GGUFX_LAYER::kRows = kRowsOf<avx2::RowVec>;

} // namespace kernels
} // namespace ggufx
