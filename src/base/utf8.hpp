// Code points of UTF-8, one by one.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string_view>

namespace ggufx {

// A character of UTF-8 at the begin of a text that is not empty. A byte that begins none (also of
// surrogates, overlong forms and code points above 0x10ffff) stands alone, as kBadByte.
constexpr uint32_t kBadByte = UINT32_MAX;
struct Character {
    uint32_t code;
    uint32_t length;
};
Character first_character(std::string_view text);

size_t put_utf8(char out[4], uint32_t code); // how many bytes

// Bytes that a character has by its lead byte alone; continuation bytes stand for themselves.
inline uint32_t lead_length(char lead) {
    const uint8_t c = static_cast<uint8_t>(lead);
    return c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

} // namespace ggufx
