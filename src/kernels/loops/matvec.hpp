// n = 1..3 columns of activations in one or two planes of int8 (C2, C5): group sums in integers,
// sixteen f32 lanes per row, lane i = block i % 16. A task runs four far streams, each a
// contiguous quarter of its rows: 0.90 of a plain read where one row at a time reaches 0.65 (design notes, access patterns).
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/pack_act.hpp"

namespace ggufx {
namespace kernels {
namespace {

constexpr size_t kStreams = 4;

// Lanes of rows: vectors per sixteen lanes, streams, columns.
template <class U, unsigned Streams, unsigned Columns>
using Lanes = typename U::Vf[16 / U::kLanes][Streams][Columns];

// An integer of the whole activations from those of the planes, plane(0) and plane(1): all of them
// are linear. Modulo 2^32, so that only the whole has to fit.
template <class U, class F> GGUFX_INLINE typename U::Vi whole(const F &plane) {
    if constexpr (U::kPlanes == 1)
        return plane(0);
    else
        return U::add_i(U::template shift_left<7>(plane(0)), plane(1));
}

// Sums of 16 values of both chunks of a step, per plane.
template <class U> using StepSums = typename U::Vi[U::kPlanes][2];

// C2 of the blocks of a step.
template <class U>
GGUFX_INLINE void add_blocks(typename U::Vf &lane, const typename U::Scales &s,
                             const StepSums<U> &u, const Act &act, size_t step) {
    const size_t first = step * U::kLanes; // block
    const auto t = whole<U>([&](unsigned p) __attribute__((always_inline)) {
        return U::fold(s, u[p][0], u[p][1], plane_sums(act, p) + 2 * first);
    });
    lane = U::fma(U::to_float(t), U::mul(s.d, U::load(act.d + first)), lane);
    if constexpr (U::kMins == fmt::Mins::kInteger && U::kGroup == 16) {
        const auto m = whole<U>([&](unsigned p) __attribute__((always_inline)) {
            return U::madd16(s.sum16, plane_sums(act, p) + 2 * first);
        });
        lane = U::fnma(U::to_float(m), U::mul(s.dmin, U::load(act.d + first)), lane);
    } else if constexpr (U::kMins == fmt::Mins::kInteger) {
        lane = U::fnma(s.min, U::mul(s.dmin, U::load(act.s + first)), lane);
    } else if constexpr (U::kMins == fmt::Mins::kFloat) {
        lane = U::fma(s.min, U::load(act.s + first), lane);
    }
}

// C2 of a type whose lanes count groups: chunk i of the step.
template <class U>
GGUFX_INLINE void add_groups(typename U::Vf &lane, const typename U::Scales &s,
                             const StepSums<U> &u, const Act &act, size_t step, unsigned i) {
    const size_t first = (2 * step + i) * U::kLanes; // group
    const auto t = whole<U>([&](unsigned p) __attribute__((always_inline)) {
        return U::fold_groups(u[p][i], plane_sums(act, p) + first);
    });
    lane = U::fma(U::to_float(t), U::mul(s.chunk[i], U::load_pairs(act.d + first / 2)), lane);
}

// One step of N streams from `first` on, b their blocks, into vector `part` of the lanes of each
// column. What is done is done for all N before the next thing, so that their chains of
// dependent instructions stand side by side.
template <class U, unsigned N, unsigned Streams, unsigned Columns>
GGUFX_INLINE void add_step(Lanes<U, Streams, Columns> &lanes, unsigned part, unsigned first,
                           const typename U::Block *const *b, const Act *act, size_t step) {
    constexpr size_t n_chunk = 16 * U::kLanes;
    StepSums<U> sums[N][Columns];
#pragma GCC unroll 2
    for (unsigned i = 0; i < 2; i++) {
        typename U::V8 codes[N][4];
#pragma GCC unroll 4
        for (unsigned s = 0; s < N; s++) U::load_u8(codes[s], b[s], i);
#pragma GCC unroll 4
        for (unsigned s = 0; s < N; s++) {
#pragma GCC unroll 3
            for (unsigned c = 0; c < Columns; c++) {
#pragma GCC unroll 2
                for (unsigned p = 0; p < U::kPlanes; p++) {
                    const int8_t *q = plane_codes(act[c], p) + (2 * step + i) * n_chunk;
                    sums[s][c][p][i] = U::template group_sums<U>(codes[s], q);
                }
            }
        }
    }
#pragma GCC unroll 4
    for (unsigned s = 0; s < N; s++) {
        const typename U::Scales scales = U::load_scales(b[s]);
#pragma GCC unroll 3
        for (unsigned c = 0; c < Columns; c++) {
            const auto &u = sums[s][c];
            auto &lane = lanes[U::kScalePerGroup ? 0 : part][first + s][c];
            if constexpr (U::kScalePerGroup) { // chunk 1 fills the next vector, if there is one
                auto &next = lanes[16 / U::kLanes - 1][first + s][c];
                add_groups<U>(lane, scales, u, act[c], step, 0);
                add_groups<U>(next, scales, u, act[c], step, 1);
            } else {
                add_blocks<U>(lane, scales, u, act[c], step);
            }
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
    Lanes<U, Streams, Columns> lanes;
#pragma GCC unroll 4
    for (unsigned s = 0; s < Streams; s++) {
        rows[s] = w.data + (row + s * far) * w.stride;
#pragma GCC unroll 4
        for (unsigned p = 0; p < n_parts; p++)
            for (unsigned c = 0; c < Columns; c++) lanes[p][s][c] = U::zero();
    }
    size_t step = 0;
    for (; Streams > 1 && step + n_parts <= n_steps; step += n_parts) {
#pragma GCC unroll 4
        for (unsigned p = 0; p < n_parts; p++) {
            const typename U::Block *b[Streams];
#pragma GCC unroll 4
            for (unsigned s = 0; s < Streams; s++) {
                const uint8_t *at = rows[s] + (step + p) * kStepBytes<U>;
                b[s] = blocks_at<U>(at);
                prefetch<kStepBytes<U>>(at);
            }
            constexpr unsigned n_side = U::kLongChains ? Streams : 1;
#pragma GCC unroll 4
            for (unsigned s = 0; s < Streams; s += n_side) {
                add_step<U, n_side, Streams, Columns>(lanes, p, s, b + s, act, step + p);
            }
        }
    }
    // The rest is a loop over lanes in memory: unrolled it would double the code.
    Lanes<U, Streams, Columns> rest;
    __builtin_memcpy(&rest, &lanes, sizeof rest);
#pragma GCC unroll 1
    for (; step < n_steps + (n_tail != 0); step++) {
#pragma GCC unroll 1
        for (unsigned s = 0; s < Streams; s++) {
            const uint8_t *at = rows[s] + step * kStepBytes<U>;
            const auto *b = step < n_steps ? blocks_at<U>(at) : tail.fill(at, n_tail);
            add_step<U, 1, Streams, Columns>(rest, step % n_parts, s, &b, act, step);
        }
    }
#pragma GCC unroll 4
    for (unsigned s = 0; s < Streams; s++) {
#pragma GCC unroll 3
        for (unsigned c = 0; c < Columns; c++) {
            typename U::Vf all[n_parts];
#pragma GCC unroll 4
            for (unsigned p = 0; p < n_parts; p++) all[p] = rest[p][s][c];
            y.y[c * y.ld + row + s * far] = finish(U::tree(all));
        }
    }
}

// n columns, Columns of them at a time while their rows are in the first cache.
template <class U, unsigned Columns>
void matvec_columns(Out y, Rows w, const Act *act, size_t n) {
    Tail<U> tail;
    const size_t far = w.n / kStreams;
    for (size_t r = 0; r < far; r++) {
        for (size_t c = 0; c < n; c += Columns) {
            const Out to = {y.y + c * y.ld, y.ld};
            matvec_rows<U, kStreams, Columns>(to, w, act + c, r, far, tail);
        }
    }
    for (size_t r = kStreams * far; r < w.n; r++) {
        for (size_t c = 0; c < n; c += Columns) {
            matvec_rows<U, 1, Columns>({y.y + c * y.ld, y.ld}, w, act + c, r, 0, tail);
        }
    }
}

template <class U> void matvec(Out y, Rows w, const Act *act, size_t n) {
    // two planes: a template for 2 and for 3 columns saved 20 % there and took minutes to compile
    if (n == 1 || U::kPlanes == 2) return matvec_columns<U, 1>(y, w, act, n);
    if constexpr (U::kPlanes == 1) {
        if (n == 2) return matvec_columns<U, 2>(y, w, act, n);
        matvec_columns<U, 3>(y, w, act, n);
    }
}

} // namespace
} // namespace kernels
} // namespace ggufx
