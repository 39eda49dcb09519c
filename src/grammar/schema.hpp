// JSON schemas (draft 2020-12) as grammars of the JSON texts that they accept. What is known is
// told in include/ggufx/grammar.h.
// SPDX-License-Identifier: MIT
#pragma once

#include "grammar/json_text.hpp"

namespace ggufx::grammar {

struct SchemaOptions {
    WhiteSpace white_space = WhiteSpace::limited;
    bool any_order = false;  // of the members of objects
    bool formats = true;     // `format` is an assertion
    bool any_number = false; // integers have any form of a number
};

// Throws Error (malformed, limit, unsupported: the keyword and the JSON pointer of its schema) /
// std::bad_alloc.
void read_schema(Syntax &syntax, std::string_view text, const SchemaOptions &options);

} // namespace ggufx::grammar
