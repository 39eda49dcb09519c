// SPDX-License-Identifier: MIT
#include "distributed/slices.hpp"

#include <algorithm>

namespace ggufx::model {

namespace {

// Tensor parallelism: two slices hide a message during a product. Each slice reads and unpacks all
// weights: 64 rows take some percent longer than 128, 32 rows a tenth (tests/bench/fit.md).
constexpr Slicing kByRows = {2, 64};
// Pipeline parallelism needs one slice per rank, and more, since ranks wait at both ends of a
// batch: (slices + ranks - 1) / slices. That is worth smaller slices.
constexpr Slicing kByRanks = {kMostSlices, 32};
constexpr uint32_t kPerRank = 4;
static_assert(kByRanks.least_rows >= kSliceBorder + matmul::kTileColumns);

} // namespace

// Keys that other layers read are appended for a whole batch before they are read. A slice that is
// ahead would see keys of the next one, and none of its pages before quantization.
Slicing slicing_of(const Graph &graph, uint32_t n_ranks, uint32_t n_batch) {
    if (n_ranks < 2 || graph.borders.empty() || graph.shares_keys) return {};
    Slicing out = graph.by_layers ? kByRanks : kByRows;
    if (graph.by_layers) out.most = std::min(out.most, kPerRank * n_ranks);
    out.most = std::max(std::min(out.most, n_batch / out.least_rows), 1u);
    return out;
}

} // namespace ggufx::model
