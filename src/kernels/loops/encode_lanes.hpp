// Quantization with a block in each lane. Sums then run in the order of the values, as in
// kernels/scalar, and all lanes take the same steps. Operators over the vectors of an instruction
// set keep the searches close to the scalar code.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/half.hpp"
#include "kernels/encode.hpp"
#include "kernels/loops/common.hpp"

namespace ggufx {
namespace kernels {
namespace {

// Vector of floats. Results of scalar functions with integer arguments are whole numbers here.
template <class V> struct Lane {
    typename V::Vf v;
    GGUFX_INLINE Lane() : v(V::zero()) {}
    GGUFX_INLINE Lane(typename V::Vf from) : v(from) {}
    GGUFX_INLINE Lane(float from) : v(V::set1(from)) {}
    GGUFX_INLINE friend Lane operator+(Lane a, Lane b) { return V::add(a.v, b.v); }
    GGUFX_INLINE friend Lane operator-(Lane a, Lane b) { return V::sub(a.v, b.v); }
    GGUFX_INLINE friend Lane operator*(Lane a, Lane b) { return V::mul(a.v, b.v); }
    GGUFX_INLINE friend Lane operator/(Lane a, Lane b) { return V::div(a.v, b.v); }
    GGUFX_INLINE Lane operator-() const { return V::flip(v); }
    GGUFX_INLINE Lane &operator+=(Lane b) { return *this = *this + b; }
    GGUFX_INLINE Lane &operator-=(Lane b) { return *this = *this - b; }
};

template <class V> struct Where {
    typename V::Mask m;
    GGUFX_INLINE friend Where operator&(Where a, Where b) { return {V::both(a.m, b.m)}; }
    GGUFX_INLINE Lane<V> pick(Lane<V> yes, Lane<V> no) const { return V::pick(m, yes.v, no.v); }
    GGUFX_INLINE bool any() const { return V::bits(m) != 0; }
};
template <class V> GGUFX_INLINE Where<V> operator<(Lane<V> a, Lane<V> b) {
    return {V::lt(a.v, b.v)};
}
template <class V> GGUFX_INLINE Where<V> operator<=(Lane<V> a, Lane<V> b) {
    return {V::le(a.v, b.v)};
}
template <class V> GGUFX_INLINE Where<V> operator!=(Lane<V> a, Lane<V> b) {
    return {V::differ(a.v, b.v)};
}

template <class V> GGUFX_INLINE Lane<V> magnitude(Lane<V> a) {
    return V::absolute(a.v);
}
template <class V> GGUFX_INLINE Lane<V> square_root(Lane<V> a) {
    return V::sqrt(a.v);
}
template <class V> GGUFX_INLINE Lane<V> clamped(Lane<V> a, float low, float high) {
    return V::lesser(V::greater(a.v, V::set1(low)), V::set1(high));
}
template <class V> GGUFX_INLINE Lane<V> at_most(Lane<V> a, float high) {
    return V::lesser(a.v, V::set1(high));
}
template <class V> GGUFX_INLINE Lane<V> inverse(Lane<V> d) {
    return (d != Lane<V>(0.0f)).pick(Lane<V>(1.0f) / d, 0.0f);
}

constexpr float kRounder = 12582912.0f; // 1.5 * 2^23

// Returns the bits of a whole number + kRounder with the low 23 bits that nearest() of
// kernels/scalar uses, also beyond 2^22 and for NaN.
template <class V> GGUFX_INLINE typename V::Vi nearest_bits(Lane<V> a) {
    const typename V::Vi sum = V::as_int((a + Lane<V>(kRounder)).v);
    return V::replace(sum, V::set1_i(0x007fffff), V::set1_i(0x4b000000));
}
template <class V> GGUFX_INLINE Lane<V> nearest(Lane<V> a) {
    return Lane<V>(V::as_float(nearest_bits(a))) - Lane<V>(kRounder);
}
// The low eight bits of nearest(), 0 .. 255.
template <class V> GGUFX_INLINE Lane<V> nearest8(Lane<V> a) {
    return V::to_float(V::and_i(nearest_bits(a), V::set1_i(255)));
}
template <class V> GGUFX_INLINE Lane<V> low8(Lane<V> whole) {
    return V::to_float(V::and_i(V::to_int(whole.v), V::set1_i(255)));
}
template <class V> GGUFX_INLINE void store_bytes(uint8_t *to, Lane<V> whole) {
    V::store_bytes(to, V::and_i(V::to_int(whole.v), V::set1_i(255)));
}

constexpr int kMaxGroup = 32;   // most values per search
constexpr float kTiny = 1e-15f; // smaller groups count as zero

constexpr float kLaneNumbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

// One group per lane: v[i] is value i of all groups.
template <class V> struct alignas(64) Group {
    float v[kMaxGroup][V::kLanes];
    GGUFX_INLINE Lane<V> operator[](int i) const { return V::load(v[i]); }
    GGUFX_INLINE void set(int i, Lane<V> a) { V::store(v[i], a.v); }
};

// to[i] = value i of the rows from[0 .. kLanes-1]; n is a multiple of 16.
template <class V> GGUFX_INLINE void load_columns(Group<V> *to, const float *const *from, int n) {
    constexpr int L = V::kLanes;
    for (int i = 0; i < n; i += L) {
        typename V::Vi r[L];
#pragma GCC unroll 16
        for (int j = 0; j < L; j++) r[j] = V::load_i(from[j] + i);
        V::transpose(r);
#pragma GCC unroll 16
        for (int j = 0; j < L; j++) V::store_i(to->v[i + j], r[j]);
    }
}

// Addresses of the groups of kLanes blocks; lanes after the last block repeat it.
template <class V, int BlockValues> struct Places {
    const EncodeJob &job;
    size_t first;
    int n; // number of blocks, <= kLanes
    GGUFX_INLINE Places(const EncodeJob &j, size_t b) : job(j), first(b), n(V::kLanes) {
        if (j.n_blocks - b < V::kLanes) n = static_cast<int>(j.n_blocks - b);
    }
    GGUFX_INLINE size_t block(int b) const {
        return first + static_cast<size_t>(b < n ? b : n - 1);
    }
    GGUFX_INLINE const float *values(int b) const { return job.x + block(b) * BlockValues; }
    GGUFX_INLINE const float *weights(int b) const {
        return job.imatrix + (job.block + block(b)) % job.row_blocks * BlockValues;
    }
    // Group g of `Values` values, counted over all blocks.
    template <int Values> GGUFX_INLINE const float *group(int g) const {
        constexpr int each = BlockValues / Values;
        return values(g / each) + Values * (g % each);
    }
    template <int Values> GGUFX_INLINE const float *group_weights(int g) const {
        constexpr int each = BlockValues / Values;
        return weights(g / each) + Values * (g % each);
    }
};

// out[lane] = x[0]^2 + x[1]^2 + ... for each block of 256.
template <class V> void sums_of_squares(float *out, const Places<V, 256> &at) {
    Lane<V> sum;
    const float *from[V::kLanes];
    Group<V> x;
    for (int i = 0; i < 256; i += kMaxGroup) {
        for (int b = 0; b < static_cast<int>(V::kLanes); b++) from[b] = at.values(b) + i;
        load_columns<V>(&x, from, kMaxGroup);
        for (int j = 0; j < kMaxGroup; j++) sum += x[j] * x[j];
    }
    V::store(out, sum.v);
}

// w = qw * sqrt(sigma2 + x^2)
template <class V>
GGUFX_INLINE void weigh(Group<V> *w, const Group<V> &x, const Group<V> &qw, int n, Lane<V> sigma2) {
    for (int i = 0; i < n; i++) w->set(i, qw[i] * square_root(sigma2 + x[i] * x[i]));
}
template <class V> GGUFX_INLINE void weigh_by_squares(Group<V> *w, const Group<V> &x, int n) {
    for (int i = 0; i < n; i++) w->set(i, x[i] * x[i]);
}

// Rounds half away from zero, for |a| < 2^22. INT32_MIN for infinities and NaN, like round_away()
// of kernels/scalar.
template <class V> GGUFX_INLINE typename V::Vi round_away(Lane<V> a) {
    // The largest float below 1/2, so that values below a half are not carried over it.
    const typename V::Vi half =
        V::replace(V::as_int(a.v), V::set1_i(INT32_MIN), V::set1_i(0x3effffff));
    return V::to_int((a + Lane<V>(V::as_float(half))).v);
}

// Loads values of a row that are not a whole vector, padded with zeros.
template <class V> GGUFX_INLINE Lane<V> load_some(const float *x, size_t n) {
    if (n >= V::kLanes) return V::load(x);
    alignas(64) float rest[V::kLanes] = {};
    for (size_t i = 0; i < n; i++) rest[i] = x[i];
    return V::load(rest);
}

// ---- scalar functions, used once per group
// -------------------------------------------------------

inline int nearest_int(float v) {
    return static_cast<int>(f32_bits(v + kRounder) & 0x007fffffu) - 0x00400000;
}
inline float inverse1(float d) {
    return d != 0.0f ? 1.0f / d : 0.0f;
}
// Stores a scale and returns the stored value. NaN has one sign.
inline float store_scale(uint8_t *p, float v) {
    const uint16_t bits = v == v ? f32_to_f16(v) : uint16_t{0xfe00};
    store_u16le(p, bits);
    return f16_to_f32(bits);
}
// Returns the value of largest magnitude with its sign, the first of equals; +0 if all are zero.
inline float signed_largest1(const float *x, int n) {
    float most = 0.0f, value = 0.0f;
    for (int i = 0; i < n; i++) {
        const float m = f32_from_bits(f32_bits(x[i]) & 0x7fffffffu);
        if (m > most) {
            most = m;
            value = x[i];
        }
    }
    return value;
}

} // namespace
} // namespace kernels
} // namespace ggufx
