// Types by name, values parsed by type, file contents as values.
// SPDX-License-Identifier: MIT
#include "edit/meta_value.hpp"

#include "models/meta_json.hpp"

#include <bit>
#include <charconv>

namespace ggufx::cli {

template <class T> static bool parse_number(const std::string &text, T *out) {
    const char *end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, *out);
    return error == std::errc() && at == end && !text.empty();
}

static bool parse_bool(const std::string &text, bool *out) {
    *out = text == "true";
    return text == "true" || text == "false";
}

static int32_t guess_type(const std::string &text) {
    bool truth = false;
    int64_t whole = 0;
    uint64_t natural = 0;
    double real = 0;
    if (parse_bool(text, &truth)) return GGUFX_VALUE_BOOL;
    if (parse_number(text, &whole)) {
        if (whole >= 0) return whole <= UINT32_MAX ? GGUFX_VALUE_U32 : GGUFX_VALUE_I64;
        return whole >= INT32_MIN ? GGUFX_VALUE_I32 : GGUFX_VALUE_I64;
    }
    if (parse_number(text, &natural)) return GGUFX_VALUE_U64;
    // Words like "inf" and "nan" are more often names than numbers.
    const bool digits = text.find_first_of("0123456789") != std::string::npos;
    return digits && parse_number(text, &real) ? GGUFX_VALUE_F32 : GGUFX_VALUE_STRING;
}

static int32_t type_of_name(std::string_view name) {
    for (int32_t type = GGUFX_VALUE_U8; type <= GGUFX_VALUE_F64; type++) {
        if (name == value_type_name(type) && type != GGUFX_VALUE_ARRAY) return type;
    }
    return -1;
}

static std::string type_names() {
    std::string out;
    for (int32_t type = GGUFX_VALUE_U8; type <= GGUFX_VALUE_F64; type++) {
        if (type != GGUFX_VALUE_ARRAY) out += std::string(value_type_name(type)) + ", ";
    }
    return out + "and each of them with []";
}

static bool has_key(const ggufx_file *file, const std::string &key) {
    size_t index = 0;
    return ggufx_file_meta_find(&index, file, key.data(), key.size(), nullptr) == GGUFX_OK;
}

// Splits ":TYPE" from the end of a key. A new key that contains a colon needs a type: the part
// after the colon is more often a mistyped type than part of a name.
static void take_type(const ggufx_file *file, MetaChange &change) {
    const size_t colon = change.key.rfind(':');
    if (colon == std::string::npos || has_key(file, change.key)) return;
    std::string_view name = std::string_view(change.key).substr(colon + 1);
    const bool is_array = name.ends_with("[]");
    if (is_array) name.remove_suffix(2);
    const int32_t type = type_of_name(name);
    if (type < 0) {
        throw Failure(kUsage, in_quotes(change.key) + ": no type of value is called " +
                                  in_quotes(change.key.substr(colon + 1)) + "; types are " +
                                  type_names());
    }
    change.type = is_array ? GGUFX_VALUE_ARRAY : type;
    if (is_array) change.element = type;
    change.key.resize(colon);
}

static void take_type_of_file(const ggufx_file *file, MetaChange &change) {
    size_t index = 0;
    if (ggufx_file_meta_find(&index, file, change.key.data(), change.key.size(), nullptr) !=
        GGUFX_OK) {
        change.type = guess_type(change.text);
        return;
    }
    const ggufx_meta_facts entry = meta_entry(file, index);
    change.type = entry.type;
    change.element = entry.element_type;
    if (change.element == GGUFX_VALUE_ARRAY) {
        throw Failure(kUsage, "key \"" + escape(change.key) +
                                  "\" is an array of arrays: state another type, " +
                                  escape(change.key) + ":TYPE=VALUE");
    }
}

MetaChange parse_change(const ggufx_file *file, const std::string &argument) {
    const size_t equals = argument.find('=');
    if (equals == std::string::npos || equals == 0) {
        throw Failure(kUsage, "\"" + escape(argument) + "\" is not KEY=VALUE or KEY:TYPE=VALUE");
    }
    MetaChange change = {argument.substr(0, equals), -1, -1, argument.substr(equals + 1)};
    take_type(file, change);
    if (change.text.starts_with("@")) {
        change.text = read_text(change.text.substr(1));
        if (change.type < 0) change.type = GGUFX_VALUE_STRING;
    }
    if (change.type < 0) take_type_of_file(file, change);
    return change;
}

std::string change_type(const MetaChange &change) {
    if (change.type != GGUFX_VALUE_ARRAY) return value_type_name(change.type);
    return std::string(value_type_name(change.element)) + "[]";
}

// Calls a setter. A value that does not fit is a usage error, not an invalid file.
template <class Fn> static void set_or_tell(Fn &&fn) {
    ggufx_error error;
    const ggufx_status status = fn(&error);
    if (status != GGUFX_OK) throw Failure(status == GGUFX_E_MEMORY ? kNoMemory : kUsage, error);
}

