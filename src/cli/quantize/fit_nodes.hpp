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

// The rank that takes most of the file as it is, of options.n_ranks.
uint32_t largest_rank(const ggufx_runtime *rt, const ggufx_file *file,
                      ggufx_estimate_options options);

// That a token waits for messages: each is handed on in ceil(log2 ranks) steps, and all that a rank
// is given comes over its one link.
double link_seconds(const ggufx_estimate_facts &facts, uint32_t n_ranks, const Link &link);

// The speeds of a rank become those of the group.
void add_link(ggufx_estimate_facts &facts, uint32_t n_ranks, const Link &link);

} // namespace ggufx::cli
