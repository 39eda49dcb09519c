// Names sorted for binary search: no hash that a crafted file could make collide, and the same
// result everywhere. The cost is linear in the bytes of the names, but for the factor log n of
// sorting n integers.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

#include <algorithm>
#include <string_view>

namespace ggufx::gguf {

struct NamePair {
    uint32_t first, second;
};

// Entries in the order of their names; the low 32 bits of an entry are the index of the name.
using NameOrder = Vector<uint64_t>;
inline uint32_t index_in(uint64_t entry) {
    return static_cast<uint32_t>(entry);
}

// Gives the names to be sorted, always the same ones.
class NameSource {
public:
    virtual std::string_view name(uint32_t index) const = 0;

protected:
    ~NameSource() = default;
};

// out = indices 0 .. n-1 by name. False, with the pair, when two names are equal: the earliest
// second one and its predecessor.
bool sort_names(NameOrder &out, size_t n, const NameSource &names, NamePair *same);

template <class NameOf>
bool sort_by_name(NameOrder &out, size_t n, const NameOf &name_of, NamePair *same) {
    struct Source final : NameSource {
        explicit Source(const NameOf &f) : name_of(f) {}
        std::string_view name(uint32_t index) const override { return name_of(index); }
        const NameOf &name_of;
    };
    return sort_names(out, n, Source(name_of), same);
}

// The index whose name it is, else SIZE_MAX.
template <class NameOf>
size_t find_by_name(const NameOrder &sorted, std::string_view name, const NameOf &name_of) {
    const auto it = std::lower_bound(
        sorted.begin(), sorted.end(), name,
        [&](uint64_t entry, std::string_view s) { return name_of(index_in(entry)) < s; });
    return it != sorted.end() && name_of(index_in(*it)) == name ? index_in(*it) : SIZE_MAX;
}

} // namespace ggufx::gguf
