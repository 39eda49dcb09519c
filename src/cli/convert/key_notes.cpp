// SPDX-License-Identifier: MIT
#include "convert/key_notes.hpp"

#include <charconv>
#include <fmt/format.h>

namespace ggufx::cli {

static bool equals(const Json &value, std::string_view text) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_number = error == std::errc() && end == text.data() + text.size();
    return is_number ? value.number() == number : value.dump() == text;
}

bool is_neutral(std::string_view name, const Json &value, std::span<const NeutralSetting> known) {
    if (value.is_null()) return true;
    bool listed = false;
    for (const NeutralSetting &setting : known) {
        if (setting.name != name) continue;
        if (equals(value, setting.value)) return true;
        listed = true;
    }
    if (listed) return false;
    if (value.is_array() || value.is_object()) return value.size() == 0;
    return !value.truth().value_or(true) || (value.text() && value.text()->empty());
}

std::string unused_note(const std::string &file, const std::string &name, const Json &value) {
    return fmt::format("{}: {} is {}: it is not used by the conversion and may change the output",
                       file, escape(name), shorten(value.dump(), 60));
}

} // namespace ggufx::cli
