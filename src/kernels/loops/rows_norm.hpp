// Norms and softmax.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/rows_exp.hpp"
#include "kernels/loops/rows_parts.hpp"

#define GGUFX_STEP __attribute__((always_inline)) // lambda of a loop, inlined into it

namespace ggufx {
namespace kernels {
namespace {

template <class V> GGUFX_INLINE float row_sum_of_squares(const float *x, size_t n) {
    return sum_64<V>(n, [x](auto sum, size_t i, const auto &at) GGUFX_STEP {
        const auto v = at.load(x + i);
        return V::fma(v, v, sum);
    });
}

GGUFX_INLINE float row_inverse_root(float sum, size_t n, float eps) {
    return 1.0f / __builtin_sqrtf(sum / static_cast<float>(n) + eps);
}

template <class V> void row_rms(float *y, const float *x, const float *w, size_t n, float eps) {
    const auto scale = V::set1(row_inverse_root(row_sum_of_squares<V>(x, n), n, eps));
    for_registers<V>(n, [=](size_t i, const auto &at) GGUFX_STEP {
        auto v = V::mul(at.load(x + i), scale);
        if (w) v = V::mul(v, at.load(w + i));
        at.store(y + i, v);
    });
}

template <class V>
void row_layer_norm(float *y, const float *x, const float *w, const float *b, size_t n, float eps) {
    const float total = sum_64<V>(n, [x](auto sum, size_t i, const auto &at)
                                         GGUFX_STEP { return V::add(sum, at.load(x + i)); });
    const auto mean = V::set1(total / static_cast<float>(n));
    const float squares = sum_64<V>(n, [=](auto sum, size_t i, const auto &at) GGUFX_STEP {
        const auto d = at.keep(V::sub(at.load(x + i), mean), V::zero());
        return V::fma(d, d, sum);
    });
    const auto scale = V::set1(row_inverse_root(squares, n, eps));
    for_registers<V>(n, [=](size_t i, const auto &at) GGUFX_STEP {
        auto v = V::mul(V::sub(at.load(x + i), mean), scale);
        if (w) v = V::mul(v, at.load(w + i));
        if (b) v = V::add(v, at.load(b + i));
        at.store(y + i, v);
    });
}

template <class V> void row_l2(float *y, const float *x, size_t n, float eps) {
    const float length = __builtin_sqrtf(row_sum_of_squares<V>(x, n));
    const auto scale = V::set1(1.0f / (length < eps ? eps : length));
    for_registers<V>(n, [=](size_t i, const auto &at)
                            GGUFX_STEP { at.store(y + i, V::mul(at.load(x + i), scale)); });
}

template <class V> void row_softmax(float *y, size_t n) {
    const auto lowest = V::set1(-__builtin_inff());
    auto most = lowest;
    for_registers<V>(n, [&](size_t i, const auto &at) GGUFX_STEP {
        most = V::greater(at.keep(at.load(y + i), lowest), most); // NaN is ignored
    });
    const auto largest = V::set1(V::reduce_max(most));
    for_registers<V>(n, [=](size_t i, const auto &at) GGUFX_STEP {
        at.store(y + i, exp_below<V>(V::sub(at.load(y + i), largest)));
    });
    const auto total = V::set1(sum_64<V>(n, [y](auto sum, size_t i, const auto &at) GGUFX_STEP {
        return V::add(sum, at.load(y + i));
    }));
    for_registers<V>(n, [=](size_t i, const auto &at)
                            GGUFX_STEP { at.store(y + i, V::div(at.load(y + i), total)); });
}

template <class V> void row_maxima(float *y, const float *x, size_t n) {
    const auto infinity = V::set1(__builtin_inff()), lowest = V::set1(-__builtin_inff());
    for (size_t first = 0; first < n; first += 64) {
        auto most = lowest;
        for_registers<V>(n - first < 64 ? n - first : 64, [&](size_t i, const auto &at) GGUFX_STEP {
            const auto v = at.load(x + first + i); // NaN is not below infinity
            const auto known = V::pick(V::lt(v, infinity), v, infinity);
            most = V::greater(at.keep(known, lowest), most);
        });
        float largest = V::reduce_max(most) + 0.0f;
        for (size_t i = first; !(largest < __builtin_inff()) && i < n && i < first + 64; i++)
            if (x[i] != x[i]) largest = one_nan(x[i]);
        y[first / 64] = largest;
    }
}

template <class V> void row_exp_from(float *y, const float *x, float top, size_t n) {
    const auto from = V::set1(top);
    for_registers<V>(n, [=](size_t i, const auto &at) GGUFX_STEP {
        at.store(y + i, exp_any<V>(V::sub(at.load(x + i), from)));
    });
}

} // namespace
} // namespace kernels
} // namespace ggufx
