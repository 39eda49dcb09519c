// /proc/self/smaps: a line "begin-end access ..." for each mapping, then lines "Name:  n kB".
// SPDX-License-Identifier: MIT
#include "base/resident.hpp"

#include "base/lines.hpp"
#include "base/pages.hpp"

#include <algorithm>
#include <charconv>
#include <string.h>
#include <string_view>

namespace ggufx::io {

namespace {

// Pages of one mapping of the kernel's list.
struct Mapped {
    uint64_t shared_with = 0; // bytes that the ranges have in it
    uint64_t bytes = 0, huge = 0;

    void add_to(Resident &out) const {
        out.bytes += std::min(bytes, shared_with);
        out.huge += std::min(huge, shared_with);
    }
};

bool parse_begin(std::string_view line, uintptr_t *begin, uintptr_t *end) {
    const char *const stop = line.data() + line.size();
    const auto first = std::from_chars(line.data(), stop, *begin, 16);
    if (first.ec != std::errc() || first.ptr == stop || *first.ptr != '-') return false;
    return std::from_chars(first.ptr + 1, stop, *end, 16).ec == std::errc();
}

uint64_t overlap(std::span<const Range> ranges, uintptr_t begin, uintptr_t end) {
    uint64_t n = 0;
    for (const Range &range : ranges) {
        const auto from = std::max(begin, reinterpret_cast<uintptr_t>(range.data));
        const auto to = std::min(end, reinterpret_cast<uintptr_t>(range.data) + range.n);
        if (from < to) n += to - from;
    }
    return n;
}

uint64_t kilobytes(std::string_view line) {
    const size_t digits = std::min(line.find_first_of("0123456789"), line.size());
    uint64_t n = 0;
    (void)std::from_chars(line.data() + digits, line.data() + line.size(), n);
    return n << 10;
}

} // namespace

Resident resident_pages(std::span<const Range> ranges) {
    Resident out;
    char text[128];
    Mapped mapped;
    for (Lines lines("/proc/self/smaps"); lines.next(text, sizeof text);) {
        const std::string_view line = text;
        uintptr_t begin = 0, end = 0;
        if (parse_begin(line, &begin, &end)) {
            mapped.add_to(out);
            mapped = {overlap(ranges, begin, end)};
            out.known = true;
        } else if (line.starts_with("Rss:") || line.find("_Hugetlb:") != line.npos) {
            mapped.bytes += kilobytes(line);
            if (!line.starts_with("Rss:")) mapped.huge += kilobytes(line);
        } else if (line.starts_with("AnonHugePages:") || line.find("PmdMapped:") != line.npos) {
            mapped.huge += kilobytes(line);
        }
    }
    mapped.add_to(out);
    return out;
}

bool has_small_pages(std::span<const Range> mappings) {
    constexpr size_t kTouched = 16; // 32 to 64 MiB of a file that is not in the page cache
    const size_t most = std::max(kTouched / std::max<size_t>(mappings.size(), 1), size_t{1});
    uint64_t touched = 0;
    for (const Range &mapping : mappings) {
        const size_t lead = -reinterpret_cast<uintptr_t>(mapping.data) % kHugePage;
        const size_t n = mapping.n < lead ? 0 : (mapping.n - lead) / kHugePage;
        for (size_t i = 0; i < std::min(n, most); i++, touched++) {
            const size_t page = n <= most ? i : (n - 1) * i / std::max<size_t>(most - 1, 1);
            (void)*static_cast<const volatile uint8_t *>(mapping.data + lead + page * kHugePage);
        }
    }
    if (touched == 0) return false;
    const Resident now = resident_pages(mappings);
    return now.known && now.huge / kHugePage < (touched + 1) / 2;
}

} // namespace ggufx::io
