// The multiply-add peak that products are compared with: nothing but the instruction a set
// multiplies with, on 8 to 24 independent accumulators, no memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace ggufx::cli {

struct PeakLoop {
    void (*run)(uint64_t turns);
    double ops_per_turn; // two per product
};

// The loops of one set and kind of product; n = 0 where this build has none.
struct PeakLoops {
    const PeakLoop *loops;
    size_t n;
};

// Products of int8 (false) or of f32 (true); isa is GGUFX_ISA_*.
PeakLoops peak_loops(int32_t isa, bool f32);

PeakLoops peak_avx512(bool f32);
PeakLoops peak_avxvnni(bool f32);
PeakLoops peak_avx2(bool f32);
PeakLoops peak_neon(bool f32);
PeakLoops peak_neon_dot(bool f32);

// A turn is this many steps on every accumulator.
constexpr unsigned kPeakSteps = 4;

} // namespace ggufx::cli
