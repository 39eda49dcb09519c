// Visible tokens of a group's rows in a page, and the softmax step of all rows.
// SPDX-License-Identifier: MIT
#pragma once

#include "kv/attend.hpp"

namespace ggufx::kv {

struct Visible {
    kernels::KvTokens row[kRows];
    kernels::KvTokens all; // their union, as one range

    Visible(const PageRef &page, const Group &group);
    // Returns the part of rows whose last visible token is in this page (own) or in a later one
    // (not own).
    Visible part(const PageRef &page, const PageRef *behind, const Group &group, bool own) const;
    bool nothing() const { return all.first >= all.end; }

private:
    void take(uint32_t r, kernels::KvTokens tokens);
};
// Returns whether the last visible token of a row is in this page: the row then sees the page's
// plain form, not the encoded one. `behind`: end of the track's pages.
bool stands_in(const PageRef &page, const PageRef *behind, const Row &row);

// Turns scores into softmax weights, row by row, and rescales earlier sums if the reference
// changes. Rows without a visible token get zeros.
void weigh_rows(const AttendCall &call, const Group &group, const PageRef &page,
                const Visible &seen, SumBasis basis, float *s, RowSums &sums);
// Returns the sums of a basis, set to zeros at the first use.
float *sums_of(const AttendCall &call, const Group &group, SumBasis basis, RowSums &sums);

} // namespace ggufx::kv
