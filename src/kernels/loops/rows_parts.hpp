// Loops over a row in registers: whole registers, then the partial rest with the same step. A step
// loads and stores through `at`, which is a Whole or a Some.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/common.hpp"

namespace ggufx {
namespace kernels {
namespace {

// Returns the stored form of a result: one NaN.
template <class V> GGUFX_INLINE typename V::Vf one_nan(typename V::Vf v) {
    return V::fix_nan(v, 0x7fc00000u);
}
GGUFX_INLINE float one_nan(float v) {
    return v == v ? v : __builtin_nanf("");
}

template <class V> struct Whole {
    using F = typename V::Vf;
    GGUFX_INLINE F load(const float *p) const { return V::load(p); }
    GGUFX_INLINE void store(float *p, F v) const { V::store(p, one_nan<V>(v)); }
    GGUFX_INLINE F keep(F v, F) const { return v; } // `otherwise` in lanes after the end
};

template <class V> struct Some {
    using F = typename V::Vf;
    typename V::Part part;
    explicit GGUFX_INLINE Some(size_t n) : part(n) {}
    GGUFX_INLINE F load(const float *p) const { return V::load_part(p, part); }
    GGUFX_INLINE void store(float *p, F v) const { V::store_part(p, one_nan<V>(v), part); }
    GGUFX_INLINE F keep(F v, F otherwise) const { return V::keep_part(v, otherwise, part); }
};

// Calls step(i, at) for registers that start at value i.
template <class V, class Step> GGUFX_INLINE void for_registers(size_t n, const Step &step) {
    size_t i = 0;
    for (; i + V::kLanes <= n; i += V::kLanes) step(i, Whole<V>());
    if (i != n) step(i, Some<V>(n - i));
}

// Calls step(j, i, at): j is the register of `Lanes` lanes, lane = index mod Lanes.
template <class V, unsigned Lanes, class Step>
GGUFX_INLINE void for_lanes(size_t n, const Step &step) {
    constexpr unsigned regs = Lanes / V::kLanes;
    size_t i = 0;
    for (; i + Lanes <= n; i += Lanes) {
#pragma GCC unroll 8
        for (unsigned j = 0; j < regs; j++) step(j, i + j * V::kLanes, Whole<V>());
    }
#pragma GCC unroll 8
    for (unsigned j = 0; j < regs && i != n; j++) {
        if (n - i < V::kLanes) {
            step(j, i, Some<V>(n - i));
            return;
        }
        step(j, i, Whole<V>());
        i += V::kLanes;
    }
}

// Tree sum over a power of two of lanes, 16 or more: halves are added until 16 are left, which use
// the tree of C2.
template <class V, size_t N> GGUFX_INLINE float sum_lanes(typename V::Vf (&l)[N]) {
    constexpr size_t regs = 16 / V::kLanes;
#pragma GCC unroll 4
    for (size_t half = N / 2; half >= regs; half /= 2) {
#pragma GCC unroll 8
        for (size_t j = 0; j < half; j++) l[j] = V::add(l[j], l[j + half]);
    }
    typename V::Vf last[regs];
#pragma GCC unroll 2
    for (size_t j = 0; j < regs; j++) last[j] = l[j];
    return V::tree(last);
}

// Sum with 64 lanes: term(sum, i, at) adds the values of a register.
template <class V, class Term> GGUFX_INLINE float sum_64(size_t n, const Term &term) {
    typename V::Vf lanes[64 / V::kLanes];
#pragma GCC unroll 8
    for (auto &lane : lanes) lane = V::zero();
    for_lanes<V, 64>(
        n, [&](unsigned j, size_t i, const auto &at)
               __attribute__((always_inline)) { lanes[j] = term(lanes[j], i, at); });
    return sum_lanes<V>(lanes);
}

} // namespace
} // namespace kernels
} // namespace ggufx
