// JSON reader, and a writer with the output of Python's json.dumps.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/json_scan.hpp"
#include "chat/value.hpp"

namespace ggufx::chat {

constexpr unsigned kJsonDepth = 96; // maximum nesting of arrays and objects

enum class JsonNumbers : uint8_t {
    values,     // 64-bit integers, otherwise floats
    as_written, // Kind::written, which borrows the input text
};

using ggufx::is_json_space;
// The text without white space at both ends.
inline std::string_view trimmed(std::string_view s) {
    while (!s.empty() && is_json_space(s.front())) s.remove_prefix(1);
    while (!s.empty() && is_json_space(s.back())) s.remove_suffix(1);
    return s;
}

// Reads exactly one value, strictly by RFC 8259. All its strings and numbers have the user as
// origin. Integers beyond 64 bits become floats. `what` names the input in error messages; the
// offset of an error is that of the invalid byte. Throws malformed, limit, std::bad_alloc.
Value read_json(Meter &meter, std::string_view text, const char *what,
                JsonNumbers numbers = JsonNumbers::values);

struct JsonStyle {
    bool ascii = false; // \uXXXX for characters beyond ASCII
    bool sorted = false;
    const Text *indent = nullptr;                                   // null: one line
    const Text *item_separator = nullptr, *key_separator = nullptr; // null: Python's defaults
};
const Text *write_json(Meter &meter, const Value &value, const JsonStyle &style);

} // namespace ggufx::chat
