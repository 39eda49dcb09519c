// One product straight through the kernels, without engine or threads.
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
    size_t n; // 1..3: matvec families, from 4 on: tiles
    Mode mode;
    size_t scratch_bytes = ggufx::kernels::kScratchBest;
    bool by_rows = false; // matvec families for all n, at most kRowColumns

    // Columns that have the definition of this product.
    size_t defined_as() const { return by_rows ? 1 : n; }
};

// False when the type has no such product.
bool multiply(ggufx::kernels::Out y, const ggufx::kernels::Kernels &kernels, const Product &p);

// The kernels of n = 1..3 in integers (not Mode::f32); null when the type has none.
const ggufx::kernels::Matvec *find_matvec(const ggufx::kernels::Kernels &kernels, uint32_t type,
                                          Mode mode);

// Where a kernel has the numbers of blocks within a step of packed activations.
class PackedOrder {
public:
    PackedOrder(); // as they come
    // That of a kernel of 8 bits, seen by packing one value at a time.
    explicit PackedOrder(const ggufx::kernels::Matvec &kernel);

    float d(const ggufx::kernels::Act &act, size_t block) const;
    // factor() times the sum of a group of 16 codes.
    int32_t sum(const ggufx::kernels::Act &act, size_t group) const;
    int32_t factor() const { return factor_; }
    // Where sums have a factor they are int32, and half of them stand where s is otherwise.
    bool has_s() const { return factor_ == 1; }
    float s(const ggufx::kernels::Act &act, size_t block) const;

private:
    static constexpr size_t kBlocks = ggufx::kernels::kActPad / 32, kGroups = 2 * kBlocks;
    size_t block_[kBlocks], group_[kGroups];
    int32_t factor_ = 1;
};

// Do both choices use one kernel? Then comparing them shows nothing.
bool same_kernel(const ggufx::kernels::Kernels &a, const ggufx::kernels::Kernels &b, uint32_t type,
                 size_t n, Mode mode);

// Has the type the product of this mode and n?
bool has_product(const ggufx::kernels::Kernels &kernels, uint32_t type, size_t n, Mode mode);

} // namespace testdata
