// Other keys and names for a file that is there: in its place where the room before the tensor data
// allows it.
// SPDX-License-Identifier: MIT
#pragma once

#include "gguf/file.hpp"
#include "gguf/writer.hpp"

namespace ggufx::gguf {

struct EditPlan {
    bool in_place = false;
    const char *why = ""; // not in place
    uint64_t reserve = 0; // bytes of room that stay, in "ggufx.reserve"
    bool has_reserve = false;
    uint64_t meta_end = 0; // without that key
};

// `writer` holds the keys and, in the file's order, the tensors of `file`, changed. In place it can
// be when the data stay where they are: same version, byte order, alignment, tensors, one file; and
// the keys and names fit before them. The key "ggufx.reserve" becomes what room is left.
EditPlan plan_edit(const Writer &writer, const File &file);

// Everything before the tensor data, exactly `file`'s number of bytes. Only for a plan that is in
// place.
void make_head(Vector<uint8_t> &out, const Writer &writer, const File &file, const EditPlan &plan);

} // namespace ggufx::gguf
