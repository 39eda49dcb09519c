// n = 1..3 columns of int8 activations (C2): group sums in integers, sixteen f32 lanes per row,
// lane i = block i % 16. A task runs four far streams, each a contiguous quarter of its rows:
// 0.90 of a plain read where one row at a time reaches 0.65 (design notes, access patterns).
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/common.hpp"

namespace ggufx {
namespace kernels {
namespace {

constexpr size_t kStreams = 4;

// One step of one row into the lanes of each column.
template <class U, unsigned Columns>
GGUFX_INLINE void add_step(typename U::Vf *lanes, const typename U::Block *b, const Act *act,
                           size_t step) {
    constexpr size_t n_chunk = 16 * U::kLanes;
    typename U::Vi sums[2][Columns]; // of 16 values each
#pragma GCC unroll 2
    for (unsigned i = 0; i < 2; i++) {
        typename U::V8 codes[4];
        U::load_u8(codes, b, i);
#pragma GCC unroll 3
        for (unsigned c = 0; c < Columns; c++) {
            const int8_t *q = act[c].q + (2 * step + i) * n_chunk;
            sums[i][c] = U::template group_sums<U>(codes, q);
        }
    }
    const typename U::Scales s = U::load_scales(b);
#pragma GCC unroll 3
    for (unsigned c = 0; c < Columns; c++) {
        const size_t first = step * U::kLanes; // block
        const auto t = U::fold(s, sums[0][c], sums[1][c], act[c].s16 + 2 * first);
        lanes[c] = U::fma(U::to_float(t), U::mul(s.d, U::load(act[c].d + first)), lanes[c]);
        if constexpr (U::kMins == fmt::Mins::kInteger && U::kGroup == 16) {
            const auto m = U::to_float(U::madd16(s.sum16, act[c].s16 + 2 * first));
            lanes[c] = U::fnma(m, U::mul(s.dmin, U::load(act[c].d + first)), lanes[c]);
        } else if constexpr (U::kMins == fmt::Mins::kInteger) {
            lanes[c] = U::fnma(s.min, U::mul(s.dmin, U::load(act[c].s + first)), lanes[c]);
        } else if constexpr (U::kMins == fmt::Mins::kFloat) {
            lanes[c] = U::fma(s.min, U::load(act[c].s + first), lanes[c]);
        }
    }
}

// Rows `row`, row + far, ... of Streams streams, all columns.
template <class U, unsigned Streams, unsigned Columns>
GGUFX_INLINE void matvec_rows(Out y, const Rows &w, const Act *act, size_t row, size_t far,
                              Tail<U> &tail) {
    constexpr unsigned n_parts = 16 / U::kLanes; // vectors per sixteen lanes
    const size_t n_steps = w.k / kStepValues<U>;
    const size_t n_tail = w.k % kStepValues<U> / U::kValues; // blocks
    const uint8_t *rows[Streams];
    typename U::Vf lanes[n_parts][Streams][Columns];
#pragma GCC unroll 4
    for (unsigned s = 0; s < Streams; s++) {
        rows[s] = w.data + (row + s * far) * w.stride;
#pragma GCC unroll 4
        for (unsigned p = 0; p < n_parts; p++)
            for (unsigned c = 0; c < Columns; c++) lanes[p][s][c] = U::zero();
    }
    size_t step = 0;
    for (; step + n_parts <= n_steps; step += n_parts) {
#pragma GCC unroll 4
        for (unsigned p = 0; p < n_parts; p++) {
#pragma GCC unroll 4
            for (unsigned s = 0; s < Streams; s++) {
                const uint8_t *at = rows[s] + (step + p) * kStepBytes<U>;
                prefetch<kStepBytes<U>>(at);
                add_step<U, Columns>(lanes[p][s], blocks_at<U>(at), act, step + p);
            }
        }
    }
#pragma GCC unroll 4
    for (unsigned p = 0; p < n_parts; p++, step++) {
        if (step > n_steps || (step == n_steps && n_tail == 0)) break;
        for (unsigned s = 0; s < Streams; s++) {
            const uint8_t *at = rows[s] + step * kStepBytes<U>;
            const auto *b = step < n_steps ? blocks_at<U>(at) : tail.fill(at, n_tail);
            add_step<U, Columns>(lanes[p][s], b, act, step);
        }
    }
#pragma GCC unroll 4
    for (unsigned s = 0; s < Streams; s++) {
#pragma GCC unroll 3
        for (unsigned c = 0; c < Columns; c++) {
            typename U::Vf all[n_parts];
#pragma GCC unroll 4
            for (unsigned p = 0; p < n_parts; p++) all[p] = lanes[p][s][c];
            y.y[c * y.ld + row + s * far] = finish(U::tree(all));
        }
    }
}

template <class U, unsigned Columns> void matvec_columns(Out y, Rows w, const Act *act) {
    Tail<U> tail;
    const size_t far = w.n / kStreams;
    for (size_t r = 0; r < far; r++) { matvec_rows<U, kStreams, Columns>(y, w, act, r, far, tail); }
    for (size_t r = kStreams * far; r < w.n; r++) {
        matvec_rows<U, 1, Columns>(y, w, act, r, 0, tail);
    }
}

template <class U> void matvec(Out y, Rows w, const Act *act, size_t n) {
    if (n == 1) matvec_columns<U, 1>(y, w, act);
    if (n == 2) matvec_columns<U, 2>(y, w, act);
    if (n == 3) matvec_columns<U, 3>(y, w, act);
}

} // namespace
} // namespace kernels
} // namespace ggufx
