// Whole layers dealt to the ranks of a group, in order, by the bytes of their weights and how fast each
// rank is.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/graph/graph.hpp"
#include "model/group/rank_file.hpp"

namespace ggufx::model {

// The first layer of each rank and their number behind the last: [n_ranks + 1]. The longest time of a
// rank is as short as it can be, the last one's with the output matrix; layers that read another's keys
// stay with it. A rank may have none. Throws std::bad_alloc.
Vector<uint32_t> assign_layers(const Graph &whole, const RankOptions &ranks);

} // namespace ggufx::model
