// A key and its value on the command line: KEY=VALUE, KEY:TYPE=VALUE, KEY=@FILE.
// SPDX-License-Identifier: MIT
#pragma once

#include "models/rewrite.hpp"

namespace ggufx::cli {

struct MetaChange {
    std::string key;
    int32_t type;    // GGUFX_VALUE_*
    int32_t element; // element type of an array, else -1
    std::string text;
};

// Parses a change. The type is the stated one, else that of the key in the file, else the narrowest
// that holds the text: bool, u32, i32, i64, u64, f32, str. TYPE[] and existing arrays take "a,b,c".
MetaChange parse_change(const ggufx_file *file, const std::string &argument);

// Returns "u32", "str[]".
std::string change_type(const MetaChange &change);

// Throws Failure (usage) if the text does not fit the type.
void set_change(ggufx_writer *writer, const MetaChange &change);

} // namespace ggufx::cli
