// AVX-512 row operations, and their primitives in addition to those of encode_vec.hpp: partial
// registers, pairs of lanes.
// SPDX-License-Identifier: MIT
#include "kernels/avx512/encode_vec.hpp"
#include "kernels/loops/families.hpp"
#include "kernels/loops/rows_table.hpp"

namespace ggufx {
namespace kernels {
namespace avx512 {
namespace {

struct RowVec : EncodeVec {
    // The first n < kLanes lanes; memory after them is not accessed.
    struct Part {
        __mmask16 on;
        explicit GGUFX_INLINE Part(size_t n) : on(static_cast<__mmask16>((1u << n) - 1)) {}
    };
    static GGUFX_INLINE Vf load_part(const float *p, Part part) { // +0 elsewhere
        return _mm512_maskz_loadu_ps(part.on, p);
    }
    static GGUFX_INLINE void store_part(float *p, Vf v, Part part) {
        _mm512_mask_storeu_ps(p, part.on, v);
    }
    static GGUFX_INLINE Vf keep_part(Vf v, Vf otherwise, Part part) {
        return _mm512_mask_mov_ps(otherwise, part.on, v);
    }

    static GGUFX_INLINE Vf even_twice(Vf v) { return _mm512_moveldup_ps(v); }
    static GGUFX_INLINE Vf odd_twice(Vf v) { return _mm512_movehdup_ps(v); }
    // a - b in even lanes, a + b in odd ones.
    static GGUFX_INLINE Vf sub_add(Vf a, Vf b) {
        return _mm512_mask_sub_ps(_mm512_add_ps(a, b), 0x5555, a, b);
    }
    // The even and the odd lanes of two registers.
    static GGUFX_INLINE void part_pairs(Vf &even, Vf &odd, Vf a, Vf b) {
        const __m512i index =
            _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        even = _mm512_permutex2var_ps(a, index, b);
        odd = _mm512_permutex2var_ps(a, _mm512_or_si512(index, set1_i(1)), b);
    }
};

} // namespace
} // namespace avx512

constexpr RowKernels GGUFX_LAYER::kRows = kRowsOf<avx512::RowVec>;

} // namespace kernels
} // namespace ggufx
