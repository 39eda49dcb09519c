// Tokens that a folder adds to its base vocabulary: added_tokens of tokenizer.json,
// added_tokens_decoder of tokenizer_config.json, added_tokens.json; and which of them are special.
// SPDX-License-Identifier: MIT
#pragma once

#include "convert/vocabulary.hpp"

#include <set>

namespace ggufx::cli {

// "NAME_token" of tokenizer_config.json, else of special_tokens_map.json; NULL where neither has it.
const std::string *special_text(ModelFolder &folder, const std::string &name);

// The tokens get their ids, texts and types. Throws Failure where two files disagree about an id,
// where the base vocabulary (of `base_file`) has another token for an id or another id for a text,
// and where the embedding has no row for one.
void add_tokens(Vocabulary &vocabulary, ModelFolder &folder, const std::string &base_file,
                uint64_t n_rows);

// The last tokens without a row, where they are known to have none in models of text alone.
void drop_tokens_without_row(Vocabulary &vocabulary, ModelFolder &folder, uint64_t n_rows);

} // namespace ggufx::cli
