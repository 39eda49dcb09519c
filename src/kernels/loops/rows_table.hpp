// Table of all row operations over the primitives of a set.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/rows_state.hpp"
#include "kernels/loops/rows_values.hpp"

namespace ggufx {
namespace kernels {
namespace {

template <class V>
constexpr RowKernels kRowsOf = {
    .rms = row_rms<V>,
    .layer_norm = row_layer_norm<V>,
    .l2 = row_l2<V>,
    .rotate_pairs = row_rotate_pairs<V>,
    .rotate_halves = row_rotate_halves<V>,
    .add = row_add<V>,
    .add_scaled = row_add_scaled<V>,
    .multiply = row_multiply<V>,
    .scale = row_scale<V>,
    .clamp = row_clamp<V>,
    .cap = row_cap<V>,
    .silu = row_activate<V, Silu>,
    .gelu = row_activate<V, Gelu>,
    .relu2 = row_activate<V, Relu2>,
    .oai = row_oai<V>,
    .sigmoid = row_sigmoid<V>,
    .softmax = row_softmax<V>,
    .exp_from = row_exp_from<V>,
    .maxima = row_maxima<V>,
    .conv = row_conv<V>,
    .delta = row_delta<V>,
    .scan = row_scan<V>,
    .scan_each = row_scan_each<V>,
};

} // namespace
} // namespace kernels
} // namespace ggufx
