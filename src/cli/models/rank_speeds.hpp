// How fast the ranks of a group are: what their shares of the rows are dealt by.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/api.hpp"

#include <string>
#include <vector>

namespace ggufx::cli {

// "3,1,2", one number for each rank. Throws Failure (usage).
std::vector<uint32_t> parse_speeds(const std::string &text);

// A call of all ranks: each reads memory for a moment, with as many threads as it will have, at the
// same time as the others. What a token takes is mostly that. What the others say is not believed
// beyond what the library takes.
std::vector<uint32_t> measure_speeds(const Globals &globals, const ggufx_group &group,
                                     uint32_t timeout_ms);

} // namespace ggufx::cli
