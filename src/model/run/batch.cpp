// SPDX-License-Identifier: MIT
#include "model/run/batch.hpp"

namespace ggufx::model {

namespace {

uint32_t most_parts(uint32_t n_rows, uint32_t n_sequences) {
    return n_rows < n_sequences ? n_rows : n_sequences;
}

} // namespace

BatchRows::BatchRows(const Host *host, uint32_t n_rows, uint32_t n_sequences)
    : tokens_(n_rows, HostAllocator<int32_t>(host)),
      embeddings_(n_rows, HostAllocator<const float *>(host)),
      positions_(n_rows, HostAllocator<uint32_t>(host)),
      sequences_(n_rows, HostAllocator<uint32_t>(host)), wanted_(HostAllocator<uint32_t>(host)),
      of_logits_(HostAllocator<uint32_t>(host)), of_hidden_(HostAllocator<uint32_t>(host)),
      parts_(HostAllocator<BatchPart>(host)),
      memory_(most_parts(n_rows, n_sequences), HostAllocator<state::Step>(host)) {
    for (Vector<uint32_t> *rows : {&wanted_, &of_logits_, &of_hidden_}) rows->reserve(n_rows);
    parts_.reserve(memory_.size());
}

uint64_t BatchRows::bytes(uint32_t n_rows, uint32_t n_sequences) {
    constexpr uint64_t kRow = sizeof(int32_t) + sizeof(const float *) + 5 * sizeof(uint32_t);
    constexpr uint64_t kPart = sizeof(BatchPart) + sizeof(state::Step);
    return n_rows * kRow + most_parts(n_rows, n_sequences) * kPart;
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

} // namespace ggufx::model
