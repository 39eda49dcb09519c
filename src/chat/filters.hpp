// Lookup of filters and tests by name, for the compiler.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <string_view>

namespace ggufx::chat {

constexpr size_t kNoFilter = 255;
size_t find_filter(std::string_view name); // kNoFilter if there is none
size_t find_test(std::string_view name);

} // namespace ggufx::chat
