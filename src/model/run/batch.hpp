// The rows of a batch as they are gathered: tokens of several sequences, one run of each.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"
#include "model/steps/context.hpp"

namespace ggufx::model {

class BatchRows {
public:
    // Room for n_rows tokens of n_sequences sequences.
    BatchRows(const Host *host, uint32_t n_rows, uint32_t n_sequences);
    static uint64_t bytes(uint32_t n_rows, uint32_t n_sequences); // that it takes

    void clear();
    size_t room() const { return tokens_.size() - n_; }
    size_t n() const { return n_; }
    // n <= room() tokens from position `first` on of a sequence that has no run yet, or whose run is
    // the last one and goes on; of the last n_logits logits are wanted.
    void add(uint32_t sequence, const int32_t *tokens, size_t n, uint64_t first, size_t n_logits);

    const Vector<BatchPart> &parts() const { return parts_; }
    // Rows whose logits are wanted, ascending.
    const Vector<uint32_t> &wanted() const { return wanted_; }
    void set(Context &context); // to run with these rows

private:
    Vector<int32_t> tokens_;
    Vector<uint32_t> positions_, sequences_; // of the rows
    Vector<uint32_t> wanted_;
    Vector<BatchPart> parts_;
    Vector<state::Step> memory_; // of the parts
    size_t n_ = 0;
};

} // namespace ggufx::model
