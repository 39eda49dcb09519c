// A layer's operations in one batch share the steps of StateCache: the convolution comes first and
// leaves its tail, then comes the state's operation.
// SPDX-License-Identifier: MIT
#include "run/ops/recurrent.hpp"

#include "run/rows.hpp"

#include <math.h>
#include <string.h>

namespace ggufx::model {

namespace {

// Input rows of a run after the rows of its tail: rows with i < n_tail are the tail's.
struct Inputs {
    const float *tail;
    size_t n_tail, width, first;
    const Context &c;
    const View &in;
    const float *row(size_t i) const {
        return i < n_tail ? tail + i * width : c.at(in, first + i - n_tail);
    }
};

// Computes columns at .. at + n - 1 of a row.
void convolve(const Context &c, const op::Conv &s, const Inputs &in, size_t row, size_t at,
              size_t n) {
    const float *w = c.graph.vector(s.w), *b = c.graph.vector(s.b);
    const float *taps[kMaxTaps];
    for (uint32_t j = 0; j < s.taps; j++) taps[j] = in.row(row - in.first + j) + at;
    float *out = c.at(s.out, row) + at;
    c.rows.conv(out, taps, w + at, s.in.width, b ? b + at : nullptr, s.taps, n);
    if (s.activate) c.rows.silu(out, nullptr, n);
}

// Copies in ascending order: tail_out may be tail_in.
void keep_tail(const Inputs &inputs, float *tail_out, size_t n) {
    for (size_t i = 0; i < inputs.n_tail; i++)
        memmove(tail_out + i * inputs.width, inputs.row(i + n), inputs.width * sizeof(float));
}

// Rows first .. first + count - 1, of n values, of the state of a run. Between recomputed and new
// tokens the state is saved where the cache wants it.
class StateRows {
public:
    StateRows(const Context &c, size_t part, size_t first, size_t count, size_t n)
        : begin_(c.parts[part].row), end_(begin_ + c.parts[part].n),
          n_bytes_(count * n * sizeof(float)) {
        const state::Step &memory = c.memory[part];
        m_ = memory.state_out + first * n;
        before_ = memory.state_in + first * n;
        kept_ = memory.state_kept ? memory.state_kept + first * n : nullptr;
        fresh_ = kept_ ? begin_ + c.n_again(c.parts[part]) : end_;
    }
    // Calls tokens(row, n, m, before): the next n tokens, from `row` on, update the state `before`
    // to m. m may be `before`.
    template <class Tokens> void run(const Tokens &tokens) const {
        const float *before = before_;
        if (fresh_ != begin_) {
            tokens(begin_, fresh_ - begin_, m_, before);
            before = m_;
        }
        if (fresh_ == end_) return;
        if (kept_ != before) memcpy(kept_, before, n_bytes_);
        tokens(fresh_, end_ - fresh_, m_, before);
    }
    // Calls token(row, m, before) for each token.
    template <class Token> void each(const Token &token) const {
        run([&](size_t row, size_t n, float *m, const float *before) {
            for (size_t i = 0; i < n; i++, before = m) token(row + i, m, before);
        });
    }

private:
    size_t begin_, end_, fresh_, n_bytes_; // tokens of the run
    float *m_, *kept_;
    const float *before_;
};

// Updates rows first .. first + count - 1 of a head's matrix over the tokens of a run.
void delta_rows(const Context &c, const op::Delta &s, size_t part, size_t head, size_t first,
                size_t count) {
    const size_t n = s.values;
    const size_t key = s.interleaved ? head % s.key_heads : head / (s.heads / s.key_heads);
    const float scale = static_cast<float>(1.0 / sqrt(static_cast<double>(n)));
    const auto of = [&c](const View &v, size_t row, size_t at) -> kernels::OfTokens {
        return {c.at(v, row) + at, c.stride(v)};
    };
    const StateRows rows(c, part, head * n + first, count, n);
    rows.run([&](size_t row, size_t n_tokens, float *m, const float *before) {
        const size_t at = head * n + first;
        const kernels::DeltaRun run = {n_tokens,
                                       of(s.k, row, key * n),
                                       of(s.q, row, key * n),
                                       of(s.v, row, at),
                                       of(s.decay, row, head),
                                       of(s.beta, row, head),
                                       scale,
                                       c.at(s.out, row) + at,
                                       c.stride(s.out)};
        c.rows.delta(run, m, before, count, n);
    });
}

// Updates values first .. first + count - 1 of a head over the tokens of a run.
void scan_rows(const Context &c, const op::Scan &s, size_t part, size_t head, size_t first,
               size_t count) {
    const size_t n = s.b.width / s.groups, at = head * (s.u.width / s.heads) + first;
    const size_t group = head / (s.heads / s.groups);
    const StateRows rows(c, part, at, count, n);
    rows.each([&](size_t row, float *m, const float *before) {
        c.rows.scan({c.at(s.out, row) + at, c.at(s.b, row) + group * n, c.at(s.c, row) + group * n,
                     c.at(s.u, row) + at, c.at(s.decay, row)[head], c.at(s.dt, row)[head]},
                    m, before, count, n);
    });
}

void scan_each_rows(const Context &c, const op::ScanEach &s, size_t part, size_t first,
                    size_t count) {
    const size_t n = s.b.width;
    const float *a = c.graph.vector(s.a) + first * n;
    const StateRows rows(c, part, first, count, n);
    rows.each([&](size_t row, float *m, const float *before) {
        c.rows.scan_each({c.at(s.out, row) + first, a, c.at(s.b, row), c.at(s.c, row),
                          c.at(s.u, row) + first, c.at(s.dt, row) + first},
                         m, before, count, n);
    });
}

// Calls body(part, head, first, count): a task updates some of the `rows` state rows of a head, n
// values each, over the tokens of a sequence.
template <class Body>
Status for_states(const Context &c, size_t heads, size_t rows, size_t n, Failure *failure,
                  const Body &body) {
    constexpr size_t kRows = 24; // a multiple of 3 and 4: the rows that kernels take at a time
    const size_t cuts = (rows + kRows - 1) / kRows, per_part = heads * cuts;
    constexpr uint64_t kValuePs = 40; // picoseconds per state value and token
    const size_t values = (c.n / c.n_parts + 1) * kRows * n * 4;
    const Status status = for_rows(
        c.host(), c.n_parts * per_part, values, c.options.progress, values * kValuePs,
        [&](size_t task) {
            const size_t head = task % per_part / cuts, first = task % cuts * kRows;
            body(task / per_part, head, first, rows - first < kRows ? rows - first : kRows);
        });
    return executor_failed(status, failure);
}

} // namespace

Status run(const Context &c, const op::Conv &s, Failure *failure) {
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
    // A task computes some rows in pieces of their columns: weights and previous tokens stay in the
    // L1 cache.
    constexpr size_t kRows = 16, kColumns = 512;
    const size_t tasks = (c.n + kRows - 1) / kRows;
    const size_t values = (c.n < kRows ? c.n : kRows) * s.taps * s.in.width;
    const Status status = for_rows(c.host(), tasks, values, [&](size_t task) {
        const size_t end = c.n - task * kRows < kRows ? c.n : (task + 1) * kRows;
        for (size_t at = 0; at < s.in.width; at += kColumns) {
            const size_t n = s.in.width - at < kColumns ? s.in.width - at : kColumns;
            for (size_t row = task * kRows; row < end; row++)
                convolve(c, s, inputs(c.part_of(row)), row, at, n);
        }
    });
    if (status != Status::ok) return executor_failed(status, failure);
    for (size_t p = 0; p < c.n_parts; p++) {
        keep_tail(inputs(p), c.memory[p].tail_out, c.parts[p].n);
        float *const kept = c.memory[p].tail_kept; // may be the input, so it is written last
        if (kept) keep_tail(inputs(p), kept, c.n_again(c.parts[p]));
    }
    return Status::ok;
}

Status run(const Context &c, const op::Delta &s, Failure *failure) {
    return for_states(c, s.heads, s.values, s.values, failure,
                      [&](size_t part, size_t head, size_t first, size_t count) {
                          delta_rows(c, s, part, head, first, count);
                      });
}

Status run(const Context &c, const op::Scan &s, Failure *failure) {
    return for_states(c, s.heads, s.u.width / s.heads, s.b.width / s.groups, failure,
                      [&](size_t part, size_t head, size_t first, size_t count) {
                          scan_rows(c, s, part, head, first, count);
                      });
}

Status run(const Context &c, const op::ScanEach &s, Failure *failure) {
    return for_states(c, 1, s.u.width, s.b.width, failure,
                      [&](size_t part, size_t, size_t first, size_t count) {
                          scan_each_rows(c, s, part, first, count);
                      });
}

} // namespace ggufx::model
