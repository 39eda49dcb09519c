// SPDX-License-Identifier: MIT
#include "run/batch.hpp"

#include <algorithm>

namespace ggufx::model {

namespace {

uint32_t most_parts(uint32_t n_rows, uint32_t n_sequences) {
    return n_rows < n_sequences ? n_rows : n_sequences;
}

// Returns the most parts of slices: each boundary of slices may lie within a part.
uint32_t most_slice_parts(uint32_t n_rows, uint32_t n_sequences, uint32_t n_slices) {
    return most_parts(n_rows, n_sequences) + n_slices - 1;
}

} // namespace

BatchRows::BatchRows(const Host *host, uint32_t n_rows, uint32_t n_sequences, uint32_t n_slices)
    : tokens_(n_rows, HostAllocator<int32_t>(host)),
      embeddings_(n_rows, HostAllocator<const float *>(host)),
      positions_(n_rows, HostAllocator<uint32_t>(host)),
      sequences_(n_rows, HostAllocator<uint32_t>(host)), wanted_(HostAllocator<uint32_t>(host)),
      of_logits_(HostAllocator<uint32_t>(host)), of_hidden_(HostAllocator<uint32_t>(host)),
      parts_(HostAllocator<BatchPart>(host)), slices_(HostAllocator<RowSlice>(host)),
      slice_parts_(HostAllocator<BatchPart>(host)),
      memory_(most_slice_parts(n_rows, n_sequences, n_slices), HostAllocator<state::Step>(host)) {
    for (Vector<uint32_t> *rows : {&wanted_, &of_logits_, &of_hidden_}) rows->reserve(n_rows);
    parts_.reserve(most_parts(n_rows, n_sequences));
    if (n_slices == 1) return;
    slices_.reserve(n_slices);
    slice_parts_.reserve(memory_.size());
}

uint64_t BatchRows::bytes(uint32_t n_rows, uint32_t n_sequences, uint32_t n_slices) {
    constexpr uint64_t kRow = sizeof(int32_t) + sizeof(const float *) + 5 * sizeof(uint32_t);
    const uint64_t n = most_slice_parts(n_rows, n_sequences, n_slices);
    uint64_t total = n_rows * kRow + most_parts(n_rows, n_sequences) * sizeof(BatchPart) +
                     n * sizeof(state::Step);
    if (n_slices > 1) total += n_slices * sizeof(RowSlice) + n * sizeof(BatchPart);
    return total;
}

void BatchRows::clear() {
    n_ = 0;
    parts_.clear();
    for (Vector<uint32_t> *rows : {&wanted_, &of_logits_, &of_hidden_}) rows->clear();
}

void BatchRows::add(const TokenRun &run) {
    BatchPart *const last = parts_.empty() ? nullptr : &parts_.back();
    if (last && last->sequence == run.sequence)
        last->n += run.n;
    else
        parts_.push_back({run.sequence, n_, run.n, run.first, run.adapters});
    for (size_t i = 0; i < run.n; i++) {
        const size_t row = n_ + i, left = run.n - i;
        tokens_[row] = run.ids ? run.ids[i] : 0;
        embeddings_[row] = nullptr;
        positions_[row] = run.positions
                              ? static_cast<uint32_t>(run.positions[i])
                              : static_cast<uint32_t>(run.position) + static_cast<uint32_t>(i);
        sequences_[row] = run.sequence;
        want(static_cast<uint32_t>(row), left <= run.n_logits, left <= run.n_hidden);
    }
    n_ += run.n;
}

void BatchRows::want(uint32_t row, bool logits, bool hidden) {
    if (!logits && !hidden) return;
    wanted_.push_back(row);
    if (logits) of_logits_.push_back(row);
    if (hidden) of_hidden_.push_back(row);
}

void BatchRows::set(Context &context) {
    context.tokens = tokens_.data();
    context.embeddings = embeddings_.data();
    context.positions = positions_.data();
    context.sequences = sequences_.data();
    context.n = n_;
    context.parts = parts_.data();
    context.n_parts = parts_.size();
    context.memory = memory_.data();
    context.stream_row = 0;
    context.batch_rows = nullptr;
}

// Returns the range of ascending rows from `first` on and before `end`.
IndexRange BatchRows::range_of(const Vector<uint32_t> &rows, size_t first, size_t end) {
    const auto from = std::lower_bound(rows.begin(), rows.end(), first);
    const auto to = std::lower_bound(from, rows.end(), end);
    return {static_cast<size_t>(from - rows.begin()), static_cast<size_t>(to - from)};
}

// *part: the first one with rows in the slice; updated for the next slice.
void BatchRows::add_slice(size_t row, size_t end, size_t *part) {
    const size_t first_part = slice_parts_.size();
    for (; *part < parts_.size() && parts_[*part].row < end; ++*part) {
        const BatchPart &whole = parts_[*part];
        const size_t from = std::max(whole.row, row), behind = whole.row + whole.n;
        slice_parts_.push_back({whole.sequence, from - row, std::min(behind, end) - from,
                                whole.first + (from - whole.row), whole.adapters});
        if (behind > end) break;
    }
    slices_.push_back({row,
                       end - row,
                       {first_part, slice_parts_.size() - first_part},
                       range_of(wanted_, row, end),
                       range_of(of_logits_, row, end),
                       range_of(of_hidden_, row, end)});
}

void BatchRows::cut(size_t n_slices) {
    slices_.clear();
    slice_parts_.clear();
    size_t row = 0, part = 0;
    for (size_t i = 1; i <= n_slices; i++) {
        const size_t border = n_ * i / n_slices / kSliceBorder * kSliceBorder;
        const size_t end = i == n_slices ? n_ : border;
        add_slice(row, end, &part);
        row = end;
    }
}

void BatchRows::set_slice(Context &context, size_t i) {
    const RowSlice &slice = slices_[i];
    context.tokens = tokens_.data() + slice.row;
    context.embeddings = embeddings_.data() + slice.row;
    context.positions = positions_.data() + slice.row;
    context.sequences = sequences_.data() + slice.row;
    context.n = slice.n;
    context.parts = slice_parts_.data() + slice.parts.first;
    context.n_parts = slice.parts.n;
    context.memory = memory_.data() + slice.parts.first;
    context.stream_row = 0;
    context.batch_rows = nullptr;
}

} // namespace ggufx::model
