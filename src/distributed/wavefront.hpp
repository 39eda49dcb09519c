// Runs the slices of a batch through the groups of a graph, staggered. Slice p runs up to the next
// all-gather and sends its message; meanwhile the previous slice continues. All ranks send the same
// messages in the same order, one after another:
//
//     slice 0   a0 | a1 |    a2 |          a, b, c: groups between all-gathers
//     slice 1        b0 | b1    | b2 |     order: a0 b0 a1 c0 b1 a2 c1 b2 c2 for three slices
//     slice 2             c0 |    c1 | c2  and nine messages, each after the end of a group
//
// SPDX-License-Identifier: MIT
#pragma once

#include "distributed/messenger.hpp"

#include <optional>

namespace ggufx::model {

constexpr uint32_t kMostSlices = 16;

// Returns the slicing for batches of at most n_batch rows.
Slicing slicing_of(const Graph &graph, uint32_t n_ranks, uint32_t n_batch);

class Wavefront {
public:
    Wavefront(const SlicedBatch &batch, Messenger &messenger, RankGroup &ranks)
        : work_(batch), messenger_(messenger), ranks_(ranks) {}
    // Returns ok, or a failure of this rank, which the others only learn from the group.
    Status run(Failure *failure);

private:
    // Progress of a slice.
    struct SliceProgress {
        uint32_t group = 0, layer = 0; // the next ones
    };
    const Graph &graph() const { return work_.whole.graph; }
    const RowSlice &slice(size_t i) const { return work_.rows.slices()[i]; }
    Context context(size_t i, uint32_t group) const;
    bool is_left_out(uint32_t group) const;
    Status go_on(size_t i, Failure *failure);
    void enter(size_t i, uint32_t group) const;
    Status end_layer(size_t i, const Context &c, Failure *failure);
    Status send(size_t i, const Context &c, const op::AllGather &s, Failure *failure);
    Status wait(Failure *failure);
    void join_stream() const;

    const SlicedBatch work_;
    Messenger &messenger_;
    RankGroup &ranks_;
    SliceProgress ways_[kMostSlices];
    Status own_ = Status::ok;     // result of this rank alone
    std::optional<Context> sent_; // context of the pending message
    size_t sender_ = kMostSlices; // its slice
};

} // namespace ggufx::model
