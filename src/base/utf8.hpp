// UTF-8: decoding, encoding and checks.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string_view>

namespace ggufx {

constexpr uint32_t kBadByte = UINT32_MAX; // the code of an invalid byte
struct Character {
    uint32_t code;
    uint32_t length;
};

// Returns the length of a character from its lead byte alone; 1 for continuation bytes.
inline uint32_t lead_length(char lead) {
    const uint8_t c = static_cast<uint8_t>(lead);
    return c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

// First UTF-8 character of a text, which is not empty. An invalid byte (also of surrogates,
// overlong forms and code points above 0x10ffff) counts as one character, kBadByte.
inline Character first_character(std::string_view text) {
    const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
    const uint32_t lead = byte(0);
    if (lead < 0x80) return {lead, 1};
    const uint32_t length = lead_length(text[0]);
    if (length == 1 || lead > 0xf4 || length > text.size()) return {kBadByte, 1};
    uint32_t code = lead & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((byte(i) & 0xc0) != 0x80) return {kBadByte, 1};
        code = code << 6 | (byte(i) & 0x3f);
    }
    constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < kLeast[length] || code >= 0x110000 || (code >= 0xd800 && code < 0xe000))
        return {kBadByte, 1};
    return {code, length};
}

// Returns the first byte that is not UTF-8, or text.size().
inline size_t first_invalid(std::string_view text) {
    size_t i = 0;
    while (i < text.size()) {
        const Character c = first_character(text.substr(i));
        if (c.code == kBadByte) break;
        i += c.length;
    }
    return i;
}

// Returns the number of bytes.
inline size_t put_utf8(char out[4], uint32_t code) {
    const auto continuation = [&](uint32_t shift) {
        return static_cast<char>(0x80 | ((code >> shift) & 0x3f));
    };
    if (code < 0x80) return out[0] = static_cast<char>(code), 1;
    if (code < 0x800) {
        out[0] = static_cast<char>(0xc0 | code >> 6);
        out[1] = continuation(0);
        return 2;
    }
    if (code < 0x10000) {
        out[0] = static_cast<char>(0xe0 | code >> 12);
        out[1] = continuation(6);
        out[2] = continuation(0);
        return 3;
    }
    out[0] = static_cast<char>(0xf0 | code >> 18);
    out[1] = continuation(12);
    out[2] = continuation(6);
    out[3] = continuation(0);
    return 4;
}

// Returns whether a character can move a terminal's cursor, change colours or reorder a line.
inline bool is_unsafe_to_show(uint32_t code) {
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x200e || code == 0x200f ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
           code == 0xfeff;
}

} // namespace ggufx
