// Estimates for several machines that run one model (`ggufx fit --nodes 4 --link 10g`). The library
// estimates the memory of each rank; the time of messages follows from the link.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/api.hpp"

#include <string>
#include <vector>

namespace ggufx::cli {

// Seconds per message, and bandwidth.
struct Link {
    const char *name, *what;
    double seconds, bytes_per_second;
};

std::vector<std::string> link_names();
const Link *find_link(const std::string &name); // null if it is unknown

// Memory and messages of options.n_ranks ranks for the file as it is.
struct Nodes {
    uint32_t largest = 0;    // the rank that needs most memory
    uint64_t sent_bytes = 0; // bytes of all messages per token, each counted once
};
Nodes nodes_of(const ggufx_runtime *rt, const ggufx_file *file, ggufx_estimate_options options);

// Returns the seconds per token spent on messages. Each message takes ceil(log2 ranks) steps, and
// all bytes that a rank receives pass through its link.
double link_seconds(const ggufx_estimate_facts &facts, uint32_t n_ranks, const Link &link);

// Converts the facts of a rank with these options to those of the group; speeds are those of all
// ranks. With GGUFX_ESTIMATE_LAYERS, a token passes through one rank after another, and each reads
// its part of the bytes that one machine reads. received_bytes then includes all messages, which
// are sequential too.
void add_link(ggufx_estimate_facts &facts, const ggufx_runtime *rt, const ggufx_file *file,
              const ggufx_estimate_options &options, const Nodes &nodes, const Link &link);

} // namespace ggufx::cli
