// The token ids of a test of bench model, independent of the model's predictions.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ggufx::cli {

using TextIds = std::vector<int32_t>;
TextIds random_text(size_t n, uint32_t n_vocab);
// Returns spans of 60 earlier tokens, each followed by 3 to 10 new ones: a text that is edited.
TextIds repeating_text(size_t n, uint32_t n_vocab);
// Appends n tokens of a text, rotated so that each sequence begins with another part.
void add_turned(TextIds &to, const TextIds &text, size_t sequence, size_t n);

} // namespace ggufx::cli
