// Text for people: escaped bytes from files, quantities, the nearest of several names.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ggufx::cli {

// Returns the length of the well-formed UTF-8 character at the start of `text`, or 0.
size_t utf8_length(std::string_view text);
bool is_utf8(std::string_view text);
// Returns the number of characters; the bytes of a truncated one count as one.
size_t count_characters(std::string_view text);

// Escapes text for a terminal and for one line of a table. Control characters, direction marks and
// bytes that are not UTF-8 become \n, \t, \u{202e} or \xff. Backslashes are not doubled: for
// reading only.
std::string escape(std::string_view text);
std::string in_quotes(std::string_view text); // escaped, between quotation marks
// Like escape(), but keeps newlines and tabs: for model output on a terminal.
std::string escape_controls(std::string_view text);
// Returns the first `limit` characters of the escaped text, with an ellipsis if it is longer.
std::string shorten(std::string_view text, size_t limit);
// columns_of() returns the terminal columns of escaped text. cut_to() adds an ellipsis.
size_t columns_of(std::string_view text);
std::string cut_to(std::string_view text, size_t columns);
std::string hex(std::string_view bytes);

// "3.49 MiB", "912 bytes".
std::string bytes_text(uint64_t bytes);
// "3.41 M", "260 K".
std::string count_text(uint64_t count);
// "0.31 ms", "12.5 us".
std::string time_text(double seconds);

// Returns ", did you mean "info"?", or nothing if no name is close.
std::string did_you_mean(const std::string &word, const std::vector<std::string> &names);

} // namespace ggufx::cli
