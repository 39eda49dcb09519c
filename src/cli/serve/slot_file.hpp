// Slot snapshot file: server fingerprint, tokens with their compute paths, then the library's
// snapshot. All content is validated when read.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/prefix_index.hpp"

#include <string>

namespace ggufx::cli {

struct SlotContent {
    std::string fingerprint;              // server fingerprint
    std::vector<PrefixIndex::Code> codes; // tokens with their compute paths
    std::string snapshot;
};

uint64_t slot_file_bytes(const SlotContent &content); // size of its file
// Writes a temporary file and renames it; only its owner can read it. Throws Failure after deleting
// the temporary file.
void write_slot_file(const std::string &path, const SlotContent &content);
// Throws Failure with the fault of the file, with kInvalidFile if it is not a slot file.
SlotContent read_slot_file(const std::string &path);

} // namespace ggufx::cli
