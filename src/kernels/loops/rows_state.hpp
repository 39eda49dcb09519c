// Recurrent operations. A row of the state is read once or twice and written once. Three or four
// rows are processed at a time, so that their chains of sums overlap.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/rows_norm.hpp"
#include "kernels/rows.hpp"

namespace ggufx {
namespace kernels {
namespace {

template <class V>
void row_conv(float *y, const float *const *x, const float *w, size_t w_step, const float *b,
              size_t k, size_t n) {
    for_registers<V>(n, [=](size_t c, const auto &at) GGUFX_STEP {
        auto sum = b ? at.load(b + c) : V::zero();
        for (size_t j = 0; j < k; j++) {
            const auto weight = at.load(w + j * w_step + c), value = at.load(x[j] + c);
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

// Runs four rows at a time, then one by one: rows(r, count), count a constant.
template <class F> GGUFX_INLINE void for_rows_of_state(size_t rows, const F &f) {
    size_t r = 0;
    for (; r + 4 <= rows; r += 4) f.template operator()<4>(r);
    for (; r < rows; r++) f.template operator()<1>(r);
}

// Processes a token for R rows of any length; `before` may be m.
template <class V, unsigned R>
GGUFX_INLINE void delta_token(const DeltaRun &run, size_t t, float *m, const float *before,
                              size_t first, size_t n) {
    using F = typename V::Vf;
    const float *k = run.k.of(t), *q = run.q.of(t), *v = run.v.of(t) + first;
    float *const out = run.out + t * run.out_step + first;
    const F decay = V::set1(*run.decay.of(t));
    RowSums<V, R> found, result;
    for_lanes<V, 16>(n, [&](unsigned j, size_t i, const auto &at) GGUFX_STEP {
        const F key = at.load(k + i);
#pragma GCC unroll 4
        for (unsigned r = 0; r < R; r++) {
            // zeros after the end times an infinite decay would be NaN
            const F old = V::mul(at.load(before + r * n + i), decay);
            found.add(r, j, at.keep(old, V::zero()), key);
        }
    });
    F d[R];
#pragma GCC unroll 4
    for (unsigned r = 0; r < R; r++) d[r] = V::set1(*run.beta.of(t) * (v[r] - found.of(r)));
    for_lanes<V, 16>(n, [&](unsigned j, size_t i, const auto &at) GGUFX_STEP {
        const F key = at.load(k + i), query = at.load(q + i);
#pragma GCC unroll 4
        for (unsigned r = 0; r < R; r++) {
            const F now = V::fma(d[r], key, V::mul(at.load(before + r * n + i), decay));
            at.store(m + r * n + i, now);
            result.add(r, j, at.keep(now, V::zero()), query);
        }
    });
#pragma GCC unroll 4
    for (unsigned r = 0; r < R; r++) out[r] = one_nan(result.of(r) * run.scale);
}

// Processes R rows of Regs registers, which stay in registers for all tokens. NaNs become one NaN
// only when stored, since no visible number depends on the bits of a NaN.
template <class V, unsigned R, unsigned Regs>
GGUFX_INLINE void delta_in_registers(const DeltaRun &run, float *m, const float *before,
                                     size_t first) {
    using F = typename V::Vf;
    F state[R][Regs];
#pragma GCC unroll 4
    for (unsigned r = 0; r < R; r++)
#pragma GCC unroll 8
        for (unsigned i = 0; i < Regs; i++)
            state[r][i] = V::load(before + (r * Regs + i) * V::kLanes);
    for (size_t t = 0; t < run.tokens; t++) {
        const float *k = run.k.of(t), *q = run.q.of(t), *v = run.v.of(t) + first;
        float *const out = run.out + t * run.out_step + first;
        const F decay = V::set1(*run.decay.of(t));
        RowSums<V, R> found, result;
        F d[R];
#pragma GCC unroll 8
        for (unsigned i = 0; i < Regs; i++) {
            const F key = V::load(k + i * V::kLanes);
#pragma GCC unroll 4
            for (unsigned r = 0; r < R; r++) {
                state[r][i] = V::mul(state[r][i], decay);
                found.add(r, 0, state[r][i], key);
            }
        }
#pragma GCC unroll 4
        for (unsigned r = 0; r < R; r++) d[r] = V::set1(*run.beta.of(t) * (v[r] - found.of(r)));
#pragma GCC unroll 8
        for (unsigned i = 0; i < Regs; i++) {
            const F key = V::load(k + i * V::kLanes), query = V::load(q + i * V::kLanes);
#pragma GCC unroll 4
            for (unsigned r = 0; r < R; r++) {
                state[r][i] = V::fma(d[r], key, state[r][i]);
                result.add(r, 0, state[r][i], query);
            }
        }
#pragma GCC unroll 4
        for (unsigned r = 0; r < R; r++) out[r] = one_nan(result.of(r) * run.scale);
    }
#pragma GCC unroll 4
    for (unsigned r = 0; r < R; r++)
#pragma GCC unroll 8
        for (unsigned i = 0; i < Regs; i++)
            V::store(m + (r * Regs + i) * V::kLanes, one_nan<V>(state[r][i]));
}

template <class V>
void row_delta(const DeltaRun &run, float *m, const float *before, size_t rows, size_t n) {
    constexpr size_t regs = 8; // heads of 128 in 32 registers of 16: three rows and the rest
    if constexpr (V::kLanes == 16) {
        if (n == regs * V::kLanes && run.tokens > 0) {
            size_t r = 0;
            for (; r + 3 <= rows; r += 3)
                delta_in_registers<V, 3, regs>(run, m + r * n, before + r * n, r);
            for (; r < rows; r++) delta_in_registers<V, 1, regs>(run, m + r * n, before + r * n, r);
            return;
        }
    }
    for_rows_of_state(rows, [=, &run]<unsigned R>(size_t first) GGUFX_STEP {
        float *const state = m + first * n;
        const float *from = before + first * n;
        for (size_t t = 0; t < run.tokens; t++, from = state)
            delta_token<V, R>(run, t, state, from, first, n);
    });
}

template <class V>
void row_scan(const ScanToken &token, float *m, const float *before, size_t rows, size_t n) {
    using F = typename V::Vf;
    float *const out = token.out;
    const float *const b = token.b, *const c = token.c, *const u = token.u, dt = token.dt;
    const F keep = V::set1(token.decay);
    for_rows_of_state(rows, [=]<unsigned R>(size_t first) GGUFX_STEP {
        float *const state = m + first * n;
        const float *const from = before + first * n;
        RowSums<V, R> sums;
        F t[R];
#pragma GCC unroll 4
        for (unsigned r = 0; r < R; r++) t[r] = V::set1(u[first + r] * dt);
        for_lanes<V, 16>(n, [&](unsigned j, size_t i, const auto &at) GGUFX_STEP {
            const F in = at.load(b + i), read = at.load(c + i);
#pragma GCC unroll 4
            for (unsigned r = 0; r < R; r++) {
                const F now = V::fma(t[r], in, V::mul(at.load(from + r * n + i), keep));
                at.store(state + r * n + i, now);
                sums.add(r, j, at.keep(now, V::zero()), read);
            }
        });
#pragma GCC unroll 4
        for (unsigned r = 0; r < R; r++) out[first + r] = one_nan(sums.of(r));
    });
}

// One row at a time: its exponentials overlap with those of the next.
template <class V>
void row_scan_each(const ScanEachToken &token, float *m, const float *before, size_t rows,
                   size_t n) {
    using F = typename V::Vf;
    float *const out = token.out;
    const float *a = token.a, *const b = token.b, *const c = token.c;
    const float *const u = token.u, *const dt = token.dt;
    for (size_t r = 0; r < rows; r++, m += n, before += n, a += n) {
        RowSums<V, 1> sums;
        const F step = V::set1(dt[r]), t = V::set1(u[r] * dt[r]);
        for_lanes<V, 16>(n, [=, &sums](unsigned j, size_t i, const auto &at) GGUFX_STEP {
            const F decay = exp_any<V>(V::mul(step, at.load(a + i)));
            const F now = V::fma(t, at.load(b + i), V::mul(at.load(before + i), decay));
            at.store(m + i, now);
            sums.add(0, j, at.keep(now, V::zero()), at.load(c + i));
        });
        out[r] = one_nan(sums.of(0));
    }
}

} // namespace
} // namespace kernels
} // namespace ggufx
