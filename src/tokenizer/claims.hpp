// Set of claimed bytes of a text, with fast search for the next claim: a bit per start of a claim
// in 64-bit words, and levels with a bit for every non-empty word. 1.13 bytes per byte of text.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

#include <bit>
#include <string.h>

namespace ggufx::model {

class Claims {
public:
    Claims(const Host *host, uint32_t n)
        : claimed_(n, 0, HostAllocator<uint8_t>(host)), words_(HostAllocator<uint64_t>(host)) {
        size_t n_words = 0, bits = n;
        for (n_levels_ = 0; n_levels_ == 0 || bits > 1; n_levels_++) {
            level_[n_levels_] = n_words;
            bits = bits / 64 + 1;
            n_words += bits;
        }
        words_.assign(n_words, 0);
    }

    bool holds(uint32_t place) const { return claimed_[place]; }

    void add(uint32_t start, uint32_t length) {
        memset(&claimed_[start], 1, length);
        size_t bit = start;
        for (size_t level = 0; level < n_levels_; level++, bit /= 64)
            words_[level_[level] + bit / 64] |= uint64_t{1} << bit % 64;
    }

    // Returns the first start of a claim after `place`; there must be one.
    uint32_t next(uint32_t place) const {
        size_t bit = size_t{place} + 1, level = 0;
        uint64_t word = 0;
        for (;; level++, bit = bit / 64 + 1) { // go up until the word has a following bit
            word = words_[level_[level] + bit / 64] >> bit % 64;
            if (word) break;
        }
        bit += static_cast<size_t>(std::countr_zero(word));
        while (level-- > 0)
            bit = bit * 64 + static_cast<size_t>(std::countr_zero(words_[level_[level] + bit]));
        return static_cast<uint32_t>(bit);
    }

private:
    static constexpr size_t kLevels = 7; // 64^6 is more than 2^32
    Vector<uint8_t> claimed_;
    Vector<uint64_t> words_;
    size_t level_[kLevels]; // index of each level's first word
    size_t n_levels_ = 0;
};

} // namespace ggufx::model
