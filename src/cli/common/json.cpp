// JSON values, serialization and parsing; the only file that includes nlohmann-json.
// SPDX-License-Identifier: MIT
#include "common/json.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

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

Json Json::object_of(std::vector<Member> members) {
    Object object;
    for (Member &member : members) {
        object.keys.push_back(std::move(member.key));
        object.values.push_back(std::move(member.value));
    }
    Json json;
    json.value_ = std::move(object);
    return json;
}

Json &Json::operator[](std::string_view key) {
    auto &object = std::get<Object>(value_);
    for (size_t i = 0; i < object.keys.size(); i++) {
        if (object.keys[i] == key) return object.values[i];
    }
    object.keys.emplace_back(key);
    return object.values.emplace_back();
}

void Json::update(const Json &other) {
    const auto &object = std::get<Object>(other.value_);
    for (size_t i = 0; i < object.keys.size(); i++) (*this)[object.keys[i]] = object.values[i];
}

void Json::push_back(Json element) {
    std::get<Array>(value_).push_back(std::move(element));
}

const Json *Json::find(std::string_view key) const {
    const auto *object = std::get_if<Object>(&value_);
    for (size_t i = 0; object && i < object->keys.size(); i++) {
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
    const auto *object = std::get_if<Object>(&value_);
    return object ? object->values : std::get<Array>(value_);
}

size_t Json::size() const {
    return elements().size();
}

const std::vector<std::string> &Json::keys() const {
    return std::get<Object>(value_).keys;
}

std::optional<bool> Json::truth() const {
    const bool *value = std::get_if<bool>(&value_);
    return value ? std::optional<bool>(*value) : std::nullopt;
}

std::optional<uint64_t> Json::whole() const {
    const auto *natural = std::get_if<uint64_t>(&value_);
    return natural ? std::optional<uint64_t>(*natural) : std::nullopt;
}

std::optional<double> Json::number() const {
    if (const auto *real = std::get_if<double>(&value_)) return *real;
    if (const auto *natural = std::get_if<uint64_t>(&value_)) return static_cast<double>(*natural);
    if (const auto *integer = std::get_if<int64_t>(&value_)) return static_cast<double>(*integer);
    return std::nullopt;
}

namespace {

using Library = nlohmann::ordered_json;

} // namespace

// Converts a value to the type of nlohmann-json.
struct Json::Writer {
    Library operator()(const Array &array) const {
        Library out = Library::array();
        for (const Json &element : array) out.push_back(std::visit(*this, element.value_));
        return out;
    }
    Library operator()(const Object &object) const {
        Library out = Library::object();
        // Members are appended to the container below the library's map, which would compare each
        // name with all before it. The names are unique already.
        auto &list =
            static_cast<Library::object_t::Container &>(out.get_ref<Library::object_t &>());
        for (size_t i = 0; i < object.keys.size(); i++)
            list.emplace_back(object.keys[i], std::visit(*this, object.values[i].value_));
        return out;
    }
    Library operator()(const auto &scalar) const { return scalar; }
};

// JSON goes to terminals too. Characters that escape() replaces are written as \uXXXX, which is
// equivalent. They occur in strings only; the library has escaped those below 0x20.
static std::string without_marks(std::string text) {
    const auto may_be_mark = [](char c) { return static_cast<unsigned char>(c) >= 0x7f; };
    if (std::none_of(text.begin(), text.end(), may_be_mark)) return text;
    std::string out;
    for (size_t i = 0; i < text.size();) {
        const size_t n = std::max<size_t>(1, utf8_length(std::string_view(text).substr(i)));
        const std::string_view character = std::string_view(text).substr(i, n);
        const bool may_be = text[i] == '\x7f' || n == 2 || n == 3;
        const std::string shown = may_be ? escape(character) : "";
        if (!may_be || shown == character) {
            out += character;
        } else { // escape() gives "\x7f" or "\u{202e}"
            const std::string digits = n == 1 ? shown.substr(2) : shown.substr(3, shown.size() - 4);
            out += "\\u" + std::string(4 - digits.size(), '0') + digits;
        }
        i += n;
    }
    return out;
}

std::string Json::dump(int indent) const {
    return without_marks(
        std::visit(Writer(), value_).dump(indent, ' ', false, Library::error_handler_t::replace));
}

// Builds the value from the parser's events, without recursion. A member is appended without a
// search for its name, so a vocabulary of 250,000 tokens is parsed in linear time.
struct Json::Reader {
    static constexpr size_t kMaxDepth = 64; // bounds the recursion of the destructor

    bool put(Json value) {
        if (open_.empty()) {
            root_ = std::move(value);
            return true;
        }
        Json &top = *open_.back();
        Array &into =
            top.is_object() ? std::get<Object>(top.value_).values : std::get<Array>(top.value_);
        into.push_back(std::move(value));
        return true;
    }

    bool begin(Json value) {
        if (open_.size() >= kMaxDepth) return refuse("nested deeper than 64");
        put(std::move(value));
        if (open_.empty()) {
            open_.push_back(&root_);
        } else {
            Json &top = *open_.back();
            Array &into =
                top.is_object() ? std::get<Object>(top.value_).values : std::get<Array>(top.value_);
            open_.push_back(&into.back());
        }
        return true;
    }

    bool null() { return put({}); }
    bool boolean(bool value) { return put(value); }
    bool number_integer(int64_t value) { return put(value); }
    bool number_unsigned(uint64_t value) { return put(value); }
    bool number_float(double value, const std::string &) { return put(value); }
    bool string(std::string &value) { return put(std::string_view(value)); }
    bool binary(Library::binary_t &) { return refuse("binary"); }
    bool start_object(size_t) { return begin(Json::object()); }
    bool start_array(size_t) { return begin(Json::array()); }
    bool key(std::string &name) {
        std::get<Object>(open_.back()->value_).keys.push_back(std::move(name));
        return true;
    }
    bool end_array() {
        open_.pop_back();
        return true;
    }
    bool end_object() {
        const std::vector<std::string> &keys = open_.back()->keys();
        std::vector<std::string_view> sorted(keys.begin(), keys.end());
        std::sort(sorted.begin(), sorted.end());
        const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
        if (twice != sorted.end()) return refuse("two members \"" + shorten(*twice, 60) + "\"");
        return end_array();
    }
    bool parse_error(size_t place, const std::string &, const Library::exception &error) {
        const std::string_view text = error.what();
        const size_t colon = text.find(": "); // after the library's error code
        return refuse("at byte " + std::to_string(place) + ": " +
                      std::string(colon == text.npos ? text : text.substr(colon + 2)));
    }
    bool refuse(const std::string &why) {
        if (fault_.empty()) fault_ = why;
        return false;
    }

    Json root_;
    std::vector<Json *> open_;
    std::string fault_;
};

Json Json::parse(std::string_view text, const std::string &what) {
    Reader reader;
    if (!Library::sax_parse(text.begin(), text.end(), &reader)) {
        throw Failure(kInvalidFile, what + ": " + reader.fault_);
    }
    return std::move(reader.root_);
}

bool is_json_object(std::string_view text) {
    const size_t first = text.find_first_not_of(" \t\r\n");
    return first != text.npos && text[first] == '{' && Library::accept(text.begin(), text.end());
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
