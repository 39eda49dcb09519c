// SPDX-License-Identifier: MIT
#include "distributed/slices.hpp"

#include "run/batch.hpp"

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

// The number of rows per expert decides between row-wise and tiled products, unless the options do.
// Other products are the same for every slice, since each has kTileColumns rows.
uint32_t slices_of(const Graph &graph, const matmul::Options &options, size_t n_rows,
                   const Slicing &slicing) {
    static_assert(kByRanks.least_rows >= kSliceBorder + matmul::kTileColumns);
    const bool is_one_definition = options.batch_invariant || options.tiles;
    if (slicing.most == 1 || (graph.counts_rows && !is_one_definition)) return 1;
    return static_cast<uint32_t>(std::clamp<size_t>(n_rows / slicing.least_rows, 1, slicing.most));
}

} // namespace ggufx::model
