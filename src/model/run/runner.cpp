// SPDX-License-Identifier: MIT
#include "model/run/runner.hpp"

#include "model/rows.hpp"

#include <string.h>

namespace ggufx::model {

Runner::Runner(const Program &program, const matmul::Engine &engine, const Caches &caches,
               const Memory &memory, const matmul::Options &options)
    : context_{.program = program,
               .engine = engine,
               .rows = *kernels::rows_of(engine.kernels()),
               .frequencies = memory.frequencies,
               .caches = caches.caches(),
               .states = caches.states(),
               .options = options,
               .scratch = memory.scratch,
               .n_batch = memory.n_batch} {}

Status run_group(const Context &c, const Group &group, Failure *failure) {
    const Vector<Step> &steps = c.program.steps;
    if (!group.rows) return run_batch(c, steps[group.first], failure);
    const Status status =
        for_rows(c.host(), c.n, static_cast<size_t>(group.values), [&](size_t row) {
            for (uint32_t i = group.first; i < group.end; i++) run_row(c, steps[i], row);
        });
    return executor_failed(status, failure);
}

Status run_layers(const Context &c, LayerWatcher *layers, Failure *failure) {
    uint32_t layer = 0;
    Status status = Status::ok;
    for (uint32_t i = 0; i < c.program.end_group(PartKind::body) && status == Status::ok; i++) {
        const Group &group = c.program.groups[i];
        status = run_group(c, group, failure);
        if (status == Status::ok && group.ends_layer && layers)
            status = layers->layer_done(layer++, failure);
    }
    return status;
}

Status run_part(const Context &c, PartKind part, Failure *failure) {
    Status status = Status::ok;
    const uint32_t end = c.program.end_group(part);
    for (uint32_t i = c.program.first_group(part); i < end && status == Status::ok; i++)
        status = run_group(c, c.program.groups[i], failure);
    return status;
}

Status Runner::forward(BatchRows &rows, Failure *failure) {
    rows.set(context_);
    context_.stream_row = 0;
    return run_layers(context_, layers_, failure);
}

Status Runner::project(float *logits, size_t row, size_t n, Failure *failure) {
    context_.logits = logits;
    context_.stream_row = row;
    context_.n = n;
    const Status status = run_part(context_, PartKind::hidden, failure);
    return status == Status::ok ? run_part(context_, PartKind::logits, failure) : status;
}

// The hidden states that are wanted, copied; then those whose logits are wanted lie side by side.
size_t Runner::take_hidden(float *out, const Vector<WantedRow> &wanted) {
    const View &hidden = context_.program.hidden;
    size_t n = 0;
    for (size_t i = 0; i < wanted.size(); i++) {
        const float *const row = context_.at(hidden, i);
        if (wanted[i].hidden) {
            memcpy(out, row, hidden.width * sizeof(float));
            out += hidden.width;
        }
        if (!wanted[i].logits) continue;
        if (n != i) memcpy(context_.at(hidden, n), row, hidden.width * sizeof(float));
        n++;
    }
    return n;
}

// Rows next to each other make one product. Those of one run are so already.
Status Runner::project(const Outputs &out, const BatchRows &rows, Failure *failure) {
    const Vector<WantedRow> &wanted = rows.wanted();
    const size_t n = wanted.size();
    if (n == 0) return Status::ok;
    const View &stream = context_.program.stream;
    const bool side_by_side = wanted[n - 1].row - wanted[0].row == n - 1;
    context_.stream_row = side_by_side ? wanted[0].row : 0;
    for (size_t i = 0; i < n && !side_by_side; i++)
        if (wanted[i].row != i)
            memcpy(context_.at(stream, i), context_.at(stream, wanted[i].row),
                   stream.width * sizeof(float));
    context_.logits = out.logits;
    context_.n = n;
    const Status status = run_part(context_, PartKind::hidden, failure);
    if (status != Status::ok) return status;
    if (rows.n_hidden()) context_.n = take_hidden(out.hidden, wanted);
    return context_.n ? run_part(context_, PartKind::logits, failure) : status;
}

} // namespace ggufx::model
