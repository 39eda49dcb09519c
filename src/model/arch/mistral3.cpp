// mistral3: Mistral Small 3, Ministral 3, Devstral 2. Queries grow with the logarithm of their
// position beyond the original context.
// SPDX-License-Identifier: MIT
#include "model/arch/architectures.hpp"

namespace ggufx::model::arch {

void mistral3(Builder &b) {
    Traits t;
    t.rope = RopeStyle::pairs;
    t.attention_scale = static_cast<float>(b.keys().number_or("attention.scale", 0, 1e6, 0));
    t.temperature_scale =
        static_cast<float>(b.keys().number_or("attention.temperature_scale", 0, 1e6, 0));
    if (t.temperature_scale != 0)
        t.temperature_floor = static_cast<float>(
            b.keys().count("rope.scaling.original_context_length", {1, kMaxContext}));
    standard(b, t);
}

} // namespace ggufx::model::arch
