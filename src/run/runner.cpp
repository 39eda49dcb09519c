// SPDX-License-Identifier: MIT
#include "run/runner.hpp"

#include "run/ops/adapt.hpp"
#include "run/peers.hpp"
#include "run/rows.hpp"

#include <string.h>

#include <algorithm>

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
               .peers = memory.peers,
               .scratch = memory.scratch,
               .n_batch = memory.n_batch,
               .adapter_scratch = memory.adapter_scratch,
               .n_adapter_scratch = memory.n_adapter_scratch},
      slice_runner_(memory.slice_runner) {}

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
    if (!c.peers || c.peers->has_failed()) return own;
    for (; group < end; group++) {
        const Op &op = c.graph.ops[c.graph.groups[group].first];
        if (const auto *all_gather = std::get_if<op::AllGather>(&op))
            return c.peers->exchange_failure(c, *all_gather, own, failure);
    }
    return own; // Runner::settle sends it
}

} // namespace

// Rows may be none: layers end all the same.
Status Cursor::step(const Context &c, Failure *failure) {
    const Group &group = c.graph.groups[next_];
    Status status = Status::ok;
    if (c.n > 0 && (c.block_weights || is_inside()) && !group.rows)
        status = run_block(c, c.graph.ops[group.first], &row_, failure);
    else if (c.n > 0)
        status = run_group(c, group, failure);
    if (status == Status::ok && row_ > 0) return status; // the product has more rows
    row_ = 0;
    next_++;
    return status == Status::ok && group.ends_layer ? end_layer(c, failure) : status;
}

Status Cursor::end_layer(const Context &c, Failure *failure) {
    const uint32_t layer = layer_++;
    const Status status = c.n > 0 ? adapt_layer(c, layer, failure) : Status::ok;
    return status == Status::ok && layers_ ? layers_->layer_done(layer, failure) : status;
}

// Runs the groups up to `end`.
static Status run_to(Cursor cursor, const Context &c, uint32_t end, Failure *failure) {
    Status status = Status::ok;
    while (cursor.group() < end && status == Status::ok) status = cursor.step(c, failure);
    return status == Status::ok ? status
                                : broadcast_failure(c, cursor.group(), end, status, failure);
}

Status run_layers(const Context &c, LayerWatcher *layers, Failure *failure) {
    return run_to(Cursor(layers), c, c.graph.end_group(PartKind::body), failure);
}

Status run_part(const Context &c, PartKind part, Failure *failure) {
    return run_to(Cursor(nullptr, c.graph.first_group(part)), c, c.graph.end_group(part), failure);
}

// Last part for the hidden states of a batch: they are not sent unless requested.
static PartKind last_of_hidden(const BatchRows &rows) {
    return rows.of_hidden().empty() ? PartKind::hidden : PartKind::spread;
}

// Returns the number of slices for n_rows rows. The number of rows per expert decides between
// row-wise and tiled products, unless the options do. Other products are the same for every slice,
// since each has kTileColumns rows.
static uint32_t slices_of(const Graph &graph, const matmul::Options &options, size_t n_rows,
                          const Slicing &slicing) {
    const bool is_one_definition = options.batch_invariant || options.tiles;
    if (graph.counts_rows && !is_one_definition) return 1;
    return static_cast<uint32_t>(std::clamp<size_t>(n_rows / slicing.least_rows, 1, slicing.most));
}

