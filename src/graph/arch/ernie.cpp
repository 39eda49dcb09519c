// ernie4_5, ernie4_5-moe: llama's layers; experts from some layer on, with a selection bias.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

void ernie4_5(Builder &b) {
    ArchConfig t;
    t.rope.style = RopeStyle::pairs;
    standard(b, t);
}

} // namespace ggufx::model::arch
