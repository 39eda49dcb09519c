// llama: LLaMA 1 to 3, Mistral 7B, Mixtral and models of the same architecture.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

void llama(Builder &b) {
    ArchConfig t;
    t.rope.style = RopeStyle::pairs;
    t.attention.scale = static_cast<float>(b.keys().number_or("attention.scale", 0, 1e6, 0));
    standard(b, t);
}

} // namespace ggufx::model::arch
