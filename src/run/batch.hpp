// Rows of a batch while it is assembled: tokens of several sequences, one run of each.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"
#include "run/ops/context.hpp"

namespace ggufx::model {

// Consecutive tokens of a sequence, from its token `first` on.
struct TokenRun {
    uint32_t sequence;
    uint64_t first;
    size_t n;
    const int32_t *ids;       // null: ids 0
    const int32_t *positions; // null: `position` and the following ones
    int32_t position;
    // Requested rows: logits, hidden states, each of the last so many tokens.
    size_t n_logits = 0, n_hidden = 0;
    const AdapterSet *adapters = nullptr; // null: none
};

// Indices first .. first + n - 1 of a list.
struct IndexRange {
    size_t first = 0, n = 0;
};

// Rows row .. row + n - 1 of a batch, as a batch of its own.
struct RowSlice {
    size_t row = 0, n = 0;
    IndexRange parts;                  // in slice_parts; their rows count from the slice's first
    IndexRange wanted, logits, hidden; // in the lists of the whole batch
};

// How batches are cut into slices.
struct Slicing {
    uint32_t most = 1;       // slices; 1: no batch is cut
    uint32_t least_rows = 1; // per slice
};

constexpr size_t kSliceBorder = 16; // slices start at multiples of this many rows: whole tiles

class BatchRows {
public:
    // Capacity: n_rows tokens of n_sequences sequences, in n_slices slices.
    BatchRows(const Host *host, uint32_t n_rows, uint32_t n_sequences, uint32_t n_slices = 1);
    // Returns the memory of such a batch.
    static uint64_t bytes(uint32_t n_rows, uint32_t n_sequences, uint32_t n_slices = 1);

    void clear();
    size_t room() const { return tokens_.size() - n_; }
    size_t n() const { return n_; }
    // Requires run.n <= room(), and a sequence without a run, or whose run is the last and
    // continues.
    void add(const TokenRun &run);
    // Replaces the embedding of the row `back` rows before the last one.
    void embed(size_t back, const float *row) { embeddings_[n_ - 1 - back] = row; }

    const Vector<BatchPart> &parts() const { return parts_; }
    // Rows with any requested output, and rows with logits or hidden states; ascending.
    const Vector<uint32_t> &wanted() const { return wanted_; }
    const Vector<uint32_t> &of_logits() const { return of_logits_; }
    const Vector<uint32_t> &of_hidden() const { return of_hidden_; }
    void set(Context &context); // to run with these rows

    // Cuts the rows into slices of about equal size, at least kSliceBorder, in order.
    void cut(size_t n_slices);
    const Vector<RowSlice> &slices() const { return slices_; }
    void set_slice(Context &context, size_t slice); // to run with the rows of one slice

private:
    static IndexRange range_of(const Vector<uint32_t> &rows, size_t first, size_t end);
    void want(uint32_t row, bool logits, bool hidden);
    void add_slice(size_t row, size_t end, size_t *part);

    Vector<int32_t> tokens_;
    Vector<const float *> embeddings_;
    Vector<uint32_t> positions_, sequences_; // for each row
    Vector<uint32_t> wanted_, of_logits_, of_hidden_;
    Vector<BatchPart> parts_;
    Vector<RowSlice> slices_;
    Vector<BatchPart> slice_parts_; // one more than parts for each boundary within one
    Vector<state::Step> memory_;    // for the parts, or for those of the slices
    size_t n_ = 0;
};

} // namespace ggufx::model
