// Metadata edits of an existing file, in place if the room before the tensor data suffices.
// SPDX-License-Identifier: MIT
#pragma once

#include "gguf/file.hpp"
#include "gguf/writer.hpp"

namespace ggufx::gguf {

struct EditPlan {
    bool in_place = false;
    const char *why = ""; // reason if not in place
    uint64_t reserve = 0; // bytes left in "ggufx.reserve"
    bool has_reserve = false;
    uint64_t meta_end = 0; // end of the directory without that key
};

// Plans an edit. `writer` holds the changed keys and, in the file's order, the tensors of `file`.
// An edit is possible in place under these conditions:
//  - one file with the same version, byte order, alignment and tensors,
//  - the keys and names fit before the data, which stay where they are.
//
// The key "ggufx.reserve" takes the remaining room.
EditPlan plan_edit(const Writer &writer, const File &file);

// Writes everything before the tensor data to `out`, exactly as many bytes as in `file`. Requires
// plan.in_place.
void make_head(Vector<uint8_t> &out, const Writer &writer, const File &file, const EditPlan &plan);

} // namespace ggufx::gguf
