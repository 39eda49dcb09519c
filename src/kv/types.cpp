// THE TABLE of KV types, and what integer kinds have in common: rotation, padding, decoding.
// SPDX-License-Identifier: MIT
#include "kv/types.hpp"

#include "base/half.hpp"
#include "kv/types/encoders.hpp"
#include "kv/types/rotate.hpp"

namespace ggufx::kv {

namespace {

constexpr uint32_t kQuantized = 1, kFloat = 2; // GGUFX_TYPE_IS_*
constexpr uint32_t kF32 = 0x7f7fffff, kF16 = 0x477fe000 /* 65504 */;
constexpr uint32_t kBf16 = 0x7f7f7fff; // the last value below the tie to infinity

// Types that are not floats keep recent tokens in F16: its limit is theirs.
// clang-format off
constexpr TypeOps kTypes[] = {
    //id  name                 values bytes            kind                    rotation   calib. mult. limit  encode
    {{ 1, "f32",            1,  4, kFloat},     KvKind::f32,            Rotation::none, false,  1, kF32,  nullptr},
    {{ 2, "f16",            1,  2, kFloat},     KvKind::f16,            Rotation::none, false,  1, kF16,  nullptr},
    {{ 3, "bf16",           1,  2, kFloat},     KvKind::bf16,           Rotation::none, false,  1, kBf16, nullptr},
    {{ 8, "q8_0",          32, 34, kQuantized}, KvKind::q8_0,           Rotation::none, false,  1, kF16,  encode_q8_0},
    {{ 9, "q5_1",          32, 24, kQuantized}, KvKind::q5_1,           Rotation::none, false,  1, kF16,  encode_q5_1},
    {{10, "q5_0",          32, 22, kQuantized}, KvKind::q5_0,           Rotation::none, false,  1, kF16,  encode_q5_0},
    {{11, "q4_1",          32, 20, kQuantized}, KvKind::q4_1,           Rotation::none, false,  1, kF16,  encode_q4_1},
    {{12, "q4_0",          32, 18, kQuantized}, KvKind::q4_0,           Rotation::none, false,  1, kF16,  encode_q4_0},
    {{13, "iq4_nl",        32, 18, kQuantized}, KvKind::iq4_nl,         Rotation::none, false,  1, kF16,  encode_iq4_nl},
    {{32, "rot_q5_0",      32, 22, kQuantized}, KvKind::q5_0,           Rotation::head, false,  1, kF16,  encode_q5_0},
    {{33, "rot_q4_0",      32, 18, kQuantized}, KvKind::q4_0,           Rotation::head, false,  1, kF16,  encode_q4_0},
    {{34, "rot_iq4_nl",    32, 18, kQuantized}, KvKind::iq4_nl,         Rotation::head, false,  1, kF16,  encode_iq4_nl},
    {{64, "tq3_0",         32, 14, kQuantized}, KvKind::tq3_0,          Rotation::tq3,  false,  1, kF16,  encode_tq3},
    {{65, "tq3_0_residual",32, 14, kQuantized}, KvKind::tq3_0_residual, Rotation::tq3,  false,  1, kF16,  encode_tq3},
    {{72, "gx2",            0,  0, kQuantized}, KvKind::gx2,            Rotation::head, true,  16, kF16,  encode_gx2},
    {{73, "gx3",            0,  0, kQuantized}, KvKind::gx3,            Rotation::head, true,  16, kF16,  encode_gx3},
    {{74, "gx4",            0,  0, kQuantized}, KvKind::gx4,            Rotation::head, true,  16, kF16,  encode_gx4},
};
constexpr TypeOps kFittedTq3 =
    {{64, "tq3_0",         32, 14, kQuantized}, KvKind::tq3_0,          Rotation::tq3,  false,  1, kF16,  encode_tq3_fitted};
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

void rotate(Rotation rotation, float *x, uint32_t n, uint32_t padded) {
    if (rotation == Rotation::head) rotate_head(x, n);
    for (uint32_t i = 0; rotation == Rotation::tq3 && i < padded; i += 32) rotate_tq3(x + i);
}

void unrotate(Rotation rotation, float *x, uint32_t n, uint32_t padded) {
    if (rotation == Rotation::head) unrotate_head(x, n);
    for (uint32_t i = 0; rotation == Rotation::tq3 && i < padded; i += 32) unrotate_tq3(x + i);
}

} // namespace

const TypeOps *type_ops(uint32_t id) {
    for (const TypeOps &type : kTypes)
        if (type.facts.id == id) return &type;
    return nullptr;
}

const TypeOps &fitted_tq3() {
    return kFittedTq3;
}

void rotate_vector(const TypeOps &type, float *x, uint32_t n) {
    const uint32_t padded = padded_values(type, n);
    for (uint32_t i = n; i < padded; i++) x[i] = 0.0f;
    rotate(type.rotation, x, n, padded);
}

void unrotate_vector(const TypeOps &type, float *x, uint32_t n) {
    unrotate(type.rotation, x, n, padded_values(type, n));
}

uint32_t padded_values(const TypeOps &type, uint32_t n) {
    return type.facts.block_values == 32 ? (n + 31) / 32 * 32 : n;
}

uint64_t vector_bytes(const TypeOps &type, uint32_t n) {
    if (type.facts.block_values == 0) return uint64_t(n) * type.format().bits / 8 + 2;
    const uint64_t blocks = (uint64_t(n) + type.facts.block_values - 1) / type.facts.block_values;
    return blocks * type.facts.block_bytes;
}

size_t Scratch::bytes(uint32_t head_dim) {
    const size_t n = (size_t(head_dim) + 31) / 32 * 32;
    const size_t all = kBatch * n * (2 * sizeof(float) + 4 + 1) + kBatch * n / 32 * 4;
    return (all + 63) / 64 * 64;
}

Scratch::Scratch(uint8_t *memory, uint32_t head_dim) {
    stride = (head_dim + 31) / 32 * 32;
    const size_t n = size_t(kBatch) * stride;
    vectors = reinterpret_cast<float *>(memory);
    lanes = vectors + n;
    path = memory + n * 2 * sizeof(float);
    code = path + n * 4;
    scale = reinterpret_cast<uint16_t *>(code + n);
}

void encode_vectors(const TypeOps &type, const Scratch &scratch, uint32_t count, uint32_t n,
                    Side side) {
    const uint32_t padded = padded_values(type, n);
    for (uint32_t i = 0; i < count; i++) {
        float *x = scratch.vector(i);
        for (uint32_t j = n; j < padded; j++) x[j] = 0.0f;
        rotate(type.rotation, x, n, padded);
    }
    type.encode(scratch, count, padded, side);
}

void decode_rotated(const TypeOps &type, float *out, const Codes &codes, uint32_t n, Side side) {
    const KvFormat &format = type.format();
    const uint32_t padded = padded_values(type, n);
    int32_t values[kMaxCodes];
    kernels::kv_values(values, codes.code, kernel_stream(side), format, padded);
    for (uint32_t i = 0; i < padded; i++) {
        const uint32_t strip = format.vector_scale ? 0 : i / 32;
        const float d = f16_to_f32(codes.scale[strip]) * format.unit;
        const float product = static_cast<float>(values[i]) * d;
        out[i] = format.mins ? product + f16_to_f32(codes.min[strip]) : product;
    }
}

void decode_vector(const TypeOps &type, float *out, const Codes &codes, uint32_t n, Side side) {
    decode_rotated(type, out, codes, n, side);
    unrotate(type.rotation, out, n, padded_values(type, n));
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
