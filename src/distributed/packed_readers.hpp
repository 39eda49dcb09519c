// Finds rows that ranks exchange as packed activations: those that only products of packed
// activations read.
// SPDX-License-Identifier: MIT
#pragma once

#include "graph/graph.hpp"

namespace ggufx::model {

// Sets op::AllGather::packs, by the types of the weights. Throws std::bad_alloc.
void find_packed(Graph &graph, uint32_t n_ranks);

} // namespace ggufx::model
