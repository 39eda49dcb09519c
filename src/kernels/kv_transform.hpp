// Orthogonal transforms of KV types: sign flips, then Walsh-Hadamard transforms of equal blocks.
// All f32, every sum and product rounded once. This is the scalar definition; readers of pages use
// it too.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace ggufx {
namespace kernels {

enum class KvTransform : uint8_t {
    none,
    head, // signs by the golden ratio, blocks of the largest power of two that divides the head
    tq3,  // blocks of 32 with their own signs
};

namespace {

// Returns bit 31 of (i + 1) * 2^32 / 1.618...: whether coordinate i changes its sign.
constexpr bool kv_flipped(uint32_t i) {
    return (i + 1) * 0x9e3779b9u >> 31;
}
constexpr int8_t kTq3Signs[32] = {1, -1, 1,  1, -1, -1, 1, -1, 1,  1, -1, 1, -1, 1,  -1, -1,
                                  1, -1, -1, 1, 1,  -1, 1, -1, -1, 1, 1,  1, -1, -1, 1,  -1};

constexpr bool kv_flipped(KvTransform transform, uint32_t i) {
    return transform == KvTransform::head ? kv_flipped(i) : kTq3Signs[i % 32] < 0;
}
constexpr uint32_t kv_block(KvTransform transform, uint32_t n) {
    return transform == KvTransform::head ? n & (0u - n) : 32;
}
// Returns 1 / sqrt(block), correctly rounded from binary64: the square root of a power of two is
// exact or sqrt(2) times one.
inline float kv_norm(uint32_t block) {
    return static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(block)));
}

// Natural (Sylvester) order, not normalized: (a, b) -> (a + b, a - b) at distances 1, 2, 4, ...
// n values, a power of two, `step` floats apart.
inline void kv_hadamard_text(float *x, size_t n, size_t step) {
    for (size_t h = 1; h < n; h *= 2)
        for (size_t i = 0; i < n; i += 2 * h)
            for (size_t j = i; j < i + h; j++) {
                const float a = x[j * step], b = x[(j + h) * step];
                x[j * step] = a + b;
                x[(j + h) * step] = a - b;
            }
}

inline void kv_flip_text(KvTransform transform, float *x, uint32_t n, size_t step) {
    for (uint32_t i = 0; i < n; i++)
        if (kv_flipped(transform, i)) x[i * step] = -x[i * step];
}
inline void kv_blocks_text(KvTransform transform, float *x, uint32_t n, size_t step) {
    const uint32_t block = kv_block(transform, n);
    const float norm = kv_norm(block);
    for (uint32_t i = 0; i < n; i += block) kv_hadamard_text(x + i * step, block, step);
    for (uint32_t i = 0; i < n; i++) x[i * step] *= norm;
}

// The transform of a type and its inverse. tq3: n is a multiple of 32.
inline void kv_rotate_text(KvTransform transform, float *x, uint32_t n, size_t step) {
    if (transform == KvTransform::none) return;
    kv_flip_text(transform, x, n, step);
    kv_blocks_text(transform, x, n, step);
}
inline void kv_unrotate_text(KvTransform transform, float *x, uint32_t n, size_t step) {
    if (transform == KvTransform::none) return;
    kv_blocks_text(transform, x, n, step);
    kv_flip_text(transform, x, n, step);
}

} // namespace
} // namespace kernels
} // namespace ggufx
