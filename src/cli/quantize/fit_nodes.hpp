// The paper model of several machines that run one model (`ggufx fit --nodes 4 --link 10g`): what a
// rank of a group takes is the library's to say, how long messages take follows from the link.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/api.hpp"

#include <string>
#include <vector>

namespace ggufx::cli {

// What one message costs, and what its bytes do.
struct Link {
    const char *name, *what;
    double seconds, bytes_per_second;
};

std::vector<std::string> link_names();
const Link *find_link(const std::string &name); // null where there is none

// Of the file as it is, by options.n_ranks.
struct Nodes {
    uint32_t largest = 0;    // the rank that takes most
    uint64_t sent_bytes = 0; // of all messages of a token, each once
};
Nodes nodes_of(const ggufx_runtime *rt, const ggufx_file *file, ggufx_estimate_options options);

// That a token waits for messages: each is handed on in ceil(log2 ranks) steps, and all that a rank
// is given comes over its one link.
double link_seconds(const ggufx_estimate_facts &facts, uint32_t n_ranks, const Link &link);

// The facts of a rank, by these options, become those of the group: speeds are of all. Of whole layers a
// token goes through one rank after another, each with its own part of what one machine reads, and
// received_bytes are those of all messages, which come one after another too.
void add_link(ggufx_estimate_facts &facts, const ggufx_runtime *rt, const ggufx_file *file,
              const ggufx_estimate_options &options, const Nodes &nodes, const Link &link);

} // namespace ggufx::cli
