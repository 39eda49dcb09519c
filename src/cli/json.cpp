// Implementation of json.hpp.
// SPDX-License-Identifier: MIT
#include "json.hpp"

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

namespace {

using Library = nlohmann::ordered_json;

} // namespace

// What the value is to the library that writes it.
struct Json::Writer {
    Library operator()(const Array &array) const {
        Library out = Library::array();
        for (const Json &element : array) out.push_back(std::visit(*this, element.value_));
        return out;
    }
    Library operator()(const Object &object) const {
        Library out = Library::object();
        for (size_t i = 0; i < object.keys.size(); ++i)
            out.push_back({object.keys[i], std::visit(*this, object.values[i].value_)});
        return out;
    }
    Library operator()(const auto &scalar) const { return scalar; }
};

std::string Json::dump(int indent) const {
    return std::visit(Writer(), value_).dump(indent, ' ', false, Library::error_handler_t::replace);
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
