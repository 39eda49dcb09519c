// Tokens that a model folder adds to its base vocabulary, and which of them are special. Sources:
// added_tokens of tokenizer.json, added_tokens_decoder of tokenizer_config.json, added_tokens.json.
// SPDX-License-Identifier: MIT
#pragma once

#include "convert/vocabulary.hpp"

#include <set>

namespace ggufx::cli {

// Returns "NAME_token" of tokenizer_config.json, else of special_tokens_map.json, else NULL.
const std::string *special_text(ModelFolder &folder, const std::string &name);

// Sets ids, texts and types of the added tokens. Throws Failure if:
// - two files disagree about an id;
// - the base vocabulary (of `base_file`) has another token for an id, or another id for a text;
// - the embedding has no row for a token.
void add_tokens(Vocabulary &vocabulary, ModelFolder &folder, const std::string &base_file,
                uint64_t n_rows);

// Removes last tokens without an embedding row that are known to lack one in text-only models.
void drop_tokens_without_row(Vocabulary &vocabulary, ModelFolder &folder, uint64_t n_rows);

} // namespace ggufx::cli
