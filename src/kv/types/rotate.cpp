// Walsh-Hadamard transforms of heads of any length. All f32, every sum and product rounded once.
// SPDX-License-Identifier: MIT
#include "kv/types/rotate.hpp"

#include "base/bytes.hpp"

namespace ggufx::kv {

namespace {

uint32_t block_of(uint32_t n) {
    return n & (0u - n);
}

// Correctly rounded from binary64: the square root of a power of two is exact or sqrt(2) times one.
float norm_of(uint32_t block) {
    return static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(block)));
}

// By the golden ratio: bit 31 of (i + 1) * 2^32 / 1.618...
void flip_signs(float *x, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        x[i] = f32_from_bits(f32_bits(x[i]) ^ ((i + 1) * 0x9e3779b9u & 0x80000000u));
}

void transform(float *x, uint32_t n) {
    const uint32_t block = block_of(n);
    const float norm = norm_of(block);
    for (uint32_t first = 0; first < n; first += block) hadamard(x + first, block);
    for (uint32_t i = 0; i < n; i++) x[i] *= norm;
}

} // namespace

void hadamard(float *x, uint32_t n) {
    for (uint32_t h = 1; h < n; h *= 2) {
        for (uint32_t i = 0; i < n; i += 2 * h) {
            for (uint32_t j = i; j < i + h; j++) {
                const float a = x[j], b = x[j + h];
                x[j] = a + b;
                x[j + h] = a - b;
            }
        }
    }
}

void rotate_head(float *x, uint32_t n) {
    flip_signs(x, n);
    transform(x, n);
}

void unrotate_head(float *x, uint32_t n) {
    transform(x, n);
    flip_signs(x, n);
}

} // namespace ggufx::kv
