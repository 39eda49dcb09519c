// Formats by name, for files without a template: each is a short template of our own.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <string_view>

namespace ggufx::chat {

const char *find_format(std::string_view name); // its template, null when there is none
const char *format_name(size_t index);          // null behind the last

} // namespace ggufx::chat
