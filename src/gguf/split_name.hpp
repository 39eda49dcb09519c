// File names of split sets: "<prefix>-%05d-of-%05d.gguf", numbered from 1.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <string_view>

namespace ggufx::gguf {

constexpr size_t kSplitTail = sizeof "-00001-of-00003.gguf" - 1;
// Key with the same number in all parts of a set that were written together.
constexpr std::string_view kSplitId = "ggufx.split.id";

// Returns whether a key describes a split set; such keys are written again with every set.
inline bool is_split_key(std::string_view name) {
    return name == "split.no" || name == "split.count" || name == "split.tensors.count" ||
           name == kSplitId;
}

// Parses number and count of a part's file name. Returns false for other names.
inline bool parse_split_name(const char *path, size_t n, uint32_t *number, uint32_t *count) {
    if (n < kSplitTail) return false;
    const char *p = path + n - kSplitTail;
    if (p[0] != '-' || memcmp(p + 6, "-of-", 4) != 0 || memcmp(p + 15, ".gguf", 5) != 0)
        return false;
    *number = *count = 0;
    for (int i = 0; i < 5; i++) {
        if (p[1 + i] < '0' || p[1 + i] > '9' || p[10 + i] < '0' || p[10 + i] > '9') return false;
        *number = *number * 10 + static_cast<uint32_t>(p[1 + i] - '0');
        *count = *count * 10 + static_cast<uint32_t>(p[10 + i] - '0');
    }
    return *number >= 1 && *number <= *count;
}

// Returns the file name of part `part`, from 0; not NUL-terminated. `prefix` may end in ".gguf".
inline Vector<char> split_part_name(const Ref<Host> &host, std::string_view prefix, size_t part,
                                    size_t n_parts) {
    constexpr std::string_view kSuffix = ".gguf";
    char tail[40];
    snprintf(tail, sizeof tail, "-%05u-of-%05u.gguf", static_cast<unsigned>(part + 1),
             static_cast<unsigned>(n_parts));
    if (prefix.ends_with(kSuffix)) prefix.remove_suffix(kSuffix.size());
    Vector<char> name(prefix.begin(), prefix.end(), HostAllocator<char>(host.get()));
    name.insert(name.end(), tail, tail + strlen(tail));
    return name;
}

} // namespace ggufx::gguf
