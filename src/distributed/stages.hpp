// Pipeline parallelism: reduces a graph to one rank's layers (layer_partition.hpp). It starts from
// the whole model's graph, whatever its layers contain:
// - a buffer that is used on both sides of a boundary between two ranks is sent;
// - values that depend on positions alone are computed by each rank that needs them.
// All ranks have the same all-gathers.
// SPDX-License-Identifier: MIT
#pragma once

#include "distributed/rank_file.hpp"
#include "graph/graph.hpp"

namespace ggufx::model {

// Keeps one rank's part of a whole graph, which must be laid out. layer_vectors [n_layers + 1]:
// start of the vectors of each layer, and their end. Throws std::bad_alloc.
void keep_stage(Graph &graph, const RankOptions &ranks, const Vector<uint64_t> &layer_vectors);

} // namespace ggufx::model
