// What Python knows of characters, as far as templates can see it: Unicode 14, the version of
// Python 3.11.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace ggufx::chat {

enum class Case { upper, lower, title };

// The character in another case: one to three code points.
size_t change_case(uint32_t out[3], uint32_t code, Case to);
bool is_cased(uint32_t code);
bool is_case_ignorable(uint32_t code); // between letters it ends no word (for the final sigma)
bool is_upper(uint32_t code);
bool is_lower(uint32_t code);
bool is_printable(uint32_t code);
bool is_alpha(uint32_t code);
bool is_decimal(uint32_t code);
bool is_digit(uint32_t code);
bool is_numeric(uint32_t code);

} // namespace ggufx::chat
