// JSON as the tool reads and prints it.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/json.hpp"
#include "common/output.hpp"
#include "common/text.hpp"

namespace ggufx::cli {

// Throws Failure (invalid file, or no memory beyond most_bytes) with `what` and the reason.
Json parse_json(std::string_view text, const std::string &what, const JsonReading &reading = {});

constexpr int kSchema = 1; // version of all objects that the tool prints

Json json_object();
// Returns a string, or {"hex": ...} if the bytes are not UTF-8.
Json json_bytes(std::string_view bytes);
// Returns an offset or index; null if it is absent.
Json json_place(uint64_t place);
std::string json_text(const Json &value, int indent);

// Prints a single object: indented on a terminal, on one line elsewhere.
void print_json(Output &out, const Json &value);
// Prints one of several objects on one line, and flushes.
void print_json_line(Output &out, const Json &value);

} // namespace ggufx::cli
