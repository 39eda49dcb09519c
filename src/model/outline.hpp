// The numbers of a model of any architecture, as far as memory depends on them: those of a graph
// this library has are checked as the model would, others are read by the names of the format.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/arch/hparams.hpp"

namespace ggufx::model {

struct Outline {
    HyperParameters hyper; // n_vocab is set; n_ff counts the experts that a token uses
    uint64_t n_experts = 0, n_used_experts = 0; // 0: none
    bool has_graph = false;                     // this library can run it
    bool has_rope_freqs = false;
};

// Throws Error: what read_hyper_parameters does; shape (no vocabulary).
Outline read_outline(const gguf::File &file);

} // namespace ggufx::model
