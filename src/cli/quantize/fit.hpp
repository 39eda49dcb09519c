// Data and output of `ggufx fit`.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/api.hpp"
#include "quantize/fit_nodes.hpp"

namespace ggufx::cli {

struct FitOptions {
    std::string model, shape; // exactly one is set
    std::string ram, margin, vram, kv, type;
    std::vector<unsigned> contexts; // empty: 8192, or the trained context if it is smaller
    unsigned slots = 1, batch = 0;
    float bandwidth = 0; // GB/s
    unsigned nodes = 0;  // number of machines; 0: one
    std::string link;    // between the machines
    bool pipeline = false;
    bool with_imatrix = false, allow_requantize = false;
};

struct FitReport {
    std::string name;
    uint64_t memory_bytes = 0;  // per node; 0: no limit
    uint64_t margin_bytes = 0;  // reserved for the system and other programs
    uint64_t device_bytes = 0;  // memory of a device; 0: none
    const Link *link = nullptr; // several nodes; figures below are of the node that takes most
    unsigned n_nodes = 1;
    std::vector<ggufx_estimate_facts> candidates;
    std::optional<ggufx_estimate_facts> recommended;
    std::string refusal; // why nothing is recommended
};

std::string recipe_name(const ggufx_estimate_facts &facts); // "Q4_K_M", "as it is"

std::string margin_text(const FitReport &report); // only with a memory limit

void print_fit(const Globals &globals, const FitOptions &options, const FitReport &report);

} // namespace ggufx::cli
