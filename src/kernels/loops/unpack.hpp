// What an Unpack struct of a format consists of, apart from its load_u8 and load_scales:
// families, by where the format has its scales. V is the primitives of an instruction set.
//
// An Unpack struct U has, besides the primitives:
//   Format, Block, kValues, kMins, kStepBlocks   of the format; blocks per step
//   kOffset    load_u8 gives code + kOffset, unsigned; kMaxCode bounds them (equal
//              bounds and offsets share the code of a tile)
//   load_u8(codes[4], b, i)     chunk i (0 or 1) of the step that starts at block b
//   load_scales(b) -> Scales    of the step
//   fold(scales, u0, u1, s16)   C2's T of each block from the sums of 16 of both chunks
//   store_scales(scale, shift, scales, b)   f32 arrays in order: scale of each kGroup values,
//                               what is added to each 32 values (if kMins)
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/common.hpp"

namespace ggufx {
namespace kernels {
namespace {

template <class V, class F, int Offset, int MaxCode> struct UnpackBase : V {
    using Set = V;
    using Format = F;
    using Block = typename F::Block;
    static constexpr unsigned kValues = F::kValues, kGroup = F::kGroup;
    static constexpr unsigned kStepBlocks = 32 * V::kLanes / F::kValues;
    static constexpr fmt::Mins kMins = F::kMins;
    static constexpr int kOffset = Offset, kMaxCode = MaxCode;
    static constexpr unsigned kShifts = F::kMins == fmt::Mins::kNone ? 0 : 32 / F::kGroup;
    static constexpr bool kFoldSubScales = false, kFolded = false; // see Folded
    static constexpr bool kSigned = false;        // true: load_u8 gives int8 codes, no offset
    static constexpr bool kScalePerGroup = false; // see FloatGroups
    static constexpr bool kLongChains = false;    // matvec.hpp steps all streams side by side
};

// One d per 32 values or more, no integer scale.
template <class V, class F, int Offset, int MaxCode>
struct PlainBlocks : UnpackBase<V, F, Offset, MaxCode> {
    using Vi = typename V::Vi;
    struct Scales {
        typename V::Vf d;
    };
    static GGUFX_INLINE Vi fold(const Scales &, Vi u0, Vi u1, const int16_t *s16) {
        const Vi sums = V::pair_sums(u0, u1);
        return Offset ? V::sub_i(sums, V::offset_sums(s16, Offset)) : sums;
    }
    static GGUFX_INLINE void store_scales(float *scale, float *, const Scales &s,
                                          const typename F::Block *) {
        V::store(scale, s.d);
    }
};

// 32-blocks with one d and one float minimum each; codes have no offset.
template <class V, class F, int MaxCode> struct MinBlocks : PlainBlocks<V, F, 0, MaxCode> {
    using Vi = typename V::Vi;
    struct Scales {
        typename V::Vf d, min;
    };
    static GGUFX_INLINE Vi fold(const Scales &, Vi u0, Vi u1, const int16_t *) {
        return V::pair_sums(u0, u1);
    }
    static GGUFX_INLINE void store_scales(float *scale, float *shift, const Scales &s,
                                          const typename F::Block *) {
        V::store(scale, s.d);
        V::store(shift, s.min);
    }
};

// 256-blocks with a signed integer scale per 32 values and no minimum.
template <class V, class F, int Offset, int MaxCode>
struct ScaledCodes : UnpackBase<V, F, Offset, MaxCode> {
    using Vi = typename V::Vi;
    struct Scales {
        typename V::Vf d;
        Vi scale;
    };
    static GGUFX_INLINE Vi fold(const Scales &s, Vi u0, Vi u1, const int16_t *s16) {
        const Vi sums = V::pair_sums(u0, u1);
        return V::mul_i(Offset ? V::sub_i(sums, V::offset_sums(s16, Offset)) : sums, s.scale);
    }
    static GGUFX_INLINE void store_scales(float *scale, float *, const Scales &s,
                                          const typename F::Block *) {
        V::store(scale, V::mul(s.d, V::to_float(s.scale)));
    }
};

// 256-blocks with an integer scale and minimum per 32 values; codes have no offset.
template <class V, class F, int MaxCode> struct ScaledBlocks : UnpackBase<V, F, 0, MaxCode> {
    using Vi = typename V::Vi;
    struct Scales {
        typename V::Vf d, dmin;
        Vi scale;
        typename V::Vf min; // a small integer
    };
    static GGUFX_INLINE Vi fold(const Scales &s, Vi u0, Vi u1, const int16_t *) {
        return V::mul_i(V::pair_sums(u0, u1), s.scale);
    }
    static GGUFX_INLINE void store_scales(float *scale, float *shift, const Scales &s,
                                          const typename F::Block *) {
        V::store(scale, V::mul(s.d, V::to_float(s.scale)));
        V::store(shift, V::mul(V::sub(V::set1(-0.0f), s.min), s.dmin)); // -min * dmin
    }
};

// 256-blocks with an int8 scale per 16 values in b.scales. OffsetLog2 0: codes have no offset.
template <class V, class F, int OffsetLog2, int MaxCode>
struct ScaledGroups : UnpackBase<V, F, OffsetLog2 ? 1 << OffsetLog2 : 0, MaxCode> {
    using Vi = typename V::Vi;
    struct Scales {
        typename V::Vf d;
        Vi chunk[2];             // in the order of group_sums
        typename V::V16 scale16; // in order, as int16
    };
    static GGUFX_INLINE Vi fold(const Scales &s, Vi u0, Vi u1, const int16_t *s16) {
        const Vi sums = V::pair_sums(V::mul_i(u0, s.chunk[0]), V::mul_i(u1, s.chunk[1]));
        if constexpr (OffsetLog2 == 0)
            return sums;
        else
            return V::sub_i(sums, V::template shift_left<OffsetLog2>(V::madd16(s.scale16, s16)));
    }
    static GGUFX_INLINE void store_scales(float *scale, float *, const Scales &,
                                          const typename F::Block *b) {
        constexpr unsigned n_vectors = 16 / V::kLanes;
#pragma GCC unroll 4
        for (unsigned i = 0; i < ScaledGroups::kStepBlocks * n_vectors; i++) {
            const auto &block = b[i / n_vectors];
            const Vi s = V::widen_i8(block.scales + i % n_vectors * V::kLanes);
            V::store(scale + i * V::kLanes, V::mul(V::broadcast_f16(block.d), V::to_float(s)));
        }
    }
};

// The same with scales that have to be unpacked. U is the format's struct and has, per block,
// scales16(to, block) and block_d(block).
template <class U, class V, class F, int OffsetLog2, int MaxCode>
struct UnpackedGroups : ScaledGroups<V, F, OffsetLog2, MaxCode> {
    using Scales = typename ScaledGroups<V, F, OffsetLog2, MaxCode>::Scales;
    static GGUFX_INLINE void store_scales(float *scale, float *, const Scales &,
                                          const typename F::Block *b) {
        for (unsigned i = 0; i < UnpackedGroups::kStepBlocks; i++) {
            alignas(16) uint8_t groups[16];
            U::scales16(groups, b[i]);
            const auto d = U::block_d(b[i]);
#pragma GCC unroll 4
            for (unsigned g = 0; g < 16; g += V::kLanes) {
                V::store(scale + 16 * i + g, V::mul(d, V::to_float(V::widen_i8(groups + g))));
            }
        }
    }
};

// A float scale per 16 values: lanes count groups, a chunk fills kLanes of them.
template <class V, class F, int Offset, int MaxCode>
struct FloatGroups : UnpackBase<V, F, Offset, MaxCode> {
    static constexpr bool kScalePerGroup = true;
    using Vi = typename V::Vi;
    struct Scales {
        typename V::Vf chunk[2]; // of the groups in order
    };
    // C2's T of the groups of a chunk, in order.
    static GGUFX_INLINE Vi fold_groups(Vi u, const int16_t *s16) {
        if constexpr (Offset == 0)
            return V::order_groups(u);
        else
            return V::sub_i(V::order_groups(u), V::group_offsets(s16, Offset));
    }
    static GGUFX_INLINE void store_scales(float *scale, float *, const Scales &s,
                                          const typename F::Block *) {
        V::store(scale, s.chunk[0]);
        V::store(scale + V::kLanes, s.chunk[1]);
    }
};

// 256-blocks with packed integer scales per 16 values (and minimums, if without an offset) that
// stay in the integer sums of tiles. U is the format's struct and has, per block,
// group_scales(block) -> {scale[16], min[16]}.
template <class U, class V, class F, int OffsetLog2, int MaxCode>
struct PackedGroups : UnpackBase<V, F, OffsetLog2 ? 1 << OffsetLog2 : 0, MaxCode> {
    static constexpr bool kFoldSubScales = true;
    using Vi = typename V::Vi;
    using Block = typename F::Block;
    struct Scales {
        typename V::Vf d, dmin;
        Vi chunk[2];           // in the order of group_sums
        typename V::V16 sum16; // minimums, or for the offset the scales, in order
    };
    struct GroupScales {
        alignas(16) int8_t scale[16], min[16];
    };
    static GGUFX_INLINE Vi fold(const Scales &s, Vi u0, Vi u1, const int16_t *s16) {
        const Vi sums = V::pair_sums(V::mul_i(u0, s.chunk[0]), V::mul_i(u1, s.chunk[1]));
        if constexpr (OffsetLog2 == 0) return sums;
        return V::sub_i(sums, V::template shift_left<OffsetLog2>(V::madd16(s.sum16, s16)));
    }
    static GGUFX_INLINE void store_groups(float *to, const int8_t *group, typename V::Vf d) {
#pragma GCC unroll 4
        for (unsigned i = 0; i < 16; i += V::kLanes) {
            const Vi s = V::widen_i8(reinterpret_cast<const uint8_t *>(group) + i);
            V::store(to + i, V::mul(V::to_float(s), d));
        }
    }
    static GGUFX_INLINE void store_shifts(float *shift, const Block *b) {
        const auto zero = V::set1(-0.0f);
        for (unsigned i = 0; i < PackedGroups::kStepBlocks; i++) {
            const auto dmin = V::broadcast_f16(b[i].dmin);
            store_groups(shift + 16 * i, U::group_scales(b[i]).min, V::sub(zero, dmin));
        }
    }
    static GGUFX_INLINE void store_scales(float *scale, float *shift, const Scales &,
                                          const Block *b) {
        for (unsigned i = 0; i < PackedGroups::kStepBlocks; i++) {
            const auto d = V::broadcast_f16(b[i].d);
            store_groups(scale + 16 * i, U::group_scales(b[i]).scale, d);
        }
        if constexpr (PackedGroups::kShifts != 0) store_shifts(shift, b);
    }
};

// ---- as gemm.hpp wants it -----------------------------------------------------------------------

// A format whose integer sub-scales per 16 stay in the sums (C3: Q2_K, Q3_K): a tile holds the
// products of codes and sub-scales, which fit a byte, and has one f32 scale per 32 values. With an
// offset they are -128 .. 124 with the sign turned, so the f32 scale is -d.
template <class U> struct Folded : U {
    static constexpr bool kTurned = U::kOffset != 0;
    static constexpr unsigned kGroup = 32;
    static constexpr bool kFolded = true, kSigned = kTurned && U::kCodeLimit < 255;
    static constexpr int kOffset = kTurned && !kSigned ? 128 : 0;
    static constexpr int kMaxCode = !kTurned ? 45 : kSigned ? 128 : 255;

    static GGUFX_INLINE void fold_codes(uint8_t *codes, const typename U::Block *b) {
        for (unsigned i = 0; i < U::kStepBlocks; i++) {
            const auto scales = U::group_scales(b[i]);
            constexpr unsigned n_groups = U::kLanes / 4; // in a register
#pragma GCC unroll 8
            for (unsigned g = 0; g < 16; g += n_groups) {
                U::template scale_codes<U::kOffset, kTurned, kOffset>(codes + 256 * i + 16 * g,
                                                                      scales.scale + g);
            }
        }
    }
    static GGUFX_INLINE void store_scales(float *scale, float *shift, const typename U::Scales &s,
                                          const typename U::Block *b) {
        U::store(scale, kTurned ? U::sub(U::set1(-0.0f), s.d) : s.d);
        if constexpr (U::kShifts != 0) U::store_shifts(shift, b);
    }
};
// Signed codes where the set's tiles want unsigned ones (V::kUnsignedTiles): 128 is added.
template <class U> struct MadeUnsigned : U {
    static constexpr bool kFolded = true, kSigned = false;
    static constexpr int kOffset = 128, kMaxCode = 255;

    static GGUFX_INLINE void fold_codes(uint8_t *codes, const typename U::Block *) {
        U::make_unsigned(codes, 32 * U::kLanes);
    }
};
template <class U> constexpr bool kWantsUnsigned = U::kSigned &&requires {
    U::kUnsignedTiles;
};

template <class U, bool = U::kFoldSubScales, bool = kWantsUnsigned<U>> struct TileUnpack {
    using Type = U;
};
template <class U> struct TileUnpack<U, true, false> { using Type = Folded<U>; };
template <class U> struct TileUnpack<U, false, true> { using Type = MadeUnsigned<U>; };

} // namespace
} // namespace kernels
} // namespace ggufx
