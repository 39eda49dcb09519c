// The multiply-add peak that products are compared with: only the multiply instruction of an
// instruction set, on 8 to 24 independent accumulators, without memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace ggufx::cli {

struct PeakLoop {
    void (*run)(uint64_t turns);
    double ops_per_turn; // two per product
};

// The loops of an instruction set and a kind of product.
struct PeakLoops {
    const PeakLoop *loops;
    size_t n;
};

// Returns loops for products of int8 (false) or f32 (true); isa is GGUFX_ISA_*. Without loops of
// the set in this build, those of scalar code.
PeakLoops peak_loops(int32_t isa, bool f32);

} // namespace ggufx::cli
