// SPDX-License-Identifier: MIT
#include "distributed/wavefront.hpp"

#include "run/ops/adapt.hpp"

#include <algorithm>
#include <string.h>

namespace ggufx::model {

namespace {

// Tensor parallelism: two slices hide a message during a product. Each slice reads and unpacks all
// weights: 64 rows take some percent longer than 128, 32 rows a tenth (tests/bench/fit.md).
constexpr Slicing kByRows = {2, 64};
// Pipeline parallelism needs one slice per rank, and more, since ranks wait at both ends of a
// batch: (slices + ranks - 1) / slices. That is worth smaller slices.
constexpr Slicing kByRanks = {kMostSlices, 32};
constexpr uint32_t kPerRank = 4;
static_assert(kByRanks.least_rows >= kSliceBorder + matmul::kTileColumns);

} // namespace

// Keys that other layers read are appended for a whole batch before they are read. A slice that is
// ahead would see keys of the next one, and none of its pages before quantization.
Slicing slicing_of(const Graph &graph, uint32_t n_ranks, uint32_t n_batch) {
    if (n_ranks < 2 || graph.borders.empty() || graph.shares_keys) return {};
    Slicing out = graph.by_layers ? kByRanks : kByRows;
    if (graph.by_layers) out.most = std::min(out.most, kPerRank * n_ranks);
    out.most = std::max(std::min(out.most, n_batch / out.least_rows), 1u);
    return out;
}

// Each slice has its own scratch, for its rows: buffers reuse memory in later groups, which another
// slice may have reached. Products of few rows are tiled if they are tiled for the whole batch.
Context Wavefront::context(size_t i, uint32_t group) const {
    const BatchRows &rows = work_.rows;
    Context c = work_.whole;
    work_.rows.set_slice(c, i);
    const RowSlice &s = slice(i);
    c.scratch += graph().row_floats * s.row;
    c.n_batch = s.n;
    size_t n_whole = rows.n();
    if (group >= work_.alone) c.n = s.wanted.n;
    if (group >= graph().first_group(PartKind::hidden)) n_whole = rows.wanted().size();
    if (group >= graph().first_group(PartKind::logits)) {
        n_whole = rows.of_logits().size();
        c.n = s.logits.n;
        c.logits = work_.out.logits;
        if (c.logits) c.logits += s.logits.first * graph().logits.width;
    }
    c.options.tiles |= n_whole >= matmul::kTileColumns && !c.options.batch_invariant;
    return c;
}

// Prepares a group: moves requested rows to the front, copies hidden states.
void Wavefront::enter(size_t i, uint32_t group) const {
    const BatchRows &rows = work_.rows;
    const RowSlice &s = slice(i);
    const uint32_t *const wanted = rows.wanted().data() + s.wanted.first;
    if (group == work_.alone) gather_rows(context(i, group), {wanted, s.wanted.n, s.row}, group);
    if (group != graph().first_group(PartKind::logits) || !work_.out.hidden) return;
    const WantedRows given = {rows.of_hidden().data() + s.hidden.first, s.hidden.n, s.row};
    const WantedRows projected = {rows.of_logits().data() + s.logits.first, s.logits.n, s.row};
    const size_t width = graph().hidden.width;
    take_hidden(context(i, group), work_.out.hidden + s.hidden.first * width,
                {wanted, s.wanted.n, s.row}, given, projected);
}

Status Wavefront::wait(Failure *failure) {
    sender_ = kMostSlices;
    return messenger_.wait(failure);
}

// Sends the message of a slice after the previous one has arrived, which may report a failed rank.
// A failure of this rank goes into this message.
Status Wavefront::send(size_t i, const Context &c, const op::AllGather &s, Failure *failure) {
    const Status status = wait(failure);
    if (status != Status::ok) return status;
    if (own_ != Status::ok) return ranks_.exchange_failure(c, s, own_, failure);
    sent_.emplace(c);
    messenger_.post(*sent_, s);
    sender_ = i;
    return Status::ok;
}

// Ends a layer of a slice; the last slice ends it for the batch.
Status Wavefront::end_layer(size_t i, const Context &c, Failure *failure) {
    const uint32_t layer = ways_[i].layer++;
    const Status status = c.n > 0 ? adapt_layer(c, layer, failure) : Status::ok;
    const bool is_last = i + 1 == work_.rows.slices().size();
    if (status != Status::ok || !is_last || !work_.layers) return status;
    return work_.layers->layer_done(layer, failure);
}

// Hidden states are not sent unless requested.
bool Wavefront::is_left_out(uint32_t group) const {
    return group >= graph().first_group(PartKind::spread) &&
           group < graph().end_group(PartKind::spread) && work_.rows.of_hidden().empty();
}

// Runs a slice up to its next message, or to the end. After a failure of this rank it only sends
// messages.
Status Wavefront::go_on(size_t i, Failure *failure) {
    if (sender_ == i) {
        const Status status = wait(failure);
        if (status != Status::ok) return status;
    }
    for (SliceProgress &way = ways_[i]; way.group < work_.end;) {
        const uint32_t at = way.group++;
        if (is_left_out(at)) continue;
        const Group &group = graph().groups[at];
        const Context c = context(i, at);
        const auto *s = std::get_if<op::AllGather>(&graph().ops[group.first]);
        if (own_ == Status::ok) enter(i, at);
        const bool sends = s && c.n > 0;
        if (sends) {
            const Status status = send(i, c, *s, failure);
            if (status != Status::ok) return status;
        } else if (own_ == Status::ok && c.n > 0) {
            own_ = run_group(c, group, failure);
        }
        if (own_ == Status::ok && group.ends_layer) own_ = end_layer(i, c, failure);
        if (sends) return Status::ok;
    }
    return Status::ok;
}

Status Wavefront::run(Failure *failure) {
    const size_t n = work_.rows.slices().size();
    for (size_t first = 0, behind = 0; first < n; behind += behind < n) {
        for (size_t i = std::min(behind + 1, n); i-- > first;) {
            const Status status = go_on(i, failure);
            if (status != Status::ok) return status;
        }
        while (first < n && ways_[first].group == work_.end) first++;
    }
    const Status status = wait(failure);
    if (status != Status::ok) return status;
    if (own_ == Status::ok && work_.joins_stream) join_stream();
    return own_;
}

// Moves the stream of all slices together: slice by slice, then the whole.
void Wavefront::join_stream() const {
    const Context &whole = work_.whole;
    const BufferInfo &buffer = graph().buffers[graph().stream.buffer];
    const View all = {graph().stream.buffer, 0, buffer.width};
    for (size_t i = 0; i < work_.rows.slices().size(); i++) {
        const RowSlice &s = slice(i);
        memmove(whole.scratch + s.row * buffer.width, context(i, 0).at(all, 0),
                s.n * buffer.width * sizeof(float));
    }
    memmove(whole.at(all, 0), whole.scratch, work_.rows.n() * buffer.width * sizeof(float));
}

} // namespace ggufx::model
