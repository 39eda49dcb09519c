// Dequantizes keys of sixteen tokens to rows of floats: one register of coordinates after another
// with tokens in the lanes, then transposes.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/kv_encode.hpp"
#include "kernels/loops/kv_score.hpp"

namespace ggufx {
namespace kernels {
namespace {

// Stores sixteen coordinates from c on of a part of the lanes, the first of which is `token`.
template <class V>
GGUFX_INLINE void put_rows(float *values, uint32_t n, uint32_t token, uint32_t c,
                           const typename V::Vi (&x)[16]) {
    constexpr unsigned L = V::kLanes;
#pragma GCC unroll 2
    for (unsigned first = 0; first < 16; first += L) {
        typename V::Vi r[L];
#pragma GCC unroll 16
        for (unsigned i = 0; i < L; i++) r[i] = x[first + i];
        V::transpose(r);
#pragma GCC unroll 16
        for (unsigned i = 0; i < L; i++)
            V::store_i(values + v_float_at(n, token + i, c + first), r[i]);
    }
}

template <class V, KvKind Kind>
void kv_decode_floats(float *values, const uint8_t *page, uint32_t n, uint32_t group) {
    constexpr size_t bytes = kv_format(Kind).float_bytes;
    for (unsigned part = 0; part < kKvGroup / V::kLanes; part++) {
        const uint32_t token = group * kKvGroup + part * V::kLanes;
        const uint8_t *keys = page + size_t(k_float_at(n, token, 0)) * bytes;
        uint32_t c = 0;
        for (; c + 16 <= n; c += 16) {
            typename V::Vi x[16];
#pragma GCC unroll 16
            for (unsigned i = 0; i < 16; i++)
                x[i] = V::as_int(V::template load_value<Kind>(keys + (c + i) * kKvGroup * bytes));
            put_rows<V>(values, n, token, c, x);
        }
        for (; c < n; c++) {
            float x[V::kLanes];
            V::store(x, V::template load_value<Kind>(keys + c * kKvGroup * bytes));
            for (unsigned i = 0; i < V::kLanes; i++) values[v_float_at(n, token + i, c)] = x[i];
        }
    }
}

template <class V, KvKind Kind> struct KvDecodeCodes {
    using F = typename V::Vf;
    using I = typename V::Vi;
    using C = KvCodes<V, Kind, false>;
    static constexpr KvFormat kFormat = C::kFormat;

    // Returns the value of the code in byte k of each lane.
    template <unsigned k> static GGUFX_INLINE I integer(I codes) {
        if constexpr (C::kSigned)
            return V::template shift_right<24>(V::template shift_left<int(24 - 8 * k)>(codes));
        const I code = V::and_i(V::template shift_right<int(8 * k)>(codes), V::set1_i(255));
        return V::sub_i(code, V::set1_i(C::kOffset));
    }

    static GGUFX_INLINE void part(float *values, const C &codes, const KvLayout &l,
                                  const uint8_t *page, uint32_t g, uint32_t p) {
        const uint32_t byte = p * V::kLanes * 4, n_scales = kFormat.vector_scale ? 1 : l.strips;
        const uint8_t *low = page + size_t(g) * l.strips * (64 * C::kLow) + byte;
        const uint8_t *high = page + l.high + size_t(g) * l.strips * 64 + byte;
        const uint8_t *scales = page + l.scales + (g * n_scales * kKvGroup + p * V::kLanes) * 2;
        const uint32_t token = g * kKvGroup + p * V::kLanes;
        I last = V::zero_i(), square[16];
        if constexpr (kFormat.trellis) last = KvScoreCodes<V, Kind, 1>::chain_start(low, l.d);
        for (uint32_t b = 0; b < l.strips; b++, low += 64 * C::kLow, high += 64) {
            const uint8_t *scale = scales + (kFormat.vector_scale ? 0 : b) * (kKvGroup * 2);
            const F d = V::mul(V::load_f16(scale), V::set1(kFormat.unit));
            F m = V::zero();
            if constexpr (kFormat.mins) m = V::load_f16(scale + (l.mins - l.scales));
            I h = V::zero_i();
            if constexpr (C::kHigh) h = V::load_i(high);
            unrolled<0, 8>([&](auto step) __attribute__((always_inline)) {
                constexpr unsigned t = decltype(step)::value, per = C::kPer;
                const I stored = V::load_i(low + t / per * 64);
                const I value = codes.template decode<t, (t + per - 1) % per>(
                    stored, t % per ? stored : last, h);
                last = stored;
                unrolled<0, 4>([&](auto index) __attribute__((always_inline)) {
                    constexpr unsigned k = decltype(index)::value;
                    F x = V::mul(V::to_float(integer<k>(value)), d);
                    if constexpr (kFormat.mins) x = V::add(x, m);
                    square[t % 4 * 4 + k] = V::as_int(x);
                });
                const uint32_t c = b * kKvStrip + t / 4 * 16;
                if (t % 4 == 3 && c < l.d) put_rows<V>(values, l.d, token, c, square);
            });
        }
    }
};

template <class V, KvKind Kind>
void kv_decode(float *values, const uint8_t *page, uint32_t n, uint32_t group) {
    if constexpr (kv_format(Kind).bits == 0) {
        kv_decode_floats<V, Kind>(values, page, n, group);
    } else {
        const KvLayout l = k_layout(kv_format(Kind), n);
        const KvCodes<V, Kind, false> codes;
        for (unsigned p = 0; p < kKvGroup / V::kLanes; p++)
            KvDecodeCodes<V, Kind>::part(values, codes, l, page, group, p);
    }
}

template <class V>
constexpr auto kKvDecodeFns = for_kv_kinds<KvDecodeFn>([]<KvKind K>() -> KvDecodeFn {
    return kv_decode<V, K>;
});

} // namespace
} // namespace kernels
} // namespace ggufx
