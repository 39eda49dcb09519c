// Changes of a tokenizer.json to text before tokens are looked up: as keys where GGUF has them, else
// as notes.
// SPDX-License-Identifier: MIT
#pragma once

#include "convert/vocabulary.hpp"

namespace ggufx::cli {

// Reads the normalizer and, unless the vocabulary is byte-level (pre_tokenizer.hpp), the
// pre_tokenizer. `vocabulary` has its model and tokens.
void read_text_steps(const Json &tokenizer, Vocabulary &vocabulary);

} // namespace ggufx::cli
