// Which rows travel between ranks as packed activations: those that products of these alone read.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/graph/graph.hpp"

namespace ggufx::model {

// Sets operation::AllGather::packs, by the types of the weights. Throws std::bad_alloc.
void find_packed(Graph &graph, uint32_t n_ranks);

} // namespace ggufx::model
