// deepseek2: DeepSeek V2, V3, R1, Kimi K2, GLM-4.7-Flash, Mistral Large 3, Small 4 (mistral4).
// Multi-head latent attention, grouped experts; Mistral's queries grow with the logarithm of their
// position.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

void deepseek2(Builder &b) {
    ArchConfig t;
    t.experts.normalize = false;
    // GLM-4.7-Flash was converted without the key of its gating function.
    const uint32_t layers = b.n_layers();
    if ((layers == 47 || layers == 48) && b.binder().rows_of({kNoLayer, "token_embd"}) == 154880)
        t.experts.gating = Gating::sigmoid;
    temper_by_keys(b.keys(), &t);
    standard(b, t);
}

} // namespace ggufx::model::arch
