// KV cache encoders of GX4, GX3, GX2 for sixteen tokens, with tokens in lanes: scale search, and
// chains of codes by dynamic programming over the state code % 4. Also the tables of all encoders.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/kv_decode.hpp"
#include "kernels/loops/kv_encode_blocks.hpp"

namespace ggufx {
namespace kernels {
namespace {

template <class V, KvKind Kind> struct KvTrellis {
    using F = typename V::Vf;
    using I = typename V::Vi;
    static constexpr KvFormat kFormat = kv_format(Kind);
    static constexpr GxSubset kTo[4] = {gx_subset(kFormat, 0), gx_subset(kFormat, 1),
                                        gx_subset(kFormat, 2), gx_subset(kFormat, 3)};
    static constexpr unsigned kLevels = kTo[0].n; // levels per subset: 4, 2, 1

    // Tables of the backward pass by state: midpoints between levels, steps, codes.
    struct Tables {
        float middle[3][4], step[4];
        int8_t code[16]; // [state][index of the level]
        constexpr Tables() : middle(), step(), code() {
            for (unsigned s = 0; s < 4; s++) {
                for (unsigned i = 0; i < 3; i++) middle[i][s] = kTo[s].middle[i];
                step[s] = static_cast<float>(kFormat.step[s]);
                for (unsigned i = 0; i < 4; i++)
                    code[4 * s + i] = static_cast<int8_t>(kTo[s].code[i]);
            }
        }
    };
    static constexpr Tables kTables = {};

    // Advances the chain by one step. cost[s]: least error of all chains so far that end in state
    // s. Returns the previous states, two bits per state; ties go to the lower one.
    static GGUFX_INLINE I advance(F (&cost)[4], F y) {
        F next[4];
        I from[4];
        unrolled<0, 4>([&](auto index) __attribute__((always_inline)) {
            constexpr unsigned before = decltype(index)::value;
            const F target = V::sub(y, V::set1(kTables.step[before]));
#pragma GCC unroll 4
            for (unsigned s = 0; s < 4; s++) {
                F level = V::set1(kTo[s].level[0]);
#pragma GCC unroll 4
                for (unsigned i = 1; i < kLevels; i++)
                    level = V::next_level(V::lt(V::set1(kTo[s].middle[i - 1]), target),
                                          kTo[s].level[i - 1], kTo[s].level[i], level);
                const F error = V::sub(target, level);
                const F total = V::add(cost[before], V::mul(error, error));
                if (before == 0) {
                    next[s] = total;
                    from[s] = V::zero_i();
                    continue;
                }
                const auto better = V::lt(total, next[s]);
                next[s] = V::lesser(total, next[s]);
                from[s] = V::raise(better, static_cast<int>(before << 2 * s), from[s]);
            }
        });
#pragma GCC unroll 4
        for (unsigned s = 0; s < 4; s++) cost[s] = next[s];
        return V::or_i(V::or_i(from[0], from[1]), V::or_i(from[2], from[3]));
    }

    static GGUFX_INLINE I best_state(const F (&cost)[4]) {
        F least = cost[0];
        I state = V::zero_i();
#pragma GCC unroll 4
        for (unsigned s = 1; s < 4; s++) {
            const auto better = V::lt(cost[s], least);
            least = V::pick(better, cost[s], least);
            state = V::pick_i(better, V::set1_i(static_cast<int>(s)), state);
        }
        return state;
    }

    // Returns the code between two states that is nearest to target.
    static GGUFX_INLINE I code_of(I state, F target) {
        I at = V::template shift_left<2>(state);
#pragma GCC unroll 4
        for (unsigned i = 1; i < kLevels; i++) {
            const F middle = V::choose(V::load_four(kTables.middle[i - 1]), state);
            at = V::count(V::lt(middle, target), at);
        }
        return V::and_i(V::lookup(V::load_table(kTables.code), at), V::set1_i(15));
    }

    // Finds the codes of y = x * inverse; lanes in `zero` get code 0.
    static GGUFX_INLINE void find_codes(const KvVectors &v, F inverse, typename V::Mask zero,
                                        uint32_t n, KvStream stream) {
        const auto scaled = [&](uint32_t c) __attribute__((always_inline)) {
            return V::mul(V::load(v.x + size_t(c) * kKvGroup), inverse);
        };
        F cost[4] = {V::zero(), V::set1(kGxNever), V::set1(kGxNever), V::set1(kGxNever)};
        for (uint32_t j = 0; j < n; j++)
            V::store_bytes(v.path + size_t(j) * kKvGroup,
                           advance(cost, scaled(gx_chain(stream, n, j))));
        I state = best_state(cost);
        for (uint32_t j = n; j-- > 0;) {
            const uint32_t c = gx_chain(stream, n, j);
            const I path = V::widen_u8(v.path + size_t(j) * kKvGroup);
            const I before =
                V::and_i(V::shift_right_by(path, V::add_i(state, state)), V::set1_i(3));
            const F target = V::sub(scaled(c), V::choose(V::load_four(kTables.step), before));
            V::store_bytes(v.code + size_t(c) * kKvGroup,
                           V::pick_i(zero, V::zero_i(), code_of(state, target)));
            state = before;
        }
    }
};

// Returns the level of a plain quantizer nearest to a magnitude; ties go down.
template <class V, uint32_t Bits> GGUFX_INLINE typename V::Vf plain_level(typename V::Vf x) {
    constexpr const float *levels = kGxLevels[Bits - 2];
    auto level = V::set1(levels[0]);
    unrolled<1, 1u << (Bits - 1)>([&](auto index) __attribute__((always_inline)) {
        constexpr unsigned k = decltype(index)::value;
        constexpr float middle = (levels[k - 1] + levels[k]) * 0.5f;
        level = V::raise(V::lt(V::set1(middle), x), levels[k], level);
    });
    return level;
}

// Returns the best of eight start scales after a least-squares fit.
template <class V, uint32_t Bits>
GGUFX_INLINE typename V::Vf search_scale(const float *x, uint32_t n, typename V::Vf rms) {
    auto best = rms, best_gain = V::set1(-1.0f);
    for (uint32_t s = 0; s < kGxStarts; s++) {
        const auto scale = V::mul(rms, V::set1(gx_start(s)));
        const auto inverse = V::div(V::set1(1.0f), scale);
        auto xc = V::zero(), cc = V::zero();
        for (uint32_t i = 0; i < n; i++) {
            const auto magnitude = V::absolute(V::mul(V::load(x + size_t(i) * kKvGroup), inverse));
            const auto level = plain_level<V, Bits>(magnitude);
            xc = V::add(xc, V::mul(magnitude, level));
            cc = V::add(cc, V::mul(level, level));
        }
        const auto fitted = V::mul(scale, V::div(xc, cc));
        const auto gain = V::mul(fitted, V::mul(xc, scale));
        const auto better = V::lt(best_gain, gain);
        best_gain = V::pick(better, gain, best_gain);
        best = V::pick(better, fitted, best);
    }
    return best;
}

// Returns the least-squares scale of the values for their integers; never negative.
template <class V, KvKind Kind>
GGUFX_INLINE typename V::Vf fitted_scale(const KvVectors &v, typename V::Vf inverse,
                                         typename V::Vf scale, uint32_t n, KvStream stream) {
    const KvIntegers<V, Kind> integers;
    auto yc = V::zero(), cc = V::zero(); // cc is exact: at most 1024 * 127^2
    for (uint32_t i = 0; i < n; i++) {
        const auto c = V::to_float(integers.at(v.code, i, n, stream));
        yc = V::add(yc, V::mul(V::mul(V::load(v.x + size_t(i) * kKvGroup), inverse), c));
        cc = V::add(cc, V::mul(c, c));
    }
    const auto fitted = V::mul(scale, V::div(yc, cc)), most = V::set1(kKvLargestHalf);
    const auto limited = V::pick(V::lt(fitted, most), fitted, most);
    const auto some = V::both(V::lt(V::zero(), cc), V::lt(V::zero(), fitted));
    return V::pick(some, limited, V::zero());
}

template <class V, KvKind Kind>
void encode_gx_part(uint8_t *scale_at, const KvVectors &v, uint32_t n, KvStream stream) {
    static constexpr KvFormat f = kv_format(Kind);
    auto sum = V::zero();
    for (uint32_t i = 0; i < n; i++) {
        const auto x = V::load(v.x + size_t(i) * kKvGroup);
        sum = V::add(sum, V::mul(x, x));
    }
    const auto root = V::sqrt(V::div(sum, V::set1(static_cast<float>(n))));
    const auto some = V::le(V::set1(kGxTinyRms), root);
    const auto rms = V::pick(some, root, V::set1(1.0f));
    const auto none = V::lt(V::pick(some, V::set1(1.0f), V::zero()), V::set1(1.0f));
    const auto scale = search_scale<V, f.bits>(v.x, n, rms);
    const auto inverse = V::div(V::set1(1.0f), V::mul(scale, V::set1(f.unit)));
    KvTrellis<V, Kind>::find_codes(v, inverse, none, n, stream);
    const auto fitted = fitted_scale<V, Kind>(v, inverse, scale, n, stream);
    V::store_half(scale_at, V::pick(some, fitted, V::zero()));
}

template <class V, KvKind Kind>
void kv_encode_gx(const KvTarget &to, const KvVectors &v, uint32_t n, KvLost &lost) {
    static constexpr KvFormat f = kv_format(Kind);
    const KvLayout l = kv_layout_codes(f, n);
    uint8_t *scale = scales_of(to, f, l, 0);
    for (unsigned part = 0; part < kKvParts<V>; part++) {
        const unsigned lane = part * V::kLanes;
        encode_gx_part<V, Kind>(scale + lane * 2, {v.x + lane, v.code + lane, v.path + lane}, n,
                                to.stream);
    }
    for (size_t i = size_t(n) * kKvGroup; i < size_t(l.strips) * (kKvStrip * kKvGroup); i++)
        v.code[i] = 0;
    kv_place_group<V, f.bits>(to, l, v.code);
    kv_measure<V, Kind>(to, v, l, lost);
}

template <class V, KvKind Kind, bool Fitted = false> constexpr KvEncodeFn kv_encode_fn() {
    if constexpr (kv_format(Kind).trellis) return kv_encode_gx<V, Kind>;
    return kv_encode_blocks<V, Kind, Fitted>;
}

// Encoder table; kv_encode.cpp of a set exports it.
template <class V>
constexpr KvEncodeFn kKvEncodeFns[kKvEncodings] = {
    nullptr,
    nullptr,
    nullptr,
    kv_encode_fn<V, KvKind::q8_0>(),
    kv_encode_fn<V, KvKind::q5_1>(),
    kv_encode_fn<V, KvKind::q5_0>(),
    kv_encode_fn<V, KvKind::q4_1>(),
    kv_encode_fn<V, KvKind::q4_0>(),
    kv_encode_fn<V, KvKind::iq4_nl>(),
    kv_encode_fn<V, KvKind::tq3_0>(),
    kv_encode_fn<V, KvKind::tq3_0_residual>(),
    kv_encode_fn<V, KvKind::gx2>(),
    kv_encode_fn<V, KvKind::gx3>(),
    kv_encode_fn<V, KvKind::gx4>(),
    kv_encode_fn<V, KvKind::tq3_0, true>(),
};
template <class V>
constexpr KvEncoders kKvEncodersOf = {kv_load_rows<V>,   kv_load_columns<V>, kv_to_halves<V>,
                                      kv_centre<V>,      kv_rotate<V>,       kKvEncodeFns<V>,
                                      kKvDecodeFns<V>.of};

} // namespace
} // namespace kernels
} // namespace ggufx
