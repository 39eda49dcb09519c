// One product called directly on the kernels, without engine or threads.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/act.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/table.hpp"

#include <stddef.h>
#include <stdint.h>

namespace testdata {

enum class Mode { int8, precise, f32 };
constexpr Mode kAllModes[] = {Mode::int8, Mode::precise, Mode::f32};

struct Product {
    uint32_t type;
    ggufx::kernels::Rows w;
    const float *x;
    size_t ldx;
    size_t n; // 1..3: matvec families, from 4: blocked GEMM
    Mode mode;
    size_t scratch_bytes = ggufx::kernels::kScratchBest;
    bool by_rows = false;    // row-wise: matvec families for all n, at most kRowColumns
    bool in_streams = false; // row-wise in several tasks that continue each other's streams

    // Number of columns that defines this product's bits.
    size_t defined_as() const { return by_rows ? 1 : n; }
};

// Returns false when the type has no such product.
bool multiply(ggufx::kernels::Out y, const ggufx::kernels::Kernels &kernels, const Product &p);

// Returns the integer kernels for n = 1..3 (not Mode::f32), or null when the type has none.
const ggufx::kernels::Matvec *find_matvec(const ggufx::kernels::Kernels &kernels, uint32_t type,
                                          Mode mode);

// Order of the numbers of blocks within a step of a kernel's packed activations.
class PackedOrder {
public:
    PackedOrder(); // in order
    // The order of an 8-bit kernel, determined by packing one value at a time.
    explicit PackedOrder(const ggufx::kernels::Matvec &kernel);

    float d(const ggufx::kernels::Act &act, size_t block) const;
    // Returns factor() times the sum of a group of 16 codes.
    int32_t sum(const ggufx::kernels::Act &act, size_t group) const;
    int32_t factor() const { return factor_; }
    // Sums with a factor are int32, and half of them are stored in place of s.
    bool has_s() const { return factor_ == 1; }
    float s(const ggufx::kernels::Act &act, size_t block) const;

private:
    static constexpr size_t kBlocks = ggufx::kernels::kActPad / 32, kGroups = 2 * kBlocks;
    size_t block_[kBlocks], group_[kGroups];
    int32_t factor_ = 1;
};

// Returns whether both choices use the same kernel, so that a comparison shows nothing.
bool same_kernel(const ggufx::kernels::Kernels &a, const ggufx::kernels::Kernels &b, uint32_t type,
                 size_t n, Mode mode);

// Returns whether the type has the product of this mode and n.
bool has_product(const ggufx::kernels::Kernels &kernels, uint32_t type, size_t n, Mode mode);

} // namespace testdata
