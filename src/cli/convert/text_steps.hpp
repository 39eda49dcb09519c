// How a tokenizer.json changes text before tokens are looked for: as keys where there are some,
// else as notes.
// SPDX-License-Identifier: MIT
#pragma once

#include "convert/vocabulary.hpp"

namespace ggufx::cli {

// Of the normalizer and, where the vocabulary is not byte-level, of the pre_tokenizer: those are
// pre_tokenizer.hpp's. `vocabulary` has its model and tokens.
void read_text_steps(const Json &tokenizer, Vocabulary &vocabulary);

} // namespace ggufx::cli
