// UTF-8 decoding and encoding of single code points.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string_view>

namespace ggufx {

// First UTF-8 character of a text, which is not empty. An invalid byte (also of surrogates,
// overlong forms and code points above 0x10ffff) counts as one character, kBadByte.
constexpr uint32_t kBadByte = UINT32_MAX;
struct Character {
    uint32_t code;
    uint32_t length;
};
Character first_character(std::string_view text);
// Returns the first byte that is not valid UTF-8, or text.size().
size_t first_invalid(std::string_view text);

size_t put_utf8(char out[4], uint32_t code); // returns the number of bytes

// Returns the length of a character from its lead byte alone; 1 for continuation bytes.
inline uint32_t lead_length(char lead) {
    const uint8_t c = static_cast<uint8_t>(lead);
    return c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

} // namespace ggufx
