// Origin of the bytes of a text: bytes of the template may contain control tokens, bytes of a user
// are plain text.
// SPDX-License-Identifier: MIT
#pragma once

#include "tokenizer/marks.hpp"

#include <stddef.h>
#include <stdint.h>

namespace ggufx::model {

struct OriginRun {
    uint64_t end;  // end of the run; it starts at the end of the previous one
    uint64_t user; // 1: bytes of a user
};

// Keeps references to runs and marker tokens; the runs must cover the text.
class Origin {
public:
    Origin(const OriginRun *runs, size_t n, const Marks &marks)
        : runs_(runs), n_(n), marks_(&marks) {}

    const Marks &marks() const { return *marks_; }

    // Returns how many bytes from `place` on are the template's.
    uint32_t own(uint32_t place) const {
        const OriginRun *const run = std::upper_bound(
            runs_, runs_ + n_, place, [](uint32_t at, const OriginRun &r) { return at < r.end; });
        if (run == runs_ + n_ || run->user) return 0;
        return static_cast<uint32_t>(run->end - place);
    }

private:
    const OriginRun *runs_;
    size_t n_;
    const Marks *marks_;
};

} // namespace ggufx::model
