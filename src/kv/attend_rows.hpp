// What a group's rows see of a page, and the softmax step of all of them.
// SPDX-License-Identifier: MIT
#pragma once

#include "kv/attend.hpp"

namespace ggufx::kv {

struct Visible {
    kernels::KvTokens row[kRows];
    kernels::KvTokens all; // their union, as one range

    Visible(const PageRef &page, const Group &group);
    // Of the rows that stand in this page, or of those that stand behind it.
    Visible part(const PageRef &page, const PageRef *behind, const Group &group, bool own) const;
    bool nothing() const { return all.first >= all.end; }

private:
    void take(uint32_t r, kernels::KvTokens tokens);
};
// Whether the last token that a row sees lies in this page: then it sees the page as it was given,
// not encoded. behind: the end of the track's pages.
bool stands_in(const PageRef &page, const PageRef *behind, const Row &row);

// Scores to weights, row by row; sums so far follow a new reference. Rows that see nothing get
// zeros.
void weigh_rows(const AttendCall &call, const Group &group, const PageRef &page,
                const Visible &seen, SumBasis basis, float *s, RowSums &sums);
// The sums of a basis, zeros at the first use.
float *sums_of(const AttendCall &call, const Group &group, SumBasis basis, RowSums &sums);

} // namespace ggufx::kv
