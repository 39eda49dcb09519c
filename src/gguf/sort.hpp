// Names sorted for binary search: no hash that a crafted file could make collide, and the same
// result everywhere. n log n comparisons find duplicates too.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

#include <algorithm>
#include <string_view>

namespace ggufx::gguf {

struct NamePair {
    uint32_t first, second;
};

// out = indices 0 .. n-1 by name. False, with the pair, when two names are equal: the earliest
// second one and its predecessor.
template <class NameOf>
bool sort_by_name(Vector<uint32_t> &out, size_t n, const NameOf &name_of, NamePair *same) {
    out.resize(n);
    for (size_t i = 0; i < n; i++) out[i] = static_cast<uint32_t>(i);
    std::sort(out.begin(), out.end(), [&](uint32_t a, uint32_t b) {
        const int order = name_of(a).compare(name_of(b));
        return order != 0 ? order < 0 : a < b;
    });
    bool unique = true;
    for (size_t i = 1; i < n; i++) {
        if (name_of(out[i - 1]) != name_of(out[i])) continue;
        if (unique || out[i] < same->second) *same = {out[i - 1], out[i]};
        unique = false;
    }
    return unique;
}

// The index whose name it is, else SIZE_MAX.
template <class NameOf>
size_t find_by_name(const Vector<uint32_t> &sorted, std::string_view name, const NameOf &name_of) {
    const auto it =
        std::lower_bound(sorted.begin(), sorted.end(), name,
                         [&](uint32_t i, std::string_view s) { return name_of(i) < s; });
    return it != sorted.end() && name_of(*it) == name ? *it : SIZE_MAX;
}

} // namespace ggufx::gguf
