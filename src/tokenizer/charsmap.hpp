// precompiled_charsmap of sentencepiece: a map from texts to replacements, as a double array over
// their bytes.
// Layout: u32 size of the array in bytes, the array of u32 units, then NUL-terminated texts.
// A unit: label in bits 0-7 and 31; bit 8: a text ends here; offset in bits 10-30, times 256 if bit
// 9 is set.
// The child of node s by byte c is s ^ offset(s) ^ c if that has the label c. If a text ends at
// node s, the unit at s ^ offset(s) has the position of its replacement in the lower 31 bits.
// SPDX-License-Identifier: MIT
#pragma once

#include "gguf/file.hpp"

#include <string_view>

namespace ggufx::model {

class Charsmap {
public:
    // Reads the map of a file; empty if it has none. Throws Error (vocab) / std::bad_alloc.
    explicit Charsmap(const gguf::File &file);

    // Returns the replacement of the longest key that `text` starts with; its length in *length, 0:
    // no key matches. Throws Error (vocab: an index outside of the array).
    std::string_view find(std::string_view text, size_t *length) const;

private:
    uint32_t unit(uint32_t index) const;

    Vector<uint32_t> units_;
    Vector<char> texts_;
};

} // namespace ggufx::model
