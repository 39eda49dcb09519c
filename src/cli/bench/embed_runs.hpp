// Measurements of bench model for embedding models: texts to embeddings.
// SPDX-License-Identifier: MIT
#pragma once

#include "bench/model_runs.hpp"

namespace ggufx::cli {

// Embeds texts of up to n_tokens tokens, `sequences` texts per call.
class EmbedRuns {
public:
    EmbedRuns(const ggufx_model *model, const ModelCase &which, const TextIds &text,
              unsigned n_tokens);

    Rates measure(const ModelTest &test, unsigned rounds, Progress &progress);

private:
    Embedder embedder_;
    const unsigned sequences_;
    size_t dimensions_;
    TextIds text_;
};

} // namespace ggufx::cli
