// Sampling defaults of a model's author (metadata keys general.sampling.*). They apply to options
// that the user does not give; `info` shows them.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/json.hpp"
#include "models/sampling.hpp"

namespace ggufx::cli {

struct ModelSampling {
    ggufx_sampling_facts facts = {};
    std::vector<int32_t> suppressed; // tokens that are never sampled

    bool has(uint32_t key) const { return (facts.flags & key) != 0; } // GGUFX_SAMPLING_*
    bool is_empty() const { return facts.flags == 0 && facts.ignored == 0; }
    // Returns whether the model's sampler order has all `samplers` (1u << GGUFX_SAMPLER_*), or is unset.
    bool orders(uint32_t samplers) const;
};

ModelSampling model_sampling(const ggufx_file *file);

// Sets options that the user did not give to the file's values; suppressed tokens get -infinity.
// The file's sampler order is not used if it would disable an option of the user. Ignored keys are
// listed on stderr.
void use_model_sampling(const Globals &globals, SamplingOptions &options,
                        const ModelSampling &model);

// Returns the defaults by key: {"temp": 0.6, "sequence": "top_k;temperature"}.
Json sampling_json(const ModelSampling &model);
std::string sampling_text(const ModelSampling &model); // "temp 0.6, top_k 20"

} // namespace ggufx::cli
