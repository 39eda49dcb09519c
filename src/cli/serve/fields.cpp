// SPDX-License-Identifier: MIT
#include "serve/fields.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ggufx::cli {

Fields::Fields(const Json &object, const std::string &path, bool lenient)
    : object_(object), path_(path), lenient_(lenient) {
    if (object.is_object()) return;
    const std::string name = path.empty() ? "the body" : path.substr(0, path.size() - 1);
    throw ApiError(400, name + " is not an object", path.empty() ? "" : name, "invalid_type");
}

Fields::Fields(const Json &body, bool lenient) : Fields(body, "", lenient) {}

Fields Fields::within(const Json &object, const std::string &name) const {
    return {object, path_ + name + ".", lenient_};
}

const Json *Fields::take(const char *name) {
    taken_.emplace_back(name);
    const Json *const value = object_.find(name);
    return value && !value->is_null() ? value : nullptr;
}

void Fields::refuse(const char *name, const std::string &what) const {
    throw ApiError(400, path_of(name) + " " + what, path_of(name), "invalid_value");
}

std::optional<std::string> Fields::text(const char *name) {
    const Json *const value = take(name);
    if (!value) return {};
    if (!value->text()) refuse(name, "is not a string");
    return *value->text();
}

std::optional<bool> Fields::truth(const char *name) {
    const Json *const value = take(name);
    if (!value) return {};
    if (!value->truth()) refuse(name, "is neither true nor false");
    return value->truth();
}

std::optional<double> Fields::number(const char *name, double low, double high) {
    const Json *const value = take(name);
    if (!value) return {};
    const auto number = value->number();
    if (!number || !(*number >= low && *number <= high))
        refuse(name, fmt::format("is not a number from {} to {}", low, high));
    return number;
}

std::optional<uint64_t> Fields::whole(const char *name, uint64_t low, uint64_t high) {
    const Json *const value = take(name);
    if (!value) return {};
    const auto number = value->whole();
    if (!number || *number < low || *number > high)
        refuse(name, fmt::format("is not a whole number from {} to {}", low, high));
    return number;
}

void Fields::no_effect(const char *name, std::initializer_list<Json> values) {
    const Json *const value = take(name);
    if (!value) return;
    const std::string given = value->dump();
    for (const Json &allowed : values)
        if (given == allowed.dump()) return;
    refuse(name, "is not supported here with this value");
}

void Fields::finish() const {
    if (lenient_) return;
    for (const std::string &name : object_.keys()) {
        if (std::find(taken_.begin(), taken_.end(), name) != taken_.end()) continue;
        const std::string shown = path_ + escape(name.substr(0, 64));
        throw ApiError(400, "unknown field: " + shown, shown, "unknown_parameter");
    }
}

} // namespace ggufx::cli
