// Q8_0, Q5_1, Q5_0, Q4_1, Q4_0 and IQ4_NL, plain or rotated: blocks of 32 by the encoders of GGUF
// files; IQ4_NL by one least-squares step, since their search takes 28 us a head of 128.
// SPDX-License-Identifier: MIT
#include "quant/blocks.hpp"
#include "formats/grids/grids.hpp"
#include "kv/types/encoders.hpp"

namespace ggufx::kv {

namespace {

constexpr uint32_t kBlock = 32;

// A block of a file: f16 scale, f16 minimum, bit 4 of the codes, nibbles (or whole bytes).
struct Shape {
    uint32_t bits;
    bool has_min;
};

void unpack_block(uint8_t *code, uint16_t *scale, uint16_t *min, const uint8_t *block,
                  Shape shape) {
    *scale = load_u16le(block);
    *min = shape.has_min ? load_u16le(block + 2) : uint16_t{0};
    block += shape.has_min ? 4 : 2;
    if (shape.bits == 8) { // signed there, with an offset in pages
        for (uint32_t i = 0; i < kBlock; i++) code[i] = block[i] ^ 0x80u;
        return;
    }
    const uint32_t fifth = shape.bits == 5 ? load_u32le(block) : 0;
    if (shape.bits == 5) block += 4;
    for (uint32_t i = 0; i < kBlock; i++) {
        const uint32_t nibble = i < 16 ? block[i] & 15u : uint32_t{block[i - 16]} >> 4;
        code[i] = static_cast<uint8_t>(nibble | (fifth >> i & 1u) << 4);
    }
}

// Rotated values may ask for more than f16 holds.
uint16_t finite_half(uint16_t half) {
    return (half & 0x7fffu) > 0x7bffu ? static_cast<uint16_t>((half & 0x8000u) | 0x7bffu) : half;
}

void encode_blocks(const Scratch &scratch, uint32_t count, uint32_t n, quant::EncodeFn *encode,
                   Shape shape) {
    const quant::Context context = {};
    uint8_t block[34];
    for (uint32_t i = 0; i < count; i++) {
        const Codes to = scratch.codes(i);
        const float *x = scratch.vector(i);
        for (uint32_t b = 0; b * kBlock < n; b++) {
            encode(block, x + b * kBlock, 1, context);
            unpack_block(to.code + b * kBlock, to.scale + b, to.min + b, block, shape);
            to.scale[b] = finite_half(to.scale[b]);
        }
    }
}

// The nearest level of IQ4_NL; halfway goes up.
uint8_t nearest_level(float v) {
    uint32_t code = 0;
    for (uint32_t c = 1; c < 16; c++) {
        const int32_t twice = fmt::kCodesIq4[c - 1] + fmt::kCodesIq4[c];
        code += v >= static_cast<float>(twice) * 0.5f ? 1 : 0;
    }
    return static_cast<uint8_t>(code);
}

// Codes for the value of largest magnitude at -127, then the scale by least squares with weights
// x^2, sums in order.
void encode_iq4_nl_block(uint8_t *code, uint16_t *scale, const float *x) {
    const float d = quant::signed_largest(x, int{kBlock}) / -127.0f, id = quant::inverse(d);
    const bool usable = quant::magnitude(id) <= 0x1p100f; // smaller scales are 0 in f16
    float qx = 0.0f, q2 = 0.0f;
    for (uint32_t i = 0; i < kBlock; i++) {
        const float y = usable ? x[i] * id : 0.0f;
        code[i] = nearest_level(y);
        const float q = static_cast<float>(fmt::kCodesIq4[code[i]]), w = y * y;
        qx += w * q * y;
        q2 += w * q * q;
    }
    *scale = finite_half(f32_to_f16(q2 > 0.0f ? d * (qx / q2) : 0.0f));
}

} // namespace

void encode_q8_0(const Scratch &scratch, uint32_t count, uint32_t n, Side) {
    encode_blocks(scratch, count, n, quant::encode_q8_0, {8, false});
}

void encode_q5_1(const Scratch &scratch, uint32_t count, uint32_t n, Side) {
    encode_blocks(scratch, count, n, quant::encode_q5_1, {5, true});
}

void encode_q5_0(const Scratch &scratch, uint32_t count, uint32_t n, Side) {
    encode_blocks(scratch, count, n, quant::encode_q5_0, {5, false});
}

void encode_q4_1(const Scratch &scratch, uint32_t count, uint32_t n, Side) {
    encode_blocks(scratch, count, n, quant::encode_q4_1, {4, true});
}

void encode_q4_0(const Scratch &scratch, uint32_t count, uint32_t n, Side) {
    encode_blocks(scratch, count, n, quant::encode_q4_0, {4, false});
}

void encode_iq4_nl(const Scratch &scratch, uint32_t count, uint32_t n, Side) {
    for (uint32_t i = 0; i < count; i++) {
        const Codes to = scratch.codes(i);
        for (uint32_t b = 0; b * kBlock < n; b++)
            encode_iq4_nl_block(to.code + b * kBlock, to.scale + b, scratch.vector(i) + b * kBlock);
    }
}

} // namespace ggufx::kv
