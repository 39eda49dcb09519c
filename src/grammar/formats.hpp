// What `format` asks for, as patterns.
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace ggufx::grammar {

const char *format_pattern(std::string_view name); // null: a name that is not known
// One of the draft's that no regular expression says.
bool is_unknown_format(std::string_view name);

} // namespace ggufx::grammar
