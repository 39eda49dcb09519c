// SPDX-License-Identifier: MIT
#include "serve/fields.hpp"

#include <fmt/format.h>
#include <stdexcept>

namespace ggufx::cli {

namespace {

// Returns the group of the objects that a field has, alone or in lists.
const Group *group_of(const Type &type) {
    if (type.group) return type.group;
    for (const Type *const part : type.parts)
        if (const Group *const group = group_of(*part)) return group;
    return nullptr;
}

constexpr size_t most_rows() {
    size_t n = 0;
    for (const Group *const group : kGroups)
        if (group->rows.size() > n) n = group->rows.size();
    return n;
}
static_assert(most_rows() <= 64); // bits of Fields::taken_

} // namespace

Fields::Fields(const Json &body, const Group &group, bool lenient)
    : Fields(body, group, std::string()) {
    check_fields(body, group, lenient);
}

Fields::Fields(const Json &object, const Group &group, std::string path)
    : object_(object), form_(form_of(object, group)), path_(std::move(path)) {}

const Row &Fields::row_of(std::string_view name, uint32_t kinds) const {
    const Row *const row = form_.find(name);
    if (row && (kinds >> static_cast<unsigned>(row->type->kind) & 1)) return *row;
    throw std::logic_error(fmt::format("the table of {} requests has no such field: {}{}",
                                       form_.group->name, path_, name));
}

const Json *Fields::take(std::string_view name, uint32_t kinds, const Row **row) {
    *row = &row_of(name, kinds);
    taken_ |= uint64_t{1} << (*row - form_.group->rows.data());
    const Json *const value = object_.find(name);
    return value && !value->is_null() ? value : nullptr;
}

const Json *Fields::take(Name name) {
    const Row *row = nullptr;
    return take(name.name, name.kKinds, &row);
}

std::optional<std::string> Fields::text(TextName name) {
    const Row *row = nullptr;
    const Json *const value = take(name.name, name.kKinds, &row);
    if (value) return *value->text();
    return row->has_preset ? std::optional<std::string>(row->preset_word) : std::nullopt;
}

std::optional<bool> Fields::truth(FlagName name) {
    const Row *row = nullptr;
    const Json *const value = take(name.name, name.kKinds, &row);
    if (value) return value->truth();
    return row->has_preset ? std::optional<bool>(row->preset_number != 0) : std::nullopt;
}

std::optional<double> Fields::number(NumberName name) {
    const Row *row = nullptr;
    const Json *const value = take(name.name, name.kKinds, &row);
    if (value) return value->number();
    return row->has_preset ? std::optional<double>(row->preset_number) : std::nullopt;
}

std::optional<uint64_t> Fields::whole(WholeName name) {
    const Row *row = nullptr;
    const Json *const value = take(name.name, name.kKinds, &row);
    if (value) return whole_of(*value); // -1 is none
    if (!row->has_preset) return {};
    return static_cast<uint64_t>(row->preset_number);
}

std::optional<uint32_t> Fields::count(WholeName name) {
    const auto value = whole(name);
    if (!value) return {};
    return static_cast<uint32_t>(*value);
}

std::optional<Fields> Fields::object(Name name) {
    const Row *row = nullptr;
    const Json *const value = take(name.name, name.kKinds, &row);
    if (!value || !value->is_object()) return {};
    return Fields(*value, *group_of(*row->type), fmt::format("{}{}.", path_, name.name));
}

Fields Fields::entry(Name name, const Json &object, size_t index) const {
    const Row &row = row_of(name.name, name.kKinds);
    return {object, *group_of(*row.type), fmt::format("{}{}[{}].", path_, name.name, index)};
}

void Fields::refuse(Name name, const std::string &what) const {
    throw ApiError(400, path(name) + " " + what, path(name), "invalid_value");
}

void Fields::finish() const {
    for (const std::string &key : object_.keys()) {
        const Row *const row = form_.find(key);
        if (!row || row->has_no_effect || key == form_.group->tag) continue;
        if (!(taken_ >> (row - form_.group->rows.data()) & 1))
            throw std::logic_error(fmt::format("no reader reads the field {}{}", path_, key));
    }
}

} // namespace ggufx::cli
