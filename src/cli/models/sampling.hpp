// How a verb that writes text goes on from a model: its sampler and its session.
// SPDX-License-Identifier: MIT
#pragma once

#include "models/model_options.hpp"

namespace ggufx::cli {

struct SamplingOptions {
    float temperature = 0.8f;
    uint32_t top_k = 40;
    float top_p = 0.95f;
    float min_p = 0.05f;
    uint64_t seed = 1;
};

void add_sampling_options(Command &sub, SamplingOptions &options);
Sampler make_sampler(const ggufx_runtime *rt, uint32_t n_vocab, const SamplingOptions &options);

// The session of a verb that writes text, and how its model is made.
struct SessionOptions {
    uint32_t n_context = 0; // 0 = the default of sessions
    std::string type_k = "f16", type_v = "f16";
    ModelMaking making;
};

void add_session_options(Command &sub, SessionOptions &options);
Session make_session(const ggufx_runtime *rt, const ggufx_file *file, const ggufx_model *model,
                     const SessionOptions &options);

} // namespace ggufx::cli
