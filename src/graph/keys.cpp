// SPDX-License-Identifier: MIT
#include "graph/keys.hpp"

#include <charconv>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

namespace ggufx::model {

// Architectures that this library builds have short names; longer ones were refused before.
Keys::Name Keys::full(const char *name) const {
    Name out;
    snprintf(out.text, sizeof out.text, "%.*s.%s", static_cast<int>(architecture_.size()),
             architecture_.data(), name);
    return out;
}

size_t Keys::find(const char *name) const {
    return file_.find_meta(full(name).text);
}

const Override *Keys::override_of(const char *name) const {
    const Name key = full(name);
    for (size_t i = 0; i < n_overrides_; i++) {
        if (strcmp(overrides_[i].key, key.text) != 0) continue;
        overrides_[i].used = true;
        return &overrides_[i];
    }
    return nullptr;
}

void Keys::refuse(const Override &o, const char *wanted) const {
    const Quoted value(o.value, strlen(o.value));
    fail(Status::argument, {}, "override of %s: \"%s\" is not %s", o.key, value.c_str(), wanted);
}

uint32_t Keys::overriding_count(const Override &o, Limits limits) const {
    uint64_t value = 0;
    const char *end = o.value + strlen(o.value);
    const auto [stop, error] = std::from_chars(o.value, end, value);
    if (error == std::errc() && stop == end && value >= limits.low && value <= limits.high)
        return static_cast<uint32_t>(value);
    char wanted[80];
    snprintf(wanted, sizeof wanted, "a whole number of %" PRIu64 " to %" PRIu64, limits.low,
             limits.high);
    refuse(o, wanted);
}

void Keys::require_all_used() const {
    for (size_t i = 0; i < n_overrides_; i++)
        if (!overrides_[i].used)
            fail(Status::argument, {}, "override of %s: the model does not use this key",
                 Quoted(overrides_[i].key, strlen(overrides_[i].key)).c_str());
}

size_t Keys::require(const char *name) const {
    const size_t index = find(name);
    if (index == gguf::kNotFound) fail(Status::missing, {}, "key %s is missing", full(name).text);
    return index;
}

bool Keys::is_array(const char *name) const {
    if (override_of(name)) return false;
    const size_t index = find(name);
    return index != gguf::kNotFound && file_.meta(index).type == gguf::ValueType::array;
}

uint32_t Keys::checked(size_t index, uint64_t element, const char *layer_text, const char *name,
                       Limits limits) const {
    uint64_t value = 0;
    try {
        value = file_.get_u64(index, element);
    } catch (Error &e) { // negative: the type is right, but it is no count
        if (e.failure.status == static_cast<int32_t>(Status::value))
            e.failure.status = static_cast<int32_t>(Status::hparam);
        throw;
    }
    if (value < limits.low || value > limits.high)
        fail(Status::hparam, {file_.meta(index).offset, index},
             "%s%s is %" PRIu64 ", the limits are %" PRIu64 " to %" PRIu64, full(name).text,
             layer_text, value, limits.low, limits.high);
    return static_cast<uint32_t>(value);
}

uint64_t Keys::n_elements(const char *name) const {
    if (override_of(name)) return 1;
    const size_t index = find(name);
    return index == gguf::kNotFound ? 0 : is_array(name) ? file_.meta(index).count : 1;
}

uint32_t Keys::count(const char *name, Limits limits) const {
    if (const Override *o = override_of(name)) return overriding_count(*o, limits);
    const size_t index = require(name);
    const gguf::MetaEntry entry = file_.meta(index);
    if (entry.type == gguf::ValueType::array && entry.count != 1)
        fail(Status::hparam, {entry.offset, index}, "%s is an array of %" PRIu64 ", not one number",
             full(name).text, entry.count);
    return checked(index, 0, "", name, limits);
}

uint32_t Keys::count_or(const char *name, Limits limits, uint32_t fallback) const {
    return has(name) ? count(name, limits) : fallback;
}

// Returns the element for the layer; index 0 for a value that is no array.
uint64_t Keys::element_of(size_t index, uint32_t layer, const char *name) const {
    const gguf::MetaEntry entry = file_.meta(index);
    if (entry.type != gguf::ValueType::array) return 0;
    if (layer < entry.count) return layer;
    fail(Status::hparam, {entry.offset, index},
         "%s has %" PRIu64 " numbers, layer %" PRIu32 " has none", full(name).text, entry.count,
         layer);
}

uint32_t Keys::count_at(const char *name, uint32_t layer, Limits limits) const {
    if (const Override *o = override_of(name)) return overriding_count(*o, limits);
    const size_t index = require(name);
    char text[24];
    snprintf(text, sizeof text, "[%" PRIu32 "]", layer);
    return checked(index, element_of(index, layer, name), is_array(name) ? text : "", name, limits);
}

uint32_t Keys::count_at_or(const char *name, uint32_t layer, Limits limits,
                           uint32_t fallback) const {
    return has(name) ? count_at(name, layer, limits) : fallback;
}

double Keys::overriding_number(const Override &o, double low, double high) const {
    double value = 0;
    const char *end = o.value + strlen(o.value);
    const auto [stop, error] = std::from_chars(o.value, end, value);
    if (error == std::errc() && stop == end && value >= low && value <= high) return value;
    char wanted[80];
    snprintf(wanted, sizeof wanted, "a number of %g to %g", low, high);
    refuse(o, wanted);
}

double Keys::within(double value, size_t index, const char *name, double low, double high) const {
    if (!(value >= low && value <= high)) // also rejects NaN
        fail(Status::hparam, {file_.meta(index).offset, index}, "%s is %g, the limits are %g to %g",
             full(name).text, value, low, high);
    return value;
}

double Keys::number(const char *name, double low, double high) const {
    if (const Override *o = override_of(name)) return overriding_number(*o, low, high);
    const size_t index = require(name);
    return within(file_.get_f64(index), index, name, low, high);
}

double Keys::number_or(const char *name, double low, double high, double fallback) const {
    return has(name) ? number(name, low, high) : fallback;
}

double Keys::number_at_or(const char *name, uint32_t layer, double low, double high,
                          double fallback) const {
    if (const Override *o = override_of(name)) return overriding_number(*o, low, high);
    const size_t index = find(name);
    if (index == gguf::kNotFound) return fallback;
    const double value = file_.get_f64(index, element_of(index, layer, name));
    return within(value, index, name, low, high);
}

bool Keys::flag_or(const char *name, bool fallback) const {
    return has(name) ? flag_at(name, 0) : fallback;
}

bool Keys::flag_at(const char *name, uint32_t layer) const {
    if (const Override *o = override_of(name)) {
        const bool value = strcmp(o->value, "true") == 0;
        if (!value && strcmp(o->value, "false") != 0) refuse(*o, "true or false");
        return value;
    }
    const size_t index = require(name);
    const gguf::MetaEntry entry = file_.meta(index);
    const bool array = entry.type == gguf::ValueType::array;
    if (is_integer(array ? entry.element : entry.type)) return count_at(name, layer, {0, 1}) == 1;
    return file_.get_bool(index, element_of(index, layer, name));
}

std::string_view Keys::text_or(const char *name, std::string_view fallback) const {
    if (const Override *o = override_of(name)) return o->value;
    const size_t index = find(name);
    return index == gguf::kNotFound ? fallback : file_.get_string(index);
}

void Keys::reject(const char *name, const char *text) const {
    const size_t index = find(name);
    At at;
    if (index != gguf::kNotFound) at = {file_.meta(index).offset, index};
    fail(Status::hparam, at, "%s: %s", full(name).text, text);
}

} // namespace ggufx::model
