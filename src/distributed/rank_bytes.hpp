// Bytes of weights that a rank of a group reads, and bytes that it receives from the other ranks
// per token.
// SPDX-License-Identifier: MIT
#pragma once

#include "graph/graph.hpp"
#include "job/plan.hpp"

namespace ggufx::model {

struct RankBytes {
    uint64_t weights = 0;  // bound weights, without embeddings
    uint64_t token = 0;    // bytes of weights and embeddings read for a token
    uint64_t row = 0;      // bytes of embeddings for each further token
    uint64_t received = 0; // for a token
    uint32_t n_messages = 0;
};

// Computes the bytes under a plan for the tensors of the graph's file: 8-bit mode, one token with
// its logits. Throws overflow, std::bad_alloc.
RankBytes bytes_of_rank(const Graph &graph, const job::Plan &plan, uint32_t rank, uint32_t n_ranks);

} // namespace ggufx::model
