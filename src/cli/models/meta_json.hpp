// Metadata values as JSON and as text, in the shape of the project's dump format (README.md).
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/api.hpp"
#include "floor/json.hpp"

namespace ggufx::cli {

// "u32", "str", "arr" ...; `type` is GGUFX_VALUE_*.
const char *value_type_name(int32_t type);

// The value of key or nested array `index`: integers up to 32 bit and bools as they are, 64-bit
// integers as decimal strings, floats {v, bits}, arrays {elem, n, values}, strings or {hex}.
// Arrays longer than `limit` are cut ("values" shorter than "n").
Json meta_value_json(const ggufx_file *file, size_t index, uint64_t limit);

// The value for people, escaped; arrays longer than `limit` end in an ellipsis.
constexpr uint64_t kShownElements = 8; // of an array, where a value is one of many
std::string meta_value_text(const ggufx_file *file, size_t index, uint64_t limit);

} // namespace ggufx::cli
