// All-gather: columns that each rank has become known to all ranks. Rows are packed, sent,
// unpacked.
// SPDX-License-Identifier: MIT
#pragma once

#include "distributed/pack.hpp"
#include "run/ops/context.hpp"

namespace ggufx::model {

// Memory for the messages of a graph's all-gathers.
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

// Returns the bytes that a rank sends for a row, without the header of the message.
size_t row_bytes(const Graph &graph, const op::AllGather &s, uint32_t rank, Packing packing);

} // namespace ggufx::model
