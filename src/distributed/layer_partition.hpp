// Pipeline parallelism: assigns whole layers to ranks, in order, by the bytes of their weights and
// the speed of each rank.
// SPDX-License-Identifier: MIT
#pragma once

#include "distributed/rank_file.hpp"
#include "graph/graph.hpp"

namespace ggufx::model {

// Returns the first layer of each rank, then the number of layers: [n_ranks + 1]. Minimizes the
// longest time of a rank; the last rank's time includes the output matrix. Layers that read another
// layer's keys stay with it. A rank may have none. Throws std::bad_alloc.
Vector<uint32_t> assign_layers(const Graph &whole, const RankOptions &ranks);

} // namespace ggufx::model
