// precompiled_charsmap of sentencepiece: which texts become which others, as a double array over
// their bytes. Layout: u32 bytes of the array, the array of u32 units, then texts that end in NUL.
// A unit: label in bits 0-7 and 31, bit 8: a text ends here, offset in bits 10-30, times 256 if bit
// 9 is set. The child of node s by byte c is s ^ offset(s) ^ c if that has the label c; the unit at
// s ^ offset(s) of a node that ends a text has the place of the other text in its lower 31 bits.
// SPDX-License-Identifier: MIT
#pragma once

#include "gguf/file.hpp"

#include <string_view>

namespace ggufx::model {

class Charsmap {
public:
    // Of the file, or empty where it has none. Throws Error (vocab) / std::bad_alloc.
    explicit Charsmap(const gguf::File &file);

    // What the longest text that `text` begins with becomes; its length in *length, 0: nothing
    // does. Throws Error (vocab: an array that leads out of itself).
    std::string_view find(std::string_view text, size_t *length) const;

private:
    uint32_t unit(uint32_t index) const;

    Vector<uint32_t> units_;
    Vector<char> texts_;
};

} // namespace ggufx::model
