// The result of editing a model's keys and names, and how it is printed.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/tool.hpp"

namespace ggufx::cli {

// One line of the preview: a key's value, or a name without a key. Absent values have empty types.
struct KeyChange {
    std::string key;
    std::string old_type, old_text;
    std::string new_type, new_text;
};

// Size of the file, and the bytes that were or would be written.
struct EditResult {
    uint64_t n_bytes = 0, n_written = 0, reserve = 0;
    bool in_place = false;
    bool recovered = false; // an interrupted edit was finished first
};

void print_result(const Globals &globals, const std::string &file, const std::string &target,
                  const std::vector<KeyChange> &list, const EditResult &result, bool dry_run);

} // namespace ggufx::cli
