// Columns that each rank has become those that all have: rows are packed, sent, unpacked.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/group/pack.hpp"
#include "model/ops/context.hpp"

namespace ggufx::model {

// Memory for messages of a graph's exchanges.
class AllGatherMemory {
public:
    AllGatherMemory() = default;
    // Throws std::bad_alloc.
    AllGatherMemory(const Ref<Host> &host, const Graph &graph, uint32_t n_ranks);
    static size_t bytes(const Graph &graph, uint32_t n_ranks);

    uint8_t *out() const { return buffer_.data() + in_bytes_; }
    uint8_t *in() const { return buffer_.data(); }

private:
    Buffer buffer_;
    size_t in_bytes_ = 0;
};

// What a rank sends for a row, but for the header of its message.
size_t row_bytes(const Graph &graph, const op::AllGather &s, uint32_t rank, Packing packing);

Status run(const Context &c, const op::AllGather &s, Failure *failure);
// The same by a thread that has no part in the executor, as that may be busy.
Status run_aside(const Context &c, const op::AllGather &s, Failure *failure);
// In place of both, where this rank has failed and owes the others a message.
Status run_failed(const Context &c, const op::AllGather &s, Status own, Failure *failure);

} // namespace ggufx::model
