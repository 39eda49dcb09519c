// Sorted names for binary search. Unlike a hash table, a crafted file cannot make them collide, and
// the result is the same everywhere. The cost is linear in the bytes of the names, times log n for
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

// Entries sorted by name; the low 32 bits of an entry are the index of the name.
using NameOrder = Vector<uint64_t>;
inline uint32_t index_in(uint64_t entry) {
    return static_cast<uint32_t>(entry);
}

// Provides the names to sort; the name of an index must not change.
class NameSource {
public:
    virtual std::string_view name(uint32_t index) const = 0;

protected:
    ~NameSource() = default;
};

// Sets `out` to indices 0 .. n-1 sorted by name. If names are equal, returns false and a pair: the
// earliest second one and its predecessor.
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

// Returns the index of a name, or SIZE_MAX.
template <class NameOf>
size_t find_by_name(const NameOrder &sorted, std::string_view name, const NameOf &name_of) {
    const auto it = std::lower_bound(
        sorted.begin(), sorted.end(), name,
        [&](uint64_t entry, std::string_view s) { return name_of(index_in(entry)) < s; });
    return it != sorted.end() && name_of(index_in(*it)) == name ? index_in(*it) : SIZE_MAX;
}

} // namespace ggufx::gguf
