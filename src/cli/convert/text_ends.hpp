// Special tokens around a text: the post_processor of tokenizer.json as add_bos_token,
// add_eos_token and add_sep_token.
// SPDX-License-Identifier: MIT
#pragma once

#include "convert/vocabulary.hpp"

namespace ggufx::cli {

TextEnds text_ends_of(const Json &tokenizer);

// Sets the flags, and ids that nothing else gave. Tokens that no key adds become notes. `embeds`:
// an embedding model, which generates no text: a last token other than EOS becomes EOS, and EOS
// becomes EOT.
void set_text_ends(Vocabulary &vocabulary, bool embeds);

} // namespace ggufx::cli
