// Base classes of the Unpack structs of formats, without load_u8 and load_scales, by the kind of
// scales. V: the primitives of an instruction set.
//
// In addition to the primitives, an Unpack struct U has:
//   Format, Block, kValues, kMins, kStepBlocks   properties of the format; blocks per step.
//   kOffset    load_u8 gives code + kOffset, unsigned, or with kSigned int8 codes.
//   kMaxCode   bound of the codes; equal bounds and offsets share the code of a tile.
//   load_u8(codes[4], b, i)     chunk i (0 or 1) of the step that starts at block b.
//   load_scales(b) -> Scales    scales of the step.
//   fold(scales, u0, u1, s16)   T (C2) of each block from the sums of 16 of both chunks.
//   store_scales(scale, shift, scales, b)   f32 arrays in order: scale per kGroup values,
//                               value added per 32 values (if kMins).
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/common.hpp"

namespace ggufx::kernels {
namespace {

// Any: the codes are computed (by lookup or bit operations) and may be signed without an offset.
// Sets whose V::kSignedAbove is below MaxCode need that.
template <class V, class F, int Offset, int MaxCode, bool Any = false> struct UnpackBase : V {
    using Set = V;
    using Format = F;
    using Block = typename F::Block;
    static constexpr unsigned kValues = F::kValues, kGroup = F::kGroup;
    static constexpr unsigned kStepBlocks = 32 * V::kLanes / F::kValues;
    static constexpr fmt::Mins kMins = F::kMins;
    static constexpr bool kSigned = Any && (MaxCode > V::kSignedAbove); // int8 codes
    static constexpr int kOffset = kSigned ? 0 : Offset;
    // Rounded to common bounds, so that formats share the code of tiles.
    static constexpr int kMaxCode = [] {
        if (!kSigned) return MaxCode < V::kLeastBound ? V::kLeastBound : MaxCode;
        constexpr int most = MaxCode - Offset;
        if (F::kGroup == 32 && most <= 16) return 16;
        return most <= 63 ? 63 : 128;
    }();
    static constexpr unsigned kShifts = F::kMins == fmt::Mins::kNone ? 0 : 32 / F::kGroup;
    static constexpr bool kFoldSubScales = false, kFolded = false; // see Folded
    static constexpr bool kScalePerGroup = false;                  // see FloatGroups
    static constexpr bool kLongSteps = false;  // matvec.hpp does not duplicate the code per stream
    static constexpr bool kLongChains = false; // matvec.hpp processes all streams in parallel
    // A step is loaded and summed at once. load_lanes(c[8], b) loads its codes, sum_lanes(u[2], c,
    // q) computes the inputs of fold(). The numbers of its blocks may be in any order;
    // to_lanes(act) reorders packed activations to match.
    static constexpr bool kInLanes = false;
    static constexpr bool kWholeBlocks = V::kLanes == 16; // a chunk is 256 values instead of 128

    // The step that starts at a block, for row-wise products: a pointer to its blocks, or a type
    // that converts to one and caches slow computations. begin() of all streams runs first.
    using Step = const Block *;
    static GGUFX_INLINE void begin(Step &step, const Block *b) { step = b; }

    // Address of the bytes of the 32 values of vector j of chunk i, and distance to those of the
    // upper half of the vector, if any: four times 32 values later.
    static constexpr unsigned kParts = F::kValues / 32; // parts of 32 values per block
    static GGUFX_INLINE const Block &block_at(const Block *b, unsigned i, unsigned j = 0) {
        return b[(V::kLanes / 2 * i + j) / kParts];
    }
    static GGUFX_INLINE const uint8_t *codes_at(const Block *b, unsigned i, unsigned j) {
        const Block &block = block_at(b, i, j);
        return block.qs + (V::kLanes / 2 * i + j) % kParts * (sizeof block.qs / kParts);
    }
    static constexpr size_t far_codes() {
        return kParts < 8 ? 4 / kParts * sizeof(Block) : sizeof(Block{}.qs) / 2;
    }
    // Offset of chunk i of a 256-block in an array with n bytes per half.
    static constexpr unsigned in_half(unsigned i, unsigned n) { return kWholeBlocks ? 0 : i * n; }

    // Converts nibbles to codes, for tiles that split nibbles.
    static GGUFX_INLINE typename V::V8 codes_of_nibbles(typename V::V8 v) { return v; }
    // 16 bytes of each block of a step, from byte `at` on.
    static GGUFX_INLINE typename V::Sixteen sixteen_at(const Block *b, size_t at) {
        return V::load_sixteen(reinterpret_cast<const uint8_t *>(b) + at, sizeof(Block));
    }
};

// One d per 32 values or more, no integer scale.
template <class V, class F, int Offset, int MaxCode, bool Any = false>
struct PlainBlocks : UnpackBase<V, F, Offset, MaxCode, Any> {
    using Vi = typename V::Vi;
    struct Scales {
        typename V::Vf d;
    };
    static GGUFX_INLINE Vi fold(const Scales &, Vi u0, Vi u1, const int16_t *s16) {
        const Vi sums = V::pair_sums(u0, u1);
        constexpr int offset = PlainBlocks::kOffset;
        return offset ? V::sub_i(sums, V::offset_sums(s16, offset)) : sums;
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
template <class V, class F, int Offset, int MaxCode, bool Any = false>
struct ScaledCodes : UnpackBase<V, F, Offset, MaxCode, Any> {
    using Vi = typename V::Vi;
    struct Scales {
        typename V::Vf d;
        Vi scale;
    };
    static GGUFX_INLINE Vi fold(const Scales &s, Vi u0, Vi u1, const int16_t *s16) {
        const Vi sums = V::pair_sums(u0, u1);
        constexpr int offset = ScaledCodes::kOffset;
        return V::mul_i(offset ? V::sub_i(sums, V::offset_sums(s16, offset)) : sums, s.scale);
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

// A float scale per 16 values: lanes correspond to groups, kLanes per chunk.
template <class V, class F, int Offset, int MaxCode, bool Any = false>
struct FloatGroups : UnpackBase<V, F, Offset, MaxCode, Any> {
    static constexpr bool kScalePerGroup = true;
    using Vi = typename V::Vi;
    struct Scales {
        typename V::Vf chunk[2]; // scales of the groups in order
    };
    // T (C2) of the groups of a chunk, in order.
    static GGUFX_INLINE Vi fold_groups(Vi u, const int16_t *s16) {
        if constexpr (FloatGroups::kOffset == 0)
            return V::order_groups(u);
        else
            return V::sub_i(V::order_groups(u), V::group_offsets(s16, FloatGroups::kOffset));
    }
    static GGUFX_INLINE void store_scales(float *scale, float *, const Scales &s,
                                          const typename F::Block *) {
        V::store(scale, s.chunk[0]);
        V::store(scale + V::kLanes, s.chunk[1]);
    }
};

// 256-blocks with int8 scales per 16 values. U is the format's struct. For a step it has
// block_d(b), groups(b) -> 16 scales per block and, with minimums, block_dmin(b) and mins(b).
template <class U, class V, class F, int Offset, int MaxCode, bool Any = false>
struct ScaledGroups : UnpackBase<V, F, Offset, MaxCode, Any> {
    using Vi = typename V::Vi;
    using Vf = typename V::Vf;
    using Block = typename F::Block;
    static constexpr bool kHasMins = F::kMins != fmt::Mins::kNone;
    struct Scales {
        Vf d, dmin;
        Vi chunk[2];           // in the order of group_sums
        typename V::V16 sum16; // minimums, or the scales for the offset, in order
    };
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        const auto groups = U::groups(b);
        const Vi first = V::group_scales(groups, 0), second = V::group_scales(groups, 1);
        if constexpr (kHasMins)
            return {U::block_d(b), U::block_dmin(b), {first, second}, V::widen_groups(U::mins(b))};
        else
            return {U::block_d(b), V::zero(), {first, second}, V::widen_groups(groups)};
    }
    static GGUFX_INLINE Vf block_d(const Block *b) { return V::block_f16(b->d, sizeof(Block)); }
    static GGUFX_INLINE Vf block_dmin(const Block *b) {
        return V::block_f16(b->dmin, sizeof(Block));
    }
    static GGUFX_INLINE Vi fold(const Scales &s, Vi u0, Vi u1, const int16_t *s16) {
        const Vi sums = V::pair_sums(V::mul_i(u0, s.chunk[0]), V::mul_i(u1, s.chunk[1]));
        constexpr int offset = ScaledGroups::kOffset; // 1 << log2
        constexpr int log2 = __builtin_ctz(offset ? offset : 1);
        if constexpr (offset == 0) return sums;
        return V::sub_i(sums, V::template shift_left<log2>(V::madd16(s.sum16, s16)));
    }
    // Writes d times the integers of all groups of a step.
    static GGUFX_INLINE void store_groups(float *to, typename V::Sixteen bytes, Vf d) {
        alignas(32) uint8_t group[sizeof bytes];
        __builtin_memcpy(group, &bytes, sizeof bytes);
#pragma GCC unroll 2
        for (unsigned i = 0; i < sizeof bytes; i += V::kLanes) {
            V::store(to + i, V::mul(V::to_float(V::widen_i8(group + i)), V::of_block(d, i / 16)));
        }
    }
    static GGUFX_INLINE void store_shifts(float *shift, const Block *b) {
        store_groups(shift, U::mins(b), V::sub(V::set1(-0.0f), U::block_dmin(b)));
    }
    static GGUFX_INLINE void store_scales(float *scale, float *shift, const Scales &s,
                                          const Block *b) {
        store_groups(scale, U::groups(b), s.d);
        if constexpr (kHasMins) store_shifts(shift, b);
    }
};

// ScaledGroups or ScaledCodes with other codes, primitives V, and the scales of U.
template <class U, class V, class F, int Offset, int MaxCode, bool = F::kGroup == 16>
struct ScalesOf : ScaledGroups<U, V, F, Offset, MaxCode> {};
template <class U, class V, class F, int Offset, int MaxCode>
struct ScalesOf<U, V, F, Offset, MaxCode, false> : ScaledCodes<V, F, Offset, MaxCode> {
    using Scales = typename ScaledCodes<V, F, Offset, MaxCode>::Scales;
    static GGUFX_INLINE Scales load_scales(const typename F::Block *b) {
        const auto s = U::load_scales(b);
        return {s.d, s.scale};
    }
};

// ScaledGroups whose scales stay in the integer sums of tiles, see Folded.
template <class U, class V, class F, int Offset, int MaxCode>
struct FoldedGroups : ScaledGroups<U, V, F, Offset, MaxCode> {
    static constexpr bool kFoldSubScales = true;
};

// ---- variants for gemm.hpp ---------------------------------------------------------------------

// A format whose integer sub-scales per 16 stay in the sums (C3: Q2_K, Q3_K). A tile holds the
// products of codes and sub-scales, which fit a byte, with one f32 scale per 32 values. With an
// offset they are -128 .. 124 with inverted sign, so the f32 scale is -d.
template <class U> struct Folded : U {
    static constexpr bool kTurned = U::kOffset != 0;
    static constexpr unsigned kGroup = 32;
    static constexpr bool kFolded = true, kSigned = kTurned && U::kCodeLimit < 255;
    static constexpr int kOffset = kTurned && !kSigned ? 128 : 0;
    static constexpr int kMaxCode = !kTurned ? 45 : kSigned ? 128 : 255;

    static GGUFX_INLINE void fold_codes(uint8_t *codes, const typename U::Block *b) {
        const auto groups = U::groups(b);
        alignas(32) int8_t scales[sizeof groups];
        __builtin_memcpy(scales, &groups, sizeof groups);
        constexpr unsigned n_groups = U::kLanes / 4; // groups per register
#pragma GCC unroll 8
        for (unsigned g = 0; g < sizeof groups; g += n_groups) {
            U::template scale_codes<U::kOffset, kTurned, kOffset>(codes + 16 * g, scales + g);
        }
    }
    static GGUFX_INLINE void store_scales(float *scale, float *shift, const typename U::Scales &s,
                                          const typename U::Block *b) {
        U::store(scale, kTurned ? U::sub(U::set1(-0.0f), s.d) : s.d);
        if constexpr (U::kShifts != 0) U::store_shifts(shift, b);
    }
};
// Signed codes for sets whose tiles need unsigned ones (V::kUnsignedTiles): adds 128.
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
} // namespace ggufx::kernels
