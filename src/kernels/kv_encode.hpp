// Encoding pages of the KV cache, sixteen tokens of one head at a time: floats of tokens into
// lanes, centring, the transform of a type, codes into a page. The arithmetic is that of
// docs/reproducibility/attention.md, "Stored bits"; a kernel is free in everything else.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/kv_page.hpp"
#include "kernels/kv_transform.hpp"

namespace ggufx {
namespace kernels {

namespace {
constexpr uint32_t kKvMaxCodes = 1024;   // longest head of encoded types
constexpr uint32_t kKvFitted = kKvKinds; // entry of TQ3_0 with the scale searched
constexpr uint32_t kKvEncodings = kKvKinds + 1;
} // namespace

// Sixteen vectors [coordinate][16 tokens], aligned to 64 bytes. Lanes without a token hold
// anything finite; their codes mean nothing.
// x: as many coordinates as a type pads heads to; code and path: as many, of bytes.
struct KvVectors {
    float *x;
    uint8_t *code, *path;
};

// Tokens first .. end - 1 of a group.
struct KvLanes {
    uint32_t first, end;
};

// Rows of floats in memory, one per token; stride in bytes. The row of lane `first` is at data.
struct KvRowsOf {
    const uint8_t *data;
    size_t stride;
    KvKind kind;          // f32, f16, bf16
    bool of_page = false; // little-endian, as pages are; else the order of bytes is the machine's
};

// Where a group goes: which of the four of a page, of which stream.
struct KvTarget {
    uint8_t *page;
    KvStream stream;
    uint32_t group;
};

// Per token: the sum of squares of what encoding lost, and of the vector.
struct KvLost {
    float error[kKvGroup], square[kKvGroup];
};

// Tokens 16 * group .. + 15 of a page of keys to rows of an F32 page of values, in the basis of
// their type; n: coordinates, as many as the type pads heads to.
using KvDecodeFn = void (*)(float *values, const uint8_t *page, uint32_t n, uint32_t group);

using KvEncodeFn = void (*)(const KvTarget &to, const KvVectors &v, uint32_t n, KvLost &lost);

// What an instruction set has; its KvPages point to it.
struct KvEncoders {
    // Coordinates 0 .. n - 1 of rows to x, rounded to f16 and back; other lanes stay.
    void (*load_rows)(float *x, const KvRowsOf &rows, KvLanes lanes, uint32_t n);
    // The same from [coordinate][16] halves, as pages of f16 keys have them.
    void (*load_columns)(float *x, const uint8_t *halves, KvLanes lanes, uint32_t n);
    // n floats to f16, n a multiple of 16: columns and rows of F16 pages.
    void (*to_halves)(uint8_t *halves, const float *x, size_t n);
    // x = fl(fl(x - mu) / eq) for n coordinates; eq may be null.
    void (*centre)(float *x, const float *mu, const float *eq, uint32_t n);
    // n values of each token into the basis of a type; tq3: n is a multiple of 32.
    void (*rotate)(KvTransform transform, float *x, uint32_t n);
    // Transformed vectors of n values (whole blocks) to codes and scales in a page; [kKvEncodings],
    // null for floats.
    const KvEncodeFn *encode;
    const KvDecodeFn *decode; // [kKvKinds]
};
extern const KvEncoders kScalarKvEncoders, kAvx2KvEncoders, kAvx512KvEncoders, kNeonKvEncoders;

namespace {

// ---- constants of the encoders ------------------------------------------------------------------

constexpr float kTq3Levels[4] = {-1.51f, -0.453f, 0.453f, 1.51f};
constexpr float kTq3Threshold = 0.9815f, kTq3Outer = 1.51f;
constexpr uint32_t kTq3FirstFit = 7, kTq3LastFit = 20; // of the published scale, times 0.05

constexpr float kKvLargestHalf = 65504.0f, kMostFloat = 0x1.fffffep127f;

// Levels of the quantizer of N(0, 1) by Lloyd and Max, positive half, of 2, 3, 4 bits.
constexpr float kGxLevels[3][8] = {
    {0.452780f, 1.510418f},
    {0.245094f, 0.756005f, 1.343909f, 2.151946f},
    {0.128395f, 0.388048f, 0.656759f, 0.942340f, 1.256231f, 1.618046f, 2.069017f, 2.732590f}};
// Where the search of the scale starts, as multiples of the root of the mean square.
constexpr uint32_t kGxStarts = 8;
constexpr float gx_start(uint32_t i) {
    return 0.5f + static_cast<float>(i) * (0.6f / 7.0f);
}
constexpr float kGxTinyRms = 0x1p-30f; // scales below it would be 0 in f16
constexpr float kGxNever = 0x1p100f;   // the cost of states that cannot be

// The codes that lead to one state (code % 4), ascending by level, and the halves between them.
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
// The coordinate before c in the chain, -1 for the first.
constexpr int32_t kv_previous(KvStream stream, uint32_t n, uint32_t c) {
    return stream == KvStream::k ? k_previous(n, c) : v_previous(n, c);
}

} // namespace
} // namespace kernels
} // namespace ggufx
