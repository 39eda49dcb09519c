// Columns that each rank has become those that all have: rows are packed, sent, unpacked.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/group/pack.hpp"
#include "model/steps/context.hpp"

namespace ggufx::model {

// Memory for messages of a program's exchanges.
class ExchangeMemory {
public:
    ExchangeMemory() = default;
    // Throws std::bad_alloc.
    ExchangeMemory(const Ref<Host> &host, const Program &program, uint32_t n_ranks);
    static size_t bytes(const Program &program, uint32_t n_ranks);

    uint8_t *out() const { return buffer_.data() + in_bytes_; }
    uint8_t *in() const { return buffer_.data(); }

private:
    Buffer buffer_;
    size_t in_bytes_ = 0;
};

// What a rank sends for a row, but for the header of its message.
size_t row_bytes(const Program &program, const step::Exchange &s, uint32_t rank, Packing packing);

Status run(const Context &c, const step::Exchange &s, Failure *failure);
// The same by a thread that has no part in the executor, as that may be busy.
Status run_aside(const Context &c, const step::Exchange &s, Failure *failure);
// In place of both, where this rank has failed and owes the others a message.
Status run_failed(const Context &c, const step::Exchange &s, Status own, Failure *failure);

} // namespace ggufx::model
