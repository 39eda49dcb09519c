// A layer's steps of one batch share what StateCache gives: the convolution comes first and leaves
// its tail, the state's step follows.
// SPDX-License-Identifier: MIT
#include "model/steps/recurrent.hpp"

#include "model/rows.hpp"

#include <math.h>
#include <string.h>

namespace ggufx::model {

namespace {

// Row i of what came before a run of tokens, and of the run: rows of the tail have i < n_tail.
struct Inputs {
    const float *tail;
    size_t n_tail, width, first;
    const Context &c;
    const View &in;
    const float *row(size_t i) const {
        return i < n_tail ? tail + i * width : c.at(in, first + i - n_tail);
    }
};

// Ascending: tail_out may be tail_in.
void keep_tail(const Inputs &inputs, float *tail_out, size_t n) {
    for (size_t i = 0; i < inputs.n_tail; i++)
        memmove(tail_out + i * inputs.width, inputs.row(i + n), inputs.width * sizeof(float));
}

// Rows first .. first + count - 1, of n values, of the state of a run, which works on them in place.
// Between tokens that are computed again and new ones they are left where the cache wants them.
class StateRows {
public:
    StateRows(const Context &c, size_t part, size_t first, size_t count, size_t n)
        : begin(c.parts[part].row), end(begin + c.parts[part].n),
          n_bytes_(count * n * sizeof(float)) {
        const state::Step &memory = c.memory[part];
        m_ = memory.state_out + first * n;
        const float *before = memory.state_in + first * n;
        if (m_ != before) memcpy(m_, before, n_bytes_);
        kept_ = memory.state_kept ? memory.state_kept + first * n : nullptr;
        fresh_ = kept_ ? begin + c.n_again(c.parts[part]) : end;
    }
    // Of a token, before it.
    float *at(size_t row) const {
        if (row == fresh_) memcpy(kept_, m_, n_bytes_);
        return m_;
    }

    const size_t begin, end; // of the run's tokens

private:
    size_t n_bytes_, fresh_;
    float *m_, *kept_;
};

// Rows first .. first + count - 1 of the matrix of a head over the tokens of a run.
void delta_rows(const Context &c, const step::Delta &s, size_t part, size_t head, size_t first,
                size_t count) {
    const size_t n = s.values;
    const size_t key = s.interleaved ? head % s.key_heads : head / (s.heads / s.key_heads);
    const float scale = static_cast<float>(1.0 / sqrt(static_cast<double>(n)));
    const StateRows rows(c, part, head * n + first, count, n);
    for (size_t row = rows.begin; row < rows.end; row++) {
        const kernels::DeltaStep numbers = {c.at(s.decay, row)[head], c.at(s.beta, row)[head],
                                            scale};
        c.rows.delta(c.at(s.out, row) + head * n + first, rows.at(row), c.at(s.k, row) + key * n,
                     c.at(s.q, row) + key * n, c.at(s.v, row) + head * n + first, numbers, count,
                     n);
    }
}

// Values first .. first + count - 1 of a head over the tokens of a run.
void scan_rows(const Context &c, const step::Scan &s, size_t part, size_t head, size_t first,
               size_t count) {
    const size_t n = s.b.width / s.groups, at = head * (s.u.width / s.heads) + first;
    const size_t group = head / (s.heads / s.groups);
    const StateRows rows(c, part, at, count, n);
    for (size_t row = rows.begin; row < rows.end; row++)
        c.rows.scan(c.at(s.out, row) + at, rows.at(row), c.at(s.b, row) + group * n,
                    c.at(s.c, row) + group * n, c.at(s.u, row) + at, c.at(s.decay, row)[head],
                    c.at(s.dt, row)[head], count, n);
}

void scan_each_rows(const Context &c, const step::ScanEach &s, size_t part, size_t first,
                    size_t count) {
    const size_t n = s.b.width;
    const float *a = c.program.vector(s.a) + first * n;
    const StateRows rows(c, part, first, count, n);
    for (size_t row = rows.begin; row < rows.end; row++)
        c.rows.scan_each(c.at(s.out, row) + first, rows.at(row), a, c.at(s.b, row), c.at(s.c, row),
                         c.at(s.u, row) + first, c.at(s.dt, row) + first, count, n);
}

// A task has some rows of the state of a head of `rows` of n values and runs over the tokens of a
// sequence: body(part, head, first, count).
template <class Body>
Status for_states(const Context &c, size_t heads, size_t rows, size_t n, Failure *failure,
                  const Body &body) {
    constexpr size_t kRows = 16;
    const size_t cuts = (rows + kRows - 1) / kRows, per_part = heads * cuts;
    const size_t tokens = c.n / c.n_parts + 1;
    const Status status =
        for_rows(c.host(), c.n_parts * per_part, tokens * kRows * n * 4, [&](size_t task) {
            const size_t head = task % per_part / cuts, first = task % cuts * kRows;
            body(task / per_part, head, first, rows - first < kRows ? rows - first : kRows);
        });
    return executor_failed(status, failure);
}

} // namespace

Status run(const Context &c, const step::Conv &s, Failure *failure) {
    for (size_t p = 0; p < c.n_parts; p++) {
        const BatchPart &part = c.parts[p];
        const size_t again = c.n_again(part);
        const state::Take take = again == 0        ? state::Take::fresh
                                 : again == part.n ? state::Take::again
                                                   : state::Take::both;
        c.memory[p] = c.states->step(s.state, part.sequence, take);
    }
    const auto inputs = [&](size_t part) {
        return Inputs{c.memory[part].tail_in, s.taps - 1u, s.in.width, c.parts[part].row, c, s.in};
    };
    const float *w = c.program.vector(s.w), *b = c.program.vector(s.b);
    const Status status = for_rows(c.host(), c.n, size_t{s.taps} * s.in.width, [&](size_t row) {
        const size_t part = c.part_of(row);
        const Inputs in = inputs(part);
        const float *taps[kMaxTaps];
        for (uint32_t j = 0; j < s.taps; j++) taps[j] = in.row(row - in.first + j);
        float *out = c.at(s.out, row);
        c.rows.conv(out, taps, w, b, s.taps, s.in.width);
        if (s.activate) c.rows.silu(out, nullptr, s.in.width);
    });
    if (status != Status::ok) return executor_failed(status, failure);
    for (size_t p = 0; p < c.n_parts; p++) {
        keep_tail(inputs(p), c.memory[p].tail_out, c.parts[p].n);
        float *const kept = c.memory[p].tail_kept; // may be what went in: last
        if (kept) keep_tail(inputs(p), kept, c.n_again(c.parts[p]));
    }
    return Status::ok;
}

Status run(const Context &c, const step::Delta &s, Failure *failure) {
    return for_states(c, s.heads, s.values, s.values, failure,
                      [&](size_t part, size_t head, size_t first, size_t count) {
                          delta_rows(c, s, part, head, first, count);
                      });
}

Status run(const Context &c, const step::Scan &s, Failure *failure) {
    return for_states(c, s.heads, s.u.width / s.heads, s.b.width / s.groups, failure,
                      [&](size_t part, size_t head, size_t first, size_t count) {
                          scan_rows(c, s, part, head, first, count);
                      });
}

Status run(const Context &c, const step::ScanEach &s, Failure *failure) {
    return for_states(c, 1, s.u.width, s.b.width, failure,
                      [&](size_t part, size_t, size_t first, size_t count) {
                          scan_each_rows(c, s, part, first, count);
                      });
}

} // namespace ggufx::model
