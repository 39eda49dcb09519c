// The slices of a batch through the groups of a graph, one behind the other: slice p runs the groups up
// to the next exchange, its message goes, and while that is under way the slice before goes on. All
// ranks send the same messages in the same order, one after another:
//
//     slice 0   a0 | a1 |    a2 |          a, b, c: what stands between exchanges
//     slice 1        b0 | b1    | b2 |     order: a0 b0 a1 c0 b1 a2 c1 b2 c2 for three slices
//     slice 2             c0 |    c1 | c2  and as many messages, each from the end of one on
//
// SPDX-License-Identifier: MIT
#pragma once

#include "model/run/batch.hpp"
#include "model/run/messenger.hpp"
#include "model/run/runner.hpp"

#include <optional>

namespace ggufx::model {

class Wavefront {
public:
    struct Work {
        const Context &whole; // of the batch
        BatchRows &rows;      // which are cut
        Messenger &messenger;
        LayerWatcher *layers;
        uint32_t alone, end; // from this group on with wanted rows only; behind the last group
        Runner::Outputs out;
    };
    explicit Wavefront(const Work &work) : work_(work) {}
    // Ok, or a failure of this rank, which the others do not know of unless the group says so.
    Status run(Failure *failure);
    // The stream of all rows to where the whole batch has it.
    void join_stream() const;

private:
    // A slice on its way.
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

    const Work work_;
    SliceProgress ways_[kMostSlices];
    Status own_ = Status::ok;     // what this rank has come to by itself
    std::optional<Context> sent_; // of the message that is under way
    size_t sender_ = kMostSlices; // its slice
};

} // namespace ggufx::model
