// Number of slices into which the ranks of a group cut a batch: a slice is computed while the
// columns of another one are sent.
// SPDX-License-Identifier: MIT
#pragma once

#include "graph/graph.hpp"

namespace ggufx::model {

constexpr uint32_t kMostSlices = 16;

struct Slicing {
    uint32_t most = 1;       // slices; 1: no batch is cut
    uint32_t least_rows = 1; // per slice
};
// Returns the slicing for batches of at most n_batch rows.
Slicing slicing_of(const Graph &graph, uint32_t n_ranks, uint32_t n_batch);
// Returns the number of slices for n_rows rows, under the options of the products.
uint32_t slices_of(const Graph &graph, const matmul::Options &options, size_t n_rows,
                   const Slicing &slicing);

} // namespace ggufx::model
