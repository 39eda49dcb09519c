// Texts around the parts of a tool call that a model must write, by the output format of its
// template.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/output_format.hpp"

namespace ggufx::chat {

struct CallSyntax {
    std::string_view prefix, middle; // before and after the name
    bool is_object = true;           // arguments are one JSON object
    // Arguments that are separate parameters: `open`, then each key and value, then `end`;
    // separators between them.
    std::string_view open, separator, before_key, after_key, after_key_other, value_end, end;
    std::string_view string_open, string_end; // around a raw string; no end: strings are JSON
};

// Returns texts that live as long as the format or the arena. `id`: id of the call, for templates
// that write one. Throws std::bad_alloc.
CallSyntax call_syntax(Arena &arena, const OutputFormat &format, std::string_view id);

} // namespace ggufx::chat
