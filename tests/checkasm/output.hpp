// Output matrix of a product that detects writes outside the results.
// SPDX-License-Identifier: MIT
#pragma once

#include "data.hpp"
#include "kernels/table.hpp"

namespace testdata {

constexpr uint32_t kCanary = 0xdeadbeefu;

// A matrix of floats with gaps between the columns, all of it canaries at first.
class Output {
public:
    Output(size_t n_rows, size_t n_columns)
        : ld(n_rows + 3), n_rows_(n_rows), n_columns_(n_columns),
          memory_((ld * (n_columns - 1) + n_rows + 1) * sizeof(float)) {
        for (size_t i = 0; i < size(); i++) memory_.floats()[i] = ggufx::f32_from_bits(kCanary);
    }
    // Aligned to 4 bytes only.
    ggufx::kernels::Out out() const { return {memory_.floats() + 1, ld}; }
    uint32_t bits(size_t r, size_t c) const {
        return ggufx::f32_bits(memory_.floats()[1 + c * ld + r]);
    }
    bool canaries_live() const {
        for (size_t i = 0; i < size(); i++) {
            const bool inside = i > 0 && (i - 1) % ld < n_rows_;
            if (!inside && ggufx::f32_bits(memory_.floats()[i]) != kCanary) return false;
        }
        return true;
    }
    const size_t ld;

private:
    size_t size() const { return ld * (n_columns_ - 1) + n_rows_ + 1; }
    size_t n_rows_, n_columns_;
    Guarded memory_;
};

} // namespace testdata
