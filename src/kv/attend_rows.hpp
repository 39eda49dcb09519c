// What a group's rows see of a page, and the softmax step of all of them.
// SPDX-License-Identifier: MIT
#pragma once

#include "kv/attend.hpp"

namespace ggufx::kv {

struct Visible {
    kernels::KvTokens row[kRows];
    kernels::KvTokens all; // their union, as one range

    Visible(const PageRef &page, const Group &group);
    bool nothing() const { return all.first >= all.end; }
};

// Scores to weights, row by row; sums so far follow a new reference. Rows that see nothing get zeros.
void weigh_rows(const AttendCall &call, const Group &group, const PageRef &page,
                const Visible &seen, SumBasis basis, float *s, RowSums &sums);
// The sums of a basis, zeros at the first use.
float *sums_of(const AttendCall &call, const Group &group, SumBasis basis, RowSums &sums);

} // namespace ggufx::kv
