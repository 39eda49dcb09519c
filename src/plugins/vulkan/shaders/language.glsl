// GLSL environment for lanes/ (../../README.md): types, memory reads, and arithmetic with defined
// rounding.
// - FMA1: the function that fma1 calls, so that drivers do not compile the other variants.
// - WITH_F64, WITH_DOT: the module requires binary64, int8 dot products.
// SPDX-License-Identifier: MIT
#extension GL_EXT_control_flow_attributes : require
#ifdef WITH_DOT
#extension GL_EXT_spirv_intrinsics : require
#endif

layout(constant_id = 0) const uint OP = 0u;      // values of plugin::Op
layout(constant_id = 1) const uint COLUMNS = 1u; // columns of dots

#define OP_PROBE 0u
#define OP_PACK8 1u
#define OP_PACK15 2u
#define OP_SUMS 3u
#define OP_DOTS8 4u
#define OP_DOTS15 5u
#define OP_DOTS_F32 6u
#define OP_CHAINS8 7u
#define OP_CHAINS15 8u
#define OP_CHAINS_F32 9u
#define OP_READ 10u

// Push constants. Offsets of buffers that are bound as a whole are in units of their elements.
layout(push_constant) uniform Push {
    uint n_rows; // rows of the job; probe: cases
    uint k;      // values of a column; read: bytes
    uint n;      // columns
    uint column; // first column
    uint first;  // byte offset of the first row in the bound weights
    uint stride; // bytes between rows
    uint x, packed, sums, y, ldy, book;
    uint group; // values per group of sums
    uint plane; // words from the high to the low plane of a column
} push;

layout(std430, binding = 0) readonly buffer Weights { uint weights[]; };
layout(std430, binding = 1) readonly buffer X { float xs[]; };
layout(std430, binding = 2) buffer Packed { uint packed_words[]; };
layout(std430, binding = 3) buffer GroupSums { float x_sums[]; };
layout(std430, binding = 4) buffer Y { float ys[]; };
layout(std430, binding = 5) readonly buffer Books { uint books[]; };

#define LANE
#define CONSTANT const
#define UNROLL [[unroll]]
#define Place uint
#define Codebook uint
#define MINS_NONE 0u
#define MINS_FLOAT 1u
#define MINS_INTEGER 2u

#include "words.inc"

uint as_uint(float f) {
    return floatBitsToUint(f);
}
float as_float(uint u) {
    return uintBitsToFloat(u);
}
// precise: no contraction, no reordering.
float mul1(float a, float b) {
    precise float r = a * b;
    return r;
}
float add1(float a, float b) {
    precise float r = a + b;
    return r;
}
float sub1(float a, float b) {
    precise float r = a - b;
    return r;
}
float fma_device(float a, float b, float c) {
    precise float r = fma(a, b, c);
    return r;
}
float f32_of(int v) {
    return float(v);
}
#ifdef WITH_DOT
// OpSDot by its opcode: glslang of Debian 12 has no extension for it.
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6018], id = 4450)
int dot_packed(int a, int b, spirv_literal int packed_4x8);
int dot4(uint a, uint b, int t) {
    return t + dot_packed(int(a), int(b), 0);
}
#else
int dot4(uint a, uint b, int t) {
    int x = int(a), y = int(b);
    return t + bitfieldExtract(x, 0, 8) * bitfieldExtract(y, 0, 8) +
           bitfieldExtract(x, 8, 8) * bitfieldExtract(y, 8, 8) +
           bitfieldExtract(x, 16, 8) * bitfieldExtract(y, 16, 8) +
           bitfieldExtract(x, 24, 8) * bitfieldExtract(y, 24, 8);
}
#endif
#ifdef WITH_F64
#define LANES_F64
double mul2(double a, double b) {
    precise double r = a * b;
    return r;
}
double add2(double a, double b) {
    precise double r = a + b;
    return r;
}
double sub2(double a, double b) {
    precise double r = a - b;
    return r;
}
// Rounds s to odd: returns s, or its neighbour with an odd last bit if the exact sum is s + lost.
float f32_of_odd(double s, double lost) {
    uvec2 bits = unpackDouble2x32(s);
    bool endless = (bits.y & 0x7ff00000u) == 0x7ff00000u;
    if (!endless && lost != 0.0LF && (bits.x & 1u) == 0u) {
        if ((lost > 0.0LF) == (s > 0.0LF)) {
            bits.x += 1u; // the last bit was 0
        } else {
            if (bits.x == 0u) bits.y -= 1u;
            bits.x -= 1u;
        }
    }
    precise float r = float(packDouble2x32(bits));
    return r;
}
#endif

uint byte_at(Place p) {
    return weights[p >> 2u] >> 8u * (p & 3u) & 255u;
}
uint word_at(Place p) {
    uint at = p >> 2u, shift = 8u * (p & 3u), low = weights[at];
    return shift == 0u ? low : low >> shift | weights[at + 1u] << (32u - shift);
}
uint half_at(Place p) {
    return word_at(p) & 0xffffu;
}
// Reads n words, and one more word if p is not a multiple of 4.
Words words_at(Place p, uint n) {
    uint at = p >> 2u, shift = 8u * (p & 3u);
    Words v;
    if (shift == 0u) {
        UNROLL for (uint i = 0u; i < n; i++) v.w[i] = weights[at + i];
    } else {
        uint last = weights[at];
        UNROLL for (uint i = 0u; i < n; i++) {
            uint next = weights[at + i + 1u];
            v.w[i] = last >> shift | next << (32u - shift);
            last = next;
        }
    }
    return v;
}
Words words4_at(Place p) {
    return words_at(p, 4u);
}
Words words8_at(Place p) {
    return words_at(p, 8u);
}
uint book_word(Codebook book, uint i) {
    return books[book + i];
}

#include "arithmetic.inc"
#include "bytes.inc"
#include "activations.inc"
#include "sums.inc"
