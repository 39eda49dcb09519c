// How byte-level BPE vocabularies cut text before they merge: tokenizer.json's steps, and the names
// that tokenizer.ggml.pre has for them.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/json.hpp"

namespace ggufx::cli {

// A pre-tokenizer or post-processor of tokenizer.json: itself, or the steps of a sequence.
std::vector<const Json *> tokenizer_steps(const Json *value, const char *list);
bool has_type(const Json &value, const char *name);

// The name for what a tokenizer.json does; empty where it is none of those known.
std::string pre_name_of(const Json &tokenizer);
// "gpt-2, llama-bpe, ...": all that pre_name_of may say.
std::string known_pre_names();

// The other way round; null for a name that is not known.
Json pre_tokenizer_json(const std::string &pre);
// Does a vocabulary of this name take whole words before any merge?
bool ignores_merges(const std::string &pre);

} // namespace ggufx::cli
