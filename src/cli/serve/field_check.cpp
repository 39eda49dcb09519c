// SPDX-License-Identifier: MIT
#include "serve/field_check.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

using Kind = Type::Kind;

bool is_in(std::span<const std::string_view> words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

// A value within the body; its path is made for errors only.
struct Place {
    const Place *outer;
    std::string_view name; // empty: an entry of a list
    size_t index;
    std::string path() const {
        const std::string before = outer ? outer->path() : "";
        if (name.empty()) return outer ? fmt::format("{}[{}]", before, index) : before;
        return before.empty() ? std::string(name) : fmt::format("{}.{}", before, name);
    }
};

std::string shown(const Json &value) {
    constexpr size_t most = 40; // bytes
    if (value.is_object()) return "an object";
    if (value.is_array()) return fmt::format("a list of {} entries", value.size());
    const std::string *const text = value.text();
    if (!text) return value.dump();
    const std::string begin = "\"" + escape(text->substr(0, most)) + "\"";
    return text->size() <= most ? begin : fmt::format("{}..., {} bytes long", begin, text->size());
}

[[noreturn]] void refuse(const Place &at, const std::string &what,
                         const char *code = "invalid_value") {
    const std::string path = at.path();
    throw ApiError(400, (path.empty() ? "the body" : path) + " " + what, path, code);
}

bool is_whole(const Json &value, const Type &type) {
    const auto whole = whole_of(value);
    if (!whole) return type.least < 0 && value.number() == static_cast<double>(type.least);
    return *whole <= static_cast<uint64_t>(type.most) &&
           (type.least <= 0 || *whole >= static_cast<uint64_t>(type.least));
}

bool is_number(const Json &value, const Type &type) {
    const auto number = value.number();
    return number && *number >= type.low && *number <= type.high;
}

bool holds(const Type &type, size_t n) {
    return n >= static_cast<uint64_t>(type.least) && n <= static_cast<uint64_t>(type.most);
}

bool is_text(const std::string *text, const Type &type) {
    if (!text || !holds(type, text->size())) return false;
    return type.words.empty() ||
           (text->front() != '.' && text->find_first_not_of(type.words[0]) == std::string::npos);
}

bool is_map(const Json &value, const Type &type) {
    return value.is_object() && holds(type, value.size()) &&
           std::all_of(value.keys().begin(), value.keys().end(),
                       [](const std::string &key) { return token_id(key).has_value(); });
}

bool is_open_object(const Json &value, const Type &type) {
    return value.is_object() &&
           std::none_of(type.words.begin(), type.words.end(),
                        [&](std::string_view word) { return value.find(word); });
}

bool is_one_of(const Json &value, const Type &type) {
    return type.kind == Kind::only ? is_in(type.words, value.dump())
                                   : value.text() && is_in(type.words, *value.text());
}

bool first_resembles(const Json &list, const Type &type);

// Whether the value has the JSON type of `type`. The first entry of a list decides.
bool resembles(const Json &value, const Type &type) {
    switch (type.kind) {
    case Kind::any:
    case Kind::only:
        return true;
    case Kind::flag:
        return value.truth().has_value();
    case Kind::number:
        return value.number().has_value();
    case Kind::whole:
        return value.number().has_value();
    case Kind::text:
    case Kind::words:
        return value.text() != nullptr;
    case Kind::list:
        return value.is_array() && (value.size() == 0 || first_resembles(value, *type.parts[0]));
    case Kind::map:
    case Kind::object:
    case Kind::group:
        return value.is_object();
    case Kind::either:
        break;
    }
    return std::any_of(type.parts.begin(), type.parts.end(),
                       [&](const Type *part) { return resembles(value, *part); });
}

bool first_resembles(const Json &list, const Type &type) {
    return list.numbers() ? resembles(Json(list.numbers()->front()), type)
                          : resembles(list.elements()[0], type);
}

class Checker {
public:
    explicit Checker(bool lenient) : lenient_(lenient) {}

    void check(const Json &value, const Group &group, const Place &at) const {
        if (!value.is_object()) refuse(at, "is not an object, but " + shown(value), "invalid_type");
        const Json *const tag = group.tag.empty() ? nullptr : value.find(group.tag);
        const ObjectForm form = form_of(value, group);
        if (form.is_skipped) return;
        if (tag && !tag->is_null())
            check(*tag, *form.find(group.tag)->type, Place{&at, group.tag, 0});
        const std::string *unknown = nullptr;
        for (size_t i = 0; i < value.size(); i++) {
            const std::string &key = value.keys()[i];
            const Json &member = value.elements()[i];
            const Row *const row = form.find(key);
            if (row && !member.is_null()) check(member, *row->type, Place{&at, key, 0});
            if (!row && !unknown) unknown = &key;
        }
        for (const Row &row : group.rows) {
            const Json *const member =
                row.is_required && form.has(row) ? value.find(row.name) : nullptr;
            if (row.is_required && form.has(row) && (!member || member->is_null()))
                refuse(Place{&at, row.name, 0}, "is missing");
        }
        if (unknown && !lenient_) refuse_unknown(*unknown, at);
    }

private:
    [[noreturn]] static void refuse_unknown(const std::string &key, const Place &at) {
        const std::string before = at.path();
        const std::string path =
            before + (before.empty() ? "" : ".") + escape(std::string_view(key).substr(0, 64));
        throw ApiError(400, "unknown field: " + path, path, "unknown_parameter");
    }

    static bool fits(const Json &value, const Type &type) {
        switch (type.kind) {
        case Kind::flag:
            return value.truth().has_value();
        case Kind::number:
            return is_number(value, type);
        case Kind::whole:
            return is_whole(value, type);
        case Kind::text:
            return is_text(value.text(), type);
        case Kind::words:
        case Kind::only:
            return is_one_of(value, type);
        case Kind::list:
            return value.is_array() && holds(type, value.size());
        case Kind::map:
            return is_map(value, type);
        case Kind::object:
            return is_open_object(value, type);
        case Kind::either:
            return resembles(value, type);
        case Kind::any:
        case Kind::group:
            break;
        }
        return true;
    }

    void check_entries(const Json &list, const Type &type, const Place &at) const {
        const Json::Numbers *const numbers = list.numbers();
        for (size_t i = 0; i < list.size(); i++) {
            const Place entry = {&at, {}, i};
            if (numbers)
                check(Json((*numbers)[i]), type, entry);
            else
                check(list.elements()[i], type, entry);
        }
    }

    void check(const Json &value, const Type &type, const Place &at) const {
        if (!fits(value, type))
            refuse(at, fmt::format("is not {}, but {}", type.phrase, shown(value)));
        if (type.kind == Kind::group) check(value, *type.group, at);
        if (type.kind == Kind::list) check_entries(value, *type.parts[0], at);
        if (type.kind == Kind::map)
            for (size_t i = 0; i < value.size(); i++)
                check(value.elements()[i], *type.parts[0], Place{&at, value.keys()[i], 0});
        if (type.kind == Kind::either)
            check(value,
                  **std::find_if(type.parts.begin(), type.parts.end(),
                                 [&](const Type *part) { return resembles(value, *part); }),
                  at);
    }

    bool lenient_;
};

} // namespace

