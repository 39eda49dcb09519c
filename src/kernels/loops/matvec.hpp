// Row-wise products (n = 1..8 columns) with activations in one or two planes of int8 (C2, C5):
// group sums in integers, sixteen f32 lanes per row, lane i = block i % 16. A task reads four
// distant streams, each a contiguous quarter of its rows: 0.90 of the bandwidth of a plain read;
// one row at a time reaches 0.65.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/pack_act.hpp"

namespace ggufx::kernels {
namespace {

// Sixteen lanes per column of a row, in memory.
template <class U> struct RowLanes { typename U::Vf of[kRowColumns][16 / U::kLanes]; };

// Combines integers of the planes, plane(0) and plane(1), to those of the whole activations: all
// are linear. Modulo 2^32, so that only the result has to fit.
template <class U, class F> GGUFX_INLINE typename U::Vi whole(const F &plane) {
    if constexpr (U::kPlanes == 1)
        return plane(0);
    else
        return U::add_i(U::template shift_left<7>(plane(0)), plane(1));
}

// Sums of 16 values of both chunks of a step, per plane.
template <class U> using StepSums = typename U::Vi[U::kPlanes][2];

// Support for rows that end within a step. The blocks after the end belong to other rows. Their
// scales may be infinite while the activations are zeros, so these scales are zeroed too. (Only
// sets whose registers are compiler vectors.)
template <class U>
constexpr bool kEndsInPlace = !U::kScalePerGroup && requires(typename U::Vf v, typename U::Vi i) {
    (typename U::Vf)((typename U::Vi)v & i);
};
template <class U> constexpr unsigned lane_of_block(unsigned b) {
    if constexpr (requires { U::lane_of_block(b); }) return U::lane_of_block(b);
    return b;
}
struct NoEnd {
    static GGUFX_INLINE void cut(const auto &) {}
};
template <class U, bool InPlace = kEndsInPlace<U>> struct RowEnd : NoEnd {
    explicit RowEnd(size_t) {}
};
template <class U> struct RowEnd<U, true> {
    alignas(64) int32_t mask[16] = {};

    explicit RowEnd(size_t n_blocks) {
        for (unsigned b = 0; b < n_blocks; b++) mask[lane_of_block<U>(b)] = -1;
    }
    GGUFX_INLINE void keep(typename U::Vf &v) const {
        v = (typename U::Vf)((typename U::Vi)v & U::load_i(mask));
    }
    GGUFX_INLINE void cut(typename U::Scales &s) const {
        keep(s.d);
        if constexpr (U::kMins == fmt::Mins::kInteger) keep(s.dmin);
        if constexpr (U::kMins == fmt::Mins::kFloat) keep(s.min);
    }
};

// Adds the blocks of a step (C2).
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

// Adds chunk i of the step of a type with a scale per group (C2).
template <class U>
GGUFX_INLINE void add_groups(typename U::Vf &lane, const typename U::Scales &s,
                             const StepSums<U> &u, const Act &act, size_t step, unsigned i) {
    const size_t first = (2 * step + i) * U::kLanes; // group
    const auto t = whole<U>([&](unsigned p) __attribute__((always_inline)) {
        return U::fold_groups(u[p][i], plane_sums(act, p) + first);
    });
    lane = U::fma(U::to_float(t), U::mul(s.chunk[i], U::load_pairs(act.d + first / 2)), lane);
}

// Adds the sums of a step of a row to vector `part` of the sixteen lanes of a column.
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

// Codes of a chunk of a step, or of the whole step if blocks are in lanes.
template <class U> constexpr unsigned kChunks = U::kInLanes ? 1 : 2;
template <class U> using ChunkCodes = typename U::V8[U::kInLanes ? 8 : 4];

template <class U>
GGUFX_INLINE void load_chunk(ChunkCodes<U> &codes, const typename U::Step &b, unsigned i) {
    if constexpr (U::kInLanes)
        U::load_lanes(codes, b);
    else
        U::load_u8(codes, b, i);
}
template <class U>
GGUFX_INLINE void sum_chunk(StepSums<U> &sums, const ChunkCodes<U> &codes, const Act &act,
                            size_t step, unsigned i) {
    if constexpr (U::kInLanes) {
        U::sum_lanes(sums[0], codes, act.q + step * 32 * U::kLanes);
        U::take_offsets(sums[0], act, step);
    } else {
#pragma GCC unroll 2
        for (unsigned p = 0; p < U::kPlanes; p++) {
            const int8_t *q = plane_codes(act, p) + (2 * step + i) * 16 * U::kLanes;
            sums[p][i] = U::template group_sums<U>(codes, q);
        }
    }
}

// Adds one step of N rows with blocks b and n columns (One: a single column). Weights are unpacked
// once, and each load of a column serves all N rows. Each operation runs for all N rows before the
// next one, so that their dependency chains overlap.
template <class U, unsigned N, bool One, class End>
GGUFX_INLINE void add_step(RowLanes<U> *lanes, const typename U::Step *b, const Act *act, size_t n,
                           size_t step, const End &end) {
    ChunkCodes<U> codes[kChunks<U>][N];
    typename U::Scales scales[N];
    StepSums<U> sums[N];
    const auto sum = [&](const Act &column, unsigned i) __attribute__((always_inline)) {
#pragma GCC unroll 4
        for (unsigned s = 0; s < N; s++) sum_chunk<U>(sums[s], codes[i][s], column, step, i);
    };
#pragma GCC unroll 2
    for (unsigned i = 0; i < kChunks<U>; i++) {
#pragma GCC unroll 4
        for (unsigned s = 0; s < N; s++) load_chunk<U>(codes[i][s], b[s], i);
        if constexpr (One) sum(act[0], i);
    }
    const auto load_scales = [&](unsigned s) __attribute__((always_inline)) {
        scales[s] = U::load_scales(b[s]);
        end.cut(scales[s]);
    };
    const auto add = [&](unsigned s, size_t c) __attribute__((always_inline)) {
        add_sums<U>(lanes[s].of[c], step % (16 / U::kLanes), scales[s], sums[s], act[c], step);
    };
    if constexpr (One) { // scales of four rows at once exceed the registers
#pragma GCC unroll 4
        for (unsigned s = 0; s < N; s++) {
            load_scales(s);
            add(s, 0);
        }
        return;
    }
#pragma GCC unroll 4
    for (unsigned s = 0; s < N; s++) load_scales(s);
#pragma GCC unroll 1
    for (size_t c = 0; c < n; c++) {
#pragma GCC unroll 2
        for (unsigned i = 0; i < kChunks<U>; i++) sum(act[c], i);
#pragma GCC unroll 4
        for (unsigned s = 0; s < N; s++) add(s, c);
    }
}

// Rows that are processed together: `row`, row + far, ...
struct Strip {
    size_t row, far, n_streams;
    const uint8_t *at(const Rows &w, size_t s) const { return w.data + (row + s * far) * w.stride; }
};

// Steps `step` to `n_steps` of four streams: the hot loop. For several columns, whole steps use an
// `end` that masks nothing: a mask costs little there, and a version without it would duplicate the
// code. At the end of rows, a single column uses the code of several.
template <class U, bool One, class End>
GGUFX_INLINE void run_steps(RowLanes<U> *lanes, const Rows &w, const Act *act, size_t n,
                            const Strip &strip, size_t step, size_t n_steps, const End &end) {
    constexpr unsigned n_side = !One ? U::kLanes / 8 : U::kLongChains ? kStreams : 1;
    const uint8_t *rows[kStreams];
    for (size_t s = 0; s < kStreams; s++) rows[s] = strip.at(w, s);
    for (; step < n_steps; step++) {
        typename U::Step b[kStreams];
        const uint8_t *at[kStreams];
#pragma GCC unroll 4
        for (size_t s = 0; s < kStreams; s++) {
            at[s] = rows[s] + step * kStepBytes<U>;
            U::begin(b[s], blocks_at<U>(at[s]));
        }
        prefetch_for<U, kStepBytes<U>>(w, at[0], at[1], at[2], at[3]);
        if constexpr ((One || U::kPlanes == 1) && !U::kLongSteps) {
#pragma GCC unroll 4
            for (size_t s = 0; s < kStreams; s += n_side)
                add_step<U, n_side, One>(lanes + s, b + s, act, n, step, end);
        } else { // products or grid rows dominate, and each copy has many bytes
#pragma GCC unroll 1
            for (size_t s = 0; s < kStreams; s += n_side) {
                __asm__("" : "+r"(s)); // prevents gcc from unrolling into two copies
                add_step<U, n_side, One>(lanes + s, b + s, act, n, step, end);
            }
        }
    }
}

template <class U, bool One, class End>
__attribute__((noinline)) void four_rows(RowLanes<U> *__restrict lanes, const Rows &w,
                                         const Act *act, size_t n, const Strip &strip, size_t step,
                                         size_t n_steps, const End &end) {
    run_steps<U, One>(lanes, w, act, n, strip, step, n_steps, end);
}

// Results of four rows from their lanes in registers.
template <class V, class Vf = typename V::Vf>
__attribute__((noinline)) void finish_four(float *y, size_t far, Vf a, Vf b, Vf c, Vf d) {
    float four[kStreams];
    V::tree_of_four(four, {a, b, c, d});
#pragma GCC unroll 4
    for (size_t s = 0; s < kStreams; s++) y[s * far] = finish(four[s]);
}

// Sets whose registers can hold the sums of four rows and still unpack. In memory, each addition
// waits for the store before it.
template <class U> constexpr bool kSumsInRegisters = U::kLanes == 16;

// Whole steps of a single column. Writes the results if no step is left, else the sums.
template <class U>
__attribute__((noinline)) void one_column(float *y, RowLanes<U> *lanes, const Rows &w,
                                          const Act *act, const Strip &strip) {
    RowLanes<U> sums[kStreams];
#pragma GCC unroll 4
    for (auto &row : sums) row.of[0][0] = U::zero();
    run_steps<U, true>(sums, w, act, 1, strip, 0, w.k / kStepValues<U>, NoEnd());
    if (w.k % kStepValues<U> == 0)
        return finish_four<typename U::Set>(y + strip.row, strip.far, sums[0].of[0][0],
                                            sums[1].of[0][0], sums[2].of[0][0], sums[3].of[0][0]);
#pragma GCC unroll 4
    for (size_t s = 0; s < kStreams; s++) lanes[s].of[0][0] = sums[s].of[0][0];
}

// Steps from `step` to the end of all rows, one stream after another: the rest after four streams.
// The last blocks are copied and padded with zeros.
template <class U>
__attribute__((noinline)) void other_steps(RowLanes<U> *lanes, const Rows &w, const Act *act,
                                           size_t n, const Strip &strip, size_t step) {
    const size_t n_steps = w.k / kStepValues<U>;
    const size_t n_tail = w.k % kStepValues<U> / U::kValues; // blocks
    Tail<U> tail;
    for (; step < n_steps + (n_tail != 0); step++) {
#pragma GCC unroll 1
        for (size_t s = 0; s < strip.n_streams; s++) {
            const uint8_t *at = strip.at(w, s) + step * kStepBytes<U>;
            prefetch_for<U, kStepBytes<U>>(w, at);
            typename U::Step b;
            U::begin(b, step < n_steps ? blocks_at<U>(at) : tail.fill(at, n_tail));
            add_step<U, 1, false>(lanes + s, &b, act, n, step, NoEnd());
        }
    }
}

// Runs all steps of four streams whose blocks can be read in place, so none that ends after the
// last row. Returns their number.
template <class U>
GGUFX_INLINE size_t steps_of_four(float *y, RowLanes<U> *lanes, const Rows &w, const Act *act,
                                  size_t n, const Strip &strip) {
    const size_t n_steps = w.k / kStepValues<U>, n_tail = w.k % kStepValues<U> / 32;
    if (n > 1)
        four_rows<U, false>(lanes, w, act, n, strip, 0, n_steps, RowEnd<U>(U::kLanes));
    else if constexpr (kSumsInRegisters<U>)
        one_column<U>(y, lanes, w, act, strip);
    else
        four_rows<U, true>(lanes, w, act, n, strip, 0, n_steps, NoEnd());
    if (!kEndsInPlace<U> || n_tail == 0) return n_steps;
    const size_t left = (place_of(w, w.n - 1) - strip.row - 3 * strip.far) * w.stride +
                        w.k / U::kValues * sizeof(typename U::Block); // from the fourth row on
    if ((n_steps + 1) * kStepBytes < U >> left) return n_steps;
    four_rows<U, false>(lanes, w, act, n, strip, n_steps, n_steps + 1, RowEnd<U>(n_tail));
    return n_steps + 1;
}

template <class U>
void rows_of_strip(Out y, const Rows &w, const Act *act, size_t n, const Strip &strip) {
    RowLanes<U> lanes[kStreams];
    if constexpr (kSumsInRegisters<U>) {
        if (n == 1 && strip.n_streams == kStreams && w.k % kStepValues<U> == 0)
            return one_column<U>(y.y, lanes, w, act, strip);
    }
#pragma GCC unroll 1
    for (size_t s = 0; s < strip.n_streams; s++) {
        __builtin_memset(lanes[s].of, 0, sizeof lanes[s].of[0]); // without a call
        if (n > 1) __builtin_memset(lanes[s].of + 1, 0, (n - 1) * sizeof lanes[s].of[0]);
    }
    size_t step = 0;
    if (strip.n_streams == kStreams) step = steps_of_four<U>(y.y, lanes, w, act, n, strip);
    if (step * kStepValues<U> < w.k) other_steps<U>(lanes, w, act, n, strip, step);
#pragma GCC unroll 1
    for (size_t s = 0; s < strip.n_streams; s++) {
#pragma GCC unroll 1
        for (size_t c = 0; c < n; c++)
            y.y[c * y.ld + strip.row + s * strip.far] = finish(U::tree(lanes[s].of[c]));
    }
}

// Runs four distant streams, then the remaining rows.
using StripFn = void (*)(Out y, const Rows &w, const Act *act, size_t n, const Strip &strip);
__attribute__((noinline)) inline void each_strip(Out y, const Rows &w, const Act *act, size_t n,
                                                 StripFn run) {
    const size_t n_strips = w.n / kStreams, far = w.far ? w.far : n_strips;
    for (size_t r = 0; r < n_strips; r++) run(y, w, act, n, {r, far, kStreams});
    for (size_t r = kStreams * n_strips; r < w.n; r++) run(y, w, act, n, {r, 0, 1});
}

template <class U> void matvec(Out y, Rows w, const Act *act, size_t n) {
    each_strip(y, w, act, n, rows_of_strip<U>);
}

} // namespace
} // namespace ggufx::kernels
