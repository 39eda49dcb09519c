// What bench model measures of a model that predicts no token: texts to vectors.
// SPDX-License-Identifier: MIT
#pragma once

#include "bench/model_runs.hpp"

#include <memory>

namespace ggufx::cli {

// Texts of up to n_tokens tokens, `sequences` of them in a call.
class EmbedRuns {
public:
    EmbedRuns(const ggufx_model *model, const ModelCase &which, const TextIds &text,
              unsigned n_tokens);

    Rates measure(const ModelTest &test, unsigned rounds, Progress &progress);

private:
    std::unique_ptr<ggufx_embedder, Destroyer<ggufx_embedder_destroy>> embedder_;
    const unsigned sequences_;
    size_t dimensions_;
    TextIds text_;
};

} // namespace ggufx::cli
