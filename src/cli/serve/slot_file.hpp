// What a place of the engine holds, in a file: who made it, which tokens by which way, and the
// library's snapshot behind it. A file is believed nowhere.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/prefix_index.hpp"

#include <string>

namespace ggufx::cli {

struct SlotContent {
    std::string fingerprint;              // of the server
    std::vector<PrefixIndex::Code> codes; // of the tokens
    std::string snapshot;
};

// Written beside and renamed, for its owner alone to read. Throws Failure; nothing is left then.
void write_slot_file(const std::string &path, const SlotContent &content);
// Throws Failure: what is wrong with the file, kInvalidFile where it is none.
SlotContent read_slot_file(const std::string &path);

} // namespace ggufx::cli
