// Session of a generation before and after it: snapshots, and the logits of its tokens.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/output.hpp"
#include "models/generating_model.hpp"

namespace ggufx::cli {

// Loads a snapshot, for prompts after its tokens.
void resume(const GeneratingModel &generation, const std::string &path);
// Makes the session hold the first n_tokens tokens of prompt and output, and no others.
void hold(const GeneratingModel &generation, uint64_t n_tokens);
void save(const GeneratingModel &generation, const std::string &path); // called by one rank
// Writes the logits of the tokens from `first` on, except those of the last token of the output.
void write_logits(const GeneratingModel &generation, uint64_t first, Output &out);

} // namespace ggufx::cli
