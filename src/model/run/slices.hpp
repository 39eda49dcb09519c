// Into how many slices of rows the ranks of a group cut a batch, so that a slice is computed while the
// columns of another one are exchanged.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/graph/graph.hpp"

namespace ggufx::model {

constexpr uint32_t kMostSlices = 16;

struct Slicing {
    uint32_t most = 1;       // slices; 1: no batch is cut
    uint32_t least_rows = 1; // of a slice
};
// For batches of n_batch rows at most.
Slicing slicing_of(const Graph &graph, uint32_t n_ranks, uint32_t n_batch);
// Of a batch of n_rows rows, under the options of its products.
uint32_t slices_of(const Graph &graph, const matmul::Options &options, size_t n_rows,
                   const Slicing &slicing);

} // namespace ggufx::model
