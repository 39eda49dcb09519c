// Bytes of an output as UTF-8: an incomplete or invalid character becomes U+FFFD, as browsers do.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/utf8.hpp"

namespace ggufx {

class Utf8Repair {
public:
    // Calls put(text) with whole characters. An exception of put leaves the state undefined.
    template <class Put> void feed(std::string_view bytes, const Put &put) {
        size_t first = 0; // bytes from here on are whole characters
        for (size_t i = 0; i < bytes.size();) {
            const Character c = n_ ? Character{kBadByte, 1} : first_character(bytes.substr(i));
            if (c.code != kBadByte) {
                i += c.length;
                continue;
            }
            if (first < i) put(bytes.substr(first, i - first));
            i += take(bytes[i], put);
            first = i;
        }
        if (first < bytes.size()) put(bytes.substr(first));
    }
    template <class Put> void finish(const Put &put) {
        if (n_) put(kReplacement);
        n_ = 0;
    }
    bool operator==(const Utf8Repair &) const = default;

private:
    static constexpr std::string_view kReplacement = "\xef\xbf\xbd";

    // Takes a byte of a character that is not whole; returns 0 if it begins another one.
    template <class Put> size_t take(char byte, const Put &put) {
        begun_[n_++] = byte;
        if (is_begun()) {
            if (n_ < lead_length(begun_[0])) return 1;
            put(std::string_view(begun_, n_));
            n_ = 0;
            return 1;
        }
        const size_t n = n_;
        n_ = 0;
        put(kReplacement);
        return n == 1;
    }
    // Returns whether a character can begin with these bytes.
    bool is_begun() const {
        const auto at = [&](size_t i) { return static_cast<uint8_t>(begun_[i]); };
        if (at(0) < 0xc2 || at(0) > 0xf4) return false;
        for (size_t i = 1; i < n_; i++)
            if ((at(i) & 0xc0) != 0x80) return false;
        if (n_ < 2) return true;
        return !(at(0) == 0xe0 && at(1) < 0xa0) && !(at(0) == 0xed && at(1) > 0x9f) &&
               !(at(0) == 0xf0 && at(1) < 0x90) && !(at(0) == 0xf4 && at(1) > 0x8f);
    }
    char begun_[4] = {};
    uint32_t n_ = 0;
};

} // namespace ggufx
