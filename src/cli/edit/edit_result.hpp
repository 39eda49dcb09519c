// What an edit of a model's keys and names did, and how it is told.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/tool.hpp"

namespace ggufx::cli {

// One line of the preview: a key's value, empty types where there is none; without a key: a name.
struct KeyChange {
    std::string key;
    std::string old_type, old_text;
    std::string new_type, new_text;
};

// Bytes of the file and what was, or would be, written.
struct EditResult {
    uint64_t n_bytes = 0, n_written = 0, reserve = 0;
    bool in_place = false;
    bool recovered = false; // an interrupted edit was finished first
};

void print_result(const Globals &globals, const std::string &file, const std::string &target,
                  const std::vector<KeyChange> &list, const EditResult &result, bool dry_run);

} // namespace ggufx::cli
