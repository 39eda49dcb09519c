// What a rank of a group reads of the weights, and what the others send it for a token.
// SPDX-License-Identifier: MIT
#pragma once

#include "job/plan.hpp"
#include "model/graph/graph.hpp"

namespace ggufx::model {

struct RankBytes {
    uint64_t weights = 0;  // that are bound, but for embeddings
    uint64_t token = 0;    // of these, and of embeddings, that a token reads
    uint64_t row = 0;      // of embeddings, for each other token
    uint64_t received = 0; // for a token
    uint32_t n_messages = 0;
};

// Under a plan for the tensors of the graph's file. 8-bit mode, one token with its logits. Throws
// overflow, std::bad_alloc.
RankBytes bytes_of_rank(const Graph &graph, const job::Plan &plan, uint32_t rank, uint32_t n_ranks);

} // namespace ggufx::model
