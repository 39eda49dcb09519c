// What `ggufx fit` works out and shows.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/api.hpp"
#include "quantize/fit_nodes.hpp"

namespace ggufx::cli {

struct FitOptions {
    std::string model, shape; // one of them
    std::string ram, margin, vram, kv, type;
    std::vector<unsigned> contexts; // empty: 8192, or the trained one where it is less
    unsigned slots = 1, batch = 0;
    float bandwidth = 0; // GB/s
    unsigned nodes = 0;  // machines; 0: one
    std::string link;    // between them
    bool pipeline = false;
    bool with_imatrix = false, allow_requantize = false;
};

struct FitReport {
    std::string name;
    uint64_t memory_bytes = 0;  // 0: no limit; of one node
    uint64_t margin_bytes = 0;  // of these, for the system and other programs
    uint64_t device_bytes = 0;  // of a device, 0: none
    const Link *link = nullptr; // of several nodes: what follows is of that which takes most
    unsigned n_nodes = 1;
    std::vector<ggufx_estimate_facts> candidates;
    std::optional<ggufx_estimate_facts> recommended;
    std::string refusal; // why nothing is
};

std::string recipe_name(const ggufx_estimate_facts &facts); // "Q4_K_M", "as it is"

std::string margin_text(const FitReport &report); // where there is a limit

void print_fit(const Globals &globals, const FitOptions &options, const FitReport &report);

} // namespace ggufx::cli
