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

// Rows next to each other make one product. Those of one run are so already.
Status Runner::project(float *logits, const BatchRows &rows, Failure *failure) {
    const Vector<uint32_t> &wanted = rows.wanted();
    const size_t n = wanted.size();
    if (n == 0) return Status::ok;
    if (wanted[n - 1] - wanted[0] == n - 1) return project(logits, wanted[0], n, failure);
    const View &stream = context_.program.stream;
    context_.stream_row = 0;
    for (size_t i = 0; i < n; i++)
        if (wanted[i] != i)
            memcpy(context_.at(stream, i), context_.at(stream, wanted[i]),
                   stream.width * sizeof(float));
    return project(logits, 0, n, failure);
}

} // namespace ggufx::model
