// Numbers of the metadata, widened where no value is lost (rules: include/ggufx/file.h).
// SPDX-License-Identifier: MIT
#include "gguf/file.hpp"

#include <inttypes.h>

namespace ggufx::gguf {

namespace {

// One number as it stands in the file: an integer with its sign, or a float.
struct Number {
    enum Kind { kUnsigned, kSigned, kFloat, kOther } kind;
    uint64_t bits; // the integer, sign-extended when kSigned
    double real;   // when kFloat
};

Number signed_number(int64_t v) {
    return {Number::kSigned, static_cast<uint64_t>(v), 0};
}

Number load(const Wire &wire, ValueType type, const uint8_t *p) {
    switch (type) {
    case ValueType::u8:
        return {Number::kUnsigned, *p, 0};
    case ValueType::boolean:
        return {Number::kUnsigned, *p != 0, 0};
    case ValueType::u16:
        return {Number::kUnsigned, wire.u16(p), 0};
    case ValueType::u32:
        return {Number::kUnsigned, wire.u32(p), 0};
    case ValueType::u64:
        return {Number::kUnsigned, wire.u64(p), 0};
    case ValueType::i8:
        return signed_number(static_cast<int8_t>(*p));
    case ValueType::i16:
        return signed_number(static_cast<int16_t>(wire.u16(p)));
    case ValueType::i32:
        return signed_number(static_cast<int32_t>(wire.u32(p)));
    case ValueType::i64:
        return signed_number(static_cast<int64_t>(wire.u64(p)));
    case ValueType::f32:
        return {Number::kFloat, 0, double{f32_from_bits(wire.u32(p))}};
    case ValueType::f64:
        return {Number::kFloat, 0, f64_from_bits(wire.u64(p))};
    default:
        return {Number::kOther, 0, 0};
    }
}

} // namespace

// The element a scalar getter reads: the value, or the only element of an array of one.
uint64_t File::only_element(size_t index) const {
    const Value &v = value(index);
    if (v.type == ValueType::array && v.count != 1) fail_type(index, "a scalar");
    return 0;
}

// Where an element of numbers stands, and its type; null for strings and arrays.
const uint8_t *File::element(size_t index, uint64_t element, ValueType *type) const {
    const Value &v = value(index);
    const bool is_array = v.type == ValueType::array;
    *type = is_array ? v.element : v.type;
    const uint64_t n = is_array ? v.count : 1;
    const size_t each = value_bytes(*type);
    if (each == 0) return nullptr;
    if (element >= n)
        fail(Status::argument, {.index = element},
             "element %" PRIu64 " of a value of %" PRIu64 " elements", element, n);
    return parts_[0]->bytes + v.data + element * each;
}

uint64_t File::get_u64(size_t index, uint64_t i) const {
    ValueType type;
    const uint8_t *p = element(index, i, &type);
    const Number n = p ? load(first().wire, type, p) : Number{Number::kOther, 0, 0};
    if (n.kind != Number::kUnsigned && n.kind != Number::kSigned) fail_type(index, "an integer");
    if (n.kind == Number::kSigned && static_cast<int64_t>(n.bits) < 0)
        fail_value(index, i, "an unsigned integer");
    return n.bits;
}

int64_t File::get_i64(size_t index, uint64_t i) const {
    ValueType type;
    const uint8_t *p = element(index, i, &type);
    const Number n = p ? load(first().wire, type, p) : Number{Number::kOther, 0, 0};
    if (n.kind != Number::kUnsigned && n.kind != Number::kSigned) fail_type(index, "an integer");
    if (n.kind == Number::kUnsigned && n.bits > INT64_MAX) fail_value(index, i, "a signed integer");
    return static_cast<int64_t>(n.bits);
}

double File::get_f64(size_t index, uint64_t i) const {
    constexpr uint64_t kExact = 1ull << 53;
    ValueType type;
    const uint8_t *p = element(index, i, &type);
    const Number n = p ? load(first().wire, type, p) : Number{Number::kOther, 0, 0};
    if (n.kind == Number::kFloat) return n.real;
    if (n.kind == Number::kOther || type == ValueType::boolean) fail_type(index, "a number");
    const bool negative = n.kind == Number::kSigned && static_cast<int64_t>(n.bits) < 0;
    const uint64_t magnitude = negative ? 0 - n.bits : n.bits;
    if (magnitude > kExact) fail_value(index, i, "exact in 64-bit floating point");
    const auto real = static_cast<double>(magnitude);
    return negative ? -real : real;
}

bool File::get_bool(size_t index, uint64_t i) const {
    ValueType type;
    const uint8_t *p = element(index, i, &type);
    if (type != ValueType::boolean) fail_type(index, "a bool");
    return *p != 0;
}

void File::fail_type(size_t index, const char *wanted) const {
    const Value &v = value(index);
    const std::string_view key = index < n_keys_ ? key_of(index) : "(inner array)";
    const Quoted shown(key.data(), key.size());
    const At at{.offset = v.offset, .index = index};
    if (v.type == ValueType::array)
        fail(Status::kvtype, at, "key \"%s\": an array of %" PRIu64 " x %s, not %s", shown.c_str(),
             v.count, value_type_name(v.element), wanted);
    fail(Status::kvtype, at, "key \"%s\": of type %s, not %s", shown.c_str(),
         value_type_name(v.type), wanted);
}

void File::fail_value(size_t index, uint64_t i, const char *wanted) const {
    const Value &v = value(index);
    const std::string_view key = index < n_keys_ ? key_of(index) : "(inner array)";
    ValueType type;
    const uint8_t *p = element(index, i, &type);
    const Number n = load(first().wire, type, p);
    const At at{.offset = v.data + i * value_bytes(type), .index = i};
    const Quoted shown(key.data(), key.size());
    if (n.kind == Number::kSigned)
        fail(Status::value, at, "key \"%s\" element %" PRIu64 ": %" PRId64 " is not %s",
             shown.c_str(), i, static_cast<int64_t>(n.bits), wanted);
    fail(Status::value, at, "key \"%s\" element %" PRIu64 ": %" PRIu64 " is not %s", shown.c_str(),
         i, n.bits, wanted);
}

} // namespace ggufx::gguf
