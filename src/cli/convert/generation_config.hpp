// generation_config.json: sampling defaults (keys general.sampling.*), suppressed tokens
// (tokenizer.ggml.suppress_tokens), end-of-generation tokens.
// SPDX-License-Identifier: MIT
#pragma once

#include "convert/vocabulary.hpp"

namespace ggufx::cli {

// Sets all keys except those of end-of-generation tokens. Settings without a key become warnings.
void set_generation(KeyWriter &keys, ModelFolder &folder, uint64_t n_tokens);

// Sets EOT and EOM to further ids of "eos_token_id" in generation_config.json, else in config.json.
void read_more_ends(ModelFolder &folder, const Json &config, Vocabulary &vocabulary);

// Returns the file for the keys of a GGUF; null without any of them.
Json generation_config(const ggufx_file *file);

} // namespace ggufx::cli
