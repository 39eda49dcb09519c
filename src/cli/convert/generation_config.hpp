// generation_config.json: sampling defaults (keys general.sampling.*), tokens that are never chosen
// (tokenizer.ggml.suppress_tokens), tokens that end a generation.
// SPDX-License-Identifier: MIT
#pragma once

#include "convert/vocabulary.hpp"

namespace ggufx::cli {

// Sets all keys except those of tokens that end a generation. Settings without a key become warnings.
void set_generation(KeyWriter &keys, ModelFolder &folder, uint64_t n_tokens);

// Further ids of "eos_token_id" as EOT and EOM; of config.json where generation_config.json has
// none.
void read_more_ends(ModelFolder &folder, const Json &config, Vocabulary &vocabulary);

// The file that gives the same keys; null where a GGUF has none of them.
Json generation_config(const ggufx_file *file);

} // namespace ggufx::cli
