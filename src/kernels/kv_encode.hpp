// Quantization of KV cache pages, sixteen tokens of one head at a time: loading the floats of
// tokens into lanes, centring, the transform of a type, codes into a page.
// docs/reproducibility/attention.md, "Stored bits", defines the arithmetic; a kernel is free in
// everything else.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/kv_page.hpp"
#include "kernels/kv_transform.hpp"

namespace ggufx {
namespace kernels {

namespace {
constexpr uint32_t kKvMaxCodes = 1024;   // longest head of quantized types
constexpr uint32_t kKvFitted = kKvKinds; // entry of TQ3_0 with scale search
constexpr uint32_t kKvEncodings = kKvKinds + 1;
} // namespace

// Sixteen vectors [coordinate][16 tokens], 64-byte aligned. Lanes without a token hold any finite
// value; their codes are undefined.
// - x: as many coordinates as a type pads heads to.
// - code, path: as many bytes.
struct KvVectors {
    float *x;
    uint8_t *code, *path;
};

// Tokens first .. end - 1 of a group.
struct KvLanes {
    uint32_t first, end;
};

// Rows of floats in memory, one per token; stride in bytes. data is the row of lane `first`.
struct KvRowsOf {
    const uint8_t *data;
    size_t stride;
    KvKind kind;          // f32, f16, bf16
    bool of_page = false; // little-endian like pages; else the byte order of the machine
};

// Destination of a group: one of the four groups of a page of a stream.
struct KvTarget {
    uint8_t *page;
    KvStream stream;
    uint32_t group;
};

// Squared error of quantization and squared length of the vector, per token.
struct KvLost {
    float error[kKvGroup], square[kKvGroup];
};

// Dequantizes tokens 16 * group .. + 15 of a page of keys to rows of an F32 page of values, in the
// transformed basis of their type. n: coordinates, as many as the type pads heads to.
using KvDecodeFn = void (*)(float *values, const uint8_t *page, uint32_t n, uint32_t group);

using KvEncodeFn = void (*)(const KvTarget &to, const KvVectors &v, uint32_t n, KvLost &lost);

// Encoders of an instruction set; its KvPages points to them.
struct KvEncoders {
    // Loads coordinates 0 .. n - 1 of rows to x, rounded to f16 and back; other lanes stay.
    void (*load_rows)(float *x, const KvRowsOf &rows, KvLanes lanes, uint32_t n);
    // The same from [coordinate][16] f16 values, the layout of pages of f16 keys.
    void (*load_columns)(float *x, const uint8_t *halves, KvLanes lanes, uint32_t n);
    // Converts n floats to f16, n a multiple of 16: columns and rows of F16 pages.
    void (*to_halves)(uint8_t *halves, const float *x, size_t n);
    // x = fl(fl(x - mu) / eq) for n coordinates; eq may be null.
    void (*centre)(float *x, const float *mu, const float *eq, uint32_t n);
    // Applies the transform of a type to n values of each token; tq3: n is a multiple of 32.
    void (*rotate)(KvTransform transform, float *x, uint32_t n);
    // Quantizes transformed vectors of n values (whole blocks) to codes and scales in a page;
    // [kKvEncodings], null for floats.
    const KvEncodeFn *encode;
    const KvDecodeFn *decode; // [kKvKinds]
};
extern const KvEncoders kScalarKvEncoders, kAvx2KvEncoders, kAvx512KvEncoders, kNeonKvEncoders;

namespace {

// ---- constants of the encoders ------------------------------------------------------------------

constexpr float kTq3Levels[4] = {-1.51f, -0.453f, 0.453f, 1.51f};
constexpr float kTq3Threshold = 0.9815f, kTq3Outer = 1.51f;
constexpr uint32_t kTq3FirstFit = 7, kTq3LastFit = 20; // multiples of 0.05 of the published scale

constexpr float kKvLargestHalf = 65504.0f, kMostFloat = 0x1.fffffep127f;

// Positive levels of the Lloyd-Max quantizer of N(0, 1) with 2, 3, 4 bits.
constexpr float kGxLevels[3][8] = {
    {0.452780f, 1.510418f},
    {0.245094f, 0.756005f, 1.343909f, 2.151946f},
    {0.128395f, 0.388048f, 0.656759f, 0.942340f, 1.256231f, 1.618046f, 2.069017f, 2.732590f}};
// Start values of the scale search, as multiples of the root mean square.
constexpr uint32_t kGxStarts = 8;
constexpr float gx_start(uint32_t i) {
    return 0.5f + static_cast<float>(i) * (0.6f / 7.0f);
}
constexpr float kGxTinyRms = 0x1p-30f; // smaller scales would be 0 in f16
constexpr float kGxNever = 0x1p100f;   // cost of unreachable states

// The codes that lead to one state (code % 4), ascending by level, and the midpoints between them.
struct GxSubset {
    uint32_t n;
    float level[4], middle[3];
    uint8_t code[4];
};
constexpr GxSubset gx_subset(const KvFormat &format, uint32_t state) {
    GxSubset s{};
    for (uint32_t code = state; code < 1u << format.bits; code += 4) {
        uint32_t at = s.n++;
        for (; at > 0 && format.table[s.code[at - 1]] > format.table[code]; at--)
            s.code[at] = s.code[at - 1];
        s.code[at] = static_cast<uint8_t>(code);
    }
    for (uint32_t i = 0; i < s.n; i++) s.level[i] = static_cast<float>(format.table[s.code[i]]);
    for (uint32_t i = 1; i < s.n; i++) s.middle[i - 1] = (s.level[i - 1] + s.level[i]) * 0.5f;
    return s;
}
constexpr uint32_t gx_chain(KvStream stream, uint32_t n, uint32_t j) {
    return stream == KvStream::k ? k_chain(n, j) : v_chain(n, j);
}
// Returns the coordinate before c in the chain, -1 for the first.
constexpr int32_t kv_previous(KvStream stream, uint32_t n, uint32_t c) {
    return stream == KvStream::k ? k_previous(n, c) : v_previous(n, c);
}

} // namespace
} // namespace kernels
} // namespace ggufx
