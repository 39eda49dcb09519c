// Loads floats of tokens into lanes, centres and transforms them: [coordinate][16 tokens], one
// register at a time, each token independently.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/kv_encode.hpp"
#include "kernels/loops/common.hpp"

namespace ggufx {
namespace kernels {
namespace {

template <class V> constexpr unsigned kKvParts = kKvGroup / V::kLanes; // parts of sixteen lanes

// Stores only the lanes of `lanes`, unless all are selected.
template <class V>
GGUFX_INLINE void put_lanes(float *to, typename V::Vf v, KvLanes lanes, unsigned part) {
    if (lanes.end - lanes.first < kKvGroup) {
        const uint64_t mask = ((uint64_t(1) << lanes.end) - 1) & ~uint64_t(0) << lanes.first;
        v = V::select(v, V::load(to), mask, part);
    }
    V::store(to, v);
}

// Loads coordinates first .. first + kLanes - 1 of rows; `n` of them exist.
template <class V, KvKind Kind>
GGUFX_INLINE void load_square(float *x, const KvRowsOf &rows, KvLanes lanes, unsigned part,
                              uint32_t first, uint32_t n) {
    constexpr uint32_t L = V::kLanes;
    constexpr size_t bytes = kv_format(Kind).float_bytes;
    typename V::Vi r[L];
#pragma GCC unroll 16
    for (unsigned i = 0; i < L; i++) {
        const uint32_t t = part * L + i;
        r[i] = V::set1_i(0);
        if (t < lanes.first || t >= lanes.end) continue;
        const uint8_t *at = rows.data + (t - lanes.first) * rows.stride + first * bytes;
        uint8_t rest[L * bytes];
        if (n < L) {
            for (size_t b = 0; b < sizeof rest; b++) rest[b] = b < n * bytes ? at[b] : 0;
            at = rest;
        }
        r[i] = V::as_int(V::template load_value<Kind>(at));
    }
    V::transpose(r);
#pragma GCC unroll 16
    for (unsigned i = 0; i < L; i++) {
        if (i >= n) break;
        typename V::Vf v = V::as_float(r[i]);
        if constexpr (Kind != KvKind::f16) v = V::round_half(v);
        put_lanes<V>(x + size_t(first + i) * kKvGroup + part * L, v, lanes, part);
    }
}

template <class V, KvKind Kind>
void load_rows_of(float *x, const KvRowsOf &rows, KvLanes lanes, uint32_t n) {
    constexpr uint32_t L = V::kLanes;
    for (unsigned part = 0; part < kKvParts<V>; part++) {
        uint32_t c = 0;
        for (; c + L <= n; c += L) load_square<V, Kind>(x, rows, lanes, part, c, L);
        if (c < n) load_square<V, Kind>(x, rows, lanes, part, c, n - c);
    }
}

template <class V> void kv_load_rows(float *x, const KvRowsOf &rows, KvLanes lanes, uint32_t n) {
    if (rows.kind == KvKind::f32) load_rows_of<V, KvKind::f32>(x, rows, lanes, n);
    if (rows.kind == KvKind::f16) load_rows_of<V, KvKind::f16>(x, rows, lanes, n);
    if (rows.kind == KvKind::bf16) load_rows_of<V, KvKind::bf16>(x, rows, lanes, n);
}

template <class V>
void kv_load_columns(float *x, const uint8_t *halves, KvLanes lanes, uint32_t n) {
    for (size_t at = 0; at < size_t(n) * kKvGroup; at += V::kLanes)
        put_lanes<V>(x + at, V::load_f16(halves + 2 * at), lanes, at % kKvGroup / V::kLanes);
}

template <class V> void kv_to_halves(uint8_t *halves, const float *x, size_t n) {
    for (size_t i = 0; i < n; i += V::kLanes) V::store_half(halves + 2 * i, V::load(x + i));
}

template <class V> void kv_centre(float *x, const float *mu, const float *eq, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        for (unsigned part = 0; part < kKvParts<V>; part++, x += V::kLanes) {
            typename V::Vf v = V::sub(V::load(x), V::set1(mu[i]));
            if (eq) v = V::div(v, V::set1(eq[i]));
            V::store(x, v);
        }
}

// Two distances per pass, and one at the end for an odd number of them.
template <class V> void kv_hadamard(float *x, uint32_t n) {
    constexpr size_t L = V::kLanes;
    size_t h = kKvGroup, all = size_t(n) * kKvGroup;
    for (; h * 4 <= all; h *= 4)
        for (size_t i = 0; i < all; i += 4 * h)
            for (float *p = x + i, *end = p + h; p < end; p += L) {
                const auto a = V::load(p), b = V::load(p + h);
                const auto c = V::load(p + 2 * h), d = V::load(p + 3 * h);
                const auto ab = V::add(a, b), a_b = V::sub(a, b);
                const auto cd = V::add(c, d), c_d = V::sub(c, d);
                V::store(p, V::add(ab, cd));
                V::store(p + h, V::add(a_b, c_d));
                V::store(p + 2 * h, V::sub(ab, cd));
                V::store(p + 3 * h, V::sub(a_b, c_d));
            }
    for (; h < all; h *= 2)
        for (float *p = x; p < x + h; p += L) {
            const auto a = V::load(p), b = V::load(p + h);
            V::store(p, V::add(a, b));
            V::store(p + h, V::sub(a, b));
        }
}

template <class V> GGUFX_INLINE void flip_coordinate(float *x, uint32_t i) {
    for (unsigned part = 0; part < kKvParts<V>; part++) {
        float *at = x + size_t(i) * kKvGroup + part * V::kLanes;
        V::store(at, V::flip(V::load(at)));
    }
}

template <class V> GGUFX_INLINE void scale_all(float *x, float by, uint32_t n) {
    for (size_t i = 0; i < size_t(n) * kKvGroup; i += V::kLanes)
        V::store(x + i, V::mul(V::load(x + i), V::set1(by)));
}

template <class V> void kv_rotate(KvTransform transform, float *x, uint32_t n) {
    if (transform == KvTransform::none) return;
    const uint32_t block = kv_block(transform, n);
    for (uint32_t i = 0; i < n; i++)
        if (kv_flipped(transform, i)) flip_coordinate<V>(x, i);
    for (uint32_t i = 0; i < n; i += block) kv_hadamard<V>(x + size_t(i) * kKvGroup, block);
    scale_all<V>(x, kv_norm(block), n);
}

} // namespace
} // namespace kernels
} // namespace ggufx
