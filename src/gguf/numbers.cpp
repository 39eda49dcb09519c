// Metadata numbers, widened where no value is lost (rules: include/ggufx/file.h).
// SPDX-License-Identifier: MIT
#include "gguf/file.hpp"

#include <inttypes.h>

namespace ggufx::gguf {

namespace {

// One number of the file: an integer with its sign, or a float.
struct Number {
    enum Kind { kUnsigned, kSigned, kFloat, kOther } kind;
    uint64_t bits; // the integer, sign-extended when kSigned
    double real;   // when kFloat
};

Number signed_number(int64_t v) {
    return {Number::kSigned, static_cast<uint64_t>(v), 0};
}

Number number_of(ValueType type, uint64_t bits) {
    switch (type) {
    case ValueType::u8:
    case ValueType::u16:
    case ValueType::u32:
    case ValueType::u64:
        return {Number::kUnsigned, bits, 0};
    case ValueType::boolean:
        return {Number::kUnsigned, bits != 0, 0};
    case ValueType::i8:
        return signed_number(static_cast<int8_t>(bits));
    case ValueType::i16:
        return signed_number(static_cast<int16_t>(bits));
    case ValueType::i32:
        return signed_number(static_cast<int32_t>(bits));
    case ValueType::i64:
        return signed_number(static_cast<int64_t>(bits));
    case ValueType::f32:
        return {Number::kFloat, 0, double{f32_from_bits(static_cast<uint32_t>(bits))}};
    case ValueType::f64:
        return {Number::kFloat, 0, f64_from_bits(bits)};
    default:
        return {Number::kOther, 0, 0};
    }
}

} // namespace

// Returns the element that a scalar getter reads: the value, or the only element of an array of
// one.
uint64_t File::only_element(size_t index) const {
    const Item it = item(index);
    if (it.array && it.array->count != 1) fail_type(index, "a scalar");
    return 0;
}

// Returns the bits of an element, and its type; 0 for strings and arrays.
uint64_t File::number(size_t index, uint64_t element, ValueType *type) const {
    const Item it = item(index);
    *type = it.array ? it.array->type() : it.value->type;
    const size_t each = value_bytes(*type);
    if (each == 0) return 0;
    const uint64_t n = it.array ? it.array->count : 1;
    if (element >= n)
        fail(Status::argument, {.index = element},
             "element %" PRIu64 " of a value of %" PRIu64 " elements", element, n);
    if (!it.array) return it.value->bits;
    return number_at(first().wire, *type,
                     parts_[0]->bytes + first().elements_at(*it.array) + element * each);
}

uint64_t File::get_u64(size_t index, uint64_t i) const {
    ValueType type;
    const uint64_t bits = number(index, i, &type);
    const Number n = number_of(type, bits);
    if (n.kind != Number::kUnsigned && n.kind != Number::kSigned) fail_type(index, "an integer");
    if (n.kind == Number::kSigned && static_cast<int64_t>(n.bits) < 0)
        fail_value(index, i, bits, "an unsigned integer");
    return n.bits;
}

int64_t File::get_i64(size_t index, uint64_t i) const {
    ValueType type;
    const uint64_t bits = number(index, i, &type);
    const Number n = number_of(type, bits);
    if (n.kind != Number::kUnsigned && n.kind != Number::kSigned) fail_type(index, "an integer");
    if (n.kind == Number::kUnsigned && n.bits > INT64_MAX)
        fail_value(index, i, bits, "a signed integer");
    return static_cast<int64_t>(n.bits);
}

double File::get_f64(size_t index, uint64_t i) const {
    constexpr uint64_t kExact = 1ull << 53;
    ValueType type;
    const uint64_t bits = number(index, i, &type);
    const Number n = number_of(type, bits);
    if (n.kind == Number::kFloat) return n.real;
    if (n.kind == Number::kOther || type == ValueType::boolean) fail_type(index, "a number");
    const bool negative = n.kind == Number::kSigned && static_cast<int64_t>(n.bits) < 0;
    const uint64_t magnitude = negative ? 0 - n.bits : n.bits;
    if (magnitude > kExact) fail_value(index, i, bits, "exact in 64-bit floating point");
    const auto real = static_cast<double>(magnitude);
    return negative ? -real : real;
}

bool File::get_bool(size_t index, uint64_t i) const {
    return get_bool_byte(index, i) != 0;
}

uint8_t File::get_bool_byte(size_t index, uint64_t i) const {
    ValueType type;
    const uint64_t bits = number(index, i, &type);
    if (type != ValueType::boolean) fail_type(index, "a bool");
    return static_cast<uint8_t>(bits);
}

void File::fail_type(size_t index, const char *wanted) const {
    const MetaEntry entry = meta(index);
    const std::string_view key = name_of(index);
    const Quoted shown(key.data(), key.size());
    const At at{.offset = entry.offset, .index = index};
    if (entry.type == ValueType::array)
        fail(Status::kvtype, at, "key \"%s\": an array of %" PRIu64 " x %s, not %s", shown.c_str(),
             entry.count, value_type_name(entry.element), wanted);
    fail(Status::kvtype, at, "key \"%s\": of type %s, not %s", shown.c_str(),
         value_type_name(entry.type), wanted);
}

void File::fail_value(size_t index, uint64_t i, uint64_t bits, const char *wanted) const {
    const Item it = item(index);
    const ValueType type = it.array ? it.array->type() : it.value->type;
    const Number n = number_of(type, bits);
    const uint64_t start = it.array ? first().elements_at(*it.array) : it.value->offset;
    const At at{.offset = start + i * value_bytes(type), .index = i};
    const std::string_view key = name_of(index);
    const Quoted shown(key.data(), key.size());
    if (n.kind == Number::kSigned)
        fail(Status::value, at, "key \"%s\" element %" PRIu64 ": %" PRId64 " is not %s",
             shown.c_str(), i, static_cast<int64_t>(n.bits), wanted);
    fail(Status::value, at, "key \"%s\" element %" PRIu64 ": %" PRIu64 " is not %s", shown.c_str(),
         i, n.bits, wanted);
}

} // namespace ggufx::gguf
