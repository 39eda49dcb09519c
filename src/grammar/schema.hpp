// JSON Schemas (draft 2020-12) as grammars of the JSON that they accept. include/ggufx/grammar.h
// lists what is supported.
// SPDX-License-Identifier: MIT
#pragma once

#include "grammar/json_text.hpp"

namespace ggufx::grammar {

struct SchemaOptions {
    WhiteSpace white_space = WhiteSpace::limited;
    bool any_order = false;  // members of objects may come in any order
    bool formats = true;     // `format` is an assertion
    bool any_number = false; // integers in any form of a number, numbers of any length
};

// Throws Error (malformed, limit, unsupported: the keyword and the JSON pointer of its schema) /
// std::bad_alloc.
void read_schema(Syntax &syntax, std::string_view text, const SchemaOptions &options);

} // namespace ggufx::grammar
