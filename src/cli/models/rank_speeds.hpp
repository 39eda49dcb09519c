// Speeds of the ranks of a group, by which rows or layers are partitioned.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/api.hpp"

#include <string>
#include <vector>

namespace ggufx::cli {

// Parses "3,1,2", one number per rank. Throws Failure (usage).
std::vector<uint32_t> parse_speeds(const std::string &text);

// Collective: all ranks read memory at the same time, with the threads that they will use. Memory
// bandwidth determines most of the time per token. Throws Failure if a rank reports a speed that
// the library does not accept.
std::vector<uint32_t> measure_speeds(const Globals &globals, const ggufx_group &group,
                                     uint32_t timeout_ms);

} // namespace ggufx::cli
