// SPDX-License-Identifier: MIT
#include "model/run/batch.hpp"

#include <string.h>

namespace ggufx::model {

namespace {

uint32_t most_parts(uint32_t n_rows, uint32_t n_sequences) {
    return n_rows < n_sequences ? n_rows : n_sequences;
}

} // namespace

BatchRows::BatchRows(const Host *host, uint32_t n_rows, uint32_t n_sequences)
    : tokens_(n_rows, HostAllocator<int32_t>(host)),
      positions_(n_rows, HostAllocator<uint32_t>(host)),
      sequences_(n_rows, HostAllocator<uint32_t>(host)), wanted_(HostAllocator<uint32_t>(host)),
      parts_(HostAllocator<BatchPart>(host)),
      memory_(most_parts(n_rows, n_sequences), HostAllocator<state::Step>(host)) {
    wanted_.reserve(n_rows);
    parts_.reserve(memory_.size());
}

uint64_t BatchRows::bytes(uint32_t n_rows, uint32_t n_sequences) {
    constexpr uint64_t kRow = sizeof(int32_t) + 3 * sizeof(uint32_t);
    constexpr uint64_t kPart = sizeof(BatchPart) + sizeof(state::Step);
    return n_rows * kRow + most_parts(n_rows, n_sequences) * kPart;
}

void BatchRows::clear() {
    n_ = 0;
    parts_.clear();
    wanted_.clear();
}

void BatchRows::add(uint32_t sequence, const int32_t *tokens, size_t n, uint64_t first,
                    size_t n_logits) {
    BatchPart *const last = parts_.empty() ? nullptr : &parts_.back();
    if (last && last->sequence == sequence)
        last->n += n;
    else
        parts_.push_back({sequence, n_, n, first});
    memcpy(tokens_.data() + n_, tokens, n * sizeof *tokens);
    for (size_t i = 0; i < n; i++) {
        positions_[n_ + i] = static_cast<uint32_t>(first + i);
        sequences_[n_ + i] = sequence;
        if (i + n_logits >= n) wanted_.push_back(static_cast<uint32_t>(n_ + i));
    }
    n_ += n;
}

void BatchRows::set(Context &context) {
    context.tokens = tokens_.data();
    context.positions = positions_.data();
    context.sequences = sequences_.data();
    context.n = n_;
    context.parts = parts_.data();
    context.n_parts = parts_.size();
    context.memory = memory_.data();
}

} // namespace ggufx::model
