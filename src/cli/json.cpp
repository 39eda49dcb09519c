// Implementation of json.hpp.
// SPDX-License-Identifier: MIT
#include "json.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace ggufx::cli {

Json::Json() = default;
Json::Json(std::initializer_list<Member> members) : value_(Object()) {
    for (const Member &member : members) (*this)[member.key] = member.value;
}
Json::Json(const char *text) : value_(std::string(text)) {}
Json::Json(std::string_view text) : value_(std::string(text)) {}
Json::Json(const std::string &text) : value_(text) {}
Json::Json(double value) {
    if (std::isfinite(value)) value_ = value;
}
Json::Json(const Json &) = default;
Json::Json(Json &&) noexcept = default;
Json &Json::operator=(Json other) {
    value_ = std::move(other.value_);
    return *this;
}
Json::~Json() = default;

Json Json::array() {
    Json json;
    json.value_ = Array();
    return json;
}

Json Json::object() {
    return Json(std::initializer_list<Member>());
}

Json &Json::operator[](std::string_view key) {
    auto &object = std::get<Object>(value_);
    for (size_t i = 0; i < object.keys.size(); ++i) {
        if (object.keys[i] == key) return object.values[i];
    }
    object.keys.emplace_back(key);
    return object.values.emplace_back();
}

void Json::update(const Json &other) {
    const auto &object = std::get<Object>(other.value_);
    for (size_t i = 0; i < object.keys.size(); ++i) (*this)[object.keys[i]] = object.values[i];
}

void Json::push_back(Json element) {
    std::get<Array>(value_).push_back(std::move(element));
}

const Json *Json::find(std::string_view key) const {
    const auto *object = std::get_if<Object>(&value_);
    for (size_t i = 0; object && i < object->keys.size(); ++i) {
        if (object->keys[i] == key) return &object->values[i];
    }
    return nullptr;
}

const std::string *Json::text() const {
    return std::get_if<std::string>(&value_);
}

uint64_t Json::natural() const {
    return std::get<uint64_t>(value_);
}

const Json::Array &Json::elements() const {
    return std::get<Array>(value_);
}

size_t Json::size() const {
    const auto *object = std::get_if<Object>(&value_);
    return object ? object->values.size() : elements().size();
}

static void append_character(std::string &out, unsigned char c) {
    static constexpr std::string_view kNamed = "\"\\\b\f\n\r\t", kNames = "\"\\bfnrt";
    const size_t named = kNamed.find(static_cast<char>(c));
    if (named != std::string_view::npos) {
        out += '\\';
        out += kNames[named];
    } else if (c < 0x20) {
        out += fmt::format("\\u{:04x}", c);
    } else {
        out += static_cast<char>(c);
    }
}

static void append_string(std::string &out, std::string_view text) {
    out += '"';
    while (!text.empty()) {
        const size_t length = utf8_length(text);
        if (length > 1) {
            out += text.substr(0, length);
        } else if (length == 1) {
            append_character(out, static_cast<unsigned char>(text[0]));
        } else {
            out += "\xef\xbf\xbd"; // U+FFFD for a byte that belongs to no character
        }
        text.remove_prefix(std::max<size_t>(length, 1));
    }
    out += '"';
}

// The shortest text that reads back as the same number, and as a real one.
static void append_real(std::string &out, double value) {
    const std::string text = fmt::format("{}", value);
    out += text;
    if (text.find_first_of(".e") == std::string::npos) out += ".0";
}

// Elements or members between two brackets, each on a line of its own when indented.
template <class Append>
static void append_list(std::string &out, const char *brackets, size_t n, int indent, int depth,
                        Append &&append) {
    const auto new_line = [&](int level) {
        if (indent < 0) return;
        out += '\n';
        out.append(static_cast<size_t>(indent * level), ' ');
    };
    out += brackets[0];
    for (size_t i = 0; i < n; ++i) {
        if (i > 0) out += ',';
        new_line(depth + 1);
        append(i);
    }
    if (n > 0) new_line(depth);
    out += brackets[1];
}

void Json::append_to(std::string &out, int indent, int depth) const {
    if (const auto *boolean = std::get_if<bool>(&value_)) {
        out += *boolean ? "true" : "false";
    } else if (const auto *integer = std::get_if<int64_t>(&value_)) {
        out += fmt::format("{}", *integer);
    } else if (const auto *natural = std::get_if<uint64_t>(&value_)) {
        out += fmt::format("{}", *natural);
    } else if (const auto *real = std::get_if<double>(&value_)) {
        append_real(out, *real);
    } else if (const auto *string = std::get_if<std::string>(&value_)) {
        append_string(out, *string);
    } else if (const auto *array = std::get_if<Array>(&value_)) {
        append_list(out, "[]", array->size(), indent, depth,
                    [&](size_t i) { (*array)[i].append_to(out, indent, depth + 1); });
    } else if (const auto *object = std::get_if<Object>(&value_)) {
        append_list(out, "{}", object->keys.size(), indent, depth, [&](size_t i) {
            append_string(out, object->keys[i]);
            out += indent >= 0 ? ": " : ":";
            object->values[i].append_to(out, indent, depth + 1);
        });
    } else {
        out += "null";
    }
}

std::string Json::dump(int indent) const {
    std::string out;
    append_to(out, indent, 0);
    return out;
}

Json json_object() {
    return Json{{"schema", kSchema}};
}

Json json_bytes(std::string_view bytes) {
    if (is_utf8(bytes)) return bytes;
    return Json{{"hex", hex(bytes)}};
}

Json json_place(uint64_t place) {
    return place == GGUFX_NONE ? Json() : Json(place);
}

std::string json_text(const Json &value, int indent) {
    return value.dump(indent) + "\n";
}

void print_json(Output &out, const Json &value) {
    out.write(json_text(value, out.is_terminal() ? 2 : -1));
}

void print_json_line(Output &out, const Json &value) {
    out.write(json_text(value, -1));
    out.flush();
}

} // namespace ggufx::cli
