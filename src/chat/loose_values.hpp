// Reader of values that models write instead of JSON: Python literals and keyword arguments, keys
// without quotes, strings between markers.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/tool_schemas.hpp"

namespace ggufx::chat {

// Reads one value: JSON, or a Python literal (True, None, 'text', tuples). A trailing comma is
// allowed, and numbers stay as written. With `quote`, strings may also be enclosed by it, and keys
// need no quotes. Returns false for other text. Throws Error (limit) / std::bad_alloc.
bool read_loose(Meter &meter, std::string_view text, std::string_view quote, Value &out);

// Reads "(a=1, b='x')" into an object. Unnamed arguments get the names of the tool's properties in
// order.
bool read_keywords(Meter &meter, std::string_view text, const ToolSchemas::Parameters &parameters,
                   Value &out);

} // namespace ggufx::chat
