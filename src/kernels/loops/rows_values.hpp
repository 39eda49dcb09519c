// RoPE rotations, sums and products of rows, activation functions.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/rows_norm.hpp"

namespace ggufx {
namespace kernels {
namespace {

template <class V> void row_rotate_pairs(float *x, const float *cos_sin, size_t pairs) {
    for_registers<V>(2 * pairs, [=](size_t i, const auto &at) GGUFX_STEP {
        const auto v = at.load(x + i), angles = at.load(cos_sin + i);
        const auto kept = V::mul(v, V::even_twice(angles));
        const auto crossed = V::mul(V::template swap_lanes<1>(v), V::odd_twice(angles));
        at.store(x + i, V::sub_add(kept, crossed));
    });
}

// Loads the angles of kLanes pairs, or of the remaining ones: two registers, or parts of them.
template <class V>
GGUFX_INLINE void load_angles(typename V::Vf &c, typename V::Vf &s, const float *cos_sin,
                              size_t pairs) {
    constexpr size_t L = V::kLanes;
    typename V::Vf a = V::zero(), b = V::zero();
    const size_t n = 2 * pairs;
    a = n < L ? V::load_part(cos_sin, typename V::Part(n)) : V::load(cos_sin);
    if (n > L)
        b = n < 2 * L ? V::load_part(cos_sin + L, typename V::Part(n - L)) : V::load(cos_sin + L);
    V::part_pairs(c, s, a, b);
}

template <class V> void row_rotate_halves(float *x, const float *cos_sin, size_t pairs) {
    for_registers<V>(pairs, [=](size_t i, const auto &at) GGUFX_STEP {
        const auto a = at.load(x + i), b = at.load(x + pairs + i);
        typename V::Vf c, s;
        load_angles<V>(c, s, cos_sin + 2 * i, pairs - i);
        at.store(x + i, V::sub(V::mul(a, c), V::mul(b, s)));
        at.store(x + pairs + i, V::add(V::mul(a, s), V::mul(b, c)));
    });
}

// y[n] = f(y).
template <class V, class F> GGUFX_INLINE void change(float *y, size_t n, const F &f) {
    for_registers<V>(n, [=](size_t i, const auto &at)
                            GGUFX_STEP { at.store(y + i, f(at.load(y + i))); });
}
// y[n] = f(y, x).
template <class V, class F>
GGUFX_INLINE void change(float *y, const float *x, size_t n, const F &f) {
    for_registers<V>(n, [=](size_t i, const auto &at)
                            GGUFX_STEP { at.store(y + i, f(at.load(y + i), at.load(x + i))); });
}

template <class V> void row_add(float *y, const float *x, size_t n) {
    change<V>(y, x, n, [](auto a, auto b) GGUFX_STEP { return V::add(a, b); });
}
template <class V> void row_add_scaled(float *y, const float *x, float s, size_t n) {
    const auto by = V::set1(s);
    change<V>(y, x, n, [by](auto a, auto b) GGUFX_STEP { return V::add(a, V::mul(by, b)); });
}
template <class V> void row_multiply(float *y, const float *x, size_t n) {
    change<V>(y, x, n, [](auto a, auto b) GGUFX_STEP { return V::mul(a, b); });
}
template <class V> void row_scale(float *y, float s, size_t n) {
    const auto by = V::set1(s);
    change<V>(y, n, [by](auto a) GGUFX_STEP { return V::mul(a, by); });
}

// `limit` if v exceeds it; NaN stays.
template <class V> GGUFX_INLINE typename V::Vf at_most(typename V::Vf v, float limit) {
    return V::lesser(V::set1(limit), v);
}
template <class V> GGUFX_INLINE typename V::Vf at_least(typename V::Vf v, float limit) {
    return V::greater(V::set1(limit), v);
}
template <class V> void row_clamp(float *y, float limit, size_t n) {
    change<V>(y, n,
              [limit](auto a) GGUFX_STEP { return at_least<V>(at_most<V>(a, limit), -limit); });
}

template <class V> GGUFX_INLINE typename V::Vf tanh_of(typename V::Vf x) {
    const auto one = V::set1(1.0f);
    const auto t = exp_below<V>(V::mul(V::set1(-2.0f), V::absolute(x)));
    const auto magnitude = V::div(V::sub(one, t), V::add(one, t));
    return V::flip_where(magnitude, V::and_i(V::as_int(x), V::set1_i(INT32_MIN)));
}
template <class V> void row_cap(float *y, float c, size_t n) {
    const auto most = V::set1(c);
    change<V>(y, n,
              [most](auto a) GGUFX_STEP { return V::mul(most, tanh_of<V>(V::div(a, most))); });
}

// x * sigmoid(z).
template <class V> GGUFX_INLINE typename V::Vf times_sigmoid(typename V::Vf x, typename V::Vf z) {
    return V::div(x, V::add(V::set1(1.0f), exp_any<V>(V::flip(z))));
}

struct Silu {
    template <class V> static GGUFX_INLINE typename V::Vf of(typename V::Vf g) {
        return times_sigmoid<V>(g, g);
    }
};
struct Gelu {
    template <class V> static GGUFX_INLINE typename V::Vf of(typename V::Vf g) {
        const auto slope = V::fma(V::mul(g, g), V::set1(0.0713548163f), V::set1(1.59576912f));
        return times_sigmoid<V>(g, V::mul(g, slope));
    }
};
struct Relu2 {
    template <class V> static GGUFX_INLINE typename V::Vf of(typename V::Vf g) {
        const auto r = at_least<V>(g, 0.0f);
        return V::mul(r, r);
    }
};

template <class V, class Act> void row_activate(float *g, const float *u, size_t n) {
    for_registers<V>(n, [=](size_t i, const auto &at) GGUFX_STEP {
        auto a = Act::template of<V>(at.load(g + i));
        if (u) a = V::mul(a, at.load(u + i));
        at.store(g + i, a);
    });
}

template <class V> void row_oai(float *g, const float *u, size_t n) {
    change<V>(g, u, n, [](auto a, auto b) GGUFX_STEP {
        const auto gate = at_most<V>(a, 7.0f);
        const auto up = at_least<V>(at_most<V>(b, 7.0f), -7.0f);
        const auto act = times_sigmoid<V>(gate, V::mul(V::set1(1.702f), gate));
        return V::mul(act, V::add(up, V::set1(1.0f)));
    });
}
template <class V> void row_sigmoid(float *y, const float *g, size_t n) {
    change<V>(y, g, n, [](auto a, auto b) GGUFX_STEP { return times_sigmoid<V>(a, b); });
}

} // namespace
} // namespace kernels
} // namespace ggufx
