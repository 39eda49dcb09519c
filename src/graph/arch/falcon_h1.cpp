// falcon-h1: parallel attention and Mamba-2 in each layer.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

void falcon_h1(Builder &b) {
    ArchConfig t;
    t.recurrent.kind = Recurrent::mamba2;
    t.recurrent.both_mixers = t.recurrent.plain = true;
    t.attention.scale = static_cast<float>(b.keys().number_or("attention.scale", 0, 1e6, 0));
    standard(b, t);
}

} // namespace ggufx::model::arch
