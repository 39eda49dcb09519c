// Makes the blocks of some tensors of a plan in an order of its own, before the other tensors are
// converted.
// SPDX-License-Identifier: MIT
#pragma once

#include "job/plan.hpp"

namespace ggufx::job {

// The file that a run writes. All functions throw Error.
class BlockStore {
public:
    // Returns whether an interrupted run wrote the tensor; index: in the plan.
    virtual bool has(size_t index) const = 0;
    virtual void read(size_t index, uint8_t *blocks) = 0;
    virtual void write(size_t index, const uint8_t *blocks, const OutputErrors &errors) = 0;
    virtual void poll() const = 0; // throws cancelled

protected:
    ~BlockStore() = default;
};

class BlockMaker {
public:
    // Writes the tensors that it makes. Throws Error, std::bad_alloc.
    virtual void make_blocks(BlockStore &store) = 0;

protected:
    ~BlockMaker() = default;
};

} // namespace ggufx::job
