// Sampling defaults of a model's author (keys general.sampling.* of its file): used where the user
// gives nothing, shown by `info`. SPDX-License-Identifier: MIT
#pragma once

#include "floor/json.hpp"
#include "models/sampling.hpp"

namespace ggufx::cli {

struct ModelSampling {
    ggufx_sampling_facts facts = {};
    std::vector<int32_t> suppressed; // tokens that no sampler of the model may choose

    bool has(uint32_t key) const { return (facts.flags & key) != 0; } // GGUFX_SAMPLING_*
    bool is_empty() const { return facts.flags == 0 && facts.ignored == 0; }
    // Does its order of links have all of these (1u << GGUFX_LINK_*)? Where it names none, yes.
    bool orders(uint32_t links) const;
};

ModelSampling model_sampling(const ggufx_file *file);

// Options that the user did not give get the file's numbers; suppressed tokens get -infinity. The
// file's order of links is not used where it would turn off what the user asks for. Keys that are
// ignored are named on stderr.
void use_model_sampling(const Globals &globals, SamplingOptions &options,
                        const ModelSampling &model);

// By the names of the keys: {"temp": 0.6, "sequence": "top_k;temperature"}.
Json sampling_json(const ModelSampling &model);
std::string sampling_text(const ModelSampling &model); // "temp 0.6, top_k 20"

} // namespace ggufx::cli
