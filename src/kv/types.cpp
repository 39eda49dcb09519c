// Table of KV types, and functions that integer kinds share: rotation, padding, decoding.
// SPDX-License-Identifier: MIT
#include "kv/types.hpp"

#include "base/half.hpp"

namespace ggufx::kv {

namespace {

constexpr uint32_t kQuantized = 1, kFloat = 2; // GGUFX_TYPE_IS_*
constexpr uint32_t kF32 = 0x7f7fffff, kF16 = 0x477fe000 /* 65504 */;
constexpr uint32_t kBf16 = 0x7f7f7fff; // the last value below the tie to infinity

constexpr TypeOps kTypes[] = {
#define X(NAME, ID, TYPE, TEXT, VALUES, BYTES, FLAG, KIND, TRANSFORM, CALIBRATED, MULTIPLE, LIMIT) \
    {{ID, TYPE, TEXT, VALUES, BYTES, k##FLAG},                                                     \
     KvKind::KIND,                                                                                 \
     KvTransform::TRANSFORM,                                                                       \
     CALIBRATED,                                                                                   \
     MULTIPLE,                                                                                     \
     LIMIT},
#include "kv/types.def"
};

consteval TypeOps fitted(uint32_t id) {
    for (TypeOps type : kTypes) {
        type.fitted = true;
        if (type.facts.id == id) return type;
    }
    return {};
}
constexpr TypeOps kFittedTq3 = fitted(id::TQ3_0);

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

const TypeOps &fitted_tq3() {
    return kFittedTq3;
}

const TypeOps &plain_type(const TypeOps &type) {
    return type.is_float() ? type : *type_ops(id::F16);
}

const TypeOps &sink_type(const TypeOps &type) {
    return type.kind == KvKind::bf16 ? *type_ops(id::F32) : plain_type(type);
}

uint32_t padded_values(const TypeOps &type, uint32_t n) {
    return type.facts.block_values == 32 ? (n + 31) / 32 * 32 : n;
}

uint32_t transformed_values(const TypeOps &type, uint32_t n) {
    return type.transform == KvTransform::head ? n : padded_values(type, n);
}

uint64_t vector_bytes(const TypeOps &type, uint32_t n) {
    if (type.facts.block_values == 0) return uint64_t(n) * type.format().bits / 8 + 2;
    const uint64_t blocks = (uint64_t(n) + type.facts.block_values - 1) / type.facts.block_values;
    return blocks * type.facts.block_bytes;
}

size_t Scratch::bytes(uint32_t head_dim) {
    const size_t n = (size_t(head_dim) + 31) / 32 * 32;
    return n * kernels::kKvGroup * (sizeof(float) + 2);
}

Scratch::Scratch(uint8_t *memory, uint32_t head_dim)
    : stride((head_dim + 31) / 32 * 32), vectors{} {
    if (!memory) return;
    const size_t n = size_t(stride) * kernels::kKvGroup;
    uint8_t *code = memory + n * sizeof(float);
    vectors = {reinterpret_cast<float *>(memory), code, code + n};
}

void decode_vector(const TypeOps &type, float *out, const Codes &codes, uint32_t n, Side side) {
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
    kernels::kv_unrotate_text(type.transform, out, transformed_values(type, n), 1);
}

const TypeFacts *type_facts(uint32_t id) {
    const TypeOps *type = type_ops(id);
    return type ? &type->facts : nullptr;
}

const TypeFacts *type_of(uint32_t type) {
    for (const TypeOps &one : kTypes)
        if (one.facts.type == type) return &one.facts;
    return nullptr;
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