[[noreturn]] static void fail_text(const MetaChange &change, const std::string &text,
                                   int32_t type) {
    throw Failure(kUsage, "\"" + escape(change.key) + "\": \"" + shorten(text, 40) +
                              "\" is not of type " + value_type_name(type));
}

static void set_scalar(ggufx_writer *writer, const MetaChange &change, const std::string &key,
                       const std::string &text, int32_t type) {
    set_or_tell([&](ggufx_error *error) {
        bool truth = false;
        int64_t whole = 0;
        uint64_t natural = 0;
        double real = 0;
        if (type == GGUFX_VALUE_STRING) {
            return ggufx_writer_set_string(writer, key.data(), key.size(), text.data(), text.size(),
                                           error);
        }
        if (type == GGUFX_VALUE_BOOL && parse_bool(text, &truth)) {
            return ggufx_writer_set_bool(writer, key.data(), key.size(), truth, error);
        }
        if (type == GGUFX_VALUE_F32 || type == GGUFX_VALUE_F64) {
            if (!parse_number(text, &real)) fail_text(change, text, type);
            return ggufx_writer_set_f64(writer, key.data(), key.size(), type, real, error);
        }
        if (parse_number(text, &whole)) {
            return ggufx_writer_set_i64(writer, key.data(), key.size(), type, whole, error);
        }
        if (!parse_number(text, &natural)) fail_text(change, text, type);
        return ggufx_writer_set_u64(writer, key.data(), key.size(), type, natural, error);
    });
}

static std::vector<std::string> elements_of(const std::string &text) {
    std::vector<std::string> out;
    if (text.empty()) return out;
    for (size_t at = 0;;) {
        const size_t comma = text.find(',', at);
        out.push_back(text.substr(at, comma == std::string::npos ? comma : comma - at));
        if (comma == std::string::npos) return out;
        at = comma + 1;
    }
}

static void set_strings(ggufx_writer *writer, const MetaChange &change) {
    const std::vector<std::string> elements = elements_of(change.text);
    std::vector<const char *> texts;
    std::vector<size_t> lengths;
    for (const std::string &element : elements) {
        texts.push_back(element.data());
        lengths.push_back(element.size());
    }
    set_or_tell([&](ggufx_error *error) {
        return ggufx_writer_set_array_string(writer, change.key.data(), change.key.size(),
                                             texts.data(), lengths.data(), texts.size(), error);
    });
}

// Appends the low n_bytes of a number, little-endian.
static void append_little(std::string &out, uint64_t v, unsigned n_bytes) {
    for (unsigned i = 0; i < n_bytes; i++) out += static_cast<char>(v >> (8 * i) & 0xff);
}

static void append_bits(std::string &out, double value, int32_t type) {
    if (type == GGUFX_VALUE_F64) return append_little(out, std::bit_cast<uint64_t>(value), 8);
    append_little(out, std::bit_cast<uint32_t>(static_cast<float>(value)), 4);
}

static unsigned width_of(int32_t type) {
    static constexpr unsigned kWidths[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return kWidths[type];
}

// Checks each element like a scalar of its type, then sets the array as bytes.
static void set_numbers(ggufx_writer *writer, const MetaChange &change) {
    const std::vector<std::string> elements = elements_of(change.text);
    std::string bytes;
    append_little(bytes, static_cast<uint64_t>(change.element), 4);
    append_little(bytes, elements.size(), 8);
    for (const std::string &element : elements) {
        set_scalar(writer, change, change.key, element, change.element);
        double real = 0;
        int64_t whole = 0;
        uint64_t natural = 0;
        if (change.element == GGUFX_VALUE_F32 || change.element == GGUFX_VALUE_F64) {
            parse_number(element, &real);
            append_bits(bytes, real, change.element);
        } else if (parse_number(element, &whole)) {
            append_little(bytes, static_cast<uint64_t>(whole), width_of(change.element));
        } else if (parse_number(element, &natural)) {
            append_little(bytes, natural, width_of(change.element));
        } else { // a bool, as set_scalar() has checked
            append_little(bytes, element == "true", 1);
        }
    }
    set_or_tell([&](ggufx_error *error) {
        return ggufx_writer_set_value(writer, change.key.data(), change.key.size(),
                                      GGUFX_VALUE_ARRAY, bytes.data(), bytes.size(), error);
    });
}

void set_change(ggufx_writer *writer, const MetaChange &change) {
    if (change.type != GGUFX_VALUE_ARRAY) {
        set_scalar(writer, change, change.key, change.text, change.type);
    } else if (change.element == GGUFX_VALUE_STRING) {
        set_strings(writer, change);
    } else {
        set_numbers(writer, change);
    }
}

} // namespace ggufx::cli
