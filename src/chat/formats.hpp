// Built-in chat templates by name, for files without a template.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <string_view>

namespace ggufx::chat {

const char *find_format(std::string_view name); // the template, null for an unknown name
const char *format_name(size_t index);          // null after the last

} // namespace ggufx::chat
