// mistral3: Mistral Small 3, Ministral 3, Devstral 2. Queries grow with the logarithm of their
// position beyond the original context.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

void mistral3(Builder &b) {
    ArchConfig t;
    t.rope.style = RopeStyle::pairs;
    t.attention.scale = static_cast<float>(b.keys().number_or("attention.scale", 0, 1e6, 0));
    temper_by_keys(b.keys(), &t);
    standard(b, t);
}

} // namespace ggufx::model::arch
