// What a rank has of a graph whose layers are dealt (layer_deal.hpp). Made of the whole model's graph,
// whatever is in its layers: a buffer that is used on both sides of a border between two ranks travels, what
// depends on positions alone each rank computes that wants it. All ranks have the same exchanges.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/graph/graph.hpp"
#include "model/group/rank_file.hpp"

namespace ggufx::model {

// Leaves of a whole graph, which is laid out, what a rank has. layer_vectors [n_layers + 1]: where the
// vectors of each layer begin, and end. Throws std::bad_alloc.
void keep_stage(Graph &graph, const RankOptions &ranks, const Vector<uint64_t> &layer_vectors);

} // namespace ggufx::model
