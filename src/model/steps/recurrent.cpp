// A layer's steps of one batch share what StateCache gives: the convolution comes first and leaves
// its tail, the state's step follows.
// SPDX-License-Identifier: MIT
#include "model/steps/recurrent.hpp"

#include "model/rows.hpp"

#include <math.h>
#include <string.h>

namespace ggufx::model {

namespace {

constexpr uint32_t kMaxTaps = 8;

// Row i of what came before this batch and its tokens: tail rows have i < tail.
struct Inputs {
    const float *tail;
    size_t n_tail, width;
    const Context &c;
    const View &in;
    const float *row(size_t i) const {
        return i < n_tail ? tail + i * width : c.at(in, i - n_tail);
    }
};

} // namespace

Status run(const Context &c, const step::Conv &s, Failure *failure) {
    const state::Step memory = c.states->step(s.state, c.sequence);
    const Inputs inputs = {memory.tail_in, s.taps - 1u, s.in.width, c, s.in};
    const float *w = c.program.vector(s.w), *b = c.program.vector(s.b);
    const Status status = for_rows(c.host(), c.n, size_t{s.taps} * s.in.width, [&](size_t row) {
        const float *taps[kMaxTaps];
        for (uint32_t j = 0; j < s.taps; j++) taps[j] = inputs.row(row + j);
        float *out = c.at(s.out, row);
        c.rows.conv(out, taps, w, b, s.taps, s.in.width);
        if (s.activate) c.rows.silu(out, nullptr, s.in.width);
    });
    if (status != Status::ok) return executor_failed(status, failure);
    // Ascending: tail_out may be tail_in.
    for (size_t i = 0; i + 1 < s.taps; i++)
        memmove(memory.tail_out + i * s.in.width, inputs.row(i + c.n), s.in.width * sizeof(float));
    *c.memory = memory;
    return Status::ok;
}

// A task has some rows of a head's matrix and runs over all tokens.
Status run(const Context &c, const step::Delta &s, Failure *failure) {
    const state::Step memory = *c.memory;
    const size_t n = s.values, matrix = n * n;
    constexpr size_t kRows = 16;
    const size_t cuts = (n + kRows - 1) / kRows;
    const float scale = static_cast<float>(1.0 / sqrt(static_cast<double>(n)));
    const Status status = for_rows(c.host(), s.heads * cuts, c.n * kRows * n * 4, [&](size_t task) {
        const size_t head = task / cuts, first = task % cuts * kRows;
        const size_t count = n - first < kRows ? n - first : kRows;
        const size_t key = s.interleaved ? head % s.key_heads : head / (s.heads / s.key_heads);
        const size_t at = head * matrix + first * n;
        float *m = memory.state_out + at;
        if (m != memory.state_in + at) memcpy(m, memory.state_in + at, count * n * sizeof(float));
        for (size_t row = 0; row < c.n; row++) {
            const kernels::DeltaStep numbers = {c.at(s.decay, row)[head], c.at(s.beta, row)[head],
                                                scale};
            c.rows.delta(c.at(s.out, row) + head * n + first, m, c.at(s.k, row) + key * n,
                         c.at(s.q, row) + key * n, c.at(s.v, row) + head * n + first, numbers,
                         count, n);
        }
    });
    return executor_failed(status, failure);
}

} // namespace ggufx::model
