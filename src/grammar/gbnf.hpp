// GBNF, the notation of grammars that the field's tools share: rules `name ::= alternatives`, with
// literals, classes, groups and repetitions; a line is a rule, but within parentheses and around
// '|'.
// SPDX-License-Identifier: MIT
#pragma once

#include "grammar/syntax.hpp"

namespace ggufx::grammar {

constexpr uint32_t kGbnfDepth = 64; // groups within groups

// Throws Error (malformed, limit, unsupported; the text has line and column, offset the byte) /
// std::bad_alloc.
void read_gbnf(Syntax &syntax, std::string_view text);

} // namespace ggufx::grammar
