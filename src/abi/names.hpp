// Suggestions for unknown names: "did you mean" the name with the smallest edit distance.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>

namespace ggufx::abi {

class NearestName {
public:
    NearestName(const char *wanted, size_t length)
        : wanted_(wanted), length_(length), best_(most_edits(length) + 1) {}
    void offer(const char *name) {
        const size_t d = is_begun(name) ? 1 : distance(name);
        if (d >= best_) return;
        name_ = name;
        best_ = d;
    }
    // "; did you mean \"q4_K\"?", or empty if no name is similar.
    const char *question() {
        if (!name_) return "";
        print_text(text_, sizeof text_, "; did you mean \"%s\"?", name_);
        return text_;
    }

private:
    static constexpr size_t kMax = 32; // longer names get no suggestion
    static int lower(char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; }
    // Maximum edit distance of a suggestion. More edits would turn a short name into a different
    // word.
    static size_t most_edits(size_t length) {
        return length < 3 || length > kMax ? 0 : length < 5 ? 1 : 2;
    }
    bool same(size_t i, const char *name, size_t j) const {
        return lower(wanted_[i]) == lower(name[j]);
    }
    bool is_begun(const char *name) const {
        size_t n = 0;
        while (n < length_ && name[n] && same(n, name, n)) n++;
        return n == length_ && length_ >= 3;
    }
    // Insertions, deletions, replacements and swaps of adjacent characters; ignores case.
    size_t distance(const char *name) const {
        size_t rows[3][kMax + 1];
        const size_t n = length_ < kMax ? length_ : kMax;
        for (size_t i = 0; i <= n; i++) rows[0][i] = i;
        size_t j = 0;
        for (; name[j]; j++) {
            const size_t *const last = rows[j % 3], *const before = rows[(j + 2) % 3];
            size_t *const row = rows[(j + 1) % 3];
            row[0] = j + 1;
            for (size_t i = 0; i < n; i++) {
                const size_t change = last[i] + (same(i, name, j) ? 0 : 1);
                const size_t shift = (row[i] < last[i + 1] ? row[i] : last[i + 1]) + 1;
                row[i + 1] = change < shift ? change : shift;
                const bool swapped = i > 0 && j > 0 && same(i, name, j - 1) && same(i - 1, name, j);
                if (swapped && before[i - 1] + 1 < row[i + 1]) row[i + 1] = before[i - 1] + 1;
            }
        }
        return rows[j % 3][n];
    }

    const char *wanted_;
    size_t length_;
    const char *name_ = nullptr;
    size_t best_;
    char text_[64];
};

} // namespace ggufx::abi
