// Set of positions of a text, a bit each.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

#include <bit>

namespace ggufx::model {

class PlaceSet {
public:
    explicit PlaceSet(const Host *host) : words_(HostAllocator<uint64_t>(host)) {}
    // Makes room for positions 0 .. n-1, none of which is in the set. Throws std::bad_alloc.
    void reset(size_t n) { words_.assign(n / 64 + 1, 0); }
    // As reset(), with all of them in the set.
    void fill(size_t n) {
        words_.assign(n / 64 + 1, UINT64_MAX);
        words_.back() &= ~(UINT64_MAX << n % 64);
    }
    void add(size_t place) { words_[place / 64] |= uint64_t{1} << place % 64; }
    void remove(size_t place) { words_[place / 64] &= ~(uint64_t{1} << place % 64); }
    bool hold(size_t place) const { return words_[place / 64] >> place % 64 & 1; }
    // Returns the first position after `place`; there must be one.
    size_t next(size_t place) const {
        size_t word = ++place / 64;
        uint64_t bits = words_[word] >> place % 64 << place % 64;
        while (!bits) bits = words_[++word];
        return word * 64 + static_cast<size_t>(std::countr_zero(bits));
    }
    // Returns the last position before `place`; there must be one.
    size_t previous(size_t place) const {
        size_t word = --place / 64;
        uint64_t bits = words_[word] << (63 - place % 64) >> (63 - place % 64);
        while (!bits) bits = words_[--word];
        return word * 64 + 63 - static_cast<size_t>(std::countl_zero(bits));
    }

private:
    Vector<uint64_t> words_;
};

} // namespace ggufx::model
