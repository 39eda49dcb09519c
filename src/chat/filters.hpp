// Which filters and tests there are, for the compiler.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <string_view>

namespace ggufx::chat {

constexpr size_t kNoFilter = 255;
size_t find_filter(std::string_view name); // kNoFilter when there is none
size_t find_test(std::string_view name);

} // namespace ggufx::chat
