// exaone4: norms on outputs; the 32B model has windows in three of four layers, and only those turn.
// SPDX-License-Identifier: MIT
#include "model/arch/architectures.hpp"

namespace ggufx::model::arch {

void exaone4(Builder &b) {
    Traits t;
    t.order = NormOrder::after_output;
    t.needs = {"attn_q_norm.weight", "attn_k_norm.weight"};
    const uint32_t usual = b.n_layers() == 64 ? 4096 : 0; // of files without the key
    t.window = b.keys().count_or("attention.sliding_window", {0, kMaxContext}, usual);
    t.has_window = all_but_last_of(4);
    if (t.window) t.rotates = t.has_window;
    standard(b, t);
}

} // namespace ggufx::model::arch
