// JSON read into values and written as Python's json.dumps writes it.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/value.hpp"

namespace ggufx::chat {

constexpr unsigned kJsonDepth = 96; // arrays and objects within each other

enum class JsonNumbers : uint8_t {
    values,     // integers of 64 bits, else floats
    as_written, // Kind::written: what borrows the text that is read
};

inline bool is_json_space(char c) {
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}
// Without them at both ends.
inline std::string_view trimmed(std::string_view s) {
    while (!s.empty() && is_json_space(s.front())) s.remove_prefix(1);
    while (!s.empty() && is_json_space(s.back())) s.remove_suffix(1);
    return s;
}

// One value, strictly as RFC 8259 has it and no byte more; all its strings and numbers are the
// user's. `what` names it in errors, whose offset is the byte of the text at fault.
// Throws MALFORMED, LIMIT (depth), VALUE (an integer beyond 64 bits becomes a float, as it cannot
// be held), std::bad_alloc.
Value read_json(Meter &meter, std::string_view text, const char *what,
                JsonNumbers numbers = JsonNumbers::values);

struct JsonStyle {
    bool ascii = false; // \uXXXX beyond ASCII
    bool sorted = false;
    const Text *indent = nullptr;                                   // null: one line
    const Text *item_separator = nullptr, *key_separator = nullptr; // null: Python's
};
const Text *write_json(Meter &meter, const Value &value, const JsonStyle &style);

} // namespace ggufx::chat
