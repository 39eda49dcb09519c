// Options of all commands that run a model, and creation of the model.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/device.hpp"
#include "models/ranks.hpp"

namespace ggufx::cli {

struct ModelMaking {
    std::vector<std::string> overrides; // "KEY=VALUE"
    GroupChoice group;
    DeviceChoice device;
    unsigned device_layers = 0; // number of last layers on the device, 0: all
};

void add_model_options(Command &sub, ModelMaking &making);
// Opens a model with its weights as --weights says; Ctrl-C cancels. flags: GGUFX_OPEN_*. If there are
// no huge pages for --weights huge, prints so on stderr.
File open_model(const ggufx_runtime *rt, const std::string &path, const ModelMaking &making,
                uint32_t flags = 0);
// Creates a model; Ctrl-C cancels. An invalid override is a usage error. --device auto falls back
// to the CPU if no device works, and prints the reason on stderr.
Model make_model(const ggufx_runtime *rt, const ggufx_file *file, const ModelMaking &making);

} // namespace ggufx::cli
