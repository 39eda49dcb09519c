// Regular expressions of JSON schemas (ECMA-262) as parts of a grammar, as far as they are regular.
// SPDX-License-Identifier: MIT
#pragma once

#include "grammar/json_text.hpp"

namespace ggufx::grammar {

constexpr unsigned kPatternDepth = 40; // groups within groups

// A JSON string, with its quotes, in which the pattern matches somewhere. `what` begins errors.
// Throws Error (unsupported: an assertion but ^ and $, a back reference, a class by name; malformed;
// limit) / std::bad_alloc.
Node read_pattern(Syntax &syntax, JsonText &json, std::string_view pattern, const char *what);

} // namespace ggufx::grammar
