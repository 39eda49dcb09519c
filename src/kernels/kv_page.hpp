// Page layout of the KV cache: bit positions of a token in a page of 64 tokens of one KV head, for
// K and for V, and the value of a stored code. Encoders and attention kernels share it.
// docs/contributing/kv-cache.md shows it as a diagram.
//
// A page consists of registers of 64 bytes:
// - K: 16 tokens in the dword lanes; the four bytes of a lane are four adjacent coordinates.
// - V: 16 coordinates in the lanes; the four bytes of a lane are four adjacent tokens.
// - Codes of less than 8 bits share a byte: a plane of 2, 4 or 8 bits (`low`), and for 3 and 5 bits
//   a plane of a single bit (`high`).
// SPDX-License-Identifier: MIT
#pragma once

#include "base/half.hpp"

#include <stddef.h>
#include <stdint.h>

namespace ggufx {
namespace kernels {

// Layout and code values of a page. Rotated types use the kind of their unrotated type.
enum class KvKind : uint32_t {
    f32,
    f16,
    bf16,
    q8_0,
    q5_1,
    q5_0,
    q4_1,
    q4_0,
    iq4_nl, // scale per 32 coordinates, as in the GGUF blocks
    tq3_0,
    tq3_0_residual, // the same stored bits; ignores or uses the third bit
    gx2,
    gx3,
    gx4, // scale per vector, additive trellis of 4 states
};

enum class KvStream { k, v };

namespace {

constexpr uint32_t kKvKinds = 14;

// An entry for each kind.
template <class T> struct OfKvKinds { T of[kKvKinds]; };
// Calls make<kind>() for every kind.
template <class T, uint32_t First = 0, class Make> consteval OfKvKinds<T> for_kv_kinds(Make make) {
    OfKvKinds<T> all = {};
    if constexpr (First + 1 < kKvKinds) all = for_kv_kinds<T, First + 1>(make);
    all.of[First] = make.template operator()<static_cast<KvKind>(First)>();
    return all;
}

constexpr uint32_t kKvTokens = 64; // tokens per page
constexpr uint32_t kKvGroup = 16;  // K tokens in the lanes of a register
constexpr uint32_t kKvStrip = 32;  // coordinates: a block of K, a strip of V (two registers)

// Integer kinds: value = fl(scale * unit) * c (+ minimum) with c = table[code]; for trellises
// c = table[code] + step[previous code % 4]. |c| <= 127, except that Q8_0 may have -128. Q8_0
// stores c + 128.
struct KvFormat {
    uint32_t bits;        // bits per value; 0: floats
    uint32_t float_bytes; // bytes per value; 0: integers
    bool mins;            // f16 minimum for each scale
    bool vector_scale;    // one scale per token instead of one per 32 coordinates
    bool trellis;
    bool signed_scales; // else scales are never negative
    bool wide_query;    // 15-bit query codes instead of +-127
    int32_t offset;     // no table: c = code - offset
    float unit;
    int8_t table[16], step[4];

