// Metadata of a file as they are kept: types and sizes of values, keys, arrays.
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

// A number or bool where it stands: its bytes, zeros above.
uint64_t number_at(const Wire &wire, ValueType type, const uint8_t *p);

// Strings up to this are copied at open.
constexpr uint64_t kCopiedString = 4096;

// An array, of a key or inside of an array. Its elements stay in the file, whose bytes may change
// under a mapping: what is kept here was checked at open and bounds every later access.
struct Array {
    uint64_t offset : 56 = 0; // of its element type, from the start of the part
    uint64_t element : 8 = 0;
    uint64_t count = 0; // elements
    // Of the first byte after the elements; arrays of arrays: number of the first inner array. The
    // arrays inside of one array are numbered in a row, each level of nesting for itself.
    uint64_t end = 0;
    // Arrays of strings: offset of every 32nd string, made at the first access.
    mutable Atomic<uint64_t *> table{nullptr};

    ValueType type() const { return static_cast<ValueType>(element); }
};

// A key with its value, copied at open but for the elements of arrays and long strings: 32 bytes,
// and the texts.
struct Value {
    const char *key = nullptr;
    uint64_t offset = 0; // of the value, from the start of the part
    union {
        uint64_t bits = 0;   // a number or bool: its bytes, zeros above
        const uint8_t *text; // a string: its length, see text_bytes, and what was copied
        const Array *array;
    };
    uint32_t key_bytes = 0;
    ValueType type = ValueType::u8;

    std::string_view name() const { return {key, key_bytes}; }
    uint64_t text_bytes() const { // of a string
        uint64_t n;
        memcpy(&n, text, sizeof n);
        return n;
    }
    const char *copied_text() const { // null when it is longer than kCopiedString
        return text_bytes() > kCopiedString ? nullptr : reinterpret_cast<const char *>(text) + 8;
    }
};

} // namespace ggufx::gguf
