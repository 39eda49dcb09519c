// Types of request fields. The tables are written by api/api.py from api/api_fields.py.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

namespace ggufx::cli {

struct Group;

struct Type {
    enum class Kind {
        any,
        flag,
        number, // low to high
        whole,  // least to most; -1, where it is allowed, equals an absent field
        text,   // least to most bytes; words[0]: the allowed characters, and no '.' first
        words,  // one of `words`
        only,   // one of `words`, which are JSON
        list,   // least to most entries of type parts[0]
        map,    // at most `most` token ids with values of type parts[0]
        object, // any members except `words`
        group,  // an object with the fields of `group`
        either, // one of `parts`
    };
    Kind kind;
    std::string_view phrase; // completes "the value is not ..."
    int64_t least, most;
    double low, high;
    std::span<const std::string_view> words;
    std::span<const Type *const> parts;
    const Group *group;
};

struct Row {
    std::string_view name;
    const Type *type;
    bool is_required;
    bool has_no_effect; // no reader reads it
    bool has_preset;    // value of an absent field
    double preset_number;
    std::string_view preset_word;
    uint32_t when; // bits of the tag's words for which the group has the field; 0: all
};

// Fields of an object. The value of the field `tag`, if there is one, decides which ones exist.
struct Group {
    std::string_view name;
    std::span<const Row> rows;
    std::string_view tag;
    std::span<const std::string_view> skipped; // tags of objects that are ignored as a whole
    bool is_dated;                             // such tags may end in a date: _2025_08_26
};

namespace fields_table {
inline constexpr double kAny = std::numeric_limits<double>::max();
}

} // namespace ggufx::cli
