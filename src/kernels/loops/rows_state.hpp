// Recurrent steps of one token. A row of the state is read once or twice and written once; rows are
// taken four at a time, so that chains of sums do not wait for themselves.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/rows_norm.hpp"
#include "kernels/rows.hpp"

namespace ggufx {
namespace kernels {
namespace {

template <class V>
void row_conv(float *y, const float *const *x, const float *w, const float *b, size_t k, size_t n) {
    for_registers<V>(n, [=](size_t c, const auto &at) GGUFX_STEP {
        auto sum = b ? at.load(b + c) : V::zero();
        for (size_t j = 0; j < k; j++) {
            const auto weight = at.load(w + j * n + c), value = at.load(x[j] + c);
            sum = j == 0 && !b ? V::mul(weight, value) : V::fma(weight, value, sum);
        }
        at.store(y + c, sum);
    });
}

// The sums of 16 lanes of R rows.
template <class V, unsigned R> struct RowSums {
    typename V::Vf lane[R][16 / V::kLanes];
    GGUFX_INLINE RowSums() {
#pragma GCC unroll 4
        for (auto &row : lane)
#pragma GCC unroll 2
            for (auto &l : row) l = V::zero();
    }
    GGUFX_INLINE void add(unsigned row, unsigned j, typename V::Vf a, typename V::Vf b) {
        lane[row][j] = V::fma(a, b, lane[row][j]);
    }
    GGUFX_INLINE float of(unsigned row) const {
        return V::tree(lane[row]) + 0.0f;
    } // no -0
};

// Four rows at a time, then one by one: rows(r, count), count a constant.
template <class F> GGUFX_INLINE void for_rows_of_state(size_t rows, const F &f) {
    size_t r = 0;
    for (; r + 4 <= rows; r += 4) f.template operator()<4>(r);
    for (; r < rows; r++) f.template operator()<1>(r);
}

template <class V>
void row_delta(float *out, float *m, const float *k, const float *q, const float *v, DeltaStep s,
               size_t rows, size_t n) {
    using F = typename V::Vf;
    const F decay = V::set1(s.decay);
    for_rows_of_state(rows, [=]<unsigned R>(size_t first) GGUFX_STEP {
        float *const state = m + first * n;
        RowSums<V, R> found, result;
        for_lanes<V, 16>(n, [&](unsigned j, size_t i, const auto &at) GGUFX_STEP {
            const F key = at.load(k + i);
#pragma GCC unroll 4
            for (unsigned r = 0; r < R; r++) {
                // zeros behind the end times an infinite decay are none
                const F old = V::mul(at.load(state + r * n + i), decay);
                found.add(r, j, at.keep(old, V::zero()), key);
            }
        });
        F d[R];
#pragma GCC unroll 4
        for (unsigned r = 0; r < R; r++) d[r] = V::set1(s.beta * (v[first + r] - found.of(r)));
        for_lanes<V, 16>(n, [&](unsigned j, size_t i, const auto &at) GGUFX_STEP {
            const F key = at.load(k + i), query = at.load(q + i);
#pragma GCC unroll 4
            for (unsigned r = 0; r < R; r++) {
                float *const to = state + r * n + i;
                const F now = V::fma(d[r], key, V::mul(at.load(to), decay));
                at.store(to, now);
                result.add(r, j, at.keep(now, V::zero()), query);
            }
        });
#pragma GCC unroll 4
        for (unsigned r = 0; r < R; r++) out[first + r] = one_nan(result.of(r) * s.scale);
    });
}

template <class V>
void row_scan(float *out, float *m, const float *b, const float *c, const float *u, float decay,
              float dt, size_t rows, size_t n) {
    using F = typename V::Vf;
    const F keep = V::set1(decay);
    for_rows_of_state(rows, [=]<unsigned R>(size_t first) GGUFX_STEP {
        float *const state = m + first * n;
        RowSums<V, R> sums;
        F t[R];
#pragma GCC unroll 4
        for (unsigned r = 0; r < R; r++) t[r] = V::set1(u[first + r] * dt);
        for_lanes<V, 16>(n, [&](unsigned j, size_t i, const auto &at) GGUFX_STEP {
            const F in = at.load(b + i), read = at.load(c + i);
#pragma GCC unroll 4
            for (unsigned r = 0; r < R; r++) {
                float *const to = state + r * n + i;
                const F now = V::fma(t[r], in, V::mul(at.load(to), keep));
                at.store(to, now);
                sums.add(r, j, at.keep(now, V::zero()), read);
            }
        });
#pragma GCC unroll 4
        for (unsigned r = 0; r < R; r++) out[first + r] = one_nan(sums.of(r));
    });
}

// A row at a time: each has its exponentials to overlap with those of the next.
template <class V>
void row_scan_each(float *out, float *m, const float *a, const float *b, const float *c,
                   const float *u, const float *dt, size_t rows, size_t n) {
    using F = typename V::Vf;
    for (size_t r = 0; r < rows; r++, m += n, a += n) {
        RowSums<V, 1> sums;
        const F step = V::set1(dt[r]), t = V::set1(u[r] * dt[r]);
        for_lanes<V, 16>(n, [=, &sums](unsigned j, size_t i, const auto &at) GGUFX_STEP {
            const F decay = exp_any<V>(V::mul(step, at.load(a + i)));
            const F now = V::fma(t, at.load(b + i), V::mul(at.load(m + i), decay));
            at.store(m + i, now);
            sums.add(0, j, at.keep(now, V::zero()), at.load(c + i));
        });
        out[r] = one_nan(sums.of(0));
    }
}

} // namespace
} // namespace kernels
} // namespace ggufx
