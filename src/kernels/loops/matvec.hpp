// n = 1..3 columns of activations in one or two planes of int8 (C2, C5): group sums in integers,
// sixteen f32 lanes per row, lane i = block i % 16. A task runs four far streams, each a
// contiguous quarter of its rows: 0.90 of a plain read, where one row at a time reaches 0.65.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/pack_act.hpp"

namespace ggufx::kernels {
namespace {

constexpr size_t kStreams = 4, kMaxColumns = 3;

// Sixteen lanes of a row per column, in memory.
template <class U> struct RowLanes { typename U::Vf of[kMaxColumns][16 / U::kLanes]; };

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

// The sums of a step of a row into vector `part` of the sixteen lanes of a column.
template <class U, size_t Parts>
GGUFX_INLINE void add_sums(typename U::Vf (&lanes)[Parts], size_t part,
                           const typename U::Scales &scales, const StepSums<U> &sums,
                           const Act &act, size_t step) {
    if constexpr (U::kScalePerGroup) { // chunk 1 fills the next vector, if there is one
        add_groups<U>(lanes[0], scales, sums, act, step, 0);
        add_groups<U>(lanes[Parts - 1], scales, sums, act, step, 1);
    } else {
        add_blocks<U>(lanes[part], scales, sums, act, step);
    }
}

// Sums of chunk i of a step whose codes are given.
template <class U>
GGUFX_INLINE void sum_chunk(StepSums<U> &sums, const typename U::V8 (&codes)[4], const Act &act,
                            size_t step, unsigned i) {
#pragma GCC unroll 2
    for (unsigned p = 0; p < U::kPlanes; p++) {
        const int8_t *q = plane_codes(act, p) + (2 * step + i) * 16 * U::kLanes;
        sums[p][i] = U::template group_sums<U>(codes, q);
    }
}

// The same of a whole step whose blocks stand in lanes.
template <class U>
GGUFX_INLINE void sum_step(StepSums<U> &sums, const typename U::Vi (&codes)[8], const Act &act,
                           size_t step) {
    U::sum_lanes(sums[0], codes, act.q + step * 32 * U::kLanes);
    U::take_offsets(sums[0], act, step);
}

// One step of N streams, b their blocks, all columns. What is done is done for all N before the
// next thing, so that their chains of dependent instructions stand side by side.
template <class U, unsigned N, size_t Columns>
GGUFX_INLINE void add_step(RowLanes<U> *lanes, const typename U::Step *b, const Act *act,
                           size_t step) {
    StepSums<U> sums[N][Columns];
    if constexpr (U::kInLanes) {
#pragma GCC unroll 4
        for (unsigned s = 0; s < N; s++) {
            typename U::Vi codes[8];
            U::load_lanes(codes, b[s]);
#pragma GCC unroll 2
            for (unsigned c = 0; c < Columns; c++) sum_step<U>(sums[s][c], codes, act[c], step);
        }
    } else {
#pragma GCC unroll 2
        for (unsigned i = 0; i < 2; i++) {
            typename U::V8 codes[N][4];
#pragma GCC unroll 4
            for (unsigned s = 0; s < N; s++) U::load_u8(codes[s], b[s], i);
#pragma GCC unroll 4
            for (unsigned s = 0; s < N; s++)
#pragma GCC unroll 2
                for (unsigned c = 0; c < Columns; c++) {
                    sum_chunk<U>(sums[s][c], codes[s], act[c], step, i);
                }
        }
    }
#pragma GCC unroll 4
    for (unsigned s = 0; s < N; s++) {
        const typename U::Scales scales = U::load_scales(b[s]);
#pragma GCC unroll 2
        for (unsigned c = 0; c < Columns; c++) {
            add_sums<U>(lanes[s].of[c], step % (16 / U::kLanes), scales, sums[s][c], act[c], step);
        }
    }
}

// One step of a row, n columns.
template <class U>
GGUFX_INLINE void add_step_columns(RowLanes<U> &lanes, const typename U::Step &b, const Act *act,
                                   size_t n, size_t step) {
    const typename U::Scales scales = U::load_scales(b);
    const auto each_column = [&](const auto &sum) __attribute__((always_inline)) {
#pragma GCC unroll 1
        for (size_t c = 0; c < n; c++) {
            StepSums<U> sums;
            sum(sums, act[c]);
            add_sums<U>(lanes.of[c], step % (16 / U::kLanes), scales, sums, act[c], step);
        }
    };
    if constexpr (U::kInLanes) {
        typename U::Vi codes[8];
        U::load_lanes(codes, b);
        each_column([&](StepSums<U> & sums, const Act &column)
                        __attribute__((always_inline)) { sum_step<U>(sums, codes, column, step); });
    } else {
        typename U::V8 codes[2][4];
        U::load_u8(codes[0], b, 0);
        U::load_u8(codes[1], b, 1);
        each_column([&](StepSums<U> & sums, const Act &column) __attribute__((always_inline)) {
            sum_chunk<U>(sums, codes[0], column, step, 0);
            sum_chunk<U>(sums, codes[1], column, step, 1);
        });
    }
}

// Rows that are worked on together: `row`, row + far, ...
struct Strip {
    size_t row, far, n_streams;
    const uint8_t *at(const Rows &w, size_t s) const { return w.data + (row + s * far) * w.stride; }
};

// Whole steps of four streams: the loop that has to be fast. Returns how many.
template <class U, size_t Columns>
GGUFX_INLINE size_t four_rows(RowLanes<U> *lanes, const Rows &w, const Act *act,
                              const Strip &strip) {
    constexpr unsigned n_side = U::kLongChains ? kStreams : 1;
    const size_t n_steps = w.k / kStepValues<U>;
    const uint8_t *rows[kStreams];
    for (size_t s = 0; s < kStreams; s++) rows[s] = strip.at(w, s);
    for (size_t step = 0; step < n_steps; step++) {
        typename U::Step b[kStreams];
#pragma GCC unroll 4
        for (size_t s = 0; s < kStreams; s++) {
            const uint8_t *at = rows[s] + step * kStepBytes<U>;
            U::begin(b[s], blocks_at<U>(at));
            prefetch_for<U, kStepBytes<U>>(w, at);
        }
#pragma GCC unroll 4
        for (size_t s = 0; s < kStreams; s += n_side) {
            add_step<U, n_side, Columns>(lanes + s, b + s, act, step);
        }
    }
    return n_steps;
}

// Steps from `step` to the end of all rows, one stream after another: what four_rows() leaves
// over, and everything where it is not worth its code.
template <class U>
GGUFX_INLINE void other_steps(RowLanes<U> *lanes, const Rows &w, const Act *act, size_t n,
                              const Strip &strip, size_t step) {
    const size_t n_steps = w.k / kStepValues<U>;
    const size_t n_tail = w.k % kStepValues<U> / U::kValues; // blocks
    const uint8_t *rows[kStreams];
    for (size_t s = 0; s < strip.n_streams; s++) rows[s] = strip.at(w, s);
    Tail<U> tail;
    for (; step < n_steps + (n_tail != 0); step++) {
#pragma GCC unroll 1
        for (size_t s = 0; s < strip.n_streams; s++) {
            const uint8_t *at = rows[s] + step * kStepBytes<U>;
            prefetch<kStepBytes<U>>(at);
            typename U::Step b;
            U::begin(b, step < n_steps ? blocks_at<U>(at) : tail.fill(at, n_tail));
            add_step_columns<U>(lanes[s], b, act, n, step);
        }
    }
}

// How many columns have a loop of their own. Three go through other_steps(), which unpacks them
// once: 5 to 25 % faster than two and one. Two took 5 to 20 % longer there.
#ifdef GGUFX_SMALL
template <class U> constexpr size_t kOwnLoops = U::kPlanes == 1 ? 1 : 0;
#else
template <class U> constexpr size_t kOwnLoops = U::kPlanes == 1 ? 2 : 1;
#endif

template <class U>
void rows_of_strip(Out y, const Rows &w, const Act *act, size_t n, const Strip &strip) {
    RowLanes<U> lanes[kStreams];
#pragma GCC unroll 1
    for (size_t s = 0; s < strip.n_streams; s++) {
        __builtin_memset(lanes[s].of, 0, n * sizeof lanes[s].of[0]);
    }
    size_t step = 0;
    if constexpr (kOwnLoops<U> >= 1) {
        if (n == 1 && strip.n_streams == kStreams) step = four_rows<U, 1>(lanes, w, act, strip);
    }
    if constexpr (kOwnLoops<U> >= 2) {
        if (n == 2 && strip.n_streams == kStreams) step = four_rows<U, 2>(lanes, w, act, strip);
    }
    other_steps<U>(lanes, w, act, n, strip, step);
#pragma GCC unroll 1
    for (size_t s = 0; s < strip.n_streams; s++) {
#pragma GCC unroll 1
        for (size_t c = 0; c < n; c++) {
            y.y[c * y.ld + strip.row + s * strip.far] = finish(U::tree(lanes[s].of[c]));
        }
    }
}

// Four far streams, then the rows that are left over.
using StripFn = void (*)(Out y, const Rows &w, const Act *act, size_t n, const Strip &strip);
__attribute__((noinline)) inline void each_strip(Out y, const Rows &w, const Act *act, size_t n,
                                                 StripFn run) {
    const size_t far = w.n / kStreams;
    for (size_t r = 0; r < far; r++) run(y, w, act, n, {r, far, kStreams});
    for (size_t r = kStreams * far; r < w.n; r++) run(y, w, act, n, {r, 0, 1});
}

template <class U> void matvec(Out y, Rows w, const Act *act, size_t n) {
    each_strip(y, w, act, n, rows_of_strip<U>);
}

} // namespace
} // namespace ggufx::kernels
