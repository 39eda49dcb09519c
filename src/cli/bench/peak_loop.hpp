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

// The loops of an instruction set and a kind of product; n = 0 if this build has none.
struct PeakLoops {
    const PeakLoop *loops;
    size_t n;
};

// Returns loops for products of int8 (false) or f32 (true); isa is GGUFX_ISA_*.
PeakLoops peak_loops(int32_t isa, bool f32);

PeakLoops peak_avx512(bool f32);
PeakLoops peak_avxvnni(bool f32);
PeakLoops peak_avx2(bool f32);
PeakLoops peak_neon(bool f32);
PeakLoops peak_neon_dot(bool f32);

// Steps per turn, each on every accumulator.
constexpr unsigned kPeakSteps = 4;

} // namespace ggufx::cli
