// JSON schemas (draft 2020-12) as grammars of the JSON texts that they accept. What is known is
// told in include/ggufx/grammar.h.
// SPDX-License-Identifier: MIT
#pragma once

#include "grammar/syntax.hpp"

namespace ggufx::grammar {

// Throws Error (malformed, limit, unsupported: the keyword and the JSON pointer of its schema) /
// std::bad_alloc.
void read_schema(Syntax &syntax, std::string_view text, bool compact);

} // namespace ggufx::grammar
