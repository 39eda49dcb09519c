// Writer: metadata keys of the new file: include/ggufx/write.h.
// SPDX-License-Identifier: MIT
#include "abi/writer_handle.hpp"
#include "base/fpenv.hpp"

#include <float.h>
#include <inttypes.h>
#include <math.h>

using namespace ggufx;
using namespace ggufx::abi;
using gguf::ValueType;

namespace {

std::string_view given_text(const char *text, size_t length, const char *complaint) {
    require(text || length == 0, complaint);
    return {text ? text : "", length};
}

std::string_view key_of(const char *key, size_t length) {
    return given_text(key, length, "key must be set");
}

ValueType type_of(int32_t type) {
    require(type >= GGUFX_VALUE_U8 && type <= GGUFX_VALUE_F64, "type must be a GGUFX_VALUE_*");
    return static_cast<ValueType>(type);
}

bool is_signed(ValueType type) {
    return type == ValueType::i8 || type == ValueType::i16 || type == ValueType::i32 ||
           type == ValueType::i64;
}

bool is_float(ValueType type) {
    return type == ValueType::f32 || type == ValueType::f64;
}

// Bits of an integer type without the sign; 0 for other types.
unsigned magnitude_bits(ValueType type) {
    if (is_float(type)) return 0;
    if (type == ValueType::boolean) return 1;
    const auto bits = static_cast<unsigned>(8 * gguf::value_bytes(type));
    return bits && is_signed(type) ? bits - 1 : bits;
}

ValueType integer_type(int32_t given) {
    const ValueType type = type_of(given);
    require(magnitude_bits(type) > 0, "type must be an integer type or GGUFX_VALUE_BOOL");
    return type;
}

[[noreturn]] void fail_range(std::string_view key, bool negative, uint64_t magnitude,
                             ValueType type) {
    fail(Status::value, {}, "key \"%s\": %s%" PRIu64 " does not fit type %s", Quoted(key).c_str(),
         negative ? "-" : "", magnitude, gguf::value_type_name(type));
}

void set_unsigned(gguf::Writer &writer, std::string_view key, ValueType type, uint64_t value) {
    const unsigned bits = magnitude_bits(type);
    if (bits < 64 && value >> bits) fail_range(key, false, value, type);
    writer.set_number(key, type, value);
}

void set_negative(gguf::Writer &writer, std::string_view key, ValueType type, int64_t value) {
    const uint64_t magnitude = 0 - static_cast<uint64_t>(value);
    if (!is_signed(type) || magnitude > uint64_t{1} << magnitude_bits(type))
        fail_range(key, true, magnitude, type);
    writer.set_number(key, type, static_cast<uint64_t>(value));
}

} // namespace

extern "C" ggufx_status ggufx_writer_set_u64(ggufx_writer *writer, const char *key, size_t length,
                                             int32_t type, uint64_t value, ggufx_error *error) {
    return guard(error, [&] {
        set_unsigned(writer_of(writer), key_of(key, length), integer_type(type), value);
    });
}

extern "C" ggufx_status ggufx_writer_set_i64(ggufx_writer *writer, const char *key, size_t length,
                                             int32_t type, int64_t value, ggufx_error *error) {
    return guard(error, [&] {
        gguf::Writer &w = writer_of(writer);
        const std::string_view name = key_of(key, length);
        if (value < 0)
            set_negative(w, name, integer_type(type), value);
        else
            set_unsigned(w, name, integer_type(type), static_cast<uint64_t>(value));
    });
}

extern "C" ggufx_status ggufx_writer_set_f64(ggufx_writer *writer, const char *key, size_t length,
                                             int32_t type, double value, ggufx_error *error) {
    return guard(error, [&] {
        const CanonicalFp environment;
        gguf::Writer &w = writer_of(writer);
        const std::string_view name = key_of(key, length);
        require(is_float(type_of(type)), "type must be GGUFX_VALUE_F32 or GGUFX_VALUE_F64");
        if (type == GGUFX_VALUE_F64) return w.set_number(name, ValueType::f64, f64_bits(value));
        const auto narrow = static_cast<float>(value);
        if (isinf(narrow) && !isinf(value))
            fail(Status::value, {}, "key \"%s\": the value is beyond the range of f32",
                 Quoted(name).c_str());
        w.set_number(name, ValueType::f32, f32_bits(narrow));
    });
}

extern "C" ggufx_status ggufx_writer_set_bool(ggufx_writer *writer, const char *key, size_t length,
                                              int32_t value, ggufx_error *error) {
    return guard(error, [&] {
        writer_of(writer).set_number(key_of(key, length), ValueType::boolean, value != 0);
    });
}

extern "C" ggufx_status ggufx_writer_set_string(ggufx_writer *writer, const char *key,
                                                size_t length, const char *text, size_t n_text,
                                                ggufx_error *error) {
    return guard(error, [&] {
        writer_of(writer).set_string(key_of(key, length),
                                     given_text(text, n_text, "text must be set"));
    });
}

extern "C" ggufx_status ggufx_writer_set_array(ggufx_writer *writer, const char *key, size_t length,
                                               int32_t element_type, const void *elements,
                                               size_t count, ggufx_error *error) {
    return guard(error, [&] {
        gguf::Writer &w = writer_of(writer);
        const ValueType element = type_of(element_type);
        const size_t each = gguf::value_bytes(element);
        require(each > 0, "element_type must be that of numbers or bools");
        require(elements || count == 0, "elements must be set");
        require(count <= SIZE_MAX / each, "count elements do not fit the address space");
        w.set_array(key_of(key, length), element, elements, count);
    });
}

extern "C" ggufx_status ggufx_writer_set_array_string(ggufx_writer *writer, const char *key,
                                                      size_t length, const char *const *texts,
                                                      const size_t *lengths, size_t count,
                                                      ggufx_error *error) {
    return guard(error, [&] {
        gguf::Writer &w = writer_of(writer);
        require((texts && lengths) || count == 0, "texts and lengths must be set");
        w.set_strings(key_of(key, length), texts, lengths, count);
    });
}

extern "C" ggufx_status ggufx_writer_set_value(ggufx_writer *writer, const char *key, size_t length,
                                               int32_t type, const void *value, size_t n_bytes,
                                               ggufx_error *error) {
    return guard(error, [&] {
        gguf::Writer &w = writer_of(writer);
        require(value || n_bytes == 0, "value must be set");
        w.set_value(key_of(key, length), type_of(type), static_cast<const uint8_t *>(value),
                    n_bytes);
    });
}

extern "C" ggufx_status ggufx_writer_unset(ggufx_writer *writer, const char *key, size_t length,
                                           ggufx_error *error) {
    return guard(error, [&] { writer_of(writer).unset(key_of(key, length)); });
}

extern "C" ggufx_status ggufx_writer_rename(ggufx_writer *writer, const char *key, size_t length,
                                            const char *new_key, size_t new_length,
                                            ggufx_error *error) {
    return guard(error, [&] {
        writer_of(writer).rename(key_of(key, length),
                                 given_text(new_key, new_length, "new_key must be set"));
    });
}

extern "C" ggufx_status ggufx_writer_copy_meta(ggufx_writer *writer, const ggufx_file *file,
                                               ggufx_error *error) {
    return guard(error, [&] {
        gguf::Writer &w = writer_of(writer);
        require(alive(file, Tag::file), "file must be set");
        w.copy_meta(*file->file);
    });
}
