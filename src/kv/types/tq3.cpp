// TQ3_0: 32 values in 14 bytes: qs[8] 2-bit codes (value j: bits 2 * (j % 4) of byte j / 4), qr[4]
// signs of the residuals, f16 scale. Bytes as published, see tests/golden/kv.cpp; the second
// encoder searches the scale and leaves bytes that the same decoders read.
// SPDX-License-Identifier: MIT
#include "base/half.hpp"
#include "kv/types/encoders.hpp"
#include "kv/types/rotate.hpp"

#include <string.h>

namespace ggufx::kv {

namespace {

constexpr uint32_t kBlock = 32;
constexpr int8_t kSigns[kBlock] = {1, -1, 1,  1, -1, -1, 1, -1, 1,  1, -1, 1, -1, 1,  -1, -1,
                                   1, -1, -1, 1, 1,  -1, 1, -1, -1, 1, 1,  1, -1, -1, 1,  -1};
constexpr float kLevels[4] = {-1.51f, -0.453f, 0.453f, 1.51f};
constexpr float kThreshold = 0.9815f, kOuter = 1.51f;
constexpr float kNorm = 0.17677669529663688f; // 1 / sqrt(32)
constexpr uint16_t kLargestHalf = 0x7bff;

uint32_t code_of(float u) {
    if (u < 0.0f) return u < -kThreshold ? 0 : 1;
    return u < kThreshold ? 2 : 3;
}

// NaN in f16 cannot be: inputs are finite; a scale beyond f16 is its largest number.
uint16_t half_scale(float d) {
    const uint16_t half = f32_to_f16(d);
    return half > kLargestHalf ? kLargestHalf : half;
}

// Codes by the unrounded scale; the bit says whether the value lies above its level.
void put_codes(uint8_t *block, const float *r, float d) {
    const float id = d > 0.0f ? 1.0f / d : 0.0f;
    memset(block, 0, 12);
    for (uint32_t j = 0; j < kBlock; j++) {
        const uint32_t code = code_of(r[j] * id);
        const float product = d * kLevels[code], rest = r[j] - product;
        block[j / 4] = static_cast<uint8_t>(block[j / 4] | code << 2 * (j % 4));
        if (rest >= 0.0f) block[8 + j / 8] = static_cast<uint8_t>(block[8 + j / 8] | 1u << j % 8);
    }
}

float largest(const float *r) {
    float most = 0.0f;
    for (uint32_t j = 0; j < kBlock; j++) {
        const float magnitude = r[j] < 0.0f ? -r[j] : r[j];
        most = magnitude > most ? magnitude : most;
    }
    return most;
}

// What least squares gains with the codes of scale d, and its scale: (sum r c)^2 / sum c^2.
struct Fit {
    float gain, d;
};
Fit fit(const float *r, float d) {
    const float id = 1.0f / d;
    float rc = 0.0f, cc = 0.0f;
    for (uint32_t j = 0; j < kBlock; j++) {
        const float y = r[j] * id, level = kLevels[code_of(y)];
        rc += y * level;
        cc += level * level;
    }
    const float best = d * (rc / cc);
    return {best * (rc * d), best};
}

void encode_with(const Scratch &scratch, uint32_t count, uint32_t n,
                 void (*pack)(uint8_t *, const float *)) {
    uint8_t block[kTq3BlockBytes];
    for (uint32_t i = 0; i < count; i++) {
        const Codes to = scratch.codes(i);
        for (uint32_t b = 0; b * kBlock < n; b++) {
            pack(block, scratch.vector(i) + b * kBlock);
            unpack_tq3_block(to.code + b * kBlock, to.scale + b, block);
        }
    }
}

} // namespace

void rotate_tq3(float *x) {
    for (uint32_t j = 0; j < kBlock; j++) x[j] *= static_cast<float>(kSigns[j]);
    hadamard(x, kBlock);
    for (uint32_t j = 0; j < kBlock; j++) x[j] *= kNorm;
}

void unrotate_tq3(float *x) {
    hadamard(x, kBlock);
    for (uint32_t j = 0; j < kBlock; j++) x[j] *= kNorm * static_cast<float>(kSigns[j]);
}

void pack_tq3_block(uint8_t *block, const float *r) {
    const float d = largest(r) / kOuter;
    put_codes(block, r, d);
    store_u16le(block + 12, half_scale(d));
}

// Scales of 0.35 to 1 times the published one in steps of 0.05, each refitted once.
void pack_tq3_block_fitted(uint8_t *block, const float *r) {
    const float outer = largest(r) / kOuter;
    Fit best = {0.0f, outer};
    for (uint32_t i = 7; i <= 20 && outer >= 0x1p-60f; i++) {
        const Fit f = fit(r, outer * (static_cast<float>(i) * 0.05f));
        if (f.gain > best.gain) best = f;
    }
    put_codes(block, r, best.d);
    store_u16le(block + 12, half_scale(best.d));
}

void unpack_tq3_block(uint8_t *codes, uint16_t *scale, const uint8_t *block) {
    for (uint32_t j = 0; j < kBlock; j++) {
        const uint32_t low = uint32_t{block[j / 4]} >> 2 * (j % 4) & 3u;
        const uint32_t bit = uint32_t{block[8 + j / 8]} >> j % 8 & 1u;
        codes[j] = static_cast<uint8_t>(low | bit << 2);
    }
    *scale = load_u16le(block + 12);
}

void encode_tq3(const Scratch &scratch, uint32_t count, uint32_t n, Side) {
    encode_with(scratch, count, n, pack_tq3_block);
}

void encode_tq3_fitted(const Scratch &scratch, uint32_t count, uint32_t n, Side) {
    encode_with(scratch, count, n, pack_tq3_block_fitted);
}

} // namespace ggufx::kv
