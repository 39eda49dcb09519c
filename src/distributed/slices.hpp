// Number of slices into which the ranks of a group cut a batch: a slice is computed while the
// columns of another one are sent.
// SPDX-License-Identifier: MIT
#pragma once

#include "run/batch.hpp"

namespace ggufx::model {

constexpr uint32_t kMostSlices = 16;

// Returns the slicing for batches of at most n_batch rows.
Slicing slicing_of(const Graph &graph, uint32_t n_ranks, uint32_t n_batch);

} // namespace ggufx::model
