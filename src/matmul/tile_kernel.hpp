// Blocked kernel of a type and mode, and the estimated cost of its work.
// SPDX-License-Identifier: MIT
#pragma once

#include "matmul/product.hpp"

namespace ggufx::matmul {

struct TileKernel {
    const kernels::Gemm *gemm;
    uint64_t mac_ps, unpack_ps, pack_ps; // per value
    bool copies; // gathered columns are copied, because the kernel reads the caller's f32

    // Returns the bytes of n packed columns of k values; `ordered`: gathered columns.
    size_t bytes(size_t k, size_t n, bool ordered) const {
        return copies && ordered ? (k * n * sizeof(float) + 63) / 64 * 64 : gemm->bytes(k, n);
    }
    // Returns the scratch bytes that a tile can use with n columns: a panel of its codes and scales
    // (kernels/loops/gemm.hpp) and the sums of all columns. f32 tiles have longer panels.
    size_t scratch(size_t n) const {
        constexpr size_t panel = 24 << 10;
        if (copies) return kernels::kScratchBest;
        return (panel + n * gemm->tile_rows * sizeof(float) + 63) / 64 * 64;
    }
    // Returns the time of one tile with rows of k values and n columns.
    uint64_t tile_ps(size_t k, size_t n) const {
        return (mac_ps * n + unpack_ps) * (k + 1) * gemm->tile_rows;
    }
};

namespace {

constexpr Cost kCost = {1000, 10}, kCostPrecise = {1000, 20}, kCostF32 = {3000, 20},
               kPackCost = {3000, 300};
// Per value of the weights and tile, independent of the number of columns: more than half of the
// time for 8 columns.
constexpr Cost kUnpack = {0, 40}, kUnpackPrecise = {0, 100}, kUnpackF32 = {0, 300};

inline TileKernel tile_kernel_for(const Call &call, uint32_t type) {
    const bool f32 = call.f32(type);
    const kernels::Layer *layer = nullptr;
    const kernels::Gemm *gemm =
        f32 ? kernels::find(call.kernels, &kernels::Layer::gemm_f32, type, &layer)
            : call.gemm(type, &layer);
    const bool precise = call.options.precise;
    const Cost &cost = f32 ? kCostF32 : precise ? kCostPrecise : kCost;
    const Cost &unpack = f32 ? kUnpackF32 : precise ? kUnpackPrecise : kUnpack;
    // NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): scalar has all types
    return {gemm, cost.of(*layer), unpack.of(*layer), kPackCost.of(*layer),
            gemm->bytes(32, 1) == 0};
}

} // namespace
} // namespace ggufx::matmul
