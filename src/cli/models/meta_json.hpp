// Metadata values as JSON and as text, in the project's dump format (README.md).
// SPDX-License-Identifier: MIT
#pragma once

#include "common/api.hpp"
#include "common/json.hpp"

namespace ggufx::cli {

// Returns "u32", "str", "arr" ...; `type` is GGUFX_VALUE_*.
const char *value_type_name(int32_t type);

// Returns the value of key or nested array `index`:
// - integers up to 32 bits and bools as they are, 64-bit integers as decimal strings;
// - floats as {v, bits}, arrays as {elem, n, values}, strings as they are or as {hex}.
// Arrays longer than `limit` are truncated ("values" shorter than "n").
Json meta_value_json(const ggufx_file *file, size_t index, uint64_t limit);

// Values as escaped text; arrays longer than `limit` end in an ellipsis.
constexpr uint64_t kShownElements = 8; // elements of an array if other values are shown too
std::string meta_value_text(const ggufx_file *file, size_t index, uint64_t limit);

} // namespace ggufx::cli
