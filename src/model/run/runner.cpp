// SPDX-License-Identifier: MIT
#include "model/run/runner.hpp"

#include "model/group/group.hpp"
#include "model/ops/adapt.hpp"
#include "model/ops/all_gather.hpp"
#include "model/rows.hpp"
#include "model/run/wavefront.hpp"

#include <string.h>

namespace ggufx::model {

Runner::Runner(const Graph &graph, const matmul::Engine &engine, const Caches &caches,
               const Memory &memory, const matmul::Options &options)
    : context_{.graph = graph,
               .engine = engine,
               .rows = *kernels::rows_of(engine.kernels()),
               .frequencies = memory.frequencies,
               .caches = caches.caches(),
               .states = caches.states(),
               .options = options,
               .ranks = memory.ranks,
               .all_gather_memory = memory.all_gather,
               .scratch = memory.scratch,
               .n_batch = memory.n_batch,
               .adapter_scratch = memory.adapter_scratch,
               .n_adapter_scratch = memory.n_adapter_scratch},
      messenger_(memory.messenger), slicing_(memory.slicing) {}

Status run_group(const Context &c, const Group &group, Failure *failure) {
    const Vector<Op> &ops = c.graph.ops;
    if (!group.rows) return run_batch(c, ops[group.first], failure);
    constexpr uint64_t kValuePs = 500; // picoseconds per value that a row touches
    const Status status = for_rows(c.host(), c.n, static_cast<size_t>(group.values),
                                   c.options.progress, group.values * kValuePs, [&](size_t row) {
                                       for (uint32_t i = group.first; i < group.end; i++)
                                           run_row(c, ops[i], row);
                                   });
    return executor_failed(status, failure);
}

namespace {

// Sends this rank's failure in the first message of the following groups.
Status broadcast_failure(const Context &c, uint32_t group, uint32_t end, Status own,
                         Failure *failure) {
    if (!c.ranks || c.ranks->has_failed()) return own;
    for (; group < end; group++) {
        const Op &op = c.graph.ops[c.graph.groups[group].first];
        if (const auto *all_gather = std::get_if<op::AllGather>(&op))
            return run_failed(c, *all_gather, own, failure);
    }
    return own; // Runner::settle sends it
}

// Groups of the body, possibly without rows: layers end all the same.
class Body {
public:
    explicit Body(LayerWatcher *layers) : layers_(layers) {}
    Status run(const Context &c, uint32_t end, Failure *failure) {
        Status status = Status::ok;
        while (next_ < end && status == Status::ok) {
            const Group &group = c.graph.groups[next_++];
            if (c.n > 0) status = run_group(c, group, failure);
            if (status == Status::ok && group.ends_layer) status = end_layer(c, failure);
        }
        if (status == Status::ok) return status;
        return broadcast_failure(c, next_, end, status, failure);
    }

private:
    Status end_layer(const Context &c, Failure *failure) {
        const Status status = c.n > 0 ? adapt_layer(c, layer_, failure) : Status::ok;
        if (status == Status::ok && layers_) return layers_->layer_done(layer_++, failure);
        layer_++;
        return status;
    }