const Row *ObjectForm::find(std::string_view name) const {
    for (const Row &row : group->rows)
        if (row.name == name && has(row)) return &row;
    return nullptr;
}

ObjectForm form_of(const Json &object, const Group &group) {
    ObjectForm out = {&group, UINT32_MAX};
    if (group.tag.empty()) return out;
    const Row &row = *out.find(group.tag);
    const Json *const given = object.find(group.tag);
    std::string_view word = row.preset_word;
    if (given && !given->is_null()) word = given->text() ? *given->text() : std::string_view();
    const std::string_view undated = group.is_dated ? word.substr(0, word.find("_20")) : word;
    out.is_skipped = is_in(group.skipped, undated);
    const auto words = row.type->words;
    const auto found = std::find(words.begin(), words.end(), word);
    out.tag = found == words.end() ? 0 : 1u << (found - words.begin());
    return out;
}

void check_fields(const Json &body, const Group &group, bool lenient) {
    Checker(lenient).check(body, group, Place{nullptr, {}, 0});
}

std::optional<uint64_t> whole_of(const Json &value) {
    constexpr double most = 9007199254740992; // 2^53: integers of a double are exact up to here
    if (const auto whole = value.whole()) return whole;
    const auto number = value.number();
    if (!number || !(*number >= 0 && *number <= most) || *number != std::floor(*number)) return {};
    return static_cast<uint64_t>(*number);
}

std::optional<int32_t> token_id(std::string_view digits) {
    int32_t id = -1;
    const char *const end = digits.data() + digits.size();
    const auto [at, error] = std::from_chars(digits.data(), end, id);
    if (error != std::errc() || at != end || id < 0) return {};
    return id;
}

} // namespace ggufx::cli
