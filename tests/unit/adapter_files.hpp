// Adapters for any model, made up: what tests of adapters share.
// SPDX-License-Identifier: MIT
#pragma once

#include "tiny_files.hpp"

struct LoraShape {
    uint64_t seed = 1;
    uint64_t rank = 4;
    double alpha = 8;    // 0: none
    bool by_rows = true; // of the embedding A holds the rows, as in the field's files
    bool one_a = false;  // of several matrices one A
    uint32_t type = GGUFX_TYPE_F32;
    std::string only{}; // part of the names of the tensors it is for; "" all matrices
};

// A file of an adapter for the matrices of a model.
std::string lora_bytes(const ggufx_file *model, const LoraShape &shape);
// A control vector of directions for all layers but the first.
std::string control_bytes(const ggufx_model *model, uint64_t seed);

// Is it multiplied by activations, or looked up, in any architecture?
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
// The file of a model with LoRA adapters in its weights, those that change as F32.
std::string merged_bytes(const ggufx_file *file, const Uses &uses);
