// SPDX-License-Identifier: MIT
#include "model/run/slices.hpp"

#include "model/run/batch.hpp"

#include <algorithm>

namespace ggufx::model {

namespace {

// Two slices hide a message behind a product. Each reads and unpacks all weights: of 64 rows that takes
// some percent longer than of 128, of 32 rows a tenth (tests/bench/fit.md).
constexpr Slicing kByRows = {2, 64};
// Of a graph whose layers go from rank to rank each rank wants one, and some more, since at both ends of a
// batch ranks wait: (slices + ranks - 1) / slices. That is worth more.
constexpr Slicing kByRanks = {kMostSlices, 32};
constexpr uint32_t kPerRank = 4;

} // namespace

// Keys that other layers read are appended for a whole batch before any of them asks: a slice that is
// ahead would see those of the next one, and none of its pages as it was.
Slicing slicing_of(const Graph &graph, uint32_t n_ranks, uint32_t n_batch) {
    if (n_ranks < 2 || graph.borders.empty() || graph.shares_keys) return {};
    Slicing out = graph.by_layers ? kByRanks : kByRows;
    if (graph.by_layers) out.most = std::min(out.most, kPerRank * n_ranks);
    out.most = std::max(std::min(out.most, n_batch / out.least_rows), 1u);
    return out;
}

// How many rows go to an expert decides its definition of a product, unless the options do. Other
// products have the same one for every slice as for all, since each has kTileColumns rows.
uint32_t slices_of(const Graph &graph, const matmul::Options &options, size_t n_rows,
                   const Slicing &slicing) {
    static_assert(kByRanks.least_rows >= kSliceBorder + matmul::kTileColumns);
    const bool is_one_definition = options.batch_invariant || options.tiles;
    if (slicing.most == 1 || (graph.counts_rows && !is_one_definition)) return 1;
    return static_cast<uint32_t>(std::clamp<size_t>(n_rows / slicing.least_rows, 1, slicing.most));
}

} // namespace ggufx::model
