// Patterns for the keyword `format` of JSON Schema.
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace ggufx::grammar {

const char *format_pattern(std::string_view name); // null: unknown name
// Returns whether a format of the draft has no regular expression here.
bool is_unknown_format(std::string_view name);

} // namespace ggufx::grammar
