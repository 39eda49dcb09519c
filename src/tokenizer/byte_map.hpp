// Byte map of byte-level vocabularies: the characters 33 to 126, 161 to 172 and 174 to 255 stand
// for themselves. The other 68 bytes, in ascending order, are U+0100 and following.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/unicode.hpp"
#include "base/utf8.hpp"

namespace ggufx::model {

class ByteMap {
public:
    constexpr ByteMap() {
        for (int16_t &byte : bytes_) byte = -1;
        uint32_t next = 0x100;
        for (uint32_t byte = 0; byte < 256; byte++) {
            const bool itself =
                (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
            const uint32_t code = itself ? byte : next++;
            codes_[byte] = static_cast<uint16_t>(code);
            bytes_[code] = static_cast<int16_t>(byte);
        }
    }
    constexpr uint32_t code(uint8_t byte) const { return codes_[byte]; }
    constexpr int32_t byte(uint32_t code) const {
        return code < kCodes ? bytes_[code] : -1;
    } // -1: none

private:
    static constexpr uint32_t kCodes = 0x100 + 68;
    uint16_t codes_[256] = {};
    int16_t bytes_[kCodes] = {};
};

inline constexpr ByteMap kByteMap;

} // namespace ggufx::model
