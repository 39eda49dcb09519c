// Mode of computation, stored as a byte per token: the kind of products in its call, and whether an
// embedding of the caller replaced the token's own.
// SPDX-License-Identifier: MIT
#pragma once

#include "matmul/matmul.hpp"

namespace ggufx::model {

// These values are part of snapshots.
constexpr uint8_t kModeF32 = 1, kModeInvariant = 2, kModePrecise = 4, kModeTiles = 8,
                  kModeEmbedded = 16;

inline uint8_t mode_of(const matmul::Options &options) {
    return static_cast<uint8_t>(
        (options.f32_activations ? kModeF32 : 0) | (options.batch_invariant ? kModeInvariant : 0) |
        (options.precise ? kModePrecise : 0) | (options.tiles ? kModeTiles : 0));
}

inline uint8_t products_of(uint8_t mode) {
    return mode & static_cast<uint8_t>(~kModeEmbedded);
}

inline bool is_mode(uint8_t mode) {
    constexpr uint8_t kAll = kModeF32 | kModeInvariant | kModePrecise | kModeTiles | kModeEmbedded;
    const auto both = [mode](uint8_t a, uint8_t b) { return (mode & a) && (mode & b); };
    return mode <= kAll && !both(kModeF32, kModePrecise) && !both(kModeInvariant, kModeTiles);
}

inline matmul::Options with_mode(matmul::Options options, uint8_t mode) {
    options.f32_activations = (mode & kModeF32) != 0;
    options.batch_invariant = (mode & kModeInvariant) != 0;
    options.precise = (mode & kModePrecise) != 0;
    options.tiles = (mode & kModeTiles) != 0;
    return options;
}

} // namespace ggufx::model
