// "Did you mean": the name with the smallest edit distance.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>

namespace ggufx::abi {

class NearestName {
public:
    NearestName(const char *wanted, size_t length) : wanted_(wanted), length_(length) {}
    void offer(const char *name) {
        const size_t d = distance(name);
        if (!name_ || d < best_) {
            name_ = name;
            best_ = d;
        }
    }
    const char *name() const { return name_ ? name_ : ""; }

private:
    static constexpr size_t kMax = 32;
    static int lower(char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; }
    // Levenshtein distance, without regard to case; long names count as their first bytes.
    size_t distance(const char *name) const {
        size_t row[kMax + 1];
        const size_t n = length_ < kMax ? length_ : kMax;
        for (size_t i = 0; i <= n; i++) row[i] = i;
        for (size_t j = 0; name[j]; j++) {
            size_t diagonal = row[0];
            row[0] = j + 1;
            for (size_t i = 0; i < n; i++) {
                const size_t change = diagonal + (lower(wanted_[i]) != lower(name[j]));
                diagonal = row[i + 1];
                const size_t shift = (row[i] < row[i + 1] ? row[i] : row[i + 1]) + 1;
                row[i + 1] = change < shift ? change : shift;
            }
        }
        return row[n];
    }

    const char *wanted_;
    size_t length_;
    const char *name_ = nullptr;
    size_t best_ = 0;
};

} // namespace ggufx::abi
