// Who wrote which bytes of a text: what a template wrote may hold control tokens, what stands in a
// user's bytes is text, whatever it looks like.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/tokenizer/marks.hpp"

#include <stddef.h>
#include <stdint.h>

namespace ggufx::model {

struct OriginRun {
    uint64_t end;  // byte behind the last one; it begins where the one before ends
    uint64_t user; // 1: a user's
};

// Keeps the runs and the marks by reference; the runs reach to the end of the text.
class Origin {
public:
    Origin(const OriginRun *runs, size_t n, const Marks &marks)
        : runs_(runs), n_(n), marks_(&marks) {}

    const Marks &marks() const { return *marks_; }

    // Bytes from `place` on that are the template's.
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