    constexpr uint32_t low_bits() const { return bits & ~1u; } // 2, 4 or 8
    constexpr uint32_t high_bits() const { return bits & 1u; }
};

// clang-format off
constexpr KvFormat kKvFormats[kKvKinds] = {
    // bits, float bytes, mins, vector scale, trellis, signed scales, wide query, offset, unit
    {0, 4, false, false, false, false, false, 0, 1.0f, {}, {}},
    {0, 2, false, false, false, false, false, 0, 1.0f, {}, {}},
    {0, 2, false, false, false, false, false, 0, 1.0f, {}, {}},
    {8, 0, false, false, false, false, true, 128, 1.0f, {}, {}},
    {5, 0, true, false, false, true, false, 0, 1.0f, {}, {}},
    {5, 0, false, false, false, true, false, 16, 1.0f, {}, {}},
    {4, 0, true, false, false, true, false, 0, 1.0f, {}, {}},
    {4, 0, false, false, false, true, false, 8, 1.0f, {}, {}},
    {4, 0, false, false, false, true, true, 0, 1.0f,
     {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}, {}},
    // codes: index + 4 * residual bit; 0.453 / 1.51 is exactly 3 / 10
    {3, 0, false, false, false, false, false, 0, 0.151f, {-10, -3, 3, 10, -10, -3, 3, 10}, {}},
    // means of the values of a Gaussian block for each index and residual bit
    {3, 0, false, false, false, false, false, 0, 0.0119f,
     {-127, -57, 18, 103, -103, -18, 57, 127}, {}},
    {2, 0, false, true, true, false, false, 0, 1.0f / 64.9992f,
     {-88, 26, -25, 90}, {-18, -37, 37, 17}},
    {3, 0, false, true, true, false, false, 0, 1.0f / 50.053f,
     {34, 103, -34, 61, -60, -103, 11, -11}, {-24, -1, 0, 24}},
    {4, 0, false, true, true, false, false, 0, 1.0f / 42.8659f,
     {-119, -67, -89, -51, -39, -16, -27, -6, 5, 27, 16, 39, 51, 89, 67, 120}, {-5, -7, 7, 5}},
};
// clang-format on

constexpr const KvFormat &kv_format(KvKind kind) {
    return kKvFormats[static_cast<uint32_t>(kind)];
}

// Returns the integer c of a stored code. previous: the preceding code in the chain, 0 at the
// start.
constexpr int32_t kv_code_value(const KvFormat &f, uint32_t code, uint32_t previous = 0) {
    if (f.table[0] == 0) return static_cast<int32_t>(code) - f.offset;
    return f.table[code] + (f.trellis ? f.step[previous % 4] : 0);
}

// Returns the offset that makes c + kv_offset unsigned, at most kv_largest.
constexpr int32_t kv_offset(const KvFormat &f) {
    if (f.table[0] == 0) return f.offset;
    if (f.trellis) return 128;
    int32_t least = 0;
    for (uint32_t i = 0; i < 16; i++) least = f.table[i] < least ? f.table[i] : least;
    return -least;
}
constexpr int32_t kv_largest(const KvFormat &f) {
    if (f.table[0] == 0) return (1 << f.bits) - 1;
    int32_t most = 0;
    for (uint32_t i = 0; i < 16; i++) most = f.table[i] > most ? f.table[i] : most;
    return (f.trellis ? 127 : most) + kv_offset(f);
}

// ---- the chain of a trellis ---------------------------------------------------------------------
// One chain of d codes per vector, d a multiple of 16. Step j of the chain is the coordinate
// k_chain(d, j) in K and v_chain(d, j) in V. In these orders, the previous codes of a register are
// the previous register. The code before step 0 is 0.

constexpr uint32_t k_chain(uint32_t d, uint32_t j) {
    return j % (d / 4) * 4 + j / (d / 4);
}
constexpr uint32_t v_chain(uint32_t d, uint32_t j) {
    return j % (d / 16) * 16 + j / (d / 16);
}
// Returns the coordinate whose code precedes that of c in the chain, -1 for the first.
constexpr int32_t k_previous(uint32_t d, uint32_t c) {
    if (c >= 4) return static_cast<int32_t>(c - 4);
    return c == 0 ? -1 : static_cast<int32_t>(d - 5 + c);
}
constexpr int32_t v_previous(uint32_t d, uint32_t c) {
    if (c >= 16) return static_cast<int32_t>(c - 16);
    return c == 0 ? -1 : static_cast<int32_t>(d - 17 + c);
}

// ---- layout -------------------------------------------------------------------------------------

// Byte offsets from the start of a page; all are multiples of 64.
struct KvLayout {
    uint32_t d;      // coordinates per vector
    uint32_t strips; // strips of 32 coordinates; integer kinds store whole ones (any code after d)
    uint32_t high;   // plane of single bits
    uint32_t scales, mins;
    uint32_t bytes;
};

// Returns the format of an unpacked page: one byte per code including its trellis step, in one
// plane; the same scales.
constexpr KvFormat kv_ready_format(KvFormat f) {
    f.bits = 8;
    f.trellis = false;
    return f;
}

// Layout of integer kinds. K and V have equal sizes; the order within a plane differs.
constexpr KvLayout kv_layout_codes(const KvFormat &f, uint32_t d) {
    KvLayout l{};
    l.d = d;
    l.strips = (d + kKvStrip - 1) / kKvStrip;
    const uint32_t plane = l.strips * kKvStrip * kKvTokens / 8; // one bit per value
    const uint32_t scales = (f.vector_scale ? 1 : l.strips) * kKvTokens * 2;
    l.high = plane * f.low_bits();
    l.scales = l.high + plane * f.high_bits();
    l.mins = l.scales + scales;
    l.bytes = l.mins + (f.mins ? scales : 0);
    return l;
}
constexpr KvLayout k_layout(const KvFormat &f, uint32_t d) {
    if (f.bits) return kv_layout_codes(f, d);
    return {d, 0, 0, 0, 0, d * kKvTokens * f.float_bytes};
}
// Rows of V floats are padded with zeros to 16 coordinates, so that registers are whole.
constexpr KvLayout v_layout(const KvFormat &f, uint32_t d) {
    if (f.bits) return kv_layout_codes(f, d);
    return {d, 0, 0, 0, 0, (d + 15) / 16 * 16 * kKvTokens * f.float_bytes};
}

// Element offsets in float pages. K: [group of 16 tokens][coordinate][16 tokens]. V: columns of 64
// coordinates (the last one narrower), each [64 tokens][coordinates].
constexpr uint32_t k_float_at(uint32_t d, uint32_t token, uint32_t c) {
    return (token / kKvGroup * d + c) * kKvGroup + token % kKvGroup;
}
constexpr uint32_t v_float_width(uint32_t d, uint32_t column) {
    const uint32_t left = (d + 15) / 16 * 16 - column * 64;
    return left < 64 ? left : 64;
}
constexpr uint32_t v_float_at(uint32_t d, uint32_t token, uint32_t c) {
    return c / 64 * (64 * kKvTokens) + token * v_float_width(d, c / 64) + c % 64;
}

// Bit field of a byte: `bits` bits from `shift` on.
struct KvField {
    uint32_t byte, shift;
};

// Registers of 64 codes in a plane of `bits` bits. A stored register holds 8 / bits of them, the
// first in the low bits.
// - K: register (group, coordinate / 4), byte 4 * (token % 16) + coordinate % 4.
// - V: register (strip, token / 4, half of the strip), byte 4 * (coordinate % 16) + token % 4.
constexpr KvField kv_field(uint32_t bits, uint32_t reg, uint32_t byte) {
    const uint32_t per = 8 / bits;
    return {reg / per * 64 + byte, reg % per * bits};
}
constexpr KvField k_field(uint32_t strips, uint32_t bits, uint32_t token, uint32_t c) {
    const uint32_t reg = token / kKvGroup * (strips * 8) + c / 4;
    return kv_field(bits, reg, token % kKvGroup * 4 + c % 4);
}
constexpr KvField v_field(uint32_t bits, uint32_t token, uint32_t c) {
    const uint32_t reg = c / kKvStrip * 32 + token / 4 * 2 + c / 16 % 2;
    return kv_field(bits, reg, c % 16 * 4 + token % 4);
}

// Returns the byte offset of the scale of (token, strip of 32) from `scales`, or of the minimum
// from `mins`. Kinds with one scale per vector use strip 0. K: [group][strip][16]. V: [strip][64].
constexpr uint32_t k_scale_at(const KvFormat &f, uint32_t strips, uint32_t token, uint32_t strip) {
    const uint32_t n = f.vector_scale ? 1 : strips;
    return ((token / kKvGroup * n + strip) * kKvGroup + token % kKvGroup) * 2;
}
constexpr uint32_t v_scale_at(uint32_t token, uint32_t strip) {
    return (strip * kKvTokens + token) * 2;
}

// ---- one token --------------------------------------------------------------------------------

inline void kv_put(uint8_t *plane, KvField at, uint32_t bits, uint32_t value) {
    const uint32_t mask = ((1u << bits) - 1) << at.shift;
    plane[at.byte] = static_cast<uint8_t>((plane[at.byte] & ~mask) | value << at.shift);
}
inline uint32_t kv_get(const uint8_t *plane, KvField at, uint32_t bits) {
    return plane[at.byte] >> at.shift & ((1u << bits) - 1);
}

// Stores codes[d], one per coordinate; changes no bit of another token.
inline void kv_place_codes(uint8_t *page, KvStream stream, const KvFormat &f, uint32_t d,
                           uint32_t token, const uint8_t *codes) {
    const KvLayout l = kv_layout_codes(f, d);
    const uint32_t low = f.low_bits();
    for (uint32_t c = 0; c < d; c++) {
        const bool k = stream == KvStream::k;
        kv_put(page, k ? k_field(l.strips, low, token, c) : v_field(low, token, c), low,
               codes[c] & ((1u << low) - 1));
        if (f.high_bits())
            kv_put(page + l.high, k ? k_field(l.strips, 1, token, c) : v_field(1, token, c), 1,
                   codes[c] >> low & 1u);
    }
}
inline void kv_read_codes(uint8_t *codes, const uint8_t *page, KvStream stream, const KvFormat &f,
                          uint32_t d, uint32_t token) {
    const KvLayout l = kv_layout_codes(f, d);
    const uint32_t low = f.low_bits();
    for (uint32_t c = 0; c < d; c++) {
        const bool k = stream == KvStream::k;
        uint32_t code =
            kv_get(page, k ? k_field(l.strips, low, token, c) : v_field(low, token, c), low);
        if (f.high_bits())
            code |=
                kv_get(page + l.high, k ? k_field(l.strips, 1, token, c) : v_field(1, token, c), 1)
                << low;
        codes[c] = static_cast<uint8_t>(code);
    }
}

// Returns the offset of the f16 scale of a strip (kinds with one per vector: strip 0), or of its
// minimum.
inline size_t kv_scale_at(KvStream stream, const KvFormat &f, uint32_t d, uint32_t token,
                          uint32_t strip) {
    const KvLayout l = kv_layout_codes(f, d);
    return l.scales + (stream == KvStream::k ? k_scale_at(f, l.strips, token, strip)
                                             : v_scale_at(token, strip));
}
inline size_t kv_min_at(KvStream stream, const KvFormat &f, uint32_t d, uint32_t token,
                        uint32_t strip) {
    const KvLayout l = kv_layout_codes(f, d);
    return kv_scale_at(stream, f, d, token, strip) + (l.mins - l.scales);
}

// Computes the integers c of a vector from its codes: the reference for the kernels.
inline void kv_values(int32_t *values, const uint8_t *codes, KvStream stream, const KvFormat &f,
                      uint32_t d) {
    for (uint32_t c = 0; c < d; c++) {
        int32_t before = -1;
        if (f.trellis) before = stream == KvStream::k ? k_previous(d, c) : v_previous(d, c);
        values[c] = kv_code_value(f, codes[c], before < 0 ? 0 : codes[before]);
    }
}

} // namespace
} // namespace kernels
} // namespace ggufx
