// Sampling and session of commands that generate text.
// SPDX-License-Identifier: MIT
#pragma once

#include "models/adapters.hpp"
#include "models/model_options.hpp"

namespace ggufx::cli {

struct SamplingOptions {
    float temperature = 0.8f;
    uint32_t top_k = 40;
    float top_p = 0.95f;
    float min_p = 0.05f;
    uint64_t seed = 1;                  // used by the sampler
    std::optional<uint64_t> given_seed; // by --seed
    // Options of sampler chains; these defaults have no effect.
    float typical_p = 1.0f, top_n_sigma = 0.0f;
    float xtc_probability = 0.0f, xtc_threshold = 0.1f;
    float dynatemp_range = 0.0f, dynatemp_exponent = 1.0f;
    float repeat_penalty = 1.0f, frequency_penalty = 0.0f, presence_penalty = 0.0f;
    uint32_t repeat_last_n = 64;
    float dry_multiplier = 0.0f, dry_base = 1.75f;
    uint32_t dry_allowed_length = 2, dry_penalty_last_n = 4096;
    std::vector<std::string> dry_breakers; // empty: the usual ones
    uint32_t mirostat = 0;
    float mirostat_tau = 5.0f, mirostat_eta = 0.1f;
    std::vector<std::string> biases;
    std::string samplers;                          // "top_k;temperature"; empty: the usual order
    std::vector<int32_t> suppressed;               // tokens that are never sampled
    std::vector<std::pair<uint32_t, Option>> keys; // options for which a model has defaults

    uint32_t given() const; // GGUFX_SAMPLING_* of the options that the user gave
};

void add_sampling_options(Command &sub, SamplingOptions &options);
// Sets options.seed to the given seed, or to a random one that is the same in all ranks of a group.
// Greedy sampling keeps its fixed seed. -v prints the seed on stderr.
void choose_seed(const Globals &globals, SamplingOptions &options, const GroupChoice &group);
// tokenizer may be null; the DRY sequence breakers have no effect then.
Sampler make_sampler(const ggufx_runtime *rt, uint32_t n_vocab, const SamplingOptions &options,
                     const ggufx_tokenizer *tokenizer);

// Returns a sampler for a chain. `p`: the parameter of some kinds.
ggufx_sampler_link sampler_link(uint32_t kind, float p = 0.0f);

// Session of a command that generates text, and options of its model.
struct SessionOptions {
    uint32_t n_context = 0; // 0 = the session's default
    std::string type_k = "f16", type_v = "f16";
    ModelMaking making;
    AdapterOptions adapters;
};

void add_session_options(Command &sub, SessionOptions &options);
Session make_session(const ggufx_runtime *rt, const ggufx_file *file, const ggufx_model *model,
                     const SessionOptions &options);

} // namespace ggufx::cli
