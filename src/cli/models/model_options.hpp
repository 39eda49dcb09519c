// How a verb makes a model of its file: what every verb that runs one offers.
// SPDX-License-Identifier: MIT
#pragma once

#include "models/ranks.hpp"

namespace ggufx::cli {

struct ModelMaking {
    std::vector<std::string> overrides; // "KEY=VALUE"
    GroupChoice group;
};

void add_model_options(Command &sub, ModelMaking &making);
// A wrong override is a usage error. Can be interrupted.
Model make_model(const ggufx_runtime *rt, const ggufx_file *file, const ModelMaking &making);

} // namespace ggufx::cli
