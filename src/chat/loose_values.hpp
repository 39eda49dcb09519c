// Values as models write them beside JSON: Python's literals and keyword arguments, keys without
// quotes, strings between markers.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/tool_schemas.hpp"

namespace ggufx::chat {

// One value: JSON, or a Python literal (True, None, 'text', tuples), a final comma allowed; numbers stay
// as written. With `quote` set strings also stand between two of it, and keys need no quotes.
// Gives false where the text is no such value. Throws Error (limit) / std::bad_alloc.
bool read_loose(Meter &meter, std::string_view text, std::string_view quote, Value &out);

// "(a=1, b='x')" into an object. Arguments without a name take the tool's properties in order.
bool read_keywords(Meter &meter, std::string_view text, const ToolSchemas::Parameters &parameters,
                   Value &out);

} // namespace ggufx::chat
