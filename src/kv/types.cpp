// F32, F16, BF16 and Q8_0 rows: bytes as in GGUF files, little-endian on every host.
// Encoders: nearest even; Q8_0 as the reference encoder of format notes section 3, d = amax / 127.
// SPDX-License-Identifier: MIT
#include "kv/types.hpp"

#include "base/half.hpp"

#include <string.h>

namespace ggufx::kv {

namespace {

constexpr uint32_t kBlock = 32, kBlockBytes = 34; // Q8_0: f16 scale, 32 codes

void encode_f32(uint8_t *row, const float *x, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) store_f32le(row + 4 * i, x[i]);
}

void decode_f32(float *out, const uint8_t *row, uint32_t first, uint32_t n) {
    row += 4 * size_t(first);
    for (uint32_t i = 0; i < n; i++) out[i] = load_f32le(row + 4 * i);
}

void encode_f16(uint8_t *row, const float *x, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) store_u16le(row + 2 * i, f32_to_f16(x[i]));
}

// Rows hold no Inf or NaN: a shift and one exact product cover normal and subnormal values alike.
void decode_f16(float *out, const uint8_t *row, uint32_t first, uint32_t n) {
    row += 2 * size_t(first);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t h = load_u16le(row + 2 * i);
        const float magnitude = f32_from_bits((h & 0x7fffu) << 13) * 0x1p112f;
        out[i] = f32_from_bits(f32_bits(magnitude) | (h & 0x8000u) << 16);
    }
}

void encode_bf16(uint8_t *row, const float *x, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) store_u16le(row + 2 * i, f32_to_bf16(x[i]));
}

void decode_bf16(float *out, const uint8_t *row, uint32_t first, uint32_t n) {
    row += 2 * size_t(first);
    for (uint32_t i = 0; i < n; i++) out[i] = bf16_to_f32(load_u16le(row + 2 * i));
}

// Nearest integer, ties away from zero, |v| < 2^22. No branch, so that the loop becomes vectors.
int32_t round_away(float v) {
    const float magnitude = f32_from_bits(f32_bits(v) & 0x7fffffffu);
    const int32_t whole = static_cast<int32_t>(magnitude);
    const float rest = magnitude - static_cast<float>(whole); // exact
    const int32_t rounded = whole + (rest >= 0.5f ? 1 : 0);
    return v < 0.0f ? -rounded : rounded;
}

void encode_q8_0_block(uint8_t *block, const float *x) {
    int32_t largest = 0; // bits of |x| order as integers
    for (uint32_t i = 0; i < kBlock; i++) {
        const int32_t magnitude = static_cast<int32_t>(f32_bits(x[i]) & 0x7fffffffu);
        largest = magnitude > largest ? magnitude : largest;
    }
    const float d = f32_from_bits(static_cast<uint32_t>(largest)) / 127.0f;
    float id = d != 0.0f ? 1.0f / d : 0.0f;
    if (!(id <= 0x1.fffffep127f)) id = 0.0f; // amax < 2^-121: the f16 scale is 0 anyway
    store_u16le(block, f32_to_f16(d));
    for (uint32_t i = 0; i < kBlock; i++)
        block[2 + i] = static_cast<uint8_t>(round_away(x[i] * id));
}

void encode_q8_0(uint8_t *row, const float *x, uint32_t n) {
    uint32_t i = 0;
    for (; i + kBlock <= n; i += kBlock, row += kBlockBytes) encode_q8_0_block(row, x + i);
    if (i == n) return;
    float padded[kBlock] = {};
    memcpy(padded, x + i, (n - i) * sizeof *x);
    encode_q8_0_block(row, padded);
}

void decode_q8_0(float *out, const uint8_t *row, uint32_t first, uint32_t n) {
    row += size_t(first / kBlock) * kBlockBytes;
    for (uint32_t i = 0; i < n; i += kBlock, row += kBlockBytes) {
        const float d = f16_to_f32(load_u16le(row));
        const uint32_t end = n - i < kBlock ? n - i : kBlock;
        for (uint32_t j = 0; j < end; j++)
            out[i + j] = static_cast<float>(load_i8(row + 2 + j)) * d;
    }
}

constexpr uint32_t kQuantized = 1, kFloat = 2; // GGUFX_TYPE_IS_*

// Limits: f16 65504; bf16 the last value below the tie to infinity; q8_0 127 * 65504.
// clang-format off
constexpr TypeOps kTypes[] = {
    {{1, "f32",  1,      4,           kFloat},     0x7f7fffff, encode_f32,  decode_f32},
    {{2, "f16",  1,      2,           kFloat},     0x477fe000, encode_f16,  decode_f16},
    {{3, "bf16", 1,      2,           kFloat},     0x7f7f7fff, encode_bf16, decode_bf16},
    {{8, "q8_0", kBlock, kBlockBytes, kQuantized}, 0x4afde040, encode_q8_0, decode_q8_0},
};
// clang-format on

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_name(const char *name, const char *given, size_t length) {
    size_t i = 0;
    for (; i < length && name[i]; i++)
        if (name[i] != lower(given[i])) return false;
    return i == length && name[i] == 0;
}

} // namespace

const TypeOps *type_ops(uint32_t id) {
    for (const TypeOps &type : kTypes)
        if (type.facts.id == id) return &type;
    return nullptr;
}

uint64_t row_bytes(const TypeOps &type, uint32_t n_values) {
    const uint64_t n = n_values;
    const uint64_t blocks = (n + type.facts.block_values - 1) / type.facts.block_values;
    return blocks * type.facts.block_bytes;
}

const TypeFacts *type_facts(uint32_t id) {
    const TypeOps *type = type_ops(id);
    return type ? &type->facts : nullptr;
}

const TypeFacts *type_by_name(const char *name, size_t length) {
    for (const TypeOps &type : kTypes)
        if (same_name(type.facts.name, name, length)) return &type.facts;
    return nullptr;
}

const TypeFacts *type_at(size_t index) {
    return index < sizeof kTypes / sizeof *kTypes ? &kTypes[index].facts : nullptr;
}

} // namespace ggufx::kv
