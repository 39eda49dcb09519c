// GBNF, the grammar notation of llama.cpp: rules `name ::= alternatives` with literals, classes,
// groups and repetitions. A rule is one line, except within parentheses and around '|'.
// SPDX-License-Identifier: MIT
#pragma once

#include "grammar/syntax.hpp"

namespace ggufx::grammar {

constexpr uint32_t kGbnfDepth = 64; // nesting of groups

// Throws Error (malformed, limit, unsupported; the message has line and column, offset the byte) /
// std::bad_alloc.
void read_gbnf(Syntax &syntax, std::string_view text);

} // namespace ggufx::grammar
