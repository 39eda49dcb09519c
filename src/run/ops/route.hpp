// MoE router: experts of a token and their weights.
// SPDX-License-Identifier: MIT
#pragma once

#include "graph/op.hpp"
#include "kernels/rows.hpp"

namespace ggufx::model {

// scores [experts], overwritten; bias [experts] or null; ids and weights [used].
void route(const kernels::RowKernels &rows, const op::Route &s, float *scores, const float *bias,
           uint32_t *ids, float *weights);

} // namespace ggufx::model
