// How a verb makes a model of its file: what every verb that runs one offers.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/device.hpp"
#include "models/ranks.hpp"

namespace ggufx::cli {

struct ModelMaking {
    std::vector<std::string> overrides; // "KEY=VALUE"
    GroupChoice group;
    DeviceChoice device;
    unsigned device_layers = 0; // the last ones, 0: all
};

void add_model_options(Command &sub, ModelMaking &making);
// A wrong override is a usage error. Can be interrupted. With --device auto the processor is enough where
// no device will do, and stderr says why.
Model make_model(const ggufx_runtime *rt, const ggufx_file *file, const ModelMaking &making);

} // namespace ggufx::cli
