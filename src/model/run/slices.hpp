// Into how many slices of rows the ranks of a group cut a batch, so that a slice is computed while the
// columns of another one are exchanged.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/program/program.hpp"

namespace ggufx::model {

constexpr uint32_t kMostSlices = 16;

// Slices of a batch of n_batch rows at most; 1: it is never cut, nothing is to be had for that.
uint32_t most_slices(const Program &program, uint32_t n_ranks, uint32_t n_batch);
// Of one of n_rows rows, under the options of its products; most: what most_slices said.
uint32_t slices_of(const Program &program, const matmul::Options &options, size_t n_rows,
                   uint32_t most);

} // namespace ggufx::model
