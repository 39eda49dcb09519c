// LoRA adapters and control vectors that a command applies to its model.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/api.hpp"
#include "common/command_line.hpp"
#include "common/json.hpp"

namespace ggufx::cli {

struct AdapterOptions {
    std::vector<std::string> loras, controls; // "FILE" or "FILE:SCALE"
    std::string layers;                       // layers of control vectors: "FIRST-LAST"
    int32_t io = GGUFX_IO_AUTO;               // how the files are loaded: GGUFX_IO_*
};

std::vector<std::string> adapter_files(const AdapterOptions &options); // their paths
void add_lora_option(Command &sub, AdapterOptions &options);
void add_adapter_options(Command &sub, AdapterOptions &options); // LoRA and control vectors

using Adapter = std::unique_ptr<ggufx_adapter, Destroyer<ggufx_adapter_destroy>>;

// Adapters loaded for a model: LoRA adapters in the given order, then control vectors.
class Adapters {
public:
    Adapters() = default; // none
    Adapters(const ggufx_runtime *rt, const ggufx_model *model, const AdapterOptions &options);

    const std::vector<ggufx_adapter_use> &uses() const { return uses_; }
    void give_to(ggufx_session *session) const; // for all its sequences
    void give_to(ggufx_embedder *embedder) const;
    Json job() const; // identifies a job by its adapters

private:
    void add(const ggufx_runtime *rt, const ggufx_model *model, const std::string &given,
             const ggufx_adapter_options &options, int32_t io);

    std::vector<Adapter> adapters_;
    std::vector<ggufx_adapter_use> uses_;
};

} // namespace ggufx::cli
