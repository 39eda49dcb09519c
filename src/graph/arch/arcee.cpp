// arcee (AFM): llama with a feed-forward network of relu^2 without a gate.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

void arcee(Builder &b) {
    ArchConfig t;
    t.rope = RopeStyle::pairs;
    t.plain_ffn = true;
    t.act = Act::relu2;
    standard(b, t);
}

} // namespace ggufx::model::arch
