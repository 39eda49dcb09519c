// See utf8.hpp.
// SPDX-License-Identifier: MIT
#include "base/utf8.hpp"

namespace ggufx {

Character first_character(std::string_view text) {
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

size_t first_invalid(std::string_view text) {
    size_t i = 0;
    while (i < text.size()) {
        const Character c = first_character(text.substr(i));
        if (c.code == kBadByte) return i;
        i += c.length;
    }
    return i;
}

size_t put_utf8(char out[4], uint32_t code) {
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

} // namespace ggufx
