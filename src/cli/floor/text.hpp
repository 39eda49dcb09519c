// Text for people: escaping of bytes from files, quantities, the nearest of several names.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ggufx::cli {

// Length of the well-formed UTF-8 character at the start of `text`, 0 when it is not one.
size_t utf8_length(std::string_view text);
bool is_utf8(std::string_view text);

// Safe on a terminal and in one line of a table: control characters, direction marks and bytes
// that are not UTF-8 become \n, \t, \u{202e} or \xff. Backslashes stay single: for reading only.
std::string escape(std::string_view text);
std::string in_quotes(std::string_view text); // escaped, between quotation marks
// As above, but keeps newlines and tabs: text of a model on a terminal.
std::string escape_controls(std::string_view text);
// First `limit` characters of the escaped text, with an ellipsis when it is longer.
std::string shorten(std::string_view text, size_t limit);
// Columns of a terminal that escaped text takes; and what of it fits, with an ellipsis.
size_t columns_of(std::string_view text);
std::string cut_to(std::string_view text, size_t columns);
std::string hex(std::string_view bytes);

// "3.49 MiB", "912 bytes".
std::string bytes_text(uint64_t bytes);
// "3.41 M", "260 K".
std::string count_text(uint64_t count);
// "0.31 ms", "12.5 us".
std::string time_text(double seconds);

// ", did you mean "info"?" or nothing when no name is close.
std::string did_you_mean(const std::string &word, const std::vector<std::string> &names);

} // namespace ggufx::cli
