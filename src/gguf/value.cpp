// Sizes and names of metadata value types.
// SPDX-License-Identifier: MIT
#include "gguf/value.hpp"

namespace ggufx::gguf {

namespace {
struct Fact {
    const char *name;
    uint8_t n_bytes;
};
constexpr Fact kFacts[kValueTypes] = {
    {"u8", 1},   {"i8", 1},     {"u16", 2},   {"i16", 2}, {"u32", 4}, {"i32", 4}, {"f32", 4},
    {"bool", 1}, {"string", 0}, {"array", 0}, {"u64", 8}, {"i64", 8}, {"f64", 8},
};
} // namespace

size_t value_bytes(ValueType type) {
    return kFacts[static_cast<uint32_t>(type)].n_bytes;
}

uint64_t number_at(const Wire &wire, ValueType type, const uint8_t *p) {
    switch (value_bytes(type)) {
    case 1:
        return settled(*p);
    case 2:
        return wire.u16(p);
    case 4:
        return wire.u32(p);
    default:
        return wire.u64(p);
    }
}

const char *value_type_name(ValueType type) {
    return kFacts[static_cast<uint32_t>(type)].name;
}

} // namespace ggufx::gguf
