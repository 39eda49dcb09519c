// Text normalization and splitting in tokenizer.json: GGUF keys if they exist, else notes.
// SPDX-License-Identifier: MIT
#pragma once

#include "convert/vocabulary.hpp"

namespace ggufx::cli {

// Reads the normalizer and, unless the vocabulary is byte-level (pre_tokenizer.hpp), the
// pre_tokenizer. `vocabulary` has its model and tokens.
void read_text_steps(const Json &tokenizer, Vocabulary &vocabulary);

} // namespace ggufx::cli
