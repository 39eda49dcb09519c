// Sampling and session of commands that generate text.
// SPDX-License-Identifier: MIT
#pragma once

#include "models/adapters.hpp"
#include "models/model_options.hpp"

namespace ggufx::cli {

constexpr uint32_t GGUFX_SAMPLING_NONE = 0; // KEY of an option without a key, in samplers.def

// Numbers of samplers.def, and others.
struct SamplingOptions {
#define FLOAT(id, member, least, most, instead_of_0, field, value, KEY, long_name, help)           \
    float field = value;
#define COUNT(id, member, most, field, value, KEY, long_name, help) uint32_t field = value;
#include "sampling/samplers.def"
    uint64_t seed = 1;                     // used by the sampler
    std::optional<uint64_t> given_seed;    // by --seed
    std::vector<std::string> dry_breakers; // empty: the usual ones
    std::vector<std::string> biases;
    std::string samplers;                          // "top_k;temperature"; empty: the usual order
    std::vector<int32_t> suppressed;               // tokens that are never sampled
    std::vector<std::pair<uint32_t, Option>> keys; // options for which a model has defaults

    uint32_t given() const; // GGUFX_SAMPLING_* of the options that the user gave
};

// Adds an option for a number. The help ends with the default, which is that of the model if there is
// a key of it. (sampling.cpp)
Option add_number(Command &sub, const char *name, float &value, const char *help, uint32_t key,
                  double least, double most);
Option add_number(Command &sub, const char *name, uint32_t &value, const char *help, uint32_t key,
                  double least, double most);
void add_sampling_options(Command &sub, SamplingOptions &options);
// Sets options.seed to the given seed, or to a random one that is the same in all ranks of a group.
// Greedy sampling keeps its fixed seed. -v prints the seed on stderr.
void choose_seed(const Globals &globals, SamplingOptions &options, const GroupChoice &group);
// tokenizer may be null; the DRY sequence breakers have no effect then.
Sampler make_sampler(const ggufx_runtime *rt, uint32_t n_vocab, const SamplingOptions &options,
                     const ggufx_tokenizer *tokenizer);

const char *sampler_name(ggufx_sampler_kind kind); // for --samplers
// Returns an empty chain.
Sampler make_chain(const ggufx_runtime *rt, uint32_t n_vocab, uint64_t seed);

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
