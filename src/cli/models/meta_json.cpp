// Reads metadata through the typed getters of the API.
// SPDX-License-Identifier: MIT
#include "models/meta_json.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>

namespace ggufx::cli {

const char *value_type_name(int32_t type) {
    static const char *const kNames[] = {"u8",   "i8",  "u16", "i16", "u32", "i32", "f32",
                                         "bool", "str", "arr", "u64", "i64", "f64"};
    return type >= 0 && type <= GGUFX_VALUE_F64 ? kNames[type] : "?";
}

// Returns the shortest decimal that reads back as the same double, with a point or an exponent.
static std::string real_text(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    std::string text = fmt::format("{}", value);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
}

static Json real_json(double value, int32_t type) {
    const std::string bits =
        type == GGUFX_VALUE_F32
            ? fmt::format("{:08x}", std::bit_cast<uint32_t>(static_cast<float>(value)))
            : fmt::format("{:016x}", std::bit_cast<uint64_t>(value));
    return {{"v", real_text(value)}, {"bits", bits}};
}

namespace {

enum class Class { natural, integer, real, boolean, text, array };

} // namespace

static Class class_of(int32_t type) {
    switch (type) {
    case GGUFX_VALUE_F32:
    case GGUFX_VALUE_F64:
        return Class::real;
    case GGUFX_VALUE_BOOL:
        return Class::boolean;
    case GGUFX_VALUE_STRING:
        return Class::text;
    case GGUFX_VALUE_ARRAY:
        return Class::array;
    case GGUFX_VALUE_I8:
    case GGUFX_VALUE_I16:
    case GGUFX_VALUE_I32:
    case GGUFX_VALUE_I64:
        return Class::integer;
    default:
        return Class::natural;
    }
}

static bool is_wide(int32_t type) {
    return type == GGUFX_VALUE_U64 || type == GGUFX_VALUE_I64;
}

static Json number_json(int32_t type, uint64_t value) {
    return is_wide(type) ? Json(fmt::format("{}", value)) : Json(value);
}

static Json number_json(int32_t type, int64_t value) {
    return is_wide(type) ? Json(fmt::format("{}", value)) : Json(value);
}

// Reads elements 0..n-1 of an array with `getter`.
template <class T, class Getter>
static std::vector<T> elements(Getter getter, const ggufx_file *file, size_t index, uint64_t n) {
    std::vector<T> values(static_cast<size_t>(n));
    call([&](ggufx_error *error) {
        return getter(values.data(), file, index, 0, values.size(), error);
    });
    return values;
}

static std::string_view element_string(const ggufx_file *file, size_t index, uint64_t i) {
    ggufx_text text = {};
    call([&](ggufx_error *error) {
        return ggufx_file_meta_array_string(&text, file, index, i, error);
    });
    return view(text);
}

static size_t nested_index(const ggufx_file *file, size_t index, uint64_t i) {
    size_t nested = 0;
    call([&](ggufx_error *error) {
        return ggufx_file_meta_array_nested(&nested, file, index, i, error);
    });
    return nested;
}

// Returns the first n elements of array `index`, whose elements are of `type`. The library's limit
// on nesting (8) bounds the recursion.
static Json elements_json(const ggufx_file *file, size_t index, int32_t type, uint64_t n,
                          uint64_t limit) {
    Json out = Json::array();
    if (n == 0) return out;
    switch (class_of(type)) {
    case Class::natural:
        for (uint64_t v : elements<uint64_t>(ggufx_file_meta_array_u64, file, index, n)) {
            out.push_back(number_json(type, v));
        }
        break;
    case Class::boolean:
        for (uint64_t v : elements<uint64_t>(ggufx_file_meta_array_u64, file, index, n)) {
            out.push_back(v != 0);
        }
        break;
    case Class::integer:
        for (int64_t v : elements<int64_t>(ggufx_file_meta_array_i64, file, index, n)) {
            out.push_back(number_json(type, v));
        }
        break;
    case Class::real:
        for (double v : elements<double>(ggufx_file_meta_array_f64, file, index, n)) {
            out.push_back(real_json(v, type));
        }
        break;
    case Class::text:
        for (uint64_t i = 0; i < n; i++) out.push_back(json_bytes(element_string(file, index, i)));
        break;
    case Class::array:
        for (uint64_t i = 0; i < n; i++) {
            out.push_back(meta_value_json(file, nested_index(file, index, i), limit));
        }
        break;
    }
    return out;
}

static std::string_view string_value(const ggufx_file *file, size_t index) {
    ggufx_text text = {};
    call([&](ggufx_error *error) { return ggufx_file_meta_string(&text, file, index, error); });
    return view(text);
}

Json meta_value_json(const ggufx_file *file, size_t index, uint64_t limit) {
    const ggufx_meta_facts entry = meta_entry(file, index);
    if (entry.type == GGUFX_VALUE_STRING) return json_bytes(string_value(file, index));
    if (entry.type != GGUFX_VALUE_ARRAY) {
        return elements_json(file, index, entry.type, 1, limit)
            .elements()[0]; // a scalar is an array of one
    }
    const uint64_t n = std::min(entry.count, limit);
    return {{"elem", value_type_name(entry.element_type)},
            {"n", entry.count},
            {"values", elements_json(file, index, entry.element_type, n, limit)}};
}

static std::string plain_text(const Json &value) {
    constexpr size_t kLongest = 60; // longest string in a table, in characters
    if (const std::string *text = value.text()) return shorten(*text, kLongest);
    if (const Json *real = value.find("v")) {
        const std::string &bits = *value.find("bits")->text();
        if (bits.size() == 16) return *real->text();
        const auto word = static_cast<uint32_t>(std::stoul(bits, nullptr, 16));
        return fmt::format("{}", std::bit_cast<float>(word)); // 0.1, not 0.10000000149011612
    }
    if (const Json *bytes = value.find("hex")) return "0x" + *bytes->text();
    const Json *values = value.find("values");
    if (!values) return value.dump();
    std::string text = "[";
    for (const Json &element : values->elements()) {
        text += (text.size() > 1 ? ", " : "") + plain_text(element);
    }
    const bool cut = values->size() < value.find("n")->natural();
    return text + (cut ? ", …" : "") + "]";
}

std::string meta_value_text(const ggufx_file *file, size_t index, uint64_t limit) {
    return plain_text(meta_value_json(file, index, limit));
}

} // namespace ggufx::cli
