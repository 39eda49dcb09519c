// Quantization of query rows for integer keys, and transforms of one vector: coordinates in the
// lanes.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/kv_codes.hpp"

namespace ggufx {
namespace kernels {
namespace {

// ---- transforms ---------------------------------------------------------------------------------

// Butterfly of lanes H apart: a + b in the lower one, a - b in the upper one.
template <class V, unsigned H> GGUFX_INLINE typename V::Vf butterfly(typename V::Vf v) {
    struct Signs {
        int32_t bits[V::kLanes];
        constexpr Signs() : bits() {
            for (unsigned i = 0; i < V::kLanes; i++) bits[i] = i & H ? INT32_MIN : 0;
        }
    };
    static constexpr Signs kSigns = {};
    return V::add(V::template swap_lanes<H>(v), V::flip_where(v, V::load_i(kSigns.bits)));
}

// Distances 1, 2, 4, ... below the number of lanes and the block size.
template <class V> GGUFX_INLINE typename V::Vf inner_stages(typename V::Vf v, uint32_t block) {
    if (block > 1) v = butterfly<V, 1>(v);
    if (block > 2) v = butterfly<V, 2>(v);
    if (block > 4) v = butterfly<V, 4>(v);
    if constexpr (V::kLanes > 8)
        if (block > 8) v = butterfly<V, 8>(v);
    return v;
}

template <class V> GGUFX_INLINE void outer_stages(float *x, uint32_t block) {
    for (uint32_t h = V::kLanes; h < block; h *= 2)
        for (uint32_t i = 0; i < block; i += 2 * h)
            for (uint32_t j = i; j < i + h; j += V::kLanes) {
                const auto a = V::load(x + j), b = V::load(x + j + h);
                V::store(x + j, V::add(a, b));
                V::store(x + j + h, V::sub(a, b));
            }
}

// n: whole registers.
template <class V>
GGUFX_INLINE void transform_row(KvTransform transform, float *x, uint32_t n, uint32_t block) {
    for (uint32_t i = 0; i < n; i += V::kLanes)
        V::store(x + i, inner_stages<V>(V::load(x + i), block));
    if (block > V::kLanes)
        for (uint32_t i = 0; i < n; i += block) outer_stages<V>(x + i, block);
    const auto norm = V::set1(kv_norm(block));
    for (uint32_t i = 0; i < n; i += V::kLanes) V::store(x + i, V::mul(V::load(x + i), norm));
    (void)transform;
}

struct KvSignBits {
    int32_t tq3[32], count[16];
    constexpr KvSignBits() : tq3(), count() {
        for (int i = 0; i < 32; i++) tq3[i] = kTq3Signs[i] < 0 ? INT32_MIN : 0;
        for (int i = 0; i < 16; i++) count[i] = i + 1;
    }
};
constexpr KvSignBits kKvSignBits = {};

template <class V> GGUFX_INLINE void flip_row(KvTransform transform, float *x, uint32_t n) {
    for (uint32_t i = 0; i < n; i += V::kLanes) {
        typename V::Vi bits = V::load_i(kKvSignBits.tq3 + i % 32);
        if (transform == KvTransform::head) {
            const auto at = V::add_i(V::load_i(kKvSignBits.count), V::set1_i(static_cast<int>(i)));
            bits = V::and_i(V::mul_i(at, V::set1_i(static_cast<int32_t>(0x9e3779b9u))),
                            V::set1_i(INT32_MIN));
        }
        V::store(x + i, V::flip_where(V::load(x + i), bits));
    }
}

// Falls back to the scalar code if blocks narrower than a register leave a partial one.
template <class V> void kv_rotate_row(KvTransform transform, float *x, uint32_t n) {
    const uint32_t whole = n / V::kLanes * V::kLanes;
    if (whole != n || transform == KvTransform::none) {
        kv_rotate_text(transform, x, n, 1);
        return;
    }
    flip_row<V>(transform, x, n);
    transform_row<V>(transform, x, n, kv_block(transform, n));
}
template <class V> void kv_unrotate_row(KvTransform transform, float *x, uint32_t n) {
    const uint32_t whole = n / V::kLanes * V::kLanes;
    if (whole != n || transform == KvTransform::none) {
        kv_unrotate_text(transform, x, n, 1);
        return;
    }
    transform_row<V>(transform, x, n, kv_block(transform, n));
    flip_row<V>(transform, x, n);
}

// ---- codes --------------------------------------------------------------------------------------

template <class V> struct KvQueryPacker {
    using F = typename V::Vf;
    using I = typename V::Vi;
    static constexpr unsigned kRegs = kKvStrip / V::kLanes;
    static constexpr uint32_t kInfinite = 0x7f800000u, kTiny = 0x0d800000u;

    const KvQueryRow &to;
    const float *x;
    uint32_t n;

    GGUFX_INLINE void load(F (&v)[kRegs], uint32_t strip) const {
#pragma GCC unroll 4
        for (unsigned i = 0; i < kRegs; i++) {
            const uint32_t c = strip * kKvStrip + i * V::kLanes;
            v[i] = c < n ? V::load(x + c) : V::zero();
        }
    }
    GGUFX_INLINE uint32_t largest(uint32_t strip) const {
        F v[kRegs];
        load(v, strip);
        return V::largest_bits(v);
    }
    GGUFX_INLINE void put(uint32_t strip, const int8_t *bytes, uint32_t plane,
                          uint32_t planes) const {
        int8_t *at =
            to.codes + (size_t(strip) * 8 * planes + plane) * to.width * 4 + size_t(to.row) * 4;
#pragma GCC unroll 8
        for (unsigned i = 0; i < 8; i++, at += size_t(planes) * to.width * 4)
            __builtin_memcpy(at, bytes + 4 * i, 4);
    }
    // Stores the codes of a strip and returns their sum.
    template <bool Wide> GGUFX_INLINE int32_t codes(uint32_t strip, float inverse) const {
        F v[kRegs];
        I sum = V::zero_i();
        int8_t high_bytes[kKvStrip], low_bytes[kKvStrip];
        load(v, strip);
#pragma GCC unroll 4
        for (unsigned i = 0; i < kRegs; i++) {
            const I q = V::round(V::mul(v[i], V::set1(inverse)));
            sum = V::add_i(sum, q);
            I high = q;
            if constexpr (Wide && V::kPairs) {
                V::store_pairs(high_bytes + i * V::kLanes, low_bytes + i * V::kLanes, q);
                continue;
            }
            if constexpr (Wide) {
                high = V::template shift_right<7>(V::add_i(q, V::set1_i(64)));
                const I low = V::sub_i(q, V::template shift_left<7>(high));
                V::store_low_bytes(low_bytes + i * V::kLanes, low);
            }
            V::store_low_bytes(high_bytes + i * V::kLanes, high);
        }
        put(strip, high_bytes, 0, Wide ? 2 : 1);
        if constexpr (Wide) put(strip, low_bytes, 1, 2);
        return V::reduce_add(sum);
    }
    // Quantizes strips first .. end - 1, which share scale `index`.
    template <bool Wide> bool block(uint32_t first, uint32_t end, uint32_t index) const {
        uint32_t bits = 0;
        for (uint32_t b = first; b < end; b++) {
            const uint32_t of_strip = largest(b);
            bits = of_strip > bits ? of_strip : bits;
        }
        constexpr float most = Wide ? 16256.0f : 127.0f;
        const bool finite = bits < kInfinite, zero = bits < kTiny || !finite;
        const float amax = zero ? 1.0f : f32_from_bits(bits);
        const float inverse = most / amax, d = zero ? 0.0f : amax / most;
        int32_t sum = 0;
        for (uint32_t b = first; b < end; b++)
            sum += zero ? clear<Wide>(b) : codes<Wide>(b, inverse);
        const size_t at = size_t(index) * to.width + to.row;
        to.d_q[at] = d * kv_format(to.kind).unit;
        to.s_q[at] = d * static_cast<float>(sum);
        to.q_sum[at] = sum;
        return finite;
    }
    template <bool Wide> int32_t clear(uint32_t strip) const {
        constexpr int8_t zeros[kKvStrip] = {};
        for (uint32_t plane = 0; plane < (Wide ? 2 : 1); plane++)
            put(strip, zeros, plane, Wide ? 2 : 1);
        return 0;
    }
    template <bool Wide> bool run() const {
        const uint32_t strips = (n + kKvStrip - 1) / kKvStrip;
        if (kv_format(to.kind).vector_scale) return block<Wide>(0, strips, 0);
        bool finite = true;
        for (uint32_t b = 0; b < strips; b++) finite &= block<Wide>(b, b + 1, b);
        return finite;
    }
};

template <class V> bool kv_pack(const KvQueryRow &to, const float *x, uint32_t n) {
    const KvQueryPacker<V> packer = {to, x, n};
    return kv_format(to.kind).wide_query ? packer.template run<true>()
                                         : packer.template run<false>();
}

// Compiled with the fused multiply-add of the set.
template <class V> float kv_dot(const float *a, const float *b, uint32_t n) {
    float even = 0.0f, odd = 0.0f;
    uint32_t c = 0;
    for (; c + 2 <= n; c += 2) {
        even = __builtin_fmaf(a[c], b[c], even);
        odd = __builtin_fmaf(a[c + 1], b[c + 1], odd);
    }
    if (c < n) even = __builtin_fmaf(a[c], b[c], even);
    return even + odd;
}

template <class V, unsigned Rows>
GGUFX_INLINE void kv_dots_of(float *out, const float *x, const float *y, uint32_t n) {
    constexpr unsigned regs = 16 / V::kLanes;
    typename V::Vf lane[Rows][regs];
#pragma GCC unroll 4
    for (unsigned r = 0; r < Rows; r++)
#pragma GCC unroll 2
        for (unsigned j = 0; j < regs; j++) lane[r][j] = V::zero();
    for (uint32_t i = 0; i < n; i += 16)
#pragma GCC unroll 2
        for (unsigned j = 0; j < regs; j++) {
            const auto b = V::load(y + i + j * V::kLanes);
#pragma GCC unroll 4
            for (unsigned r = 0; r < Rows; r++)
                lane[r][j] = V::fma(V::load(x + size_t{r} * n + i + j * V::kLanes), b, lane[r][j]);
        }
#pragma GCC unroll 4
    for (unsigned r = 0; r < Rows; r++) out[r] = V::tree(lane[r]);
}

// rows: 1, 2 or 4.
template <class V>
void kv_dots(float *out, const float *x, const float *y, uint32_t n, uint32_t rows) {
    if (rows == 4) return kv_dots_of<V, 4>(out, x, y, n);
    if (rows == 2) return kv_dots_of<V, 2>(out, x, y, n);
    kv_dots_of<V, 1>(out, x, y, n);
}

} // namespace
} // namespace kernels
} // namespace ggufx
