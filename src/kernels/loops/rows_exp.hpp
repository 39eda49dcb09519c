// Canonical exp (base/math.hpp, docs/reproducibility/attention.md D3) in lanes.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/common.hpp"

namespace ggufx {
namespace kernels {
namespace {

// For x <= 88.722832 or NaN, which stays NaN; lanes below -87 give +0.
template <class V> GGUFX_INLINE typename V::Vf exp_below(typename V::Vf x) {
    using F = typename V::Vf;
    const typename V::Vi n = V::round(V::mul(x, V::set1(1.44269504f)));
    const F whole = V::to_float(n);
    F r = V::fnma(whole, V::set1(0.693359375f), x);
    r = V::fnma(whole, V::set1(-2.12194440e-4f), r);
    F p = V::set1(1.9875691500e-4f);
    p = V::fma(p, r, V::set1(1.3981999507e-3f));
    p = V::fma(p, r, V::set1(8.3334519073e-3f));
    p = V::fma(p, r, V::set1(4.1665795894e-2f));
    p = V::fma(p, r, V::set1(1.6666665459e-1f));
    p = V::fma(p, r, V::set1(5.0000001201e-1f));
    p = V::fma(p, V::mul(r, r), V::add(r, V::set1(1.0f)));
    return V::zero_below(V::add_exponent(p, n), x, V::set1(-87.0f));
}

template <class V> GGUFX_INLINE typename V::Vf exp_any(typename V::Vf x) {
    return V::pick(V::lt(V::set1(0x1.62e42ep6f), x), V::set1(__builtin_inff()), exp_below<V>(x));
}

} // namespace
} // namespace kernels
} // namespace ggufx
