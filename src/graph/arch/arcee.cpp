// arcee (AFM): llama with a feed-forward network of relu^2 without a gate.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

void arcee(Builder &b) {
    ArchConfig t;
    t.rope.style = RopeStyle::pairs;
    t.ffn.plain = true;
    t.ffn.act = Act::relu2;
    standard(b, t);
}

} // namespace ggufx::model::arch