    LayerWatcher *layers_;
    uint32_t next_ = 0, layer_ = 0;
};

} // namespace

Status run_layers(const Context &c, LayerWatcher *layers, Failure *failure) {
    return Body(layers).run(c, c.graph.end_group(PartKind::body), failure);
}

static Status run_parts(const Context &c, PartKind from, PartKind to, Failure *failure) {
    Status status = Status::ok;
    const uint32_t end = c.graph.end_group(to);
    uint32_t i = c.graph.first_group(from);
    while (i < end && status == Status::ok) status = run_group(c, c.graph.groups[i++], failure);
    return status == Status::ok ? status : broadcast_failure(c, i, end, status, failure);
}

Status run_part(const Context &c, PartKind part, Failure *failure) {
    return run_parts(c, part, part, failure);
}

// Last part for the hidden states of a batch: they are not sent unless requested.
static PartKind last_of_hidden(const BatchRows &rows) {
    return rows.of_hidden().empty() ? PartKind::hidden : PartKind::spread;
}

// Returns whether the batch is cut into slices. Product watchers and adapters need whole batches.
// So do attention hooks, which a group refuses.
bool Runner::cut(BatchRows &rows) {
    const bool may = messenger_ && !context_.products && !context_.adapter_scratch;
    const uint32_t n = may ? slices_of(context_.graph, context_.options, rows.n(), slicing_) : 1;
    if (n > 1) rows.cut(n);
    is_sliced_ = n > 1;
    return is_sliced_;
}

Status Runner::forward(BatchRows &rows, Failure *failure) {
    rows.set(context_);
    owes_logits_ = !rows.of_logits().empty();
    if (!cut(rows)) return run_layers(context_, layers_, failure);
    const uint32_t end = context_.graph.end_group(PartKind::body);
    Wavefront wavefront({context_, rows, *messenger_, layers_, end, end, {}});
    const Status status = wavefront.run(failure);
    if (status == Status::ok) wavefront.join_stream();
    return status;
}

Status Runner::project(float *logits, BatchRows &rows, size_t row, size_t n, Failure *failure) {
    rows.set(context_);
    context_.logits = logits;
    context_.stream_row = row;
    context_.n = n;
    const Status status = run_part(context_, PartKind::hidden, failure);
    return status == Status::ok ? run_part(context_, PartKind::logits, failure) : status;
}

void take_hidden(const Context &c, float *out, const WantedRows &wanted, const WantedRows &given,
                 const WantedRows &projected) {
    const View &hidden = c.graph.hidden;
    size_t n_given = 0, n = 0;
    for (size_t i = 0; i < wanted.n; i++) {
        const float *const row = c.at(hidden, i);
        if (n_given < given.n && given[n_given] == wanted[i])
            memcpy(out + n_given++ * hidden.width, row, hidden.width * sizeof(float));
        if (n == projected.n || projected[n] != wanted[i]) continue;
        if (n != i) memcpy(c.at(hidden, n), row, hidden.width * sizeof(float));
        n++;
    }
}

void gather_rows(const Context &c, const WantedRows &wanted, uint32_t group) {
    const Graph &graph = c.graph;
    for (uint32_t s = 0; s < graph.buffers.size(); s++) {
        const BufferInfo &buffer = graph.buffers[s];
        if (buffer.outside || buffer.first >= group || buffer.last < group) continue;
        const View whole = {s, 0, buffer.width};
        for (size_t i = 0; i < wanted.n; i++)
            if (wanted[i] != i)
                memcpy(c.at(whole, i), c.at(whole, wanted[i]), buffer.width * sizeof(float));
    }
}

namespace {

WantedRows all_of(const Vector<uint32_t> &rows) {
    return {rows.data(), rows.size(), 0};
}

} // namespace

// Projects the requested rows, which are first in the stream.
Status Runner::project(const Outputs &out, const BatchRows &rows, Failure *failure) {
    context_.logits = out.logits;
    context_.batch_rows = rows.wanted().data();
    context_.n = rows.wanted().size();
    const Status status = run_parts(context_, PartKind::hidden, last_of_hidden(rows), failure);
    if (status != Status::ok) return status;
    if (!rows.of_hidden().empty())
        take_hidden(context_, out.hidden, all_of(rows.wanted()), all_of(rows.of_hidden()),
                    all_of(rows.of_logits()));
    context_.batch_rows = rows.of_logits().data();
    context_.n = rows.of_logits().size();
    if (context_.n == 0) return status;
    owes_logits_ = false;
    return run_part(context_, PartKind::logits, failure);
}

// After the last operation that reads other rows, unrequested rows can be dropped. It needs a run
// without hooks, and other rows that keep their bits: experts and adapters count rows.
bool Runner::may_leave_rows(size_t n_wanted) const {
    const matmul::Options &options = context_.options;
    const bool counts = context_.graph.alone_counts || context_.adapter_scratch;
    return n_wanted < context_.n && !context_.products &&
           (options.batch_invariant || options.tiles || !counts);
}

// Uses tiled products for few rows if all rows would use them.
Status Runner::predict(const Outputs &out, BatchRows &rows, Failure *failure) {
    rows.set(context_);
    owes_logits_ = !rows.of_logits().empty();
    const Graph &graph = context_.graph;
    const size_t n = context_.n, n_wanted = rows.wanted().size();
    const uint32_t end = graph.end_group(PartKind::body);
    const uint32_t alone = may_leave_rows(n_wanted) ? graph.alone_group : end;
    if (cut(rows))
        return Wavefront({context_, rows, *messenger_, layers_, alone,
                          graph.end_group(PartKind::logits), out})
            .run(failure);
    Body body(layers_);
    Status status = body.run(context_, alone, failure);
    Context rest = context_;
    rest.batch_rows = rows.wanted().data();
    rest.n = n_wanted;
    rest.options.tiles |= n >= matmul::kTileColumns && !rest.options.batch_invariant;
    const uint32_t behind = graph.end_group(last_of_hidden(rows));
    if (status != Status::ok)
        return n_wanted > 0 ? broadcast_failure(rest, alone, behind, status, failure) : status;
    gather_rows(context_, all_of(rows.wanted()), alone);
    status = body.run(rest, end, failure);
    if (n_wanted == 0) return status;
    return status == Status::ok ? project(out, rows, failure)
                                : broadcast_failure(rest, end, behind, status, failure);
}

Status Runner::settle(const BatchRows &rows, Status own, Failure *failure) {
    RankGroup *const ranks = context_.ranks;
    if (!ranks || ranks->has_failed()) return own;
    if (is_sliced_ || rows.of_logits().empty()) return ranks->agree(own, failure);
    if (own == Status::ok) return own; // the message of the logits reported success of all ranks
    if (!owes_logits_) return ranks->give_up(own, failure);
    context_.n = rows.of_logits().size();
    const Graph &graph = context_.graph;
    return broadcast_failure(context_, graph.first_group(PartKind::logits),
                             graph.end_group(PartKind::logits), own, failure);
}

} // namespace ggufx::model