// Returns whether the batch is cut into slices. Product watchers and adapters need whole batches.
// So do attention hooks, which a group refuses.
bool Runner::cut(BatchRows &rows) {
    const bool may = slice_runner_ && !context_.products && !context_.adapter_scratch;
    const uint32_t n =
        may ? slices_of(context_.graph, context_.options, rows.n(), slice_runner_->slicing()) : 1;
    if (n > 1) rows.cut(n);
    is_sliced_ = n > 1;
    return is_sliced_;
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

// After the last operation that reads other rows, unrequested rows can be dropped. It needs a run
// without hooks, and other rows that keep their bits: experts and adapters count rows.
bool Runner::may_leave_rows(size_t n_wanted) const {
    const matmul::Options &options = context_.options;
    const bool counts = context_.graph.alone_counts || context_.adapter_scratch;
    return n_wanted < context_.n && !context_.products &&
           (options.batch_invariant || options.tiles || !counts);
}

void Runner::begin(const Outputs &out, BatchRows &rows, Rows kept) {
    const Graph &graph = context_.graph;
    rows.set(context_);
    rows_ = &rows;
    out_ = out;
    cursor_ = Cursor(layers_);
    times_ = {};
    owes_logits_ = !rows.of_logits().empty();
    const bool leaves = kept == Rows::wanted && may_leave_rows(rows.wanted().size());
    alone_ = leaves ? graph.alone_group : graph.end_group(PartKind::body);
    end_ = kept == Rows::all || rows.wanted().empty() ? graph.end_group(PartKind::body)
           : owes_logits_                             ? graph.end_group(PartKind::logits)
                                                      : graph.end_group(PartKind::spread);
    kept_ = kept;
    (void)cut(rows);
}

// Context of a group. Few requested rows use tiled products in the body if all rows would.
Context Runner::context(uint32_t group) const {
    const Graph &graph = context_.graph;
    const BatchRows &rows = *rows_;
    Context c = context_;
    if (group < alone_) return c;
    c.batch_rows = rows.wanted().data();
    c.n = rows.wanted().size();
    if (group < graph.first_group(PartKind::hidden))
        c.options.tiles |= rows.n() >= matmul::kTileColumns && !c.options.batch_invariant;
    if (group < graph.first_group(PartKind::logits)) return c;
    c.batch_rows = rows.of_logits().data();
    c.n = rows.of_logits().size();
    c.logits = out_.logits;
    return c;
}

// Prepares a group, or the end: moves requested rows to the front, copies hidden states.
void Runner::enter(uint32_t group) {
    const BatchRows &rows = *rows_;
    if (group == alone_) gather_rows(context_, all_of(rows.wanted()), group);
    if (group != context_.graph.first_group(PartKind::logits)) return;
    if (!rows.of_hidden().empty())
        take_hidden(context_, out_.hidden, all_of(rows.wanted()), all_of(rows.of_hidden()),
                    all_of(rows.of_logits()));
    owes_logits_ = false;
}

// Hidden states are not sent unless requested.
bool Runner::is_left_out(uint32_t group) const {
    return group >= context_.graph.first_group(PartKind::spread) &&
           group < context_.graph.end_group(PartKind::spread) && rows_->of_hidden().empty();
}

Status Runner::run_slices(Failure *failure) {
    const bool keeps = kept_ == Rows::all;
    const uint32_t end = keeps ? end_ : context_.graph.end_group(PartKind::logits);
    return slice_runner_->run({context_, *rows_, layers_, alone_, end, out_, keeps}, failure);
}

// Sends this rank's failure in the first message that the others expect before the logits, or
// among them.
Status Runner::report(Status own, Failure *failure) {
    const Graph &graph = context_.graph;
    const uint32_t next = cursor_.group(), logits = graph.first_group(PartKind::logits);
    if (next > logits) return broadcast_failure(context(logits), next, end_, own, failure);
    const Status status = broadcast_failure(context_, next, alone_, own, failure);
    if (rows_->wanted().empty()) return status;
    const uint32_t from = std::max(next, alone_);
    const uint32_t behind = graph.end_group(last_of_hidden(*rows_));
    return broadcast_failure(context(from), from, behind, status, failure);
}

Status Runner::advance(Budget *budget, bool *complete, Failure *failure) {
    *complete = is_sliced_;
    if (is_sliced_) return run_slices(failure);
    context_.block_weights = budget ? budget->block_weights() : 0;
    for (;;) {
        const uint32_t group = cursor_.group();
        if (!cursor_.is_inside()) enter(group);
        *complete = group >= end_;
        if (*complete) return Status::ok;
        if (is_left_out(group)) {
            cursor_.skip();
            continue;
        }
        const Context c = context(group);
        const uint32_t layer = cursor_.layer();
        const Status status = cursor_.step(c, failure);
        if (status != Status::ok) return report(status, failure);
        if (budget && is_late(*budget, c.n, layer)) return status;
    }
}

// Measures the group of a layer that ran over n rows; returns whether the call has to pause.
bool Runner::is_late(Budget &budget, size_t n, uint32_t layer) {
    const uint64_t ns = budget.lap();
    if (n == rows_->n()) times_.add(ns, cursor_.layer() != layer);
    return budget.is_used_up();
}

Status Runner::settle(const BatchRows &rows, Status own, Failure *failure) {
    Peers *const peers = context_.peers;
    if (!peers || peers->has_failed()) return own;
    if (is_sliced_ || rows.of_logits().empty()) return peers->agree(own, failure);
    if (own == Status::ok) return own; // the message of the logits reported success of all ranks
    if (!owes_logits_) return peers->give_up(own, failure);
    context_.n = rows.of_logits().size();
    const Graph &graph = context_.graph;
    return broadcast_failure(context_, graph.first_group(PartKind::logits),
                             graph.end_group(PartKind::logits), own, failure);
}

} // namespace ggufx::model
