// Pre-tokenizers of byte-level BPE vocabularies: the steps of tokenizer.json, and their names in
// tokenizer.ggml.pre.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/json.hpp"

namespace ggufx::cli {

// Returns a pre-tokenizer or post-processor of tokenizer.json: itself, or the steps of a sequence.
std::vector<const Json *> tokenizer_steps(const Json *value, const char *list);
bool has_type(const Json &value, const char *name);

// Returns the name for the steps of a tokenizer.json; empty if they are unknown.
std::string pre_name_of(const Json &tokenizer);
// Returns "gpt-2, llama-bpe, ...": all names that pre_name_of() may return.
std::string known_pre_names();

// Returns the steps of a name; null if the name is unknown.
Json pre_tokenizer_json(const std::string &pre);
// Returns whether a vocabulary of this name looks up whole words before any merge.
bool ignores_merges(const std::string &pre);

} // namespace ggufx::cli
