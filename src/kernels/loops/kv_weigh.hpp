// Softmax step of a row, scaling and merging of rows of sums (docs/reproducibility/attention.md).
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/kv_accumulate.hpp"
#include "kernels/loops/kv_query.hpp"
#include "kernels/loops/kv_ready.hpp"
#include "kernels/loops/kv_score.hpp"
#include "kernels/loops/rows_exp.hpp"

namespace ggufx {
namespace kernels {
namespace {

// All: every token is visible.
template <class V, bool All>
GGUFX_INLINE float kv_weigh_seen(float *s, uint64_t mask, float *m, float *l) {
    using F = typename V::Vf;
    constexpr unsigned regs = kKvTokens / V::kLanes, lanes = 16 / V::kLanes;
    F x[regs], seen[regs], largest;
#pragma GCC unroll 16
    for (unsigned i = 0; i < regs; i++) {
        F top = seen[i] = x[i] = V::load(s + i * V::kLanes);
        if constexpr (!All) {
            seen[i] = V::select(x[i], V::zero(), mask, i);
            top = V::select(x[i], V::set1(-__builtin_inff()), mask, i);
        }
        largest = i ? V::max(largest, top) : top;
    }
    if (!V::all_finite(seen)) return __builtin_nanf("");
    const float top = V::reduce_max(largest) + 0.0f; // no -0
    float factor = 1.0f;
    if (top > *m + 8.0f) {
        factor = V::first(exp_below<V>(V::set1(*m - top)));
        *l = *l * factor;
        *m = top;
    }
    const F reference = V::set1(*m);
    F lane[lanes];
#pragma GCC unroll 16
    for (unsigned i = 0; i < regs; i++) {
        F p = exp_below<V>(V::sub(x[i], reference));
        if constexpr (!All) p = V::select(p, V::zero(), mask, i);
        lane[i % lanes] = i < lanes ? p : V::add(lane[i % lanes], p); // weights are not -0
        V::store(s + i * V::kLanes, p);
    }
    *l = *l + V::tree(lane);
    return factor;
}

template <class V> float kv_weigh(float *s, KvTokens tokens, float *m, float *l) {
    const uint64_t upto = tokens.end < 64 ? (uint64_t(1) << tokens.end) - 1 : ~uint64_t(0);
    const uint64_t mask = tokens.first < 64 ? upto & ~uint64_t(0) << tokens.first : 0;
    if (mask == ~uint64_t(0)) return kv_weigh_seen<V, true>(s, mask, m, l);
    return kv_weigh_seen<V, false>(s, mask, m, l);
}

// n: a multiple of 16.
template <class V> void kv_scale(float *o, float a, uint32_t n) {
    for (uint32_t j = 0; j < n; j += V::kLanes) V::store(o + j, V::mul(V::load(o + j), V::set1(a)));
}

template <class V> void kv_merge(float *total, const float *chunk, float a, float b, uint32_t n) {
    for (uint32_t j = 0; j < n; j += V::kLanes)
        V::store(total + j,
                 V::fma(V::load(chunk + j), V::set1(b), V::mul(V::load(total + j), V::set1(a))));
}

template <class V, KvKind K>
constexpr KvKernels kKvKind = {
    {kv_score<V, K, 1>, kv_score<V, K, 2>, kv_score<V, K, 4>},
    {kv_accumulate<V, K, 1>, kv_accumulate<V, K, 2>, kv_accumulate<V, K, 4>},
    kv_ready<V, K>()};

template <class V>
constexpr auto kKvKindsOf = for_kv_kinds<KvKernels>([]<KvKind K>() { return kKvKind<V, K>; });

template <class V>
constexpr KvPages kv_pages_with(const KvEncoders &encoders, const OfKvKinds<KvKernels> &kinds) {
    return {&encoders,        kinds.of,           kv_weigh<V>, kv_scale<V>, kv_merge<V>, kv_pack<V>,
            kv_rotate_row<V>, kv_unrotate_row<V>, kv_dot<V>,   kv_dots<V>,  V::kPairs};
}
template <class V, const KvEncoders &Encoders>
constexpr KvPages kKvPagesOf = kv_pages_with<V>(Encoders, kKvKindsOf<V>);

} // namespace
} // namespace kernels
} // namespace ggufx
