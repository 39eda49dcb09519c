// Metadata values as they stand in a file: types, sizes, and where each one begins.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace ggufx::gguf {

enum class ValueType : uint32_t {
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

// Bytes of a number or bool; 0 for strings and arrays.
size_t value_bytes(ValueType type);
const char *value_type_name(ValueType type); // "u32", "string", never null

constexpr uint32_t kNoTable = UINT32_MAX;

// A key's value, or an array inside of an array. Offsets are from the start of the part.
struct Value {
    uint64_t key = 0;    // of the key's length field; unused in nested arrays
    uint64_t offset = 0; // of the value: in an array of its element type
    uint64_t data = 0;   // of the first byte after lengths and counts
    uint64_t count = 1;  // elements of an array, bytes of a string
    ValueType type = ValueType::u8;
    ValueType element = ValueType::u8; // of an array
    // Arrays of arrays: index of the first inner array; the inner arrays of a value stand in file
    // order, each followed by its own inner arrays.
    uint32_t inner = 0;
    uint32_t n_inner = 0;        // inner arrays of all depths
    uint32_t strings = kNoTable; // arrays of strings: number of the offset table
};

} // namespace ggufx::gguf
