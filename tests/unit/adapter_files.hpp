// Shared by the tests of adapters: generated adapters for any model.
// SPDX-License-Identifier: MIT
#pragma once

#include "tiny_files.hpp"

struct LoraShape {
    uint64_t seed = 1;
    uint64_t rank = 4;
    double alpha = 8;    // 0: no lora.alpha
    bool by_rows = true; // row order of A for embeddings as in the usual files
    bool one_a = false;  // one A shared by several matrices
    uint32_t type = GGUFX_TYPE_F32;
    std::string only{}; // part of the target tensors' names; "" all matrices
};

// Returns the file of a LoRA adapter for the matrices of a model.
std::string lora_bytes(const ggufx_file *model, const LoraShape &shape);
// Returns the file of a control vector with directions for all layers except the first.
std::string control_bytes(const ggufx_model *model, uint64_t seed);

// Returns whether a tensor is multiplied by activations, or looked up, in any architecture.
bool is_matrix(const std::string &name, const std::vector<uint64_t> &ne);

class Adapter {
public:
    Adapter(const ggufx_model *model, const std::string &bytes,
            const ggufx_adapter_options *options = nullptr);
    Adapter(const Adapter &) = delete;
    ~Adapter();

    ggufx_adapter *handle() const { return handle_; }
    ggufx_adapter_facts facts() const;

private:
    std::string bytes_;
    ggufx_file *file_ = nullptr;
    ggufx_adapter *handle_ = nullptr;
};

using Uses = std::vector<ggufx_adapter_use>;

void give(ggufx_session *session, uint32_t sequence, const Uses &uses);
// Returns the file of a model with LoRA adapters merged into its weights; changed tensors are F32.
std::string merged_bytes(const ggufx_file *file, const Uses &uses);
