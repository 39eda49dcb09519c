// SPDX-License-Identifier: MIT
#include "distributed/pack.hpp"

#include "base/bytes.hpp"
#include "base/math.hpp"

#include <algorithm>
#include <math.h>
#include <string.h>

namespace ggufx::model {

namespace {

constexpr uint32_t kInfinity = 0x7f800000, kLeast = 0x0d800000; // 2^-100

// A block: integers, then the largest magnitude; a NaN if the values are not finite.
template <class Q> struct Block {
    Q q[kPackedValues];
    float largest;
};

// Computes q = the integer nearest to fl(x * fl(N / a)), ties to even: below 2^22.
template <class Q> void pack_block(uint8_t *out, const float *x, float most) {
    Block<Q> block = {};
    uint32_t u = 0;
    for (size_t i = 0; i < kPackedValues; i++) u = std::max(u, f32_bits(x[i]) & 0x7fffffffu);
    if (u >= kInfinity) {
        block.largest = f32_from_bits(kCanonicalNan);
    } else if (u >= kLeast) {
        block.largest = f32_from_bits(u);
        const float scale = most / block.largest;
        for (size_t i = 0; i < kPackedValues; i++)
            block.q[i] = static_cast<Q>(round_even_f32(x[i] * scale));
    }
    memcpy(out, &block, sizeof block);
}

// Computes q a / N, and a itself where |q| = N, so that the largest magnitude is a.
template <class Q> void unpack_block(float *out, const uint8_t *in, float most) {
    Block<Q> block;
    memcpy(&block, in, sizeof block);
    const float step = block.largest / most;
    for (size_t i = 0; i < kPackedValues; i++) {
        const float q = static_cast<float>(block.q[i]);
        const bool is_most = q == most || q == -most;
        out[i] = is_most ? (q < 0 ? -block.largest : block.largest) : q * step;
    }
    if (block.largest != block.largest) std::fill_n(out, kPackedValues, block.largest);
}

template <class F> void each_block(size_t n, size_t bytes, const F &f) {
    for (size_t i = 0; i < n / kPackedValues; i++) f(i * kPackedValues, i * bytes);
}

constexpr float kMost8 = 127.0f, kMost15 = 16256.0f;

} // namespace

size_t packed_bytes(size_t n, Packing packing) {
    switch (packing) {
    case Packing::bits8:
        return n / kPackedValues * sizeof(Block<int8_t>);
    case Packing::bits15:
        return n / kPackedValues * sizeof(Block<int16_t>);
    case Packing::f32:
        break;
    }
    return n * sizeof(float);
}

void pack(uint8_t *out, const float *x, size_t n, Packing packing) {
    switch (packing) {
    case Packing::bits8:
        return each_block(n, sizeof(Block<int8_t>), [&](size_t i, size_t at) {
            pack_block<int8_t>(out + at, x + i, kMost8);
        });
    case Packing::bits15:
        return each_block(n, sizeof(Block<int16_t>), [&](size_t i, size_t at) {
            pack_block<int16_t>(out + at, x + i, kMost15);
        });
    case Packing::f32:
        memcpy(out, x, n * sizeof *x);
    }
}

void unpack(float *out, const uint8_t *in, size_t n, Packing packing) {
    switch (packing) {
    case Packing::bits8:
        return each_block(n, sizeof(Block<int8_t>), [&](size_t i, size_t at) {
            unpack_block<int8_t>(out + i, in + at, kMost8);
        });
    case Packing::bits15:
        return each_block(n, sizeof(Block<int16_t>), [&](size_t i, size_t at) {
            unpack_block<int16_t>(out + i, in + at, kMost15);
        });
    case Packing::f32:
        memcpy(out, in, n * sizeof *out);
    }
}

} // namespace ggufx::model
