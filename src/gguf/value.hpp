// Metadata of a file in memory: types and sizes of values, keys, arrays.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/atomic.hpp"
#include "gguf/wire.hpp"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <string_view>

namespace ggufx::gguf {

enum class ValueType : uint8_t {
    u8 = 0,
    i8 = 1,
    u16 = 2,
    i16 = 3,
    u32 = 4,
    i32 = 5,
    f32 = 6,
    boolean = 7,
    string = 8,
    array = 9,
    u64 = 10,
    i64 = 11,
    f64 = 12,
};
constexpr uint32_t kValueTypes = 13;

constexpr bool is_integer(ValueType type) {
    return type <= ValueType::i32 || type == ValueType::u64 || type == ValueType::i64;
}

// Bytes of a number or bool; 0 for strings and arrays.
size_t value_bytes(ValueType type);
const char *value_type_name(ValueType type); // "u32", "string", never null

// Returns the bits of the number or bool at p, zero-extended.
uint64_t number_at(const Wire &wire, ValueType type, const uint8_t *p);

// Strings up to this many bytes are copied at open.
constexpr uint64_t kCopiedString = 4096;

// Array of a key, or inside another array. Its elements stay in the file, whose bytes may change
// under a mapping. The fields here were checked at open and bound every later access.
struct Array {
    uint64_t offset : 56 = 0; // offset of its element type, from the start of the part
    uint64_t element : 8 = 0;
    uint64_t count = 0; // elements
    // Offset of the first byte after the elements. Arrays of arrays: index of the first inner
    // array. The arrays inside one array are numbered consecutively, each level of nesting
    // separately.
    uint64_t end = 0;
    // Arrays of strings: offset of every 32nd string, built at the first access.
    mutable Atomic<uint64_t *> table{nullptr};

    ValueType type() const { return static_cast<ValueType>(element); }
};

// A key with its value, copied at open except for the elements of arrays and long strings. 32 bytes
// plus the strings.
struct Value {
    const char *key = nullptr;
    uint64_t offset = 0; // offset of the value, from the start of the part
    union {
        uint64_t bits = 0;   // number or bool: zero-extended
        const uint8_t *text; // string: its length, see text_bytes, then the copied bytes
        const Array *array;
    };
    uint32_t key_bytes = 0;
    ValueType type = ValueType::u8;

    std::string_view name() const { return {key, key_bytes}; }
    uint64_t text_bytes() const { // length of a string
        uint64_t n;
        memcpy(&n, text, sizeof n);
        return n;
    }
    const char *copied_text() const { // null if longer than kCopiedString
        return text_bytes() > kCopiedString ? nullptr : reinterpret_cast<const char *>(text) + 8;
    }
};

} // namespace ggufx::gguf
