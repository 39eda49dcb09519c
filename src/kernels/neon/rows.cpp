// NEON row operations, and their primitives in addition to those of encode_vec.hpp: partial
// registers, pairs of lanes.
// SPDX-License-Identifier: MIT
#include "kernels/loops/families.hpp"
#include "kernels/loops/rows_table.hpp"
#include "kernels/neon/encode_vec.hpp"

namespace ggufx {
namespace kernels {
namespace neon {
namespace {

struct RowVec : EncodeVec {
    // The first n < kLanes lanes; memory after them is not accessed.
    struct Part {
        size_t n;
        explicit GGUFX_INLINE Part(size_t n_lanes) : n(n_lanes) {}
    };
    static GGUFX_INLINE Vf load_part(const float *p, Part part) { // +0 elsewhere
        float all[kLanes] = {};
        for (size_t i = 0; i < part.n; i++) all[i] = p[i];
        return load(all);
    }
    static GGUFX_INLINE void store_part(float *p, Vf v, Part part) {
        float all[kLanes];
        store(all, v);
        for (size_t i = 0; i < part.n; i++) p[i] = all[i];
    }
    static GGUFX_INLINE Vf keep_part(Vf v, Vf otherwise, Part part) {
        return select(v, otherwise, (uint64_t(1) << part.n) - 1, 0);
    }

    static GGUFX_INLINE Vf even_twice(Vf v) {
        return {vtrn1q_f32(v.lo, v.lo), vtrn1q_f32(v.hi, v.hi)};
    }
    static GGUFX_INLINE Vf odd_twice(Vf v) {
        return {vtrn2q_f32(v.lo, v.lo), vtrn2q_f32(v.hi, v.hi)};
    }
    // a - b in even lanes, a + b in odd ones.
    static GGUFX_INLINE Vf sub_add(Vf a, Vf b) {
        const int32x4_t even = vreinterpretq_s32_u64(vdupq_n_u64(0x80000000u));
        return add(a, flip_where(b, {even, even}));
    }
    // The even and the odd lanes of two registers.
    static GGUFX_INLINE void part_pairs(Vf &even, Vf &odd, Vf a, Vf b) {
        even = {vuzp1q_f32(a.lo, a.hi), vuzp1q_f32(b.lo, b.hi)};
        odd = {vuzp2q_f32(a.lo, a.hi), vuzp2q_f32(b.lo, b.hi)};
    }
};

} // namespace
} // namespace neon

constexpr RowKernels GGUFX_LAYER::kRows = kRowsOf<neon::RowVec>;

} // namespace kernels
} // namespace ggufx
